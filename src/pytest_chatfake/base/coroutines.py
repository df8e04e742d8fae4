"""One coroutine for both modes: sync mode runs it without a loop, for nothing in it waits there."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


def run_at_once(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that never waits, and return its result.

    ``StopIteration`` can't leave a coroutine: Python makes a ``RuntimeError`` of it. So a coroutine
    that calls the user's code returns what that raises, and its caller raises it.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine of sync mode has waited for something")
