"""Changes of the process, such as functions with other code, which have to be undone in any case.

An exit stack undoes them, unless an interrupt comes while it is closed. What is left then is undone
when the exploration ends.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

#: What undoes the changes that are in force, in their order, by its id.
_left: Final[dict[int, Callable[[], object]]] = {}


def undo_with(stack: ExitStack, undo: Callable[[], object]) -> None:
    """Undo a change when a stack is closed. Call this first: an interrupt may come at any time."""
    _left[id(undo)] = undo
    stack.callback(_undo, id(undo))


def changes() -> int:
    """Return how many changes are in force."""
    return len(_left)


def undo_since(count: int) -> None:
    """Undo the changes that an interrupt has left, but not the first ``count``."""
    for key in reversed([*_left][count:]):
        _undo(key)


def _undo(key: int) -> None:
    undo = _left.get(key)
    if undo is not None:
        undo()
        _left.pop(key, None)
