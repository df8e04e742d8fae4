"""What is still to come by itself, and the move of the clock that lets it come.

It may be what an expectation missed: a step of a script, what an autopilot will do, an attempt that
is made again or late. It is named, with its line, because nothing else of it can be seen yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from ..base.calling_line import Line
from ..domain.instants import MILLISECOND, SECOND, stamp
from ..domain.messages import MessageState
from ..engine.engine import Engine
from .labels import Labels

#: How many are named where nobody knows which one was missed.
_MOST: Final = 3


class Laid(Protocol):
    """What people do later, as the schedule keeps it."""

    @property
    def message(self) -> MessageState:
        """The message that it is about."""
        ...

    @property
    def line(self) -> Line:
        """Where the test laid it, or set its autopilot up."""
        ...

    def does(self, at: int, /) -> str:
        """Return the name of the verb that is due at a moment."""
        ...


class Coming(NamedTuple):
    """Something that comes by itself when time gets there.

    Attributes:
        at: When, in nanoseconds since the epoch.
        does: ``deliver``, ``read``, ``fail``; or ``attempt``.
        state: The message that it is about, if it is about one.
        text: What it is, with labels.
        origin: Where it comes from, with its line.
    """

    at: int
    does: str
    state: MessageState | None
    text: str
    origin: str

    def sentence(self) -> str:
        """Say when it is due, and where it comes from."""
        return f"{self.text} is due at {stamp(self.at)}, {self.origin}"


def coming(engine: Engine, labels: Labels) -> list[Coming]:
    """Return what is to come, in due order; not the drops, which every message has to fear."""
    with engine.lock:
        return [_coming(labels, *due) for due in engine.schedule.planned() if due[1] != "drop"]


def _coming(labels: Labels, at: int, kind: str, subject: Any) -> Coming:
    if kind == "attempt":
        event = subject.event
        text = f"attempt {subject.number} at {labels.event(event)}"
        return Coming(at, kind, labels.message_of(event), text, f"caused at {event.line}")
    laid: Laid = subject
    does, state = laid.does(at), laid.message
    how = "laid" if kind == "step" else "by the autopilot, set up"
    return Coming(at, does, state, f"{does}() of {labels.message(state)}", f"{how} at {laid.line}")


def first(found: Sequence[Coming], verbs: Collection[str], *of: MessageState) -> Coming | None:
    """Return the first that does one of these.

    Args:
        found: What is to come.
        verbs: What it may do.
        of: To which messages; none: to any.
    """
    return next((one for one in found if one.does in verbs and (not of or one.state in of)), None)


def likely(engine: Engine, one: Coming) -> Iterator[str]:
    """Say that something to come is what was missed, and the remedy."""
    yield f"{one.sentence()}."
    yield f"Remedy: {advance(engine, one.at)}."


def still_to_come(engine: Engine, labels: Labels) -> Iterator[str]:
    """Give a line for what is to come, where nobody knows what a test missed."""
    found = coming(engine, labels)
    for one in found[:_MOST]:
        yield f"still to come: {one.sentence()}: {advance(engine, one.at)}"
    if len(found) > _MOST:
        yield f"... and {len(found) - _MOST} more to come, the last at {stamp(found[-1].at)}"


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
    awaited = "await " if engine.mode == "async" else ""
    return f"{awaited}chat_fake.clock.advance({', '.join(arguments)})"
