"""``FakeState``: everything that a reset forgets, in one object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ..base.calling_line import Line
from ..base.history import History
from ..base.tracebacks import LoggedError
from ..domain.account import Account
from ..domain.facts import Fact
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..domain.schedule import Schedule
from .endpoints import Endpoint, Signer
from .faults import Fault
from .outbox import Outbox
from .queue import Queue

_T = TypeVar("_T")


class Watcher(Protocol):
    """Follows what happens in a fake; its methods must not raise, and the lock is held."""

    def watch(self, fact: Fact | PersonFact) -> None:
        """See a fact, once it and its consequences were applied."""

    def leave(self, message: MessageState) -> None:
        """Leave a message alone from now on, because it has a script."""


class FakeState:
    """What has happened in a fake since it was made or last reset, and what will come of it.

    A reset is the assignment of a new one to :attr:`.Core.state`. So nothing has to be cleared, and
    whatever is still going on then ends in the old one, where nothing comes of it. Messages know
    their account, and records their history; both are compared with the present ones.

    Attributes:
        schedule: What will happen, and when.
        history: What has happened.
        account: The account.
        outbox: The events, and the attempts that were made.
        queue: The attempts that are still to be made.
        faults: The faults in webhooks, in the order in which they were set up, including removed
            ones, because an unused fault is reported when the test ends.
        signers: The signers of endpoints whose secrets have changed, from the first to the last.
        failures: How many attempts in a row have failed, by endpoint, until it was disabled.
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

    def __init__(
        self, schedule: Schedule, history: History, account: Account, outbox: Outbox
    ) -> None:
        self.schedule = schedule
        self.history = history
        self.account = account
        self.outbox = outbox
        self.queue: Queue = outbox.queue
        self.faults: list[Fault] = []
        self.signers: dict[Endpoint, list[Signer | None]] = {}
        self.failures: dict[Endpoint, int] = {}
        self.errors: list[BaseException] = []
        self.background: list[LoggedError] = []
        self.watchers: list[Watcher] = []
        self.early: dict[MessageState, int] = {}
        self.unused: dict[object, tuple[str, Line]] = {}
        self.blocked = False
        self._parts: dict[object, Any] = {}

    def part(self, owner: object, make: Callable[[], _T]) -> _T:
        """Return what a class or an object of a higher room forgets at a reset.

        It is made when its owner first asks for it.
        """
        found: _T | None = self._parts.get(owner)
        return self._parts.setdefault(owner, make()) if found is None else found
