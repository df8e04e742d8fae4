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
from typing import Any, NamedTuple

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
    Script,
    edges,
    explore,
    scripts,
)

from .fakes import FAULT_KINDS, fake_with_receiver, frozen_fake, set_up_fault, visible_state

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
    for _ in range(100_000):
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


class Refused(NamedTuple):
    """An argument: what its error calls it, a call, values of the wrong kind and out of range."""

    name: str
    call: Callable[[ChatFake, Message, Any], object]
    wrong_kind: tuple[Any, ...] = ()
    out_of_range: tuple[Any, ...] = ()


INTS = (True, 1.5, "2")
AMOUNT = (0.05, math.nan, True, b"1")
OUT_OF_AMOUNTS = ("five", "", " 1", "1_000", "1,5", "\u0661", "NaN", "sNaN", "Infinity", -1)
OUT_OF_AMOUNTS += ("1" * 29, "1E+41", "1E-41", Decimal("-Infinity"), Decimal("-0.5"))
LENGTH = ("24h", True)
OUT_OF_LENGTHS = (-1, math.nan, math.inf, timedelta.max, 10**12)

REFUSED = [
    # Sending
    Refused("body", lambda f, m, x: f.send_text(x), (1, None, b"x")),
    Refused("body", lambda f, m, x: f.submit_text(x), (1,)),
    Refused("to", lambda f, m, x: f.send_text(to=x), (15550100,), ("",)),
    Refused("origin_type", lambda f, m, x: f.send_text(origin_type=x), (1,), ("",)),
    Refused(
        "conversation",
        lambda f, m, x: f.send_text(conversation=x),
        (1, b"c0ffee"),
        ("xyz", "", "c0 ffee"),
    ),
    Refused("conversation", lambda f, m, x: f.send_text(conversation=m), (None,)),
    Refused("price", lambda f, m, x: f.send_text(price=x), (*AMOUNT, int, bool), OUT_OF_AMOUNTS),
    Refused("price", lambda f, m, x: f.send_text(price=lambda: x), ("1",)),
    Refused("price", lambda f, m, x: f.submit_text(price=x), AMOUNT, OUT_OF_AMOUNTS),
    Refused(
        "price", lambda f, m, x: f.send_text(price=lambda _: x), (*AMOUNT, None), OUT_OF_AMOUNTS
    ),
    Refused("extra", lambda f, m, x: f.send_text(extra=x), (["a"],)),
    Refused("status", lambda f, m, x: f.send_text(extra={"status": x}), (), (1,)),
    Refused("JSON", lambda f, m, x: f.send_text(extra={"a": x}), ({1},), (math.inf, HUGE)),
    Refused("JSON", lambda f, m, x: f.send_text(extra={x: 1}), (1,)),
    Refused("JSON", lambda f, m, x: f.send("image", {"a": nested()}), (), (None,)),
    Refused("content", lambda f, m, x: f.send("image", x), ("url",)),
    # Verbs
    Refused("devices", lambda f, m, x: m.deliver(x), INTS, (0, -1, 10_001, HUGE)),
    Refused("price", lambda f, m, x: m.deliver(price=x), AMOUNT, OUT_OF_AMOUNTS),
    Refused("code", lambda f, m, x: m.fail(x), (131026,), ("999", "")),
    Refused("code", lambda f, m, x: f.submit_text().reject(x), (1,), ("999", "")),
    Refused("message", lambda f, m, x: m.fail(message=x), (1,), ("",)),
    Refused("platform_error", lambda f, m, x: m.fail(platform_error=x), ("x", 1)),
    Refused("after", lambda f, m, x: m.after(x), LENGTH, OUT_OF_LENGTHS),
    Refused("hours", lambda f, m, x: m.after(hours=x), ("5",), (math.nan,)),
    # People
    Refused("address", lambda f, m, x: f.recipient(x), (1,), ("",)),
    Refused("devices", lambda f, m, x: f.recipient("+1", devices=x), INTS, (0, 10_001, HUGE)),
    Refused("read_receipts", lambda f, m, x: f.recipient("+1", read_receipts=x), (1,)),
    Refused("online", lambda f, m, x: f.recipient("+1", online=x), (1, Silent())),
    Refused("blocked", lambda f, m, x: f.recipient("+1", blocked=x), ("no",)),
    Refused("withheld", lambda f, m, x: f.recipient("+1", withheld=x), (0.5,)),
    Refused("registered", lambda f, m, x: f.recipient("+1", registered=x), ([],)),
    Refused("chat_open", lambda f, m, x: f.recipient("+1", chat_open=x), (0,)),
    Refused("seed", lambda f, m, x: f.autopilot(seed=x), (1.5, True), (HUGE, HALF)),
    Refused("deliver_after", lambda f, m, x: f.autopilot(deliver_after=x), LENGTH, OUT_OF_LENGTHS),
    Refused(
        "deliver_after",
        lambda f, m, x: f.autopilot(deliver_after=x),
        ([0] * 1000, lambda: 60, lambda one, two: 60),
        ((-1, 5),),
    ),
    Refused("read_after", lambda f, m, x: f.autopilot(read_after=x), ("soon", (5,)), ((5, 1),)),
    Refused("read_after", lambda f, m, x: f.autopilot(read_after=x), (lambda: 60,)),
    Refused(
        "fail_share",
        lambda f, m, x: f.autopilot(fail_share=x),
        (True, "0.1"),
        (1.01, -0.1, math.nan),
    ),
    Refused("to", lambda f, m, x: f.autopilot(to=x), (5,), ("",)),
    # Money and expectations
    Refused("amount", lambda f, m, x: f.top_up(x), AMOUNT, (*OUT_OF_AMOUNTS, 0)),
    Refused("available", lambda f, m, x: f.set_balance(x), AMOUNT, OUT_OF_AMOUNTS),
    Refused("amount", lambda f, m, x: f.expect_charge(x).__enter__(), AMOUNT, OUT_OF_AMOUNTS),
    Refused("amount", lambda f, m, x: f.assert_charged(x), AMOUNT, (Decimal("-sNaN"),)),
    Refused("amount", lambda f, m, x: f.assert_held(x), AMOUNT, (-HUGE,)),
    Refused("amount", lambda f, m, x: f.assert_available(x), AMOUNT, (Decimal("NaN"),)),
    Refused("message", lambda f, m, x: f.assert_charged(1, message=x), ("id",)),
    Refused("message", lambda f, m, x: f.assert_statuses(x, "sent"), ("id",)),
    Refused("message", lambda f, m, x: f.explain(x), ("id",)),
    Refused("id", lambda f, m, x: f.message(x), (None,), ("",)),
    Refused("status", lambda f, m, x: f.assert_statuses(m, x), (["sent"],), ("seen", "delivred")),
    Refused("method", lambda f, m, x: f.assert_requested(x, "/x"), (1,), ("",)),
    Refused("path", lambda f, m, x: f.assert_requested("GET", x), (1,), ("",)),
    Refused("times", lambda f, m, x: f.assert_requested("GET", "/x", times=x), INTS, (-1,)),
    Refused("snapshot", lambda f, m, x: f.assert_idempotent(x), (1,)),
    Refused("snapshot", lambda f, m, x: f.assert_order_independent(x), ([],)),
    Refused("predicate", lambda f, m, x: f.wait_until(x), (None, True, lambda one: one)),
    Refused("timeout", lambda f, m, x: f.wait_until(list, timeout=x), LENGTH, (0, -1, math.nan)),
    # The clock
    Refused("move_to", lambda f, m, x: f.clock.move_to(x), (1,), ("0001-01-01T00:00:00+14:00", "")),
    Refused(
        "move_to",
        lambda f, m, x: f.clock.move_to(x),
        (),
        (
            datetime(2026, 1, 1),
            datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
        ),
    ),
    Refused("advance", lambda f, m, x: f.clock.advance(days=x), ("5",), (math.nan, math.inf, 1e12)),
    Refused("months", lambda f, m, x: f.clock.advance(months=x), (1,)),
    Refused("edge", lambda f, m, x: f.clock.advance_to(x, m), ("session", edges("drop"))),
    Refused("message", lambda f, m, x: f.clock.advance_to(edges("drop")[0], x), ("id",)),
    Refused("edges", lambda f, m, x: edges(), (None,)),
    Refused("edge", lambda f, m, x: edges(x), (), ("end", 1, LONG)),
    Refused("edge", lambda f, m, x: Edge(x, timedelta(0)), (), ("end",)),
    Refused("offset", lambda f, m, x: Edge("drop", x), (), (0, timedelta(1))),
    Refused("predicate", lambda f, m, x: f.clock.run_until(x, limit=1), (True, Silent())),
    Refused(
        "predicate",
        lambda f, m, x: f.clock.run_until(x, limit=1),
        (asgi_app, AsgiApp(), partial(asgi_app)),
    ),
    Refused("predicate", lambda f, m, x: f.clock.run_until(lambda one: x, limit=1), (1,)),
    Refused("limit", lambda f, m, x: f.clock.run_until(list, limit=x), LENGTH, (-1, math.nan)),
    # Endpoints and routes
    Refused("target", lambda f, m, x: f.webhooks.connect(), (None,)),
    Refused("target", lambda f, m, x: f.webhooks.connect(URL, wsgi=wsgi_app), (None,)),
    Refused("handler", lambda f, m, x: f.webhooks.connect(Flask("x")), (None,)),
    Refused("asgi", lambda f, m, x: f.webhooks.connect(wsgi=x), (asgi_app, AsgiApp())),
    Refused("wsgi", lambda f, m, x: f.webhooks.connect(asgi=x), (Flask("x"),)),
    Refused("asgi", lambda f, m, x: f.webhooks.connect(app=x), (1,)),
    Refused("wsgi", lambda f, m, x: f.webhooks.connect(wsgi=x), ("app", lambda request: None)),
    Refused("asgi", lambda f, m, x: f.webhooks.connect(asgi=x), (1, lambda request: None)),
    Refused("handler", lambda f, m, x: f.webhooks.connect(handler=x), ({}, lambda: None)),
    Refused("path", lambda f, m, x: f.webhooks.connect(URL, path="/x"), (None,)),
    Refused("client", lambda f, m, x: f.webhooks.connect(URL, client=("::1", 1)), (None,)),
    Refused("url", lambda f, m, x: f.webhooks.connect(x), (1,), ("", "127.0.0.1:1", "ftp://x/")),
    Refused(
        "raise_exceptions", lambda f, m, x: f.webhooks.connect(URL, raise_exceptions=x), (1, None)
    ),
    Refused("events", lambda f, m, x: f.webhooks.connect(URL, events=x), (1, "a.b", [1]), ([""],)),
    Refused("headers", lambda f, m, x: f.webhooks.connect(URL, headers=x), ([("A", "b")],)),
    Refused("headers", lambda f, m, x: f.webhooks.connect(URL, headers=x), ({"A": 1}, {1: "a"})),
    Refused("A", lambda f, m, x: f.webhooks.connect(URL, headers={"A": x}), (), ("b\r\nC: d", "Ω")),
    Refused("A B", lambda f, m, x: f.webhooks.connect(URL, headers={"A B": x}), (), ("c",)),
    Refused(
        "Content-Length",
        lambda f, m, x: f.webhooks.connect(URL, headers={"Content-Length": x}),
        (),
        ("3",),
    ),
    Refused("signer", lambda f, m, x: f.webhooks.connect(URL, signer=x), ("s", lambda: None)),
    Refused("path", lambda f, m, x: f.route(x)(print), (1,), ("v2/messages", "/v2/messages?a=1")),
    Refused("methods", lambda f, m, x: f.route("/x", x)(print), ("POST", [1]), ([],)),
    Refused("service", lambda f, m, x: f.route("/v2/balance", [x])(print), (), ("GET", "head")),
    Refused("route", lambda f, m, x: f.route("/x")(x), ("x", asgi_app)),
    Refused("path", lambda f, m, x: f.webhooks.connect(wsgi=print, path=x), (1,), ("hooks", "/ü")),
    Refused("client", lambda f, m, x: f.webhooks.connect(asgi=print, client=x), ("::1",)),
    # Webhooks that go wrong, and events that should not come
    Refused("duration", lambda f, m, x: f.webhooks.delay(x), LENGTH, (0, *OUT_OF_LENGTHS)),
    Refused("change", lambda f, m, x: f.webhooks.tamper(x), (b"body", lambda: b"")),
    Refused("signer", lambda f, m, x: f.webhooks.sign(x), (None, "s", lambda request, secret: {})),
    Refused("seed", lambda f, m, x: f.webhooks.chaos(seed=x, refuse=1), (None, True), (HALF, HUGE)),
    Refused("message", lambda f, m, x: f.webhooks.emit(x, "sent"), ("id",)),
    Refused("status", lambda f, m, x: f.webhooks.emit(m, x), (1,), ("",)),
    Refused("raw", lambda f, m, x: f.webhooks.emit(m, "read", raw=x), (1,), (HALF,)),
    Refused("raw", lambda f, m, x: f.webhooks.emit(m, "read", raw="{", changes=x), (), ({"x": 1},)),
    Refused("raw", lambda f, m, x: f.webhooks.emit(m, "read", raw="{", remove=x), (), (["x"],)),
    Refused(
        "remove",
        lambda f, m, x: f.webhooks.emit(m, "read", remove=x),
        (1, "status", [1]),
        ([LONG],),
    ),
    Refused("changes", lambda f, m, x: f.webhooks.emit(m, "sent", changes=x), (["status"],)),
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
    Refused("key", lambda f, m, x: f.webhooks.emit_event("a.b", key=x), (1,), ("", "createTime")),
    Refused("id", lambda f, m, x: f.webhooks.emit_event("a.b", id=x), (1,), ("",)),
    Refused("body", lambda f, m, x: f.webhooks.emit_event("a.b", body=x), (1,), (HALF,)),
    Refused("body", lambda f, m, x: f.webhooks.emit_event("a.b", {}, body=x), (), ("x",)),
    Refused("body", lambda f, m, x: f.webhooks.emit_event("a.b", key="k", body=x), (), ("x",)),
    Refused("path", lambda f, m, x: f.send_endpoint(x), (1,), ("v2",)),
    Refused("echo", lambda f, m, x: f.send_endpoint(echo=x), ("externalId", [1]), (["status"],)),
    Refused("parse", lambda f, m, x: f.send_endpoint(parse=x), (1, awaited)),
    Refused("reply", lambda f, m, x: f.send_endpoint(reply=x), (1, awaited)),
    Refused("parse", lambda f, m, x: f.send_endpoint(echo=["x"], parse=x), (dict,)),
    Refused("body", lambda f, m, x: f.api.fail(body=x), (1,), (HALF,)),
    Refused("event", lambda f, m, x: f.webhooks.redeliver(x), ("evt",)),
    Refused("path", lambda f, m, x: f.webhooks.replay(x), (1,), ("\ud800", "a\0b")),
    # Explorations and scripts
    Refused("start", lambda f, m, x: Explorer(start=x), (1,), (datetime(2026, 1, 1),)),
    Refused("progress", lambda f, m, x: Explorer(progress=x), (1, lambda: None)),
    Refused("seconds", lambda f, m, x: explore(print, seconds=x), (Silent(),), (0,)),
    Refused("depth", lambda f, m, x: explore(print, depth=x), ("1",), (-1, HUGE)),
    Refused("limit", lambda f, m, x: explore(print, limit=x), ("1",), (0, HUGE)),
    Refused("only", lambda f, m, x: explore(print, only=x), (1,), (["(" * 100_000],)),
    Refused("deviations", lambda f, m, x: explore(print, deviations=x), (1,), ([LONG],)),
    Refused("steps", lambda f, m, x: Script(x), (None, "send_text()", [], (1,))),
    Refused("most", lambda f, m, x: scripts(most=x), ("1",), (HUGE,)),
    # Where something is made
    Refused("config", lambda f, m, x: ChatFake(x), (True, 1, "x", {})),
    Refused("header", lambda f, m, x: HmacSigner("hush", header=x), (1,), ("",)),
    Refused("details", lambda f, m, x: PlatformError("m", "t", "1", "x", details=x), (1,)),
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
    before = visible_state(fake)

    with pytest.raises(error) as caught:
        one.call(fake, message, value)

    assert error is caught.type
    assert one.name in str(caught.value)
    assert 700 > len(str(caught.value))
    assert before == visible_state(fake)


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
        *(({"status": value}, ValueError) for value in ("", "delivred", "Delivered", "fail")),
        ({"message": "an id"}, TypeError),
        ({"endpoint": URL}, ValueError),
        ({"type": 1}, TypeError),
        ({"tims": 1}, TypeError),
    ],
)
def test_every_kind_of_fault_refuses_a_bad_filter(
    fake: ChatFake, kind: str, options: dict[str, Any], error: type[Exception]
) -> None:
    before = visible_state(fake)

    with pytest.raises(error) as caught:
        set_up_fault(fake, kind, **options)

    assert error is caught.type
    assert next(iter(options)) in str(caught.value)
    assert before == visible_state(fake)


def test_a_status_of_the_teams_own_is_taken(fake: ChatFake) -> None:
    message = fake.send_text()
    for status in ("seen", "unread", "deleted", "re"):
        with fake.webhooks.drop(status=status):
            fake.webhooks.emit(message, status)
    fake.webhooks.emit(message, "Read")
    with fake.webhooks.drop(status="Read"):  # it is one, for an event has it
        fake.webhooks.emit(message, "Read")

    fake.assert_statuses(message, "sent", "seen", "unread", "deleted", "re", "Read", "Read")


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
    "balance_amount": ((), ("all",)),
    "on_insufficient_balance": ((), (True,)),
    "mode": ((), ("asyncio",)),
    "naming": (({"event_type": "x"},), ()),
    "webhook_url": ((1,), ("",)),
    "seed": ((1,), ("",)),
    "extra": ((1, lambda _: {}, awaited), ()),
    "signer": ((1, lambda: None), ()),
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
    ],
)
def test_a_bad_name_is_refused(name: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=rf"Naming\.{name}"):
        Naming(**{name: wrong})
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


@pytest.mark.parametrize(
    "use",
    [
        lambda fake, message: fake.assert_charged("0", message=message),
        lambda fake, message: fake.assert_statuses(message, "sent"),
        lambda fake, message: fake.explain(message),
        lambda fake, message: fake.send_text(conversation=message.conversation),
        lambda fake, message: fake.submit_text(conversation=message.conversation),
        lambda fake, message: fake.webhooks.emit(message, "sent"),
        lambda fake, message: fake.webhooks.drop(message=message),
    ],
)
def test_a_handle_of_another_fake(fake: ChatFake, use: Any) -> None:
    with ChatFake() as other:
        stranger = other.send_text()
        before, others = visible_state(fake), visible_state(other)

        with pytest.raises(ValueError, match="belongs to another fake"):
            use(fake, stranger)
        with pytest.raises(ValueError, match="connected to this fake"):
            fake.webhooks.drop(endpoint=other.webhooks.receiver().endpoint)

        assert before == visible_state(fake)
        assert others[:5] == visible_state(other)[:5]


@pytest.mark.parametrize(
    "use",
    [
        lambda fake, message, submission: fake.send_text(),
        lambda fake, message, submission: fake.submit_text(),
        lambda fake, message, submission: fake.recipient("+1"),
        lambda fake, message, submission: message.deliver(),
        lambda fake, message, submission: submission.accept(),
        lambda fake, message, submission: submission.reject(),
        lambda fake, message, submission: fake.top_up(1),
        lambda fake, message, submission: fake.settle(),
        lambda fake, message, submission: fake.reset(),
        lambda fake, message, submission: fake.rotate_key(),
        lambda fake, message, submission: fake.base_url,
        lambda fake, message, submission: fake.http,
        lambda fake, message, submission: fake.route("/x"),
        lambda fake, message, submission: fake.clock.advance(1),
        lambda fake, message, submission: fake.webhooks.connect(handler=print),
        lambda fake, message, submission: fake.webhooks.drop(),
        lambda fake, message, submission: fake.webhooks.emit(message, "sent"),
        lambda fake, message, submission: fake.webhooks.paused(),
        lambda fake, message, submission: fake.api.fail(),
    ],
)
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
        for thing, name in (
            (fake.ledger[0], "amount"),
            (message, "status"),
            (fake.balance, "held"),
        ):
            with pytest.raises(AttributeError):
                setattr(thing, name, "x")
