"""Random scripts: what a test could do to the fake, as calls.

A script is written block by block, and a model plays along: so a call can be about the third last
message, or about the next one to be dropped. Each block has random numbers of its own, and of a
script that fails, the blocks are left out that the failure does not need.

These are no strategies of Hypothesis: five of six of its examples are another one with a block
repeated, and to draw them took a third of the time.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from operator import itemgetter
from random import Random
from typing import Any

from pytest_chatfake import PlatformError

from .calls import PEOPLE, START, Call, decimal, model_call
from .model import Model
from .model_life import WORDS
from .model_types import DAY, SOME_PLATFORM_ERROR, SOME_TEXT, Knobs

MINUTE = 60_000_000

PRICES = [
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
AMOUNTS = {
    "top_up": ["0.05", 25, Decimal("7.50"), "0.000001"],
    "set_balance": ["0", "0.04", "3.14", 1000],
    "rate": PRICES,  # what the price callable returns from now on
}
BODIES = ["Hello", "Grüße 👋", 'A "quoted" \\ word\nand a line', "</script>\u2028\x00\x1f"]
#: What is sent that is no text: a type and its object (§2.3 shows texts only; the rest is assumed).
CONTENTS = [
    ("image", {"link": "https://shop.test/1.png?a=1&b=2", "caption": "Grüße 👋"}),
    ("template", {"name": "sale", "parts": [{"amount": Decimal("0.10"), "all": True}, None, 3]}),
]
#: Events about no message: a type, a resource, and `key` or `id` where they are given.
OTHERS = [
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
ERRORS = {
    "fail": [
        ({}, ("131026", SOME_TEXT, SOME_PLATFORM_ERROR)),
        ({"code": "100"}, ("100", "Parameter Invalid", SOME_PLATFORM_ERROR)),
        ({"code": "470", "message": "Too late"}, ("470", "Too late", SOME_PLATFORM_ERROR)),
        ({"message": "Gone", "platform_error": False}, ("131026", "Gone", None)),
        ({"platform_error": PLATFORM}, ("131026", SOME_TEXT, PLATFORM_BODY)),
    ],
    "reject": [
        ({}, ("100", "Parameter Invalid", None)),
        ({"code": "131026"}, ("131026", SOME_TEXT, None)),
        (
            {"code": "9", "message": "Own", "platform_error": True},
            ("9", "Own", SOME_PLATFORM_ERROR),
        ),
        ({"platform_error": PLATFORM}, ("100", "Parameter Invalid", PLATFORM_BODY)),
    ],
}
#: Arguments that nobody may get away with.
BAD = {
    "send": [
        *({"price": price} for price in (0.05, "-1", "NaN", "abc", True)),
        {"origin_type": ""},
        {"conversation": "not hex"},
        {"body": 7},
    ],
    "deliver": [
        *({"devices": devices} for devices in (0, -1, True, 1.5)),
        *({"price": price} for price in (0.05, "-0.01", "Infinity")),
    ],
    "fail": [{"code": "no such code"}],
    "top_up": [{"amount": amount} for amount in (0.5, "0", "-1", "lots", True)],
    "set_balance": [{"amount": amount} for amount in (0.5, "-1", None)],
    "advance": [{"delta": timedelta(microseconds=-1)}],
}

NOTHING_WRONG = {
    "read_receipts": True,
    "online": True,
    "blocked": False,
    "chat_open": False,
    "registered": True,
    "withheld": False,
}
#: What a person does who comes back, perhaps.
COMING_BACK = [
    [],
    ["comes_online"],
    ["unblocks"],
    ["blocks", "comes_online", "opens_chat", "unblocks"],
]

LENGTHS = [
    *(1, 37, 999, 1001, 123_457, 5 * MINUTE),
    *(DAY - 1000, DAY, DAY + 1, 29 * DAY + 3, 31 * DAY + 7),
]
#: Scripts in time: lengths, each with the verbs behind it.
LATER = [1, 999, MINUTE, MINUTE, DAY, 30 * DAY]
PLAIN = [(MINUTE, ["deliver"]), (DAY, ["read"])]

CONFIGS = {
    "opening_balance": ["100", "0", "0.10", Decimal("1.005")],
    "price": ["0.05", None, 1, "0"],
    "charge_per": ["conversation", "message"],
    "conversation_length": [timedelta(hours=24), 600, timedelta(seconds=1, microseconds=7)],
    "drop_after": [timedelta(days=30), 3600, timedelta(minutes=10)],
    "on_insufficient_balance": ["allow", "fail"],
    "balance_amount": ["available", "total"],
    "event_ids": ["unique", "per-message"],
}


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

    def knobs(self):
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

    def fields(self, rate):
        """What to give `ChatFake`; a price callable returns `rate[0]`."""
        return vars(self) | {"price": self.price or (lambda _message: rate[0]), "seed": "script"}


def micros(duration):
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    return int(duration) * 1_000_000


@dataclass(frozen=True)
class Script:
    """Calls, each with the name of the error that is due.

    Attributes:
        by_traveller: Whether the user's traveller moves time, behind the back of the fake's clock.
        chunks: In async mode, how many calls go into one `await`.
        paths: Which paths of the model it takes.
    """

    config: Config
    by_traveller: bool
    chunks: tuple[int, ...]
    calls: tuple[tuple[Call, str | None], ...]
    paths: Counter[str]

    def model(self):
        return model_of(self.config, self.by_traveller)


def model_of(config, by_traveller):
    return Model(config.knobs(), START * 1_000_000, jumps=by_traveller)


class Writer:
    """Writes a script, call by call; its model knows what a call can be about."""

    def __init__(self, model):
        self.model = model
        self.session = model.knobs.conversation_length
        self.random = Random()
        self.calls: list[tuple[Call, str | None]] = []

    def call(self, verb, about=None, **more):
        number = len(self.model.messages) if about is None else about.label.number
        call = Call(verb, number, **more)
        self.calls.append((call, None if call.bad else model_call(self.model, call)))

    def any(self, *values):
        return self.random.choice(values)

    def person(self):
        return self.random.randrange(len(PEOPLE))

    # -- messages ------------------------------------------------------------------------------

    def message(self, which, *, apart=False):
        """Return the last that can be told something, or one before it."""
        messages = self.model.messages
        fit = [one for one in messages if (one.apart if apart else one.status != "submitted")]
        return fit[-1 - which % len(fit)] if fit else None

    def conversation(self, which=0):
        """Return a message of the last conversation, or of one before it."""
        if not (known := self.model.conversations):
            return None
        return self.message_in(known[-1 - which % len(known)])

    def message_in(self, conversation):
        messages = self.model.messages
        return next(one.label.number for one in messages if one.conversation is conversation)

    def send(
        self,
        to,
        price=None,
        origin=None,
        conversation=None,
        body=BODIES[0],
        submit=False,
        content=None,
    ):
        if submit and conversation is not None:
            # Whether a submission or its acceptance is refused is nobody's business: keep it fit.
            origin = None
        said = {"price": price, "origin_type": origin, "body": None if content else body}
        self.call(
            "submit" if submit else "send",
            arguments={name: value for name, value in said.items() if value is not None},
            conversation=conversation,
            to=to,
            content=content,
        )

    def something(self):
        """Return what to send."""
        return {
            "to": self.any(0, 0, 0, 1, 1, 2, 3, 4),
            "price": self.any(None, self.any(*PRICES)),
            "origin": self.any(None, None, None, *ORIGINS),
            "conversation": self.any(
                *(None, None, self.conversation(self.random.randrange(4)), self.any(*HEX_IDS))
            ),
            "body": self.any(*BODIES),
            "submit": self.any(False, False, True),
            "content": self.any(None, None, None, *CONTENTS),
        }

    def verb(self, *names, which=0, message=None):
        """Tell a message one of these verbs, if it can be told that."""
        name = self.any(*names)
        apart = name in {"accept", "reject"}
        message = message or self.message(which, apart=apart)
        if message is not None and (message.apart or not apart):
            arguments, error = self.told(name)
            self.call(name, message, arguments=arguments, expected_error=error)

    def told(self, verb):
        """Return what a verb is told, and the error that its event should show."""
        if verb in ERRORS:
            return self.any(*ERRORS[verb])
        said = {}
        if verb == "deliver":
            said = {
                "devices": self.any(None, None, None, 1, 2, 3),
                "price": self.any(None, self.any(*PRICES)),
            }
        return {name: value for name, value in said.items() if value is not None}, None

    def schedule(self, which=0, script=None):
        """Schedule a script in time: lengths, each with the verbs behind it."""
        script = script or [
            (
                self.any(*LATER),
                [self.any("deliver", "deliver", "read", "fail") for _ in range(self.any(1, 2))],
            )
            for _ in range(self.any(1, 2, 3))
        ]
        if (message := self.message(which)) is not None:
            steps = ((length, tuple((v, *self.told(v)) for v in verbs)) for length, verbs in script)
            self.call("schedule", message, script=tuple(steps))

    # -- time and people --------------------------------------------------------------------------

    def move(self, *lengths):
        self.move_to(self.model.now + self.any(*lengths or LENGTHS))

    def move_to(self, at):
        self.call("move", arguments={"at": at}, how=self.random.randrange(4))

    def move_near(self, what, ends):
        """Move to the next of these ends, or close to it; return whose it is."""
        offset = self.any(-1000, -1, 0, 1, 1000)
        ahead = [(at + offset, one) for at, one in ends if at and at + offset > self.model.now]
        if not ahead:
            return None
        at, found = min(ahead, key=itemgetter(0))
        self.model.took(f"moved to {what} {offset:+d} us")
        self.move_to(at)
        return found

    def say(self, to, *words):
        for word in words:
            self.call("word", to=to, arguments={"word": word})

    def describe(self, to, **flags):
        self.call("describe", to=to, arguments=flags)


# -- blocks ----------------------------------------------------------------------------------------


def a_send(w):
    w.send(**w.something())


def a_verb(w):
    w.verb("deliver", "deliver", "read", "accept", "fail", "reject", which=w.random.randrange(6))


def an_exchange(w):
    a_send(w)
    w.verb("deliver", "read")


def side_by_side(w):
    """Two wait in one conversation; the second arrives after the first, perhaps much later."""
    sent = w.something() | {"submit": False}
    w.send(**sent)
    w.send(**sent)
    w.verb("deliver", which=1)
    w.move(1, w.session, w.session, 29 * DAY)
    w.verb("deliver", "read")


def one_after_the_other(w):
    """The second is sent into the session that the first started, and may arrive after its end."""
    to = w.any(0, 1, 3)
    w.send(to)
    w.verb("deliver")
    w.send(to)
    w.move(1, w.session - 1000, w.session, 29 * DAY)
    w.verb("deliver", "read")


def parallel(w):
    """Conversations beside each other, with one and the same person."""
    to = w.any(0, 1)
    w.send(to)
    w.send(to, conversation=w.any(*HEX_IDS))
    w.verb("deliver", "read", "fail", which=w.any(0, 1))
    w.move()
    w.send(to)
    w.send(1 - to, conversation=w.conversation())


def burst(w):
    """Several fall due, at moments of their own, in one long move."""
    a_send(w)
    w.move(1, 999, MINUTE)
    a_send(w)
    w.move()


def decided_twice(w):
    """A submission is decided twice, with something in between."""
    w.send(w.any(0, 0, 1, 2, 3), submit=True)
    w.verb("accept", "accept", "reject")
    again = w.any(True, True, False)
    w.verb("deliver", "read", "fail") if again else w.move(37, 31 * DAY + 7)
    w.verb("accept", "reject")


def at_the_drop(w):
    waiting = [one for one in w.model.messages if one.state == "sent"]
    if message := w.move_near("drop", [(w.model.due(one), one) for one in waiting]):
        w.verb("deliver", "read", "fail", "accept", "reject", message=message)


def at_the_expiry(w):
    known = w.model.conversations
    if ending := w.move_near("expiry", [(one.expires, one) for one in known]):
        to = [one.address for one in PEOPLE].index(ending.address)
        w.send(to, origin=ending.origin, conversation=w.any(None, None, w.message_in(ending)))


def money(w):
    """Set twice, a balance stays what it is."""
    verb = w.any("top_up", "set_balance", "rate")
    amount = w.any(*AMOUNTS[verb])
    for _ in range(w.any(1, 2)):
        w.call(verb, arguments={"amount": amount})


def a_word(w):
    w.say(w.person(), w.any(*WORDS))


def a_description(w):
    flags = {w.any(*NOTHING_WRONG): w.any(False, True) for _ in range(w.any(1, 2))}
    w.describe(w.person(), **w.any(flags, flags, {"devices": w.any(1, 2, 3)}))


def away(w):
    """A phone is away in some way, while messages come."""
    to, flag = w.person(), w.any("online", "blocked", "registered", "withheld")
    w.send(to)
    w.describe(to, **{flag: not NOTHING_WRONG[flag]})
    w.send(to, origin="utility")
    w.verb("deliver", "read", "fail")
    w.verb("deliver", "read", which=1)
    w.call("writes", to=to)
    w.say(to, *w.any(*COMING_BACK))
    if w.any(True, True, True, False):
        w.describe(to, **NOTHING_WRONG)
        w.verb("deliver")


def a_chat(w):
    """The chat is opened, before or after, and messages come and arrive in it."""
    to, verb = w.person(), w.any("deliver", "read")
    w.send(to)
    w.verb(verb)
    w.say(to, "opens_chat")
    w.send(to)
    w.verb("deliver", which=1)
    w.say(to, "closes_chat")
    w.send(to)
    w.verb(verb)
    w.say(to, "goes_offline", "opens_chat")
    w.describe(to, chat_open=True)
    w.describe(to, **NOTHING_WRONG)


def a_script(w):
    w.schedule(w.any(0, 1, 2))


def scripted(w):
    """Scripts in time, alone and beside each other; some of them go wrong on the way."""
    a_send(w)
    w.schedule(script=w.any(None, PLAIN))
    w.any(
        lambda w: None,
        lambda w: (a_send(w), a_script(w)),
        cancelled,
        comes_back_to_a_script,
        a_word,
    )(w)
    w.move()


def cancelled(w):
    if message := w.message(w.any(0, 1)):
        w.call("cancel", message)


def comes_back_to_a_script(w):
    to = w.person()
    w.say(to, "goes_offline")
    w.send(to)
    w.schedule(script=PLAIN)
    w.say(to, "comes_online")
    w.move(MINUTE)
    w.say(to, "opens_chat")


def another_event(w):
    w.any(
        lambda: w.call("emit_event", other=w.any(*OTHERS)),
        lambda: w.call("writes", to=w.person()),
    )()


def something_bad(w):
    verb = w.any(*BAD)
    message = w.message(w.random.randrange(6)) if verb in {"deliver", "fail"} else None
    if message or verb not in {"deliver", "fail"}:
        w.model.took(f"refused: bad argument of {verb}")
        w.call(verb, message, arguments=w.any(*BAD[verb]), bad=True)


#: Whatever is named twice comes twice as often.
BLOCKS = [
    *(
        a_send,
        a_verb,
        an_exchange,
        side_by_side,
        side_by_side,
        one_after_the_other,
        parallel,
        burst,
    ),
    *(decided_twice, decided_twice, at_the_drop, at_the_drop, at_the_drop),
    *(at_the_expiry, at_the_expiry, at_the_expiry, Writer.move, something_bad, something_bad),
    *(
        money,
        money,
        a_word,
        a_description,
        away,
        away,
        a_chat,
        a_script,
        scripted,
        scripted,
        scripted,
    ),
    *(another_event, another_event, lambda w: w.call("reset")),
]


# -- scripts ---------------------------------------------------------------------------------------

MOST_BLOCKS = 36


def script(seed, left_out=()):
    """Write the script of a seed, without some of its blocks."""
    random = Random(seed)
    drawn = {name: random.choice(values) for name, values in CONFIGS.items()}
    config = random.choice([Config(**drawn), Config(charge_per=drawn["charge_per"])])
    by_traveller = random.choice([False, False, True])
    chunks = tuple(random.randint(1, 5) for _ in range(random.randint(1, 6)))
    writer = Writer(model_of(config, by_traveller))
    for block in range(random.randint(16, MOST_BLOCKS)):
        if block not in left_out:
            writer.random.seed(f"{seed}, block {block}")
            writer.any(*BLOCKS)(writer)
    return Script(config, by_traveller, chunks, tuple(writer.calls), writer.model.paths)


#: RANDOM_SCRIPTS=thorough: ten times as many, fresh ones. RANDOM_SCRIPTS=few: for one fault after
#: another, where only the first failure counts.
EFFORT = os.environ.get("RANDOM_SCRIPTS")
THOROUGH, FEW = EFFORT == "thorough", EFFORT == "few"


def play_scripts(count, play, part=0):
    """Play so many scripts, the same in every run, and return which paths they took."""
    paths = Counter()
    start = f"{os.urandom(4).hex()} " if THOROUGH else ""
    for number in range(count * 10 if THOROUGH else count // 4 if FEW else count):
        seed = f"{start}{part}.{number}"
        try:
            play(written := script(seed))
        except Exception as error:
            error.add_note(f"script {seed!r}")
            if not FEW:
                play(script(seed, needless_blocks(seed, play)))
            raise
        paths.update(written.paths)
    return paths


def needless_blocks(seed, play):
    """Return the blocks without which the script fails as well."""
    left_out = set()
    for block in range(MOST_BLOCKS):
        try:
            play(script(seed, {*left_out, block}))
        except Exception:
            left_out.add(block)
    return left_out
