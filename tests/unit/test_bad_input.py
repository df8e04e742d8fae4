"""Bad input: each a clear error that says what to write, and nothing is changed by it.

Amounts, retry delays, faults, forgeries and orders have tests of their own beside what they do.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    ClosedError,
    IllegalTransition,
    Naming,
    PlatformError,
)

from .listening import listening, snapshot
from .table import frozen_fake

FIELDS = (
    "api_key, opening_balance, currency, price, origin_type, conversation_type, "
    "conversation_length, drop_after, event_ids, balance_amount, on_insufficient_balance, "
    "insufficient_balance_code, naming, webhook_url, timeout, seed, mode, retry_after, signer"
)

TOO_LONG = "1" * 29

AMOUNTS = [
    (0.05, TypeError, "must be exact, and the float 0.05 is not: write '0.05' as text"),
    (float("nan"), TypeError, "must be exact, and the float nan is not"),
    (True, TypeError, "must be an amount such as '0.05', not True"),
    (False, TypeError, "must be an amount such as '0.05', not False"),
    (b"1", TypeError, "must be a Decimal, an int or a text such as '0.05', not bytes"),
    ([], TypeError, "must be a Decimal, an int or a text such as '0.05', not list"),
    ("five", ValueError, "must be a number such as '0.05', not the text 'five'"),
    ("", ValueError, "must be a number such as '0.05', not the text ''"),
    (" 1", ValueError, "must be a number such as '0.05', not the text ' 1'"),
    ("1_000", ValueError, "must be a number such as '0.05'"),
    ("1,5", ValueError, "must be a number such as '0.05'"),
    ("١", ValueError, "must be a number such as '0.05'"),
    ("NaN", ValueError, "must be a finite number such as '0.05', not NaN"),
    ("sNaN", ValueError, "must be a finite number such as '0.05'"),
    ("Infinity", ValueError, "must be a finite number such as '0.05', not Infinity"),
    (Decimal("-Infinity"), ValueError, "must be a finite number such as '0.05'"),
    ("-0.01", ValueError, "must not be negative, and -0.01 is: write 0.01"),
    (-1, ValueError, "must not be negative, and -1 is: write 1"),
    (Decimal("-0.5"), ValueError, "must not be negative"),
    (TOO_LONG, ValueError, "must have at most 28 significant digits"),
    ("1E+41", ValueError, "an exponent between -40 and 40"),
]

CALLS = {
    "price of a message": lambda fake, value: fake.send_text(price=value),
    "price of a submission": lambda fake, value: fake.submit_text(price=value),
    "price that a function returns": lambda fake, value: fake.send_text(price=lambda _: value),
    "final price": lambda fake, value: fake.messages[0].deliver(price=value),
    "top_up": lambda fake, value: fake.top_up(value),
    "set_balance": lambda fake, value: fake.set_balance(value),
    "expect_charge": lambda fake, value: fake.expect_charge(value).__enter__(),
}


@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.parametrize(("value", "error", "words"), AMOUNTS, ids=lambda value: repr(value)[:20])
def test_an_amount_that_is_none(call: str, value: Any, error: Any, words: str) -> None:
    with listening() as (fake, _):
        fake.send_text()
        before = snapshot(fake)

        with pytest.raises(error, match=re.escape(words)):
            CALLS[call](fake, value)

        assert before == snapshot(fake)


@pytest.mark.parametrize(("value", "error", "words"), AMOUNTS[:9], ids=lambda v: repr(v)[:20])
@pytest.mark.parametrize("name", ["assert_charged", "assert_held", "assert_available"])
def test_an_expected_amount_that_is_none(name: str, value: Any, error: Any, words: str) -> None:
    with frozen_fake() as fake, pytest.raises(error, match=re.escape(words)):
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
    (lambda f, m: f.send_text(conversation=m), TypeError, "a conversation or a hex id"),
    (lambda f, m: f.send_text(extra=["a"]), TypeError, "extra must be a mapping"),
    (lambda f, m: f.send_text(extra={"status": 1}), ValueError, "can't replace 'status'"),
    (lambda f, m: f.send_text(extra={"chatMessageId": 1}), ValueError, "see fake.webhooks.emit()"),
    (lambda f, m: f.send_text(extra={1: 1}), TypeError, "a JSON key must be text, not int 1"),
    (lambda f, m: f.send_text(extra={"a": {1}}), TypeError, "set {1} can't be written as JSON"),
    (lambda f, m: f.send_text(extra={"a": float("inf")}), ValueError, "inf can't be written"),
    (lambda f, m: m.deliver(0), ValueError, "devices must be at least 1, not 0"),
    (lambda f, m: m.deliver(-1), ValueError, "devices must be at least 1, not -1"),
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
    (lambda f, m: f.recipient("+1", devices=0), ValueError, "devices must be at least 1"),
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
    (lambda f, m: f.assert_requested(1, "/x"), TypeError, "method must be text"),
    (lambda f, m: f.assert_requested("GET", 1), TypeError, "path must be text"),
    (lambda f, m: m.events[0].id and f.webhooks.redeliver("evt"), TypeError, "one of fake.events"),
]


@pytest.mark.parametrize(
    ("call", "error", "words"), BAD_CALLS, ids=[words[:40] for _, _, words in BAD_CALLS]
)
def test_a_bad_call(call: Any, error: Any, words: str) -> None:
    with listening() as (fake, _):
        message = fake.send_text()
        before = snapshot(fake)

        with pytest.raises(error, match=re.escape(words)):
            call(fake, message)

        assert before == snapshot(fake)


def test_a_price_function_that_raises_changes_nothing() -> None:
    with listening() as (fake, _):
        before = snapshot(fake)
        submission = fake.submit_text(price=lambda message: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            submission.accept()

        assert before == snapshot(fake)
        fake.send_text()
        assert fake.messages[0].id.endswith("00000001")


@pytest.mark.parametrize("name", ["message", "type", "code", "trace_id", "details"])
def test_a_platform_error_is_made_of_texts(name: str) -> None:
    fields = dict.fromkeys(["message", "type", "code", "trace_id", "details"], "x")

    with pytest.raises(TypeError, match=f"PlatformError: {name} must be text, not int 1"):
        PlatformError(**fields | {name: 1})  # type: ignore[arg-type]


# -- the configuration -----------------------------------------------------------------------------

BAD_FIELDS = [
    ("api_key", "", ValueError, "api_key must not be empty"),
    ("api_key", 1, TypeError, "api_key must be text"),
    ("api_key", "a b", ValueError, "printable ASCII without spaces"),
    ("api_key", "schlüssel", ValueError, "printable ASCII without spaces"),
    ("opening_balance", 1.5, TypeError, "opening_balance must be exact"),
    ("currency", "usd", ValueError, "three-letter code such as 'USD', not 'usd'"),
    ("currency", "US", ValueError, "three-letter code such as 'USD'"),
    ("currency", None, TypeError, "currency must be text"),
    ("price", 0.05, TypeError, "price must be exact"),
    ("origin_type", "", ValueError, "origin_type must not be empty"),
    ("conversation_type", "", ValueError, "conversation_type must not be empty"),
    ("conversation_type", 1, TypeError, "conversation_type must be text"),
    ("insufficient_balance_code", "", ValueError, "insufficient_balance_code must not be empty"),
    ("conversation_length", 0, ValueError, "conversation_length must be longer than nothing"),
    ("conversation_length", "24h", TypeError, "a timedelta or a number of seconds"),
    ("drop_after", -1, ValueError, "drop_after must not be negative"),
    ("drop_after", timedelta(0), ValueError, "drop_after must be longer than nothing"),
    ("drop_after", True, TypeError, "drop_after must be a timedelta or a number of seconds"),
    ("timeout", 0, ValueError, "timeout must be longer than nothing"),
    ("timeout", float("inf"), ValueError, "timeout must be a finite length"),
    ("timeout", None, TypeError, "timeout must be a timedelta or a number of seconds"),
    ("event_ids", "per message", ValueError, "one of 'unique', 'per-message', not 'per message'"),
    ("balance_amount", "all", ValueError, "one of 'available', 'total', not 'all'"),
    ("on_insufficient_balance", True, ValueError, "one of 'allow', 'fail', not True"),
    ("mode", "asyncio", ValueError, "one of None, 'sync', 'async', not 'asyncio'"),
    ("naming", {"event_type": "x"}, TypeError, "naming must be a Naming(...)"),
    ("webhook_url", "", ValueError, "webhook_url must not be empty"),
    ("webhook_url", 1, TypeError, "webhook_url must be text"),
    ("seed", "", ValueError, "seed must not be empty"),
    ("seed", 1, TypeError, "seed must be text"),
]


@pytest.mark.parametrize(
    ("name", "value", "error", "words"), BAD_FIELDS, ids=[f"{f[0]}={f[1]!r}" for f in BAD_FIELDS]
)
def test_a_bad_value_in_the_configuration(name: str, value: Any, error: Any, words: str) -> None:
    for make in (ChatFakeConfig, ChatFake, ChatFakeConfig().replace):
        with pytest.raises(error, match=re.escape(words)):
            make(**{name: value})


def test_an_unknown_field_is_named_and_the_valid_ones_are_listed() -> None:
    for make in (ChatFake, ChatFakeConfig.of, ChatFakeConfig().replace):
        with pytest.raises(TypeError) as caught:
            make(prize="1", colour="red")

        assert (
            f"there is no configuration field 'prize', 'colour'; the fields are: {FIELDS}"
            == str(caught.value)
        )


def test_a_webhook_url_that_is_none_leaves_no_fake_behind() -> None:
    for _ in range(2):  # the second time, the key would be taken
        with pytest.raises(ValueError, match="has to be such as"):
            ChatFake(api_key="only-once-9999", webhook_url="nonsense")


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"event_type": ""}, ValueError, "Naming.event_type must not be empty"),
        ({"event_type": 1}, TypeError, "Naming.event_type must be text"),
        ({"message_key": "a b"}, ValueError, "printable ASCII without spaces"),
        ({"biz_type": 'a"b'}, ValueError, "without spaces, quotes"),
        ({"id_prefix": "ü"}, ValueError, "printable ASCII"),
        ({"message_key": "id"}, ValueError, "can't be 'id': another field has that name"),
        ({"original_id_key": "status"}, ValueError, "another field has that name"),
        ({"error_key": "chatMessageId"}, ValueError, "another field has that name"),
        ({"trace_key": "code"}, ValueError, "another field has that name"),
    ],
)
def test_a_bad_name(fields: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        Naming(**fields)


def test_two_living_fakes_with_one_key_are_refused_by_its_last_characters() -> None:
    with ChatFake(api_key="secret-key-1234"):
        with pytest.raises(ValueError, match=r"API key \.\.\.1234 is running: give each its own"):
            ChatFake(api_key="secret-key-1234")
    with ChatFake(api_key="secret-key-1234"):
        pass


# -- connect and route -----------------------------------------------------------------------------


def app(*_: Any) -> None:
    """Stands for any app or function; it is never called."""


URL = "http://127.0.0.1:9/"
BAD_CONNECTIONS = [
    ((), {}, TypeError, "exactly one target: a URL, wsgi=app, asgi=app or handler=function; "),
    ((), {}, TypeError, "it got none"),
    ((URL,), {"wsgi": app}, TypeError, "it got a URL and wsgi="),
    ((), {"wsgi": app, "asgi": app, "handler": app}, TypeError, "wsgi= and asgi= and handler="),
    ((URL,), {"path": "/x"}, TypeError, "path= goes with wsgi= or asgi= only, not with a URL"),
    ((), {"handler": app, "path": "/"}, TypeError, "path= goes with wsgi= or asgi= only"),
    ((), {"wsgi": "app"}, TypeError, "wsgi= must be callable, and 'app' is not"),
    ((), {"asgi": 1}, TypeError, "asgi= must be callable"),
    ((), {"handler": {}}, TypeError, "handler= must be callable"),
    ((), {"wsgi": app, "path": "hooks"}, ValueError, "begin with a slash"),
    ((), {"wsgi": app, "path": "/ü"}, ValueError, "'/%C3%BC'"),
    ((), {"wsgi": app, "path": 1}, TypeError, "path= is a str"),
    ((1,), {}, TypeError, "the URL must be text"),
    (("",), {}, ValueError, "the URL must not be empty"),
    (("127.0.0.1:8000",), {}, ValueError, "has to be such as 'http://127.0.0.1:8000/hooks/chat'"),
    (("ftp://127.0.0.1/",), {}, ValueError, "has to be such as"),
    ((URL,), {"raise_exceptions": 1}, TypeError, "raise_exceptions must be True or False"),
    ((URL,), {"events": "chat.message.updated"}, TypeError, "events must be a list"),
    ((URL,), {"events": [""]}, ValueError, "an event type must not be empty"),
    ((URL,), {"events": [1]}, TypeError, "an event type must be text"),
    ((URL,), {"events": 1}, TypeError, "events must be a list"),
    ((URL,), {"headers": [("A", "b")]}, TypeError, "headers must be a mapping"),
    ((URL,), {"headers": {"A": 1}}, TypeError, "a header is a pair of str"),
    ((URL,), {"headers": {1: "a"}}, TypeError, "a header is a pair of str"),
    ((URL,), {"headers": {"A": "b\r\nC: d"}}, ValueError, "line break"),
    ((URL,), {"headers": {"A B": "c"}}, ValueError, "does not allow 'A B'"),
    ((URL,), {"headers": {"A": "Ω"}}, ValueError, "urllib.parse.quote()"),
    ((URL,), {"headers": {"Content-Length": "3"}}, ValueError, "leave Content-Length out"),
]


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    BAD_CONNECTIONS,
    ids=[f"{case[3][:30]}" for case in BAD_CONNECTIONS],
)
def test_a_bad_connection(args: Any, options: Any, error: Any, words: str) -> None:
    with listening() as (fake, _):
        before = snapshot(fake)

        with pytest.raises(error, match=re.escape(words)):
            fake.webhooks.connect(*args, **options)

        assert before == snapshot(fake)


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    [
        (("v2/messages",), {}, ValueError, "must begin with / and have no query string"),
        (("/v2/messages?a=1",), {}, ValueError, "must begin with / and have no query string"),
        ((1,), {}, TypeError, "a route's path must be text"),
        (("/x", "POST"), {}, TypeError, "methods must be a list such as [\"POST\"], not 'POST'"),
        (("/x", [1]), {}, TypeError, "methods must be a list of names"),
        (("/x", []), {}, ValueError, "methods must name at least one method"),
        (("/v2/balance", ["GET"]), {}, ValueError, "the service's own"),
        (("/v2/balance", ["head"]), {}, ValueError, "the service's own"),
    ],
)
def test_a_bad_route(args: Any, options: Any, error: Any, words: str) -> None:
    with frozen_fake() as fake, pytest.raises(error, match=re.escape(words)):
        fake.route(*args, **options)(app)


def test_a_route_decorates_a_function() -> None:
    with frozen_fake() as fake, pytest.raises(TypeError, match="decorates a function, not 'x'"):
        fake.route("/x")("x")  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("status", "times", "error"),
    [
        (199, 1, ValueError), (600, 1, ValueError), ("500", 1, TypeError), (True, 1, TypeError),
        (500, 0, ValueError), (500, 1.0, TypeError), (500, None, TypeError),
    ],
)  # fmt: skip
def test_a_receiver_answers_with_statuses(status: Any, times: Any, error: Any) -> None:
    with listening() as (fake, receiver):
        with pytest.raises(error, match="status|times"):
            receiver.respond(status, times)
        fake.send_text()

        assert [200] == [one.status_code for one in fake.webhooks.attempts]


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
    with listening() as (fake, _), ChatFake() as other:
        stranger = other.send_text()
        before, others = snapshot(fake), snapshot(other)

        with pytest.raises(ValueError, match="belongs to another fake"):
            use(fake, stranger)

        assert before == snapshot(fake)
        assert others[:5] == snapshot(other)[:5]


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
    "paused": lambda fake, message, submission: fake.webhooks.paused(),
    "api.fail": lambda fake, message, submission: fake.api.fail(),
}


@pytest.mark.parametrize("use", CLOSED.values(), ids=CLOSED)
def test_a_fake_that_is_closed(use: Any) -> None:
    with listening() as (fake, _):
        message, submission = fake.send_text(), fake.submit_text()
    entries = len(fake.ledger)

    with pytest.raises(ClosedError, match="its test is over. Use the chat_fake of the running"):
        use(fake, message, submission)

    # What it knows can be read still.
    assert entries == len(fake.ledger)
    assert "sent" == message.status
    assert "<ChatFake closed, 1 messages>" == repr(fake)


def test_a_handle_from_before_a_reset() -> None:
    with frozen_fake() as fake:
        message = fake.send_text()
        fake.reset()
        before = snapshot(fake)

        for verb in (message.deliver, message.read, message.fail):
            with pytest.raises(ClosedError, match="it was sent before the fake was reset"):
                verb()

        assert before == snapshot(fake)


def test_a_submission_is_decided_once() -> None:
    with frozen_fake() as fake:
        submission = fake.submit_text()
        submission.accept()
        before = snapshot(fake)

        with pytest.raises(IllegalTransition):
            submission.accept()
        with pytest.raises(IllegalTransition):
            submission.reject()
        assert before == snapshot(fake)


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
