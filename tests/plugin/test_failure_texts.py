"""The sentences with which expectations fail, and explanations, word for word."""

from __future__ import annotations

import asyncio
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from inline_snapshot import snapshot
from werkzeug.test import Client

from pytest_chatfake import ChatFake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START = 1_767_268_800  # 2026-01-01T12:00:00Z


@contextmanager
def a_fake(**config: Any) -> Iterator[ChatFake]:
    defaults = {"seed": "texts", "api_key": "secret-key-1234"}
    with time_machine.travel(START, tick=False), ChatFake(**defaults | config) as fake:
        yield fake


def failure(expectation: Callable[[], object]) -> str:
    """The text, with ids and line numbers put short."""
    with pytest.raises(AssertionError) as caught:
        expectation()
    return short(str(caught.value))


def short(text: str) -> str:
    text = re.sub(r"evt_[0-9a-f]{16}0*([0-9a-f]+)", r"evt_\1", text)
    text = re.sub(r"\b[0-9a-f]{24}0*([0-9a-f]+)\b", r"<conversation \1>", text)
    text = re.sub(r"\b[0-9a-f]{16}0*([0-9a-f]+)\b", r"<message \1>", text)
    text = re.sub(r"\S+\.py:\d+ via ", "", text)
    return re.sub(r"(test_failure_texts\.py):\d+", r"\1:N", text)


def scenario(fake: ChatFake) -> list[Any]:
    first = fake.send_text().deliver(devices=2)
    fake.clock.advance(60)
    return [first, fake.send_text(), fake.send_text(to="+2").fail(), fake.submit_text().reject()]


# -- amounts ---------------------------------------------------------------------------------------


def test_charged_of_the_account_names_what_was_not_delivered() -> None:
    with a_fake() as fake:
        scenario(fake)

        assert snapshot("""\
charged: expected 0.10 USD, found 0.05 USD
Not delivered yet, and so not charged (§1): m2.
Charged to the account, by the ledger:
  2026-01-01T12:00:00.000Z  opening  100
  2026-01-01T12:00:00.000Z  hold     0.05  m1
  2026-01-01T12:00:00.000Z  release  0.05  m1
  2026-01-01T12:00:00.000Z  charge   0.05  m1
  2026-01-01T12:01:00.000Z  hold     0.05  m3
  2026-01-01T12:01:00.000Z  release  0.05  m3\
""") == failure(lambda: fake.assert_charged("0.10"))


def test_charged_of_the_account_names_what_shares_a_conversation() -> None:
    with a_fake() as fake:
        fake.send_text().deliver()
        fake.send_text().deliver()

        assert snapshot("""\
charged: expected 0.10 USD, found 0.05 USD
In c1, which was charged with m1 (§1): m2.
The session of c1 ends at 2026-01-02T12:00:00.000Z: what is sent after chat_fake.clock.advance(days=1) is charged anew.
All of them went to the default recipient, +15550100. Remedy: send to others, as in to='+15550101'.
Charged to the account, by the ledger:
  2026-01-01T12:00:00.000Z  opening  100
  2026-01-01T12:00:00.000Z  hold     0.05  m1
  2026-01-01T12:00:00.000Z  release  0.05  m1
  2026-01-01T12:00:00.000Z  charge   0.05  m1\
""") == failure(lambda: fake.assert_charged("0.10"))


def test_more_was_charged_than_expected() -> None:
    with a_fake() as fake:
        fake.send_text().deliver()

        assert snapshot("""\
charged: expected 0 USD, found 0.05 USD
Charged to the account, by the ledger:
  2026-01-01T12:00:00.000Z  opening  100
  2026-01-01T12:00:00.000Z  hold     0.05  m1
  2026-01-01T12:00:00.000Z  release  0.05  m1
  2026-01-01T12:00:00.000Z  charge   0.05  m1\
""") == failure(lambda: fake.assert_charged("0"))


def test_available_names_what_is_held() -> None:
    with a_fake(currency="EUR") as fake:
        fake.send_text(price="0.30")

        assert snapshot("""\
available: expected -1 EUR, found 99.70 EUR
Held, and so not available (§3 rule 5): 0.30, for m1.
Available on the account, by the ledger:
  2026-01-01T12:00:00.000Z  opening  100
  2026-01-01T12:00:00.000Z  hold     0.30  m1\
""") == failure(lambda: fake.assert_available("-1"))


def test_held_of_the_account_names_when_it_comes_back() -> None:
    with a_fake() as fake:
        for number in range(7):
            fake.send_text(to=f"+{number}")

        assert snapshot("""\
held: expected 0 USD, found 0.35 USD
Sent and not delivered, and so held (§3 rule 5): m1, m2, m3, m4, m5 and 2 more.
Remedy: deliver() it, or chat_fake.clock.advance(days=30): at 2026-01-31T12:00:00.000Z it is dropped.
Held for the account, by the ledger:
  2026-01-01T12:00:00.000Z  opening  100
  2026-01-01T12:00:00.000Z  hold     0.05  m1
  2026-01-01T12:00:00.000Z  hold     0.05  m2
  2026-01-01T12:00:00.000Z  hold     0.05  m3
  2026-01-01T12:00:00.000Z  hold     0.05  m4
  2026-01-01T12:00:00.000Z  hold     0.05  m5
  2026-01-01T12:00:00.000Z  hold     0.05  m6
  2026-01-01T12:00:00.000Z  hold     0.05  m7\
""") == failure(lambda: fake.assert_held("0"))


def test_held_of_the_account_names_what_released_it() -> None:
    with a_fake() as fake:
        fake.send_text(to="+1")
        fake.send_text(to="+2").fail()
        fake.clock.advance(days=30)

        assert snapshot("""\
held: expected 0.10 USD, found 0.00 USD
Released by the drop: what was held for m1.
Released by a failure: what was held for m2.
Held for the account, by the ledger:
  2026-01-01T12:00:00.000Z  opening  100
  2026-01-01T12:00:00.000Z  hold     0.05  m1
  2026-01-01T12:00:00.000Z  hold     0.05  m2
  2026-01-01T12:00:00.000Z  release  0.05  m2
  2026-01-31T12:00:00.000Z  release  0.05  m1\
""") == failure(lambda: fake.assert_held("0.10"))


CHARGES: dict[str, Callable[[ChatFake], Any]] = {
    "not delivered": lambda fake: fake.send_text(),
    "in a conversation that was charged": lambda fake: [
        fake.send_text().deliver(),
        fake.send_text().deliver(),
    ][1],
    "still held then": lambda fake: [
        fake.send_text(to="+1"),
        fake.send_text(to="+1").deliver(),
    ][0].read(),
    "failed": lambda fake: fake.send_text().fail(),
    "rejected": lambda fake: fake.submit_text().reject(),
    "free": lambda fake: fake.send_text(price=0).deliver(),
    "another price": lambda fake: fake.send_text().deliver(price="0.04"),
}


@pytest.mark.parametrize(
    ("case", "likely"),
    [
        (
            "not delivered",
            snapshot("""\
charged: expected 0.05 USD, found 0 USD
m1 was not delivered yet, and a charge is made at the first delivery (§1).
Remedy: deliver() it, or read() it.\
"""),
        ),
        (
            "in a conversation that was charged",
            snapshot("""\
charged: expected 0.05 USD, found 0 USD
m2: c1 was already charged for m1 (§1).
In c1, which was charged with m1 (§1): m2.
The session of c1 ends at 2026-01-02T12:00:00.000Z: what is sent after chat_fake.clock.advance(days=1) is charged anew.
All of them went to the default recipient, +15550100. Remedy: send to others, as in to='+15550101'.\
"""),
        ),
        (
            "still held then",
            snapshot("""\
charged: expected 0.05 USD, found 0 USD
m1: it was delivered and read at once, with no delivered event (§3).
m1: c1 was already charged for m2 (§1).
m1: it kept its hold until now, 0.05, which is released (assumed).
In c1, which was charged with m2 (§1): m1.
The session of c1 ends at 2026-01-02T12:00:00.000Z: what is sent after chat_fake.clock.advance(days=1) is charged anew.\
"""),
        ),
        (
            "failed",
            snapshot("""\
charged: expected 0.05 USD, found 0 USD
m1: it failed after it was sent: failed messages are not charged (§8).
m1: what was held for it comes back at once (assumed).\
"""),
        ),
        (
            "rejected",
            snapshot("""\
charged: expected 0.05 USD, found 0 USD
m1: it failed before it was sent: nothing is held or charged (§3 rule 4).\
"""),
        ),
        (
            "free",
            snapshot("""\
charged: expected 0.05 USD, found 0 USD
m1: the first delivery in c1 starts its session; the price is 0 (§1).\
"""),
        ),
        (
            "another price",
            snapshot("""\
charged: expected 0.05 USD, found 0.04 USD
m1: the delivery gave the final price, 0.04 (§2.3).
m1: the first delivery in c1 starts its session and is charged, 0.04 (§1).\
"""),
        ),
    ],
)
def test_charged_for_a_message_says_why(case: str, likely: str) -> None:
    with a_fake() as fake:
        message = CHARGES[case](fake)
        text = failure(lambda: fake.assert_charged("0.05", message=message))

    assert likely == text.partition("\nCharged to ")[0]


def test_charged_for_a_message_that_was_dropped_says_why() -> None:
    with a_fake() as fake:
        message = fake.send_text()
        fake.clock.advance(days=30)

        assert snapshot("""\
charged: expected 0.05 USD, found 0 USD
m1: it was not delivered in time and dropped: what was held comes back (§3 rule 5).
Charged to m1, message <message 1>, by the ledger:
  2026-01-01T12:00:00.000Z  hold     0.05  m1
  2026-01-31T12:00:00.000Z  release  0.05  m1\
""") == failure(lambda: fake.assert_charged("0.05", message=message))


def test_held_for_a_message() -> None:
    with a_fake() as fake:
        message = fake.send_text()
        free = fake.send_text(price=0, to="+2")

        assert snapshot("""\
held: expected 0 USD, found 0.05 USD
m1 is sent and not delivered: its price is held until then (§3 rule 5).
Remedy: deliver() it, or chat_fake.clock.advance(days=30): at 2026-01-31T12:00:00.000Z it is dropped.
Held for m1, message <message 1>, by the ledger:
  2026-01-01T12:00:00.000Z  hold  0.05  m1\
""") == failure(lambda: fake.assert_held("0", message=message))
        assert snapshot("""\
held: expected 1 USD, found 0 USD
m2: it begins c2, which costs nothing until a delivery (§1).
m2: its price is 0: nothing is held (§3 rule 5).
Held for m2, message <message 2>, by the ledger:
  (none)\
""") == failure(lambda: fake.assert_held("1", message=free))
        message.deliver()
        assert snapshot("""\
held: expected 0.05 USD, found 0 USD
What was held for m1 was released by its delivery.
Held for m1, message <message 1>, by the ledger:
  2026-01-01T12:00:00.000Z  hold     0.05  m1
  2026-01-01T12:00:00.000Z  release  0.05  m1
  2026-01-01T12:00:00.000Z  charge   0.05  m1\
""") == failure(lambda: fake.assert_held("0.05", message=message))


def test_a_charge_in_a_block() -> None:
    with a_fake() as fake:
        scenario(fake)

        def block() -> None:
            with fake.expect_charge("0.05"):
                fake.send_text(to="+3")

        assert snapshot("""\
charged in the block: expected 0.05 USD, found 0.00 USD
Not delivered yet, and so not charged (§1): m2, m5.
Posted in the block:
  2026-01-01T12:01:00.000Z  hold  0.05  m5\
""") == failure(block)
        with fake.expect_charge("0.05"):
            fake.messages[-1].deliver()
        with fake.expect_charge(0):
            pass


def test_a_long_ledger_is_cut_in_the_middle() -> None:
    with a_fake() as fake:
        for number in range(100):
            fake.send_text(to=f"+{number}")
        ledger = failure(lambda: fake.assert_held(0)).partition("ledger:\n")[2].splitlines()

        assert 31 == len(ledger)
        assert "  ... 71 more ..." == ledger[15]
        assert ledger[0].endswith("opening  100")
        assert ledger[-1].endswith("m100")


# -- statuses --------------------------------------------------------------------------------------

EVENTS = """
Its events:
  2026-01-01T12:00:00.000Z  sent       evt_1  at test_failure_texts.py:N
  2026-01-01T12:00:00.000Z  delivered  evt_2  at test_failure_texts.py:N
  2026-01-01T12:00:00.000Z  delivered  evt_3  at test_failure_texts.py:N"""


@pytest.mark.parametrize(
    ("expected", "difference"),
    [
        (["sent", "delivered"], "not expected, from number 3 on: delivered"),
        (["sent", "delivered", "delivered", "read"], "missing from number 4 on: read"),
        (["sent", "read"], "number 2 is delivered, and read was expected"),
        ([], "not expected, from number 1 on: sent, delivered, delivered"),
    ],
)
def test_statuses(expected: list[str], difference: str) -> None:
    with a_fake() as fake:
        message, *_ = scenario(fake)

        assert (
            f"statuses of m1, message <message 1>, differ: {difference}\n"
            f"  expected  {', '.join(expected) or '(none)'}\n"
            f"  found     sent, delivered, delivered{EVENTS}"
        ) == failure(lambda: fake.assert_statuses(message, *expected))


def test_statuses_of_a_dropped_message() -> None:
    with a_fake() as fake:
        message = fake.send_text()
        fake.clock.advance(days=31)

        assert snapshot("""\
statuses of m1, message <message 1>, differ: missing from number 2 on: delivered
  expected  sent, delivered
  found     sent
m1 was dropped, which has no event (§3 rule 6).
Its events:
  2026-01-01T12:00:00.000Z  sent  evt_1  at test_failure_texts.py:N\
""") == failure(lambda: fake.assert_statuses(message, "sent", "delivered"))


@pytest.mark.parametrize(
    ("verb", "expected", "likely"),
    [
        (lambda message: message, "delivered", "m1 was not delivered."),
        (
            lambda message: message.read(),
            "delivered",
            (
                "m1 was read at once, which has no delivered event (§3).\n"
                "Remedy: deliver() it before read()."
            ),
        ),
    ],
)
def test_statuses_say_why_one_is_missing(verb: Any, expected: str, likely: str) -> None:
    with a_fake() as fake:
        message = verb(fake.send_text())
        text = failure(lambda: fake.assert_statuses(message, "sent", expected))

    assert likely == text.partition("  found     ")[2].partition("\n")[2].partition("\nIts ")[0]


def test_statuses_of_a_person_without_read_receipts() -> None:
    with a_fake() as fake:
        message = fake.send_text(to=fake.recipient("+1", read_receipts=False)).deliver().read()
        text = failure(lambda: fake.assert_statuses(message, "sent", "delivered", "read"))

    assert "m1 went to somebody without read receipts: no read event (§3 rule 3)." in text


# -- requests --------------------------------------------------------------------------------------


def test_requests() -> None:
    with a_fake() as fake:
        assert snapshot("""\
POST /v2/messages was requested 0 times, and at least once was expected
Nothing was asked of the API at all.
Remedy: let the app ask chat_fake.base_url (or call chat_fake.wsgi_app), with chat_fake.api_key in the header X-API-Key.
Requested were:
  (none)\
""") == failure(lambda: fake.assert_requested("POST", "/v2/messages"))
        for key in ("secret-key-1234", "another-key-9876"):
            Client(fake.wsgi_app).get("/v2/balance?x=1", headers={"X-API-Key": key})

        assert snapshot("""\
GET /v2/balance was requested 2 times, and once was expected
Requested were:
  GET /v2/balance with the key ...1234: 200
  GET /v2/balance with the key ...9876 (not this fake's): 401\
""") == failure(lambda: fake.assert_requested("GET", "/v2/balance", times=1))


def test_requests_that_an_attempt_to_come_would_lead_to() -> None:
    with a_fake(retry_after=[30]) as fake:
        fake.webhooks.receiver().respond(500)
        fake.send_text()

        assert snapshot("""\
GET /v2/balance was requested 0 times, and at least once was expected
The app may ask when it hears of what is to come:
attempt 2 at sent m1 is due at 2026-01-01T12:00:30.000Z, caused at test_failure_texts.py:N.
Remedy: chat_fake.clock.advance(seconds=30).
Requested were:
  (none)\
""") == failure(lambda: fake.assert_requested("GET", "/v2/balance"))


@pytest.mark.parametrize(
    ("method", "path", "likely"),
    [
        (
            "POST",
            "/v2/balance",
            "The nearest that was requested is GET /v2/balance: is the method right, and the path?",
        ),
        (
            "GET",
            "/v2/balances",
            "The nearest that was requested is GET /v2/balance: is the method right, and the path?",
        ),
        (
            "GET",
            "v2/balance",
            "Remedy: write the path alone, from its first / on, without host and query.",
        ),
        (
            "GET",
            "/v2/balance?x=1",
            "Remedy: write the path alone, from its first / on, without host and query.",
        ),
        ("DELETE", "/somewhere/else", "Requested were:"),
    ],
)
def test_requests_that_are_nearly_what_was_expected(method: str, path: str, likely: str) -> None:
    with a_fake() as fake:
        Client(fake.wsgi_app).get("/v2/balance", headers={"X-API-Key": fake.api_key})
        text = failure(lambda: fake.assert_requested(method, path))

    assert likely == text.splitlines()[1]


def test_requests_that_an_app_may_have_made_if_it_had_taken_an_event() -> None:
    with a_fake() as fake:
        receiver = fake.webhooks.receiver()
        receiver.respond(500)
        fake.send_text()
        fake.webhooks.lose_response(endpoint=receiver.endpoint)
        fake.send_text()
        text = failure(lambda: fake.assert_requested("GET", "/v2/balance"))
        fake.webhooks.attempts  # noqa: B018 - they are seen

    assert [
        "The app may ask when it has taken an event, and this attempt failed:",
        "sent m1 -> Receiver(): answered 500.",
    ] == text.splitlines()[1:3]


def test_requests_of_an_app_that_hears_of_nothing() -> None:
    with a_fake() as fake:
        fake.send_text()
        text = failure(lambda: fake.assert_requested("GET", "/v2/balance"))

    assert (
        snapshot("""\
GET /v2/balance was requested 0 times, and at least once was expected
Nothing was asked of the API at all.
Remedy: let the app ask chat_fake.base_url (or call chat_fake.wsgi_app), with chat_fake.api_key in the header X-API-Key.
An app that asks when it hears of an event has heard of none: no endpoint.
Requested were:
  (none)\
""")
        == text
    )


def test_requests_that_were_lost_because_the_test_said_so_have_no_cause() -> None:
    with a_fake() as fake:
        fake.webhooks.receiver()
        fake.webhooks.drop()
        fake.send_text()
        text = failure(lambda: fake.assert_requested("GET", "/v2/balance"))

    assert "Nothing was asked of the API at all." == text.splitlines()[1]


# -- what is still to come -------------------------------------------------------------------------


def laid(fake: ChatFake) -> Any:
    message = fake.send_text()
    message.after(minutes=90).deliver().after(0.5).read()
    return message


def flown(fake: ChatFake) -> Any:
    fake.autopilot(deliver_after=30, read_after=86_400)
    return fake.send_text()


def heard(fake: ChatFake) -> Any:
    fake.webhooks.receiver()
    return flown(fake)


def to_fail(fake: ChatFake) -> Any:
    message = fake.send_text()
    message.after(days=2).fail()
    return message


@pytest.mark.parametrize(
    ("scenario", "expected", "likely"),
    [
        (
            laid,
            lambda fake, message: fake.assert_charged("0.05", message=message),
            snapshot(
                [
                    "m1 was not delivered yet, and a charge is made at the first delivery (§1).",
                    "deliver() of m1 is due at 2026-01-01T13:30:00.000Z, scheduled at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(hours=1, minutes=30).",
                ]
            ),
        ),
        (
            laid,
            lambda fake, message: fake.assert_charged("0.05"),
            snapshot(
                [
                    "Not delivered yet, and so not charged (§1): m1.",
                    "deliver() of m1 is due at 2026-01-01T13:30:00.000Z, scheduled at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(hours=1, minutes=30).",
                ]
            ),
        ),
        (
            laid,
            lambda fake, message: fake.assert_held(0, message=message),
            snapshot(
                [
                    "m1 is sent and not delivered: its price is held until then (§3 rule 5).",
                    "deliver() of m1 is due at 2026-01-01T13:30:00.000Z, scheduled at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(hours=1, minutes=30).",
                ]
            ),
        ),
        (
            laid,
            lambda fake, message: fake.assert_statuses(message, "sent", "delivered"),
            snapshot(
                [
                    "deliver() of m1 is due at 2026-01-01T13:30:00.000Z, scheduled at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(hours=1, minutes=30).",
                ]
            ),
        ),
        (
            laid,
            lambda fake, message: fake.assert_statuses(message, "sent", "read"),
            snapshot(
                [
                    "read() of m1 is due at 2026-01-01T13:30:00.500Z, scheduled at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(hours=1, minutes=30, seconds=0.5).",
                ]
            ),
        ),
        (
            flown,
            lambda fake, message: fake.assert_charged("0.05", message=message),
            snapshot(
                [
                    "m1 was not delivered yet, and a charge is made at the first delivery (§1).",
                    "deliver() of m1 is due at 2026-01-01T12:00:30.000Z, by the autopilot, set up at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(seconds=30).",
                ]
            ),
        ),
        (
            heard,
            lambda fake, message: fake.assert_requested("GET", "/v2/balance"),
            snapshot(
                [
                    "deliver() of m1 is due at 2026-01-01T12:00:30.000Z, by the autopilot, set up at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(seconds=30).",
                ]
            ),
        ),
        (
            to_fail,
            lambda fake, message: fake.assert_statuses(message, "sent", "failed"),
            snapshot(
                [
                    "fail() of m1 is due at 2026-01-03T12:00:00.000Z, scheduled at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(days=2).",
                ]
            ),
        ),
        (
            to_fail,
            lambda fake, message: fake.assert_held(0),
            snapshot(
                [
                    "Sent and not delivered, and so held (§3 rule 5): m1.",
                    "fail() of m1 is due at 2026-01-03T12:00:00.000Z, scheduled at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(days=2).",
                ]
            ),
        ),
        (
            to_fail,
            lambda fake, message: fake.assert_available(100),
            snapshot(
                [
                    "Held, and so not available (§3 rule 5): 0.05, for m1.",
                    "fail() of m1 is due at 2026-01-03T12:00:00.000Z, scheduled at test_failure_texts.py:N.",
                    "Remedy: chat_fake.clock.advance(days=2).",
                ]
            ),
        ),
        (
            to_fail,
            lambda fake, message: fake.assert_statuses(message, "sent", "delivered"),
            snapshot(["m1 was not delivered."]),
        ),
    ],
)
def test_what_would_come_by_itself_is_named_with_the_move_of_the_clock(
    scenario: Callable[[ChatFake], Any],
    expected: Callable[[ChatFake, Any], object],
    likely: list[str],
) -> None:
    with a_fake() as fake:
        message = scenario(fake)
        text = failure(lambda: expected(fake, message))

    lines = [line for line in text.splitlines()[1:] if not line.startswith("  ")]
    assert likely == [line for line in lines if not line.endswith(":")]


def test_what_would_come_to_a_phone_that_is_off_names_the_phone() -> None:
    with a_fake() as fake:
        fake.autopilot(deliver_after=30)
        message = fake.send_text(to=fake.recipient("+1", online=False))
        texts = [
            failure(lambda: fake.assert_charged("0.05", message=message)),
            failure(lambda: fake.assert_statuses(message, "sent", "delivered")),
            failure(lambda: fake.assert_charged("0.05")),
            failure(lambda: fake.assert_held(0)),
            fake._story.section().partition("\n\n")[0],
        ]

    for text in texts:
        assert "the phone of +1 is off" in text
        assert ".comes_online()" in text
        assert "advance(" not in text


def test_a_delivery_by_the_autopilot_that_can_never_be_is_not_named() -> None:
    with a_fake() as fake:
        fake.autopilot(deliver_after=30, read_after=30)
        fake.recipient("+1").blocks()
        fake.send_text(to="+1")
        fake.recipient("+1").unblocks()
        text = failure(lambda: fake.assert_charged("0.05"))
        looked = fake._story.section()
        fake.clock.advance(60)
        assert 0 == fake.balance.charged

    assert "is due at" not in text + looked


def test_a_message_that_is_read_the_moment_it_arrives_is_named_with_both() -> None:
    with a_fake() as fake:
        fake.autopilot(deliver_after=30, read_after=0)
        message = fake.send_text()
        text = failure(lambda: fake.assert_statuses(message, "sent", "read"))
        looked = fake._story.section().partition("\n\n")[0]

    assert "read() of m1 is due at" in text
    assert 1 == looked.count("deliver() of m1 is due") == looked.count("read() of m1 is due")


def test_an_attempt_that_nobody_will_hear_of_is_not_named() -> None:
    with a_fake(retry_after=[30]) as fake:
        receiver = fake.webhooks.receiver()
        receiver.respond(500)
        fake.send_text().after(60).deliver()
        receiver.endpoint.disconnect()
        text = failure(lambda: fake.assert_requested("GET", "/v2/balance"))
        looked = fake._story.section().partition("\n\n")[0]
        fake.webhooks.attempts  # noqa: B018 - they are seen

    assert "is due at" not in text
    assert "attempt 2" not in looked


@pytest.mark.parametrize("of", ["held", "available"])
def test_what_costs_nothing_is_not_named_as_held(of: str) -> None:
    with a_fake() as fake:
        fake.send_text().deliver()
        fake.send_text()  # in the conversation that is charged
        fake.send_text(to="+2")
        expected = {"held": "0", "available": "100"}[of]
        text = failure(lambda: getattr(fake, f"assert_{of}")(expected))

    assert "m2" not in text
    assert re.search(r"and so .*: (0\.05, for )?m3\.", text)


def test_a_cause_that_cannot_be_told_hides_no_failure() -> None:
    with a_fake() as fake:
        message = fake.send_text().fail()
        fake._engine.journal.kinds[1] = 31
        text = failure(lambda: fake.assert_charged("0.05", message=message))

    assert "charged: expected 0.05 USD, found 0 USD" == text.splitlines()[0]
    assert "The cause can't be told: KeyError: 31." in text


def test_a_session_that_is_over_ends_no_more() -> None:
    with a_fake() as fake:
        first = fake.send_text().deliver()
        late = fake.send_text().deliver()
        inside = failure(lambda: fake.assert_charged("0.05", message=late))
        fake.clock.advance(hours=24)
        after = failure(lambda: fake.assert_charged("0.05", message=late))
        assert first.conversation == late.conversation

    sentence = (
        "The session of c1 ends at 2026-01-02T12:00:00.000Z: what is sent after "
        "chat_fake.clock.advance(days=1) is charged anew."
    )
    assert sentence in inside
    assert "The session of c1 ends" not in after


def test_where_nobody_knows_what_was_missed_the_next_ones_are_named() -> None:
    with a_fake(retry_after=[30]) as fake:
        fake.webhooks.receiver().respond(500)
        fake.send_text(to="+1")
        for number in range(3):
            fake.send_text(to=f"+2{number}").after(hours=number + 1).deliver()
        fake.webhooks.attempts  # noqa: B018 - they are seen
        looked = short(fake._story.section()).partition("\n\n")[0].splitlines()

    assert snapshot(
        [
            "  still to come: attempt 2 at sent m1 is due at 2026-01-01T12:00:30.000Z, caused at test_failure_texts.py:N: chat_fake.clock.advance(seconds=30)",
            "  still to come: deliver() of m2 is due at 2026-01-01T13:00:00.000Z, scheduled at test_failure_texts.py:N: chat_fake.clock.advance(hours=1)",
            "  still to come: deliver() of m3 is due at 2026-01-01T14:00:00.000Z, scheduled at test_failure_texts.py:N: chat_fake.clock.advance(hours=2)",
            "  ... and 1 more to come, the last at 2026-01-01T15:00:00.000Z",
        ]
    ) == [line for line in looked if "to come" in line]


def test_in_async_mode_and_where_time_runs_the_move_is_one_to_paste() -> None:
    async def scenario(traveller: time_machine.Coordinates) -> str:
        fake = ChatFake(mode="async")
        message = await fake.send_text()
        await message.after(hours=1, seconds=30).deliver()
        traveller.shift(0.0001)
        text = failure(lambda: fake.assert_charged("0.05"))
        fake.close()
        return text

    with time_machine.travel(START, tick=False) as traveller:
        text = asyncio.run(scenario(traveller))
    assert "Remedy: await chat_fake.clock.advance(hours=1, seconds=30)." in text


# -- explanations ----------------------------------------------------------------------------------


def test_the_explanation_of_a_message() -> None:
    with a_fake(retry_after=[30]) as fake:
        fake.webhooks.receiver().respond(500)
        fake.webhooks.drop(status="read")
        message = fake.send_text()
        fake.clock.advance(60)
        message.deliver().read()

        assert snapshot("""\
m1, message <message 1> to +15550100: read
  price 0.05, held 0, charged 0.05 USD
  c1, conversation <conversation 1>: session until 2026-01-02T12:01:00.000Z
Why:
    4  sent       it begins c1, which costs nothing until a delivery (§1)
    4             its price, 0.05, is the default (assumed; change it with price=)
    4             its price, 0.05, is held until it is delivered (§3 rule 5)
   11  delivered  the first delivery in c1 starts its session and is charged, 0.05 (§1)
   14  read       reading costs nothing (§3)
What happened, times from 2026-01-01T12:00:00.000Z:
   2  +0:00.000  verb     send_text() m1  at test_failure_texts.py:N
   3             hold     0.05 m1
   4             event    sent m1
   5             attempt  sent m1 -> Receiver(): 500
   7  +0:30.000  attempt  sent m1 -> Receiver(): 200 [retry 1 of 1]
   8  +1:00.000  verb     deliver() m1  at test_failure_texts.py:N
   9             release  0.05 m1
  10             charge   0.05 m1
  11             event    delivered m1
  12             attempt  delivered m1 -> Receiver(): 200
  13             verb     read() m1  at test_failure_texts.py:N
  14             event    read m1
  15             attempt  read m1 -> Receiver(): not attempted [dropped: test_failure_texts.py:N]\
""") == short(fake.explain(message))


def test_the_explanation_of_a_dropped_and_of_a_rejected_message() -> None:
    with a_fake() as fake:
        dropped, rejected = fake.send_text(), fake.submit_text("x", to="+2").reject()
        fake.clock.advance(days=30)

        assert snapshot("""\
m1, message <message 1> to +15550100: sent, then dropped
  price 0.05, held 0, charged 0 USD
  c1, conversation <conversation 1>: pending
Why:
    3  sent       it begins c1, which costs nothing until a delivery (§1)
    3             its price, 0.05, is the default (assumed; change it with price=)
    3             its price, 0.05, is held until it is delivered (§3 rule 5)
    7  dropped    it was not delivered in time and dropped: what was held comes back (§3 rule 5)
What happened, times from 2026-01-01T12:00:00.000Z:
  1  2026-01-01 12:00:00.000  verb     send_text() m1  at test_failure_texts.py:N
  2                           hold     0.05 m1
  3                           event    sent m1
  7  2026-01-31 12:00:00.000  drop     m1 was not delivered in time; no event
  8                           release  0.05 m1\
""") == short(fake.explain(dropped))
        assert snapshot("""\
m2, message <message 2> to +2: failed
  price 0, held 0, charged 0 USD
  no conversation: it failed before it was sent
Why:
    5  failed     it failed before it was sent: nothing is held or charged (§3 rule 4)
What happened, times from 2026-01-01T12:00:00.000Z:
  4  +0:00.000  verb   reject() m2  at test_failure_texts.py:N
  5             event  failed m2\
""") == short(fake.explain(rejected))


REASONS: dict[str, Callable[[ChatFake], Any]] = {
    "joined": lambda fake: [fake.send_text(), fake.send_text()][1],
    "joined, free": lambda fake: [fake.send_text(), fake.send_text(price=0)][1],
    "joined, open": lambda fake: [fake.send_text().deliver(), fake.send_text()][1],
    "given": lambda fake: fake.send_text(
        conversation=fake.send_text(to="+2").conversation, to="+3"
    ).deliver(),
    "given, open": lambda fake: fake.send_text(
        conversation=fake.send_text().deliver().conversation
    ).deliver(),
    "another device": lambda fake: fake.send_text().deliver(devices=2).read(),
    "read at once": lambda fake: fake.send_text().read(),
    "read in private": lambda fake: fake.send_text(
        to=fake.recipient("+1", read_receipts=False)
    ).read(),
}


def why(text: str) -> list[str]:
    lines = text.partition("Why:\n")[2].partition("\nWhat happened")[0].splitlines()
    return [" ".join(line.split()[1:]) for line in lines]


@pytest.mark.parametrize(
    ("case", "reasons"),
    [
        (
            "joined",
            snapshot(
                [
                    "sent it joins c1, which is pending or open with +15550100 and has its origin type (assumed; change it with conversation=)",
                    "its price, 0.05, is the default (assumed; change it with price=)",
                    "its price, 0.05, is held until it is delivered (§3 rule 5)",
                ]
            ),
        ),
        (
            "joined, free",
            snapshot(
                [
                    "sent it joins c1, which is pending or open with +15550100 and has its origin type (assumed; change it with conversation=)",
                    "its price is 0: nothing is held (§3 rule 5)",
                ]
            ),
        ),
        (
            "joined, open",
            snapshot(
                [
                    "sent it joins c1, which is pending or open with +15550100 and has its origin type (assumed; change it with conversation=)",
                    "c1 is open since m1 was delivered: it costs nothing (assumed)",
                ]
            ),
        ),
        (
            "given",
            snapshot(
                [
                    "sent the test put it into c1 (§1)",
                    "its price, 0.05, is the default (assumed; change it with price=)",
                    "its price, 0.05, is held until it is delivered (§3 rule 5)",
                    "delivered the first delivery in c1 starts its session and is charged, 0.05 (§1)",
                ]
            ),
        ),
        (
            "given, open",
            snapshot(
                [
                    "sent the test put it into c1 (§1)",
                    "c1 is open since m1 was delivered: it costs nothing (assumed)",
                    "delivered c1 was already charged for m1 (§1)",
                ]
            ),
        ),
        (
            "another device",
            snapshot(
                [
                    "sent it begins c1, which costs nothing until a delivery (§1)",
                    "its price, 0.05, is the default (assumed; change it with price=)",
                    "its price, 0.05, is held until it is delivered (§3 rule 5)",
                    "delivered the first delivery in c1 starts its session and is charged, 0.05 (§1)",
                    "delivered another device got it: not charged again (§6 rule 2)",
                    "read reading costs nothing (§3)",
                ]
            ),
        ),
        (
            "read at once",
            snapshot(
                [
                    "sent it begins c1, which costs nothing until a delivery (§1)",
                    "its price, 0.05, is the default (assumed; change it with price=)",
                    "its price, 0.05, is held until it is delivered (§3 rule 5)",
                    "read it was delivered and read at once, with no delivered event (§3)",
                    "the first delivery in c1 starts its session and is charged, 0.05 (§1)",
                ]
            ),
        ),
        (
            "read in private",
            snapshot(
                [
                    "sent it begins c1, which costs nothing until a delivery (§1)",
                    "its price, 0.05, is the default (assumed; change it with price=)",
                    "its price, 0.05, is held until it is delivered (§3 rule 5)",
                    "delivered it was read without read receipts: the service sees a delivery (assumed)",
                    "the first delivery in c1 starts its session and is charged, 0.05 (§1)",
                ]
            ),
        ),
    ],
)
def test_each_reason_says_what_it_rests_on(case: str, reasons: list[str]) -> None:
    with a_fake() as fake:
        assert reasons == why(fake.explain(REASONS[case](fake)))


def test_a_balance_that_is_too_low_is_a_reason() -> None:
    with a_fake(opening_balance="0.01", on_insufficient_balance="fail") as fake:
        assert snapshot(
            [
                "failed its price, 0.05, is the default (assumed; change it with price=)",
                "the balance can't hold its price, 0.05: it failed before it was sent (assumed; change it with on_insufficient_balance=)",
            ]
        ) == why(fake.explain(fake.send_text()))


def test_a_delivery_after_the_session_is_a_reason() -> None:
    with a_fake() as fake:
        fake.send_text().deliver()
        late = fake.send_text()
        fake.clock.advance(hours=25)

        assert snapshot(
            [
                "sent it joins c1, which is pending or open with +15550100 and has its origin type (assumed; change it with conversation=)",
                "c1 is open since m1 was delivered: it costs nothing (assumed)",
                "delivered c1 was already charged for m1 (§1)",
                "the session of c1 is over: it costs nothing (assumed)",
            ]
        ) == why(fake.explain(late.deliver()))


# -- in a report -----------------------------------------------------------------------------------


def test_in_a_report_the_failure_is_at_the_tests_own_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(chat_fake, chat_clock):
            message = chat_fake.send_text()
            chat_fake.assert_charged("0.05", message=message)
        """
    )
    result = pytester.runpytest("-p", "no:asyncio")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>       chat_fake.assert_charged("0.05", message=message)',
            "E       AssertionError: charged: expected 0.05 USD, found 0 USD",
            "E       m1 was not delivered yet, and a charge is made at the first delivery (§1).",
            "E       Remedy: deliver() it, or read() it.",
            "E       Charged to m1, message *, by the ledger:",
            "E         2026-01-01T12:00:00.000Z  hold  0.05  m1",
            "",
            "test_in_a_report*.py:3: AssertionError",
        ],
        consecutive=True,
    )
    assert "expectations.py" not in result.stdout.str()
