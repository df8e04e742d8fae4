"""The sentences with which expectations fail: expected, found, and the evidence, word for word."""

from __future__ import annotations

import re
from contextlib import contextmanager
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
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
    text = re.sub(r"\b[0-9a-f]{24}0*([0-9a-f]+)\b", r"c\1", text)
    text = re.sub(r"\b[0-9a-f]{16}0*([0-9a-f]+)\b", r"m\1", text)
    return re.sub(r"(test_failure_texts\.py):\d+", r"\1:N", text)


def said(text: str) -> str:
    return dedent(text).strip("\n")


def scenario(fake: ChatFake) -> list[Any]:
    first = fake.send_text().deliver(devices=2)
    fake.clock.advance(60)
    return [first, fake.send_text(), fake.send_text(to="+2").fail(), fake.submit_text().reject()]


def test_charged_of_the_account() -> None:
    with a_fake() as fake:
        scenario(fake)

        assert said(
            """
            charged: expected 0.10 USD, found 0.05 USD
            Charged to the account, by the ledger:
              2026-01-01T12:00:00.000Z  opening  100
              2026-01-01T12:00:00.000Z  hold     0.05  m1
              2026-01-01T12:00:00.000Z  release  0.05  m1
              2026-01-01T12:00:00.000Z  charge   0.05  m1
              2026-01-01T12:01:00.000Z  hold     0.05  m3
              2026-01-01T12:01:00.000Z  release  0.05  m3
            """
        ) == failure(lambda: fake.assert_charged("0.10"))


def test_held_and_available() -> None:
    with a_fake(currency="EUR") as fake:
        fake.send_text(price="0.30")

        noon = "  2026-01-01T12:00:00.000Z"
        ledger = f"{noon}  opening  100\n{noon}  hold     0.30  m1"
        assert (
            "held: expected 0 EUR, found 0.30 EUR\nHeld for the account, by the ledger:\n" + ledger
        ) == failure(lambda: fake.assert_held("0"))
        assert (
            "available: expected -1 EUR, found 99.70 EUR\n"
            "Available on the account, by the ledger:\n" + ledger
        ) == failure(lambda: fake.assert_available("-1"))


def test_charged_for_a_message_says_the_likely_cause() -> None:
    with a_fake() as fake:
        first, second, failed, rejected = scenario(fake)

        assert said(
            """
            charged: expected 0.05 USD, found 0 USD
            It was not delivered yet, and a charge is made at the first delivery.
            Charged to message m2, by the ledger:
              (none)
            """
        ) == failure(lambda: fake.assert_charged("0.05", message=second))
        second.deliver()
        assert said(
            """
            charged: expected 0.05 USD, found 0 USD
            Its conversation was charged already, with message m1.
            Charged to message m2, by the ledger:
              (none)
            """
        ) == failure(lambda: fake.assert_charged("0.05", message=second))
        assert said(
            """
            charged: expected 0.05 USD, found 0 USD
            It failed, and failed messages are not charged.
            Charged to message m3, by the ledger:
              2026-01-01T12:01:00.000Z  hold     0.05  m3
              2026-01-01T12:01:00.000Z  release  0.05  m3
            """
        ) == failure(lambda: fake.assert_charged("0.05", message=failed))
        assert "It failed, and failed messages are not charged." in failure(
            lambda: fake.assert_charged("0.05", message=rejected)
        )
        dropped = fake.send_text(to="+3")
        fake.clock.advance(days=30)
        assert "It was dropped before it was delivered." in failure(
            lambda: fake.assert_charged("0.05", message=dropped)
        )
        assert "charged: expected 0.06 USD, found 0.05 USD\nCharged to message m1" in failure(
            lambda: fake.assert_charged("0.06", message=first)
        )
        free = fake.send_text(to="+4", price=0).deliver()
        assert "charged: expected 1 USD, found 0 USD\nCharged to message" in failure(
            lambda: fake.assert_charged(1, message=free)
        )


def test_held_for_a_message() -> None:
    with a_fake() as fake:
        message = fake.send_text()

        assert said(
            """
            held: expected 0 USD, found 0.05 USD
            Held for message m1, by the ledger:
              2026-01-01T12:00:00.000Z  hold  0.05  m1
            """
        ) == failure(lambda: fake.assert_held("0", message=message))


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
            f"statuses of message m1 differ: {difference}\n"
            f"  expected  {', '.join(expected) or '(none)'}\n"
            f"  found     sent, delivered, delivered{EVENTS}"
        ) == failure(lambda: fake.assert_statuses(message, *expected))


def test_statuses_of_a_dropped_message() -> None:
    with a_fake() as fake:
        message = fake.send_text()
        fake.clock.advance(days=31)

        assert said(
            """
            statuses of message m1 differ: missing from number 2 on: delivered
              expected  sent, delivered
              found     sent
            It was dropped, which has no event.
            Its events:
              2026-01-01T12:00:00.000Z  sent  evt_1  at test_failure_texts.py:N
            """
        ) == failure(lambda: fake.assert_statuses(message, "sent", "delivered"))


def test_a_charge_in_a_block() -> None:
    with a_fake() as fake:
        scenario(fake)

        def block() -> None:
            with fake.expect_charge("0.05"):
                fake.send_text(to="+3")

        assert said(
            """
            charged in the block: expected 0.05 USD, found 0.00
            Posted in the block:
              2026-01-01T12:01:00.000Z  hold  0.05  m5
            """
        ) == failure(block)
        with fake.expect_charge("0.05"):
            fake.messages[-1].deliver()
        with fake.expect_charge(0):
            pass


def test_requests() -> None:
    with a_fake() as fake:
        nothing = failure(lambda: fake.assert_requested("POST", "/v2/messages"))
        for key in ("secret-key-1234", "another-key-9876"):
            Client(fake.wsgi_app).get("/v2/balance?x=1", headers={"X-API-Key": key})

        assert (
            "POST /v2/messages was requested 0 times, and at least once was expected\n"
            "Requested were:\n  (none)"
        ) == nothing
        assert said(
            """
            GET /v2/balance was requested 2 times, and once was expected
            Requested were:
              GET /v2/balance with the key ...1234: 200
              GET /v2/balance with the key ...9876 (not this fake's): 401
            """
        ) == failure(lambda: fake.assert_requested("GET", "/v2/balance", times=1))


def test_a_long_ledger_is_cut_in_the_middle() -> None:
    with a_fake() as fake:
        for number in range(100):
            fake.send_text(to=f"+{number}")
        lines = failure(lambda: fake.assert_held(0)).splitlines()

        assert 2 + 31 == len(lines)
        assert "  ... 71 more ..." == lines[2 + 15]
        assert lines[2].endswith("opening  100")
        assert lines[-1].endswith("m64")  # the hundredth, in hex


def test_the_story_of_a_message() -> None:
    with a_fake(retry_after=[30]) as fake:
        fake.webhooks.receiver().respond(500)
        fake.webhooks.drop(status="read")
        message = fake.send_text()
        fake.clock.advance(60)
        message.deliver().read()

        assert said(
            """
            message m1 to +15550100: read
              price 0.05, held 0, charged 0.05
              conversation c1: session until 2026-01-02T12:01:00.000Z
              2026-01-01T12:00:00.000Z  hold                      0.05
              2026-01-01T12:00:00.000Z  event sent                evt_1, caused at test_failure_texts.py:N
              2026-01-01T12:00:00.000Z  attempt 1 at sent         Receiver(): answered 500
              2026-01-01T12:00:30.000Z  attempt 2 at sent         Receiver(): answered 200
              2026-01-01T12:01:00.000Z  release                   0.05
              2026-01-01T12:01:00.000Z  charge                    0.05
              2026-01-01T12:01:00.000Z  event delivered           evt_2, caused at test_failure_texts.py:N
              2026-01-01T12:01:00.000Z  attempt 1 at delivered    Receiver(): answered 200
              2026-01-01T12:01:00.000Z  event read                evt_3, caused at test_failure_texts.py:N
              2026-01-01T12:01:00.000Z  attempt 1 at read (drop)  Receiver(): dropped by a fault
            """  # noqa: E501 - as a terminal shows it
        ) == short(fake.explain(message))


def test_the_story_of_a_dropped_and_of_a_rejected_message() -> None:
    with a_fake() as fake:
        dropped, rejected = fake.send_text(), fake.submit_text("x", to="+2").reject()
        fake.clock.advance(days=30)

        assert said(
            """
            message m1 to +15550100: sent (dropped)
              price 0.05, held 0, charged 0
              conversation c1: pending
              2026-01-01T12:00:00.000Z  hold        0.05
              2026-01-01T12:00:00.000Z  event sent  evt_1, caused at test_failure_texts.py:N
              2026-01-31T12:00:00.000Z  release     0.05
              2026-01-31T12:00:00.000Z  dropped     undelivered for too long; no event
            """
        ) == short(fake.explain(dropped))
        assert said(
            """
            message m2 to +2: failed
              price 0, held 0, charged 0
              no conversation: it failed before it was sent
              2026-01-01T12:00:00.000Z  event failed  evt_2, caused at test_failure_texts.py:N
            """
        ) == short(fake.explain(rejected))


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
            "E       It was not delivered yet, and a charge is made at the first delivery.",
            "E       Charged to message *, by the ledger:",
            "E         2026-01-01T12:00:00.000Z  hold  0.05  *",
            "",
            "test_in_a_report*.py:3: AssertionError",
        ],
        consecutive=True,
    )
    assert "assertions.py" not in result.stdout.str()
