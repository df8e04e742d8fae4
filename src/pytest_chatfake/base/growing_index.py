"""An index over a list that grows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, TypeVar

from .views import View

_Record = TypeVar("_Record")
_Key = TypeVar("_Key", bound=Hashable)


class GrowingIndex(Generic[_Record, _Key]):
    """Finds records by a key, in a list to which more are added, from any thread.

    It is made when it is first asked for, because many tests never ask.
    """

    __slots__ = ("_key", "_lock", "_places", "_read", "_records")

    def __init__(self, records: Sequence[_Record], key: Callable[[_Record], _Key]) -> None:
        self._records = records
        self._key = key
        self._places: dict[_Key, list[int]] = {}
        self._read = 0
        self._lock = threading.Lock()

    def places(self, key: _Key) -> Sequence[int]:
        """Return the places of the records of a key in the list, in order."""
        with self._lock:
            for place in range(self._read, len(self._records)):
                self._places.setdefault(self._key(self._records[place]), []).append(place)
                self._read = place + 1
            return self._places.get(key, ())

    def all(self, key: _Key) -> View[_Record]:
        """Return the records of a key, in order, without a copy."""
        return View(_Found(self, key))

    def first(self, key: _Key) -> _Record | None:
        """Return the first record of a key, if there is one."""
        places = self.places(key)
        return self._records[places[0]] if places else None


class _Found(Generic[_Record, _Key]):
    """The records of a key, those that come later, too."""

    __slots__ = ("_index", "_key")

    def __init__(self, index: GrowingIndex[_Record, _Key], key: _Key) -> None:
        self._index = index
        self._key = key

    def __len__(self) -> int:
        return len(self._index.places(self._key))

    def __getitem__(self, number: int) -> _Record:
        return self._index._records[self._index.places(self._key)[number]]

    def __iter__(self) -> Iterator[_Record]:
        return (self._index._records[place] for place in self._index.places(self._key))
