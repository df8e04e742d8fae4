"""What is refused: each argument by its name, with nothing changed.

Whole sentences are in `test_refusal_sentences`; amounts, lengths and what else has rules of its own
are beside them.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import pytest
from flask import Flask

from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    Clock,
    ClosedError,
    Edge,
    HmacSigner,
    Message,
    Naming,
    PlatformError,
    Submission,
    Webhooks,
    edges,
)
from pytest_chatfake.http_api.account_api import AccountApi

from .fakes import fake_with_receiver, frozen_fake, unchanged, visible_state

URL = "http://127.0.0.1:9/"

#: An integer that Python does not write out, a text that nobody reads, half of a letter.
HUGE = 10**6_000
LONG = "x" * 100_000
HALF = "cut \ud800"


class Silent:
    """Something that can't be shown."""

    def __repr__(self):
        raise RuntimeError


#: What no argument takes, and what can hardly be cited.
HARD_TO_CITE = ([LONG, Silent()], [HUGE, Silent()], [Silent()])


def nested():
    value = []
    for _ in range(10_000):
        value = [value]
    return value


async def awaited(*_):
    raise NotImplementedError


async def asgi_app(scope, receive, send):
    raise NotImplementedError


class AsgiApp:
    async def __call__(self, scope, receive, send):
        raise NotImplementedError


def wsgi_app(environ, start_response):
    raise NotImplementedError


INTS = (True, 1.5, "2")
AMOUNT = (0.05, math.nan, True, b"1")
OUT_OF_AMOUNTS = ("five", "", " 1", "1_000", "1,5", "\u0661", "NaN", "sNaN", "Infinity", -1)
OUT_OF_AMOUNTS += ("1" * 29, "1E+41", "1E-41", Decimal("-Infinity"), Decimal("-0.5"))
LENGTH = ("24h", True)
OUT_OF_LENGTHS = (-1, math.nan, math.inf, timedelta.max, 10**12)
SPAN = (*LENGTH, (5,), [0] * 1000, lambda: 60, lambda one, two: 60, awaited)
APP = (1, "app", lambda request: None)
CHOICE = (1, True, b"sync")

#: By annotation, with or without None: values of another kind.
WRONG_KIND = {
    "bool": (1, "no", [], Silent()),
    "bool | PlatformError": ("x", 1),
    "int": INTS,
    "int | str": (1.5, True),
    "float": ("0.1", True),
    "str": (1, b"x"),
    "str | bytes": (1,),
    "str | bytes | Mapping[str, object]": (1,),
    "str | PathLike[str]": (1,),
    "str | Recipient": (1.5,),
    "datetime | str": (1,),
    "timedelta | float": LENGTH,
    "tuple[str, int]": ("::1", ("::1",)),
    "Money": AMOUNT,
    "Price": (*AMOUNT, int, bool, lambda: "1", awaited),
    "Span": SPAN,
    "Conversation | str": (1, b"c0ffee"),
    "Edge": ("session",),
    "Endpoint": (URL,),
    "Event": ("evt",),
    "Message": ("id",),
    "Naming": ({"event_type": "x"},),
    "Iterable[str]": ("a.b", 1, [1]),
    "Iterable[timedelta | float]": (1, "1"),
    "Mapping[str, object]": (["a"],),
    "Mapping[str, object] | list[Any]": ("url",),
    "Mapping[str, object] | str | bytes": (1,),
    "Mapping[str, str]": ([("A", "b")], {"A": 1}, {1: "a"}),
    "ChargePer": CHOICE,
    "Mode": CHOICE,
    "Callable[[], Any]": (None, True, lambda message: message),
    "Callable[[], Callable[..., Any]]": (1, awaited),
    "Callable[[], object]": (True, Silent(), asgi_app, AsgiApp(), partial(awaited)),
    "Callable[[Message, Random], str | None]": ("STOP", lambda message: "STOP", awaited),
    "Callable[[WebhookRequest], object]": ({}, lambda: None),
    "Callable[[bytes], bytes]": (b"body", lambda: b"", awaited),
    "Callable[..., Any]": APP,
    "Callable[..., Any] | str": (1,),
    "Extra": (1, lambda _: {}, awaited),
    "Form": (1, lambda: None, {}, "a=1", awaited),
    "Parse": (1, awaited),
    "Reply": (1, awaited),
    "Shape": (1, lambda: None, {}, awaited),
    "Signer": (1, "s", HmacSigner, lambda: None, lambda request, secret: {}, awaited),
    "Snapshot": (0, 1, [], lambda app: {}),
}

#: By an argument's name, with that of its class or verb where others take the value: what is out of
#: range.
OUT_OF_RANGE = {
    "AccountApi.body": (HALF,),
    "AccountApi.code": ("",),
    "AccountApi.duration": (0, 60.5, *OUT_OF_LENGTHS),
    "AccountApi.length": (-1,),
    "AccountApi.message": (),
    "AccountApi.method": ("", "POST /x"),
    "AccountApi.path": (
        *("", "v2/messages", "http://localhost/v2/messages", "/v2/messages?a=1"),
        *("/v2/messages/<", "/v2/messages/<no:id>", "/v2/<id>/<id>"),
    ),
    "AccountApi.retry_after": (0, -1, math.nan),
    "AccountApi.status": (199, 600),
    "AccountApi.times": (0, -1),
    "Webhooks.status": ("",),
    "Webhooks.times": (0, -1),
    "address": ("",),
    "amount": (Decimal("-sNaN"), Decimal("NaN"), -HUGE),
    "top_up.amount": (*OUT_OF_AMOUNTS, 0),
    "available": OUT_OF_AMOUNTS,
    "code": ("999", ""),
    "conversation": ("xyz", "", "c0 ffee"),
    "deliver_after": (*OUT_OF_LENGTHS, (-1, 5)),
    "delta": OUT_OF_LENGTHS,
    "devices": (0, -1, 10_001, HUGE),
    "disable_after": (0,),
    "concurrently.by": (-1,),
    "delay": (0.5,),
    "delay.duration": (0, *OUT_OF_LENGTHS),
    "duplicate": (math.nan,),
    "duplicate.after": (-1,),
    "echo": (["status"],),
    "emit_event.body": (HALF,),
    "events": ([""],),
    "fail.message": ("",),
    "fail_share": (1.01, -0.1, math.nan),
    "id": ("",),
    "idempotency_header": ("", "A B"),
    "key": ("", "createTime"),
    "limit": (-1, math.nan),
    "lose_response": (-0.1,),
    "origin_type": ("",),
    "pause": (0,),
    "price": OUT_OF_AMOUNTS,
    "raw": (HALF,),
    "read_after": ((5, 1),),
    "refuse": (1.1,),
    "remove": ([LONG],),
    "reorder.by": (0,),
    "replay.path": ("\ud800", "a\0b"),
    "seed": (HUGE, HALF),
    "send_endpoint.path": ("v2",),
    "send_endpoint.status": ("",),
    "start": (0,),
    "timeout": (0, -1, math.nan),
    "times": (-1,),
    "timing": ("soon",),
    "to": ("",),
}

#: What a call has beside the argument: by its name, or before all others. Else it is a message.
NEEDED = {"amount": 1, "method": "GET", "path": "/x", "limit": 1, "status": "read", "seed": 1}
NEEDED |= {"address": "+1", "type": "image", "content": {}, "predicate": list}
NEEDED |= {"edge": edges("drop")[0], "duration": 1, "retry_after": 1, "signer": HmacSigner("s")}
NEEDED |= {"by": 1}
FIRST = {"connect": [URL], "emit_event": ["a.b"]}

#: The kinds of arguments that may be given by name.
BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}

VERBS_OF = {
    ChatFake: lambda f, m: f,
    Message: lambda f, m: m,
    Submission: lambda f, m: f.submit_text(),
    Clock: lambda f, m: f.clock,
    Webhooks: lambda f, m: f.webhooks,
    AccountApi: lambda f, m: f.api,
}

#: Verbs that check an argument later, or need more beside it than this: they are among the calls.
OTHERS = {"expect_charge", "route", "lifespan", "move_to", "crash", "error", "rotate_secret"}


class Refused(NamedTuple):
    """What an error names, a call, values of the wrong kind and out of range."""

    name: str
    call: Callable[[ChatFake, Message, Any], object]
    wrong_kind: tuple[Any, ...] = ()
    out_of_range: tuple[Any, ...] = ()


def give(owner, verb, argument):
    """Return a call of a verb that gives a value to an argument, and to others what they need."""
    _, *others = inspect.signature(getattr(owner, verb)).parameters.values()
    needed = [
        other.name for other in others if other.default is other.empty and other.kind in BY_NAME
    ]
    if verb == "concurrently":  # without it, a block
        needed.append("by")

    def call(fake, message, value):
        given = {name: NEEDED.get(name, message) for name in needed} | {argument: value}
        return getattr(VERBS_OF[owner](fake, message), verb)(*FIRST.get(verb, ()), **given)

    return call


def wrong_kinds(annotation):
    kind = annotation.removesuffix(" | None")
    return CHOICE if kind.startswith("Literal") else WRONG_KIND.get(kind, ())


def arguments_of(function):
    """Name what a verb takes by name, the filters of a fault among it, with the annotations."""
    _, *arguments = inspect.signature(function).parameters.values()
    for one in arguments:
        filters = re.fullmatch(r"Unpack\[(\w+)\]", one.annotation)
        if one.kind in BY_NAME:
            yield one.name, one.annotation
        elif filters:
            for name, given in function.__globals__[filters[1]].__annotations__.items():
                yield name, given.__forward_arg__


def each_argument_of_each_verb():
    for owner in VERBS_OF:
        for verb, function in inspect.getmembers(owner, inspect.isfunction):
            if verb.startswith("_") or verb in OTHERS:
                continue
            for name, annotation in arguments_of(function):
                keys = [f"{owner.__name__}.{name}", f"{verb}.{name}", name]
                values = next((OUT_OF_RANGE[key] for key in keys if key in OUT_OF_RANGE), ())
                yield Refused(name, give(owner, verb, name), wrong_kinds(annotation), values)


#: Values that stand inside of an argument, or beside others, or for one with another name.
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
    Refused("hours", lambda f, m, x: m.after(hours=x), ("5",), (math.nan,)),
    # People
    Refused("reply_after", lambda f, m, x: f.autopilot(reply_after=x), (5, None)),
    Refused(
        "reply_after",
        lambda f, m, x: f.autopilot(replies=lambda message, random: None, reply_after=x),
        ("soon", None),
        ((5, 1),),
    ),
    # Money and expectations
    Refused("amount", lambda f, m, x: f.expect_charge(x).__enter__(), AMOUNT, OUT_OF_AMOUNTS),
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
    Refused("months", lambda f, m, x: f.clock.advance(months=x), (1,)),
    Refused("edges", lambda f, m, x: edges(), (None,)),
    Refused("edge", lambda f, m, x: edges(x), (1, None), ("end", LONG)),
    Refused("edge", lambda f, m, x: Edge(x, timedelta(0)), (1,), ("end",)),
    Refused("offset", lambda f, m, x: Edge("drop", x), (0,), (timedelta(1),)),
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
    Refused("parse", lambda f, m, x: f.send_endpoint(echo=["x"], parse=x), (dict,)),
    Refused("status", lambda f, m, x: f.send_endpoint(reply=dict, status=x), ("accepted",)),
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
    Refused(
        "chatMessage",
        lambda f, m, x: f.webhooks.emit(m, "read", remove=["event.chatMessage", x]),
        (),
        ("status",),
    ),
    Refused("type", lambda f, m, x: f.webhooks.emit_event(x), (1,), ("", ".")),
    Refused("key", lambda f, m, x: f.webhooks.emit_event(x), (), ("id",)),
    Refused("resource", lambda f, m, x: f.webhooks.emit_event("a.b", x), ([1],)),
    Refused("JSON", lambda f, m, x: f.webhooks.emit_event("a.b", {"x": x}), (object(),)),
    Refused("body", lambda f, m, x: f.webhooks.emit_event("a.b", {}, body=x), (), ("x",)),
    Refused("body", lambda f, m, x: f.webhooks.emit_event("a.b", key="k", body=x), (), ("x",)),
    Refused("seed", lambda f, m, x: f.autopilot(seed=x), (True, b"1"), ("\ud800", 1 << 20_000)),
    # What people write
    Refused("body", lambda f, m, x: f.recipient("+1").writes(x), (1, None, b"x"), ("",)),
    Refused("type", lambda f, m, x: f.recipient("+1").sends(x, {}), (1,), ("", "from", "to", "ü")),
    # Where something is made
    Refused("header", lambda f, m, x: HmacSigner("hush", header=x), (1,), ("",)),
    Refused("details", lambda f, m, x: PlatformError("m", "t", "1", "x", details=x), (1,)),
    Refused("config", lambda f, m, x: ChatFake(x), (True, 1, "x", {})),
]


REFUSED = [*each_argument_of_each_verb(), *CALLS]


@pytest.fixture
def fake():
    with fake_with_receiver() as (fake, _):
        yield fake


def refuse(fake, one):
    """Expect that an argument is refused by its name, readably, and that nothing is changed."""
    message = fake.send_text()
    for error, values in ((TypeError, one.wrong_kind), (ValueError, one.out_of_range)):
        for place, value in enumerate(values):
            with unchanged(fake), pytest.raises(error) as caught:
                one.call(fake, message, value)

            case = f"value {place} of those for a {error.__name__}"
            assert error is caught.type, case
            assert one.name in str(caught.value), case
            assert len(str(caught.value)) < 700, case
    for value in HARD_TO_CITE:
        with pytest.raises((TypeError, ValueError)) as caught:
            one.call(fake, message, value)

        assert len(str(caught.value)) < 700


@pytest.mark.parametrize("one", REFUSED, ids=[f"{one.name}-{n}" for n, one in enumerate(REFUSED)])
def test_each_bad_argument_is_refused_by_its_name_and_changes_nothing(fake, one):
    refuse(fake, one)


def test_a_status_of_the_teams_own_is_taken(fake):
    message = fake.send_text()
    for status in ("seen", "unread", "deleted", "Read"):
        with fake.webhooks.drop(status=status):
            fake.webhooks.emit(message, status)

    fake.assert_statuses(message, "sent", "seen", "unread", "deleted", "Read")


#: By field of the configuration: values that are out of its range.
FIELDS = {
    "api_key": ("", "a b", "schlüssel"),
    "opening_balance": OUT_OF_AMOUNTS,
    "currency": ("usd", "US"),
    "price": OUT_OF_AMOUNTS,
    "origin_type": ("",),
    "conversation_type": ("",),
    "insufficient_balance_code": ("",),
    "conversation_length": (0, *OUT_OF_LENGTHS),
    "drop_after": (timedelta(0), timedelta(days=36_001), *OUT_OF_LENGTHS),
    "timeout": (0, *OUT_OF_LENGTHS),
    "retry_after": ([-1], [1, timedelta.max]),
    "event_ids": ("per message",),
    "charge_per": ("messages",),
    "balance_amount": ("all",),
    "on_insufficient_balance": ("refuse",),
    "mode": ("asyncio",),
    "webhook_url": ("",),
    "seed": ("",),
    "omit": (["id"], ["status"], ["bizTyp"]),
    "tick": (-1, timedelta(days=1, microseconds=1), math.nan),
    "sender": ("",),
}


@pytest.mark.parametrize("field", dataclasses.fields(ChatFakeConfig), ids=lambda field: field.name)
def test_a_bad_value_in_the_configuration_is_refused_by_its_name(field):
    wrong: list[tuple[type[Exception], Any]]
    wrong = [(TypeError, value) for value in wrong_kinds(str(field.type))]
    wrong += [(ValueError, value) for value in FIELDS.get(field.name, ())]
    assert wrong
    for error, value in wrong:
        for make in (ChatFakeConfig, ChatFake, ChatFakeConfig().replace):
            with pytest.raises(error, match=field.name) as caught:
                make(**{field.name: value})
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
def test_a_bad_name_is_refused(name, wrong):
    with pytest.raises(ValueError, match=rf"Naming\.{name}"):
        Naming(**{"to_key": "who", name: wrong})
    with pytest.raises(TypeError, match=rf"Naming\.{name}"):
        Naming(**{name: 1})


def test_a_webhook_url_that_is_none_leaves_no_fake_behind():
    for _ in range(2):  # the second time, the key would be taken
        with pytest.raises(ValueError, match="nonsense"):
            ChatFake(api_key="only-once-9999", webhook_url="nonsense")


def test_two_living_fakes_with_one_key_are_refused_by_its_last_characters():
    for _ in range(2):
        with ChatFake(api_key="secret-key-1234"):
            with pytest.raises(ValueError, match=r"key \.\.\.1234"):
                ChatFake(api_key="secret-key-1234")


def test_nothing_negative_is_the_same_as_nothing(fake):
    fake.assert_held(Decimal("-0"))
    fake.assert_held("-0")


# -- the wrong fake, and one that is closed --------------------------------------------------------


def test_a_handle_of_another_fake(fake):
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


def test_a_fake_that_is_closed():
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
    assert message.status == "sent"
    assert repr(fake).startswith("<ChatFake closed, 1 message: ")


def test_what_happened_is_read_only():
    with frozen_fake() as fake:
        message = fake.send_text()

        for view in (fake.messages, fake.events, fake.ledger, fake.conversations, message.events):
            with pytest.raises(TypeError):
                view[0] = None
            assert not hasattr(view, "append")
        for thing, name in ((message, "status"), (fake.balance, "held")):
            with pytest.raises(AttributeError):
                setattr(thing, name, "x")
