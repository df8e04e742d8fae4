"""The agenda: lists everything that is due, in order, as data and as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from ..base.calling_line import Line
from ..base.escaping import one_line
from ..domain.instants import instant, stamp
from ..domain.messages import MessageState
from ..engine.engine import Engine
from .handles import Message

AgendaKind: TypeAlias = Literal["step", "autopilot", "retry", "attempt", "drop", "expiry"]


class AgendaEntry(NamedTuple):
    """Something that is going to happen at a known time; ``str()`` describes it in a sentence.

    Attributes:
        at: When it is due: aware, UTC.
        kind: What is due, such as ``"drop"`` or ``"retry"``.
        message: The message that the entry is about, or None.
        line: The line of the test that scheduled it.
        text: The sentence that ``str()`` returns.
    """

    at: datetime
    kind: AgendaKind
    message: Message | None
    line: Line
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return one_line(f"<{self.kind}: {self.text}>")


def agenda(engine: Engine) -> list[AgendaEntry]:
    """Return what is due, in order, including the expiry of open conversations."""
    with engine.core.lock:
        due = [_entry(engine, *due) for due in engine.state.schedule.pending()]
        return sorted([*due, *_expiries(engine)], key=attrgetter("at"))


def _entry(engine: Engine, at: int, kind: str, subject: Any) -> AgendaEntry:
    if kind == "attempt":
        event = subject.event
        what = f"attempt {subject.number} of {event._full_name}"
        state = None if event.message_id is None else engine.account.find(event.message_id)
        why = "retry" if subject.number > 1 else "attempt"
        return _made(engine, at, why, state, event.line, f"{what}, caused")
    if kind == "drop":
        line = engine.outbox.events_of(subject)[0].line
        what = f"drop of message {subject.id} if it is still sent, sent"
        return _made(engine, at, "drop", subject, line, what)
    what = subject.reason(kind)
    shown = "autopilot" if kind in {"reading", "reply"} else kind
    return _made(engine, at, shown, subject.message, subject.line, what)


def _expiries(engine: Engine) -> Iterator[AgendaEntry]:
    now = engine.time.read()
    for message in engine.account.messages:
        conversation = message.conversation
        if conversation is None or not message.has_started_session:
            continue
        at = conversation.expires_at
        if at is not None and at > now:
            line = next(
                event.line
                for event in engine.outbox.events_of(message)
                if event.status in {"delivered", "read"} and not event.synthetic
            )
            what = f"conversation {conversation.id} expires, started"
            yield _made(engine, at, "expiry", message, line, what)


def _made(
    engine: Engine, at: int, kind: Any, state: MessageState | None, line: Line, what: str
) -> AgendaEntry:
    message = None if state is None else Message(engine, state)
    return AgendaEntry(instant(at), kind, message, line, f"{stamp(at)}: {what} {line.place}")
