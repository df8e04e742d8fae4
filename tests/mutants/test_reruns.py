"""Would the tests notice? Each runs again with one false fact of the service at a time."""

from __future__ import annotations

import re
import signal
import textwrap
from pathlib import Path

import pytest

from pytest_chatfake.__main__ import main
from pytest_chatfake.mutants import reruns
from pytest_chatfake.mutants.facts import MUTANTS

from ..forked_pytest import run_pytest

#: An app, and what its tests use.
APP = """
    import json

    import pytest
    from pytest_chatfake import HmacSigner
    from werkzeug.test import Client

    SIGNER = HmacSigner("secret")


    class App:
        def __init__(self, fake, **options):
            self.client, self.key = Client(fake.wsgi_app), {"X-API-Key": fake.api_key}
            self.told, self.all = {}, []
            fake.webhooks.connect(handler=self.take, **options)

        def take(self, request):
            message = request.json().get("chatMessage", {"id": "of a person"})
            self.told.setdefault(message["id"], []).append(message)
            self.all.append(request.body)
            return 204

        def prices(self):
            return [messages[-1]["totalPrice"] for messages in self.told.values()]

        def balance(self):
            return self.client.get("/v2/balance", headers=self.key).json["amount"]


    class StrictApp(App):
        def take(self, request):
            signed = SIGNER(request).items()
            if not all(request.headers.get(name) == value for name, value in signed):
                return 401
            return super().take(request)


    @pytest.fixture
    def app(chat_fake):
        return App(chat_fake)
"""


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """On a busy machine a rerun may take ten times as long as the run."""
    monkeypatch.setattr(reruns, "_LEAST_SECONDS", 600.0)


#: Five tests that check what the app made of the service, and five that do not.
PLANTED = """
    from app import *

    def test_price(chat_fake, app):
        chat_fake.send_text().deliver()
        assert [0.05] == app.prices()

    def test_statuses(chat_fake, app):
        message = chat_fake.send_text().deliver().read()
        assert ["sent", "delivered", "read"] == [one["status"] for one in app.told[message.id]]

    def test_error_code(chat_fake, app):
        message = chat_fake.send_text().fail()
        assert message.events[-1].body == app.all[-1]

    def test_balance(chat_fake, app):
        chat_fake.send_text()
        assert 99.95 == app.balance()

    def test_forgery(chat_fake):
        app = StrictApp(chat_fake, signer=SIGNER)
        with chat_fake.webhooks.sign(HmacSigner("forged"), status="delivered"):
            message = chat_fake.send_text().deliver()
        assert 1 == len(app.told[message.id])

    def test_without_an_assert(chat_fake, app):
        chat_fake.send_text().deliver()

    def test_the_fakes_money(chat_fake, app):
        chat_fake.send_text().deliver()
        chat_fake.assert_charged("0.05")

    def test_the_statuses_of_attempts(chat_fake, app):
        chat_fake.send_text().deliver()
        assert [204, 204] == [one.status_code for one in chat_fake.webhooks.attempts]

    def test_a_balance_that_is_dropped(chat_fake, app):
        app.client.get("/v2/balance", headers=app.key)

    def test_signatures_without_a_refusal(chat_fake):
        App(chat_fake, signer=SIGNER)
        chat_fake.send_text().deliver()
"""

#: One test that exercises all mutants, and notices each.
PERFECT = """
    from app import *

    @pytest.mark.chat_fake(price="0.10")
    def test_everything(chat_fake):
        app = StrictApp(chat_fake, signer=SIGNER, events="*")

        def agrees():
            assert float(chat_fake.balance.available) == app.balance()

        agrees()
        chat_fake.send_text("one", to="+1").deliver(devices=2)
        agrees()
        chat_fake.send_text("two", to="+1").deliver().read()
        chat_fake.send_text("three", to="+2").fail()
        agrees()
        chat_fake.send_text("four", to="+3")
        agrees()
        chat_fake.top_up(1)
        agrees()
        chat_fake.recipient("+1").writes("five")
        chat_fake.send_endpoint()
        call = {"to": "+4", "type": "text", "text": {"body": "six"}}
        reply = app.client.post("/v2/messages", headers=app.key, json=call).json
        assert (chat_fake.messages[-1].id, "sent") == (reply["id"], reply["status"])
        chat_fake.settle()
        assert [one.body for one in chat_fake.events] == app.all
"""


def run(pytester, body, *options):
    """Run tests again with mutants, and return what is said of these."""
    pytester.makepyfile(app=APP, test_it=body)
    result = pytester.runpytest("-p", "no:cacheprovider", "--chat-fake-mutants", *options)
    assert result.ret == any(line.startswith("FAIL") for line in result.outlines)
    start = result.outlines.index(f"{' chat_fake mutants ':=^80}")
    said = result.outlines[start + 1 :]
    return said[: next(place for place, line in enumerate(said) if line.startswith("==="))]


def test_who_checks_nothing_of_the_app_is_named_by_workers_too(pytester):
    named = [
        "a_balance_that_is_dropped",
        "signatures_without_a_refusal",
        "the_fakes_money",
        "the_statuses_of_attempts",
        "without_an_assert",
    ]
    lines = run(pytester, PLANTED, "-n1")

    assert lines[:-5] == [
        "killed 19 of 21",
        "survived: 2 facts on delivery times and conversations; no test checks them (exercised by 9 tests: test_it.py::test_balance, test_it.py::test_error_code, test_it.py::test_forgery, ...)",
    ]
    assert [f"killed nothing: test_it.py::test_{name}" for name in named] == lines[-5:]


def test_a_perfect_suite_kills_every_mutant(pytester):
    assert [f"killed {len(MUTANTS)} of {len(MUTANTS)}"] == run(pytester, PERFECT)


#: Tests of each kind, of which each kills what it exercises.
KINDS = """
    import unittest
    import warnings
    from app import *
    from hypothesis import HealthCheck, Phase, given, settings, strategies as st
    from pytest_chatfake import ChatFake

    def check(fake, app=None):
        app = app or App(fake)
        fake.send_text().deliver()
        fake.settle()
        assert {one.body for one in fake.events} == {*app.all}

    class TestUnit(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.seen = set()

        def setUp(self):
            self.fake = ChatFake()
            self.addCleanup(self.fake.close)

        def test_of_a_class(self):
            with self.subTest("a part"):
                check(self.fake)

    class TestMethods:
        def test_has_an_instance_of_its_own(self, chat_fake):
            assert not hasattr(self, "fake")
            self.fake = chat_fake
            check(chat_fake)

    @pytest.fixture(scope="module")
    def store(made=[]):
        made.append(1)
        assert len(made) <= 2  # once for each phase
        return set()

    def test_a_store_that_lives_on(chat_fake, store):
        app = App(chat_fake)
        message = chat_fake.send_text()
        assert message.id not in store
        store |= app.told.keys()
        assert message.id in store
        check(chat_fake, app)

    @pytest.mark.parametrize("text", ["one", "two"])
    def test_parameters(chat_fake, text, record_property, record_testsuite_property, subtests):
        print(text)
        warnings.warn(text)
        record_property("text", text)
        record_testsuite_property("text", text)
        with subtests.test(text):
            check(chat_fake)

    @given(st.integers(1, 3))
    def test_examples(devices):
        with ChatFake() as fake:
            check(fake)

    def test_worlds(chat_explore, runs=[]):
        worlds = []

        @chat_explore(depth=1)
        def exploration(fake):
            worlds.append(fake)
            check(fake)

        assert 8 < exploration.worlds and exploration.complete
        assert not runs or len(worlds) < 3  # only the run itself needs all
        runs.append(1)
        with pytest.raises(AssertionError, match="twice"):
            @chat_explore
            def world(fake):
                app = App(fake)
                check(fake, app)
                assert 2 == len(app.all), "twice"

    @pytest.mark.asyncio
    async def test_await(chat_fake):
        app = App(chat_fake)
        await chat_fake.send_text().deliver()
        assert [one.body for one in chat_fake.events] == app.all

    def test_passes_at_its_second_try(chat_fake, tries=[]):
        tries.append(1)
        assert len(tries) > 1
        check(chat_fake)

    @pytest.mark.chat_fake(mutants=False)
    def test_left_out(chat_fake, app):
        chat_fake.send_text()

    @pytest.mark.xfail
    def test_expected_to_fail(chat_fake, app):
        chat_fake.send_text()

    def test_that_fails(chat_fake, app):
        chat_fake.send_text()
        assert 0
"""

#: Notes what anybody is told of, and runs a test that fails once more.
TOLD = """
    import pytest
    from _pytest.runner import runtestprotocol

    def note(*told):
        with open("told.txt", "a") as file:
            print(*told, file=file)

    def pytest_runtest_logreport(report):
        sections = [name for name, _ in report.sections]
        note(report.nodeid, report.when, report.outcome, report.user_properties, sections)

    def pytest_runtest_logstart(nodeid):
        note("start", nodeid)

    def pytest_sessionfinish(session):
        for item in session.items:
            note(item.nodeid, item.user_properties, item._report_sections)

    def pytest_exception_interact(node, report):
        note("stops at", node.nodeid, report.when)

    def pytest_warning_recorded(warning_message, nodeid):
        note("warns", nodeid, warning_message.message)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item, nextitem):  # as pytest-rerunfailures does
        if "second_try" not in item.name:
            return None
        assert not hasattr(item, "runs"), "it is run again by us alone"
        item.runs = 1
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            report.outcome = "rerun" if report.failed else report.outcome
            item.ihook.pytest_runtest_logreport(report=report)
        runtestprotocol(item, nextitem=nextitem)
        return True
"""


def test_each_kind_of_test_is_run_again_and_nobody_is_told(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:django -p no:inline_snapshot --junitxml=junit.xml")
    pytester.makeconftest(TOLD)
    pytester.makeini(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = default"
    )

    def told():
        told, junit = pytester.path / "told.txt", pytester.path / "junit.xml"
        text = told.read_text("utf-8")
        told.unlink()
        return [
            text,
            *re.findall(r'<(?:property|testcase) [^>]*?name="[^"]*"', junit.read_text("utf-8")),
        ]

    lines = run(pytester, KINDS)
    with_mutants = told()
    pytester.runpytest("-p", "no:cacheprovider")

    assert lines == ["killed 9 of 9"]
    assert told() == with_mutants


def test_each_rerun_has_the_same_examples(pytester):
    body = """
    from app import *
    from hypothesis import given, settings, strategies as st
    from pytest_chatfake import ChatFake

    @settings(max_examples=5)
    @given(st.integers())
    def test_it(number):
        with open("tried.txt", "a") as file, ChatFake() as fake:
            print(number, file=file)
            App(fake)
            fake.send_text()
    """
    lines = run(pytester, body)
    tried = (pytester.path / "tried.txt").read_text("utf-8").split()[5:]

    assert lines[0] == "killed 0 of 6"
    assert tried[:5] * 7 == tried


class Clock:
    """Real seconds, as tests let them pass."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(reruns, "monotonic", clock)
    return clock


def test_a_rerun_that_takes_too_long_is_ended(pytester, clock, monkeypatch):
    alarms = []
    monkeypatch.setattr(reruns, "_LEAST_SECONDS", 2.0)
    monkeypatch.setattr(signal, "setitimer", lambda _, *seconds: alarms.append(seconds))
    body = """
    import signal
    from app import *
    from pytest_chatfake.mutants import reruns

    def test_it(chat_fake, app):
        reruns.monotonic.now += 0.3
        chat_fake.send_text().deliver()
        if [0.05] != app.prices():
            reruns.monotonic.now += 2.7
            signal.raise_signal(signal.SIGALRM)
            pytest.fail("it went on")
    """
    lines = run(pytester, body)

    assert (
        "limit reached: a price is ten times as high (exercised by 1 test: test_it.py::test_it)"
        in lines
    )
    assert {(3.0, 3.0), (0,)} == {*alarms}
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_what_the_fixtures_of_a_module_print_in_reruns_is_not_shown(pytester):
    body = """
    from app import *

    @pytest.fixture(scope="module")
    def store():
        yield
        print("torn", "down")

    def test_it(store, chat_fake, app):
        chat_fake.send_text()
    """
    pytester.makepyfile(app=APP, test_it=body)
    result = pytester.runpytest("--chat-fake-mutants")
    result.stdout.fnmatch_lines(["killed 0 of 6"])
    assert "torn down" not in result.stdout.str()


#: Three tests that kill what they exercise; each takes a second.
THREE = """
    from app import *
    from pytest_chatfake.mutants import reruns

    KEPT = {}  # by an app that lives on, and takes no event twice

    @pytest.mark.parametrize("number", range(3))
    def test_it(chat_fake, number):
        reruns.monotonic.now += 1
        chat_fake.webhooks.connect(
            handler=lambda request: KEPT.setdefault(request.event.id, request.body) and 204
        )
        chat_fake.send_text()
        assert [(one.id, one.body) for one in chat_fake.events] == [*KEPT.items()][-1:]
    """


@pytest.mark.parametrize(
    ("options", "cost", "first", "last", "seconds"),
    [
        ([], "6 mutants in at most 27 runs", "killed 6 of 6", "killed 6 of 6", 3 + 24),
        (
            ["--chat-fake-mutants=fast"],
            "6 mutants in at most 27 runs",
            "killed 6 of 6",
            "killed 6 of 6",
            3 + 8,
        ),
        (
            ["--chat-fake-mutants-seconds=3"],
            "6 mutants in at most 27 runs",
            "killed 2 of 6",
            "stopped early: 16 runs left",
            3 + 3,
        ),
        (
            ["-o", "chat_fake_mutants_ignore=no-sent"],
            "5 mutants in at most 24 runs",
            "killed 5 of 5, 1 ignored",
            "killed 5 of 5, 1 ignored",
            3 + 21,
        ),
    ],
)
def test_less_may_be_run(
    pytester,
    capsys,
    clock,
    options,
    cost,
    first,
    last,
    seconds,
):
    lines = run(pytester, THREE, *options)

    assert (first, last, seconds) == (lines[0], lines[-1], clock.now)
    assert f"chat_fake: {cost}\n" in capsys.readouterr().out


def test_what_a_conftest_ignores_no_other_run_does(
    pytester,
    clock,
):
    pytester.makeconftest("""
        def pytest_configure(config):
            config.addinivalue_line("chat_fake_mutants_ignore", "no-sent")
        """)
    assert run(pytester, THREE)[0] == "killed 5 of 5, 1 ignored"
    pytester.makeconftest("")

    assert run(pytester, THREE)[0] == "killed 6 of 6"


@pytest.mark.parametrize("options", [[], ["--chat-fake-mutants=fast"]])
def test_a_module_that_keeps_a_false_fact_may_have_killed_too_much(pytester, options):
    body = """
    from app import *

    @pytest.fixture(scope="module")
    def prices():
        return set()

    def test_prices(app, chat_fake, prices):
        chat_fake.send_text()
        prices |= {*app.prices()}
        assert {0.05} == prices

    def test_prices_after_it(app, chat_fake, prices):
        test_prices(app, chat_fake, prices)

    @pytest.fixture
    def first(tries=[]):
        tries.append(1)
        assert 1 == len(tries), "set up twice"

    def test_with_a_fixture(first, app, chat_fake):
        chat_fake.send_text()
    """
    assert run(pytester, body, *options)[-3:] == [
        "kills may be false: test_it.py::test_prices (AssertionError: assert {0.05} == {0.05, 0.06, 0.5})",
        "kills may be false: test_it.py::test_prices_after_it (AssertionError: assert {0.05} == {0.05, 0.06, 0.5})",
        "not repeatable: test_it.py::test_with_a_fixture (AssertionError: set up twice)",
    ]


#: A test that can't be run again, one whose fixture checks, and one that overlooks a status.
FRAGILE = """
    from app import *

    def test_once(app, chat_fake, tries=[]):
        chat_fake.send_text()
        tries.append(1)
        assert 1 == len(tries)

    def test_another_way_each_time(app, chat_fake, tries=[]):
        message = chat_fake.send_text()
        if not tries:
            tries.append(message.deliver())

    @pytest.fixture
    def sent(app, chat_fake):
        chat_fake.send_text()
        assert [one.body for one in chat_fake.events] == app.all

    def test_set_up(sent):
        pass

    def test_price(app, chat_fake):
        chat_fake.submit_text().reject()
        assert ["100"] == [one["errorCode"] for one, in app.told.values()]
"""


def test_too_few_kills_fail_the_run_and_the_page_says_who_noticed_what(pytester):
    lines = run(
        pytester, FRAGILE, "--chat-fake-mutants-fail-under=25.1", "--chat-fake-report=page.html"
    )
    page = (pytester.path / "page.html").read_text("utf-8")

    assert "FAIL: expected 25.1% killed, got 25.0%" in lines
    assert lines[0] == "killed 2 of 8"
    assert lines[1] == (
        "failed in setup or teardown: a price is ten times as high (exercised by 2 tests: "
        "test_it.py::test_another_way_each_time, test_it.py::test_set_up)"
    )
    assert lines[8] == "not repeatable: test_it.py::test_once (AssertionError: assert 1 == 3)"
    rows = re.findall('<tr><th scope="row">(.*?)</th><td class=".*?">(.*?)</td>', page)
    assert len(rows) == 8
    assert ("a price is ten times as high", "failed in setup or teardown") in rows
    assert [verdict for _, verdict in rows][-2:] == ["killed"] * 2
    notes = [line for line in lines if line.startswith(("killed", "not rep", "noticed", "FAIL"))]
    assert notes == re.findall("<li>(.*?)</li>", page)


#: An app with a table, and a test that reads it in the thread that asgiref keeps.
DJANGO = """
    import sys

    import django
    import pytest
    from django.apps import AppConfig
    from django.conf import settings
    from django.core.asgi import get_asgi_application
    from django.db import models
    from django.http import HttpResponse
    from django.urls import path

    class Config(AppConfig):
        name = label = __name__

        def import_models(self):
            super().import_models()
            self.models_module = sys.modules[__name__]

    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": "db", "TEST": {"NAME": "test"}}
    settings.configure(
        DATABASES={"default": database}, INSTALLED_APPS=[f"{__name__}.Config"],
        ROOT_URLCONF=__name__, SECRET_KEY="x", STATIC_URL="static/", USE_TZ=True,
    )
    django.setup()

    class Webhook(models.Model):
        class Meta:
            app_label = __name__

    def receive(request):
        Webhook.objects.create()
        return HttpResponse()

    urlpatterns = [path("", receive)]

    @pytest.mark.asyncio
    @pytest.mark.django_db(transaction=True)
    async def test_it(chat_fake):
        chat_fake.webhooks.connect(asgi=get_asgi_application())
        await chat_fake.send_text()
        assert await Webhook.objects.acount() == 1
"""


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("--chat-fake-mutants=slow", "ignored explicit argument 'slow'"),
        (
            "--chat-fake-mutants-seconds=-1",
            "--chat-fake-mutants-seconds: expected seconds, got '-1'",
        ),
        ("--chat-fake-mutants-fail-under=many", "expected percent, from 0 to 100, got 'many'"),
        (
            "--override-ini=chat_fake_mutants_ignore=nobody",
            "unknown mutant in chat_fake_mutants_ignore 'nobody': use 'price-",
        ),
    ],
)
def test_what_is_no_value_of_an_option_is_refused(pytester, option, error):
    result = pytester.runpytest("--chat-fake-mutants", option)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert error in result.stderr.str()


def test_a_marker_that_is_no_bool_fails_its_test(pytester):
    pytester.makepyfile("""
        import pytest

        @pytest.mark.chat_fake(mutants="no")
        def test_it(chat_fake): pass
        """)
    pytester.runpytest().stdout.fnmatch_lines(["*chat_fake: mutants: expected a bool, got 'no'"])


def test_ready_made_tests_compare_worlds_that_have_the_same_false_fact(pytester):
    body = """
    import json

    from pytest_chatfake import WebhookTests

    class TestApp(WebhookTests):
        def connect(self, chat_fake):
            statuses = {}

            def app(environ, start_response):
                message = json.load(environ["wsgi.input"])["chatMessage"]
                statuses.setdefault(message["id"], set()).add(message["status"])
                start_response("204 No Content", [])
                return []

            chat_fake.webhooks.connect(wsgi=app)
            return lambda: statuses

        def scenario(self, chat_fake):
            chat_fake.send_text().deliver()
    """
    headline, survivors, *lines = run(pytester, body, "-k", "duplicates or another_order")

    assert (headline, survivors[:18]) == ("killed 0 of 9", "survived: 9 facts ")
    rows = "another_order duplicates duplicates_at_once duplicates_days_later"
    rows += " duplicates_under_another_id"
    assert lines == [f"killed nothing: test_it.py::TestApp::test_{row}" for row in rows.split()]


#: Correct tests for which the world that failed, or the body as written, is not enough.
EXPLORERS = """
    from app import *
    from pytest_chatfake import NotRepeatable

    def test_an_exploration_counts_its_worlds(chat_explore):
        worlds = []

        @chat_explore(depth=1)
        def exploration(fake):
            worlds.append(App(fake))
            fake.send_text().deliver()

        assert exploration.worlds < len(worlds)  # some worlds looked the same

    def test_a_failing_exploration_is_read(chat_explore):
        with pytest.raises(AssertionError) as caught:
            @chat_explore(depth=1)
            def world(fake):
                app = App(fake)
                fake.send_text().deliver()
                fake.settle()
                statuses = [one["status"] for told in app.told.values() for one in told]
                assert statuses == sorted({*statuses}, reverse=True)

        assert any("also: reorder" in note for note in caught.value.__notes__)

    def test_two_runs_are_expected_to_differ(chat_explore, runs=[]):
        with pytest.raises(NotRepeatable):
            @chat_explore(depth=1)
            def world(fake):
                App(fake)
                runs.append(fake.send_text())
                if len(runs) % 2:
                    fake.send_text()
"""


def test_explorations_are_repeated_for_a_test_that_needs_them(pytester):
    headline, _, *notes = run(pytester, EXPLORERS)

    assert headline == "killed 2 of 9"  # by the test that reads the other deviations
    assert notes == [
        "killed nothing: test_it.py::test_an_exploration_counts_its_worlds",
        "killed nothing: test_it.py::test_two_runs_are_expected_to_differ",
    ]


def test_threads_read_the_database_of_the_reruns(tmp_path):
    (tmp_path / "test_it.py").write_text(textwrap.dedent(DJANGO), "utf-8")
    result = run_pytest(tmp_path, "-p", "no:cacheprovider", "--chat-fake-mutants")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["killed 1 of *"])
    result.stdout.no_fnmatch_line("not repeatable: *")


def test_without_the_plugin_of_the_fake_that_of_the_mutants_does_nothing(pytester):
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest("-p", "no:chatfake", "--chat-fake-mutants")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["killed 0 of 0"])


def test_a_mutant_is_killed_if_one_of_several_runs_kills_it(pytester, monkeypatch, capsys):
    body = """
    from app import *

    @pytest.mark.parametrize("looks", [False, True])
    def test_it(chat_fake, app, looks):
        amount = app.balance()
        assert not looks or amount == 100
    """
    single = run(pytester, body, "--chat-fake-report=page.html")
    monkeypatch.chdir(pytester.path)
    for name in ("False", "True"):
        run(pytester, body, f"-k{name}", f"--chat-fake-data={name}")
    pytester.runpytest("-kTrue", "--chat-fake-data=none")
    required = ["--mutants", "--fail-under=100"]
    capsys.readouterr()

    assert main(["merge", "False", *required]) == 1
    assert "FAIL: expected 100% killed, got 60.0%" in capsys.readouterr().out
    assert main(["merge", "False", "True", *required, "--report=merged.html"]) == 0
    assert single == capsys.readouterr().out.splitlines()[1:2]
    tables = [
        re.findall("<table>.*</table>", Path(name).read_text())
        for name in ("page.html", "merged.html")
    ]
    assert tables[0] == tables[1] != []
    for files, error in [
        (["none"], "none:1: expected a run with --chat-fake-mutants"),
        (
            ["none", "True"],
            "True:1: expected --chat-fake-mutants=None, as in none, got --chat-fake-mutants=True",
        ),
    ]:
        with pytest.raises(SystemExit, match="2"):
            main(["merge", *files, "--mutants"])
        assert error in capsys.readouterr().err
