"""What each argument of each public call refuses, and the calls that try it.

A table says what no argument of a kind takes, and what one of a name does not take.
"""

from __future__ import annotations

import inspect
import math
import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from flask import Flask

import pytest_chatfake
from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    Clock,
    Edge,
    HmacSigner,
    Message,
    Naming,
    PlatformError,
    Receiver,
    Recipient,
    StandardWebhooksSigner,
    Submission,
    Webhooks,
    edges,
)
from pytest_chatfake.base.arguments import cited
from pytest_chatfake.http_api.account_api import AccountApi

from .fakes import NOON, visible_state

URL = "http://127.0.0.1:9/"
NAMING = Naming(to_key="to", from_key="from")

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


def returning(value):
    return lambda *_: value


# -- what is refused -------------------------------------------------------------------------------

AMOUNT = (0.05, math.nan, True, b"1")
NO_AMOUNTS = ("five", "", " 1", "1_000", "1,5", "\u0661", "NaN", "sNaN", "Infinity", -HUGE)
NO_AMOUNTS += ("1" * 29, "1E+41", "1E-41", *map(Decimal, ("-Infinity", "-sNaN", "NaN")))
NO_PRICES = (*NO_AMOUNTS, -1, Decimal("-0.5"))
LENGTH = ("24h", True)
NO_LENGTHS = (-1, math.nan, math.inf, timedelta.max, 10**12)
CHOICE = (1, True, b"sync")
NOT_JSON = ({"a": {1}}, {"a": object()}, {1: 1})
SECRETS = ("t", 1)

#: By annotation, with or without None, or by name, with that of its class or call before it where
#: others take the value: values of another kind. None is one of them where nobody says so.
WRONG_KIND = {
    "bool": (1, "no", [], Silent()),
    "bool | PlatformError": ("x", 1),
    "int": (True, 1.5, "2"),
    "int | str": (1.5, True, b"1"),
    "fail_share": (True,),
    "float": ("0.1",),
    "hours": ("0.1", True),
    "str": (1, b"x"),
    "str | bytes": (1,),
    "Body": (1, *NOT_JSON),
    "str | PathLike[str]": (1,),
    "str | PathFunction": (1, lambda: "/", awaited),
    "str | KeyFunction": (1, lambda: "key", awaited),
    "str | Recipient": (1.5,),
    "datetime | str": (1,),
    "timedelta": (0,),
    "timedelta | float": LENGTH,
    "timedelta | float | str": (b"1", [1], True),
    "tuple[str, int]": ("::1", ("::1",), (3_405_803_785, 443), ("::1", "443")),
    "Money": AMOUNT,
    "Price": (*AMOUNT, int, bool, lambda: "1", awaited),
    "Span": (*LENGTH, (5,), [0] * 1000, lambda: 60, lambda one, two: 60, awaited),
    "Conversation | str": (1, b"c0ffee"),
    "Delivered": ("yes", 1.0, [1], (True,)),
    "Edge": ("session",),
    "EdgeKind": (1,),
    "Endpoint": (URL,),
    "Event": ("evt",),
    "Message": ("id",),
    "Naming": ({"event_type": "x"},),
    "Iterable[str]": ("a.b", 1, [1]),
    "Iterable[timedelta | float]": (1, "1"),
    "Mapping[str, object]": (["a"], *NOT_JSON),
    "Mapping[str, object] | list[Any]": ("url", *NOT_JSON),
    "Mapping[str, object] | str | bytes": (1, [1], *NOT_JSON),
    "Mapping[str, str]": ([("A", "b")], {"A": 1}, {"A": b"1"}, {1: "a"}),
    "Sequence[str | bytes]": (*SECRETS, []),
    "ChargePer": CHOICE,
    "ChatFakeConfig": (True, 1, "x", {}),
    "Literal": CHOICE,
    "Mode": CHOICE,
    "Callable[[], Any]": (True, lambda message: message),
    "Callable[[], Callable[..., Any]]": (1, awaited),
    "Callable[[], object]": (
        True,
        Silent(),
        lambda one: None,
        asgi_app,
        AsgiApp(),
        partial(awaited),
    ),
    "Callable[[Message, Random], str | None]": ("STOP", lambda message: "STOP", awaited),
    "Callable[[WebhookRequest], object]": ({}, lambda: None),
    "Callable[[bytes], bytes]": (b"body", lambda: b"", awaited),
    "Callable[..., Any]": (1, "app", lambda request: None),
    "Extra": (1, lambda _: {}, awaited, *NOT_JSON),
    "Form": (1, lambda: None, {}, "a=1", awaited),
    "Parse": (1, awaited),
    "ReplyFunction": (1, awaited),
    "Shape": (1, lambda: None, {}, awaited),
    "Signer": (1, "s", HmacSigner, lambda: None, lambda request, secret: {}, awaited),
    "Snapshot": (0, 1, [], lambda app: {}),
    "app": (Flask("x"),),
    "asgi": (Flask("x"),),
    "handler": (Flask("x"),),
    "send_text.price": [returning(price) for price in (*AMOUNT, None)],
    "statuses": (["sent"],),
    "wsgi": (asgi_app, AsgiApp()),
}

NO_PATHS = ("", "hooks/chat", "http://h/", "/a#top", "/a b", "/café?x=ü", "/a\n", "/caf\udce9")
NO_NUMBERS = [{"a": value} for value in (math.inf, HUGE, nested(), Decimal("inf"))]
NO_TYPES = ("", "a b", "status", "to", "chatApiError")
NO_RULES = ("", "v2/messages", "http://localhost/v2/messages", "/v2/messages?a=1")
NO_RULES += ("/v2/messages/<", "/v2/messages/<no:id>", "/v2/<id>/<id>")

#: By the same keys: what is out of range.
OUT_OF_RANGE = {
    "Extra": NO_NUMBERS,
    "Mapping[str, object]": NO_NUMBERS,
    "Mapping[str, object] | list[Any]": NO_NUMBERS,
    "Mapping[str, object] | str | bytes": NO_NUMBERS,
    "Body": NO_NUMBERS,
    "Money": NO_AMOUNTS,
    "Price": NO_PRICES,
    "Span": (*NO_LENGTHS, (-1, 5), (5, 1)),
    "int | str": (HUGE, HALF),
    "Delivered": (0, 10_001, (1, 0)),
    "Iterable[timedelta | float]": ([-1], [1, timedelta.max]),
    "timedelta | float": (math.nan, math.inf),
    "timedelta | float | str": (math.nan, math.inf),
    "AccountApi.body": (HALF,),
    "AccountApi.code": ("",),
    "AccountApi.length": (-1,),
    "AccountApi.message": (),
    "AccountApi.method": ("", "POST /x"),
    "AccountApi.path": NO_RULES,
    "AccountApi.retry_after": (0, -1, "tomorrow", "Wed, 21 Oct 2015 07:28:00 GMT"),
    "AccountApi.status": (199, 600),
    "AccountApi.times": (0,),
    "ChatFakeConfig.seed": ("",),
    "Edge.offset": (timedelta(1),),
    "HmacSigner.content": ("{id}{body}", "{body}\ud800"),
    "HmacSigner.offset": (10**400,),
    "Message.code": ("", "999"),
    "Message.delta": NO_LENGTHS,
    "Message.message": ("",),
    **{f"PlatformError.{name}": () for name in ("message", "type", "code", "trace_id", "details")},
    "Receiver.status": (199, 600),
    "Receiver.times": (0, HUGE),
    "StandardWebhooksSigner.secret": ("whsec_", "whsec_\udc00", "aGVs bG8=", "whsec_ü"),
    "Submission.code": ("", "999"),
    "Submission.message": ("",),
    "Webhooks.pause": (0, *NO_LENGTHS),
    "Webhooks.status": ("",),
    "Webhooks.times": (0,),
    "Webhooks.type": ("",),
    "address": ("",),
    "assert_requested.method": ("",),
    "assert_requested.path": ("",),
    "api_key": ("", "a b", "schlüssel"),
    "api_key_header": (
        *("", "X-API-Key", "{api_key}", "X-API-Key: secret", "X: {api_key} {api_key}"),
        *(": {api_key}", "X Y: {api_key}", "X: {api_key}☕"),
    ),
    "available": (-1, Decimal("-0.5")),
    "balance_amount": ("all",),
    "biz_type": ('a"b',),
    "body": (),
    "by": (-1,),
    "changes": ({"no.such": 1}, {"currency.x": 1}),
    "charge_per": ("messages",),
    "client": (("gateway.example", 443), ("", 443), ("203.0.113.9", 0), ("203.0.113.9", 65_536)),
    "connect.path": NO_PATHS,
    "conversation": ("xyz", "", "c0 ffee"),
    "conversation_length": (0, *NO_LENGTHS),
    "conversation_type": ("",),
    "currency": ("usd", "US"),
    "delay.duration": (0, *NO_LENGTHS),
    "devices": (0, -1, 10_001, HUGE),
    "digest": ("shake_128",),
    "disable_after": (0,),
    "drop_after": (0, timedelta(days=36_001), *NO_LENGTHS),
    "duplicate.after": (-1,),
    "echo": (["status"],),
    "emit_event.body": (HALF,),
    "emit_event.type": (".",),
    "encoding": ("HEX",),
    "error_key": ("chatMessageId",),
    "event_ids": ("per message",),
    "event_type": ("",),
    "events": ([""],),
    "extra": [{key: "1"} for key in ("status", "currency", "errorCode", "bizType", "to", "from")],
    "fail_share": (1.01, -0.1, math.nan),
    "format": (
        *("t={timestamp}", "{signature}{id}", "{signature", "{signature!r}", "{signature:>99}"),
        *("{signature}\nX: Y", "{signature}你", "{signature}"),
    ),
    "from_key": ("who",),
    "header": ("", "X: Y", "Content-Length"),
    "headers": [
        *({name: "1"} for name in ("Content-Length", "transfer-encoding", "", "X Y", "X:", "X\n")),
        {"Ümlaut": "1"},
        *({"X": value} for value in ("a\nb", "a\r\nX-Injected: 1", "a\0b", "☕")),
    ],
    "hours": (math.nan, math.inf, 1e12),
    "id": ("",),
    "id_prefix": ("ü",),
    "idempotency_header": ("", "A B"),
    "insufficient_balance_code": ("",),
    "key": ("", "id", "createTime"),
    "kind": ("end", LONG),
    "kinds": ("end", LONG),
    "limit": (-1,),
    "messaging_product": ("",),
    "message_key": ("a b", "id"),
    "methods": ([],),
    "mode": ("asyncio",),
    "moment": (
        *("0001-01-01T00:00:00+14:00", "", datetime(2026, 1, 1)),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
    ),
    "omit": (["id"], ["status"], ["bizTyp"]),
    "on_insufficient_balance": ("refuse",),
    "opening_balance": NO_PRICES,
    "origin_type": ("",),
    "original_id_key": ("status",),
    "raw": (HALF,),
    "remove": ([LONG], ["event.chatMessage", "status"]),
    "replay.path": ("\ud800", "a\0b"),
    "route.path": NO_RULES,
    "secret": ("", HALF),
    "secrets": ([""],),
    "seconds": (-1, math.nan, math.inf),
    "send.type": NO_TYPES,
    "send_endpoint.path": ("v2",),
    "send_endpoint.status": ("",),
    "send_text.price": [returning(price) for price in NO_PRICES],
    "sender": ("",),
    "sends.type": ("", "from", "to", "ü"),
    "start": (0,),
    "statuses": ("seen", "delivred"),
    "submit.type": NO_TYPES,
    "timeout": (0, -1),
    "timestamp_header": ("Content-Length", "x-signature"),
    "times": (-1,),
    "timing": ("soon",),
    "tick": (-1, timedelta(days=1, microseconds=1)),
    "to": ("",),
    "to_key": ("", "a b"),
    "top_up.amount": (0, -1, Decimal("-0.5")),
    "trace_key": ("code",),
    "unknown": ("currency",),
    "url": (
        *("", "127.0.0.1:8000", "localhost:8000/hooks", "/hooks/chat", "ftp://h/", "http:///hooks"),
        *("http://h/a b", " http://h/", "http://h/\x7f", "http://h/café?x=ü", "http://h:port/"),
        *("http://h:65536/", "http://h:0/", "http://[::1/", "http://ada:secret@h/", "http://a@h/"),
        *("http://h/a#b", "http://h/a#", "http://a..b/", f"http://{'a' * 64}/", "\udfff"),
        *("http://h/caf\udce9", "http://h\ud800/", f"http://[{LONG}]"),
    ),
    "webhook_url": ("",),
    "writes.text": ("",),
}

#: What is given beside an argument, by call and argument, or by call; else what is required.
BESIDE = {
    "ChatFakeConfig": {"naming": NAMING},
    "PlatformError": {"message": "Not there"},
    "StandardWebhooksSigner.offset": {"secret": b"s"},
    "HmacSigner": {"secret": "s"},
    "HmacSigner.secrets": {},
    "Naming.from_key": {"to_key": "who"},
    "StandardWebhooksSigner": {"secret": "s"},
    "StandardWebhooksSigner.secrets": {},
    "autopilot.reply_after": {"replies": lambda message, random: None},
    "concurrently": {"by": 1},
    "connect": {"url": URL},
    "connect.asgi": {},
    "connect.client": {"asgi": asgi_app},
    "connect.handler": {},
    "connect.path": {"wsgi": wsgi_app},
    "connect.restart": {"wsgi": wsgi_app},
    "connect.wsgi": {},
    "respond": {"status": 500},
}
REQUIRED = {"address": "+1", "amount": 1, "app": asgi_app, "available": 1}
REQUIRED |= {"code": "1", "content": {}, "details": "", "duration": 1, "edge": edges("drop")[0]}
REQUIRED |= {"id": "x", "kind": "drop", "limit": 1, "method": "GET", "moment": NOON, "path": "/x"}
REQUIRED |= {"offset": timedelta(0), "predicate": list, "retry_after": 1, "seconds": 1}
REQUIRED |= {"secret": "x", "signer": HmacSigner("s"), "snapshot": dict, "status": "read"}
REQUIRED |= {"text": "Hi", "trace_id": "x", "type": "a.b"}

BODY_ALONE = {"secret": "s", "format": "{signature}", "content": "{body}"}

#: By call: what is refused as a whole, with the error, what it names, and what is given.
TOGETHER = {
    "AccountApi.fail": [
        (ValueError, "body", {"body": "x", part: "Y"}) for part in ("code", "message")
    ],
    "AccountApi.lose_response": [
        (ValueError, "reset", {"reset": True, "status": 502}),
        (ValueError, "reset", {"reset": True, "body": "x"}),
    ],
    "ChatFake": [(TypeError, "colour", {"colour": "red"}), (ValueError, "seed", {"seed": ""})],
    "HmacSigner": [
        (TypeError, "secret", {}),
        (TypeError, "secret", {"secret": "s", "secrets": ["t"]}),
        (ValueError, "secrets", {"secrets": ["s", b"s"]}),
        (ValueError, "offset", {**BODY_ALONE, "offset": 1}),
        (ValueError, "rotation", {"secrets": ["s", "t"], "rotation": "cutover"}),
    ],
    "advance": [
        (TypeError, "one duration", {}),
        (TypeError, "one duration", {"delta": 1, "seconds": 1}),
        (TypeError, "months", {"months": 1}),
    ],
    "after": [
        (TypeError, "one duration", {}),
        (TypeError, "one duration", {"delta": 1, "seconds": 1}),
        (TypeError, "minute", {"minute": 1}),
    ],
    "autopilot": [(TypeError, "reply_after", {"reply_after": 5})],
    "concurrently": [
        (TypeError, "start", {"start": 2}),
        (TypeError, "strat", {"by": 1, "strat": 2}),
    ],
    "connect": [
        (TypeError, "target", {}),
        (TypeError, "target", {"url": URL, "wsgi": wsgi_app}),
        (TypeError, "asgi", {"app": asgi_app}),
        (TypeError, "path", {"url": URL, "path": "/"}),
        (ValueError, "path", {"asgi": asgi_app, "path": "x"}),
        (TypeError, "client", {"url": URL, "client": ("::1", 1)}),
        (ValueError, "client", {"wsgi": wsgi_app, "client": ("", 1)}),
        (TypeError, "client", {"handler": print, "client": ("::1", 1)}),
        (TypeError, "restart", {"url": URL, "restart": lambda: wsgi_app}),
    ],
    "duplicate": [(ValueError, "pause", {"pause": 1, "after": 1})],
    "edges": [(TypeError, "edges", {})],
    "emit": [
        (ValueError, "raw", {"raw": "{", "changes": {"x": 1}}),
        (ValueError, "raw", {"raw": "{", "remove": ["x"]}),
    ],
    "emit_event": [
        (ValueError, "body", {"body": "x", "resource": {}}),
        (ValueError, "body", {"body": "x", "key": "k"}),
    ],
    "lose": [
        (ValueError, "status", {"type": "a.b", "status": "sent"}),
        (TypeError, "tims", {"tims": 1}),
    ],
    "reorder": [(TypeError, "after", {"after": 2})],
    "route": [
        (ValueError, "service", {"path": "/v2/balance", "methods": [method]})
        for method in ("GET", "head")
    ],
    "send": [
        (TypeError, "body", {"type": "text", "content": {"body": 1}}),
        (TypeError, "content", {"type": "text", "content": ["x"]}),
    ],
    "send_endpoint": [
        (TypeError, "parse", {"echo": ["x"], "parse": dict}),
        (TypeError, "status", {"reply": dict, "status": "accepted"}),
    ],
    "sends": [(TypeError, "body", {"type": "text", "content": {"body": 1}})],
}

#: What errors name in place of an argument: by the same keys, patterns.
NAMED = {"Clock.delta": r"advance\(\)", "Message.delta": r"after\(\)", "moment": r"move_to\(\)"}
NAMED |= {"app": "WSGI app", "asgi": "WSGI app", "wsgi": "ASGI app"}
NAMED |= dict.fromkeys(("HmacSigner.format", "header", "timestamp_header"), "headers")
NAMED |= {"changes": "no object", "remove": "no object", "kind": "edge", "kinds": "edge"}
NAMED |= {"secrets": "secret", "statuses": "status"}


# -- what is called --------------------------------------------------------------------------------

#: What the verbs of a class are called on.
HANDLES = {
    AccountApi: lambda fake: fake.api,
    ChatFake: lambda fake: fake,
    Clock: lambda fake: fake.clock,
    Message: lambda fake: fake.messages[0],
    Receiver: lambda fake: fake.webhooks.receiver(),
    Recipient: lambda fake: fake.recipient("+1"),
    Submission: lambda fake: fake.submit_text(),
    Webhooks: lambda fake: fake.webhooks,
}

#: What users call by its own name.
MADE = [
    *(ChatFake, ChatFakeConfig, Edge, HmacSigner, Naming, PlatformError, StandardWebhooksSigner),
    edges,
]

#: What only the fake makes, or takes what pydantic and sequences take; and what is an extra's.
NOT_CALLED = {"AgendaEntry", "ApiFault", "ApiRequest", "Attempt", "Autopilot", "Balance"}
NOT_CALLED |= {"ChatFakeError", "ChatMessageUpdated", "ClockError", "ClosedError", "Conversation"}
NOT_CALLED |= {"DEFAULT", "Endpoint", "Event", "Fault", "IllegalTransition", "InboundMessage"}
NOT_CALLED |= {"LedgerEntry", "NotAwaited", "Timeline", "TimelineEntry", "UndeliveredWebhooks"}
NOT_CALLED |= {"UnusedFault", "WebhookRequest", "WebhookWarning"}
NOT_CALLED |= {
    "Exploration",
    "Explorer",
    "InjectedError",
    "NotRepeatable",
    "SendTests",
    "WebhookTests",
    "explore",
}

#: Verbs of an extra, and the arguments of one with which it is one.
OTHERS = {"crash", "error"}
OF_AN_EXTRA = {("concurrently", name) for name in ("line", "before", "after", "nth")}


def verbs():
    for owner in HANDLES:
        for verb, _ in inspect.getmembers(owner, inspect.isfunction):
            if not verb.startswith("_") and verb not in OTHERS:
                yield owner, verb


CALLS = [*verbs(), *((pytest_chatfake, made.__name__) for made in MADE)]


class Argument(NamedTuple):
    """An argument, as the tables know it."""

    owner: str
    call: str
    name: str
    annotation: str

    @property
    def keys(self):
        kind = "Literal" if "Literal[" in self.annotation else self.annotation
        own = (f"{self.owner}.{self.name}", f"{self.call}.{self.name}")
        return (kind.removesuffix(" | None"), self.name, *own)

    def refused(self):
        """Yield errors, and a value that is refused with one of them."""
        for error, table in ((TypeError, WRONG_KIND), (ValueError, OUT_OF_RANGE)):
            for key in self.keys:
                yield from (((error,), value) for value in table.get(key, ()))
        if not self.annotation.endswith("None"):
            yield (TypeError,), None
        yield from (((TypeError, ValueError), value) for value in HARD_TO_CITE)


def arguments_of(owner, call):
    """Yield what a call takes, the filters of a fault among it."""
    function = getattr(owner, call)
    for one in inspect.signature(function).parameters.values():
        filters = re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation))
        if filters:
            given = inspect.unwrap(function).__globals__[filters[1]].__annotations__
            for name, each in given.items():
                yield Argument(owner.__name__, call, name, each.__forward_arg__)
        elif one.kind is one.VAR_KEYWORD and one.annotation == "float":
            yield Argument(owner.__name__, call, "hours", "float")
        elif one.kind is one.VAR_KEYWORD or (call, one.name) in OF_AN_EXTRA:
            continue
        elif one.name != "self":
            yield Argument(owner.__name__, call, one.name, one.annotation)


def give(function, given):
    """Call a function with arguments by name, some of which have to stand in their places."""
    given = dict(given)
    ahead = [
        given.pop(one.name)
        for one in inspect.signature(function).parameters.values()
        if one.name in given
        and (one.kind is one.POSITIONAL_ONLY or one.default is one.empty)
        and one.kind is not one.KEYWORD_ONLY
    ]
    made = function(*ahead, **given)
    return made(print) if inspect.isfunction(made) else made  # a decorator


def required(function, fake):
    """What a call needs."""
    needed = REQUIRED | {"message": fake.messages[0], "event": fake.events[0]}
    return {
        name: needed[name]
        for name, one in inspect.signature(function).parameters.items()
        if one.default is one.empty and one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}
    }


def problems(fake, tried):
    """Say of which calls it is not true that they are refused by a name and change nothing."""
    before = visible_state(fake)
    for what, errors, named, call in tried:
        try:
            call()
            problem = "is taken"
        except Exception as error:
            text = str(error)
            fits = type(error) in errors and re.search(named, text, re.IGNORECASE)
            problem = "" if fits and len(text) < 700 else f"is refused with {error!r}"
        if visible_state(fake) != before:
            problem += " and changes something"
        if problem:
            yield f"{what} {problem}"


def each_value(fake, owner, call, more):
    """Yield each way to call with something that is refused, the errors, and what they name.

    ``more`` has more values that are refused, by the kind of the argument.
    """
    function = getattr(HANDLES.get(owner, lambda _: owner)(fake), call)
    given = required(function, fake)
    for one in arguments_of(owner, call):
        beside = next((BESIDE[key] for key in (one.keys[-1], call) if key in BESIDE), {})
        other_names = (NAMED[key] for key in one.keys if key in NAMED)
        named = "|".join([rf"\b{one.name}\b", "JSON", *other_names])
        for errors, value in [*one.refused(), *more.get(one.keys[0], ())]:
            tried = partial(give, function, given | beside | {one.name: value})
            yield f"{one.name}={cited(value)}", errors, "" if len(errors) > 1 else named, tried
    for key in (call, f"{owner.__name__}.{call}"):
        for error, named, together in TOGETHER.get(key, ()):
            yield f"{together}", (error,), named, partial(give, function, given | together)
