"""Scopes: which of the user's code a fake is running, and whatever that code calls in turn."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from .history import Record


@dataclass(slots=True, eq=False)
class Callback:
    """A call of a test's function that may only read the fake: a price, ``extra=``, a predicate.

    Attributes:
        function: The name of the function in an error.
        returns: What the function should return, for the same error.
    """

    function: str
    returns: str


#: A request while its response is written, an attempt while its receiver runs, or a callback.
Scope: TypeAlias = Record | Callback

#: The scopes in which the running code was started, the innermost last, each with its fake's
#: `Scopes`, because one fake's receiver may use another fake. A task inherits them from the code
#: that starts it; a plain thread doesn't. Scopes that have ended are ignored, so they need not be
#: removed.
_around: ContextVar[tuple[tuple[Scopes, Scope], ...]] = ContextVar(
    "pytest_chatfake_scopes", default=()
)


class Scopes:
    """The scopes of one fake.

    Code that begins a scope ends it in a ``finally``.

    Attributes:
        open: The scopes that have begun and not ended, in all threads and tasks.
    """

    def __init__(self) -> None:
        self.open: set[Scope] = set()

    def begin(self, scope: Scope) -> None:
        """Make the running code part of a scope, until the scope ends."""
        around = (*filter(_is_open, _around.get()), (self, scope))
        self.open.add(scope)
        _around.set(around)

    def end(self, scope: Scope) -> None:
        """End a scope where it began; code that it has started still counts as started by it."""
        self.open.discard(scope)  # first, and in one step that no interrupt can split
        around = _around.get()
        if around and around[-1][1] is scope:
            _around.set(around[:-1])

    def started_by(self) -> Scope | None:
        """Return the innermost scope that started the running code, even if the scope has ended."""
        started = [scope for scopes, scope in _around.get() if scopes is self]
        return started[-1] if started else None

    def current(self) -> Sequence[Scope]:
        """Return the open scopes around the caller, the innermost last."""
        return [scope for _, scope in _around.get() if scope in self.open] if self.open else ()


def _is_open(around: tuple[Scopes, Scope]) -> bool:
    scopes, scope = around
    return scope in scopes.open
