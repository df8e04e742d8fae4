"""Records of verbs, clock moves and drops."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..base.calling_line import Line
from ..base.history import Record
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.reasons import DROPPED


@dataclass(slots=True, eq=False)
class VerbRecord(Record):
    """A verb, or another call of the test that affects what happens later.

    Attributes:
        what: The call, as the test wrote it.
        line: The line of that call.
        subject: The message, event, change of a person, or posting about the whole account that it
            is about, if any.
        moment: When it happened, in nanoseconds since the epoch.
        is_by_person: Whether a person did it, rather than the test or the app.
    """

    what: str
    line: Line
    subject: object
    moment: int
    is_by_person: bool = False

    @property
    def posted(self) -> LedgerEntry | None:
        """Its ledger entry, if it is about the whole account."""
        return self.subject if isinstance(self.subject, LedgerEntry) else None

    @property
    def _message(self) -> MessageState | None:
        subject = self.subject
        if isinstance(subject, MessageState):
            return subject
        return subject._message if isinstance(subject, Record) else None


@dataclass(slots=True, eq=False)
class ClockRecord(Record):
    """A clock move.

    Attributes:
        what: The call, as the test wrote it.
        line: The line of that call.
        moment: The moment before the move, in nanoseconds since the epoch.
        end: The moment after it.
    """

    what: str
    line: Line
    moment: int
    end: int


@dataclass(slots=True, eq=False)
class DropRecord(Record):
    """A message's drop, which has no event (§3 rule 6); the moment is in nanoseconds."""

    _message: MessageState = field()
    moment: int = field()
    _rule = DROPPED
