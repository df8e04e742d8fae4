"""Objects that all fakes of a session of pytest share, if the session asks for that.

A run of pytest may run inside another one (pytest's own ``pytester`` does that), so sessions are
a stack, and fakes are of the innermost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .terminal import say


class Shared(Protocol):
    """Something that is shared, and ends with the session."""

    def close(self) -> None:
        """End it."""
        ...


T = TypeVar("T", bound=Shared)

_sessions: list[dict[type[Any], Any] | None] = []


def begin(*, shares: bool) -> Callable[[], None]:
    """Begin a session; return the function that ends it, and closes what its fakes shared.

    Errors at the end are shown on the terminal: no test is left to report them.
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
    """Return the session's one object of a kind, made when it is first asked for."""
    kept = _sessions[-1] if _sessions else None
    if kept is None:
        return None
    if kind not in kept:
        kept.setdefault(kind, kind())  # of two threads, both get the first one's
    found: T = kept[kind]
    return found
