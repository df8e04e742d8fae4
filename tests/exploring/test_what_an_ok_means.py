"""What a card says about an ``ok``: how much was tried, and what the app did wrong meanwhile."""

import sys
import textwrap
from types import ModuleType

import pytest
from inline_snapshot import snapshot

from pytest_chatfake.exploring.arrivals import is_another_order
from pytest_chatfake.exploring.search import LoggedAttempt, WorldLog

from .cards import cards, outcomes

#: An app that keeps the furthest status of each message, and the types of all events.
SHOP = """
import asyncio
import contextlib
import logging
import threading

from pytest_chatfake import WebhookTests

RANK = ["sent", "delivered", "read", "failed"]

class Shop(WebhookTests):
    __test__ = False

    def connect(self, chat_fake):
        self.rows = {}
        chat_fake.webhooks.connect(handler=self.receive, events="*")
        return lambda: self.rows

    def receive(self, request):
        self.rows[request.event.type] = True
        if message := request.event.json().get("chatMessage"):
            self.take(message["id"], message["status"])

    def take(self, id, status):
        known = self.rows.get(id, status)
        self.rows[id] = max(known, status, key=RANK.index)

def log(level=logging.ERROR):
    try:
        raise LookupError("no such message")
    except LookupError:
        logging.getLogger("shop").log(level, "failed", exc_info=True)
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run classes beside the shop, only rows with such names, and return the result."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(code, rows, *options):
        pytester.makepyfile(test_it=SHOP + textwrap.dedent(code))
        return pytester.runpytest("-p", "no:inline_snapshot", "-k", rows, *options)

    return run


# -- another order ---------------------------------------------------------------------------------

#: Scenarios, and whether events arrive in another order.
SCENARIOS = {
    "m = fake.send_text(); fake.settle(); m.deliver()": "skipped",
    "m = fake.send_text(); fake.assert_statuses(m, 'sent'); m.deliver()": "skipped",
    "m = fake.send_text(); fake.clock.advance(60); m.deliver()": "skipped",
    "fake.send_text()": "skipped",
    "fake.send_text().deliver()": "ok",
    "paused(); m = fake.send_text(); fake.settle(); m.deliver()": "ok",
    # events that belong to different messages, or say the same
    "fake.send_text(to='+1'); fake.send_text(to='+2')": "ok",
    "a, b = send_two(); fake.settle(); a.deliver(); b.deliver()": "skipped",
    "a, b = send_two(); fake.settle(); a.deliver().read(); b.deliver()": "ok",
    "m = fake.send_text(); fake.settle(); m.deliver(devices=2); fake.settle(); m.read()": "skipped",
    "p = fake.recipient('+1'); p.writes('a'); p.writes('b')": "ok",
    "p = fake.recipient('+1'); p.writes('a'); fake.settle(); p.writes('b')": "skipped",
    # several endpoints
    "connect(); m = fake.send_text(); fake.settle(); m.deliver()": "skipped",
    "connect(); fake.send_text().deliver()": "ok",
}


def test_events_have_to_change_places_for_another_order_to_be_ok(run):
    classes = "".join(
        f"""
class Test{number}(Shop):
    __test__ = True

    def scenario(self, fake):
        with contextlib.ExitStack() as stack:
            paused = lambda: stack.enter_context(fake.webhooks.paused())
            connect = lambda: fake.webhooks.connect(handler=lambda request: None)
            send_two = lambda: (fake.send_text(to="+1"), fake.send_text(to="+2"))
            {steps}
"""
        for number, steps in enumerate(SCENARIOS)
    )
    found = outcomes(run(classes, "another_order"))
    tried = {steps: found[f"Test{n}"]["another_order"] for n, steps in enumerate(SCENARIOS)}
    assert tried == SCENARIOS


def test_an_async_app_is_told_how_to_get_another_order_as_well(run):
    code = """
    class TestAsync(Shop):
        __test__ = True

        async def connect(self, chat_fake):
            return super().connect(chat_fake)

        async def scenario(self, chat_fake):
            message = await chat_fake.send_text()
            await chat_fake.settle()
            await message.deliver()
    """
    assert cards(run(code, "another_order")) == snapshot("""\
TestAsync
skipped  another_order
           no event overtook an earlier one of its message: cause two without a
           settle(), an assertion or a clock move between them, or hold them
           back with chat_fake.webhooks.paused()
""")


def arrival(item, place, message, status):
    return LoggedAttempt(item, item, message, status, "", "", False, at=place)


@pytest.mark.parametrize(
    ("order", "expected"),
    [("abcd", False), ("bacd", True), ("acbd", False), ("abdc", False), ("cabd", False)],
)
def test_only_steps_of_a_message_at_one_endpoint_count(order, expected):
    events = {
        "a": arrival(1, 0, 1, "sent"),
        "b": arrival(2, 0, 1, "delivered"),
        "c": arrival(3, 0, 2, "sent"),
        "d": arrival(4, 1, 2, "delivered"),
    }
    world = [events[name] for name in order]
    assert is_another_order(WorldLog([*events.values()]), WorldLog(world)) is expected


@pytest.mark.parametrize(("numbers", "expected"), [([1, 2], False), ([2, 1], True)])
def test_events_that_are_not_as_written_count_in_their_own_order(numbers, expected):
    written = [arrival(1, 0, 1, "sent"), arrival(2, 0, 1, "delivered")]
    others = [each._replace(item=each.item + 2) for each in written]
    world = [others[number - 1] for number in numbers]
    assert is_another_order(WorldLog(written), WorldLog(world)) is expected


def test_events_at_different_endpoints_have_no_order():
    events = [arrival(1, 0, 1, "sent"), arrival(2, 1, 2, "sent")]
    assert not is_another_order(WorldLog(events), WorldLog(events[::-1]))


# -- what the app logged ---------------------------------------------------------------------------


def test_an_error_that_was_logged_is_named_beside_an_ok_and_if_quiet(run):
    code = """
    class TestLogs(Shop):
        __test__ = True

        def take(self, id, status):
            if status in self.rows.get(id, ""):
                log()
            super().take(id, status)
    """
    rows = "changes or duplicates or people"
    assert cards(run(code, rows)) == snapshot("""\
TestLogs
ok       snapshot_changes
           5 of 6 events changed it; the app accepted delivered m1, but logged
           LookupError: no such message at test_it.py:29
ok       duplicates
           21 worlds; the app accepted delivered m1, but logged LookupError: no
           such message at test_it.py:29
ok       duplicates_under_another_id
           6 worlds; the app accepted delivered m1, but logged LookupError: no
           such message at test_it.py:29
ok       duplicates_days_later
           6 events; the app accepted delivered m1, but logged LookupError: no
           such message at test_it.py:29
skipped  duplicates_at_once
           a plain function handles one event at a time: connect your app as
           wsgi=, asgi= or by its URL
ok       people_write
           2 messages; the app accepted delivered m1, but logged LookupError: no
           such message at test_it.py:29
""")
    quiet = run(code, rows, "-q").stdout.str()
    assert quiet[quiet.index("test_it.py::") : quiet.index("passed")] == snapshot("""\
test_it.py::TestLogs: 5 ok, 1 skipped: duplicates_at_once (a plain function
  handles one event at a time: connect your app as wsgi=, asgi= or by its URL),
  5 with a note: snapshot_changes, duplicates, duplicates_under_another_id,
  duplicates_days_later, people_write (the app accepted delivered m1, but logged
  LookupError: no such message at test_it.py:29)
5 \
""")


def test_logging_that_is_disabled_is_named_beside_the_ok(run):
    code = """
    import pytest

    @pytest.fixture(autouse=True)
    def quiet():
        logging.disable(logging.CRITICAL)
        yield
        logging.disable(logging.NOTSET)

    class TestLogs(Shop):
        __test__ = True
    """
    assert cards(run(code, "people")) == snapshot("""\
TestLogs
ok       people_write
           2 messages; logging.disable() hides the errors that your app logs
""")


def test_only_errors_count_that_the_app_logged_as_such_and_accepted(run):
    code = """
    class Quiet(Shop):
        __test__ = False
        level = logging.WARNING

        def take(self, id, status):
            log(self.level)
            super().take(id, status)

    class TestWarning(Quiet):
        __test__ = True

    class TestCritical(Quiet):
        __test__ = True
        level = logging.CRITICAL

    class TestWithoutTraceback(Shop):
        __test__ = True

        def take(self, id, status):
            logging.getLogger("shop").error("no such message")
            super().take(id, status)
    """
    assert cards(run(code, "all_events")) == snapshot("""\
TestCritical
ok       all_events_are_taken
           6 events; the app accepted sent m1, but logged LookupError: no such
           message at test_it.py:29
TestWarning
ok       all_events_are_taken: 6 events
TestWithoutTraceback
ok       all_events_are_taken: 6 events
""")


#: An app that accepts an event after an error, of which subclasses tell.
CATCHES = """
    class Catches(Shop):
        __test__ = False

        def take(self, id, status):
            super().take(id, status)
            try:
                raise LookupError("no such message")
            except LookupError as error:
                self.tell(error)
"""


def test_an_error_whose_traceback_the_app_prints_counts_as_well(run):
    code = """
    import io
    import sys
    import traceback
    """
    code += CATCHES
    code += """
    class TestPrints(Catches):
        __test__ = True

        def tell(self, error):
            traceback.print_exc()

    class TestPrintsWithArguments(Catches):
        __test__ = True

        def tell(self, error):
            traceback.print_exception(type(error), error, error.__traceback__, file=sys.stdout)

    class TestLogsAWarning(Catches):
        __test__ = True

        def tell(self, error):
            print(error)
            traceback.print_exc(file=io.StringIO())
            logging.getLogger("shop").warning("failed: %s", traceback.format_exc())
            logging.getLogger("shop").warning("failed", exc_info=True)
    """
    assert cards(run(code, "all_events")) == snapshot("""\
TestLogsAWarning
ok       all_events_are_taken: 6 events
TestPrints
ok       all_events_are_taken
           6 events; the app accepted sent m1, but logged LookupError: no such
           message at test_it.py:43
TestPrintsWithArguments
ok       all_events_are_taken
           6 events; the app accepted sent m1, but logged LookupError: no such
           message at test_it.py:43
""")


REPORTERS = {
    "sentry_sdk": "", "sentry_sdk.api": "def capture_exception(error=None, **scope): pass",
    "rich.console": "class Console:\n    def print_exception(self, *, width=100): pass",
    "rollbar": "def report_exc_info(exc_info=None): pass",
}  # fmt: skip


def test_an_error_that_is_reported_past_any_log_is_named(run, monkeypatch):
    for name, source in REPORTERS.items():
        module = ModuleType(name)
        exec(source, vars(module))
        monkeypatch.setitem(sys.modules, name, module)
    code = """
    import rollbar, sys
    from rich.console import Console
    from sentry_sdk.api import capture_exception
    """
    code += CATCHES
    code += """
    class TestConsole(Catches):
        __test__ = True

        def tell(self, error):
            Console().print_exception()

    class TestSentry(Catches):
        __test__ = True

        def tell(self, error):
            capture_exception(error, extra=1)

    class TestRollbar(Catches):
        __test__ = True

        def tell(self, error):
            rollbar.report_exc_info(sys.exc_info())
    """
    assert cards(run(code, "all_events")) == snapshot("""\
TestConsole
ok       all_events_are_taken
           6 events; the app accepted sent m1, but logged LookupError: no such
           message at test_it.py:43
TestRollbar
ok       all_events_are_taken
           6 events; the app accepted sent m1, but logged LookupError: no such
           message at test_it.py:43
TestSentry
ok       all_events_are_taken
           6 events; the app accepted sent m1, but logged LookupError: no such
           message at test_it.py:43
""")


def test_an_error_that_a_test_injects_is_not_the_app_s(run):
    code = """
    class TestTwice(Shop):
        __test__ = True

        def receive(self, request):
            try:
                super().receive(request)
            except Exception:
                logging.getLogger("shop").exception("once more")
                super().receive(request)

    TestTwice.crash_points = [Shop.take]
    """
    assert cards(run(code, "an_error")) == snapshot("""\
TestTwice
ok       an_error: 6 worlds
""")


def test_a_failure_names_what_the_app_logged(run):
    code = """
    class TestCounts(Shop):
        __test__ = True

        def take(self, id, status):
            self.rows[status] = self.rows.get(status, 0) + 1
            if self.rows[status] > 2:
                log()
    """
    result = run(code, "duplicates_under")
    result.stdout.fnmatch_lines(["E   Hint: the app accepted *, but logged LookupError: no such *"])
    assert cards(result) == snapshot("""\
TestCounts
FAILED   duplicates_under_another_id
           sent m1 was redelivered with a new id; ["sent"]: 3; as written: 2;
           the app accepted sent m2, but logged LookupError: no such message at
           test_it.py:29\
""")


def test_an_app_that_fails_at_each_image_from_people_is_not_ok(run):
    code = """
    class TestImages(Shop):
        __test__ = True

        def receive(self, request):
            super().receive(request)
            if b'"image"' in request.body:
                log()
    """
    assert cards(run(code, "people_write")) == snapshot("""\
TestImages
FAILED   people_write
           the app accepted an image from a person, but logged LookupError: no
           such message at test_it.py:29\
""")


def test_an_image_counts_although_a_person_answers_what_the_app_replies(run):
    code = """
    import json
    from urllib.request import Request, urlopen

    class TestImages(Shop):
        __test__ = True

        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            chat_fake.send_endpoint()
            chat_fake.autopilot(
                to="+4915550003", deliver_after=0, replies=lambda message, random: "Fine"
            )
            self.fake = chat_fake
            return snapshot

        def receive(self, request):
            super().receive(request)
            if b'"STOP"' in request.body:
                message = request.event.json()["chatInboundMessage"]
                order = {"to": message["from"], "type": "text", "text": {"body": "You left"}}
                headers = {**self.fake.headers, "Content-Type": "application/json"}
                url = f"{self.fake.base_url}/v2/messages"
                urlopen(Request(url, json.dumps(order).encode(), headers)).close()
            if b'"image"' in request.body:
                log()
    """
    assert cards(run(code, "people_write")) == snapshot("""\
TestImages
FAILED   people_write
           the app accepted an image from a person, but logged LookupError: no
           such message at test_it.py:29\
""")


def test_two_attempts_that_both_logged_an_error_took_no_event_at_once(run):
    code = """
    class TestLocked(Shop):
        __test__ = True

        def connect(self, chat_fake):
            rows = set()

            async def receive(request):
                rows.add(request.event.type)
                await asyncio.sleep(0)
                log()

            chat_fake.webhooks.connect(handler=receive)
            return lambda: rows
    """
    assert cards(run(code, "duplicates_at")) == snapshot("""\
TestLocked
skipped  duplicates_at_once
           two simultaneous attempts both failed every time: status 200 (the app
           logged LookupError: no such message at test_it.py:29)
""")


# -- which events change the snapshot --------------------------------------------------------------


def test_the_card_says_how_many_events_change_the_snapshot_if_it_can(run):
    code = """
    class TestAllButOne(Shop):
        __test__ = True

    class TestBackAndForth(Shop):
        "Counts the messages that are on their way."
        __test__ = True

        def take(self, id, status):
            self.rows.clear()
            if status == "sent":
                self.rows[id] = status

        def receive(self, request):
            message = request.event.json()["chatMessage"]
            self.take(message["id"], message["status"])

    class TestByItself(Shop):
        __test__ = True

        def scenario(self, chat_fake):
            message = chat_fake.send_text()
            self.rows["own"] = 1
            message.deliver()

    class TestSettles(Shop):
        __test__ = True

        def connect(self, chat_fake):
            snapshot = super().connect(chat_fake)
            return lambda: (chat_fake.settle(), snapshot())[1]

    class TestOnlyAtTheEnd(Shop):
        __test__ = True

        def connect(self, chat_fake):
            super().connect(chat_fake)
            return lambda: len(self.rows) if len(chat_fake.events) in {0, 6} else 0

    class TestAsync(Shop):
        __test__ = True

        async def connect(self, chat_fake):
            super().connect(chat_fake)

            async def snapshot():
                await asyncio.sleep(0)
                return self.rows

            return snapshot
    """
    assert cards(run(code, "snapshot_changes")) == snapshot("""\
TestAllButOne
ok       snapshot_changes: 5 of 6 events changed it
TestAsync
ok       snapshot_changes
TestBackAndForth
ok       snapshot_changes: 4 of 6 events changed it
TestByItself
ok       snapshot_changes: 2 of 2 events changed it
TestOnlyAtTheEnd
ok       snapshot_changes
TestSettles
ok       snapshot_changes
""")


def test_one_world_that_was_asked_for_does_not_stand_for_all(run):
    code = """
    class TestOnly(Shop):
        __test__ = True
        only = {"test_duplicates": ["webhooks.duplicate(after=0, start=1)"]}
    """
    rows = "test_duplicates and not days and not under and not once"
    assert cards(run(code, rows)) == snapshot("""\
TestOnly
ok       duplicates: 1 world; other worlds were left out by only
""")


def test_an_error_after_the_response_is_none_that_was_tried(run):
    result = run(
        """
        from concurrent.futures import ThreadPoolExecutor
        from contextvars import copy_context

        def save(shop, *event):
            Shop.take(shop, *event)

        class TestPool(Shop):
            crash_points = [save]
            connected = 0

            def connect(self, chat_fake):
                TestPool.connected += 1
                self.later = []
                super().connect(chat_fake)
                with ThreadPoolExecutor(1) as self.pool:
                    yield self.snapshot

            def take(self, *event):
                may_go_on = threading.Event()
                work = copy_context().run, self.work, may_go_on, event
                self.later.append((may_go_on, self.pool.submit(*work)))
                if self.connected == 1:  # later, the pool is busy with other things
                    self.snapshot()

            def work(self, may_go_on, event):
                may_go_on.wait(60)
                save(self, *event)

            def snapshot(self):
                for may_go_on, work in self.later:
                    may_go_on.set()
                    work.result()
                return self.rows
        """,
        "an_error",
    )
    assert cards(result) == snapshot("""\
TestPool
skipped  an_error
           no world differed from the scenario as written: does your app do its
           work after the response?
""")
