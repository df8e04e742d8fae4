"""Delivers, reads, fails and answers messages at random times that are the same in every run.

Everything is drawn and scheduled when a message is sent, and depends only on the seed and the
message's number. The autopilot leaves messages with a script alone. If the test or the person is
faster, the autopilot adapts or does nothing, so it never fails a test.

A message's plan stays in a table until nothing of it is left. Whenever the message or its person
changes, its steps are moved: those that can't happen any more are cancelled, and those that wait
for another (a reading for its delivery) are scheduled once that has happened.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from hashlib import blake2b
from random import Random
from typing import Final, Self, TypeAlias

from ..base.arguments import check_function, cited
from ..base.calling_line import Line
from ..base.errors import IllegalTransition
from ..base.escaping import one_line
from ..domain.facts import Fact
from ..domain.failure_codes import failure
from ..domain.instants import parse_delay
from ..domain.messages import MessageState, State
from ..domain.people import PersonFact, PersonState
from ..domain.schedule import DueKind, due_of
from ..domain.verbs import Deliver, Fail, Read
from ..engine.engine import Engine
from ..engine.executor import Verb

#: A duration, a pair of durations for a uniform range, or a function that draws a duration.
Span: TypeAlias = "timedelta | float | tuple[timedelta | float, timedelta | float] | Draw"
Draw: TypeAlias = "Callable[[Random], timedelta | float]"

#: Returns the verb that replies to a message; None: no reply.
Replies: TypeAlias = "Callable[[MessageState, Random], Verb | None]"

#: Turns eight random bytes into a duration in nanoseconds.
Draws: TypeAlias = Callable[[bytes], int]

#: The number of values that eight bytes can have.
_VALUES: Final = 1 << 64

#: The kinds of due work.
_KINDS: Final[tuple[DueKind, ...]] = ("autopilot", "reading", "reply")

#: Why a message fails.
_UNDELIVERABLE: Final = failure("131026")


@dataclass(slots=True, eq=False, repr=False)
class Autopilot:
    """An autopilot, as returned by ``chat_fake.autopilot()``.

    Stop it with ``end()``, or use it as a context manager::

        with chat_fake.autopilot(deliver_after=(1, 60), read_after=30):
            chat_fake.send_text("Hello")
            chat_fake.clock.advance(minutes=5)
    """

    _autopilots: Autopilots
    _to: str | None
    _deliver: Draws | None
    _read: Draws | None
    _fail_share: float
    _replies: Replies | None
    _reply: Draws
    _seed: str
    _line: Line
    _calls_the_test: bool  # whether it calls the test's functions, which must not change anything

    def __repr__(self) -> str:
        return one_line(f"<Autopilot of {self._to or 'all'}, set up at {self._line}>")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop the autopilot, immediately even in async mode, and forget its pending steps."""
        self._autopilots.end(self)

    def _draw(self, message: MessageState) -> FlightPlan:
        # Hashing is much faster than seeding a generator for every message.
        digest = blake2b(f"{self._seed} {message.number}".encode(), digest_size=24).digest()
        fails = int.from_bytes(digest[:8]) < self._fail_share * _VALUES
        deliver = None if self._deliver is None else self._deliver(digest[8:16])
        read = None if self._read is None else self._read(digest[16:])
        plan = FlightPlan(self, message, fails, deliver, read)
        if self._replies is not None:
            random = Random(f"{self._seed} {message.number}")  # noqa: S311 - not a secret
            plan.reply = self._replies(message, random)
            plan.pause = self._reply(random.randbytes(8))
        return plan


@dataclass(slots=True, eq=False)
class FlightPlan:
    """What an autopilot will do with one message; moments and durations are in nanoseconds."""

    autopilot: Autopilot
    message: MessageState
    fails: bool  # instead of being delivered
    deliver: int | None  # the time from sending
    read: int | None  # the time from delivery
    reply: Verb | None = None
    pause: int = 0  # the time from reading, or from delivery if no reading is visible
    #: The schedule's keys of its pending verbs.
    keys: dict[DueKind, int] = field(default_factory=dict[DueKind, int])

    @property
    def line(self) -> Line:
        return self.autopilot._line

    def goes_on_after(self, what: State) -> bool:
        """Whether anything of it is left after this has happened to the message."""
        is_to_be_read = what == "delivered" and self.read is not None
        return is_to_be_read or (what in {"delivered", "read"} and self.reply is not None)

    def moments(self, person: PersonState | None) -> Mapping[DueKind, int | None]:
        """When each verb is due, or was; None: never, or not while the person is like this.

        A person who reads without a receipt, or on arrival, causes no reading of its own.
        """
        message = self.message
        arrives = message.state == "sent"
        delivery, reading, reply = self._delivery(), self._reading(), self.reply
        if person is not None and person.obstacle(arrives=arrives) is not None:
            delivery, reading, reply = delivery if self.fails else None, None, None
        elif person is not None and (not person.read_receipts or (arrives and person.chat_open)):
            reading = None
        seen = message.read_at
        if seen is None and reading is None:
            seen = message.delivered_at
        answer = seen + self.pause if reply and seen is not None else None
        return {"autopilot": delivery, "reading": reading, "reply": answer}

    def _delivery(self) -> int | None:
        # When the message is delivered or fails; None: never, or it already has.
        message = self.message
        if message.state != "sent" or (self.deliver is None and not self.fails):
            return None
        assert message.sent_at is not None
        assert message.drop is not None
        due = message.sent_at + (self.deliver or 0)
        is_possible = self.fails or not message.undeliverable  # §3 rule 2
        return due if is_possible and due < due_of(message.drop) else None

    def _reading(self) -> int | None:
        # When the message is read; None: never, or it already was.
        arrived = self.message.delivered_at
        if arrived is None and not self.fails:
            arrived = self._delivery()
        if arrived is None or self.read is None or self.message.state == "read":
            return None
        return arrived + self.read

    def verb(self, kind: DueKind) -> Verb:
        if kind == "reply":
            assert self.reply is not None
            return self.reply
        if kind == "reading":
            return Read(self.message)
        return Fail(self.message, _UNDELIVERABLE) if self.fails else Deliver(self.message)

    def does(self, kind: DueKind) -> str:
        if kind == "reply":
            return "writes"
        return "read" if kind == "reading" else "fail" if self.fails else "deliver"

    def reason(self, kind: DueKind) -> str:
        """Return the agenda's sentence, without the line at its end."""
        return f"{self.does(kind)}() of message {self.message.id} by the autopilot, set up"


class Autopilots:
    """The autopilots of one fake since it was made or last reset."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._state = engine.state
        self._autopilots: defaultdict[str | None, list[Autopilot]] = defaultdict(list)
        self._plans: dict[int, FlightPlan] = {}  # by message number
        self._state.watchers.append(self)
        for kind in _KINDS:
            engine.executor.due_handlers[kind] = partial(_run, kind)

    def add(self, autopilot: Autopilot) -> None:
        with self._engine.core.lock:
            self._autopilots[autopilot._to].append(autopilot)

    def end(self, autopilot: Autopilot) -> None:
        with self._engine.core.lock:
            if autopilot not in self._autopilots[autopilot._to]:
                return
            self._autopilots[autopilot._to].remove(autopilot)
            for plan in [plan for plan in self._plans.values() if plan.autopilot is autopilot]:
                self.leave(plan.message)

    # Facts and their consequences: the lock is held

    def watch(self, fact: Fact | PersonFact) -> None:
        if isinstance(fact, PersonFact):
            self._on_change(fact)
        elif fact.what == "sent":
            self._on_sent(fact.message)
        else:
            plan = self._plans.get(fact.message.number)
            if plan and plan.goes_on_after(fact.what):
                self._reschedule(plan)
            else:
                self.leave(fact.message)

    def leave(self, message: MessageState) -> None:
        plan = self._plans.pop(message.number, None)
        if plan is not None:
            for key in plan.keys.values():
                self._state.schedule.cancel(key)

    def _on_sent(self, message: MessageState) -> None:
        autopilots = self._autopilots.get(message.recipient) or self._autopilots.get(None)
        if not autopilots or message.state != "sent":
            return
        autopilot = autopilots[-1]
        try:
            if autopilot._calls_the_test:
                draw = partial(autopilot._draw, message)
                plan = self._engine.core.call_back(
                    "an autopilot() function", "a duration or a string", draw
                )
                if message.state != "sent":  # another thread was faster meanwhile
                    return
            else:
                plan = autopilot._draw(message)
        except Exception as error:  # of the test's function; the test's next call raises it
            error.add_note(f"in an autopilot() function, set up at {autopilot._line}")
            self._state.errors.append(error)
            return
        self._plans[message.number] = plan
        self._reschedule(plan)

    def _on_change(self, fact: PersonFact) -> None:
        # An overdue verb that was waiting for the person happens now.
        people = self._state.account.people
        for message in people.messages_to(fact.after.address):
            plan = self._plans.get(message.number)
            if plan is None:
                continue
            has_waited = fact.before.obstacle(arrives=message.state == "sent") is not None
            kind: DueKind = "reading" if message.state == "delivered" else "autopilot"
            due = self._reschedule(plan, after=fact.at)[kind]
            if has_waited and due is not None and due <= fact.at:
                try:
                    self.act(plan, kind, fact.at)
                except Exception as error:  # the test's next call raises it
                    self._state.errors.append(error)

    def _reschedule(self, plan: FlightPlan, *, after: int = -1) -> Mapping[DueKind, int | None]:
        # Returns when each verb is due, or was: verbs that were due by `after` are not scheduled.
        schedule = self._state.schedule
        moments = plan.moments(self._state.account.people.get(plan.message.recipient))
        for kind, due in moments.items():
            key = plan.keys.get(kind)
            if key is not None and due == due_of(key):
                continue
            if key is not None:
                schedule.cancel(plan.keys.pop(kind))
            if due is not None and due > after:
                plan.keys[kind] = schedule.add(due, kind, plan)
        return moments

    def act(self, plan: FlightPlan, kind: DueKind, now: int) -> None:
        try:
            self._engine.executor.execute(plan.verb(kind), f"{plan.does(kind)}()", plan.line, now)
        except IllegalTransition:
            pass  # another thread was faster, or the person has blocked the sender
        except Exception:  # of the test's function; like a script, the plan stops here
            self.leave(plan.message)
            raise


def _run(kind: DueKind, at: int, plan: FlightPlan) -> None:
    autopilots = plan.autopilot._autopilots
    del plan.keys[kind]
    autopilots.act(plan, kind, at)
    if kind == "reply":
        autopilots.leave(plan.message)


def draws_of(span: Span, what: str) -> Draws:
    """Return a function that draws a duration; ``what`` names the argument in errors."""
    if callable(span):
        check_function(span, what, "lambda random: random.expovariate(1)", "one argument")
        draw = span  # so that type checkers know its type inside the lambda
        name = f"the duration that {what} returned"
        return lambda digest: parse_delay(draw(Random(digest)), name)  # noqa: S311 - not a secret
    if isinstance(span, (tuple, list)):
        if len(span) != 2:
            raise TypeError(f"{what}: expected a range such as (60, 3600), got {cited(span)}")
        least, most = (parse_delay(length, what) for length in span)
        if least > most:
            raise ValueError(f"{what}: expected the shorter duration first, got {cited(span)}")
        steps = (most - least) // 1_000 + 1
        return lambda digest: least + int.from_bytes(digest) * steps // _VALUES * 1_000
    length = parse_delay(span, what)
    return lambda _: length
