"""The engine: time, rules and webhooks brought together; the one place where things happen.

Whatever changes the account goes through :meth:`Engine.perform`. It runs at once in sync mode and
is laid as a step in async mode, and follows one path in both: catch up with time, let the account
apply its rule, emit an event for every fact, let go of the lock, attempt.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

from ..base.calling_line import Line, calling_line
from ..base.errors import ChatFakeError, ClockError, ClosedError
from ..domain.account import Account
from ..domain.ids import Ids
from ..domain.instants import stamp
from ..domain.money import amount
from ..domain.schedule import Schedule
from ..fake.clock import ProcessTime
from ..fake.messages import Message
from ..transport.client.loops import LoopBridge, bridge_to_running_loop, running_framework
from ..webhooks.outbox import Outbox
from .agenda import LAST, Agenda
from .performer import Performer
from .plan import Performing, Plan, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ..domain.account import Change
    from ..domain.messages import MessageState
    from ..fake.config import ChatFakeConfig, Mode

__all__ = ["Engine"]

#: Set while a request to the fake is answered: whoever runs then must not attempt webhooks.
_answering: ContextVar[bool] = ContextVar("pytest_chatfake_answering", default=False)


class Engine:
    """One fake at work.

    Args:
        config: The knobs.
        mode: Who waits for attempts: the verb (sync) or the ``await`` (async).
        seed: What identifiers are derived from.
    """

    def __init__(self, config: ChatFakeConfig, mode: Mode, seed: str) -> None:
        self.config = config
        self.mode = mode
        self.seed = seed
        self.lock = threading.RLock()
        self.time = ProcessTime()
        self.schedule = Schedule()
        self.agenda = Agenda(self.schedule, self.time, self.lock)
        self.plan = Plan()
        self.closed = False
        self.errors: list[BaseException] = []
        self._pricing: set[int] = set()
        self._handover: LoopBridge | None = None
        self.outbox = Outbox(self)
        self.performer = Performer(self)
        self.begin()

    def begin(self) -> None:
        """Open the account, as new: ids from the start, nothing due."""
        self.schedule.clear()
        ids = Ids(self.seed, self.config.naming.id_prefix)
        opening = amount(self.config.opening_balance, "opening_balance")
        self.account = Account(self.config._rules, ids, self.schedule, opening, self.time.read())
        self.outbox.begin(ids)

    # Reading

    def look(self) -> None:
        """Make sure that results can be read: nothing is pending, and time is caught up with.

        Of a fake that is closed, the results stand as they were.

        Raises:
            NotAwaited: Async mode: steps are pending.
        """
        if self.closed:
            return
        if not (self._at_once or self._pricing):
            self.plan.refuse_reading()
        if self.agenda.is_due():
            self._run_what_is_due()

    def settle_and_look(self) -> None:
        """As :meth:`look`; in sync mode, what is queued is attempted before."""
        self.look()
        self._attempt()
        self.raise_errors()

    def _run_what_is_due(self) -> None:
        if self.mode == "sync" and not self.inside:
            self._run(self.agenda.settling())
        else:
            self.agenda.catch_up()

    def raise_errors(self) -> None:
        """Raise, in the test, what a user route raised while it answered; the first of them."""
        if self.errors and not self.inside:
            error = self.errors[0]
            self.errors.clear()
            raise error

    # Changing

    def perform(self, what: str, change: Change, subject: MessageState | None = None) -> None:
        """Perform a verb of the account, or lay it as a step.

        Args:
            what: What the test wrote, for messages.
            change: What it does.
            subject: Whom it concerns: who awaits that one waits for this step.
        """
        self._refuse_use(what)
        line = calling_line(4)  # this method, a helper, the verb: then the test
        if self.mode == "async" and self._waits(subject):
            self.plan.lay(Step(partial(self._changing, change, line), what, line, subject))
            return
        while True:
            if self.errors:
                self.raise_errors()
            if self._changed(change, line):
                break
            self._run_what_is_due()
        self._attempt()

    def _waits(self, subject: MessageState | None) -> bool:
        """Whether a verb waits for an ``await``.

        While an attempt is in flight, a verb of whoever acts at once; but a message that waits to
        be sent can't have been seen by a receiver.
        """
        if not self._at_once:
            return True
        return subject is not None and not subject.number and self.plan.is_to_begin(subject)

    def created(self, message: MessageState) -> None:
        """Note when a message was submitted: now, or after the pending steps."""
        if self.plan and not self._at_once:
            self.plan.lay(Step(partial(self._creating, message), "submit_text()", calling_line()))
        else:
            message.created_at = self.time.read()

    def _creating(self, message: MessageState) -> Iterator[None]:
        message.created_at = self.time.read()
        yield from ()

    def move_time(self, *, by: int | None = None, to: int | None = None) -> Performing:
        """Move time, or lay it as a step: ``by`` a length or ``to`` a moment, in nanoseconds."""
        return self.step("advance()" if to is None else "move_to()", lambda: self._moving(by, to))

    def settle(self) -> Performing:
        """Perform what is planned, run what is due now, attempt what is queued."""
        return self.step("settle()", self._settled)

    def reset(self, forget: Callable[[], None]) -> Performing:
        """Begin as new, or lay that as a step; ``forget`` clears what others keep."""

        def run() -> Iterator[None]:
            with self.lock:
                if self._pricing:
                    raise ChatFakeError("reset() is not possible while a price function is asked")
                forget()
                self.errors.clear()
                self.begin()
            yield

        return self.step("reset()", run)

    def step(self, what: str, step: Callable[[], Iterator[None]]) -> Performing:
        """Perform a step, or lay it.

        Args:
            what: What the test wrote, for messages.
            step: Changes state up to each ``yield``, where attempts are made.
        """
        self._refuse_use(what)
        if self.mode == "sync" or self.inside:
            self._run(step())
        else:
            self.plan.lay(Step(step, what, calling_line()))
        return Performing(self)

    def _run(self, step: Iterator[None]) -> None:
        for _ in step:
            self._attempt()
        self.raise_errors()

    def attempt_now(self) -> None:
        """Attempt what is queued from the thread of a request, before its answer leaves.

        In async mode the test's own loop makes the attempts, once it is known: from the first use
        of the fake inside it. Where that loop itself waits for the answer, they stay queued.
        """
        if self.mode == "sync":
            self.outbox.attempt()
        elif self._handover is not None and running_framework() is None:
            self._handover.run(self.outbox.attempt_async)

    def _attempt(self) -> None:
        """In sync mode: attempt what is queued, and wait for what another thread attempts.

        Who is part of an attempt or of an answer would wait for itself.
        """
        outbox = self.outbox
        if self.mode == "sync" and (outbox.queue or outbox.in_flight) and not _answering.get():
            outbox.attempt()
            if outbox.in_flight and not outbox.in_attempt():
                outbox.wait()
                outbox.attempt()  # what the other one left, because a receiver raised

    # The steps: state changes up to each yield, and attempts are made at it

    def _changing(self, change: Change, line: Line) -> Iterator[None]:
        while not self._changed(change, line):
            yield from self.agenda.settling()
        yield

    def _changed(self, change: Change, line: Line) -> bool:
        """Do what a verb does; nothing, and False, if something else is due before."""
        with self.lock:
            now = self.time.read()
            if self.schedule.is_due(now):
                return False
            if now > LAST:
                raise ClockError(f"nothing can be sent after {stamp(LAST)}: the calendar ends")
            for fact in change(self.account, now):
                self.outbox.emit(fact, line)
            return True

    def _settled(self) -> Iterator[None]:
        yield
        yield from self.agenda.settling()

    def _moving(self, by: int | None, to: int | None) -> Iterator[None]:
        yield from self._settled()  # what is queued is of now, and not of later
        yield from self.agenda.moving(by, to)

    # Refusals

    def own(self, message: Message) -> MessageState:
        """Return what is known of a message of this fake; it may not have been sent yet.

        Raises:
            TypeError: It is no message.
            ValueError: It belongs to another fake.
            ClosedError: It was sent before the fake was reset.
        """
        if not isinstance(message, Message):
            raise TypeError(f"a Message is needed, not {type(message).__name__} {message!r}")
        if message._engine is not self:
            raise ValueError(f"{message!r} belongs to another fake")
        self.account.refuse_stale(message._message)
        return message._message

    def refuse_mode(self, mode: Mode, written: str, wanted: str) -> None:
        """Refuse a block that is written for the other mode.

        Args:
            mode: The mode that it is written for.
            written: How it begins.
            wanted: How it begins in the other mode.

        Raises:
            TypeError: This fake is in the other mode.
        """
        if self.mode != mode:
            raise TypeError(f"this fake is in {self.mode} mode: write `{wanted}`, not `{written}`")

    def refuse_closed(self) -> None:
        """Refuse to work for a test that is over.

        Raises:
            ClosedError: It is.
        """
        # Every use of the fake comes by here, so this is where the test's own loop is met.
        if self.mode == "async" and (self._handover is None or not self._handover.is_here()):
            self._handover = bridge_to_running_loop(self.config._timeout_seconds) or self._handover
        if self.closed:
            raise ClosedError(
                "this fake is closed: its test is over. Use the chat_fake of the running test."
            )

    # Who is calling

    @contextmanager
    def pricing(self) -> Generator[None, None, None]:
        """While a price function is asked, in the middle of a verb: it may look, and no more.

        The lock is let go: the function may ask for the balance over HTTP, which another thread
        answers.
        """
        thread = threading.get_ident()
        self._pricing.add(thread)
        self.lock.release()
        try:
            yield
        finally:
            self.lock.acquire()
            self._pricing.remove(thread)

    def _refuse_use(self, what: str) -> None:
        self.refuse_closed()
        if self._pricing and threading.get_ident() in self._pricing:
            raise ChatFakeError(
                f"{what} is not possible in a price function: the message that it prices is "
                f"being sent. It may look at the message and at the fake, and return an amount."
            )

    @contextmanager
    def answering(self) -> Generator[None, None, None]:
        """While a request to the fake is answered: verbs act at once, and only queue events."""
        token = _answering.set(True)
        try:
            yield
        finally:
            _answering.reset(token)

    @property
    def inside(self) -> bool:
        """Whether the caller is part of an answer or of an attempt."""
        return _answering.get() or self.outbox.in_attempt()

    @property
    def _at_once(self) -> bool:
        return self.mode == "sync" or self.outbox.in_flight or _answering.get()
