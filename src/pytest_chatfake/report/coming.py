"""What is still to come by itself, and the move of the clock that lets it come.

It may be what an expectation missed: a step of a script, what an autopilot will do, an attempt that
is made again or late. It is named, with its line, because nothing else of it can be seen yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from ..base.calling_line import Line
from ..domain.instants import MILLISECOND, SECOND, stamp
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..webhooks.dispatch import Dispatch
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
        """Where the test scheduled it, or set its autopilot up."""
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
        obstacle: What keeps the message from its phone now; None if nothing does.
    """

    at: int
    does: str
    state: MessageState | None
    text: str
    origin: str
    obstacle: str | None = None

    def sentence(self) -> str:
        """Say when it is due, and where it comes from."""
        return f"{self.text} is due at {stamp(self.at)}, {self.origin}"


def coming(engine: Engine, labels: Labels) -> list[Coming]:
    """Return what is to come, in due order; not the drops, which every message has to fear."""
    with engine.lock:
        return list(_coming(engine, labels))


def _coming(engine: Engine, labels: Labels) -> Iterator[Coming]:
    landing: set[int] = set()  # the messages that the autopilot delivers, and reads after that
    for at, kind, subject in engine.schedule.pending():
        if kind == "attempt":
            if any(endpoint.connected for endpoint in subject.endpoints):
                yield _attempt(labels, at, subject)
        elif kind == "step":
            yield _laid(engine, labels, at, subject, subject.does(at), "scheduled")
        elif kind == "autopilot":
            state: MessageState = subject.message
            does = "read" if state.number in landing else subject.does(at)
            landing.add(state.number)
            if not (state.undeliverable and state.state == "sent" and does != "fail"):
                yield _laid(engine, labels, at, subject, does, "by the autopilot, set up")


def _attempt(labels: Labels, at: int, dispatch: Dispatch) -> Coming:
    event = dispatch.event
    text = f"attempt {dispatch.number} at {labels.event(event)}"
    return Coming(at, "attempt", labels.message_of(event), text, f"caused at {event.line}")


def _laid(engine: Engine, labels: Labels, at: int, laid: Laid, does: str, how: str) -> Coming:
    state = laid.message
    person = engine.account.people.get(state.recipient)
    obstacle = None
    if person is not None and does != "fail":
        obstacle = person.obstacle(arrives=state.state == "sent")
    text, origin = f"{does}() of {labels.message(state)}", f"{how} at {laid.line}"
    return Coming(at, does, state, text, origin, obstacle)


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
    if one.obstacle is not None:
        yield f"Before that, {one.obstacle}."
    else:
        yield f"Remedy: {advance(engine, one.at)}."


def still_to_come(engine: Engine, labels: Labels) -> Iterator[str]:
    """Give a line for what is to come, where nobody knows what a test missed."""
    found = coming(engine, labels)
    for one in found[:_MOST]:
        yield f"still to come: {one.sentence()}: {one.obstacle or advance(engine, one.at)}"
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
