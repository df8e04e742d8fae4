"""The drain makes the attempts that the outbox has queued, and records how each one ended.

The way of a webhook
--------------------
For each endpoint that listens for an :class:`.Event`, the outbox has queued an :class:`.Attempt`.
*Begin*: the drain takes it from the queue, lets the faults change or delay it, and adds it to the
history. *Make*: :func:`.make` writes and signs a :class:`.WebhookRequest`; the endpoint's target
posts it and returns the app's :class:`.Response`. *End*: the drain stores the response in the
attempt. If the attempt failed, the drain plans the next one: a retry by the clock or, if a fault
was to blame, one at the next barrier. Then the attempt's :class:`.Flight`, which has whatever was
only needed until now, is discarded. So a plain webhook consists of five objects, and each fault
adds one.

Theory of operation
-------------------
*No lock is held* while an attempt is made, because a receiver may call back: it may ask for the
balance over HTTP, send another message, or start a thread that does so. Only one thread or task at
a time drains the queue, in order. A receiver that calls back, or another thread, just adds to the
queue, and the draining thread checks the queue again before it stops. That thread holds the lock
only while attempts begin and end.

*Waiting.* A verb returns after its event was attempted. If another thread is draining, the test's
own thread waits for that thread. Other threads don't wait, because an attempt may be waiting for
them: the app's server, for example, may call the fake before it responds.

*Errors.* An in-process app's error is recorded, and raised in the test after the event's other
endpoints and its repeats have had their turn. The rest of the queue stays for the next verb. A
cancellation or an interrupt is raised at once; the remaining endpoints stay queued.

*Faults.* Before each attempt, the :class:`.Ordering`, if there is one, decides whether the attempt
is made now; afterwards it counts the attempt.

*Batches.* Several attempts can be made at the same time. They are recorded in the order in which
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
from .logged_errors import ErrorLog
from .observing import Observer
from .ordering import Ordering
from .outbox import Outbox
from .overdue import Overdue

#: A longer chain of events, each causing the next, counts as an endless loop.
MAX_DEPTH: Final = 10_000

#: The names of the threads in which anyio, asyncio and asgiref call an app's plain functions.
_POOLS = ("AnyIO worker thread", "asyncio_", "ThreadPoolExecutor")

_INTERRUPTED = "another attempt of the batch was stopped"


class Drain:
    """Makes the attempts of a fake.

    Attributes:
        thread: The thread that is draining the queue, if any.
        count: How many attempts have begun so far.
        ordering: Applies the faults; None until there are any.
        had_threads: Whether attempts were made in several threads at the same time, or may have
            been, because a framework had a thread pool for plain functions.
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
        self._log = ErrorLog(core.scopes)
        self._test_thread = threading.get_ident()
        self._drain_lock = threading.Lock()  # held by the draining thread
        self.thread: int | None = None
        self.count: int = 0
        self.ordering: Ordering | None = None
        self.had_threads: bool = False
        self.overdue: Overdue = Overdue(timeout)
        self._event: Event | None = None  # the event that is being attempted
        self._batches = 0
        self._raised: Exception | None = None  # an app's error, to raise in the test

    @property
    def observer(self) -> Observer | None:
        return None if self.ordering is None else self.ordering.observer

    def enable_ordering(self) -> Ordering:
        """Consult the faults before each attempt from now on."""
        if self.ordering is None:
            self.ordering = Ordering(self._core, self._outbox)
        return self.ordering

    @property
    def may_use_threads(self) -> bool:
        """Whether an awaited attempt may be a call in a thread, which holds cancellations back."""
        return self._outbox.endpoints.threaded

    # Attempting

    def attempt(self) -> None:
        """Attempt queued webhooks in order, unless another thread is doing so; for plain code."""
        error = run_at_once(self._run(plain=True))
        if error is not None:
            raise error

    async def attempt_async(self) -> None:
        """Do the same as :meth:`attempt` in the test's own loop."""
        error = await self._run(plain=False)
        if error is not None:
            raise error

    def flush(self) -> None:
        """Attempt queued webhooks; if another thread is draining, the test's thread waits for it.

        Must not be called inside an attempt, which would wait for itself.
        """
        if self._outbox.queue:
            self.attempt()
        if self.thread is not None:
            self._wait()
            self.attempt()  # the other thread leaves the rest if a receiver raises

    @contextmanager
    def setting_aside(self) -> Generator[None]:
        """Leave the current queue alone during a block."""
        with self._core.lock:
            queued, self._outbox.queue = self._outbox.queue, deque()
        try:
            yield
        finally:
            with self._core.lock:
                queued.extend(self._outbox.queue)
                self._outbox.queue = queued

    def _wait(self) -> None:
        # Only the test's own thread waits. A receiver's code that runs outside its context doesn't
        # look like part of an attempt, but the draining thread can't wait for itself.
        here, thread = threading.get_ident(), self.thread
        waits = here == self._test_thread and thread not in (None, here)
        if waits and self._drain_lock.acquire(timeout=self.overdue.limit):
            self._drain_lock.release()

    async def _run(self, *, plain: bool) -> Exception | None:
        # An app's error is returned; run_at_once() explains why.
        while self._outbox.queue and self._drain_lock.acquire(blocking=False):
            self.thread = threading.get_ident()
            try:
                with self._log:
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
        # Usually one attempt; none if the queue is empty, or if an app raised and the event is
        # done.
        with self._core.lock:  # no reset may come between an event's check and its record
            queue, attempts = self._outbox.queue, list[Attempt]()
            while not attempts:
                if not queue or (self._raised is not None and queue[0].event is not self._event):
                    return []
                attempts = self._take_next(queue)
            self._outbox.depth = attempts[-1]._flight.depth + 1
            is_batch = sum(attempt._flight.outcome is None for attempt in attempts) > 1
            self._batches += is_batch
            for attempt in attempts:
                self._begin(attempt, self._batches if is_batch else 0)
        self.overdue.current = attempts
        return attempts

    def _take_next(self, queue: deque[Attempt]) -> list[Attempt]:
        # The next attempt or batch, or none if the faults delay it.
        taken = [queue.popleft()]
        self._event, batch = taken[0].event, taken[0]._flight.batch
        if taken[0]._flight.depth > MAX_DEPTH:
            queue.clear()
            raise UndeliveredWebhooks(
                f"endless loop: {MAX_DEPTH:,} webhooks in a row each caused another one "
                f"(last: {self._event.line}). Does the receiver send a message for every event?"
            )
        while batch is not None and queue and queue[0]._flight.batch is batch:
            taken.append(queue.popleft())
        ready: list[Attempt] = []
        for attempt in taken:
            ready += self._decide(attempt, in_batch=len(taken) > 1)
        return ready

    def _decide(self, attempt: Attempt, *, in_batch: bool) -> Sequence[Attempt]:
        # The attempts to make now in place of one from the queue.
        if not attempt._is_wanted or not self._core.history.has(attempt.event):
            return ()
        if attempt.endpoint.disabled:
            Disabled(attempt.endpoint)._shape(attempt)
        elif self.ordering is not None:
            return self.ordering.decide(attempt, in_batch=in_batch)
        return (attempt,)

    def _begin(self, attempt: Attempt, batch: int) -> None:
        # An attempt that already has an outcome is only recorded, not made.
        flight = attempt._flight
        event, endpoint, now = attempt.event, attempt.endpoint, self._core.now()
        attempt.moment = now if flight.due is None else flight.due
        self._core.history.add(attempt, attempt._cause or event)
        self.count += 1
        flight.ordinal, flight.round = self.count, batch
        if batch and flight.batch and flight.batch not in attempt._marks:
            attempt._marks += (flight.batch,)
        flight.target = endpoint._target
        flight.request = WebhookRequest(
            event,
            attempt._body,
            endpoint.headers,
            now // SECOND,
            attempt.number,
            endpoint,
            attempt._id,
        )
        if self.ordering is None or batch:  # concurrent attempts have no attendants
            return
        flight.attendant = self.ordering.attendant_of(attempt)
        if flight.attendant is not None and not flight.target.in_process:
            kind = flight.failure and flight.failure.kind
            flight.outcome = ChatFakeError(
                f"{kind}() needs an in-process app, but {endpoint._shown} is a URL. Connect the "
                f"app as wsgi= or asgi="
            )

    async def _make(self, attempts: Sequence[Attempt], *, plain: bool) -> None:
        # Attempts that faults have ended already are only recorded.
        to_make = [attempt for attempt in attempts if attempt._flight.outcome is None]
        ended: BaseException | None = None
        try:
            await make(to_make, self._core.scopes, self._log, self._portal, plain=plain)
        except BaseException as error:
            ended = error
        if len(to_make) > 1:
            in_threads = sum(attempt._flight.target.threaded for attempt in to_make)
            pool = [each for each in threading.enumerate() if each.name.startswith(_POOLS)]
            self.had_threads = self.had_threads or max(in_threads, len(pool)) > 1
        for attempt in to_make:
            if attempt._flight.outcome is None and isinstance(ended, Exception):
                attempt._flight.outcome = ended
        interrupts = [self._record(attempt) for attempt in attempts]
        if ended is None or isinstance(ended, Exception):
            ended = next(filter(None, interrupts), None)
        if ended is not None:
            raise ended

    def _record(self, attempt: Attempt) -> BaseException | None:
        # Returns the interrupt that ended it, if one did.
        response, error = self._response_of(attempt), self._error_of(attempt)
        with self._core.lock:
            response = self._count(attempt, response)
            attempt._response, attempt._ended = response, True
            if self._core.history.has(attempt):  # there was no reset meanwhile
                self._outbox.attempts.append(attempt)
                if not attempt.ok and attempt._was_made and attempt._effect._counts:
                    self._try_again(attempt)
        interrupt = self._surface(attempt, error)
        # Reports show what was signed for a 401 or 403, and observers look at every request.
        if self.observer is None and response.status not in {401, 403}:
            attempt._land()
        return interrupt

    def _count(self, attempt: Attempt, response: Response) -> Response:
        # Faults and the endpoint count the attempt; returns the response as the service gets it.
        endpoint = attempt.endpoint
        if not attempt._effect._counts:
            return response
        if self.ordering is not None:
            response = self.ordering.note_attempt(attempt, response)
        if attempt._was_made and endpoint._count(ok=response.is_success):
            attempt._marks += (Mark("disable", Disabled._text, endpoint._line),)
        return response

    def _try_again(self, attempt: Attempt) -> None:
        # If a fault made the attempt fail, it is repeated at the next barrier, without using up one
        # of the endpoint's retries.
        ordering = self.ordering
        if attempt.endpoint.disabled:
            self._outbox.forget_unwanted()
            if ordering is not None:
                ordering.backlog.forget_failed(lambda repeat: not repeat._is_wanted)
        elif ordering is not None and attempt._flight.failure is not None:
            ordering.backlog.keep_failed(attempt._again(attempt._retried))
        elif attempt._retried < len(attempt.endpoint._retries):
            self._plan_retry(attempt)

    def _plan_retry(self, attempt: Attempt) -> None:
        # After a very late response, the retry may be overdue already; then it is next.
        now, retry = self._core.now(), attempt._again(attempt._retried + 1)
        failed_at = attempt.moment
        if isinstance(attempt.error, TimeoutError):
            failed_at = min(failed_at + round(self.overdue.limit * SECOND), now)
        delay = attempt.endpoint._retries[attempt._retried]
        if attempt._flight.is_late and failed_at + delay < now:
            self._outbox.take_due(failed_at + delay, retry)
            return
        self._outbox.plan(retry, delay, since=failed_at)
        if self.ordering is not None and self.ordering.awaits_retries:
            self.ordering.await_retry(attempt, failed_at + delay)

    def _surface(self, attempt: Attempt, error: BaseException | None) -> BaseException | None:
        # Keeps an app's error for the test; returns an interrupt, which is raised at once.
        flight = attempt._flight
        event, endpoint = attempt.event, attempt.endpoint
        if error is None or (flight.is_posted and not endpoint._surfaces(error)):
            return None
        if not attempt._effect._counts and isinstance(error, Exception):
            return None  # the check that made the attempt reports it
        attempt._surfaced = True
        if not isinstance(error, Exception):
            return error
        # A stopped app was called, even if it was restart= that raised.
        was_called = flight.is_posted or (flight.attendant and flight.attendant.stopped)
        raised = f"by {endpoint._shown} on" if was_called else f"before {endpoint._shown} got"
        error.add_note(f"raised {raised} {event._name} (caused {event.line.place})")
        self._raised = self._raised or error
        return None

    def _response_of(self, attempt: Attempt) -> Response:
        # A late response counts as none.
        flight = attempt._flight
        outcome = flight.outcome or InterruptedError(_INTERRUPTED)
        response = outcome if isinstance(outcome, Response) else Response(None, b"", outcome)
        if not flight.is_late or flight.is_broken_off:
            return response
        overdue = timed_out(self.overdue.limit, attempt.endpoint._stopped)
        return Response(None, b"", overdue, response.status)

    def _error_of(self, attempt: Attempt) -> BaseException | None:
        # A stopped app is replaced; if that fails, its error is the attempt's.
        flight = attempt._flight
        error = None if isinstance(flight.outcome, Response) else flight.outcome
        attendant = flight.attendant
        if attendant is not None and attendant.stopped is not None:
            error = self._restart(attempt.endpoint, attendant.deed) or error
            flight.is_posted = error is None  # False: the error is raised in the test in any case
        return error

    def _restart(self, endpoint: Endpoint, stopped: str) -> Exception | None:
        # Returns the error, if any.
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
