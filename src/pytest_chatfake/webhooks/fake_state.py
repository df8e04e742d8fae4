"""``FakeState``: everything that a reset forgets, in one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ..base.calling_line import Line
from ..base.history import History
from ..base.tracebacks import LoggedError
from ..domain.account import Account
from ..domain.facts import Fact
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..domain.schedule import Schedule
from .outbox import Outbox

_T = TypeVar("_T")


class Watcher(Protocol):
    """Follows what happens in a fake; its methods must not raise, and the lock is held."""

    def watch(self, fact: Fact | PersonFact) -> None:
        """See a fact, once it and its consequences were applied."""

    def leave(self, message: MessageState) -> None:
        """Leave a message alone from now on, because it has a script."""


@dataclass(slots=True, eq=False)
class FakeState:
    """What has happened in a fake since it was made or last reset, and what will come of it.

    A reset is the assignment of a new one to :attr:`.Core.state`. So nothing has to be cleared, and
    whatever is still going on then ends in the old one, where nothing comes of it. Messages know
    their account, and records their history; both are compared with the present ones.

    Attributes:
        schedule: What will happen, and when.
        history: What has happened.
        account: The account.
        outbox: The events, and the attempts to post them.
        errors: Errors that could not be raised where they happened: the test's next call raises the
            first.
        background: Exceptions of tasks and threads, and those that are logged once the attempt that
            started the code has ended.
        watchers: Follow what happens.
        early: How many devices got a message before the test's ``deliver()``, which then counts as
            those deliveries.
        unused: What does nothing until it is used, such as a block that was not entered: what to
            write instead, and the line of the test that made it.
        blocked: Whether webhooks stayed in the queue because the test's loop was waiting for the
            very response that caused them.
    """

    schedule: Schedule
    history: History
    account: Account
    outbox: Outbox
    errors: list[BaseException] = field(default_factory=list[BaseException])
    background: list[LoggedError] = field(default_factory=list[LoggedError])
    watchers: list[Watcher] = field(default_factory=list[Watcher])
    early: dict[MessageState, int] = field(default_factory=dict[MessageState, int])
    unused: dict[object, tuple[str, Line]] = field(default_factory=dict[object, tuple[str, Line]])
    blocked: bool = False
    _parts: dict[object, Any] = field(default_factory=dict[object, Any])

    def part(self, owner: object, make: Callable[[], _T]) -> _T:
        """Return what a class or an object of a higher room has to forget at a reset.

        It is made when its owner first asks for it.
        """
        found: _T | None = self._parts.get(owner)
        return self._parts.setdefault(owner, make()) if found is None else found
