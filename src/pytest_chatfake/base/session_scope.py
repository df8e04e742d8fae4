"""Objects that all fakes of a pytest session share, if the session asks for it.

Sessions are a stack, because pytest may run inside pytest, as with ``pytester``; a fake belongs to
the innermost session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .terminal import say


class Shared(Protocol):
    """An object that is shared, and closed at the end of the session."""

    def close(self) -> None:
        """Close it; errors are shown on the terminal."""
        ...


T = TypeVar("T", bound=Shared)

_sessions: list[dict[type[Any], Any] | None] = []


def begin(*, shares: bool) -> Callable[[], None]:
    """Begin a session; return the function that ends it and closes its shared objects.

    Errors on closing go to the terminal, because no test is left to report them.
    """
    _sessions.append({} if shares else None)
    return _end


def _end() -> None:
    for shared in (_sessions.pop() or {}).values():
        try:
            shared.close()
        except Exception as error:
            say(str(error))


def of_the_session(kind: type[T]) -> T | None:
    """Return the session's one object of this class, made on first use; None if it shares none."""
    kept = _sessions[-1] if _sessions else None
    if kept is None:
        return None
    if kind not in kept:
        kept.setdefault(kind, kind())  # two threads at once get the same object
    found: T = kept[kind]
    return found
