"""Who is calling: code of the user's that a fake is running now, and whatever that calls."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from .history import Record


@dataclass(slots=True, eq=False)
class Callback:
    """A call of a function of the configuration: a price, ``extra=``, an autopilot's length.

    Attributes:
        function: What is called, for the sentence of a refusal.
        returns: What it is to return.
    """

    function: str
    returns: str


#: A request whose response is being written, an attempt whose receiver runs, or a callback.
Scope: TypeAlias = Record | Callback

#: The scopes in which the running code began, the innermost last, each with those of its fake: a
#: receiver of one fake may use another. A task inherits them from the code that starts it; a plain
#: thread does not. Those that have ended count for nothing, so nobody has to take them out.
_around: ContextVar[tuple[tuple[Scopes, Scope], ...]] = ContextVar(
    "pytest_chatfake_scopes", default=()
)


class Scopes:
    """The scopes of one fake.

    Attributes:
        open: Those that have begun and not ended, in all threads and tasks. What begins a scope
            discards it here in a ``finally``, in one step that no interrupt can split.
    """

    def __init__(self) -> None:
        self.open: set[Scope] = set()

    def begin(self, scope: Scope) -> None:
        """Make the running code part of a scope, as long as that is open."""
        around = [(scopes, outer) for scopes, outer in _around.get() if outer in scopes.open]
        self.open.add(scope)
        _around.set((*around, (self, scope)))

    def current(self) -> Sequence[Scope]:
        """Return the open scopes that the caller is part of, the innermost last."""
        return [scope for _, scope in _around.get() if scope in self.open] if self.open else ()
