"""An index of a growing list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from .forks import new_lock
from .views import View

_Record = TypeVar("_Record")


class GrowingIndex(Generic[_Record]):
    """Finds records by a key, in a list to which any thread may append.

    The list is only read on demand, because many tests never look anything up.

    Args:
        records: The list.
        key: Returns a record's key, which must be hashable.
    """

    def __init__(self, records: Sequence[_Record], key: Callable[[_Record], object]) -> None:
        self._records = records
        self._key = key
        self._places: dict[object, list[int]] = {}
        self._read = 0
        self._lock = new_lock()

    def places(self, key: object) -> Sequence[int]:
        """Return the indexes of the records with a key, in order."""
        with self._lock:
            for place in range(self._read, len(self._records)):
                self._places.setdefault(self._key(self._records[place]), []).append(place)
                self._read = place + 1
            return self._places.get(key, ())

    def all(self, key: object) -> View[_Record]:
        """Return the records with a key, in order, as a view that grows with the list."""
        return View(_Found(self, key))

    def first(self, key: object) -> _Record | None:
        """Return the first record with a key, if any."""
        places = self.places(key)
        return self._records[places[0]] if places else None


class _Found:
    """The records with a key, as :class:`.View` reads them."""

    def __init__(self, index: GrowingIndex[Any], key: object) -> None:
        self._index = index
        self._key = key

    def __len__(self) -> int:
        return len(self._index.places(self._key))

    def __getitem__(self, number: int) -> Any:
        return self._index._records[self._index.places(self._key)[number]]

    def __iter__(self) -> Iterator[Any]:
        return (self._index._records[place] for place in self._index.places(self._key))
