"""Bad configuration, bad connections, bad routes: clear errors, and nothing is changed by them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from pytest_chatfake import ChatFake, ChatFakeConfig, Naming

from .fakes import fake_with_receiver, frozen_fake, visible_state

FIELDS = (
    "api_key, opening_balance, currency, price, origin_type, conversation_type, "
    "conversation_length, drop_after, event_ids, balance_amount, on_insufficient_balance, "
    "insufficient_balance_code, naming, webhook_url, timeout, seed, mode, retry_after, signer, "
    "extra, sender, strict"
)


async def awaited(message: Any, status: str) -> dict[str, Any]:
    return {}


BAD_FIELDS = [
    ("api_key", "", ValueError, "api_key must not be empty"),
    ("api_key", 1, TypeError, "api_key must be text"),
    ("api_key", "a b", ValueError, "printable ASCII without spaces"),
    ("api_key", "schlüssel", ValueError, "printable ASCII without spaces"),
    ("opening_balance", 1.5, TypeError, "opening_balance must be exact"),
    ("opening_balance", "-1", ValueError, "opening_balance: expected 0 or more"),
    ("currency", "usd", ValueError, "three-letter code such as 'USD', not 'usd'"),
    ("currency", "US", ValueError, "three-letter code such as 'USD'"),
    ("currency", None, TypeError, "currency must be text"),
    ("price", 0.05, TypeError, "price must be exact"),
    ("price", "-1", ValueError, "price: expected 0 or more"),
    ("origin_type", "", ValueError, "origin_type must not be empty"),
    ("conversation_type", "", ValueError, "conversation_type must not be empty"),
    ("conversation_type", 1, TypeError, "conversation_type must be text"),
    ("insufficient_balance_code", "", ValueError, "insufficient_balance_code must not be empty"),
    ("conversation_length", 0, ValueError, "conversation_length must be greater than 0"),
    ("conversation_length", "24h", TypeError, "a timedelta or a number of seconds"),
    ("drop_after", -1, ValueError, "drop_after: expected 0 or more"),
    ("drop_after", timedelta(0), ValueError, "drop_after must be greater than 0"),
    ("drop_after", True, TypeError, "drop_after: expected a timedelta or a number of seconds"),
    ("timeout", 0, ValueError, "timeout must be greater than 0"),
    ("timeout", float("inf"), ValueError, "timeout: expected a finite length"),
    ("timeout", "5", TypeError, "timeout: expected a timedelta or a number of seconds"),
    ("event_ids", "per message", ValueError, "one of 'unique', 'per-message', not 'per message'"),
    ("balance_amount", "all", ValueError, "one of 'available', 'total', not 'all'"),
    ("on_insufficient_balance", True, ValueError, "one of 'allow', 'fail', not True"),
    ("mode", "asyncio", ValueError, "one of None, 'sync', 'async', not 'asyncio'"),
    ("naming", {"event_type": "x"}, TypeError, "naming must be a Naming(...)"),
    ("webhook_url", "", ValueError, "webhook_url must not be empty"),
    ("webhook_url", 1, TypeError, "webhook_url must be text"),
    ("seed", "", ValueError, "seed must not be empty"),
    ("seed", 1, TypeError, "seed must be text"),
    ("extra", 1, TypeError, "extra must be a mapping of field names to values, not 1"),
    ("extra", lambda _: {}, TypeError, "extra takes a function of the message and the status"),
    ("extra", awaited, TypeError, "extra must be a plain function: write `def`, not `async def`"),
    ("strict", 1, TypeError, "strict must be True or False, not 1"),
    ("strict", "yes", TypeError, "strict must be True or False, not 'yes'"),
]


@pytest.mark.parametrize(
    ("name", "value", "error", "words"),
    BAD_FIELDS,
    ids=[f"{f[0]}-{place}" for place, f in enumerate(BAD_FIELDS)],
)
def test_a_bad_value_in_the_configuration(name: str, value: Any, error: Any, words: str) -> None:
    for make in (ChatFakeConfig, ChatFake, ChatFakeConfig().replace):
        with pytest.raises(error, match=re.escape(words)):
            make(**{name: value})


def test_an_unknown_field_is_named_and_the_valid_ones_are_listed() -> None:
    for make in (ChatFake, ChatFakeConfig().replace):
        with pytest.raises(TypeError) as caught:
            make(prize="1", colour="red")

        assert (
            "there is no configuration field 'prize' (did you mean 'price'?), 'colour'; "
            f"the fields are: {FIELDS}" == str(caught.value)
        )


def test_a_webhook_url_that_is_none_leaves_no_fake_behind() -> None:
    for _ in range(2):  # the second time, the key would be taken
        with pytest.raises(ValueError, match="url: expected one such as"):
            ChatFake(api_key="only-once-9999", webhook_url="nonsense")


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"event_type": ""}, ValueError, "Naming.event_type must not be empty"),
        ({"event_type": 1}, TypeError, "Naming.event_type must be text"),
        ({"message_key": "a b"}, ValueError, "printable ASCII without spaces"),
        ({"biz_type": 'a"b'}, ValueError, "without spaces, quotes"),
        ({"id_prefix": "ü"}, ValueError, "printable ASCII"),
        ({"message_key": "id"}, ValueError, "'id' is the name of another field"),
        ({"original_id_key": "status"}, ValueError, "is the name of another field"),
        ({"error_key": "chatMessageId"}, ValueError, "is the name of another field"),
        ({"trace_key": "code"}, ValueError, "is the name of another field"),
    ],
)
def test_a_bad_name(fields: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        Naming(**fields)


def test_two_living_fakes_with_one_key_are_refused_by_its_last_characters() -> None:
    with ChatFake(api_key="secret-key-1234"):
        with pytest.raises(ValueError, match=r"another running fake has the key \.\.\.1234"):
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
    ((), {"wsgi": app, "path": "hooks"}, ValueError, "path: expected a slash first"),
    ((), {"wsgi": app, "path": "/ü"}, ValueError, "'/%C3%BC'"),
    ((), {"wsgi": app, "path": 1}, TypeError, "path: expected a str"),
    ((1,), {}, TypeError, "the URL must be text"),
    (("",), {}, ValueError, "the URL must not be empty"),
    (("127.0.0.1:8000",), {}, ValueError, "url: expected one such as"),
    (("ftp://127.0.0.1/",), {}, ValueError, "url: expected one such as"),
    ((URL,), {"raise_exceptions": 1}, TypeError, "raise_exceptions must be True or False"),
    ((URL,), {"events": "chat.message.updated"}, TypeError, "events must be a list"),
    ((URL,), {"events": [""]}, ValueError, "an event type must not be empty"),
    ((URL,), {"events": [1]}, TypeError, "an event type must be text"),
    ((URL,), {"events": 1}, TypeError, "events must be a list"),
    ((URL,), {"headers": [("A", "b")]}, TypeError, "headers must be a mapping"),
    ((URL,), {"headers": {"A": 1}}, TypeError, "headers: expected pairs of str"),
    ((URL,), {"headers": {1: "a"}}, TypeError, "headers: expected pairs of str"),
    ((URL,), {"headers": {"A": "b\r\nC: d"}}, ValueError, "line break"),
    ((URL,), {"headers": {"A B": "c"}}, ValueError, "headers: HTTP does not allow the name 'A B'"),
    ((URL,), {"headers": {"A": "Ω"}}, ValueError, "urllib.parse.quote()"),
    ((URL,), {"headers": {"Content-Length": "3"}}, ValueError, "headers: omit Content-Length"),
]


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    BAD_CONNECTIONS,
    ids=[f"{case[3][:30]}" for case in BAD_CONNECTIONS],
)
def test_a_bad_connection(args: Any, options: Any, error: Any, words: str) -> None:
    with fake_with_receiver() as (fake, _):
        before = visible_state(fake)

        with pytest.raises(error, match=re.escape(words)):
            fake.webhooks.connect(*args, **options)

        assert before == visible_state(fake)


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    [
        (("v2/messages",), {}, ValueError, "path: expected a slash first"),
        (("/v2/messages?a=1",), {}, ValueError, "path: expected a slash first"),
        ((1,), {}, TypeError, "path: expected a str"),
        (("/x", "POST"), {}, TypeError, "methods"),
        (("/x", [1]), {}, TypeError, "methods: expected a list"),
        (("/x", []), {}, ValueError, "methods: expected at least one"),
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
    with fake_with_receiver() as (fake, receiver):
        with pytest.raises(error, match=r"status|times"):
            receiver.respond(status, times)
        fake.send_text()

        assert [200] == [one.status_code for one in fake.webhooks.attempts]
