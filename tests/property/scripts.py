"""Random scripts: what a test could do to the fake, as data.

A script is a configuration and a list of steps. A step names its target loosely ("the third last
message", "the next drop"), so that steps can be drawn, left out and made simpler at will.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from pytest_chatfake import PlatformError

from .model import Model
from .model_life import WORDS
from .model_types import DAY, SOME_PLATFORM_ERROR, SOME_TEXT, Knobs, Label, Person

START = 1_767_268_800  # 2026-01-01T12:00:00Z, in seconds
MINUTE = 60_000_000

PEOPLE = [
    Person(),
    Person("+4915100001"),
    Person("+4915100002", devices=3),
    Person("+4915100003", receipts=False),
    Person("+4915100004", devices=2, receipts=False),
]
PRICES: list[Any] = [
    "0.05",
    "0.10",
    "0",
    "0.0725",
    1,
    Decimal("0.30"),
    "12.5",
    Decimal("1E+1"),
    "0.1234567890123456789012345",
]
AMOUNTS: list[Any] = ["0.05", 25, Decimal("7.50"), "0.000001"]
BODIES = ["Hello", "Grüße 👋", 'A "quoted" \\ word\nand a line', "</script>\u2028\x00\x1f"]
#: What is sent that is no text: a type and its object (§2.3 shows texts only; the rest is assumed).
CONTENTS: list[tuple[str, dict[str, Any]]] = [
    ("image", {"link": "https://shop.test/1.png?a=1&b=2", "caption": "Grüße 👋"}),
    ("template", {"name": "sale", "parts": [{"amount": Decimal("0.10"), "all": True}, None, 3]}),
]
#: Events about no message: a type, a resource, and `key` or `id` where they are given.
OTHERS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("chat.inbound_message.received", {"from": "+4915100001", "text": {"body": "Hi"}}, {}),
    ("ping", {}, {}),
    ("chat.account.review.updated", {"limit": Decimal("1.50")}, {"key": "review"}),
    ("chat.order.placed", {"total": 12}, {"id": "evt_of_our_own"}),
]
ORIGINS = ["marketing", "utility"]
HEX_IDS = ["c0ffee", "00aa11bb22cc33dd"]

# What `fail` and `reject` may be told, beside the (code, text, platform error) to be expected.
PLATFORM = PlatformError(message="No", type="OAuth", code="7", trace_id="T1", details="why")
PLATFORM_BODY = {
    "message": "No",
    "type": "OAuth",
    "code": "7",
    "trace_id": "T1",
    "error_data": {"messaging_product": "chat", "details": "why"},
}
FAILURES: list[tuple[dict[str, Any], tuple[str, Any, Any]]] = [
    ({}, ("131026", SOME_TEXT, SOME_PLATFORM_ERROR)),
    ({"code": "100"}, ("100", "Parameter Invalid", SOME_PLATFORM_ERROR)),
    ({"code": "470", "message": "Too late"}, ("470", "Too late", SOME_PLATFORM_ERROR)),
    ({"message": "Gone", "platform_error": False}, ("131026", "Gone", None)),
    ({"platform_error": PLATFORM}, ("131026", SOME_TEXT, PLATFORM_BODY)),
]
REJECTIONS: list[tuple[dict[str, Any], tuple[str, Any, Any]]] = [
    ({}, ("100", "Parameter Invalid", None)),
    ({"code": "131026"}, ("131026", SOME_TEXT, None)),
    ({"code": "9", "message": "Own", "platform_error": True}, ("9", "Own", SOME_PLATFORM_ERROR)),
    ({"platform_error": PLATFORM}, ("100", "Parameter Invalid", PLATFORM_BODY)),
]
# Arguments that nobody may get away with: (verb, keyword arguments).
BAD_CALLS: list[tuple[str, dict[str, Any]]] = [
    *[("send", {"price": price}) for price in (0.05, "-1", "NaN", "abc", True)],
    ("send", {"origin_type": ""}),
    ("send", {"conversation": "not hex"}),
    ("send", {"body": 7}),
    *[("deliver", {"devices": devices}) for devices in (0, -1, True, 1.5)],
    *[("deliver", {"price": price}) for price in (0.05, "-0.01", "Infinity")],
    ("fail", {"code": "no such code"}),
    *[("top_up", {"amount": amount}) for amount in (0.5, "0", "-1", "lots", True)],
    *[("set_balance", {"amount": amount}) for amount in (0.5, "-1", None)],
    ("advance", {"delta": timedelta(microseconds=-1)}),
]

FOCUS = -1  # as a target: what the last `ToDeadline` was about


@dataclass(frozen=True)
class Call:
    """One call, with its target and arguments settled; some steps are calls from the beginning."""

    verb: str
    message: int | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    expected_error: tuple[str, Any, Any] | None = None
    conversation: Label | str | None = None
    to: int = 0
    how: int = 0
    bad: bool = False
    content: tuple[str, dict[str, Any]] | None = None  # of a message that is no text
    other: Any = None  # one of OTHERS
    script: tuple[Any, ...] = ()  # lengths, each with (verb, arguments, expected error)s

    @property
    def address(self) -> str | None:
        return PEOPLE[self.to].address


RESET = Call("reset")


def change_money(verb: str, amount: Any) -> Call:
    """`top_up`, `set_balance`, or `rate`: what the price callable answers from now on."""
    return Call(verb, arguments={"amount": amount})


def say(to: int, word: str) -> Call:
    """Something happens to a person: `comes_online`, for example."""
    return Call("word", to=to, arguments={"word": word})


def describe(to: int, *flags: tuple[str, Any]) -> Call:
    return Call("describe", to=to, arguments=dict(flags))


@dataclass(frozen=True)
class Send:
    to: int
    price: Any = None
    origin: str | None = None
    conversation: str | int | None = None  # a hex id, or the n-th last conversation known
    body: str = "Hello"
    submit: bool = False
    content: tuple[str, dict[str, Any]] | None = None  # of a message that is no text


@dataclass(frozen=True)
class Verb:
    name: str  # accept, reject, deliver, read, fail
    which: int
    devices: int | None = None
    price: Any = None
    variant: int = 0


@dataclass(frozen=True)
class Advance:
    micros: int
    how: int = 0


@dataclass(frozen=True)
class ToDeadline:
    what: str  # drop, expiry
    offset: int
    how: int = 0


@dataclass(frozen=True)
class Bad:
    number: int
    which: int


@dataclass(frozen=True)
class Schedule:
    """A script in time: lengths, each with the verbs behind it; a verb is what `Verb` has."""

    which: int
    script: tuple[tuple[int, tuple[Verb, ...]], ...]


@dataclass(frozen=True)
class Cancel:
    which: int


Step = Call | Send | Verb | Advance | ToDeadline | Bad | Schedule | Cancel


@dataclass(frozen=True)
class Config:
    """The configuration in the words of the fake, and for the model as `knobs`."""

    opening_balance: Any = "100"
    price: Any = "0.05"  # None: a callable
    charge_per: str = "conversation"
    conversation_length: Any = timedelta(hours=24)
    drop_after: Any = timedelta(days=30)
    on_insufficient_balance: str = "allow"
    balance_amount: str = "available"
    event_ids: str = "unique"

    def knobs(self) -> Knobs:
        return Knobs(
            opening=decimal(self.opening_balance),
            price=None if self.price is None else decimal(self.price),
            each_message=self.charge_per == "message",
            conversation_length=micros(self.conversation_length),
            drop_after=micros(self.drop_after),
            fail_when_low=self.on_insufficient_balance == "fail",
            report_total=self.balance_amount == "total",
            event_id_per_message=self.event_ids == "per-message",
            people=tuple(PEOPLE),
        )

    def fields(self, rate: list[Decimal]) -> dict[str, Any]:
        """What to give `ChatFake`; a price callable answers `rate[0]`."""
        return vars(self) | {"price": self.price or (lambda _message: rate[0]), "seed": "script"}


@dataclass(frozen=True)
class Script:
    config: Config
    steps: tuple[Step, ...]
    # Time moved by the fake's own clock, or by the user's traveller behind its back.
    by_traveller: bool = False
    chunks: tuple[int, ...] = ()  # async mode: how many calls go into one `await`

    def model(self) -> Model:
        return Model(self.config.knobs(), START * 1_000_000, jumps=self.by_traveller)


def decimal(value: Any) -> Decimal:
    return Decimal(str(value))


def micros(duration: Any) -> int:
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    return int(duration) * 1_000_000


# -- strategies ------------------------------------------------------------------------------------


the_last = st.just(0)


def verb_of(
    *names: str, which: st.SearchStrategy[int] = the_last, **more: st.SearchStrategy[Any]
) -> st.SearchStrategy[Verb]:
    """One of these verbs; of the last message, unless said otherwise."""
    return st.builds(Verb, st.sampled_from(names), which, **more)


targets = st.integers(0, 5)
prices = st.one_of(st.none(), st.sampled_from(PRICES))
offsets = st.sampled_from([-1000, -1, 0, 1, 1000])
hows = st.integers(0, 3)
conversations = st.one_of(st.none(), st.none(), st.integers(0, 3), st.sampled_from(HEX_IDS))
sends = st.builds(
    Send,
    to=st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4]),
    price=prices,
    origin=st.sampled_from([None, None, None, *ORIGINS]),
    conversation=conversations,
    body=st.sampled_from(BODIES),
    submit=st.sampled_from([False, False, True]),
    content=st.sampled_from([None, None, None, *CONTENTS]),
)
others = st.one_of(
    st.builds(lambda other: Call("emit_event", other=other), st.sampled_from(OTHERS)),
    st.builds(lambda to: Call("writes", to=to), st.integers(0, 4)),
)
devices = st.sampled_from([None, None, 1, 2, 3])
verbs = st.one_of(
    verb_of("deliver", which=targets, devices=devices, price=prices),
    verb_of("accept", "read", "deliver", which=targets),
    verb_of("fail", "reject", which=targets, variant=st.integers(0, 4)),
)
lengths = st.sampled_from(
    [1, 37, 999, 1001, 123_457, 5 * MINUTE, DAY - 1000, DAY, DAY + 1, 29 * DAY + 3, 31 * DAY + 7]
)
moves = st.builds(Advance, lengths, hows)
money = st.one_of(
    st.builds(change_money, st.just("top_up"), st.sampled_from(AMOUNTS)),
    st.builds(change_money, st.just("set_balance"), st.sampled_from(["0", "0.04", "3.14", 1000])),
)
rates = st.builds(change_money, st.just("rate"), st.sampled_from(PRICES))
bad_verbs = [verb for verb, _ in BAD_CALLS]
bad = st.builds(
    Bad,
    # Each verb as often as the others, however many bad arguments it has.
    st.sampled_from([n for n, v in enumerate(bad_verbs) for _ in range(9 // bad_verbs.count(v))]),
    targets,
)
at_the_drop = st.tuples(
    st.builds(ToDeadline, st.just("drop"), offsets, hows),
    verb_of("deliver", "read", "fail", "accept", "reject", which=st.just(FOCUS)),
)
at_the_expiry = st.tuples(
    st.builds(ToDeadline, st.just("expiry"), offsets, hows),
    st.builds(Send, to=st.just(FOCUS), conversation=st.sampled_from([None, None, FOCUS])),
)
exchange = st.tuples(sends, verb_of("deliver", "read"))
# Two messages wait in one conversation; the second arrives after the first, perhaps much later.
side_by_side = st.builds(
    lambda send, first, move, second: (send, send, first, move, second),
    sends,
    verb_of("deliver", which=st.just(1), price=prices),
    moves,
    verb_of("deliver", "read"),
)
# The second is sent into the session that the first has started, and may arrive after its end.
one_after_the_other = st.builds(
    lambda send, move, second: (send, Verb("deliver", 0), send, move, second),
    st.builds(Send, to=st.sampled_from([0, 1, 3])),
    st.builds(Advance, st.sampled_from([MINUTE, DAY - 1000, DAY, 29 * DAY]), hows),
    verb_of("deliver", "read"),
)
# Conversations beside each other, with one and the same person.
parallel = st.builds(
    lambda to, name, verb, move: (
        *(Send(to), Send(to, conversation=name), verb, move),
        *(Send(to), Send(1 - to, conversation=0)),
    ),
    st.integers(0, 1),
    st.sampled_from(HEX_IDS),
    verb_of("deliver", "read", "fail", which=st.integers(0, 1)),
    moves,
)
# A submission is decided twice, with something in between.
decided_twice = st.builds(
    lambda send, between, again: (send, Verb("accept", 0), between, again),
    st.builds(Send, to=st.sampled_from([0, 0, 1, 2, 3]), submit=st.just(True)),
    st.one_of(
        verb_of("read", "deliver", "fail"),
        st.builds(Advance, st.sampled_from([37, 31 * DAY + 7]), hows),
    ),
    verb_of("accept", "reject"),
)
# Several fall due, at moments of their own, in one long move.
burst = st.tuples(sends, st.builds(Advance, st.sampled_from([1, 999, MINUTE])), sends, moves)


def one(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Step, ...]]:
    return strategy.map(lambda step: (step,))


# People, and phones that come and go.
somebody = st.integers(0, 4)
words = st.builds(say, somebody, st.sampled_from(sorted(WORDS)))
FLAGS = ["read_receipts", "online", "blocked", "chat_open", "registered", "withheld"]
flags = st.tuples(st.sampled_from(FLAGS), st.booleans())
descriptions = st.one_of(
    st.builds(describe, somebody, flags),
    st.builds(describe, somebody, st.tuples(st.just("devices"), st.integers(1, 3))),
    st.builds(describe, somebody, flags, flags),
)
NOTHING_WRONG = [(flag, flag in {"read_receipts", "online", "registered"}) for flag in FLAGS]
# A phone is away in some way, while messages come.
away = st.builds(
    lambda to, verb, earlier, state, back: (
        *(Send(to), describe(to, state), Send(to, origin="utility"), verb, Verb(earlier, 1)),
        *(Call("writes", to=to), *back(to)),
    ),
    somebody,
    verb_of("deliver", "read", "fail"),
    st.sampled_from(["deliver", "read"]),
    st.sampled_from(
        [("online", False), ("blocked", True), ("registered", False), ("withheld", True)]
    ),
    st.sampled_from(
        [
            lambda to: (describe(to, *NOTHING_WRONG),),
            lambda to: (say(to, "comes_online"), describe(to, *NOTHING_WRONG)),
            lambda to: (say(to, "unblocks"), describe(to, *NOTHING_WRONG), Verb("deliver", 0)),
            lambda to: (say(to, "blocks"), say(to, "comes_online"), say(to, "opens_chat"),
                        say(to, "unblocks"), describe(to, *NOTHING_WRONG)),
            lambda to: (),
        ]
    ),
)  # fmt: skip
# The chat is opened, before or after, and messages come and arrive in it.
chats = st.builds(
    lambda to, verb: (
        *(Send(to), verb, say(to, "opens_chat"), Send(to), Verb("deliver", 1)),
        *(say(to, "closes_chat"), Send(to), verb, say(to, "goes_offline")),
        *(say(to, "opens_chat"), describe(to, *NOTHING_WRONG)),
    ),
    somebody,
    verb_of("deliver", "read"),
)
# Scripts in time, alone and beside each other; some of them go wrong on the way.
later_verbs = st.lists(
    st.one_of(
        verb_of("deliver", "deliver", "read"),
        verb_of("deliver", devices=devices, price=prices),
        verb_of("fail", variant=st.integers(0, 4)),
    ),
    min_size=1, max_size=2,
).map(tuple)  # fmt: skip
later_lengths = st.sampled_from([1, 999, MINUTE, MINUTE, DAY, 30 * DAY])
scheduling = st.builds(
    Schedule,
    st.integers(0, 2),
    st.lists(st.tuples(later_lengths, later_verbs), min_size=1, max_size=3).map(tuple),
)
plain = ((MINUTE, (Verb("deliver", 0),)), (DAY, (Verb("read", 0),)))
scripted = st.builds(
    lambda send, schedule, between, move: (send, schedule, *between, move),
    sends,
    st.one_of(scheduling, st.just(Schedule(0, plain))),
    st.one_of(
        st.just(()),
        st.tuples(sends, scheduling),
        st.tuples(st.builds(Cancel, st.integers(0, 1))),
        st.builds(
            lambda to: (
                *(say(to, "goes_offline"), Send(to), Schedule(0, plain), say(to, "comes_online")),
                *(Advance(MINUTE), say(to, "opens_chat")),
            ),
            somebody,
        ),
        st.builds(lambda word: (word,), words),
    ),
    moves,
)


# Whatever is named twice comes twice as often.
blocks = st.one_of(
    st.just(()),  # the simplest block is none at all, so that a long script shrinks to a short one
    one(sends), one(verbs), exchange, side_by_side, one_after_the_other, parallel, burst,
    decided_twice, decided_twice, at_the_drop, at_the_drop, at_the_drop,
    at_the_expiry, at_the_expiry, at_the_expiry, one(moves), one(money), one(rates), one(bad),
    one(words), one(descriptions), away, away, chats, one(scheduling), scripted, scripted, scripted,
    one(others), one(others), one(st.just(RESET)),
)  # fmt: skip
configs = st.one_of(
    st.just(Config()),
    st.builds(
        Config,
        opening_balance=st.sampled_from(["100", "0", "0.10", Decimal("1.005")]),
        price=st.sampled_from(["0.05", None, 1, "0"]),
        conversation_length=st.sampled_from(
            [timedelta(hours=24), 600, timedelta(seconds=1, microseconds=7)]
        ),
        drop_after=st.sampled_from([timedelta(days=30), 3600, timedelta(minutes=10)]),
        on_insufficient_balance=st.sampled_from(["allow", "fail"]),
        balance_amount=st.sampled_from(["available", "total"]),
        event_ids=st.sampled_from(["unique", "per-message"]),
    ),
)


charged_per = st.sampled_from(["conversation", "message"])


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    drawn = draw(st.lists(blocks, min_size=16, max_size=36))
    return Script(
        config=replace(draw(configs), charge_per=draw(charged_per)),
        steps=tuple(step for block in drawn for step in block),
        by_traveller=draw(st.sampled_from([False, False, True])),
        chunks=tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))),
    )
