"""What ``expected()`` finds, and the rows beside it that are not about another order of events."""

import re
import textwrap

import pytest
from inline_snapshot import snapshot

from .cards import card, cards, failed, outcomes

#: An app that keeps the price of each message that arrived, and makes one mistake.
SHOP = """
import json
import sqlite3
import threading
from datetime import UTC, datetime
from decimal import Decimal
from unittest.mock import ANY
from urllib.request import Request, urlopen

import pytest
from pytest_chatfake import WebhookTests
from tests.unit.api_clients import send_call

class Shop(WebhookTests):
    __test__ = False
    retry_after = ()

    def connect(self, chat_fake):
        self.fake, self.prices = chat_fake, {}
        chat_fake.send_endpoint()
        chat_fake.webhooks.connect(handler=self.handle, retry_after=self.retry_after)
        return self.snapshot

    def handle(self, request):
        message = json.loads(request.body, parse_float=Decimal)["chatMessage"]
        if message["status"] in ("delivered", "read"):
            self.take(message["id"], message["totalPrice"])

    def take(self, id, price):
        self.prices[id] = price

    def snapshot(self):
        return {"spent": sum(self.prices.values()), "messages": len(self.prices)}

    def expected(self, chat_fake):
        charged = [message for message in chat_fake.messages if message.charged]
        return {"spent": chat_fake.balance.charged, "messages": len(charged)}
"""

ROWS = "snapshot_ or duplicates_under or unknown or month or midnight"


@pytest.fixture
def run(pytester, monkeypatch):
    """Run classes beside the shop, only rows with such names, and return the result."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(code, rows=ROWS, *options):
        pytester.makepyfile(test_it=SHOP + textwrap.dedent(code))
        return pytester.runpytest("-p", "no:inline_snapshot", "-k", rows, *options)

    return run


# -- expected() ------------------------------------------------------------------------------------


def test_an_end_that_is_wrong_as_written_fails_one_row_and_is_explained(run):
    result = run("""
    class TestDoubles(Shop):
        def take(self, id, price):
            self.prices[id] = 2 * price
    """)

    assert cards(result) == snapshot("""\
TestDoubles
ok       snapshot_changes: 3 of 10 events changed it
FAILED   snapshot_is_right
           the scenario as written ends wrong; ["spent"]: 0.4290; expected:
           0.2145
ok       duplicates_under_another_id: 10 worlds
skipped  an_unknown_message
           your app sends nothing, so it knows none of the messages anyway
skipped  a_month_later: test_snapshot_is_right fails
skipped  around_midnight: test_snapshot_is_right fails\
""")
    charge = "the first delivery in c1 starts its session and costs 0.0715 (§1)"
    result.stdout.fnmatch_lines(
        [
            "E   The fake's books:",
            f"E     m1 was charged 0.0715: {charge}",
            "E     m2 was not charged: *",
        ]
    )
    assert "Hint:" not in result.stdout.str()


def test_a_long_timeline_keeps_the_message_that_is_wrong(run):
    result = run(
        """
    class TestForgetsOne(Shop):
        def snapshot(self):
            return sorted(self.prices)

        def take(self, id, price):
            if not id.endswith("9"):
                super().take(id, price)

        def scenario(self, chat_fake):
            for to in range(15):
                yield chat_fake.send_text(to=f"+{to}").deliver()
                yield chat_fake.clock.advance(minutes=to)

        def expected(self, chat_fake):
            return [message.id for message in chat_fake.messages]
    """,
        "is_right",
    )
    result.stdout.fnmatch_lines(
        [
            "E   AssertionError: *; snapshot: one missing ('m9'); 14 items; expected: 15",
            "E     ... * left out: *",
            "E * event    delivered m9",
            "E     ... * left out: *",
        ]
    )


#: How an app keeps a price, and what the failure says of it.
KEPT = {
    "float(price)": "a float can't hold this amount exactly",
    "Decimal(float(price))": "a float can't hold this amount exactly",
    "round(price, 2)": "more than two decimals",
    "Decimal(int(100 * price)) / 100": "more than two decimals",
    "price.quantize(Decimal('0.01'), 'ROUND_UP')": "more than two decimals",
    "int(float(price) * 10_000) / Decimal(10_000)": "",
    "price + 1": "",
}


def test_the_default_scenario_shows_floats_and_two_decimals_with_a_hint(run):
    code = ""
    for number, kept in enumerate(KEPT):
        code += f"""
    class Test{number}(Shop):
        def take(self, id, price):
            self.prices[id] = {kept}
    """
    shown = run(code, "is_right").stdout.str()
    reports = re.split(r"^_+ Test\d\.test_snapshot_is_right _+$", shown, flags=re.MULTILINE)[1:]

    hints = [re.findall(r"^E   Hint: (.*)", report, re.MULTILINE) for report in reports]
    assert [KEPT[kept] in "".join(hint) for kept, hint in zip(KEPT, hints, strict=True)] == (
        [True] * len(KEPT)
    )
    assert [len(hint) for hint in hints] == [bool(hint) for hint in KEPT.values()]


def test_a_price_of_the_suite_or_of_a_scenario_is_left_alone(run):
    result = run(
        """
    @pytest.mark.chat_fake(price="0.10")
    class TestPriced(Shop):
        def expected(self, chat_fake):
            return {"spent": Decimal("0.30"), "messages": 3}

    class TestNoJudge(Shop):
        expected = WebhookTests.expected

        def snapshot(self):
            return sorted(self.prices.values())

        def connect(self, chat_fake):
            yield super().connect(chat_fake)
            assert self.snapshot() == [Decimal("0.05")]
    """,
        "snapshot_ and not TestShop",
    )
    assert outcomes(result) == {
        "TestNoJudge": {"snapshot_changes": "ok", "snapshot_is_right": "skipped"},
        "TestPriced": {"snapshot_changes": "ok", "snapshot_is_right": "ok"},
    }


def test_a_world_that_ends_wrong_is_found_even_if_it_ends_as_written(run):
    # Its own books hide the second reply. The test to paste says what is right.
    code = """
    class Replies(Shop):
        right = False

        def take(self, id, price):
            is_reply = self.fake.message(id).body == "Thanks"
            if not is_reply and not (self.right and id in self.prices):
                send_call(self.fake, body="Thanks")
            self.prices[id] = price

        def snapshot(self):
            return {"thanked": len(self.prices)}

        def expected(self, chat_fake):
            return {"thanked": sum(m.body == "Thanks" for m in chat_fake.messages)}

        def scenario(self, chat_fake):
            yield chat_fake.send_text("An order").deliver()
    """
    broken = f"{code}\n    class TestReplies(Replies): pass\n"
    result = run(broken, "test_duplicates_under_another_id")
    assert cards(result) == snapshot("""\
Replies
FAILED   duplicates_under_another_id
           delivered m1 was redelivered with a new id; ["thanked"]: 1; expected:
           2
TestReplies
FAILED   duplicates_under_another_id
           delivered m1 was redelivered with a new id; ["thanked"]: 1; expected:
           2\
""")
    _, _, printed = result.stdout.str().partition("fails the same way):\n")
    printed = "\n".join(
        re.findall(r"^E {3,7}(.*)", printed.partition("This world")[0], re.MULTILINE)
    )
    assert printed.strip().endswith("assert snapshot() == self.expected(chat_fake)")
    pasted = textwrap.indent(printed, "        ")
    for right, outcome in (("False", {"failed": 1}), ("True", {"passed": 1})):
        more = f"    class TestReplies(Replies):\n        right = {right}\n{pasted}"
        run(f"{code}\n{more}", "found").assert_outcomes(**outcome)


def test_what_the_fake_can_not_know_may_be_anything_or_about_a_number(run):
    result = run(
        """
    class TestAny(Shop):
        def snapshot(self):
            return {"spent": float(sum(self.prices.values())), "row": object.__hash__(self)}

        def expected(self, chat_fake):
            return {"spent": pytest.approx(float(chat_fake.balance.charged)), "row": ANY}
    """,
        "is_right",
    )
    assert card(result) == {"snapshot_is_right": "ok"}


def test_an_async_class_may_await_what_is_expected(run):
    result = run(
        """
    class TestAsync(Shop):
        async def connect(self, chat_fake):
            return super().connect(chat_fake)

        async def expected(self, chat_fake):
            return super().expected(chat_fake)

    class TestWrong(TestAsync):
        def take(self, id, price):
            self.prices[id] = price if id not in self.prices else 2 * price
    """,
        "snapshot_is or duplicates_under or month or midnight",
        "-p",
        "no:asyncio",
    )
    rows = {"snapshot_is_right": "ok", "duplicates_under_another_id": "ok"}
    rows |= {"a_month_later": "ok", "around_midnight": "ok"}
    wrong = {"snapshot_is_right": "FAILED", "duplicates_under_another_id": "FAILED"}
    wrong |= {"a_month_later": "skipped", "around_midnight": "skipped"}
    assert outcomes(result) == {"TestAsync": rows, "TestWrong": wrong}


def test_a_wrong_expected_fails_its_own_row_and_says_what_to_write(run):
    result = run(
        """
    class TestAsync(Shop):
        async def expected(self, chat_fake): return 1

    class TestFixture(Shop):
        def expected(self, chat_fake, database): return 1

    class TestNothing(Shop):
        def expected(self, chat_fake): pass

    class TestRaises(Shop):
        def expected(self, chat_fake): raise LookupError("no such message")

    class TestYields(Shop):
        def expected(self, chat_fake): yield 1

    class TestNoSnapshot(Shop):
        snapshot = None
    """,
        "is_right or duplicates_under",
    )
    assert cards(result) == snapshot("""\
TestAsync
FAILED   snapshot_is_right
           TypeError: expected(): expected a plain function, as connect() and
           scenario() are, got an async def
ok       duplicates_under_another_id: 10 worlds
TestFixture
FAILED   snapshot_is_right
           TypeError: TestFixture: expected expected(self, chat_fake), got other
           parameters (missing a required argument: 'database'); connect() can
           set what it needs, as in self.app = ...
FAILED   duplicates_under_another_id
           TypeError: TestFixture: expected expected(self, chat_fake), got other
           parameters (missing a required argument: 'database'); connect() can
           set what it needs, as in self.app = ...
TestNoSnapshot
skipped  snapshot_is_right
           connect() returned no snapshot, so only responses were checked;
           return a function that returns your app's state, as in lambda:
           dict(app.statuses)
skipped  duplicates_under_another_id
           connect() returned no snapshot, so only responses were checked;
           return a function that returns your app's state, as in lambda:
           dict(app.statuses)
TestNothing
FAILED   snapshot_is_right
           ChatFakeError: expected(): expected what the snapshot has to be, got
           None; did you forget `return`?
ok       duplicates_under_another_id: 10 worlds
TestRaises
FAILED   snapshot_is_right: LookupError: no such message
ok       duplicates_under_another_id: 10 worlds
TestYields
FAILED   snapshot_is_right
           TypeError: expected(): expected a function without yield
ok       duplicates_under_another_id: 10 worlds\
""")


def test_while_it_is_expected_to_fail_rows_that_need_it_are_skipped(run):
    result = run("""
    class TestKnown(Shop):
        expected_failures = {"test_snapshot_is_right": "#1"}

        def take(self, id, price):
            self.prices[id] = 2 * price

    class TestLeftOut(TestKnown):
        expected_failures = {}
        test_snapshot_is_right = None
    """)
    assert cards(result) == snapshot("""\
TestKnown
ok       snapshot_changes: 3 of 10 events changed it
expected snapshot_is_right
           the scenario as written ends wrong; ["spent"]: 0.4290; expected:
           0.2145
ok       duplicates_under_another_id: 10 worlds
skipped  an_unknown_message
           your app sends nothing, so it knows none of the messages anyway
skipped  a_month_later: test_snapshot_is_right is expected to fail
skipped  around_midnight: test_snapshot_is_right is expected to fail
TestLeftOut
ok       snapshot_changes: 3 of 10 events changed it
ok       duplicates_under_another_id: 10 worlds
skipped  an_unknown_message
           your app sends nothing, so it knows none of the messages anyway
FAILED   a_month_later
           the scenario as written ends wrong; ["spent"]: 0.4290; expected:
           0.2145
FAILED   around_midnight
           the scenario as written ends wrong; ["spent"]: 0.4290; expected:
           0.2145\
""")


def test_an_amount_that_comes_as_text_has_to_count_all_the_same(run):
    result = run(
        """
    class Shaped(Shop):
        __test__ = False

        @pytest.fixture
        def chat_fake_config(self):
            from pytest_chatfake import ChatFakeConfig
            return ChatFakeConfig(outbound=lambda event: {
                "message": event["chatMessage"]["id"],
                "cost": event["chatMessage"]["totalPrice"],
                "status": event["chatMessage"]["status"],
            })

        def handle(self, request):
            body = json.loads(request.body, parse_float=Decimal)
            if body["status"] in ("delivered", "read"):
                self.take(body["message"], body["cost"])

    class TestParsesBoth(Shaped):
        def take(self, id, price):
            self.prices[id] = Decimal(price)

    class TestCountsNumbersAlone(Shaped):
        def take(self, id, price):
            self.prices[id] = price if isinstance(price, Decimal) else 0
    """,
        "is_right or later_version",
    )

    assert cards(result) == snapshot("""\
TestCountsNumbersAlone
ok       snapshot_is_right: 10 events
FAILED   a_later_version
           every body.cost changed its type: from a number to text, or back;
           ["spent"]: 0; expected: 0.2145; no unknown event type, because of
           outbound=
TestParsesBoth
ok       snapshot_is_right: 10 events
ok       a_later_version
           2 worlds; no unknown event type, because of outbound=; unknown_value
           was not tried: your webhooks have none of the fields
           conversation.originType, conversation.type, errorCode, type\
""")


def test_a_snapshot_may_end_as_it_began(run):
    result = run(
        """
    class TestHeld(Shop):
        def handle(self, request):
            message = json.loads(request.body, parse_float=Decimal)["chatMessage"]
            self.prices[message["id"]] = message["totalPrice"] * (message["status"] == "sent")

        def snapshot(self):
            return sum(self.prices.values())

        def expected(self, chat_fake):
            return chat_fake.balance.held

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()
    """,
        "snapshot_ or under_another",
    )
    assert failed(result) == {"TestHeld": []}


# -- a month later, and around midnight ------------------------------------------------------------


def test_a_month_without_news_needs_a_scenario_that_goes_on_without(run):
    result = run(
        """
    class TestRelies(Shop):
        def scenario(self, chat_fake):
            message = yield chat_fake.send_text().deliver()
            assert message.status == "delivered"

    class TestRejected(Shop):
        def scenario(self, chat_fake):
            chat_fake.submit_text().reject()
            self.prices["1"] = Decimal(0)
            yield

        def expected(self, chat_fake):
            return ANY

    class TestOpenChat(Shop):
        def scenario(self, chat_fake):
            chat_fake.recipient("+1", chat_open=True)
            yield chat_fake.send_text(to="+1")
    """,
        "month",
    )
    assert cards(result) == snapshot("""\
TestOpenChat
ok       a_month_later: 1 message
TestRejected
skipped  a_month_later: no message of your scenario was dropped within 31 days
TestRelies
skipped  a_month_later
           your scenario itself fails in this case, with AssertionError: assert
           'sent' == 'delivered'
""")


def test_what_the_scenario_can_not_do_at_night_is_skipped_but_no_refusal(run):
    result = run(
        """
    class TestQuiet(Shop):
        def scenario(self, chat_fake):
            if datetime.now(UTC).hour in (7, 12):
                send_call(chat_fake)
            yield chat_fake.find_message().deliver()

    class TestRaises(Shop):
        def take(self, id, price):
            datetime.now(UTC).replace(hour=datetime.now(UTC).hour - 1)
            super().take(id, price)
    """,
        "midnight",
    )
    assert cards(result) == snapshot("""\
TestQuiet
skipped  around_midnight
           your scenario itself fails in this case, with LookupError: no message
           matches (no criteria): none was sent
TestRaises
FAILED   around_midnight
           the scenario began at 00:30 UTC; ["spent"]: 0; expected: 0.2145\
""")


# -- a message that the app never sent -------------------------------------------------------------


def test_a_refusal_for_ever_is_a_failure_and_others_may_be_right(run):
    result = run(
        """
    class OfOnes(Shop):
        responses, retry_after = [], (60, 600)

        def handle(self, request):
            if request.event.message_id in self.known:
                return super().handle(request)
            return self.responses[min(request.number, len(self.responses)) - 1]

        def connect(self, chat_fake):
            self.known = set()
            return super().connect(chat_fake)

        def scenario(self, chat_fake):
            self.known.add(send_call(chat_fake).json()["id"])
            yield chat_fake.messages[-1].deliver()

    class TestForEver(OfOnes):
        responses = [503]

    class TestInTheEnd(OfOnes):
        responses = [503, 500, 204]

    class TestNoRetries(OfOnes):
        responses, retry_after = [503], ()

    class TestNotFound(OfOnes):
        responses = [404]

    class TestRaises(OfOnes):
        def handle(self, request):
            if request.event.message_id not in self.known:
                raise LookupError("no such message")

    @pytest.mark.chat_fake(opening_balance="0.05", on_insufficient_balance="fail")
    class TestNoMoney(OfOnes):
        responses = [204]

    class TestSendsNothing(Shop):
        pass
    """,
        "unknown",
    )
    assert cards(result) == snapshot("""\
OfOnes
FAILED   an_unknown_message
           an event about a message that your app never sent was refused 3
           times, up to the last retry: IndexError: list index out of range
TestForEver
FAILED   an_unknown_message
           an event about a message that your app never sent was refused 3
           times, up to the last retry: status 503
TestInTheEnd
ok       an_unknown_message: 2 events
TestNoMoney
ok       an_unknown_message: 2 events
TestNoRetries
skipped  an_unknown_message
           refused with status 503: to see whether your app accepts a retry,
           pass your provider's schedule, as in connect(retry_after=[60, 600])
TestNotFound
skipped  an_unknown_message
           refused with status 404: is that what your provider expects?
TestRaises
FAILED   an_unknown_message
           an event about a message that your app never sent was refused 3
           times, up to the last retry: LookupError: no such message
TestSendsNothing
skipped  an_unknown_message
           your app sends nothing, so it knows none of the messages anyway\
""")


# -- during a call ---------------------------------------------------------------------------------


def test_what_could_not_arrive_during_a_call_is_said_and_accuses_no_app(run):
    result = run(
        """
    class Asks(Shop):
        def ask(self):
            request = Request(f"{self.fake.base_url}/v2/balance", headers=self.fake.headers)
            with urlopen(request):
                pass

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()
            self.ask()
            yield

    class TestAsks(Asks):
        pass

    class TestSettles(Asks):
        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()
            yield chat_fake.settle()
            self.ask()

    class TestLate(Asks):
        expected = WebhookTests.expected

        def ask(self):
            self.prices["at the call"] = len(self.prices)
            super().ask()

    @pytest.mark.chat_fake(timeout=0.5)
    class TestLock(Asks):
        lock = threading.Lock()

        def ask(self):
            with self.lock:
                super().ask()

        def handle(self, request):
            with self.lock:
                super().handle(request)

    class TestThread(Asks):
        def connect(self, chat_fake):
            self.rows = sqlite3.connect(":memory:")
            return super().connect(chat_fake)

        def take(self, id, price):
            self.rows.execute("SELECT 1")
            super().take(id, price)
    """,
        "before",
    )
    assert cards(result) == snapshot("""\
Asks
ok       webhooks_before_the_response: 2 worlds
TestAsks
ok       webhooks_before_the_response: 2 worlds
TestLate
ok       webhooks_before_the_response: 2 worlds
TestLock
skipped  webhooks_before_the_response
           the webhook can't be handled before the response: your app holds a
           lock or a transaction while it calls
TestSettles
skipped  webhooks_before_the_response
           your scenario makes no API call that sends a message
TestThread
ok       webhooks_before_the_response
           1 world; during_call was not tried: the webhook can't be handled
           before the response: your app's SQLite connection belongs to another
           thread
""")
