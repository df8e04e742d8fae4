"""The autopilot: people who take delivery, read or fail by chance, the same in every run.

What it does with a message is drawn when the message is sent, from the seed and the message's
number alone, and laid in the schedule. It comes last: a message with a script of its own is left
to it, and where the person or the test was faster, it adapts or leaves the message alone. So it
never fails a test.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from hashlib import blake2b
from random import Random
from typing import Final, Self, TypeAlias

from ..base.arguments import check_share, check_takes, cited
from ..base.calling_line import Line
from ..base.controls import one_line
from ..base.errors import IllegalTransition
from ..domain.facts import Fact, Verb
from ..domain.failures import failure
from ..domain.instants import planned
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..domain.schedule import due_of
from ..engine.engine import Engine

#: A length of time: one, a pair for a uniform range, or a function that draws one.
Span: TypeAlias = "timedelta | float | tuple[timedelta | float, timedelta | float] | Draw"
Draw: TypeAlias = "Callable[[Random], timedelta | float]"

#: Makes a length, in nanoseconds, of eight bytes of chance.
_Draws: TypeAlias = Callable[[bytes], int]

#: How many values eight bytes have.
_WHOLE: Final = 1 << 64

_DELIVER: Final[tuple[str, tuple[object, ...]]] = ("deliver", (None, None))
_READ: Final[tuple[str, tuple[object, ...]]] = ("read", ())
_FAIL: Final[tuple[str, tuple[object, ...]]] = ("fail", (failure("131026"),))


class Autopilot:
    """What ``chat_fake.autopilot()`` returned: it ends it. A context manager does so, too."""

    __slots__ = ("_asks", "_deliver", "_fail_share", "_line", "_pilots", "_read", "_seed", "_to")

    def __init__(
        self,
        pilots: Autopilots,
        to: str | None,
        deliver: _Draws | None,
        read: _Draws | None,
        fail_share: float,
        seed: str,
        line: Line,
        *,
        asks: bool,
    ) -> None:
        self._pilots = pilots
        self._asks = asks
        self._to = to
        self._deliver = deliver
        self._read = read
        self._fail_share = fail_share
        self._seed = seed
        self._line = line

    def __repr__(self) -> str:
        return one_line(f"<Autopilot of {self._to or 'all'}, set up at {self._line}>")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Let it do nothing more, at once in both modes; what it did stays. Twice does no harm."""
        self._pilots.end(self)

    def _flight(self, message: MessageState) -> Flight:
        """Draw what happens to a message."""
        # A hash is drawn from far faster than a generator can be seeded, message by message.
        chance = blake2b(f"{self._seed} {message.number}".encode(), digest_size=24).digest()
        fails = int.from_bytes(chance[:8]) < self._fail_share * _WHOLE
        deliver = None if self._deliver is None else self._deliver(chance[8:16])
        read = None if self._read is None else self._read(chance[16:])
        return Flight(self, message, fails, deliver, read)


@dataclass(slots=True, eq=False)
class Flight:
    """What an autopilot does with a message; one object, because there may be very many.

    Moments and lengths are in nanoseconds. A key is 0 where nothing is planned, or any more.
    """

    pilot: Autopilot
    message: MessageState
    fails: bool  # in place of its delivery
    deliver: int | None  # how long after it is sent
    read: int | None  # how long after it is delivered
    read_at: int = -1  # when that will be
    deliver_key: int = 0  # of its delivery, or of its failure, in the schedule
    read_key: int = 0

    @property
    def line(self) -> Line:
        """Where the test set the autopilot up."""
        return self.pilot._line

    def does(self, at: int) -> str:
        """Return the name of the verb that is due at a moment."""
        if not self.deliver_key or due_of(self.deliver_key) != at:
            return "read"
        return "fail" if self.fails else "deliver"

    def reason(self, at: int) -> str:
        """Why something is due at a moment, as a sentence that ends with the line."""
        return f"{self.does(at)}() of message {self.message.id} happens by the autopilot, set up"


class Autopilots:
    """The autopilots of one fake.

    Args:
        engine: The fake's engine; it tells of facts, and is told how to perform what falls due.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pilots: defaultdict[str | None, list[Autopilot]] = defaultdict(list)
        self._flights: dict[int, Flight] = {}  # by the numbers of their messages
        self._waiting: defaultdict[str, list[tuple[Flight, str]]] = defaultdict(list)

    def add(
        self,
        to: str | None,
        deliver_after: Span | None,
        read_after: Span | None,
        fail_share: float,
        seed: str,
        line: Line,
    ) -> Autopilot:
        """Set an autopilot up; for whom it is, it beats those that are there.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: An argument is out of range.
        """
        deliver = _draws(deliver_after, "deliver_after")
        read = _draws(read_after, "read_after")
        check_share(fail_share, "fail_share")
        asks = callable(deliver_after) or callable(read_after)
        pilot = Autopilot(self, to, deliver, read, fail_share, seed, line, asks=asks)
        with self._engine.lock:
            self._pilots[to].append(pilot)
            if self._watch not in self._engine.changes.watchers:  # others pay nothing for it
                self._engine.changes.watchers.append(self._watch)
                self._engine.changes.runs["autopilot"] = self._run
        return pilot

    def end(self, pilot: Autopilot) -> None:
        """Forget an autopilot, and all that it has planned."""
        with self._engine.lock:
            if pilot not in self._pilots[pilot._to]:
                return
            self._pilots[pilot._to].remove(pilot)
            for flight in [one for one in self._flights.values() if one.pilot is pilot]:
                self.leave(flight.message)

    def forget(self) -> None:
        """Forget all of them; the schedule forgets what they have planned."""
        self._pilots.clear()
        self._flights.clear()
        self._waiting.clear()
        watchers = self._engine.changes.watchers
        watchers[:] = [one for one in watchers if one != self._watch]

    def leave(self, message: MessageState) -> None:
        """Leave a message alone; the lock is held."""
        flight = self._flights.get(message.number)
        if flight is not None and flight.message is message:
            del self._flights[message.number]
            self._engine.schedule.cancel(flight.deliver_key)
            self._engine.schedule.cancel(flight.read_key)

    # What happens, and what follows: the lock is held

    def _watch(self, fact: Fact | PersonFact) -> None:
        if isinstance(fact, PersonFact):
            for waiting, state in self._waiting.pop(fact.after.address, ()):
                if waiting.message.state == state:
                    try:
                        self._act(waiting, fact.at)
                    except Exception as error:  # what they did is done: this comes after it
                        self._engine.errors.append(error)
        elif fact.what == "sent":
            self._board(fact.message, fact.at)
        elif fact.what == "delivered":
            flight = self._flights.get(fact.message.number)
            if flight is not None:
                self._land(flight, fact.message.delivered_at or fact.at)
        else:
            self.leave(fact.message)

    def _board(self, message: MessageState, now: int) -> None:
        """Draw and plan what happens to a message that was sent."""
        pilots = self._pilots.get(message.recipient) or self._pilots.get(None)
        if not pilots or message.state != "sent":
            return
        pilot = pilots[-1]
        try:
            if pilot._asks:  # a function may look, and no more
                draw = partial(pilot._flight, message)
                flight = self._engine.asking.ask("a function of autopilot()", "a length", draw)
                if message.state != "sent":  # another thread was faster meanwhile
                    return
            else:
                flight = pilot._flight(message)
        except Exception as error:  # of such a function: it is told at the test's next use
            error.add_note(f"in a function of autopilot(), set up at {pilot._line}")
            self._engine.errors.append(error)
            return
        self._flights[message.number] = flight
        if flight.fails or flight.deliver is not None:
            add = self._engine.schedule.add
            arrives = now + (flight.deliver or 0)
            flight.deliver_key = add(arrives, "autopilot", flight)
            if flight.read is not None and not flight.fails:
                flight.read_at = arrives + flight.read
                flight.read_key = add(flight.read_at, "autopilot", flight)

    def _land(self, flight: Flight, arrived: int) -> None:
        """Plan the reading of a message that has arrived: it counts from there."""
        schedule = self._engine.schedule
        schedule.cancel(flight.deliver_key)
        flight.deliver_key = 0
        if flight.read is not None and flight.read_at != arrived + flight.read:
            schedule.cancel(flight.read_key)
            flight.read_at = arrived + flight.read
            flight.read_key = schedule.add(flight.read_at, "autopilot", flight)

    def _run(self, at: int, flight: Flight) -> None:
        if flight.deliver_key:
            flight.deliver_key = 0
        else:
            flight.read_key = 0
            if flight.message.state == "sent":
                return  # it waits for the phone; when it arrives, this is planned anew
        self._act(flight, at)

    def _act(self, flight: Flight, now: int) -> None:
        """Do what is due, or wait for a phone that is off; nothing, if others were faster."""
        message = flight.message
        if self._flights.get(message.number) is not flight:
            return
        verb = _READ if message.state == "delivered" else _FAIL if flight.fails else _DELIVER
        if verb is not _FAIL and self._engine.account.people:
            if verb is _DELIVER and message.kept_back:
                return  # it never arrives by itself (§3 rule 2)
            person = self._engine.account.people.get(message.recipient)
            if person is not None and person.obstacle(arrives=verb is _DELIVER) is not None:
                self._waiting[message.recipient].append((flight, message.state))
                return
        name, arguments = verb
        try:
            laid = Verb(name, message, arguments)
            self._engine.changes.make(laid, name + "()", flight.pilot._line, now)
        except IllegalTransition:
            pass  # another thread was faster, while a function was asked
        except Exception:  # a function of the test's: as a script, it goes no further
            self.leave(message)
            raise
        except BaseException:  # an interrupt: it was taken out, and is due
            key = self._engine.schedule.add(now, "autopilot", flight)
            if verb is _READ:
                flight.read_key = key
            else:
                flight.deliver_key = key
            raise


def _draws(span: Span | None, what: str) -> _Draws | None:
    """Return what draws a length of time.

    Raises:
        TypeError: It is no length, no pair of lengths and no function of a ``random.Random``.
        ValueError: A length is out of range, or the pair is reversed.
    """
    if span is None:
        return None
    if callable(span):
        check_takes(span, what, "lambda random: random.expovariate(1)", "one argument")
        draw = span  # a name of its own: a type checker knows what it is inside the function
        name = f"the length that {what} returned"
        return lambda chance: planned(draw(Random(chance)), name)  # noqa: S311 - no secret
    if isinstance(span, (tuple, list)):
        if len(span) != 2:
            raise TypeError(f"{what} must be a pair for a range, (60, 3600), not {cited(span)}")
        least, most = (planned(one, what) for one in span)
        if least > most:
            raise ValueError(
                f"{what} must begin with the shorter length, and {cited(span)} does not"
            )
        steps = (most - least) // 1_000 + 1
        return lambda chance: least + int.from_bytes(chance) * steps // _WHOLE * 1_000
    length = planned(span, what)
    return lambda _: length
