"""The engine: time, rules and webhooks brought together; the one place where things happen.

Theory of operation
-------------------
*One path.* Whatever changes the account is a :class:`.Verb`, given to :meth:`Engine.perform`. In
sync mode it is performed at once; in async mode it becomes a step of the plan, which an ``await``
performs. Both go the same way: run what fell due before, let the account decide, write the
events, apply the facts, queue the events; let go of the lock; attempt what is queued.

*The lock* (:attr:`Engine.lock`) is held from the decision to the queue: no other thread sees half
of a verb, and two threads' verbs come one after the other. It is never held while a webhook is
attempted, a request is answered or a price function is asked: each of these may come back with a
request or a verb, from this thread or from another one. It is re-entrant for the sake of what
falls due.

*Who must not attempt.* A route's answer is written in the thread of a request, for which the app
may be waiting: so verbs in it act at once, and their events stay queued for the test's next verb,
assertion or ``settle()``. The same holds inside a price function, except that verbs are refused
there. In both, what fell due meanwhile is caught up with, and its events are queued too.

*What falls due* (:class:`.Agenda`) happens when process time gets there: as the clock moves, or,
where somebody else moved time, at the next use of the fake, in due order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from functools import partial

from ..base.calling_line import Line, calling_line
from ..base.errors import ClockError, ClosedError
from ..domain.account import Account
from ..domain.facts import Verb
from ..domain.ids import ids_of
from ..domain.instants import stamp
from ..domain.messages import MessageState
from ..domain.money import EXACT
from ..domain.schedule import Due, Schedule
from ..transport.client.loops import LoopBridge, bridge_to_running_loop, running_framework
from ..webhooks.outbox import Outbox
from ..wire.bodies import EventWriter
from .agenda import LAST, Agenda
from .asking import Asking
from .changes import Changes
from .performer import PendingPlan, Performer
from .plan import Plan, Step
from .process_time import ProcessTime
from .settings import Settings

#: The engines of the fakes that answer a request in the running code: their webhooks must wait.
_answering: ContextVar[tuple[Engine, ...]] = ContextVar("pytest_chatfake_answering", default=())


class Engine:
    """One fake at work.

    Args:
        settings: What it needs of the configuration.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.mode = settings.mode
        self.lock = threading.RLock()
        self.time = ProcessTime()
        self.schedule = Schedule()
        self.closed = False
        self.errors: list[BaseException] = []
        self.agenda = Agenda(self.schedule, self.time, self.lock, self._run_due, self.errors)
        self.asking = Asking(self.lock)
        self._test_loop: LoopBridge | None = None
        self.outbox = Outbox(
            EventWriter(
                settings.naming, settings.currency, settings.conversation_type, settings.sender
            ),
            per_message=settings.event_ids == "per-message",
            timeout=settings.timeout,
            now=self.time.read,
            schedule=self.schedule,
            lock=self.lock,
            errors=self.errors,
        )
        self.changes = Changes(self.outbox)
        self.plan = Plan()
        self.performer = Performer(
            None if self.mode == "sync" else self.plan,
            self.outbox,
            self.is_inside,
            self.raise_errors,
        )
        self._begin()

    def _begin(self) -> None:
        """Open the account, as new: ids from the start, nothing due."""
        settings = self.settings
        self.schedule.clear()
        self.errors.clear()
        ids = ids_of(settings.seed, settings.naming.id_prefix)
        self.account = self.changes.account = Account(
            settings.rules, ids, self.schedule, settings.opening_balance, self.time.read()
        )
        self.outbox.begin(ids)

    # Changing

    def perform(self, verb: Verb, what: str, *, at_once: bool = False) -> None:
        """Perform a verb, or add it to the plan.

        Args:
            verb: What to do.
            what: What the test wrote, for messages.
            at_once: Whether async mode performs it, too, and leaves its events to the ``await``.

        Raises:
            ClosedError: The fake is closed.
            ChatFakeError: It comes from a price function, which may only look.
        """
        if self.closed or self.asking.threads or self.mode == "async":
            self._refuse_use(what)
        line = calling_line(3)  # this method, the public one: then the test
        if self.mode == "async" and not at_once and self._waits(verb.message):
            run = partial(self._changing, verb, line)
            self.plan.enqueue(Step(run, what, line, verb.message))
            return
        if self.errors:
            self.raise_errors()
        while not self._change(verb, line):
            self._run_what_is_due()
            self.raise_errors()
        if self.mode == "sync" and self not in _answering.get():
            self.outbox.flush()

    def _waits(self, message: MessageState | None) -> bool:
        """Whether a verb waits for an ``await``.

        While an attempt is in flight, verbs act at once, whoever calls them; but a message that
        waits to be sent can't have been seen by a receiver.
        """
        if not self._acts_at_once():
            return True
        return message is not None and not message.is_known and self.plan.is_to_begin(message)

    def _changing(self, verb: Verb, line: Line) -> Iterator[None]:
        while not self._change(verb, line):
            yield from self.agenda.settling()
        yield

    def _change(self, verb: Verb, line: Line) -> bool:
        """Do what a verb says; nothing, and False, if something else is due before."""
        with self.lock:
            now = self.time.read()
            if self.schedule.is_due(now):
                return False
            if now > LAST:
                raise ClockError(f"nothing can be sent after {stamp(LAST)}: the calendar ends")
            self.changes.make(verb, line, now)
            return True

    def _run_due(self, due: Due) -> None:
        self.changes.runs[due.kind](due)

    def submitted(self, message: MessageState) -> None:
        """Note when a message was submitted: now, or after the pending steps."""
        if self.plan and not self._acts_at_once():
            run = partial(self._submitting, message)
            self.plan.enqueue(Step(run, "submit_text()", calling_line()))
        else:
            message.created_at = self.time.read()

    def _submitting(self, message: MessageState) -> Iterator[None]:
        message.created_at = self.time.read()
        yield from ()

    # Steps: state changes up to each yield, and attempts are made at it

    def move_time(self, *, by: int | None = None, to: int | None = None) -> PendingPlan:
        """Move time, or plan to: ``by`` a length or ``to`` a moment, in nanoseconds."""
        what = "advance()" if to is None else "move_to()"
        return self.step(what, partial(self.agenda.moving, by, to))

    def settle(self) -> PendingPlan:
        """Perform what is planned, run what is due now, attempt what is queued."""
        return self.step("settle()", self.agenda.settling)

    def reset(self, forget: Callable[[], None]) -> PendingPlan:
        """Begin as new, or add that to the plan; ``forget`` clears what other rooms keep."""

        def run() -> Iterator[None]:
            with self.lock:
                self.asking.refuse_reset()
                forget()
                self._begin()
            yield

        return self.step("reset()", run)

    def step(self, what: str, step: Callable[[], Iterator[None]]) -> PendingPlan:
        """Perform a step, or add it to the plan.

        Args:
            what: What the test wrote, for messages.
            step: Changes state up to each ``yield``, where attempts are made.
        """
        if self.closed or self.asking.threads or self.mode == "async":
            self._refuse_use(what)
        if self.mode == "sync" or self.is_inside():
            self._run(step())
        else:
            self.plan.enqueue(Step(step, what, calling_line()))
        return PendingPlan(self.performer)

    def _run(self, step: Iterator[None]) -> None:
        for _ in step:
            self._attempt()
        if self.errors:
            self.raise_errors()

    # Attempting

    def _attempt(self) -> None:
        """In sync mode: attempt what is queued, but not from inside an answer."""
        outbox = self.outbox
        idle = not (outbox.queue or outbox.busy.locked())
        if not idle and self.mode == "sync" and self not in _answering.get():
            outbox.flush()

    def attempt_now(self) -> None:
        """Attempt what is queued from the thread of a request, before its answer leaves.

        In async mode the test's own loop makes the attempts, once it is known: from the first use
        of the fake inside it. Where that loop itself waits for the answer, they stay queued.
        """
        if self.mode == "sync":
            self.outbox.attempt()
        elif self._test_loop is not None and running_framework() is None:
            self._test_loop.run(self.outbox.attempt_async)

    def raise_errors(self) -> None:
        """Raise, in the test, what could not be raised where it was seen; the first of them."""
        if self.errors and not self.is_inside():
            error = self.errors[0]
            self.errors.clear()
            raise error

    # Reading

    def ensure_readable(self) -> None:
        """Make sure that results can be read: nothing is pending, and time is caught up with.

        Of a fake that is closed, the results stand as they were.

        Raises:
            NotAwaited: Async mode: steps are pending.
        """
        if self.closed:
            return
        if not (self._acts_at_once() or self.asking.threads):
            self.plan.refuse_reading()
        if self.agenda.is_due():
            self._run_what_is_due()
        if self.errors:
            self.raise_errors()

    def settle_before_read(self) -> None:
        """As :meth:`ensure_readable`; in sync mode, what is queued is attempted before."""
        self.ensure_readable()
        self._attempt()
        if self.errors:
            self.raise_errors()

    def _run_what_is_due(self) -> None:
        if self.mode == "sync" and not self.is_inside():
            self._run(self.agenda.settling())
        else:
            self.agenda.catch_up()

    def reported_balance(self) -> tuple[Decimal, int]:
        """Return what the balance query reports now (§4.1), and the moment in nanoseconds."""
        self.agenda.catch_up()
        with self.lock:
            ledger = self.account.ledger
            value = ledger.available
            if self.settings.balance_amount == "total":
                value = EXACT.add(value, ledger.held)
            return value, self.time.read()

    # Who is calling

    def is_inside(self) -> bool:
        """Return whether the caller is part of an answer or of an attempt."""
        return self in _answering.get() or self.outbox.in_attempt()

    def _acts_at_once(self) -> bool:
        return self.mode == "sync" or self.outbox.busy.locked() or self in _answering.get()

    @contextmanager
    def answering(self) -> Generator[None, None, None]:
        """While a request to the fake is answered: verbs act at once, and only queue events."""
        token = _answering.set((*_answering.get(), self))
        try:
            yield
        finally:
            _answering.reset(token)

    # Refusals

    def _refuse_use(self, what: str) -> None:
        self.refuse_closed()
        self.asking.refuse_verb(what)

    def refuse_closed(self) -> None:
        """Refuse to work for a test that is over.

        Raises:
            ClosedError: It is.
        """
        # Every use of the fake comes by here, so this is where the test's own loop is noticed.
        if self.mode == "async" and (self._test_loop is None or not self._test_loop.is_here()):
            self._test_loop = bridge_to_running_loop(self.settings.timeout) or self._test_loop
        if self.closed:
            raise ClosedError(
                "this fake is closed: its test is over. Use the chat_fake of the running test."
            )

    def refuse_mode(self, mode: str, written: str, wanted: str) -> None:
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
