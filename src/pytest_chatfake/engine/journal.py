"""The journal: the order of all changes, and only the order.

Theory of operation
-------------------
Records are kept where they belong: entries in the ledger, events, attempts and requests in their
logs. The journal keeps one byte for each: its kind, or for a fact the rule that it rests on. The
n-th byte of a kind is the n-th record of that kind. A byte is appended by a method of ``bytearray``
itself (:attr:`Journal.note`), so it costs next to nothing; text is made when the journal is read.

Only verbs, moves of time and drops have no record anywhere else; theirs are here, flat in lists,
a few places for each.

A byte is noted when something *begins*: a verb before its postings, an attempt before what its
receiver does, a request before what its route does. So causes stand before effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from ..base.calling_line import Line
from ..base.views import View
from ..domain.messages import MessageState


class VerbRecord(NamedTuple):
    """A verb that was performed.

    Attributes:
        what: As the test wrote it.
        line: Where.
        subject: The message, the event, or what became of the person that it was about, if any.
        moment: When, in nanoseconds since the epoch.
    """

    what: str
    line: Line
    subject: object
    moment: int


class ClockRecord(NamedTuple):
    """A move of time.

    Attributes:
        what: As the test wrote it.
        line: Where.
        start: From when, in nanoseconds since the epoch.
        end: To when.
    """

    what: str
    line: Line
    start: int
    end: int


class Journal:
    """The order of everything that happened in a fake, since it was begun or reset.

    Attributes:
        kinds: One byte for each happening: see :mod:`~pytest_chatfake.base.notes`.
        verbs: The verbs, in order.
        moves: The moves of time, in order.
        note: Appends one.
        verb: Adds the fields of a :class:`VerbRecord`, given as a tuple.
        moved: Adds the fields of a :class:`ClockRecord`, given as a tuple.
        drops: The messages that were dropped.
        causes: Of a verb that code inside a response or an attempt called, by its place among the
            verbs: ``REQUEST`` and the place in the log of requests, or ``ATTEMPT`` and the place
            of the attempt's byte.
    """

    __slots__ = (
        "_moves",
        "_verbs",
        "causes",
        "drops",
        "kinds",
        "moved",
        "moves",
        "note",
        "verb",
        "verbs",
    )

    def __init__(self) -> None:
        self.kinds: bytearray = bytearray()
        self._verbs: list[Any] = []
        self._moves: list[Any] = []
        self.verbs: View[VerbRecord] = View(_Rows(self._verbs), VerbRecord._make)
        self.moves: View[ClockRecord] = View(_Rows(self._moves), ClockRecord._make)
        self.drops: list[MessageState] = []
        self.causes: dict[int, tuple[int, int]] = {}
        self.note: Callable[[int], None] = self.kinds.append
        self.verb: Callable[[Iterable[Any]], None] = self._verbs.extend
        self.moved: Callable[[Iterable[Any]], None] = self._moves.extend

    def clear(self) -> None:
        """Forget everything. :attr:`note` stays valid."""
        self.kinds.clear()
        self._verbs.clear()
        self._moves.clear()
        self.drops.clear()
        self.causes.clear()

    def caused_by(self, kind: int, place: int) -> None:
        """Note the cause of the last verb; see :attr:`causes`."""
        self.causes[len(self._verbs) // _FIELDS - 1] = (kind, place)


#: How many places of a list each record takes.
_FIELDS: Final = len(VerbRecord._fields)


class _Rows:
    """The rows of a flat list."""

    def __init__(self, fields: list[Any]) -> None:
        self._fields = fields

    def __len__(self) -> int:
        return len(self._fields) // _FIELDS

    def __getitem__(self, index: int, /) -> list[Any]:
        start = range(len(self))[index] * _FIELDS
        return self._fields[start : start + _FIELDS]

    def __iter__(self) -> Iterator[list[Any]]:
        return map(self.__getitem__, range(len(self)))
