"""The drain: attempts what the outbox has queued, and records how each attempt ended.

The way of a webhook
--------------------
The outbox has made an :class:`.Attempt` of an :class:`.Event` for each endpoint that listens for
it, and queued it. *Begin*: the drain takes it from the queue, lets the faults change or delay it,
and adds it to the history. *Make*: :func:`.make` writes a :class:`.WebhookRequest` and signs it,
the endpoint's target posts it and returns the app's :class:`.Response`. *End*: the drain notes that
in the attempt, and for a failed one it plans the next: a retry by the clock, or after a fault. So
a plain webhook has four objects of ours; each fault on its way is one more, of its kind's class.

Theory of operation
-------------------
*No lock is held* while an attempt is made, because a receiver may call back: ask for the balance
over HTTP, send another message, start a thread that does. One thread or task at a time drains the
queue, in order. A receiver that calls back, or another thread, only adds to the queue. At its end
the draining thread looks at the queue once more. Only as attempts begin and as they end, it holds
the lock.

*Waiting.* A verb returns when its event was attempted. If another thread is draining, the test's
own thread waits for it. No other thread does: it may be the very one that an attempt is waiting
for, such as a server of the app that calls the fake before it responds.

*Errors.* An error of an app in process is recorded, then raised in the test, after the event's
other endpoints and its repeats; the rest of the queue stays for the next verb. A cancellation or an
interrupt is raised at once, and the endpoints that are left stay queued.

*Faults.* An :class:`.Ordering`, if there is one, decides before each attempt whether it is made
now, and counts it at its end.

*Batches.* Several attempts may be made at the same time. They are recorded in the order in which
they began.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

from ..base.coroutines import run_at_once
from ..base.errors import ChatFakeError, UndeliveredWebhooks
from ..base.marks import Mark
from ..domain.instants import SECOND
from ..transport.client.django_bridge import has_broken_transaction
from ..transport.client.portal import Portal
from ..transport.client.responses import Response, timed_out
from .attempts import Attempt
from .core import Core
from .endpoints import Endpoint, WebhookRequest
from .events import Event
from .faults import Disabled
from .in_flight import make
from .observing import Observer
from .ordering import Ordering
from .outbox import Outbox
from .overdue import Overdue

#: How far events may cause each other, attempt by attempt, before that counts as endless.
MAX_DEPTH: Final = 10_000

#: How the threads are called in which anyio, asyncio and asgiref call an app's plain functions.
_POOLS: Final = ("AnyIO worker thread", "asyncio_", "ThreadPoolExecutor")

_INTERRUPTED: Final = "another attempt of the batch was ended"


class Drain:
    """Makes the attempts of a fake.

    Attributes:
        thread: The thread that drains the queue; None while nobody does.
        count: How many attempts have begun so far.
        ordering: Applies the faults; None until there are any.
        had_threads: Whether attempts were made in several threads at the same time; or may have
            been, as frameworks had threads for plain functions.
        overdue: Ends attempts that take too long.
    """

    def __init__(
        self,
        core: Core,
        outbox: Outbox,
        *,
        portal: Portal,
        timeout: float,
    ) -> None:
        self._core = core
        self._outbox = outbox
        self._portal = portal
        self._test_thread = threading.get_ident()
        self._drain_lock = threading.Lock()  # held by the draining thread
        self.thread: int | None = None
        self.count: int = 0
        self.ordering: Ordering | None = None
        self.had_threads: bool = False
        self.overdue: Overdue = Overdue(timeout)
        self._event: Event | None = None  # the last one that is attempted
        self._batches = 0
        self._raised: Exception | None = None  # an error of an app, to be raised in the test

    @property
    def observer(self) -> Observer | None:
        """Sees what is attempted; None: nobody does."""
        return None if self.ordering is None else self.ordering.observer

    def enable_ordering(self) -> Ordering:
        """Ask the faults before each attempt from now on."""
        if self.ordering is None:
            self.ordering = Ordering(self._core, self._outbox)
        return self.ordering

    @property
    def may_use_threads(self) -> bool:
        """Whether an awaited attempt may be a call in a thread, which holds cancellations back."""
        return self._outbox.endpoints.threaded

    # Attempting

    def attempt(self) -> None:
        """Attempt queued webhooks in order, from plain code, unless another thread does."""
        error = run_at_once(self._run(plain=True))
        if error is not None:
            raise error

    async def attempt_async(self) -> None:
        """The same, awaiting each attempt in the test's own loop."""
        error = await self._run(plain=False)
        if error is not None:
            raise error

    def flush(self) -> None:
        """Attempt queued webhooks, and let the test's thread wait for another draining thread.

        The caller is not part of an attempt: it would wait for itself.
        """
        if self._outbox.queue:
            self.attempt()
        if self.thread is not None:
            self._wait()
            self.attempt()  # what the other one left, because a receiver raised

    @contextmanager
    def setting_aside(self) -> Generator[None]:
        """Attempt none of the events that are queued now."""
        with self._core.lock:
            queued, self._outbox.queue = self._outbox.queue, deque()
        try:
            yield
        finally:
            with self._core.lock:
                queued.extend(self._outbox.queue)
                self._outbox.queue = queued

    def _wait(self) -> None:
        """Let the test's own thread wait until another thread has finished."""
        here, thread = threading.get_ident(), self.thread
        # Code that a receiver runs without its context is not known as part of an attempt, but it
        # runs in the draining thread, which would wait for itself.
        waits = here == self._test_thread and thread not in (None, here)
        if waits and self._drain_lock.acquire(timeout=self.overdue.limit):
            self._drain_lock.release()

    async def _run(self, *, plain: bool) -> Exception | None:
        """Attempt queued webhooks, and return the error of an app.

        It is returned because a coroutine can't raise each error: see :func:`.run_at_once`.
        """
        while self._outbox.queue and self._drain_lock.acquire(blocking=False):
            self.thread = threading.get_ident()
            try:
                while attempts := self._begin_next():
                    await self._make(attempts, plain=plain)
                if self._raised is not None:
                    return self._raised
            except BaseException:
                if self._raised is not None:
                    self._core.errors.append(self._raised)
                raise
            finally:
                self._event = self._raised = self.thread = self.overdue.current = None
                self._outbox.depth = 0
                self._drain_lock.release()
        return None

    def _begin_next(self) -> list[Attempt]:
        """Begin the next attempts: one, as a rule; none, if none are left or an app has raised."""
        with self._core.lock:  # or a reset might come between an event's last look and its record
            queue, attempts = self._outbox.queue, list[Attempt]()
            while not attempts:
                if not queue or (self._raised is not None and queue[0].event is not self._event):
                    return []
                attempts = self._take_next(queue)
            self._outbox.depth = attempts[-1]._depth + 1
            is_batch = len(attempts) > 1
            self._batches += is_batch
            for attempt in attempts:
                self._begin(attempt, self._batches if is_batch else 0)
        self.overdue.current = attempts
        return attempts

    def _take_next(self, queue: deque[Attempt]) -> list[Attempt]:
        """Take the next attempt, or a batch, and let the faults decide; none, if they delay it."""
        taken = [queue.popleft()]
        self._event, batch = taken[0].event, taken[0]._batch
        if taken[0]._depth > MAX_DEPTH:
            queue.clear()
            raise UndeliveredWebhooks(
                f"endless loop: {MAX_DEPTH:,} webhooks in a row each caused another one "
                f"(last: {self._event.line}). Does the receiver send a message for every event?"
            )
        while batch is not None and queue and queue[0]._batch is batch:
            taken.append(queue.popleft())
        ready: list[Attempt] = []
        for attempt in taken:
            ready += self._decide(attempt, in_batch=batch is not None)
        return ready

    def _decide(self, attempt: Attempt, *, in_batch: bool) -> Sequence[Attempt]:
        """Return the attempts to make now in place of one from the queue."""
        if not attempt._is_wanted or not self._core.history.has(attempt.event):
            return ()
        if attempt.endpoint.disabled:
            Disabled(attempt.endpoint)._shape(attempt)
        elif self.ordering is not None:
            return self.ordering.decide(attempt, in_batch=in_batch)
        return (attempt,)

    def _begin(self, attempt: Attempt, batch: int) -> None:
        """Begin an attempt; one with an outcome is only recorded."""
        event, endpoint, now = attempt.event, attempt.endpoint, self._core.now()
        attempt.moment = now if attempt._due is None else attempt._due
        self._core.history.add(attempt, attempt._cause or event)
        self.count += 1
        attempt._ordinal, attempt._round = self.count, batch
        attempt._target = endpoint._target
        attempt._request = WebhookRequest(
            event,
            attempt._body,
            endpoint.headers,
            now // SECOND,
            attempt.number,
            endpoint,
            attempt._id,
        )
        if self.ordering is None or batch:  # what overlaps can't be attended
            return
        attempt._attendant = self.ordering.attendant_of(attempt)
        if attempt._attendant is not None and not attempt._target.in_process:
            kind = attempt._failure and attempt._failure.kind
            attempt._outcome = ChatFakeError(
                f"{kind}() needs an app in process, and {endpoint._shown} is a URL. Connect the "
                f"app as wsgi= or asgi="
            )

    async def _make(self, attempts: Sequence[Attempt], *, plain: bool) -> None:
        """Make those attempts that no fault has ended already; record all."""
        to_make = [attempt for attempt in attempts if attempt._outcome is None]
        ended: BaseException | None = None
        try:
            await make(to_make, self._core.scopes, self._portal, plain=plain)
        except BaseException as error:
            ended = error
        if len(to_make) > 1:
            in_threads = sum(attempt._target.threaded for attempt in to_make)
            pool = [each for each in threading.enumerate() if each.name.startswith(_POOLS)]
            self.had_threads = self.had_threads or max(in_threads, len(pool)) > 1
        for attempt in to_make:
            if attempt._outcome is None and isinstance(ended, Exception):
                attempt._outcome = ended
        interrupts = [self._record(attempt) for attempt in attempts]
        if ended is None or isinstance(ended, Exception):
            ended = next(filter(None, interrupts), None)
        if ended is not None:
            raise ended

    def _record(self, attempt: Attempt) -> BaseException | None:
        """Record how an attempt ended, and plan its retry; return the interrupt that ended it."""
        response, error = self._response_of(attempt), self._error_of(attempt)
        with self._core.lock:
            response = self._count(attempt, response)
            attempt._response, attempt._ended = response, True
            is_observed = self.ordering is not None and self.ordering.observer is not None
            if not is_observed and response.status not in {401, 403}:  # reports say what was signed
                attempt._forget_request()
            if self._core.history.has(attempt):  # it is not of before a reset
                self._outbox.attempts.append(attempt)
                if not attempt.ok and attempt._was_made and attempt._effect._counts:
                    self._try_again(attempt)
        return self._surface(attempt, error)

    def _count(self, attempt: Attempt, response: Response) -> Response:
        """Count an attempt for faults and for its endpoint; return the service's response."""
        endpoint = attempt.endpoint
        if not attempt._effect._counts:
            return response
        if self.ordering is not None:
            response = self.ordering.note_attempt(attempt, response)
        if attempt._was_made and endpoint._count(ok=response.is_success):
            attempt._marks += (Mark("disable", Disabled._text, endpoint._line),)
        return response

    def _try_again(self, attempt: Attempt) -> None:
        """Plan the retry of a failed attempt: by the clock, if it was not a fault that spoilt it.

        What a fault has spoilt comes again at the next barrier, and uses up no retry.
        """
        ordering = self.ordering
        if attempt.endpoint.disabled:
            self._outbox.forget_unwanted()
            if ordering is not None:
                ordering.forget_unwanted()
        elif ordering is not None and attempt._failure is not None:
            ordering.keep_failed(attempt._again(attempt._retried))
        elif attempt._retried < len(attempt.endpoint._retries):
            self._plan_retry(attempt)

    def _plan_retry(self, attempt: Attempt) -> None:
        """Schedule a retry; it is next where a late response came after the retry was due."""
        now, retry = self._core.now(), attempt._again(attempt._retried + 1)
        failed_at = attempt.moment
        if isinstance(attempt.error, TimeoutError):
            failed_at = min(failed_at + round(self.overdue.limit * SECOND), now)
        delay = attempt.endpoint._retries[attempt._retried]
        if attempt._is_late and failed_at + delay < now:
            self._outbox.take_due(failed_at + delay, retry)
            return
        self._outbox.plan(retry, delay, since=failed_at)
        if self.ordering is not None and self.ordering.awaits_retries:
            self.ordering.await_retry(attempt, failed_at + delay)

    def _surface(self, attempt: Attempt, error: BaseException | None) -> BaseException | None:
        """Keep the error of an app for the test; return an interrupt, which is raised at once."""
        event, endpoint = attempt.event, attempt.endpoint
        if error is None or (attempt._is_posted and not endpoint._surfaces(error)):
            return None
        if not attempt._effect._counts and isinstance(error, Exception):
            return None  # its check reports it
        attempt._surfaced = True
        if not isinstance(error, Exception):
            return error
        # An app that was stopped was called, whatever restart= raised.
        was_called = attempt._is_posted or (attempt._attendant and attempt._attendant.stopped)
        raised = f"by {endpoint._shown} at" if was_called else f"before {endpoint._shown} got"
        error.add_note(f"raised {raised} {event._name}, caused {event.line.place}")
        self._raised = self._raised or error
        return None

    def _response_of(self, attempt: Attempt) -> Response:
        """Return the response to record: none, if it came late."""
        outcome = attempt._outcome or InterruptedError(_INTERRUPTED)
        response = outcome if isinstance(outcome, Response) else Response(None, b"", outcome)
        if not attempt._is_late or attempt._is_broken_off:
            return response
        overdue = timed_out(self.overdue.limit, attempt.endpoint._stopped)
        return Response(None, b"", overdue, response.status)

    def _error_of(self, attempt: Attempt) -> BaseException | None:
        """Return the error that an attempt ended with; replace an app that was stopped in it."""
        error = None if isinstance(attempt._outcome, Response) else attempt._outcome
        attendant = attempt._attendant
        if attendant is not None and attendant.stopped is not None:
            error = self._restart(attempt.endpoint, attendant.deed) or error
            attempt._is_posted = error is None  # so that it comes back in the test in any case
        return error

    def _restart(self, endpoint: Endpoint, stopped: str) -> Exception | None:
        """Replace a stopped app, if the test says how; return why that failed."""
        endpoint._stopped = stopped
        if has_broken_transaction():
            return ChatFakeError(
                f"the app {stopped} inside a transaction that it shares with the test: expected "
                f"one that ends with the app. Use Django's TransactionTestCase, or pytest-django's "
                f"django_db(transaction=True)"
            )
        try:
            endpoint._make_anew()
        except Exception as error:
            return error
        return None
