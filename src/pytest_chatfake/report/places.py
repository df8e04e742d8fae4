"""Where in the journal the happenings of one message are, without reading all of it.

The n-th byte of a kind is the n-th record of that kind. So a byte says which record is its own once
it is known how many of each kind are before it; these counts are kept for every 1,024th byte. And a
record says which byte is its own. All of it is made when it is first asked for, and grows on.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from ..base import notes
from ..domain.messages import MessageState
from ..domain.reasons import DROPPED, RULES
from ..engine.engine import Engine
from ..webhooks.events import Event

_CHUNK: Final = 1024

#: What is counted beside the kinds of :mod:`~pytest_chatfake.base.notes`: entries of the ledger,
#: drops, and happenings.
DROP: Final = 10
HAPPENING: Final = 11
_KINDS: Final = 12

#: How many of each kind a byte stands for, by its code.
_WORTH: Final[dict[int, tuple[tuple[int, int], ...]]] = {
    code: ((code, 1), (HAPPENING, 1)) for code in range(notes.VERB, notes.API_FAULT + 1)
}
_WORTH[notes.POSTING] = ((notes.POSTING, 1),)
for _code in RULES:
    for _entries in range((255 - _code) // notes.ENTRY + 1):
        _WORTH[_code + _entries * notes.ENTRY] = (
            (DROP if RULES[_code] is DROPPED else notes.EVENT, 1),
            (notes.POSTING, _entries),
            (HAPPENING, 1 + _entries),
        )

#: The bytes of which there is one for each record of a kind.
_BYTES_OF: Final = {
    kind: bytes(code for code, worth in _WORTH.items() if (kind, 1) in worth)
    for kind in (notes.VERB, notes.EVENT, notes.ATTEMPT, notes.LOSS, notes.REQUEST, DROP)
}
_DROPS: Final = [code for code, worth in _WORTH.items() if (DROP, 1) in worth]


class Places:
    """The places of what happened to each message of one fake.

    Args:
        engine: The fake's engine.

    Attributes:
        made: The places, among all attempts, of those that were made.
        lost: The places of those that were not, because a fault said so.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._events = engine.outbox.events  # a reset brings others
        self._kinds = engine.journal.kinds
        self._counts: list[list[int]] = [[0] * _KINDS]
        self._verbs: defaultdict[int, list[int]] = defaultdict(list)
        self._verbs_read = 0
        self._attempts: defaultdict[int, list[int]] = defaultdict(list)
        self.made: array[int] = array("Q")
        self.lost: array[int] = array("Q")
        self._drops: dict[int, int] = {}
        self._drops_read = 0

    @property
    def outdated(self) -> bool:
        """Whether the fake was reset since."""
        return self._events is not self._engine.outbox.events

    def read(self) -> None:
        """Take in what is new."""
        for begin in range((len(self._counts) - 1) * _CHUNK, len(self._kinds) - _CHUNK + 1, _CHUNK):
            self._counts.append(self._counted(self._counts[-1], begin, begin + _CHUNK))
        journal, attempts = self._engine.journal, self._engine.outbox.attempts
        subjects = journal.subjects(self._verbs_read)
        for place, subject in enumerate(subjects, self._verbs_read):
            if isinstance(subject, MessageState):
                self._verbs[subject.number].append(place)
            elif isinstance(subject, Event):
                self._verbs[self._events._numbers[subject._index]].append(place)
        self._verbs_read += len(subjects)
        for place in range(len(self.made) + len(self.lost), len(attempts)):
            dropped = attempts._results[place].overrides.fault == "drop"
            (self.lost if dropped else self.made).append(place)
            self._attempts[attempts._events[place]].append(place)
        for place in range(self._drops_read, len(journal.drops)):
            self._drops[journal.drops[place].number] = place
        self._drops_read = len(journal.drops)

    def before(self, byte: int) -> list[int]:
        """Return how many of each kind are before a byte of the journal."""
        chunk = min(byte // _CHUNK, len(self._counts) - 1)
        return self._counted(self._counts[chunk], chunk * _CHUNK, byte)

    def byte(self, kind: int, number: int) -> int | None:
        """Return which byte stands for a record, if it was noted.

        Args:
            kind: Its kind.
            number: Its place among those of its kind, from 0.
        """
        chunk = bisect_right(self._counts, number, key=lambda counts: counts[kind]) - 1
        left = number - self._counts[chunk][kind]
        for place in range(chunk * _CHUNK, len(self._kinds)):
            if self._kinds[place] in _BYTES_OF[kind]:
                if not left:
                    return place
                left -= 1
        return None

    def of(self, message: MessageState) -> list[int]:
        """Return the bytes of what happened to a message, and of what did it, in order."""
        own = {
            byte
            for kind, number in self._own(message)
            if (byte := self.byte(kind, number)) is not None
        }
        return sorted(own.union(*map(self._doers, own)))

    def _own(self, message: MessageState) -> Iterator[tuple[int, int]]:
        """Give the records of a message: their kinds, and their places among these."""
        for verb in self._verbs.get(message.number, ()):
            yield notes.VERB, verb
        for event in self._events.of(message.number):
            yield notes.EVENT, event._index
            for place in self._attempts.get(event._index, ()):
                made = bisect_left(self.made, place)
                if made < len(self.made) and self.made[made] == place:
                    yield notes.ATTEMPT, made
                else:
                    yield notes.LOSS, bisect_left(self.lost, place)
        yield notes.ATTEMPT, len(self.made)  # one that has not ended, whatever it is about
        if message.number in self._drops:
            yield DROP, self._drops[message.number]

    def _doers(self, byte: int) -> set[int]:
        """Return the bytes of the last verb and the last drop before a byte, and the last move."""
        verb = self._kinds.rfind(notes.VERB, 0, byte)
        drops = {self._kinds.rfind(code, verb + 1, byte) for code in _DROPS}
        move = self._kinds.rfind(notes.CLOCK, 0, byte)
        return {verb, move, max(drops)} - {-1}

    def _counted(self, counts: Sequence[int], begin: int, end: int) -> list[int]:
        """Add what a part of the journal stands for."""
        more = list(counts)
        for code, times in Counter(self._kinds[begin:end]).items():
            for kind, worth in _WORTH[code]:
                more[kind] += worth * times
        return more
