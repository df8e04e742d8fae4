"""Bad input: each a clear error that says what to write, and nothing is changed by it.

Amounts, retry delays, faults, forgeries and orders have tests of their own beside what they do.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from pytest_chatfake import ChatFake, ClosedError, PlatformError

from .fakes import fake_with_receiver, frozen_fake, visible_state

TOO_LONG = "1" * 29

AMOUNTS = [
    (0.05, TypeError, 'must be exact: use "0.05" or Decimal'),
    (float("nan"), TypeError, 'must be exact: use "nan" or Decimal'),
    (True, TypeError, "expected a Decimal, an int or a str, got True"),
    (False, TypeError, "expected a Decimal, an int or a str, got False"),
    (b"1", TypeError, "expected a Decimal, an int or a str, got"),
    ([], TypeError, "expected a Decimal, an int or a str, got"),
    ("five", ValueError, "expected a number such as '0.05', got 'five'"),
    ("", ValueError, "expected a number such as '0.05', got ''"),
    (" 1", ValueError, "expected a number such as '0.05', got ' 1'"),
    ("1_000", ValueError, "expected a number such as '0.05'"),
    ("1,5", ValueError, "expected a number such as '0.05'"),
    ("\u0661", ValueError, "expected a number such as '0.05'"),
    ("NaN", ValueError, "expected a finite amount, got NaN"),
    ("sNaN", ValueError, "expected a finite amount"),
    ("Infinity", ValueError, "expected a finite amount, got Infinity"),
    (Decimal("-Infinity"), ValueError, "expected a finite amount"),
    (
        "-0.01",
        ValueError,
        "got -0.01: set_balance() takes what is available from now on, 0 or more",
    ),
    (-1, ValueError, "expected 0 or more, got -1: set_balance() takes what is available"),
    (Decimal("-0.5"), ValueError, "expected 0 or more"),
    (TOO_LONG, ValueError, "is out of range"),
    ("1E+41", ValueError, "exponent -40..40"),
    ("1E-41", ValueError, "exponent -40..40"),
]


@pytest.mark.parametrize(("value", "error", "words"), AMOUNTS, ids=lambda value: repr(value)[:20])
def test_an_invalid_amount_is_refused_with_what_to_write(
    value: Any, error: Any, words: str
) -> None:
    with frozen_fake() as fake:
        before = visible_state(fake)

        with pytest.raises(error, match=re.escape(words)):
            fake.set_balance(value)

        assert before == visible_state(fake)


# Every place that takes an amount, how its refusals begin, and what it says of a negative one.
PLACES = {
    "price of a message": (lambda fake, value: fake.send_text(price=value), "price", ""),
    "price of a submission": (
        lambda fake, value: fake.submit_text(price=value),
        "price",
        "",
    ),
    "price that a function returns": (
        lambda fake, value: fake.send_text(price=lambda _: value),
        "the amount that the price function returned",
        "",
    ),
    "final price": (
        lambda fake, value: fake.messages[0].deliver(price=value),
        "price",
        "",
    ),
    "top_up": (
        lambda fake, value: fake.top_up(value),
        "the amount to top up",
        "it is what is added. To take money away, write what is left: set_balance(...)",
    ),
    "set_balance": (
        lambda fake, value: fake.set_balance(value),
        "the balance",
        "set_balance() takes what is available from now on, 0 or more, and no difference",
    ),
    "expect_charge": (
        lambda fake, value: fake.expect_charge(value).__enter__(),
        "the expected amount",
        "write what the block charges, without a sign",
    ),
}


@pytest.mark.parametrize(("call", "name", "meaning"), PLACES.values(), ids=PLACES)
def test_every_place_that_takes_an_amount_refuses_a_float_and_a_negative_one(
    call: Any, name: str, meaning: str
) -> None:
    with frozen_fake() as fake:
        fake.send_text()
        before = visible_state(fake)

        with pytest.raises(TypeError, match=f"^{name} must be exact: use "):
            call(fake, 0.05)
        with pytest.raises(ValueError) as negative:
            call(fake, "-1")

        hint = f": {meaning}" if meaning else ""
        assert f"{name}: expected 0 or more, got -1{hint}" == str(negative.value)
        assert before == visible_state(fake)


@pytest.mark.parametrize("name", ["assert_charged", "assert_held", "assert_available"])
def test_an_expected_amount_is_as_exact_as_any_other(name: str) -> None:
    with frozen_fake() as fake:
        for value in (0.05, float("nan"), True):
            with pytest.raises(TypeError, match=r"^the expected amount(:| must be exact)"):
                getattr(fake, name)(value)


def test_an_expected_amount_may_be_negative() -> None:
    with frozen_fake(opening_balance="0.01") as fake:
        fake.send_text()

        fake.assert_available("-0.04")
        fake.assert_available(Decimal("-0.04"))


# -- messages and verbs ----------------------------------------------------------------------------

BAD_CALLS = [
    (lambda f, m: f.send_text(1), TypeError, "body must be text, not int 1"),
    (lambda f, m: f.send_text(None), TypeError, "body must be text, not NoneType"),
    (lambda f, m: f.send_text(b"x"), TypeError, "body must be text, not bytes"),
    (lambda f, m: f.submit_text(1), TypeError, "body must be text, not int 1"),
    (lambda f, m: f.send_text(to=""), ValueError, "to must not be empty"),
    (lambda f, m: f.send_text(to=15550100), TypeError, "to must be text, not int"),
    (lambda f, m: f.send_text(origin_type=""), ValueError, "origin_type must not be empty"),
    (lambda f, m: f.send_text(origin_type=1), TypeError, "origin_type must be text"),
    (lambda f, m: f.send_text(conversation="xyz"), ValueError, "hex string such as 'c0ffee'"),
    (lambda f, m: f.send_text(conversation=""), ValueError, "hex string such as 'c0ffee'"),
    (lambda f, m: f.send_text(conversation="c0 ffee"), ValueError, "hex string such as 'c0ffee'"),
    (lambda f, m: f.send_text(conversation=1), TypeError, "a conversation or a hex id, not 1"),
    (lambda f, m: f.send_text(conversation=b"c0ffee"), TypeError, "a hex id, not b'c0ffee'"),
    (lambda f, m: f.send_text(conversation=m), TypeError, "a conversation or a hex id"),
    (lambda f, m: f.send_text(extra=["a"]), TypeError, "extra must be a mapping"),
    (lambda f, m: f.send_text(extra={"status": 1}), ValueError, "can't replace 'status'"),
    (lambda f, m: f.send_text(extra={"chatMessageId": 1}), ValueError, "see fake.webhooks.emit()"),
    (lambda f, m: f.send_text(extra={1: 1}), TypeError, "a JSON key: expected a str, got 1"),
    (lambda f, m: f.send_text(extra={"a": {1}}), TypeError, "set {1} can't be written as JSON"),
    (lambda f, m: f.send_text(extra={"a": float("inf")}), ValueError, "inf can't be written"),
    (lambda f, m: m.deliver(0), ValueError, "devices must be from 1 to 10000, not 0"),
    (lambda f, m: m.deliver(-1), ValueError, "devices must be from 1 to 10000, not -1"),
    (lambda f, m: m.deliver(10_001), ValueError, "devices must be from 1 to 10000, not 10001"),
    (lambda f, m: m.deliver(10**30), ValueError, "devices must be from 1 to 10000, not 10000000"),
    (lambda f, m: m.deliver(True), TypeError, "devices must be a whole number, not bool True"),
    (lambda f, m: m.deliver(1.5), TypeError, "devices must be a whole number, not float 1.5"),
    (lambda f, m: m.deliver("2"), TypeError, "devices must be a whole number, not str '2'"),
    (lambda f, m: m.fail("999"), ValueError, "give its message=. Described are '131026', '100'."),
    (lambda f, m: m.fail(""), ValueError, "code must not be empty"),
    (lambda f, m: m.fail(131026), TypeError, "code must be text, not int 131026"),
    (lambda f, m: m.fail(message=""), ValueError, "message must not be empty"),
    (lambda f, m: m.fail(message=1), TypeError, "message must be text"),
    (lambda f, m: m.fail(platform_error="x"), TypeError, "True, False or PlatformError(...)"),
    (lambda f, m: m.fail(platform_error=1), TypeError, "True, False or PlatformError(...)"),
    (lambda f, m: f.submit_text().reject("999"), ValueError, "give its message="),
    (lambda f, m: f.recipient(""), ValueError, "a recipient's address must not be empty"),
    (lambda f, m: f.recipient(1), TypeError, "a recipient's address must be text"),
    (lambda f, m: f.recipient("+1", devices=0), ValueError, "devices must be from 1 to 10000"),
    (lambda f, m: f.recipient("+1", devices=10**30), ValueError, "must be from 1 to 10000, not 1"),
    (lambda f, m: f.recipient("+1", devices=True), TypeError, "devices must be a whole number"),
    (lambda f, m: f.recipient("+1", read_receipts=1), TypeError, "must be True or False, not 1"),
    (lambda f, m: f.top_up(0), ValueError, "must be more than 0"),
    (lambda f, m: f.message("no-such-id"), KeyError, "there is no message 'no-such-id'"),
    (lambda f, m: f.assert_statuses(m, "sent", "seen"), ValueError, "'seen' is none"),
    (lambda f, m: f.assert_statuses("id", "sent"), TypeError, "a Message is needed, not str 'id'"),
    (lambda f, m: f.assert_charged(1, message="id"), TypeError, "a Message is needed"),
    (lambda f, m: f.explain("id"), TypeError, "a Message is needed"),
    (lambda f, m: f.assert_requested("GET", "/x", times=-1), ValueError, "times must be at least"),
    (lambda f, m: f.assert_requested("GET", "/x", times=1.0), TypeError, "times must be a whole"),
    (lambda f, m: f.webhooks.emit(m.id, "sent"), TypeError, "a Message is needed"),
    (lambda f, m: f.assert_requested(1, "/x"), TypeError, "method must be text"),
    (lambda f, m: f.assert_requested("GET", 1), TypeError, "path must be text"),
    (lambda f, m: m.events[0].id and f.webhooks.redeliver("evt"), TypeError, "one of fake.events"),
]


@pytest.mark.parametrize(
    ("call", "error", "words"), BAD_CALLS, ids=[words[:40] for _, _, words in BAD_CALLS]
)
def test_a_bad_call(call: Any, error: Any, words: str) -> None:
    with fake_with_receiver() as (fake, _):
        message = fake.send_text()
        before = visible_state(fake)

        with pytest.raises(error, match=re.escape(words)):
            call(fake, message)

        assert before == visible_state(fake)


@pytest.mark.parametrize("name", ["message", "type", "code", "trace_id", "details"])
def test_a_platform_error_is_made_of_texts(name: str) -> None:
    fields = dict.fromkeys(["message", "type", "code", "trace_id", "details"], "x")

    with pytest.raises(TypeError, match=f"PlatformError.{name}: expected a str, got 1"):
        PlatformError(**fields | {name: 1})  # type: ignore[arg-type]


# -- the wrong fake, and one that is closed --------------------------------------------------------

STRANGERS = {
    "assert_charged": lambda fake, message: fake.assert_charged("0", message=message),
    "assert_held": lambda fake, message: fake.assert_held("0", message=message),
    "assert_statuses": lambda fake, message: fake.assert_statuses(message, "sent"),
    "explain": lambda fake, message: fake.explain(message),
    "conversation": lambda fake, message: fake.send_text(conversation=message.conversation),
    "submission": lambda fake, message: fake.submit_text(conversation=message.conversation),
    "emit": lambda fake, message: fake.webhooks.emit(message, "sent"),
    "drop": lambda fake, message: fake.webhooks.drop(message=message),
}


@pytest.mark.parametrize("use", STRANGERS.values(), ids=STRANGERS)
def test_a_handle_of_another_fake(use: Any) -> None:
    with fake_with_receiver() as (fake, _), ChatFake() as other:
        stranger = other.send_text()
        before, others = visible_state(fake), visible_state(other)

        with pytest.raises(ValueError, match="belongs to another fake"):
            use(fake, stranger)

        assert before == visible_state(fake)
        assert others[:5] == visible_state(other)[:5]


def app(*_: Any) -> None:
    """Stands for any function; it is never called."""


CLOSED = {
    "send_text": lambda fake, message, submission: fake.send_text(),
    "submit_text": lambda fake, message, submission: fake.submit_text(),
    "recipient": lambda fake, message, submission: fake.recipient("+1"),
    "deliver": lambda fake, message, submission: message.deliver(),
    "read": lambda fake, message, submission: message.read(),
    "fail": lambda fake, message, submission: message.fail(),
    "accept": lambda fake, message, submission: submission.accept(),
    "reject": lambda fake, message, submission: submission.reject(),
    "top_up": lambda fake, message, submission: fake.top_up(1),
    "set_balance": lambda fake, message, submission: fake.set_balance(1),
    "settle": lambda fake, message, submission: fake.settle(),
    "reset": lambda fake, message, submission: fake.reset(),
    "rotate_key": lambda fake, message, submission: fake.rotate_key(),
    "base_url": lambda fake, message, submission: fake.base_url,
    "http": lambda fake, message, submission: fake.http,
    "route": lambda fake, message, submission: fake.route("/x"),
    "advance": lambda fake, message, submission: fake.clock.advance(1),
    "connect": lambda fake, message, submission: fake.webhooks.connect(handler=app),
    "drop": lambda fake, message, submission: fake.webhooks.drop(),
    "emit": lambda fake, message, submission: fake.webhooks.emit(message, "sent"),
    "redeliver": lambda fake, message, submission: fake.webhooks.redeliver(fake.events[0]),
    "paused": lambda fake, message, submission: fake.webhooks.paused(),
    "api.fail": lambda fake, message, submission: fake.api.fail(),
}


@pytest.mark.parametrize("use", CLOSED.values(), ids=CLOSED)
def test_a_fake_that_is_closed(use: Any) -> None:
    with fake_with_receiver() as (fake, _):
        message, submission = fake.send_text(), fake.submit_text()
    entries = len(fake.ledger)

    with pytest.raises(ClosedError, match=r"its test is over\. Use the chat_fake of the running"):
        use(fake, message, submission)

    # What it knows can be read still.
    assert entries == len(fake.ledger)
    assert "sent" == message.status
    assert repr(fake).startswith("<ChatFake closed, 1 message: ")


def test_what_happened_is_read_only() -> None:
    with frozen_fake() as fake:
        message = fake.send_text()

        for view in (fake.messages, fake.events, fake.ledger, fake.conversations, message.events):
            with pytest.raises(TypeError):
                view[0] = None  # type: ignore[index]
            assert not hasattr(view, "append")
        with pytest.raises(AttributeError):
            fake.ledger[0].amount = Decimal(0)  # type: ignore[misc]
        with pytest.raises(AttributeError):
            message.status = "read"  # type: ignore[misc]
        with pytest.raises(AttributeError):
            fake.balance.held = Decimal(0)  # type: ignore[misc]
