"""The engine brings time, rules and webhooks together; every change of a fake goes through it.

Theory of operation
-------------------
*One path.* Whatever changes the account is a verb, or a drop that is due: :meth:`Engine.perform`
runs due work, lets the account decide, writes the webhooks, applies the facts and queues the
webhooks; then it does the same for what people do in response. Async mode adds all this as a step
to the plan, which an ``await`` performs. In the end, the queue is attempted.

*The lock* (:attr:`.Core.lock`) is held from the decision to the queueing, so no thread sees half a
verb. It is not held while the user's code runs, because that may call the fake again: around a
callback it is released, and the verb is decided again afterwards.

*Inside.* The user's code runs in three kinds of :mod:`scope <.scopes>`: a receiver, a route, or a
*callback* (``price=``, ``extra=``, ``outbound=``, a predicate). Inside, verbs act at once, but no
webhook is attempted; it waits for the end of the attempt or the test's next call. A callback runs
in the middle of a verb or a step, so it can't call verbs.

*Who calls* is only known from the scope. A thread that an app has started has none, and nor has a
server's task in the test's own loop. So while webhooks are attempted, any other thread counts as
the app's, and so does the draining thread itself if an attempt goes to a URL.

*Due work* (:class:`.DueRunner`) runs in order of time: while the fake's clock moves, or at the next
use of the fake if another library has moved time.

*A reset* replaces the :class:`.FakeState`, under the lock. Whatever works without the lock holds on
to the state in which it began.

*An interrupt* (Ctrl-C, a test's timeout) may leave a verb half done, so it closes the fake. The
process gets its sockets, threads and real time back in any case.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any, Final

from ..base.calling_line import Line, calling_line
from ..base.coroutines import run_at_once
from ..base.errors import ChatFakeError, ClockError, ClosedError
from ..base.history import History, Record
from ..base.scopes import Callback
from ..domain.account import Account
from ..domain.ids import ids_of
from ..domain.instants import stamp
from ..domain.messages import MessageState
from ..domain.money import EXACT
from ..domain.schedule import Schedule
from ..transport.client.loops import (
    LoopBridge,
    bridge_to_running_loop,
    let_others_run,
    running_framework,
)
from ..transport.client.portal import Portal
from ..transport.client.worker import Worker
from ..webhooks.attempts import Attempt
from ..webhooks.core import Core
from ..webhooks.decisions import Repeat
from ..webhooks.drain import Drain
from ..webhooks.endpoints import Endpoints
from ..webhooks.fake_state import FakeState
from ..webhooks.outbox import Outbox
from ..wire.bodies import EventWriter
from .due_runner import LAST, DueRunner
from .executor import Executor, Verb
from .performer import Pending, Performer, Sleep
from .plan import Plan, PlannedStep
from .process_time import ProcessTime
from .settings import Mode, Settings

#: Real seconds in which an attempt ends once its time is up.
_MARGIN: Final = 0.5


class Engine:
    """The engine of one fake.

    Attributes:
        settings: Its settings.
        mode: That of the settings.
        seed: The default seed of random draws.
        time: The time that the code under test sees.
        core: What the parts of the fake share, with the state.
        drain: Makes attempts.
        executor: Executes verbs and due work; the lock is held.
        due_runner: Moves time from one due moment to the next.
        plan: The pending steps; empty in sync mode.
        performer: Performs them.
    """

    def __init__(self, settings: Settings, portal: Portal) -> None:
        self.settings = settings
        self.mode = settings.mode
        self.seed: str = settings.seed
        self._portal = portal
        self.time: ProcessTime = ProcessTime()
        self.core: Core[FakeState] = Core(self.time.read)
        self._test_loop: LoopBridge | None = None
        self._writer = EventWriter(
            settings.naming,
            settings.currency,
            settings.conversation_type,
            settings.sender,
            settings.omit,
            ticks=bool(settings.tick),
        )
        self.core.state = self._new_state(Endpoints())
        self.drain: Drain = Drain(self.core, portal=portal, timeout=settings.timeout)
        self.executor: Executor = Executor(self.core)
        self.due_runner: DueRunner = DueRunner(self.core, self.time, self.executor)
        self.plan: Plan = Plan()
        plan = None if self.mode == "sync" else self.plan
        self.performer: Performer = Performer(self.core, plan, self.drain)

    def _new_state(self, endpoints: Endpoints) -> FakeState:
        settings, schedule, history = self.settings, Schedule(), History()
        ids = ids_of(settings.seed, settings.naming.id_prefix)
        account = Account(settings.rules, ids, schedule, settings.opening_balance, self.time.read())
        outbox = Outbox(
            self.core,
            ids,
            history,
            schedule,
            endpoints,
            self._writer,
            per_message=settings.event_ids == "per-message",
            outbound=settings.outbound,
            tick=settings.tick,
        )
        return FakeState(schedule, history, account, outbox)

    @property
    def state(self) -> FakeState:
        """What a reset forgets."""
        return self.core.state

    @property
    def account(self) -> Account:
        return self.core.state.account

    @property
    def outbox(self) -> Outbox:
        return self.core.state.outbox

    # Changing

    def perform(self, verb: Verb, what: str, *, at_once: bool = False) -> None:
        """Perform a verb or, in async mode, add it to the plan.

        Args:
            verb: What to do.
            what: The call, as the test wrote it.
            at_once: Whether to perform the verb immediately even in async mode, and leave only its
                webhooks to the ``await``.
        """
        self._refuse_use(what)
        line = calling_line(3)  # this method, the public one, then the test
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
        # A receiver's verb acts at once. But a verb of a message that is yet to be sent must be the
        # test's, because no receiver can have seen such a message.
        if not self._acts_at_once():
            return True
        return message is not None and not message.is_known and self.plan.is_pending(message)

    def _changing(self, verb: Verb, what: str, line: Line) -> Iterator[None]:
        while not self._change(verb, what, line):
            yield from self.due_runner.run_due()
        yield

    def _change(self, verb: Verb, what: str, line: Line) -> bool:
        # Returns False if other work is due first.
        with self.core.lock:
            now = self.time.read()
            if self.core.state.schedule.is_due(now):
                return False
            if now > LAST:
                raise ClockError(f"nothing can be sent after {stamp(LAST)}: the calendar ends")
            self.executor.execute(verb, what, line, now)
            return True

    def note(self, what: str, line: Line) -> Record:
        """Record a call of the test that affects later events, but not the account."""
        now = self.catch_up()
        with self.core.lock:
            return self.executor.note(what, line, None, now)

    def catch_up(self) -> int:
        """Run due work without attempting its webhooks; return the present in nanoseconds.

        Call this before recording anything but a verb, so that the history stays in order of time.
        """
        self.due_runner.catch_up()
        return self.time.read()

    def submitted(self, message: MessageState, what: str) -> None:
        """Note that a message is submitted: now, or after the pending steps."""

        def run() -> Iterator[None]:
            message.created_at = self.outbox.later(self.time.read())
            message.account = self.account
            return iter(())

        if self.plan and not self._acts_at_once():
            self.plan.enqueue(PlannedStep(run, what, calling_line()))
        else:
            run()

    # Steps: they change state up to each yield, where attempts are made

    def move_time(self, target_of: Callable[[int], int], what: str) -> Pending[None]:
        """Move time, or plan to; ``target_of`` maps the present to the target, in nanoseconds."""
        return self._move(partial(self.due_runner.move_to, target_of, what, calling_line(3)), what)

    def sleep(self, target_of: Callable[[int], int]) -> Pending[None]:
        """Move time for code of the app that sleeps, in the test's task or one of its own.

        While another task performs, it may be waiting for the one that sleeps, so the sleep waits
        for nothing. Nor does it in a thread of the app, which can't await it. In sync mode it can
        be awaited as well, because the app may be async.
        """
        what = "sleep()"
        step = self._moving(partial(self.due_runner.move_to, target_of, what, calling_line(3)))
        self._refuse_use(what)
        is_in_a_thread = self._test_loop is not None and running_framework() is None
        if self.mode == "async" and (self.performer.is_performing or is_in_a_thread):
            for _ in step():
                pass  # whoever performs attempts the events
        else:
            self.step(what, step)
        return Sleep(self.performer, self._slept)

    async def _slept(self) -> None:
        if self.mode == "async" and not self.performer.is_performing:
            await self.performer.perform()
        await let_others_run()

    def run_until(self, predicate: Callable[[], bool], length: int, what: str) -> Pending[None]:
        """Move time, or plan to, until the predicate is true; at most ``length`` nanoseconds.

        The predicate is called in the middle of a step, so it must not change anything.
        """

        def reached() -> bool:
            with self.core.lock:
                return self.core.call_back(f"the predicate of {what}", "True or False", predicate)

        line = calling_line(3)
        return self._move(partial(self.due_runner.run_until, reached, length, what, line), what)

    def _move(self, step: Callable[[], Iterator[None]], what: str) -> Pending[None]:
        return self.step(what, self._moving(step))

    def _moving(self, step: Callable[[], Iterator[None]]) -> Callable[[], Iterator[None]]:
        return partial(self.drain.with_barriers, step, self.due_runner.is_due)

    def settle(self) -> Pending[None]:
        """Perform pending steps, run due work, attempt queued webhooks."""
        due, move_to = self.due_runner, None if self.core.is_inside() else self._move_to
        step = partial(self.drain.with_barriers, due.run_due, due.is_due, move_to)
        return self.step("settle()", step)

    def _move_to(self, attempt: Attempt, due: int) -> Iterator[None]:
        what, line = "retry_after=", attempt.event.line
        for decision in attempt._decisions:
            if isinstance(decision, Repeat):
                what, line = decision.fault.description, decision.fault.line
        return self.due_runner.move_to(partial(max, due), what, line)

    def reset(self, before: Callable[[], None]) -> Pending[None]:
        """Start over, or plan to; ``before`` is called first."""

        def run() -> Iterator[None]:
            with self.core.lock:
                self._refuse_reset()
                before()
                self.core.state = self._new_state(self.outbox.endpoints)
            yield

        return self.step("reset()", run)

    def step(
        self, what: str, step: Callable[[], Iterator[None]], subject: object = None
    ) -> Pending[None]:
        """Perform a step, or add it to the plan.

        Args:
            what: The call, as the test wrote it.
            step: Changes state, and yields where events should be attempted.
            subject: The coroutine function of a check or a wait, which only its own ``await`` runs.
        """
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
        """Run a check, which is a coroutine in both modes; async mode runs it at its ``await``.

        A check that is never awaited fails the test, just as a step does.
        """
        self.refuse_inside(what)
        if self.mode == "sync":
            run_at_once(check())
        else:
            self.step(what, lambda: iter(()), check)
        return Pending(self.performer, check)

    async def performed(self, result: object) -> None:
        """In async mode, await a verb's result; in sync mode, the verb is already performed."""
        if self.mode == "async" and isinstance(result, Awaitable):
            await result

    def _run(self, step: Iterator[None]) -> None:
        try:
            for _ in step:
                self._attempt()
                self.core.raise_errors()  # an attempt's errors: time stays where they happened
        except BaseException as error:
            self.core.close_if_interrupted(error)
            raise
        self.core.raise_errors()

    # Attempting

    def _attempt(self) -> None:
        if self.mode != "sync" or (self.core.scopes.open and self.core.is_inside()):
            return
        if not self._portal.runs_here():  # or an app's own task calls, which the attempts wait for
            self.drain.flush()

    def attempt_now(self, *, apart: bool) -> None:
        """Attempt queued webhooks from a request's thread, before its response is sent.

        In async mode, they are attempted in the test's own loop, which is known once the fake was
        used in it. If that loop is blocked, because it waits for this response, they stay in the
        queue.

        Args:
            apart: Whether the caller is no code of the app. Then it only waits for as long as the
                attempts may take, because the app may hold a lock until it gets the response.

        Raises:
            TimeoutError: The attempts are not finished. In sync mode, they go on.
        """
        if self.mode == "sync" and not apart:
            self.drain.attempt()
            return
        # By then, the watchdog has shut down each connection that takes too long.
        limit = self.settings.timeout * len(self.outbox.queue.ready) + _MARGIN
        late = TimeoutError(
            f"the webhooks of an API call were not handled before its response, within {limit:g} "
            f"s: does the app hold a lock or a transaction while it sends?"
        )
        if self.mode == "sync":
            worker = Worker("chatfake-first", grace=0)
            try:
                if not worker.finishes(partial(self._attempt_in_thread, self.state), limit):
                    raise late
            finally:
                with suppress(RuntimeError):  # it goes on
                    worker.close()
        elif self._test_loop is not None and running_framework() is None:
            state = self.state
            ended = self._test_loop.run(self.drain.attempt_async, limit)
            if ended == "cancelled":
                raise late
            state.blocked = state.blocked or ended == "blocked"

    def _attempt_in_thread(self, state: FakeState) -> None:
        # Perhaps nobody waits for it any more.
        try:
            self.drain.attempt()
        except Exception as error:
            state.errors.append(error)

    def await_retries(self) -> None:
        """Make ``settle()`` move the clock to retries from now on."""
        self.state.queue.awaits_retries = True

    # Reading

    def ensure_readable(self) -> None:
        """Run due work before results are read; refuse reading while steps are pending.

        A closed fake can still be read.
        """
        if self.core.closed:
            return
        if not self._acts_at_once():
            self.plan.refuse_reading(own=self.performer.is_performing)
        if self.due_runner.is_due():
            self._run_what_is_due()
        self.core.raise_errors()

    def settle_before_read(self) -> None:
        """Do the same as :meth:`ensure_readable`; in sync mode, then pass a barrier."""
        self.ensure_readable()
        self._run(self._pass_barrier())

    def last_attempt_of(self, request: Record) -> Attempt | None:
        """Return the last attempt that an API request has caused so far, if any."""
        effects = self.state.history.effects_of(request)
        return next((effect for effect in reversed(effects) if isinstance(effect, Attempt)), None)

    def _pass_barrier(self) -> Iterator[None]:
        yield
        if self.mode == "sync" and not self.core.is_inside():
            yield from self.drain.barrier()

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
        # The context can't identify a thread that an app has started, or a server's task in the
        # test's own loop.
        thread = self.drain.thread
        if thread == threading.get_ident():
            posts = self.drain.overdue.current or ()
            return not all(post.target.in_process for post in posts)
        return thread is not None

    # Refusals

    def _refuse_use(self, what: str) -> None:
        self.refuse_closed()
        for scope in self.core.scopes.current():
            if isinstance(scope, Callback):
                raise ChatFakeError(
                    f"can't call {what} from {scope.function}: it may only read the fake and "
                    f"return {scope.returns}"
                )

    def refuse_inside(self, what: str) -> None:
        """Refuse a call that waits for attempts inside an attempt, a response or a callback."""
        if self.core.is_inside():
            raise ChatFakeError(
                f"can't call {what} from a receiver, a route or a callback: it waits for these"
            )

    def _refuse_reset(self) -> None:
        # Not even from another thread, because the callback's verb is still under way.
        for scope in tuple(self.core.scopes.open):
            if isinstance(scope, Callback):
                raise ChatFakeError(f"can't call reset() while {scope.function} is running")

    def refuse_closed(self) -> None:
        """Refuse to use a closed fake."""
        # Every use of the fake passes through here, so it is where the test's loop is noticed.
        if self.mode == "async" and (self._test_loop is None or not self._test_loop.is_here()):
            self._test_loop = bridge_to_running_loop() or self._test_loop
        if not self.core.closed:
            return
        if interrupt := self.core.interrupt:
            raise ClosedError(
                f"this fake is closed, because {interrupt} interrupted it. Make a new one."
            )
        raise ClosedError(
            "this fake is closed: its test is over. Use the chat_fake of the running test."
        )

    def expect_use(self, thing: object, code: str) -> None:
        """Note what does nothing until the test uses it, and the code to write instead."""
        self.state.unused[thing] = code, calling_line()

    def expect_entry(self, block: object, call: str) -> None:
        """Note that a block of ``chat_fake.webhooks`` does nothing until it is entered."""
        begin = "async with" if self.mode == "async" else "with"
        self.expect_use(block, f"`{begin} chat_fake.webhooks.{call}:`")

    def enter(self, block: object, mode: Mode) -> None:
        """Enter a block; refuse ``with`` in async mode, and ``async with`` in sync mode."""
        self.state.unused.pop(block, None)
        if self.mode != mode:
            written, wanted = ("with", "async with") if mode == "sync" else ("async with", "with")
            raise TypeError(f"this fake is in {self.mode} mode: write `{wanted}`, not `{written}`")
