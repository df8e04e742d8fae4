"""What is pending, and the clock move that would run it.

A failed expectation may have been too early: before a script's step, an autopilot's verb, a retry
or a delayed attempt. The timeline can't show these yet, so the sentences give their lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from ..domain.instants import MILLISECOND, SECOND, stamp
from ..domain.messages import MessageState
from ..domain.schedule import DueWork
from ..engine.engine import Engine
from .hints import awaited
from .labels import Labels
from .timeline_text import units

#: The maximum number of pending steps listed if a test may have missed any of them.
_MAX_PENDING: Final = 3


def _pending(engine: Engine) -> list[DueWork]:
    # Without drops, because every sent message has one.
    with engine.core.lock:
        return [due for due in engine.state.schedule.pending() if due[1] != "drop"]


def _sentence(engine: Engine, labels: Labels, due: DueWork) -> str:
    at, kind, subject = due
    hint = f"Run it with {advance(engine, at)}"
    if kind == "attempt":
        what = f"attempt {subject.number} of {subject.event._name}"
        origin = f"caused {subject.event.line.place}"
    else:
        message, does = subject.message, subject.does(kind)
        what = f"{does}() of {labels.message(message)}"
        how = "scheduled at" if kind == "step" else "by the autopilot set up at"
        origin = f"{how} {subject.line}"
        if does != "fail" and (obstacle := obstacle_of(engine, message)) is not None:
            hint = f"But {obstacle}"
    return f"pending: {what} at {stamp(at)} ({origin}). {hint}."


def obstacle_of(engine: Engine, message: MessageState) -> str | None:
    """Return what keeps a message from arriving or being read, as part of a sentence."""
    person = engine.account.people.get(message.recipient)
    return None if person is None else person.obstacle(arrives=message.state == "sent")


def first_pending(
    engine: Engine, labels: Labels, verbs: Collection[str], *of: MessageState
) -> Iterator[str]:
    """Describe the first of these verbs that is pending, for one of the messages or for any."""
    for due in _pending(engine):
        _, kind, subject = due
        does = kind if kind == "attempt" else subject.does(kind)
        if does in verbs and (not of or subject.message in of):
            yield _sentence(engine, labels, due)
            return


def pending_lines(engine: Engine, labels: Labels) -> Iterator[str]:
    """Return a line for each pending step, any of which a failed test may have missed."""
    found = _pending(engine)
    yield from (_sentence(engine, labels, due) for due in found[:_MAX_PENDING])
    if len(found) > _MAX_PENDING:
        yield f"... and {len(found) - _MAX_PENDING} more pending, the last at {stamp(found[-1][0])}"


def advance(engine: Engine, moment: int) -> str:
    """Return the call that moves the clock to a moment."""
    wait = max(moment - engine.time.read(), 0)
    if wait % MILLISECOND:  # time is running, so round up to a second
        wait += SECOND - wait % SECOND
    arguments = ", ".join(f"{name}={count:g}" for name, count in units(wait).items())
    return f"{awaited(engine)}chat_fake.clock.advance({arguments})"
