"""What happens by itself later, and the move of the clock that lets it happen.

It may be what an expectation missed: a step of a script, what an autopilot will do, an attempt that
is made again or late. It is named with its line, because nothing else of it can be seen yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple, Protocol

from ..base.calling_line import Line
from ..domain.instants import MILLISECOND, SECOND, stamp
from ..domain.messages import MessageState
from ..domain.schedule import DueKind
from ..engine.engine import Engine
from .hints import awaited
from .labels import Labels

#: How many are named where nobody knows which one was missed.
_MOST: Final = 3


class Scheduled(Protocol):
    """What people do later, as the schedule keeps it."""

    @property
    def message(self) -> MessageState:
        """The message that it is about."""
        ...

    @property
    def line(self) -> Line:
        """Where the test scheduled it, or set its autopilot up."""
        ...

    def does(self, kind: DueKind, /) -> str:
        """Return the name of the verb that is due."""
        ...


class PendingItem(NamedTuple):
    """Something that happens by itself when time gets there.

    Attributes:
        at: When, in nanoseconds since the epoch.
        does: ``deliver``, ``read``, ``fail``; or ``attempt``.
        state: The message that it is about, if it is about one.
        what: What it is, with labels.
        origin: Where it comes from, with its line.
        obstacle: What keeps the message from its phone now; None if nothing does.
    """

    at: int
    does: str
    state: MessageState | None
    what: str
    origin: str
    obstacle: str | None = None

    def sentence(self, engine: Engine) -> str:
        """Say when it happens, where it comes from, and what to do about it."""
        hint = f"Run it with {advance(engine, self.at)}"
        if self.obstacle is not None:
            hint = f"Before that, {self.obstacle}"
        return f"pending: {self.what} at {stamp(self.at)} ({self.origin}). {hint}."


def pending_items(engine: Engine, labels: Labels) -> list[PendingItem]:
    """Return what is pending, in due order; not the drops, which every message has to fear."""
    with engine.lock:
        return list(_items(engine, labels))


def _items(engine: Engine, labels: Labels) -> Iterator[PendingItem]:
    for at, kind, subject in engine.schedule.pending():
        if kind == "attempt":
            event = subject.event
            what = f"attempt {subject.number} at {labels.event(event)}"
            state = labels.message_of(event)
            yield PendingItem(at, "attempt", state, what, f"caused {event.line.place}")
        elif kind != "drop":
            how = "scheduled at" if kind == "step" else "by the autopilot of"
            yield _scheduled(engine, labels, at, subject, subject.does(kind), how)


def _scheduled(
    engine: Engine, labels: Labels, at: int, scheduled: Scheduled, does: str, how: str
) -> PendingItem:
    state = scheduled.message
    person = engine.account.people.get(state.recipient)
    obstacle = None
    if person is not None and does != "fail":
        obstacle = person.obstacle(arrives=state.state == "sent")
    what, origin = f"{does}() of {labels.message(state)}", f"{how} {scheduled.line}"
    return PendingItem(at, does, state, what, origin, obstacle)


def first_pending(
    engine: Engine, labels: Labels, verbs: Collection[str], *of: MessageState
) -> Iterator[str]:
    """Give the sentence of the first that does one of these verbs to one of these messages.

    Args:
        engine: The fake's engine.
        labels: The short names.
        verbs: What it may do.
        of: To which messages; none: to any.
    """
    for item in pending_items(engine, labels):
        if item.does in verbs and (not of or item.state in of):
            yield item.sentence(engine)
            return


def pending_lines(engine: Engine, labels: Labels) -> Iterator[str]:
    """Give a line for what is pending, where nobody knows what a test missed."""
    found = pending_items(engine, labels)
    yield from (item.sentence(engine) for item in found[:_MOST])
    if len(found) > _MOST:
        yield f"... and {len(found) - _MOST} more pending, the last at {stamp(found[-1].at)}"


def advance(engine: Engine, moment: int) -> str:
    """Write the call that moves the clock to a moment."""
    wait = max(moment - engine.time.read(), 0)
    if wait % MILLISECOND:  # time runs, and nobody wants to read its digits
        wait += SECOND - wait % SECOND
    units = {"days": 86_400 * SECOND, "hours": 3_600 * SECOND, "minutes": 60 * SECOND}
    arguments: list[str] = []
    for name, size in units.items():
        count, wait = divmod(wait, size)
        if count:
            arguments.append(f"{name}={count}")
    if wait or not arguments:
        arguments.append(f"seconds={wait / SECOND:g}")
    return f"{awaited(engine)}chat_fake.clock.advance({', '.join(arguments)})"
