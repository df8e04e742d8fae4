"""Which assumptions a test exercised: each row of the page on fidelity when, and only when, it was.

The rows are read from the page. What exercises a row is its check; what does nearly the same, and
says itself what the row assumes, or comes nowhere near it, is in a table here.
"""

# Asserts read `expected == actual`.

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
import time_machine

from pytest_chatfake import ChatFake, HmacSigner, Naming, PlatformError
from pytest_chatfake.report.assumptions import ASSUMPTIONS, assumptions

from .assumptions import CHECKS, query, refusal
from .test_fidelity import ROWS, START

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Body: TypeAlias = Callable[[ChatFake], object]


def listed(fake: ChatFake) -> set[str]:
    return set(assumptions(fake._story, fake._story.of_the_test()))


@contextlib.contextmanager
def a_fake(**config: Any) -> Iterator[ChatFake]:
    with time_machine.travel(START, tick=False), ChatFake(**config) as fake:
        yield fake


def attempts_that_time_out(fake: ChatFake) -> None:
    def app(request: object) -> None:
        raise TimeoutError("no complete answer within 5 s")

    fake.webhooks.connect(handler=app, raise_exceptions=False)
    fake.send_text()
    assert 1 == len(fake.webhooks.attempts)


#: Where the check looks at what no record shows, or at another fake: what exercises the row.
INSTEAD: dict[str, tuple[dict[str, Any], Body]] = {
    "opening-balance": ({}, query),
    "balance-code": (
        {"on_insufficient_balance": "fail", "opening_balance": 0},
        lambda fake: fake.send_text(),
    ),
    "timeout": ({}, attempts_that_time_out),
    "expiry-instant": (
        {},
        lambda fake: (
            fake.send_text().deliver(),
            fake.clock.advance(hours=24),
            fake.send_text(),
        ),
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_page_is_listed_when_it_was_exercised(row: str) -> None:
    config, body = INSTEAD.get(row, ({}, None))
    with a_fake(**config) as fake:
        if body is None:
            CHECKS[row](fake, fake.webhooks.receiver())
        else:
            body(fake)
        fake.webhooks.attempts  # noqa: B018 - they are seen
        assert row in listed(fake)


def answer_404(fake: ChatFake) -> None:
    fake.route("/gone", ["GET"])(lambda request: ({}, 404))
    assert 404 == query(fake, "/gone").status_code


def one_of_three_fails(fake: ChatFake) -> None:
    fake.send_text()
    fake.send_text().fail()
    fake.send_text()


def set_the_balance_first(fake: ChatFake) -> None:
    fake.set_balance("7")
    fake.send_text()
    query(fake)


def at_the_instant_of_another(fake: ChatFake) -> None:
    fake.send_text(to="+1").deliver()
    fake.clock.advance(hours=24)
    fake.send_text(to="+2")


def answered_by(status: int) -> Body:
    def body(fake: ChatFake) -> None:
        fake.webhooks.connect(handler=lambda request: status)
        fake.send_text()

    return body


def an_answer_is_lost(fake: ChatFake) -> None:
    fake.webhooks.receiver()
    fake.webhooks.lose_response()
    fake.send_text()
    fake.settle()


def an_app_that_times_out_itself(fake: ChatFake) -> None:
    def app(request: object) -> None:
        raise TimeoutError("the database")

    fake.webhooks.connect(handler=app, raise_exceptions=False)
    fake.send_text()
    assert 1 == len(fake.webhooks.attempts)


def signed(fake: ChatFake) -> None:
    fake.webhooks.connect(handler=lambda request: None, signer=HmacSigner("secret"))
    fake.send_text()


def deliver_twice(fake: ChatFake) -> None:
    message = fake.send_text()
    message.deliver()
    message.deliver()


def a_phone_that_is_off_refuses(fake: ChatFake) -> None:
    message = fake.send_text(to=fake.recipient("+1", online=False))
    refusal(message.deliver)


def read_twice(fake: ChatFake) -> None:
    refusal(fake.send_text().deliver().read().read)


def retried(fake: ChatFake) -> None:
    fake.webhooks.receiver().respond(500)
    fake.send_text()
    fake.clock.advance(1)


OWN_ERROR = PlatformError("Mine", "Own", "1", "trace", "details")

#: What does not exercise a row: with what configuration, and which body.
OTHERWISE: dict[str, list[tuple[dict[str, Any], Body]]] = {
    "opening-balance": [
        ({"opening_balance": "50"}, lambda fake: fake.send_text()),
        ({}, set_the_balance_first),
        ({}, lambda fake: query(fake, X_API_Key="wrong")),
    ],
    "currency": [({"currency": "EUR"}, lambda fake: (fake.send_text(), query(fake)))],
    "held-in-balance": [
        ({"balance_amount": "total"}, lambda fake: (fake.send_text(), query(fake))),
        ({}, lambda fake: (query(fake), fake.send_text().deliver(), query(fake))),
        ({}, lambda fake: (fake.send_text(), query(fake, X_API_Key="wrong"))),
    ],
    "no-key": [({}, lambda fake: query(fake, X_API_Key="wrong"))],
    "other-paths": [({}, answer_404), ({}, query)],
    "balance-too-low": [
        (
            {"on_insufficient_balance": "fail", "opening_balance": 0},
            lambda fake: fake.send_text(),
        ),
        ({"opening_balance": 0}, lambda fake: fake.send_text(price=0)),
    ],
    "balance-code": [
        (
            {
                "on_insufficient_balance": "fail",
                "opening_balance": 0,
                "insufficient_balance_code": "NO_MONEY",
            },
            lambda fake: fake.send_text(),
        ),
        ({}, lambda fake: fake.submit_text().reject("BALANCE_INSUFFICIENT", "Mine")),
    ],
    "grouping": [
        ({}, lambda fake: (fake.send_text(to="+1"), fake.send_text(to="+2"))),
        ({}, lambda fake: [fake.send_text(conversation="c0ffee") for _ in range(2)]),
    ],
    "default-recipient": [({}, lambda fake: fake.send_text(to="+1"))],
    "failed-conversation": [({}, one_of_three_fails)],
    "expired-conversation": [({}, lambda fake: refusal(fake.send_text().fail().read))],
    "origin-type": [
        ({}, lambda fake: fake.send_text(origin_type="utility")),
        ({"origin_type": "utility"}, lambda fake: fake.send_text()),
        ({}, lambda fake: fake.submit_text().reject()),
    ],
    "conversation-type": [
        ({}, lambda fake: fake.send_text()),
        ({"conversation_type": "OTHER"}, lambda fake: fake.send_text().deliver()),
    ],
    "expiry-instant": [
        ({}, at_the_instant_of_another),
        (
            {},
            lambda fake: (
                fake.send_text().deliver(),
                fake.clock.advance(hours=25),
                fake.send_text(),
            ),
        ),
    ],
    "price": [
        ({}, lambda fake: fake.send_text(price="0.10").deliver()),
        ({}, lambda fake: fake.send_text(price=lambda message: "0.10").deliver()),
        ({}, lambda fake: fake.send_text(price=0).deliver()),
        ({}, lambda fake: fake.submit_text().reject()),
        ({"price": "0.10"}, lambda fake: fake.send_text().deliver()),
        ({"price": lambda message: "0.05"}, lambda fake: fake.send_text().deliver()),
        ({"price": 0}, lambda fake: fake.send_text().deliver()),
    ],
    "open-price": [({}, lambda fake: [fake.send_text(), fake.send_text()])],
    "two-pending": [({}, lambda fake: [fake.send_text().deliver(), fake.send_text().deliver()])],
    "late-delivery": [({}, lambda fake: [fake.send_text().deliver(), fake.send_text().deliver()])],
    "devices": [
        ({}, lambda fake: fake.send_text().deliver(devices=2)),
        ({}, lambda fake: fake.send_text(to=fake.recipient("+1", devices=2)).deliver()),
        ({}, lambda fake: fake.send_text().read()),
    ],
    "drop-instant": [({}, lambda fake: (fake.send_text(), fake.clock.advance(days=29)))],
    "dropped-status": [({}, lambda fake: (fake.send_text(), fake.clock.advance(days=29)))],
    "after-failed": [({}, lambda fake: refusal(fake.send_text().deliver().fail))],
    "after-read": [({}, read_twice), ({}, a_phone_that_is_off_refuses)],
    "fail-after-delivery": [({}, lambda fake: refusal(fake.send_text().fail().fail))],
    "read-at-once-times": [({}, lambda fake: fake.send_text().deliver().read())],
    "second-device-time": [({}, lambda fake: fake.send_text().deliver().read())],
    "sent-while-blocked": [({}, lambda fake: fake.send_text(to=fake.recipient("+1").blocks()))],
    "back-online": [({}, a_phone_that_is_off_refuses)],
    "scripted-delivery": [
        ({}, lambda fake: (fake.send_text().after(60).deliver(), fake.clock.advance(60))),
    ],
    "open-chat": [({}, lambda fake: fake.send_text(to=fake.recipient("+1").opens_chat()))],
    "not-registered": [({}, lambda fake: fake.send_text().fail())],
    "read-in-private": [
        ({}, lambda fake: fake.send_text(to=fake.recipient("+1", read_receipts=False)).deliver()),
    ],
    "failed-hold": [
        ({}, lambda fake: fake.submit_text().reject()),
        ({}, lambda fake: fake.send_text(price=0).fail()),
    ],
    "failed-price": [({}, lambda fake: fake.send_text().deliver())],
    "failed-create-time": [({}, lambda fake: fake.send_text().deliver())],
    "error-text": [
        ({}, lambda fake: fake.send_text().fail(message="Mine")),
        ({}, lambda fake: fake.send_text().fail("100")),
    ],
    "platform-text": [
        ({}, lambda fake: fake.send_text().fail(platform_error=OWN_ERROR)),
        ({}, lambda fake: fake.send_text().fail(platform_error=False)),
    ],
    "platform-tried": [
        ({}, lambda fake: fake.send_text().fail(platform_error=False)),
        ({}, lambda fake: fake.submit_text().reject(platform_error=True)),
        ({}, lambda fake: fake.send_text().deliver()),
    ],
    "event-ids": [
        ({"event_ids": "per-message"}, lambda fake: fake.send_text().deliver()),
        ({}, lambda fake: [fake.send_text(), fake.send_text()]),
    ],
    "event-order": [({}, retried), ({}, lambda fake: fake.send_text().deliver())],
    "no-money-event": [({}, lambda fake: fake.send_text().deliver())],
    "receivers-answer": [({}, lambda fake: fake.send_text())],
    "barriers": [({"retry_after": [1]}, retried), ({}, answered_by(500))],
    "retries": [({"retry_after": [1]}, retried), ({}, an_answer_is_lost), ({}, answered_by(204))],
    "timeout": [
        ({}, an_app_that_times_out_itself),
        ({}, an_answer_is_lost),
        ({"timeout": 7}, attempts_that_time_out),
    ],
    "signing": [({}, signed), ({}, lambda fake: fake.send_text())],
    "names": [({"naming": Naming(biz_type="other")}, lambda fake: fake.send_text())],
    "extra-fields": [
        ({"extra": {"tag": 1}}, lambda fake: fake.send_text()),
        ({"extra": lambda message, status: {"tag": status}}, lambda fake: fake.send_text()),
        ({}, lambda fake: fake.send_text(extra={"tag": 1})),
    ],
    "addresses": [
        ({"naming": Naming(to_key="to", from_key="from")}, lambda fake: fake.send_text())
    ],
    "other-types": [({}, lambda fake: fake.send("text", {"body": "Hello"}))],
    "other-events": [({}, lambda fake: fake.webhooks.emit(fake.send_text(), "read"))],
    "send-call": [({}, lambda fake: (fake.send_endpoint(), fake.send_text()))],
    "milliseconds": [({}, lambda fake: fake.send_text())],
}


@pytest.mark.parametrize(
    ("row", "config", "body"), [(row, *one) for row, cases in OTHERWISE.items() for one in cases]
)
def test_a_row_is_not_listed_where_the_test_said_so_itself_or_came_nowhere_near(
    row: str, config: dict[str, Any], body: Body
) -> None:
    with a_fake(**config) as fake:
        body(fake)
        fake.webhooks.attempts  # noqa: B018 - they are seen
        assert row not in listed(fake)


def test_every_row_is_listed_by_some_body_and_not_by_another() -> None:
    assert set(ROWS) == set(ASSUMPTIONS) == set(OTHERWISE)


def test_what_a_row_assumes_is_said_with_what_changes_it() -> None:
    missing = [row for row, (_, knob) in ASSUMPTIONS.items() if bool(knob) != bool(ROWS[row].knob)]
    assert [] == missing


def test_what_earlier_tests_did_with_a_fake_that_lives_on_is_not_listed() -> None:
    with a_fake() as fake:
        fake.set_balance("7")
        held = fake.send_text(to="+1", price="0.10")
        refusal(held.fail().read)
        fake.send_text(to="+2", price="0.10")
        fake._story.skip()
        query(fake)
        fake.send_text(to="+3", price="0.10")

        own = listed(fake)

    assert {"opening-balance", "after-failed", "price"}.isdisjoint(own)
    assert "held-in-balance" in own
