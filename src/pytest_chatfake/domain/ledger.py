"""The ledger: append-only entries, whose sums are the balance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias

from ..base.history import Record
from .instants import instant
from .messages import MessageState
from .money import EXACT, ZERO

EntryKind: TypeAlias = Literal["opening", "top_up", "adjustment", "hold", "release", "charge"]


@dataclass(slots=True, unsafe_hash=True)
class LedgerEntry(Record):
    """One entry of the ledger.

    Attributes:
        kind: What moved the money: ``"hold"``, ``"release"``, ``"charge"``, ``"opening"``,
            ``"top_up"`` or ``"adjustment"``.
        amount: An exact decimal. Only an adjustment can be negative.
        moment: When the entry was made, in nanoseconds since the epoch.
    """

    kind: Final[EntryKind]
    amount: Final[Decimal]
    moment: int
    _message: MessageState | None = field(default=None, repr=False)

    @property
    def message_id(self) -> str | None:
        """The id of the message that the entry is about, if any."""
        return None if self._message is None else self._message.id

    @property
    def conversation_id(self) -> str | None:
        """The id of that message's conversation, if any."""
        conversation = None if self._message is None else self._message.conversation
        return None if conversation is None else conversation.id

    @property
    def at(self) -> datetime:
        """When the entry was made: aware, UTC, to the microsecond."""
        return instant(self.moment)


class Balance(NamedTuple):
    """The account's money at one moment, as exact decimals.

    Attributes:
        available: The amount that can be spent.
        held: The amount set aside for messages that are sent but not yet delivered (§3 rule 5).
        charged: The amount charged so far (§8).
        currency: Their currency, as a three-letter code.
    """

    available: Decimal
    held: Decimal
    charged: Decimal
    currency: str


class Ledger:
    """Append-only entries and their running totals.

    What each kind of entry moves::

        opening, top_up, adjustment     available += amount
        hold                            available -= amount, held    += amount
        release                         available += amount, held    -= amount
        charge                          available -= amount, charged += amount

    Attributes:
        entries: All entries so far, in order.
    """

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []
        self.available: Decimal = ZERO
        self.held: Decimal = ZERO
        self.charged: Decimal = ZERO

    def __len__(self) -> int:
        return len(self.entries)

    def running(self) -> Iterator[tuple[Decimal, Decimal, Decimal]]:
        """Yield the amounts available, held and charged after each entry."""
        replayed = Ledger()
        for entry in self.entries:
            replayed.post(entry)
            yield replayed.available, replayed.held, replayed.charged

    def post(self, entry: LedgerEntry) -> None:
        """Append an entry, and update the totals."""
        amount, add, subtract = entry.amount, EXACT.add, EXACT.subtract
        match entry.kind:
            case "hold":
                self.available = subtract(self.available, amount)
                self.held = add(self.held, amount)
            case "release":
                self.available = add(self.available, amount)
                self.held = subtract(self.held, amount)
            case "charge":
                self.available = subtract(self.available, amount)
                self.charged = add(self.charged, amount)
            case _:
                self.available = add(self.available, amount)
        self.entries.append(entry)
