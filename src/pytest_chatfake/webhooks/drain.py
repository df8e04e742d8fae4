"""The drain makes the attempts that are ready, and records how each one ended.

Theory of operation
-------------------
*The way.* The outbox has put an :class:`.Attempt` into the :class:`.Queue` for each endpoint that
listens. The drain takes it, asks the faults about it, and carries out their decisions. If it is
made now, it *begins*: it is added to the history and gets a :class:`.Post`, which lives until its
*end*. Between the two, the :class:`.Poster` makes it.

*Batches.* Usually one attempt is made at a time. Several are made at the same time if the test's
``concurrently()`` block put them together, if a fault repeats an attempt at once (its *twin*), or
if attempts of earlier events have waited for this one (its *partners*).

*The fake's lock is not held* meanwhile, because a receiver may call back. Only one thread or task
at a time drains, the one that holds the drain lock; everybody else adds to the queue, which the
draining one checks again before it stops. The test's own thread waits for another one that drains.
Other threads don't, because an attempt may be waiting for them.

*Ends.* A response may be late, a fault may have ended the attempt, or a crash may have stopped the
app, which is then made anew. ``_conclude`` and ``_apply_failure`` decide which of these counts.

*Errors.* An in-process app's error is raised in the test once the event's other endpoints and its
repeats had their turn; the rest of the queue stays. A cancellation or an interrupt is raised at
once.

*Barriers.* At ``settle()``, an assertion or a clock move, whatever waits for other attempts is
made. Only ``settle()`` also moves the clock: to duplicates that wait for it, and to retries if a
fault may have caused them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ..base.coroutines import run_at_once
from ..base.errors import ChatFakeError, UndeliveredWebhooks
from ..base.forks import new_lock
from ..base.history import Record
from ..base.marks import Mark
from ..base.tracebacks import first_of
from ..domain.instants import SECOND
from ..transport.client.portal import Portal
from ..transport.client.responses import Response, timed_out
from .attempts import Attempt, Post
from .attending import Attend
from .core import Core
from .decisions import (
    AtBarrier,
    Call,
    Changed,
    Decision,
    Failed,
    Hold,
    Pause,
    Repeat,
    Together,
    Turn,
    Twice,
    Wait,
)
from .endpoints import WebhookRequest
from .events import Event
from .fake_state import FakeState
from .faults import Concurrently, Disabled, DuringCall
from .logged_errors import ErrorLog
from .observing import Observer
from .overdue import Overdue
from .posting import Poster

#: A longer chain of events, each causing the next, counts as an endless loop.
MAX_DEPTH: Final = 10_000

#: The names of the threads in which anyio, asyncio and asgiref call an app's plain functions.
_POOLS = ("AnyIO worker thread", "asyncio_", "ThreadPoolExecutor")

_INTERRUPTED = "another attempt of the batch was stopped"


class Drain:
    """Makes the attempts of a fake.

    Attributes:
        log: Notes what apps log.
        thread: The thread that is draining the queue, if any.
        observer: The extra that observes attempts, if any.
        had_threads: Whether attempts were made in several threads at the same time, or may have
            been, because a framework had a thread pool for plain functions.
        overdue: Ends attempts that take too long.
    """

    def __init__(
        self,
        core: Core[FakeState],
        *,
        portal: Portal,
        timeout: float,
    ) -> None:
        self._core = core
        self._state = core.state  # that in which the last attempts were taken
        self._poster = Poster(core, portal)
        self.log: ErrorLog = self._poster.log
        self._test_thread = threading.get_ident()
        self._drain_lock = new_lock()  # held by the draining thread
        self.thread: int | None = None
        self.observer: Observer | None = None
        self.had_threads: bool = False
        self.overdue: Overdue = Overdue(timeout)
        self._batches = 0
        self._event: Event | None = None  # the event that is being attempted
        self._raised: list[Exception] = []  # apps' errors, to raise in the test

    @property
    def may_use_threads(self) -> bool:
        """Whether an awaited attempt may be a call in a thread, which holds cancellations back."""
        return self._core.state.outbox.endpoints.threaded

    # Draining: by one thread or task at a time

    def attempt(self) -> None:
        """Attempt what is ready, in order, unless another thread is doing so; for plain code."""
        while self._core.state.queue.ready and self._drain_lock.acquire(blocking=False):
            with self:
                while posts := self._begin_next():
                    run_at_once(self._poster.post(posts, plain=True))
                    self._end(posts)

    async def attempt_async(self) -> None:
        """Do the same as :meth:`attempt` in the test's own loop."""
        while self._core.state.queue.ready and self._drain_lock.acquire(blocking=False):
            with self:
                while posts := self._begin_next():
                    await self._poster.post(posts, plain=False)
                    self._end(posts)

    def __enter__(self) -> None:
        # The caller has acquired the drain lock.
        self.thread = threading.get_ident()
        self.log.begin()

    def __exit__(self, kind: object, *_: object) -> None:
        raised, self._raised = self._raised, []
        self._event = self.thread = self.overdue.current = None
        self._core.depth = 0
        self._drain_lock.release()
        if raised and kind is None:
            raise first_of(raised)
        self._core.state.errors += raised

    def flush(self) -> None:
        """Attempt what is ready; if another thread is draining, the test's thread waits for it.

        Must not be called inside an attempt, which would wait for itself.
        """
        self.attempt()
        if self.thread is not None:
            self._wait()
            self.attempt()  # the other thread leaves the rest if a receiver raises

    def _wait(self) -> None:
        # Only the test's own thread waits. A receiver's code that runs outside its context doesn't
        # look like part of an attempt, but the draining thread can't wait for itself.
        here, thread = threading.get_ident(), self.thread
        waits = here == self._test_thread and thread not in (None, here)
        if waits and self._drain_lock.acquire(timeout=self.overdue.limit):
            self._drain_lock.release()

    # API calls

    def take_for(self, call: Record) -> list[Attempt]:
        """Remove and return the attempts that wait for an API call.

        A call that is made while an event is handled ends no wait, nor does one from before a
        reset. An event that the call itself has caused waits for the next one.
        """
        with self._core.lock:
            state = self._core.state
            if self.thread is not None or not state.history.has(call):
                return []
            self._state, ready = state, state.queue.ready
            if any(isinstance(each, DuringCall) and not each._is_removed for each in state.faults):
                # An event that is ready may be one that the fault wants during this very call.
                caused = state.history.effects_of(call)
                for attempt in [*ready]:
                    stays = attempt._was_asked or attempt._wait or attempt.event in caused
                    if not (stays or self._ask_faults(attempt, in_batch=False)):
                        ready.remove(attempt)
            return state.queue.take_for(call)

    # Barriers

    def barrier(self) -> Iterator[None]:
        """Attempt what is ready, then what a barrier releases; a step."""
        if self.observer is not None:
            self.observer.barrier()
        yield
        while self._core.state.queue.release():
            yield
        if self.observer is not None:
            self.observer.flushed(self._core.now())

    def with_barriers(
        self,
        step: Callable[[], Iterator[None]],
        is_due: Callable[[], bool],
        move_to: Callable[[Attempt, int], Iterator[None]] | None = None,
    ) -> Iterator[None]:
        """Perform a step, with a barrier wherever it yields and no more work is due.

        Args:
            step: The step, which yields at least before it moves time.
            is_due: Returns whether more work is due at the present moment.
            move_to: Moves time to when a duplicate or a retry is due; None: these are not waited
                for.
        """

        def passing(steps: Iterator[None]) -> Iterator[None]:
            for _ in steps:
                yield
                if not is_due():
                    yield from self.barrier()

        yield from passing(step())
        while move_to is not None and (later := self._core.state.queue.moves_clock_to()):
            began, (due, attempt) = self._core.now(), later[0]
            yield from passing(move_to(attempt, due))
            if self.observer is not None:
                self.observer.waited(began, self._core.now())
            yield from self.barrier()

    # Taking attempts, and what faults decide about them

    def _begin_next(self) -> Sequence[Post]:
        # Usually one; none if nothing is ready, or if an app raised and the event is done.
        with self._core.lock:
            self._state = self._core.state
            ready = self._state.queue.ready
            while ready and (not self._raised or ready[0].event is self._event):
                if posts := self._take(ready):
                    self.overdue.current = posts
                    return posts
        return ()

    def _take(self, ready: deque[Attempt]) -> Sequence[Post]:
        # The posts of the next attempt or batch; none if it isn't made now.
        attempt = ready.popleft()
        self._event, together, batch = attempt.event, attempt._wait, [attempt]
        if attempt._depth > MAX_DEPTH:
            ready.clear()
            raise UndeliveredWebhooks(
                f"endless loop: {MAX_DEPTH:,} webhooks in a row each caused another one "
                f"(last: {self._event.line}). Does the receiver send a message for every event?"
            )
        while together is not None and ready and ready[0]._wait is together:
            batch.append(ready.popleft())
        to_make: list[Attempt] = []
        for attempt in batch:
            attempt._wait = None
            if attempt._is_wanted:
                to_make += self._prepare(attempt, len(batch) > 1)
        posts = [*map(self._begin, to_make)]
        if len(posts) > 1:
            self._begin_batch(posts, together)
        return posts

    def _prepare(self, attempt: Attempt, in_batch: bool) -> Sequence[Attempt]:
        # Returns the attempts to make now in place of one that was ready.
        if attempt.endpoint.disabled:  # perhaps since faults have decided about the attempt
            attempt._decisions, attempt._marks = (Disabled(attempt.endpoint)._decide(attempt),), ()
            return (attempt,)
        if not self._ask_faults(attempt, in_batch):
            return ()
        batch = [attempt]
        for twice in attempt._decisions:
            if isinstance(twice, Twice):
                batch += self._repeat(attempt, twice, in_batch)
        if in_batch or not attempt.endpoint._target.overlaps:
            return batch
        partners = self._state.queue.take_partners()
        for partner in partners:
            for twice in partner._decisions:
                if isinstance(twice, Twice):
                    self._repeat(partner, twice, in_batch=False)  # all of which wait
        return [*partners, *batch]

    def _ask_faults(self, attempt: Attempt, in_batch: bool) -> bool:
        # Returns whether to make an attempt now; the faults are asked about it once. Decisions that
        # combine with others come first, then the first of the other ones, unless the attempt is in
        # one of the test's batches.
        if self.observer is not None:
            self.observer.begins(attempt)
        if attempt._was_asked:
            return True
        attempt._was_asked = True
        chosen: Decision | None = None
        for fault in self._state.faults:
            decision = fault._ask(attempt)
            if decision is None:
                continue
            if decision.combines:
                fault._fire()
                self._carry_out(decision, attempt)
            elif chosen is None and not in_batch:
                fault._fire()
                chosen = decision
        if chosen is None:
            return True
        self._state.queue.awaits_retries = True
        return self._carry_out(chosen, attempt)

    def _carry_out(self, decision: Decision, attempt: Attempt) -> bool:
        # Returns whether to make the attempt now. A failure is marked once it has happened, and so
        # are attempts that are made at the same time.
        attempt._decisions += (decision,)
        if isinstance(decision, Changed):
            attempt._marks += (decision.mark,)
        if not isinstance(decision, Hold):
            return True
        event, wait = attempt.event, decision.wait
        if isinstance(wait, Pause) and decision.mark not in event._marks:
            event._marks += (decision.mark,)  # its attempt comes much later in the timeline
        if not (isinstance(wait, Turn) and wait.together):
            attempt._marks += (decision.mark,)
        self._state.queue.wait(attempt, wait)
        return False

    def _repeat(self, attempt: Attempt, twice: Twice, in_batch: bool) -> Sequence[Attempt]:
        # Returns the repeat of an attempt that is made now, if it is made with it; else queues it.
        self._state.queue.awaits_retries = True
        repeat, wait = attempt._repeated(twice), twice.wait
        attempt._decisions = tuple(each for each in attempt._decisions if each is not twice)
        if wait is None or (in_batch and isinstance(wait, Turn) and wait.others == 1):
            return (repeat,)
        repeat.moment = 0  # it is made later than this one was due
        self._state.queue.wait(repeat, wait)
        return ()

    # Beginning and ending

    def _begin(self, attempt: Attempt) -> Post:
        event, endpoint, now = attempt.event, attempt.endpoint, self._core.now()
        attempt.moment = attempt.moment or now
        self._state.history.add(attempt, attempt._cause or event)
        self._core.depth = attempt._depth + 1
        request = WebhookRequest(
            event,
            attempt._body,
            endpoint.headers,
            now // SECOND,
            attempt.number,
            endpoint,
            attempt._other_id,
        )
        attempt._post = post = Post(attempt, request, endpoint._target)
        if self.observer is not None and attempt._is_new and post.target.in_process:
            post.attendant = self.observer.attend and self.observer.attend()
        for decision in attempt._decisions:
            if isinstance(decision, Failed) and not decision.is_after:
                post.result = decision.response  # so it is only recorded, not made
            elif isinstance(decision, Call):
                self._accompany(post, decision.attend, decision.mark)
        return post

    def _accompany(self, post: Post, attend: Attend, mark: Mark) -> None:
        post.attendant = attend()
        if not post.target.in_process:
            post.result = ChatFakeError(
                f"{mark.kind}() needs an in-process app, but {post.attempt.endpoint._shown} "
                f"is a URL. Connect the app as wsgi= or asgi="
            )

    def _begin_batch(self, posts: Sequence[Post], together: Wait | None) -> None:
        if sum(post.result is None for post in posts) < 2:
            return
        self._batches += 1
        marks = [together.mark] if isinstance(together, Together) else []
        decisions = (decision for post in posts for decision in post.attempt._decisions)
        marks += (each.mark for each in decisions if isinstance(each.fault, Concurrently))
        for post in posts:
            post.batch, post.attendant = self._batches, None  # it can only follow one attempt
            if marks[0] not in post.attempt._marks:
                post.attempt._marks += (marks[0],)
        for post in posts:
            for decision in post.attempt._decisions:
                if isinstance(decision, Repeat) and decision.twice.wait is None:
                    self._pair(_twins(posts, post.attempt), decision.twice, decision.twice.attend)
                elif isinstance(decision, Hold) and isinstance(decision.fault, Concurrently):
                    self._pair((post, _awaited(posts)), decision, decision.attend)

    def _pair(self, posts: Iterable[Post], decision: Decision, attend: Attend | None) -> None:
        # Attempts that a fault makes at the same time.
        for post in posts:
            post.is_twin = True
            if attend is not None and post.attendant is None:
                self._accompany(post, attend, decision.mark)

    def _end(self, posts: Sequence[Post]) -> None:
        if len(posts) > 1:
            in_threads = sum(post.is_posted and post.target.threaded for post in posts)
            pool = [each for each in threading.enumerate() if each.name.startswith(_POOLS)]
            self.had_threads = self.had_threads or max(in_threads, len(pool)) > 1
        interrupts = [*filter(None, map(self._record, posts))]
        if interrupts:
            raise interrupts[0]

    def _record(self, post: Post) -> BaseException | None:
        # Returns the interrupt that ended it, if one did.
        attempt, endpoint, state = post.attempt, post.attempt.endpoint, self._state
        response, error = self._conclude(post)
        with self._core.lock:
            attempt._response = got = self._apply_failure(post, response)
            meaning = attempt._meaning
            state.outbox.attempts.append(attempt)
            if not meaning.uncounted:
                if self.observer is not None:
                    self.observer.ended(attempt, response)
                state.queue.note_made()
                if got.is_success:
                    if state.failures.get(endpoint) and not endpoint.disabled:
                        state.failures[endpoint] = 0
                elif not meaning.unmade:
                    self._note_failure(post, by_fault=meaning.wanted)
        interrupt = None if error is None else self._surface(post, error)
        # Reports show what was signed for a 401 or 403, and observers look at every post. After an
        # interrupt, a thread may still be making this attempt.
        if self.observer is None and post.result is not None and got.status not in {401, 403}:
            attempt._post = None
        return interrupt

    def _apply_failure(self, post: Post, response: Response) -> Response:
        # Marks a failure that a fault wants, because it has happened now. Returns the response as
        # the service gets it.
        attempt = post.attempt
        for decision in attempt._decisions:
            if isinstance(decision, Call) and not (post.attendant and post.attendant.effect):
                decision.fault._take_back()  # the app did not come that far
                attempt._decisions = tuple(d for d in attempt._decisions if d is not decision)
            elif isinstance(decision, (Failed, Call)):
                attempt._marks += (decision.mark,)
                if isinstance(decision, Failed) and response.error is None:
                    return decision.response
        return response

    def _note_failure(self, post: Post, *, by_fault: bool) -> None:
        attempt, endpoint, failures = post.attempt, post.attempt.endpoint, self._state.failures
        failures[endpoint] = failures.get(endpoint, 0) + 1
        if failures[endpoint] == endpoint._disable_after:
            attempt._marks += (Mark("disable", Disabled._text, endpoint._line),)
        self._try_again(post, by_fault=by_fault)

    def _try_again(self, post: Post, *, by_fault: bool) -> None:
        # If a fault made the attempt fail, it is repeated at the next barrier, without using up one
        # of the endpoint's retries. One that a fault made at the same time as another one is
        # repeated before anything else happens, unless an interrupt ended it.
        attempt, queue = post.attempt, self._state.queue
        if attempt.endpoint.disabled:
            queue.forget_unwanted()
        elif post.is_twin and post.is_posted and isinstance(post.result, Response | Exception):
            queue.retry_next(attempt._again(attempt._retried))
        elif by_fault:
            queue.wait(attempt._again(attempt._retried), AtBarrier())
        elif attempt._retried < len(attempt.endpoint._retries):
            self._retry(attempt)

    def _retry(self, attempt: Attempt) -> None:
        # After a very late response, the retry may be overdue already.
        queue, failed_at = self._state.queue, attempt.moment
        if isinstance(attempt.error, TimeoutError):
            failed_at = min(failed_at + round(self.overdue.limit * SECOND), self._core.now())
        due = failed_at + attempt.endpoint._retries[attempt._retried]
        retry = attempt._again(attempt._retried + 1)
        queue.wait_until(retry, due, moves_clock=queue.awaits_retries)

    def _surface(self, post: Post, error: BaseException) -> BaseException | None:
        # Keeps an app's error for the test; returns an interrupt, which is raised at once.
        # What the app did not raise itself is raised in any case: an error of a hook, of the test's
        # signer or, once a crash has stopped the app, of restart=, or one that says why the crash
        # is none.
        attempt, endpoint = post.attempt, post.attempt.endpoint
        was_stopped = post.attendant is not None and post.attendant.stopped is not None
        is_by_app = post.is_posted and not was_stopped and error is not post.ended
        if is_by_app and not endpoint._surfaces(error):
            return None
        if attempt._meaning.uncounted and isinstance(error, Exception):
            return None  # the check that made the attempt reports it
        attempt._surfaced = True
        if not isinstance(error, Exception):
            return error
        if error is post.ended:
            raised = f"around {endpoint._shown} on"
        elif post.is_posted:
            raised = f"by {endpoint._shown} on"
        else:
            raised = f"before {endpoint._shown} got"
        error.add_note(f"raised {raised} {attempt.event._name} (caused {attempt.event.line.place})")
        self._raised.append(error)
        return None

    def _conclude(self, post: Post) -> tuple[Response, BaseException | None]:
        # Returns the response, and the error of the app or of what else ended the attempt. Has a
        # stopped app made anew.
        result, ended, endpoint, error = post.result, post.ended, post.attempt.endpoint, None
        if isinstance(result, Response):
            response = result
        else:
            error = result
            cause = error or (ended if isinstance(ended, Exception) else None)
            response = Response(None, b"", cause or InterruptedError(_INTERRUPTED))
        if ended is not None and (error is None or not isinstance(ended, Exception)):
            error = ended  # an interrupt first, and the app's error before another plugin's
        if post.is_late:  # a late response counts as none
            overdue = timed_out(self.overdue.limit, endpoint._stopped)
            response = Response(None, b"", overdue, response.status)
        if post.attendant is not None and post.attendant.stopped is not None:
            try:
                endpoint._make_anew(post.attendant.effect)
            except Exception as failed:
                error = failed
        return response, error


def _twins(posts: Iterable[Post], repeat: Attempt) -> list[Post]:
    # The attempts of an event that is posted twice.
    return [
        post
        for post in posts
        if (post.attempt.event, post.attempt.endpoint) == (repeat.event, repeat.endpoint)
    ]


def _awaited(posts: Sequence[Post]) -> Post:
    # The first attempt of a batch that has not waited for another one.
    for post in posts:
        decisions = post.attempt._decisions
        if not any(isinstance(each, Hold) and each.attend is not None for each in decisions):
            return post
    return posts[-1]
