"""What a whole run shows on request: what was never tried, a page, pictures."""

import html
import json
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest
from inline_snapshot import snapshot

from pytest_chatfake import ChatFake, Clock, Message, Recipient, Submission, Webhooks
from pytest_chatfake.__main__ import main
from pytest_chatfake.http_api.account_api import AccountApi
from pytest_chatfake.pages.coverage import ITEMS, possible

from ..forked_pytest import run_pytest
from .test_merge import timeless

OPTIONS = ("-p", "no:cacheprovider")

SUITE = """
    import pytest
    from werkzeug.test import Client

    def test_money(chat_fake, chat_receiver):
        chat_fake.send_text().deliver()
        chat_fake.send_text().deliver()
        assert 1 == 2

    @pytest.mark.chat_fake(price="0.10", currency="EUR", origin_type="utility")
    def test_a_drop(chat_fake, chat_clock):
        chat_fake.send_text(to="+1")
        chat_clock.advance(days=30)

    def test_without_a_fake():
        pass

    @pytest.mark.skip
    def test_skipped(chat_fake):
        pass
"""


def run(pytester, *options, body=SUITE):
    pytester.makepyfile(test_it=body)
    return pytester.runpytest(*OPTIONS, "--tb=short", *options, no_reraise_ctrlc=True)


def coverage(result):
    """The lines of the section on coverage."""
    return [line for line in result.outlines if line.startswith(("exercised ", "never: "))]


# -- coverage --------------------------------------------------------------------------------------


def test_what_explorations_and_fakes_of_ones_own_tried_counts(pytester):
    result = run(
        pytester,
        "--chat-fake-coverage",
        body="""
        from pytest_chatfake import ChatFake

        def test_worlds(chat_explore):
            @chat_explore(limit=20)
            def world(chat_fake):
                chat_fake.webhooks.receiver()
                chat_fake.send_text().deliver(devices=2).read()

        def test_by_hand():
            with ChatFake() as fake:
                fake.webhooks.receiver()
                fake.send_text().fail()
        """,
    )

    result.assert_outcomes(passed=2)
    never = "".join(coverage(result)[1:])
    tried = ("delivered to another device", "read after delivery", "failed", "duplicate")
    assert [name for name in tried if f" {name}" in never] == []
    assert " dropped" in never


def test_where_each_message_is_charged_nobody_can_try_what_a_session_saves(pytester):
    result = run(
        pytester,
        "--chat-fake-coverage",
        "--chat-fake-report=run.html",
        body="""
        import pytest
        from pytest_chatfake import ChatFake

        SHARES = ChatFake()  # another one, which does nothing in this test

        @pytest.mark.chat_fake(charge_per="message")
        def test_it(chat_fake):
            chat_fake.send_text().deliver()
            SHARES.close()
        """,
    )

    assert coverage(result)[0] == "exercised 4 of 54, 7%"
    assert "4 of 54<" in (pytester.path / "run.html").read_text("utf-8")
    assert [*ITEMS] == possible(["conversation", "message"])


def test_a_fault_counts_when_it_fired_and_many_fakes_of_a_test_count_all(pytester):
    result = run(
        pytester,
        "--chat-fake-coverage",
        body="""
        from pytest_chatfake import ChatFake

        def test_it(chat_fake, chat_receiver):
            with chat_fake.webhooks.duplicate(), chat_fake.webhooks.lose(status="read"):
                chat_fake.send_text().read()
            chat_fake.webhooks.tamper().remove()
            chat_fake.send_text(to="+2").fail()
            chat_fake.reset()
            for number in range(20):
                with ChatFake() as fake:
                    fake.submit_text().reject() if number == 0 else fake.send_text()
        """,
    )

    result.assert_outcomes(passed=1)
    never = {name for line in coverage(result)[1:] for name in re.split("[:,(] ?", line)}
    assert {"duplicate", "lost", "failed", "rejected", "read at once"}.isdisjoint(never)
    assert "tampered" in never


@pytest.mark.parametrize(("least", "exit_code"), [("100", 1), ("5", 0), ("0", 0)])
def test_a_run_fails_where_too_little_was_tried(pytester, least, exit_code):
    body = "def test_it(chat_fake):\n    chat_fake.send_text().deliver()\n"
    result = run(pytester, f"--chat-fake-coverage-fail-under={least}", body=body)

    assert exit_code == result.ret
    assert bool(exit_code) == ("FAIL: expected 100% exercised" in result.stdout.str())


@pytest.mark.parametrize("least", ["many", "nan"])
def test_what_is_no_percentage_is_refused(pytester, least):
    result = run(pytester, f"--chat-fake-coverage-fail-under={least}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected percent, from 0 to 100, got *"])


def test_each_item_has_a_name_of_its_own_and_is_in_the_reference(pytestconfig):
    page = pytestconfig.rootpath / "docs" / "reference" / "fixtures-and-options.md"
    section = page.read_text("utf-8").partition("## What the suite never tried\n")[2]
    groups = re.findall(r"^- (.+?): (.*(?:\n  .*)*)", section.partition("\n## ")[0], re.MULTILINE)
    items = [(item.group, item.name) for item in ITEMS]

    assert len(items) == len({*items})
    assert items == [(group, name) for group, names in groups for name in re.split(r",\s+", names)]


def test_each_item_names_verbs_that_there_are():
    faces = [ChatFake, Message, Submission, Recipient, Webhooks, Clock, AccountApi]
    verbs = {verb for item in ITEMS for verb in re.findall(r"(\w+)\(", item.how)}

    assert {"send_text", "paused", "lose_response", "goes_offline"} < verbs
    assert [verb for verb in verbs if not any(hasattr(face, verb) for face in faces)] == []


def test_every_item_can_be_tried(pytester):
    result = run(
        pytester,
        "--chat-fake-coverage-fail-under=100",
        body="""
        from werkzeug.test import Client
        from pytest_chatfake import ChatFake, HmacSigner
        import pytest

        def test_two_at_a_time(chat_fake):
            async def app(request):
                return 204

            chat_fake.webhooks.connect(handler=app)
            with chat_fake.webhooks.concurrently():
                chat_fake.send_text().deliver()

        def test_everything(chat_fake, chat_clock):
            def app(request):
                if request.event.status == "failed":
                    raise ValueError
                return 500 if request.number == 1 and request.event.status == "read" else 200

            hooks, api = chat_fake.webhooks, chat_fake.api
            hooks.connect(handler=app, signer=HmacSigner("x"), retry_after=[1],
                          raise_exceptions=False)
            message = chat_fake.send_text(to="+1")
            second = chat_fake.send_text(to="+1")
            message.deliver(devices=2, price="0.04").read()
            second.deliver()
            late = chat_fake.send_text(to="+1")
            chat_clock.advance(hours=25)
            late.read()
            chat_fake.send_text(to=chat_fake.recipient("+2", read_receipts=False)).read()
            chat_fake.send_text(to="+3").fail()
            chat_fake.submit_text().reject()
            chat_fake.send_text(to="+4")
            chat_clock.advance(days=30)
            chat_fake.top_up(1)
            hooks.duplicate(), hooks.delay(1, start=2), hooks.tamper(start=3), hooks.evolve()
            hooks.sign(HmacSigner("y"), start=3), hooks.lose(start=4)
            for number in range(4):
                chat_fake.send_text(to=f"-{number}")
            with hooks.paused():
                hooks.emit(message, "sent")
            hooks.redeliver(chat_fake.events[0])
            with pytest.raises(AssertionError, match="forgeries"):
                hooks.assert_rejects_forgeries()
            client = Client(chat_fake.wsgi_app)
            key = {"X-API-Key": chat_fake.api_key}

            @chat_fake.route("/send")
            def send(request):
                return {"id": chat_fake.send_text(to="+5").id}

            client.post("/send", headers=key)
            client.get("/v2/balance", headers=key)
            client.get("/v2/balance")
            for fault in (api.fail, lambda: api.delay(1), api.disconnect, api.truncate,
                          lambda: api.rate_limit(9, times=1), api.lose_response):
                with fault():
                    try:
                        client.get("/v2/balance", headers=key)
                    except ConnectionResetError:
                        pass
            chat_fake.rotate_key()
            chat_clock.advance(9)
            hooks.attempts

        def test_people(chat_fake):
            phone = chat_fake.recipient("+1").goes_offline().comes_online().opens_chat()
            phone.blocks()
            chat_fake.recipient("+2", registered=False, withheld=True)

        def test_another_order(chat_fake, chat_receiver):
            hooks = chat_fake.webhooks
            hooks.reorder(times=1), hooks.lose_response(start=2, times=1), hooks.refuse(start=3)
            chat_fake.send_text().deliver().read()
            chat_fake.settle()

        def test_during_a_call(chat_fake, chat_receiver):
            chat_fake.webhooks.during_call()
            chat_fake.send_text()

        def test_a_disabled_endpoint(chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: 500, disable_after=1)
            chat_fake.send_text().deliver()
            chat_fake.webhooks.attempts

        def test_a_crash_and_an_error(chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: request.json() and None)
            for fault in (chat_fake.webhooks.crash, chat_fake.webhooks.error):
                fault(before="json.loads")
                chat_fake.send_text()
                chat_fake.settle()

        @pytest.mark.chat_fake(opening_balance=0, on_insufficient_balance="fail")
        def test_no_money(chat_fake):
            chat_fake.send_text()
        """,
    )

    assert coverage(result) == ["exercised 57 of 57, 100%"]
    assert result.ret == 0


# -- the page --------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """The elements of a page that are not closed."""

    VOID = ("meta", "br", "link", "img", "rect", "path", "input")

    def __init__(self, page):
        super().__init__()
        self.open = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert tag == self.open.pop()


def page_of(pytester):
    return (pytester.path / "page.html").read_text("utf-8")


def shown_tests(page):
    """The outcome and the name of each test."""
    rows = r'<b>(\w+)</b> <span class="name"><i>(.*?)</i>(.*?)</span>'
    return [f"{outcome} {file}{name}" for outcome, file, name in re.findall(rows, page)]


def test_what_a_test_says_is_text_on_the_page_without_control_characters(pytester):
    run(
        pytester,
        "--chat-fake-report=page.html",
        body=r"""
        import pytest

        @pytest.mark.parametrize("body", ["\x00\x1b[31m \ud800 \uffff <script>alert(1)</script>"])
        def test_it(chat_fake, body):
            chat_fake.send_text(body, to="+1\x1b\x07<b>")
            chat_fake.webhooks.connect(handler=lambda request: (500, body, {}))
            raise ValueError(body)
        """,
    )
    page = page_of(pytester)

    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\uffff]", page) == []
    assert r"ValueError: \x00\x1b[31m" in page
    assert r"to +1\x1b\x07&lt;b&gt;, sent" in page
    assert re.findall("<script>.|<b>(?!failed)", page) == []


def test_a_run_shows_what_no_test_tried_and_a_page_of_all_tests(pytester):
    file = pytester.path / "out" / "page.html"
    result = run(pytester, "--chat-fake-report=out/page.html", "--chat-fake-coverage")
    page = file.read_text("utf-8")

    assert snapshot(
        [
            "exercised 9 of 57, 16%",
            "never: delivered to another device, read after delivery, read at once, read without read receipts, failed, rejected (transitions)",
            "never: phone off, sender blocked, messages withheld, number not registered, chat open (people)",
            "never: final price differs, second of two pending, delivered after the session, balance too low, topped up (money)",
            "never: duplicate, lost, delayed, reordered, during a call, response lost, refused, crashed, error raised, at the same time, evolved, tampered, wrong signature, endpoint disabled, forgery check, held back, made up by the test, redelivered (webhook faults)",
            "never: refused an event, raised or gave no response, saw a retry, signature checked, requested the balance, used a wrong key, sent through a route (your app)",
            "never: fail, delay, disconnect, truncate, rate_limit, lose_response, key rotated (API faults)",
        ]
    ) == coverage(result)

    result.stdout.fnmatch_lines([f"written to {file}"])
    assert Elements(page).open == []
    assert re.findall(r'<(?:link|img|iframe)|(?:src|href)="(?!#)', page) == []
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")
    failed, skipped, *passed = shown_tests(page)
    assert [
        failed,
        skipped,
    ] == ["failed test_it.py::test_money", "skipped test_it.py::test_skipped"]
    assert {"passed test_it.py::test_a_drop", "passed test_it.py::test_without_a_fake"} == {*passed}
    assert page.count("<svg ") == 2
    assert "<title>4 tests: 1 failed, 1 skipped, 2 passed - chat_fake report</title>" in page
    assert '<th scope="row">transitions</th>' in page


def test_a_closed_row_shows_the_assert_where_nothing_is_odd(pytester):
    body = """
    def test_books(chat_fake, chat_receiver):
        chat_fake.send_text().deliver()
        assert 0.1 == 0.05
    """
    result = run(pytester, "--chat-fake-report=page.html", body=body)

    assert any(line.startswith("  m1 was charged 0.05 once, at #7") for line in result.outlines)
    reasons = re.findall(r'<span class="reason">(.*?)</span>', page_of(pytester))
    assert reasons == ["assert 0.1 == 0.05"]


def test_a_closed_row_shows_what_the_fake_found(pytester):
    body = """
    import json
    import pytest

    @pytest.fixture(autouse=True)
    def app(chat_fake, request):
        chat_fake.webhooks.connect(handler=lambda one: 500, raise_exceptions=False)
        chat_fake.send_text()

    def test_a_plain_assert(chat_fake):
        assert 0.1 == 0.05

    def test_an_error(chat_fake):
        raise KeyError("m1")

    def test_a_body_that_is_no_json(chat_fake):
        json.loads("")

    def test_an_expectation(chat_fake):
        chat_fake.assert_charged("0.05")

    def test_an_argument(chat_fake):
        chat_fake.messages[0].deliver(devices=1.5)

    def test_an_unused_fault(chat_fake):
        assert not chat_fake.webhooks.attempts[0].ok
        chat_fake.webhooks.lose(status="read")

    def test_a_world(chat_explore):
        @chat_explore
        def world(chat_fake):
            taken = []
            chat_fake.webhooks.connect(handler=lambda one: taken.append(one.event.id))
            chat_fake.send_text()
            assert len(taken) == 1

    def test_a_body_as_written(chat_explore):
        @chat_explore
        def world(chat_fake):
            chat_fake.webhooks.connect(handler=lambda one: 500, raise_exceptions=False)
            chat_fake.send_text()
            assert 0.1 == 0.05

    class TestAlone:
        @pytest.fixture(autouse=True)
        def app(self):
            pass

        def test_an_app_that_raises(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda one: {}["m1"], events="*")
            chat_fake.recipient("+1").writes("STOP")

        def test_without_an_app(self, chat_fake):
            chat_fake.send_text()
            assert [] == ["sent"]
    """
    run(pytester, "--chat-fake-report=page.html", body=body)
    rows = r'</i>(?:TestAlone::)?test_(\w+)</span>.*?<span class="reason">(.*?)</span>'
    page = html.unescape(page_of(pytester))
    found = dict(re.findall(rows, page))

    attempt = "#4 (attempt) sent m1 -> <lambda>(): 500"
    assert (
        f"<h3>What to look at</h3><ul><li>{attempt}" in page.partition("test_a_body_as_written")[2]
    )
    assert found.pop("a_plain_assert").startswith(attempt)
    assert found.pop("a_body_as_written").startswith(attempt)
    assert found["an_error"].startswith(attempt)
    assert found.pop("an_error").endswith("; KeyError: 'm1'")
    assert found.pop("a_body_that_is_no_json").endswith(": line 1 column 1 (char 0)")
    assert found == {
        "an_expectation": "charged: expected 0.05 USD, got 0 USD",
        "an_argument": "TypeError: devices: expected an int, got 1.5",
        "an_unused_fault": "lose(status='read'), set up at test_it.py:26",
        "a_world": "sent m1 was redelivered; assert 2 == 1",
        "an_app_that_raises": "KeyError: 'm1', while handling chat.inbound_message.received",
        "without_an_app": "assert [] == ['sent']",
    }


def test_the_page_has_the_card_of_ready_made_tests_and_what_they_explored(pytester):
    body = """
    from pytest_chatfake import WebhookTests

    class TestShop(WebhookTests):
        def connect(self, chat_fake):
            statuses = []
            chat_fake.webhooks.connect(
                handler=lambda one: statuses.append(one.json()["chatMessage"]["status"]), events="*"
            )
            return lambda: statuses
    """
    run(pytester, "--chat-fake-report=page.html", "-k", "people_write or duplicates", body=body)
    page = page_of(pytester)

    assert "<h2>test_it.py::TestShop" in page
    failed = '<th scope="row">people_write</th><td class="FAILED">FAILED</td>'
    assert (
        f"{failed}<td>KeyError: &#x27;chatMessage&#x27;, while handling chat.inbound_message"
        in page
    )
    assert "<h3>Exploration of scenario()</h3>" in page


def test_the_page_says_what_was_expected_and_explains_the_money(pytester):
    body = """
    from urllib.request import Request, urlopen

    from pytest_chatfake import SendTests, WebhookTests

    class TestShop(WebhookTests):
        def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda _: None)
            return lambda: {"spent": 0}

        def expected(self, chat_fake):
            return {"spent": chat_fake.balance.charged}

    class TestOrders(SendTests):
        def connect(self, chat_fake):
            chat_fake.send_endpoint()
            return lambda: {"reserved": 0}

        def send(self, chat_fake):
            text = b'{"to": "+1", "type": "text", "text": {"body": "Hi"}}'
            headers = {**chat_fake.headers, "Content-Type": "application/json"}
            url = f"{chat_fake.base_url}/v2/messages"
            urlopen(Request(url, text, headers), timeout=10).close()

        def expected(self, chat_fake):
            return {"reserved": chat_fake.balance.held}
    """
    run(pytester, "--chat-fake-report=page.html", "-k", "is_right or a_refused_send", body=body)
    page = html.unescape(page_of(pytester))

    wrong = {
        "is_right": 'the scenario as written ends wrong; ["spent"]: 0; expected: 0.2145',
        "refused": 'even when nothing goes wrong; ["reserved"]: 0; expected: 0.05',
    }
    for finding in wrong.values():
        assert f'<td class="FAILED">FAILED</td><td>{finding}</td>' in page
        assert f'<span class="reason">{finding}</span>' in page
    books = re.findall(r"The fake's books:\nE +(.*)", page)
    assert sorted(books) == [
        "m1 was charged 0.0715: the first delivery in c1 starts its session and costs 0.0715 (§1)",
        "m1 was not charged: no delivery yet (§1)",
    ]
    assert "<li>m2 was not charged" not in page  # the books have said so


def test_pictures_that_can_t_be_drawn_spoil_no_report(pytester):
    body = """
    def test_it(chat_fake):
        chat_fake.send_text()
        chat_fake.events[0].moment = None
        assert 1 == 2

    def test_next(chat_fake):
        pass
    """
    pages = ["--html=rows.html", "--chat-fake-report=page.html", "--chat-fake-coverage"]
    result = run(pytester, *pages, body=body)

    result.assert_outcomes(failed=1, passed=1)
    assert "the timeline can't be shown: TypeError: " in result.stdout.str()
    assert "the timeline can&#x27;t be shown: TypeError: " in page_of(pytester)


def test_the_page_has_the_timeline_as_it_was_when_the_test_failed(pytester):
    body = """
    import pytest

    @pytest.fixture(autouse=True)
    def app(chat_fake):
        yield
        chat_fake.reset()
        chat_fake.top_up(1)

    def test_it(chat_fake):
        chat_fake.send_text()
        assert not chat_fake.messages
    """
    run(pytester, "--chat-fake-report=page.html", body=body)

    (picture,) = re.findall("<svg .*?</svg>", page_of(pytester))
    assert re.findall(r"verb +(send_text\(\) m1|top_up\(\))", picture) == ["send_text() m1"]


def test_the_options_are_shown_as_they_were_typed(pytester):
    run(pytester, "--chat-fake-report=page.html", "-k", "money or drop", "--chat-fake-seed=s")
    (options,) = re.findall("<dt>Options</dt><dd>(.*?)</dd>", page_of(pytester))

    assert "=page.html -k 'money or drop' --chat-fake-seed=s" in html.unescape(options)


EXPLORED = """
    def test_explored(chat_explore):
        @chat_explore
        def world(chat_fake):
            taken = []
            chat_fake.webhooks.connect(handler=lambda one: taken.append(one.event.id))
            chat_fake.send_text("https://shop.example/?token=tr0ub4dor")
            assert len(taken) == 1
"""


def test_the_page_tells_once_what_an_exploration_found(pytester):
    run(pytester, "--chat-fake-report=page.html", body=EXPLORED)
    page = page_of(pytester)
    (test,) = re.findall('"Test to paste">(.*?)</pre>', page, re.DOTALL)

    assert page.count("passes as written; fails in world 2: sent m1 was redelivered") == 1
    assert 1 == page.count("<svg ") == page.count("; times are from ")
    assert "tr0ub4dor" not in page
    assert run(pytester, body=html.unescape(test)).parseoutcomes()["failed"] == 1


def test_the_page_has_an_error_that_was_raised_from_an_explorations(pytester):
    body = """
    def test_it(chat_explore):
        def world(chat_fake):
            taken = []
            chat_fake.webhooks.connect(handler=lambda one: taken.append(one.event.id))
            chat_fake.send_text()
            if len(taken) > 1:
                error = ValueError("taken twice")
                error.add_note("E   a note of the user's")
                raise error
        try:
            chat_explore(world)
        except ValueError as error:
            raise RuntimeError("the app is wrong") from error
    """
    run(pytester, "--chat-fake-report=page.html", body=body)
    (failure,) = re.findall('"Failure">(.*?)</pre>', page_of(pytester), re.DOTALL)

    lines = [line.removeprefix("E").strip() for line in html.unescape(failure).splitlines()]
    told = ["ValueError: taken twice", "E   a note of the user's", "RuntimeError: the app is wrong"]
    assert told == [line for line in lines if line in told]
    assert "chat_explore: " not in failure
    assert page_of(pytester).count("passes as written; fails in world 2") == 1


def test_the_page_says_when_the_run_really_began(pytester):
    pytester.makepyfile(conftest="import time_machine; time_machine.travel(0, tick=False).start()")
    pytester.makepyfile(test_it="def test_it(chat_fake): chat_fake.send_text()")
    run_pytest(pytester.path, *OPTIONS, "--chat-fake-report=page.html")
    (began,) = re.findall("<dt>Started</dt><dd>(.*?) UTC</dd>", page_of(pytester))

    age = datetime.now(UTC) - datetime.fromisoformat(f"{began}Z")
    assert timedelta(0) < age < timedelta(minutes=5)


@pytest.mark.parametrize("verb", ["chat_fake.top_up(1)", "pass"])
def test_an_interrupted_run_has_a_page_with_what_had_happened(pytester, verb):
    result = run(
        pytester,
        "--chat-fake-report=page.html",
        body=f"""
        def test_one(chat_fake):
            chat_fake.send_text()

        def test_two(chat_fake):
            {verb}
            raise KeyboardInterrupt

        def test_three(chat_fake):
            pass
        """,
    )
    page, has_happened = page_of(pytester), verb != "pass"

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert shown_tests(page) == ["interrupted test_it.py::test_two", "passed test_it.py::test_one"]
    assert has_happened == ("top_up() +1" in page)
    assert 1 + has_happened == page.count("<svg ")


@pytest.mark.parametrize("workers", [[], ["-n1"]])
def test_a_run_that_the_terminal_interrupts_has_a_page(pytester, workers):
    pytester.makeconftest(
        """
        def pytest_configure(config):
            if not hasattr(config, "workerinput"):
                config.pluginmanager.register(Terminal())

        class Terminal:
            def pytest_runtest_logreport(self, report):
                if report.when == "teardown":
                    raise KeyboardInterrupt
        """
    )
    result = run(
        pytester,
        "--chat-fake-report=page.html",
        *workers,
        body="""
        import pytest

        @pytest.mark.parametrize("number", range(50))
        def test_it(chat_fake, number):
            chat_fake.send_text()
        """,
    )

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert 1 <= len(shown_tests(page_of(pytester))) < 50


def test_a_run_without_the_fake_has_a_page_too(pytester):
    result = run(
        pytester, "-pno:chatfake", "--chat-fake-report=page.html", body="def test_it(): pass"
    )
    assert result.ret == 0
    assert shown_tests(page_of(pytester)) == ["passed test_it.py::test_it"]


def test_a_page_is_written_where_the_run_began(pytester):
    body = """
    def test_it(chat_fake, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
    """
    assert run(pytester, "--chat-fake-report=page.html", body=body).ret == 0
    assert (pytester.path / "page.html").is_file()


@pytest.mark.parametrize(
    ("path", "exit_code", "text"),
    [
        (".", pytest.ExitCode.USAGE_ERROR, "such as report.html, got '.'"),
        ("test_it.py", pytest.ExitCode.USAGE_ERROR, "such as report.html, got 'test_it.py'"),
        ("x" * 300 + ".html", pytest.ExitCode.TESTS_FAILED, "FAIL: not written ("),
        ("test_it.py/page.html", pytest.ExitCode.TESTS_FAILED, "FAIL: not written ("),
    ],
)
def test_where_no_page_can_be_written_the_run_fails(pytester, path, exit_code, text):
    body = "def test_it(): pass"
    result = run(pytester, f"--chat-fake-report={path}", body=body)

    assert exit_code == result.ret
    assert text in result.stdout.str() + result.stderr.str()
    assert body == (pytester.path / "test_it.py").read_text("utf-8")


# -- pytest-html -----------------------------------------------------------------------------------


def pictures(pytester):
    """The name and the outcome of each row of pytest-html's page, and how many pictures it has."""
    page = (pytester.path / "report.html").read_text("utf-8")
    (rows,) = re.findall(r'data-jsonblob="([^"]*)"', page)
    return sorted(
        (row["testId"], row["result"], row["log"].count("<svg "))
        for rows_of_one_test in json.loads(html.unescape(rows))["tests"].values()
        for row in rows_of_one_test
    )


def test_pytest_html_shows_pictures_of_failures_in_the_rows_of_reruns_too(pytester):
    pytester.makeconftest(
        """
        import pytest
        from _pytest.runner import runtestprotocol

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):  # as pytest-rerunfailures does
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for again in (True, False):
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
                failed = any(report.failed for report in reports)
                for report in reports:
                    rerun = report.failed and again
                    if rerun:
                        report.outcome = "rerun"
                    item.ihook.pytest_runtest_logreport(report=report)
                    if rerun:
                        break
                if not failed:
                    break
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True
        """
    )
    result = run(
        pytester,
        "--html=report.html",
        "--self-contained-html",
        "--chat-fake-report=page.html",
        body="""
        def test_passes(chat_fake):
            chat_fake.send_text()

        def test_fails(chat_fake):
            chat_fake.send_text()
            assert 0

        def test_fails_once(chat_fake, tries=[]):
            chat_fake.send_text()
            tries.append(1)
            assert len(tries) == 2

        def test_has_no_fake():
            assert 0
        """,
    )

    assert result.ret == 1
    assert shown_tests(page_of(pytester)) == [
        "failed test_it.py::test_fails",
        "failed test_it.py::test_has_no_fake",
        "rerun test_it.py::test_fails_once",
        "passed test_it.py::test_passes",
    ]
    assert pictures(pytester) == [
        ("test_it.py::test_fails", "Failed", 1),
        ("test_it.py::test_fails", "Rerun", 1),
        ("test_it.py::test_fails_once", "Passed", 0),
        ("test_it.py::test_fails_once", "Rerun", 1),
        ("test_it.py::test_has_no_fake", "Failed", 0),
        ("test_it.py::test_has_no_fake", "Rerun", 0),
        ("test_it.py::test_passes", "Passed", 0),
    ]


def test_a_run_on_workers_shows_the_same_page_and_pictures(pytester):
    pytester.makeconftest(
        """
        def pytest_runtest_logreport(report):
            if getattr(report, "chat_fake", {}).get("pictures"):
                print("PICTURE", report.when, report.nodeid)
        """
    )
    gathers = """
    def test_a_worker_gathers_and_writes_nothing(pytestconfig):
        has = pytestconfig.pluginmanager.hasplugin
        assert has("chatfake-collector")
        assert has("chatfake-run") != hasattr(pytestconfig, "workerinput")
    """
    body = f"{SUITE}\n{EXPLORED}\n{gathers}"
    options = [
        "-s",
        "--chat-fake-coverage",
        "--chat-fake-report=page.html",
        "--chat-fake-data=data",
    ]
    single, page = run(pytester, *options, body=body), timeless("page.html")
    result = run(pytester, *options, "-n1", "--html=report.html", body=body)

    assert main(["merge", "data", "--report=merged.html", "--coverage"]) == 1
    assert [timeless("page.html"), timeless("merged.html")] == [page, page]
    assert coverage(result) == coverage(single)
    assert "PICTURE" not in single.stdout.str()
    assert result.stdout.str().count("PICTURE call test_it.py::test_money") == 1
    assert sum(count for _, _, count in pictures(pytester)) == 1
