"""The engine: time, rules and webhooks together; every change of a fake goes through it.

Theory of operation
-------------------
*One path.* Whatever changes the account is a :class:`.Verb`, given to :meth:`Engine.perform`. In
sync mode it is performed at once; in async mode it becomes a step of the plan, which an ``await``
performs. Both go the same way: run due work, let the account decide, write the webhooks, apply
the facts, queue the webhooks; the same for what people do by themselves after it; release the lock;
attempt the queue.

*The lock* (:attr:`.Core.lock`) is held from the decision to the queue: no other thread sees half
of a verb, and two threads' verbs come one after the other. It is never held while a webhook is
attempted, a response is written or a callback runs: each of these may come back with a request or
a verb, from this thread or from another one. It is re-entrant, because due work runs under it and
takes it again.

*Inside.* The fake runs code of the user's in three kinds of :mod:`scope <.scopes>`: the receiver of
an attempt, a route that writes a response, and a *callback*, which is a function of the
configuration (a price, ``extra=``, an autopilot's length). The fake attempts nothing there: the
queue has its turn when the attempt has ended, and when the test calls its next verb, assertion or
``settle()``. Verbs act at once. But a callback is called in the middle of a verb, so it may only
read: verbs are refused there. In all three, due work is run, and its webhooks are queued too.

*Due work* (:class:`.DueRunner`) is run when process time reaches it: as the clock moves, or, if
another library moved time, at the next use of the fake, in due order.

*An interrupt* (Ctrl-C, a test's timeout) may come between any two lines, so a verb may be half
done. It closes the fake. The process gets its resources back in any case.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

from ..base.calling_line import Line, calling_line
from ..base.coroutines import run_at_once
from ..base.errors import ChatFakeError, ClockError, ClosedError
from ..base.history import Record
from ..base.scopes import Callback
from ..domain.account import Account
from ..domain.facts import Verb
from ..domain.ids import ids_of
from ..domain.instants import stamp
from ..domain.messages import MessageState
from ..domain.money import EXACT
from ..transport.client.loops import LoopBridge, bridge_to_running_loop, running_framework
from ..transport.client.portal import Portal
from ..webhooks.attempts import Attempt
from ..webhooks.core import Core
from ..webhooks.drain import Drain
from ..webhooks.ordering import TimedRepeat
from ..webhooks.outbox import Outbox
from ..wire.bodies import EventWriter
from .due_runner import LAST, DueRunner
from .executor import Executor
from .performer import Pending, Performer
from .plan import Plan, PlannedStep
from .process_time import ProcessTime
from .settings import Mode, Settings


class Engine:
    """The engine of one fake.

    Attributes:
        seed: The seed of random draws, where a test gives none.
        blocked: Whether the test's loop was blocked when a route's events should be attempted.
    """

    def __init__(self, settings: Settings, portal: Portal) -> None:
        self.settings = settings
        self.mode = settings.mode
        self.seed: str = settings.seed
        self.time: ProcessTime = ProcessTime()
        self.core: Core = Core(self.time.read)
        self._test_loop: LoopBridge | None = None
        self.outbox: Outbox = Outbox(
            self.core,
            EventWriter(
                settings.naming,
                settings.currency,
                settings.conversation_type,
                settings.sender,
                settings.omit,
            ),
            per_message=settings.event_ids == "per-message",
            outbound=settings.outbound,
            tick=settings.tick,
        )
        self.drain: Drain = Drain(self.core, self.outbox, portal=portal, timeout=settings.timeout)
        self.executor: Executor = Executor(self.core, self.outbox)
        self.due_runner: DueRunner = DueRunner(self.core, self.time, self.executor)
        self.plan: Plan = Plan()
        plan = None if self.mode == "sync" else self.plan
        self.performer: Performer = Performer(self.core, plan, self.drain)
        self._reset()

    def _reset(self) -> None:
        """Open a new account: ids from the first, nothing due."""
        settings = self.settings
        self.core.reset()
        self.due_runner.reset()
        self.blocked: bool = False
        ids = ids_of(settings.seed, settings.naming.id_prefix)
        self.account: Account = Account(
            settings.rules, ids, self.core.schedule, settings.opening_balance, self.time.read()
        )
        self.executor.account = self.account
        self.outbox.reset(ids)
        if self.drain.ordering is not None:
            self.drain.ordering.clear()

    # Changing

    def perform(self, verb: Verb, what: str, *, at_once: bool = False) -> None:
        """Perform a verb, or add it to the plan.

        With ``at_once``, async mode performs it, too, and leaves its webhooks to the ``await``.
        """
        self._refuse_use(what)
        line = calling_line(3)  # this method, the public one: then the test
        if self.mode == "async" and not at_once and self._waits(verb.message):
            run = partial(self._changing, verb, what, line)
            self.plan.enqueue(PlannedStep(run, what, line, verb.message))
            return
        self.core.raise_errors()
        try:
            while not self._change(verb, what, line):
                self._run_what_is_due()
                self.core.raise_errors()
            self._attempt()
        except BaseException as error:
            self.core.close_if_interrupted(error)
            raise

    def _waits(self, message: MessageState | None) -> bool:
        """Whether a verb waits for an ``await``.

        One of a receiver acts at once; but a message that waits to be sent can't have been seen by
        a receiver.
        """
        if not self._acts_at_once():
            return True
        return message is not None and not message.is_known and self.plan.is_to_begin(message)

    def _changing(self, verb: Verb, what: str, line: Line) -> Iterator[None]:
        while not self._change(verb, what, line):
            yield from self.due_runner.run_due()
        yield

    def _change(self, verb: Verb, what: str, line: Line) -> bool:
        """Perform a verb; or return False, if other work is due before it."""
        with self.core.lock:
            now = self.time.read()
            if self.core.schedule.is_due(now):
                return False
            if now > LAST:
                raise ClockError(f"nothing can be sent after {stamp(LAST)}: the calendar ends")
            message = verb.message
            own = message is None or message.submitted_to in (None, self.account)
            if not own and message is not None and message.state == "submitted":
                raise ClosedError(
                    "this submission no longer exists: the fake was reset after it was made"
                )
            self.executor.execute(verb, what, line, now)
            return True

    def note(self, what: str, line: Line) -> Record:
        """Note a call of the test that changes later events, and not the account."""
        return self.executor.note(what, line, None, self.catch_up())

    def catch_up(self) -> int:
        """Run due work and attempt nothing; return the present in nanoseconds.

        For all that is recorded and is no verb, so that what was due before it stands before it.
        """
        self.due_runner.catch_up()
        return self.time.read()

    def submitted(self, message: MessageState, what: str) -> None:
        """Note when a message was submitted: now, or after the pending steps."""

        def run() -> Iterator[None]:
            message.created_at = self.outbox.later(self.time.read())
            message.submitted_to = self.account
            return iter(())

        if self.plan and not self._acts_at_once():
            self.plan.enqueue(PlannedStep(run, what, calling_line()))
        else:
            run()

    # Steps: state changes up to each yield, where attempts are made

    def move_time(self, target_of: Callable[[int], int], what: str) -> Pending[None]:
        """Move time, or add that to the plan; ``target_of`` takes and returns nanoseconds."""
        return self._move(partial(self.due_runner.move_to, target_of, what, calling_line(3)), what)

    def wait_until(self, predicate: Callable[[], bool], length: int, what: str) -> Pending[None]:
        """Move time, or plan to, until the predicate is true; at most by a length in nanoseconds.

        The predicate may only read: it is called in the middle of a step.
        """

        def reached() -> bool:
            with self.core.lock:
                return self.core.call_back(f"the predicate of {what}", "True or False", predicate)

        line = calling_line(3)
        return self._move(partial(self.due_runner.run_until, reached, length, what, line), what)

    def _move(self, step: Callable[[], Iterator[None]], what: str) -> Pending[None]:
        if self.drain.ordering is not None:
            step = partial(self.drain.ordering.with_barriers, step, self.due_runner.is_due)
        return self.step(what, step)

    def settle(self) -> Pending[None]:
        """Perform pending steps, run due work, attempt queued webhooks."""
        due, ordering = self.due_runner, self.drain.ordering
        step = due.run_due
        if ordering is not None:
            end_wait = None if self.core.is_inside() else self._wait_for
            step = partial(ordering.with_barriers, due.run_due, due.is_due, end_wait)
        return self.step("settle()", step)

    def _wait_for(self, repeat: TimedRepeat) -> Iterator[None]:
        """Move time to where an attempt is to be made again."""
        return self.due_runner.move_to(partial(max, repeat.due), repeat.what, repeat.line)

    def reset(self, forget: Callable[[], None]) -> Pending[None]:
        """Start afresh, or add that to the plan; ``forget`` clears the records of other rooms."""

        def run() -> Iterator[None]:
            with self.core.lock:
                self._refuse_reset()
                forget()
                self._reset()
            yield

        return self.step("reset()", run)

    def step(
        self, what: str, step: Callable[[], Iterator[None]], subject: object = None
    ) -> Pending[None]:
        """Perform a step, or add it to the plan; :meth:`.Plan.drop_chain` takes its subject."""
        self._refuse_use(what)
        if self.mode == "sync" or self.core.is_inside():
            self._run(step())
        else:
            self.plan.enqueue(PlannedStep(step, what, calling_line(), subject))
        return self.pending()

    def pending(self) -> Pending[None]:
        """Return what a verb returns: ``await`` it in async mode."""
        return Pending(self.performer, self.performer.perform)

    def check(self, what: str, check: Callable[[], Coroutine[Any, Any, None]]) -> Pending[None]:
        """Run a check, which is one coroutine for both modes; in async mode at its ``await``.

        One that never gets its ``await`` fails the test, as a step does.
        """
        self.refuse_inside(what)
        if self.mode == "sync":
            run_at_once(check())
        else:
            self.step(what, lambda: iter(()))
        return Pending(self.performer, check)

    async def performed(self, result: object) -> None:
        """Await what a verb has returned, if it waits for that; in sync mode it was performed."""
        if self.mode == "async" and isinstance(result, Awaitable):
            await result

    def _run(self, step: Iterator[None]) -> None:
        try:
            for _ in step:
                self._attempt()
                self.core.raise_errors()  # found inside an attempt: time stays there
        except BaseException as error:
            self.core.close_if_interrupted(error)
            raise
        self.core.raise_errors()

    # Attempting

    def _attempt(self) -> None:
        """In sync mode: attempt queued webhooks, but not inside code that the fake runs."""
        if self.mode == "sync" and not self.core.is_inside():
            self.drain.flush()

    def attempt_now(self) -> None:
        """Attempt queued webhooks from the thread of a request, before its response leaves.

        In async mode the test's own loop makes the attempts, once it is known: from the first use
        of the fake inside it. Where that loop itself waits for the response, they stay queued.
        """
        if self.mode == "sync":
            self.drain.attempt()
        elif self._test_loop is not None and running_framework() is None:
            self.blocked = not self._test_loop.run(self.drain.attempt_async) or self.blocked

    def await_retries(self) -> None:
        """Let ``settle()`` move the clock to retries from now on."""
        self.drain.enable_ordering().awaits_retries = True

    # Reading

    def ensure_readable(self) -> None:
        """Refuse to show results while steps are pending, and run due work.

        A closed fake keeps its results.
        """
        if self.core.closed:
            return
        if not self._acts_at_once():
            self.plan.refuse_reading(own=self.performer.is_performing)
        if self.due_runner.is_due():
            self._run_what_is_due()
        self.core.raise_errors()

    def settle_before_read(self) -> None:
        """As :meth:`ensure_readable`; in sync mode, queued webhooks are attempted first."""
        self.ensure_readable()
        self._run(self._flush())

    def last_attempt_of(self, request: Record) -> Attempt | None:
        """Return the last attempt that a request to the API has caused so far."""
        effects = self.core.history.effects_of(request)
        return next((effect for effect in reversed(effects) if isinstance(effect, Attempt)), None)

    def _flush(self) -> Iterator[None]:
        yield
        ordering = self.drain.ordering
        if ordering is not None and self.mode == "sync" and not self.core.is_inside():
            yield from ordering.flush()

    def _run_what_is_due(self) -> None:
        if self.mode == "sync" and not self.core.is_inside():
            self._run(self.due_runner.run_due())
        else:
            self.due_runner.catch_up()

    def reported_balance(self) -> Decimal:
        """Return what the balance query reports (§4.1)."""
        with self.core.lock:
            ledger = self.account.ledger
            if self.settings.balance_amount == "total":
                return EXACT.add(ledger.available, ledger.held)
            return ledger.available

    # Who is calling

    def _acts_at_once(self) -> bool:
        return self.mode == "sync" or self.core.is_inside() or self._may_be_by_app()

    def _may_be_by_app(self) -> bool:
        """Whether the caller may be a receiver, though its context does not say so.

        A thread that an app has begun may be, and so may a task of a server in the test's own loop.
        """
        thread = self.drain.thread
        if thread == threading.get_ident():
            return not all(one._target.in_process for one in self.drain.overdue.current or ())
        return thread is not None

    # Refusals

    def _refuse_use(self, what: str) -> None:
        self.refuse_closed()
        for scope in reversed(self.core.scopes.current()):
            if isinstance(scope, Callback):
                raise ChatFakeError(
                    f"can't call {what} from {scope.function}: it may only read the fake and "
                    f"return {scope.returns}"
                )

    def refuse_inside(self, what: str) -> None:
        """Refuse what waits for attempts to code that is part of one, or of a response."""
        if self.core.is_inside():
            raise ChatFakeError(
                f"can't call {what} from a receiver, a route or a callback: it waits for these"
            )

    def _refuse_reset(self) -> None:
        """Refuse a reset while a callback runs, in any thread: its verb is not done yet."""
        for scope in tuple(self.core.scopes.open):
            if isinstance(scope, Callback):
                raise ChatFakeError(f"can't call reset() while {scope.function} is running")

    def refuse_closed(self) -> None:
        """Refuse a call of a closed fake."""
        # Every use of the fake calls this, so the test's loop is noticed here.
        if self.mode == "async" and (self._test_loop is None or not self._test_loop.is_here()):
            self._test_loop = bridge_to_running_loop(self.settings.timeout) or self._test_loop
        if interrupt := self.core.interrupt:
            raise ClosedError(
                f"this fake is closed, because {interrupt} interrupted it. Make a new one."
            )
        if self.core.closed:
            raise ClosedError(
                "this fake is closed: its test is over. Use the chat_fake of the running test."
            )

    def refuse_mode(self, mode: Mode) -> None:
        """Refuse a block of the other mode: ``with`` in async mode, ``async with`` in sync mode."""
        if self.mode != mode:
            written, wanted = ("with", "async with") if mode == "sync" else ("async with", "with")
            raise TypeError(f"this fake is in {self.mode} mode: write `{wanted}`, not `{written}`")
