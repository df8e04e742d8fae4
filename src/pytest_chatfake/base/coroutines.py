"""One coroutine for both modes: in sync mode, it never waits, so it runs without a loop."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


def run_at_once(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that never waits, and return its result.

    A coroutine that calls the user's code should return the exception, for its caller to raise: if
    a ``StopIteration`` leaves a coroutine, Python replaces it with a ``RuntimeError``.

    Raises:
        RuntimeError: The coroutine did wait.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine of sync mode has waited for something")
