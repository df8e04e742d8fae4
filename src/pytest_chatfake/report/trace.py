"""A fake's history, as reports read it."""

from __future__ import annotations

from itertools import accumulate
from operator import attrgetter

from ..base.growing_index import GrowingIndex
from ..base.history import Record
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..engine.records import VerbRecord
from ..webhooks.attempts import Attempt
from ..webhooks.forgeries import forgery_of
from .entries import is_odd


class Trace:
    """The history of one fake since it was made, or last reset.

    Attributes:
        records: Everything that happened; the list grows.
    """

    def __init__(self, engine: Engine) -> None:
        self.records: list[Record] = engine.state.history
        self._ledger = engine.account.ledger
        self._by_message = GrowingIndex(self.records, attrgetter("_message"))

    def __len__(self) -> int:
        return len(self.records)

    @property
    def begun(self) -> int:
        """When the fake was made or reset, in nanoseconds."""
        return self._ledger.entries[0].moment

    def of(self, message: MessageState) -> list[Record]:
        """Return what happened to one message: its facts, their attempts, and their verbs."""
        return [self.records[place] for place in self._by_message.places(message)]

    def odd(self, start: int = 0) -> list[Record]:
        """Return the records, from an index on, that have failed or have marks: see `is_odd`."""
        return [
            record for record in self.records[start:] if is_odd(record) and not _is_forgery(record)
        ]

    @property
    def postings(self) -> list[int]:
        """The number of postings up to each record."""
        posted = (
            isinstance(record, LedgerEntry)
            or (isinstance(record, VerbRecord) and record.posted is not None)
            for record in self.records
        )
        return [*accumulate(posted, initial=1)]  # the opening balance has no record


def _is_forgery(record: Record) -> bool:
    forgery = forgery_of(record) if isinstance(record, Attempt) else None
    return forgery is not None and not forgery.got_through
