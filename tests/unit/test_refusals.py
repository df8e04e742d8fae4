"""What is refused: each argument by its name, with nothing changed.

Whole sentences are in `test_refusal_sentences`; amounts, lengths and what else has rules of its own
are beside them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import pytest
from flask import Flask

from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    ClosedError,
    Edge,
    Explorer,
    HmacSigner,
    Message,
    Naming,
    PlatformError,
    edges,
    explore,
)

from .fakes import (
    FAULT_KINDS,
    fake_with_receiver,
    frozen_fake,
    set_up_fault,
    unchanged,
    visible_state,
)

URL = "http://127.0.0.1:9/"

#: An integer that Python does not write out, a text that nobody reads, half of a letter.
HUGE = 10**6_000
LONG = "x" * 100_000
HALF = "cut \ud800"


class Silent:
    """Something that can't be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


#: What no argument takes, and what can hardly be cited.
HARD_TO_CITE = ([LONG, Silent()], [HUGE, Silent()], [Silent()])


def nested() -> list[Any]:
    value: list[Any] = []
    for _ in range(10_000):
        value = [value]
    return value


async def awaited(message: Any, status: str) -> dict[str, Any]:
    return {}


async def asgi_app(scope: Any, receive: Any, send: Any) -> None:
    raise NotImplementedError


class AsgiApp:
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raise NotImplementedError


def wsgi_app(environ: Any, start_response: Any) -> list[bytes]:
    raise NotImplementedError


#: Values of an argument: of the wrong kind, and out of range.
Bad: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]

INTS = (True, 1.5, "2")
AMOUNT = (0.05, math.nan, True, b"1")
OUT_OF_AMOUNTS = ("five", "", " 1", "1_000", "1,5", "\u0661", "NaN", "sNaN", "Infinity", -1)
OUT_OF_AMOUNTS += ("1" * 29, "1E+41", "1E-41", Decimal("-Infinity"), Decimal("-0.5"))
LENGTH = ("24h", True)
OUT_OF_LENGTHS = (-1, math.nan, math.inf, timedelta.max, 10**12)

#: What is called, and the arguments of which an error speaks by their own names.
VERBS: list[tuple[Callable[[ChatFake, Message], Callable[..., object]], dict[str, Bad]]] = [
    # Messages
    (
        lambda f, m: f.send_text,
        {
            "body": ((1, None, b"x"), ()),
            "to": ((15550100,), ("",)),
            "origin_type": ((1,), ("",)),
            "conversation": ((1, b"c0ffee"), ("xyz", "", "c0 ffee")),
            "price": ((*AMOUNT, int, bool), OUT_OF_AMOUNTS),
            "extra": ((["a"],), ()),
        },
    ),
    (lambda f, m: f.find_message, {"to": ((1.5,), ("",)), "body": ((1.5, b"x"), ())}),
    (lambda f, m: f.submit_text, {"body": ((1,), ()), "price": (AMOUNT, OUT_OF_AMOUNTS)}),
    (lambda f, m: f.submit_text().reject, {"code": ((1,), ("999", ""))}),
    (
        lambda f, m: m.deliver,
        {"devices": (INTS, (0, -1, 10_001, HUGE)), "price": (AMOUNT, OUT_OF_AMOUNTS)},
    ),
    (
        lambda f, m: m.fail,
        {
            "code": ((131026,), ("999", "")),
            "message": ((1,), ("",)),
            "platform_error": (("x", 1), ()),
        },
    ),
    (lambda f, m: m.after, {"hours": (("5",), (math.nan,))}),
    (lambda f, m: f.message, {"id": ((None,), ("",))}),
    # People
    (lambda f, m: f.recipient, {"address": ((1,), ("",))}),
    (
        lambda f, m: partial(f.recipient, "+1"),
        {
            "devices": (INTS, (0, 10_001, HUGE)),
            "read_receipts": ((1,), ()),
            "online": ((1, Silent()), ()),
            "blocked": (("no",), ()),
            "withheld": ((0.5,), ()),
            "registered": (([],), ()),
            "chat_open": ((0,), ()),
        },
    ),
    (
        lambda f, m: f.autopilot,
        {
            "seed": ((1.5, True), (HUGE, HALF)),
            "deliver_after": (
                (*LENGTH, [0] * 1000, lambda: 60, lambda one, two: 60),
                (*OUT_OF_LENGTHS, (-1, 5)),
            ),
            "read_after": (("soon", (5,), lambda: 60), ((5, 1),)),
            "fail_share": ((True, "0.1"), (1.01, -0.1, math.nan)),
            "replies": (("STOP", lambda message: "STOP"), ()),
            "reply_after": ((5,), ()),  # without replies
            "to": ((5,), ("",)),
        },
    ),
    (
        lambda f, m: partial(f.autopilot, replies=lambda message, random: None),
        {"reply_after": (("soon",), ((5, 1),))},
    ),
    # Money and expectations
    (lambda f, m: f.top_up, {"amount": (AMOUNT, (*OUT_OF_AMOUNTS, 0))}),
    (lambda f, m: f.set_balance, {"available": (AMOUNT, OUT_OF_AMOUNTS)}),
    (lambda f, m: f.assert_charged, {"amount": (AMOUNT, (Decimal("-sNaN"),))}),
    (lambda f, m: partial(f.assert_charged, 1), {"message": (("id",), ())}),
    (lambda f, m: f.assert_held, {"amount": (AMOUNT, (-HUGE,))}),
    (lambda f, m: f.assert_available, {"amount": (AMOUNT, (Decimal("NaN"),))}),
    (lambda f, m: f.explain, {"message": (("id",), ())}),
    (lambda f, m: partial(f.assert_requested, path="/x"), {"method": ((1,), ("",))}),
    (lambda f, m: partial(f.assert_requested, "GET"), {"path": ((1,), ("",))}),
    (lambda f, m: partial(f.assert_requested, "GET", "/x"), {"times": (INTS, (-1,))}),
    (lambda f, m: f.assert_idempotent, {"snapshot": ((1,), ())}),
    (lambda f, m: f.assert_order_independent, {"snapshot": (([],), ())}),
    (lambda f, m: f.webhooks.assert_rejects_forgeries, {"snapshot": ((0,), ())}),
    (lambda f, m: f.wait_until, {"predicate": ((None, True, lambda one: one), ())}),
    (lambda f, m: partial(f.wait_until, list), {"timeout": (LENGTH, (0, -1, math.nan))}),
    # The clock
    (lambda f, m: f.clock.advance, {"months": ((1,), ())}),
    (lambda f, m: partial(f.clock.advance_to, edges("drop")[0]), {"message": (("id",), ())}),
    (
        lambda f, m: partial(f.clock.run_until, limit=1),
        {"predicate": ((True, Silent(), asgi_app, AsgiApp(), partial(asgi_app)), ())},
    ),
    (lambda f, m: partial(f.clock.run_until, list), {"limit": (LENGTH, (-1, math.nan))}),
    # Endpoints and routes
    (
        lambda f, m: f.webhooks.connect,
        {
            "wsgi": (("app", lambda request: None), ()),
            "asgi": ((1, lambda request: None), ()),
            "handler": (({}, lambda: None), ()),
        },
    ),
    (
        lambda f, m: partial(f.webhooks.connect, URL),
        {
            "raise_exceptions": ((1, None), ()),
            "disable_after": (("3", True), (0,)),
            "events": ((1, "a.b", [1]), ([""],)),
            "headers": (([("A", "b")], {"A": 1}, {1: "a"}), ()),
            "signer": (("s", lambda: None), ()),
            "path": (("/x",), ()),
            "client": ((("::1", 1),), ()),
        },
    ),
    (lambda f, m: partial(f.webhooks.connect, wsgi=print), {"path": ((1,), ("hooks", "/ü"))}),
    (lambda f, m: partial(f.webhooks.connect, asgi=print), {"client": (("::1",), ())}),
    (
        lambda f, m: f.send_endpoint,
        {
            "path": ((1,), ("v2",)),
            "echo": (("externalId", [1]), (["status"],)),
            "parse": ((1, awaited), ()),
            "reply": ((1, awaited), ()),
            "status": ((1,), ("",)),
            "idempotency_header": ((1,), ("", "A B")),
        },
    ),
    (lambda f, m: partial(f.send_endpoint, echo=["x"]), {"parse": ((dict,), ())}),
    (lambda f, m: partial(f.send_endpoint, reply=dict), {"status": (("accepted",), ())}),
    (lambda f, m: f.api.fail, {"body": ((1,), (HALF,))}),
    # Webhooks that go wrong, and events that should not come
    (lambda f, m: f.webhooks.delay, {"duration": (LENGTH, (0, *OUT_OF_LENGTHS))}),
    (lambda f, m: f.webhooks.tamper, {"change": ((b"body", lambda: b""), ())}),
    (lambda f, m: f.webhooks.sign, {"signer": ((None, "s", lambda request, secret: {}), ())}),
    (lambda f, m: partial(f.webhooks.chaos, refuse=1), {"seed": ((None, True), (HALF, HUGE))}),
    (lambda f, m: partial(f.webhooks.emit, status="sent"), {"message": (("id",), ())}),
    (lambda f, m: partial(f.webhooks.emit, m), {"status": ((1,), ("",))}),
    (
        lambda f, m: partial(f.webhooks.emit, m, "read"),
        {
            "raw": ((1,), (HALF,)),
            "remove": ((1, "status", [1]), ([LONG],)),
            "changes": ((["status"],), ()),
        },
    ),
    (
        lambda f, m: partial(f.webhooks.emit_event, "a.b"),
        {
            "key": ((1,), ("", "createTime")),
            "id": ((1,), ("",)),
            "body": ((1,), (HALF,)),
        },
    ),
    (lambda f, m: f.webhooks.redeliver, {"event": (("evt",), ())}),
    (lambda f, m: f.webhooks.replay, {"path": ((1,), ("\ud800", "a\0b"))}),
    # Explorations and scripts
    (
        lambda f, m: Explorer,
        {"start": ((1,), (datetime(2026, 1, 1),)), "progress": ((1, lambda: None), ())},
    ),
    (
        lambda f, m: partial(explore, print),
        {
            "seconds": ((Silent(), True), (0,)),
            "depth": (("1",), (-1, HUGE)),
            "limit": (("1",), (0, HUGE)),
            "only": ((1, [1]), (["(" * 100_000],)),
            "deviations": ((1, "x"), ([LONG],)),
        },
    ),
    # Where something is made
    (lambda f, m: partial(HmacSigner, "hush"), {"header": ((1,), ("",))}),
    (lambda f, m: partial(PlatformError, "m", "t", "1", "x"), {"details": ((1,), ())}),
]


class Refused(NamedTuple):
    """What an error names, a call, values of the wrong kind and out of range."""

    name: str
    call: Callable[[ChatFake, Message, Any], object]
    wrong_kind: tuple[Any, ...] = ()
    out_of_range: tuple[Any, ...] = ()


#: Values that stand inside of an argument, or for one with another name.
CALLS = [
    # Messages
    Refused("conversation", lambda f, m, x: f.send_text(conversation=m), (None,)),
    Refused("price", lambda f, m, x: f.send_text(price=lambda: x), ("1",)),
    Refused(
        "price", lambda f, m, x: f.send_text(price=lambda _: x), (*AMOUNT, None), OUT_OF_AMOUNTS
    ),
    Refused("status", lambda f, m, x: f.send_text(extra={"status": x}), (), (1,)),
    Refused("JSON", lambda f, m, x: f.send_text(extra={"a": x}), ({1},), (math.inf, HUGE)),
    Refused("JSON", lambda f, m, x: f.send_text(extra={x: 1}), (1,)),
    Refused("JSON", lambda f, m, x: f.send("image", {"a": nested()}), (), (None,)),
    Refused("content", lambda f, m, x: f.send("image", x), ("url",)),
    Refused("after", lambda f, m, x: m.after(x), LENGTH, OUT_OF_LENGTHS),
    # Money and expectations
    Refused("amount", lambda f, m, x: f.expect_charge(x).__enter__(), AMOUNT, OUT_OF_AMOUNTS),
    Refused("message", lambda f, m, x: f.assert_statuses(x, "sent"), ("id",)),
    Refused("status", lambda f, m, x: f.assert_statuses(m, x), (["sent"],), ("seen", "delivred")),
    # The clock
    Refused(
        "move_to",
        lambda f, m, x: f.clock.move_to(x),
        (1,),
        (
            "0001-01-01T00:00:00+14:00",
            "",
            datetime(2026, 1, 1),
            datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
        ),
    ),
    Refused("advance", lambda f, m, x: f.clock.advance(days=x), ("5",), (math.nan, math.inf, 1e12)),
    Refused("edge", lambda f, m, x: f.clock.advance_to(x, m), ("session", edges("drop"))),
    Refused("edges", lambda f, m, x: edges(), (None,)),
    Refused("edge", lambda f, m, x: edges(x), (), ("end", 1, LONG)),
    Refused("edge", lambda f, m, x: Edge(x, timedelta(0)), (), ("end",)),
    Refused("offset", lambda f, m, x: Edge("drop", x), (), (0, timedelta(1))),
    Refused("predicate", lambda f, m, x: f.clock.run_until(lambda one: x, limit=1), (1,)),
    # Endpoints and routes
    Refused("target", lambda f, m, x: f.webhooks.connect(), (None,)),
    Refused("target", lambda f, m, x: f.webhooks.connect(URL, wsgi=wsgi_app), (None,)),
    Refused(
        "url", lambda f, m, x: f.webhooks.connect(x), (1,), ("", "ftp://x/", f"http://[{LONG}]")
    ),
    Refused("handler", lambda f, m, x: f.webhooks.connect(Flask("x")), (None,)),
    Refused("asgi", lambda f, m, x: f.webhooks.connect(wsgi=x), (asgi_app, AsgiApp())),
    Refused("wsgi", lambda f, m, x: f.webhooks.connect(asgi=x), (Flask("x"),)),
    Refused("asgi", lambda f, m, x: f.webhooks.connect(app=x), (1,)),
    Refused("A", lambda f, m, x: f.webhooks.connect(URL, headers={"A": x}), (), ("b\r\nC: d", "Ω")),
    Refused("A B", lambda f, m, x: f.webhooks.connect(URL, headers={"A B": x}), (), ("c",)),
    Refused(
        "Content-Length",
        lambda f, m, x: f.webhooks.connect(URL, headers={"Content-Length": x}),
        (),
        ("3",),
    ),
    Refused("path", lambda f, m, x: f.route(x)(print), (1,), ("v2/messages", "/v2/messages?a=1")),
    Refused("methods", lambda f, m, x: f.route("/x", x)(print), ("POST", [1]), ([],)),
    Refused("service", lambda f, m, x: f.route("/v2/balance", [x])(print), (), ("GET", "head")),
    Refused("route", lambda f, m, x: f.route("/x")(x), ("x", asgi_app)),
    # Events that should not come
    Refused("raw", lambda f, m, x: f.webhooks.emit(m, "read", raw="{", changes=x), (), ({"x": 1},)),
    Refused("raw", lambda f, m, x: f.webhooks.emit(m, "read", raw="{", remove=x), (), (["x"],)),
    Refused("field", lambda f, m, x: f.webhooks.emit(m, "sent", changes={x: 1}), (1,)),
    Refused(
        "JSON",
        lambda f, m, x: f.webhooks.emit(m, "read", changes={"a": x}),
        (object(), {1: 1}),
        (nested(), math.nan, Decimal("inf")),
    ),
    Refused(
        "object",
        lambda f, m, x: f.webhooks.emit(m, "read", changes={x: 1}),
        (),
        ("no.such", "currency.x"),
    ),
    Refused("type", lambda f, m, x: f.webhooks.emit_event(x), (1,), ("", ".")),
    Refused("key", lambda f, m, x: f.webhooks.emit_event(x), (), ("id",)),
    Refused("resource", lambda f, m, x: f.webhooks.emit_event("a.b", x), ([1],)),
    Refused("JSON", lambda f, m, x: f.webhooks.emit_event("a.b", {"x": x}), (object(),)),
    Refused("body", lambda f, m, x: f.webhooks.emit_event("a.b", {}, body=x), (), ("x",)),
    Refused("body", lambda f, m, x: f.webhooks.emit_event("a.b", key="k", body=x), (), ("x",)),
    # What people write
    Refused("body", lambda f, m, x: f.recipient("+1").writes(x), (1, None, b"x"), ("",)),
    Refused("type", lambda f, m, x: f.recipient("+1").sends(x, {}), (1,), ("", "from", "to", "ü")),
    # The configuration
    Refused("config", lambda f, m, x: ChatFake(x), (True, 1, "x", {})),
]


def give(of: Any, name: str) -> Callable[[ChatFake, Message, Any], object]:
    """Return a call that gives a value to an argument."""
    return lambda fake, message, value: of(fake, message)(**{name: value})


REFUSED = [
    *(Refused(name, give(of, name), *bad) for of, bads in VERBS for name, bad in bads.items()),
    *CALLS,
]


CASES = [
    pytest.param(one, value, error, id=f"{one.name}-{number}-{error.__name__}-{place}")
    for number, one in enumerate(REFUSED)
    for error, values in ((TypeError, one.wrong_kind), (ValueError, one.out_of_range))
    for place, value in enumerate(values)
]


@pytest.fixture
def fake() -> Iterator[ChatFake]:
    with fake_with_receiver() as (fake, _):
        yield fake


@pytest.mark.parametrize(("one", "value", "error"), CASES)
def test_a_bad_argument_is_refused_by_its_name_and_nothing_is_changed(
    fake: ChatFake, one: Refused, value: Any, error: type[Exception]
) -> None:
    message = fake.send_text()

    with unchanged(fake), pytest.raises(error) as caught:
        one.call(fake, message, value)

    assert error is caught.type
    assert one.name in str(caught.value)
    assert 700 > len(str(caught.value))


@pytest.mark.parametrize("one", REFUSED, ids=[f"{one.name}-{n}" for n, one in enumerate(REFUSED)])
def test_whatever_is_given_the_error_is_a_sentence_of_a_readable_length(
    fake: ChatFake, one: Refused
) -> None:
    message = fake.send_text()
    for value in HARD_TO_CITE:
        with pytest.raises((TypeError, ValueError)) as caught:
            one.call(fake, message, value)

        assert 700 > len(str(caught.value))


@pytest.mark.parametrize("kind", FAULT_KINDS)
@pytest.mark.parametrize(
    ("options", "error"),
    [
        *(({"times": value}, TypeError) for value in INTS),
        *(({"times": value}, ValueError) for value in (0, -1)),
        *(({"start": value}, TypeError) for value in (*INTS, None)),
        ({"start": 0}, ValueError),
        ({"status": 200}, TypeError),
        ({"status": ""}, ValueError),
        ({"message": "an id"}, TypeError),
        ({"endpoint": URL}, ValueError),
        ({"type": 1}, TypeError),
        ({"tims": 1}, TypeError),
    ],
)
def test_every_kind_of_fault_refuses_a_bad_filter(
    fake: ChatFake, kind: str, options: dict[str, Any], error: type[Exception]
) -> None:
    with unchanged(fake), pytest.raises(error) as caught:
        set_up_fault(fake, kind, **options)

    assert error is caught.type
    assert next(iter(options)) in str(caught.value)


def test_a_status_of_the_teams_own_is_taken(fake: ChatFake) -> None:
    message = fake.send_text()
    for status in ("seen", "unread", "deleted", "Read"):
        with fake.webhooks.drop(status=status):
            fake.webhooks.emit(message, status)

    fake.assert_statuses(message, "sent", "seen", "unread", "deleted", "Read")


#: By field of the configuration: values of the wrong kind, and out of range.
FIELDS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "api_key": ((1,), ("", "a b", "schlüssel")),
    "opening_balance": (AMOUNT, OUT_OF_AMOUNTS),
    "currency": ((None,), ("usd", "US")),
    "price": ((*AMOUNT, lambda: "1"), OUT_OF_AMOUNTS),
    "origin_type": ((1,), ("",)),
    "conversation_type": ((1,), ("",)),
    "insufficient_balance_code": ((1,), ("",)),
    "conversation_length": (LENGTH, (0, *OUT_OF_LENGTHS)),
    "drop_after": (LENGTH, (timedelta(0), timedelta(days=36_001), *OUT_OF_LENGTHS)),
    "timeout": (LENGTH, (0, *OUT_OF_LENGTHS)),
    "retry_after": ((1, "1"), ([-1], [1, timedelta.max])),
    "event_ids": ((), ("per message", 1)),
    "charge_per": ((), ("messages", 1)),
    "balance_amount": ((), ("all",)),
    "on_insufficient_balance": ((), (True,)),
    "mode": ((), ("asyncio",)),
    "naming": (({"event_type": "x"},), ()),
    "webhook_url": ((1,), ("",)),
    "seed": ((1,), ("",)),
    "omit": (("bizType", None), (["id"], ["status"], ["bizTyp"], [[]])),
    "extra": ((1, lambda _: {}, awaited), ()),
    "signer": ((1, lambda: None), ()),
    "inbound": ((1, lambda: None, {}), ()),
    "sender": ((1,), ("",)),
    "strict": ((1, "yes"), ()),
}


def test_every_field_of_the_configuration_is_checked() -> None:
    assert {one.name for one in dataclasses.fields(ChatFakeConfig)} == FIELDS.keys()


@pytest.mark.parametrize("field", FIELDS)
def test_a_bad_value_in_the_configuration_is_refused_by_its_name(field: str) -> None:
    for error, values in zip((TypeError, ValueError), FIELDS[field], strict=True):
        for value in values:
            for make in (ChatFakeConfig, ChatFake, ChatFakeConfig().replace):
                with pytest.raises(error, match=field) as caught:
                    make(**{field: value})
                assert error is caught.type


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("event_type", ""),
        ("message_key", "a b"),
        ("biz_type", 'a"b'),
        ("id_prefix", "ü"),
        ("message_key", "id"),
        ("original_id_key", "status"),
        ("error_key", "chatMessageId"),
        ("trace_key", "code"),
        ("to_key", "chatMessageId"),
        ("from_key", "who"),
    ],
)
def test_a_bad_name_is_refused(name: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=rf"Naming\.{name}"):
        Naming(**{"to_key": "who", name: wrong})
    with pytest.raises(TypeError, match=rf"Naming\.{name}"):
        Naming(**{name: 1})  # type: ignore[arg-type]


def test_a_webhook_url_that_is_none_leaves_no_fake_behind() -> None:
    for _ in range(2):  # the second time, the key would be taken
        with pytest.raises(ValueError, match="nonsense"):
            ChatFake(api_key="only-once-9999", webhook_url="nonsense")


def test_two_living_fakes_with_one_key_are_refused_by_its_last_characters() -> None:
    for _ in range(2):
        with ChatFake(api_key="secret-key-1234"):
            with pytest.raises(ValueError, match=r"key \.\.\.1234"):
                ChatFake(api_key="secret-key-1234")


def test_nothing_negative_is_the_same_as_nothing(fake: ChatFake) -> None:
    fake.assert_held(Decimal("-0"))
    fake.assert_held("-0")


# -- the wrong fake, and one that is closed --------------------------------------------------------


def test_a_handle_of_another_fake(fake: ChatFake) -> None:
    with ChatFake() as other:
        stranger = other.send_text()
        before, others = visible_state(fake), visible_state(other)

        for use in (
            partial(fake.assert_charged, "0", message=stranger),
            partial(fake.assert_statuses, stranger, "sent"),
            partial(fake.explain, stranger),
            partial(fake.send_text, conversation=stranger.conversation),
            partial(fake.submit_text, conversation=stranger.conversation),
            partial(fake.webhooks.emit, stranger, "sent"),
            partial(fake.webhooks.drop, message=stranger),
        ):
            with pytest.raises(ValueError, match="belongs to another fake"):
                use()
        with pytest.raises(ValueError, match="connected to this fake"):
            fake.webhooks.drop(endpoint=other.webhooks.receiver().endpoint)

        assert before == visible_state(fake)
        assert others[:5] == visible_state(other)[:5]


def test_a_fake_that_is_closed() -> None:
    with fake_with_receiver() as (fake, _):
        message, submission = fake.send_text(), fake.submit_text()
    entries = len(fake.ledger)

    for use in (
        fake.send_text,
        fake.submit_text,
        partial(fake.recipient, "+1"),
        message.deliver,
        submission.accept,
        submission.reject,
        partial(fake.top_up, 1),
        fake.settle,
        fake.reset,
        fake.rotate_key,
        lambda: fake.base_url,
        lambda: fake.http,
        partial(fake.route, "/x"),
        partial(fake.clock.advance, 1),
        partial(fake.webhooks.connect, handler=print),
        fake.webhooks.drop,
        partial(fake.webhooks.emit, message, "sent"),
        fake.webhooks.paused,
        fake.api.fail,
    ):
        with pytest.raises(
            ClosedError, match=r"its test is over\. Use the chat_fake of the running"
        ):
            use()

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
        for thing, name in ((message, "status"), (fake.balance, "held")):
            with pytest.raises(AttributeError):
                setattr(thing, name, "x")
