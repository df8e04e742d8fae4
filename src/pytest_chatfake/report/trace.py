"""What reports ask of the history of one fake."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter

from ..base.growing_index import GrowingIndex
from ..base.history import Record
from ..base.triggers import Trigger
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..engine.records import VerbRecord
from ..http_api.account import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from .entries import Kind, is_odd, kind_of


class Trace:
    """The history of one fake from its beginning, or its last reset, on.

    Args:
        engine: The fake's engine.

    Attributes:
        records: All that happened; more are added.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.records: list[Record] = engine.core.history.records  # a reset begins another list
        self._ledger = engine.account.ledger
        self._by_message: GrowingIndex[Record, MessageState | None]
        self._by_message = GrowingIndex(self.records, attrgetter("_message"))

    def __len__(self) -> int:
        return len(self.records)

    @property
    def begun(self) -> int:
        """When the fake was begun, or reset."""
        return self._ledger.entries[0].moment

    @property
    def is_outdated(self) -> bool:
        """Whether the fake was reset since."""
        return self.records is not self._engine.core.history.records

    def of(self, message: MessageState) -> list[Record]:
        """Return what happened to one message: its facts, their attempts, and their verbs."""
        with self._engine.core.lock:
            return self._by_message.all(message)

    def odd(self, start: int = 0) -> list[Record]:
        """Return what is not as usual, from an index on: what failed, and what has marks."""
        kinds = (Attempt, ApiRequest, Trigger)
        return [
            one
            for one in self.records[start:]
            if (one._marks or isinstance(one, kinds)) and is_odd(one) and not _is_forgery(one)
        ]

    def priced(self, start: int = 0) -> list[MessageState]:
        """Return the messages whose price is worth a look, of those with events since an index.

        They are the last one that was charged, and the last one that costs nothing.
        """
        told = (one._message for one in self.records[start:] if isinstance(one, Event))
        messages = sorted({one for one in told if one is not None}, key=attrgetter("number"))
        charged = [one for one in messages if one.charged] or messages
        free = [one for one in messages if not (one.held or one.charged)]
        return [one for one in messages if one in (*charged[-1:], *free[-1:])]

    def accepted(self, start: int = 0) -> Counter[Endpoint]:
        """Count the attempts that each endpoint has responded to with 2xx, since an index."""
        attempts = (one for one in self.records[start:] if isinstance(one, Attempt))
        return Counter(one.endpoint for one in attempts if one.ok and not _is_forgery(one))

    def postings(self, stop: int) -> int:
        """Count what the ledger had posted when so many things had happened."""
        posted = sum(map(_has_posted, self.records[:stop]))
        return 1 + posted  # the opening balance is no record

    def count(self, start: int, stop: int | None = None) -> Counter[Kind]:
        """Count the records of a range by their kinds, in the order in which these come."""
        return Counter[Kind](map(kind_of, self.records[start:stop]))


def _is_forgery(record: Record) -> bool:
    """Return whether it was attempted to be refused: the check of that says more."""
    return isinstance(record, Attempt) and record.fault == "forgery"


def _has_posted(record: Record) -> bool:
    return isinstance(record, LedgerEntry) or (
        isinstance(record, VerbRecord) and record.posted is not None
    )
