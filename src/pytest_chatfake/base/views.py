"""Read-only views of growing lists; and helpers that write numbers and lists in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, Generic, Protocol, TypeVar, overload

_T = TypeVar("_T")


class Records(Protocol):
    """What a view shows: a list, or something that is indexed like one."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


def counted(count: int, what: str, plural: str | None = None) -> str:
    """Write a count with its noun: ``1 message``, ``2,000 messages``."""
    return f"{count:,} {what if count == 1 else plural or what + 's'}"


def ordinal(number: int) -> str:
    """Write an ordinal number: ``1st``, ``22nd``."""
    is_teen = number // 10 % 10 == 1
    return f"{number:,}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def listed(words: Iterable[str]) -> str:
    """Join words for a sentence: ``a, b and c``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def folded(lines: Iterable[str], most: int) -> list[str]:
    """Return the first ``most`` different lines with their counts, and how many more there are."""
    counts = Counter(lines)
    shown = [
        line if times == 1 else f"{line} ({times:,} times)"
        for line, times in islice(counts.items(), most)
    ]
    more = len(counts) - len(shown)
    return [*shown, f"... and {more:,} more"] if more else shown


class View(Sequence[_T], Generic[_T]):
    """A read-only sequence over a list that may grow.

    Args:
        items: The list.
        make: Returns what the view shows for an item.
    """

    __slots__ = ("_items", "_make")

    def __init__(self, items: Records, make: Callable[[Any], _T] | None = None) -> None:
        self._items = items
        self._make: Callable[[Any], _T] = make or (lambda item: item)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 20)))
        return f"[{shown}{', ...' if len(self) > 20 else ''}]"

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[_T]:
        return map(self._make, islice(self._items, len(self._items)))

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_T, ...]: ...

    def __getitem__(self, index: int | slice) -> _T | tuple[_T, ...]:
        if isinstance(index, slice):
            return tuple(self._make(self._items[place]) for place in range(len(self))[index])
        try:
            return self._make(self._items[index])
        except IndexError:
            raise IndexError(f"there is no item {index}: there are {len(self)}") from None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (View, list, tuple)):
            return list(self) == list(other)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it may grow
