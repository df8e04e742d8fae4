"""The outbox: what is emitted, queued, attempted, tried again, and recorded.

Theory of operation
-------------------
*Emitting* happens under the fake's lock, in the middle of a verb: the event is added to the log,
the faults that are set up shape its way, and what remains of it joins the queue. Nothing is sent.

*Attempting* happens with no lock held, because a receiver may call back: ask for the balance over
HTTP, send another message, start a thread that does. One *drainer* at a time takes events from
the queue, in order, and attempts each at its endpoints. Whoever emits meanwhile, a receiver that
calls back or another thread, only adds to the queue, and leaves the attempt to the drainer. After
the drainer let go it looks at the queue once more, for what came in between.

*Who waits.* A verb returns when its event was attempted. If another thread is the drainer, the
test's own thread waits for it. No other thread does: it may be the very one that an attempt is
waiting for, such as a server of the app's that asks the fake something before it answers.

*Errors.* What an app in process raises is recorded, then raised in the test, after the event's
other endpoints had it; the rest of the queue stays for the next verb. A cancellation is raised at
once, and the endpoints that are left stay queued.

*Another order.* An :class:`.AttemptOrder`, if there is one, is asked before each attempt and told
how it ended. What it holds back comes to the front of the queue, or at a *barrier* to its end. It
may make a :class:`.Round` of several attempts at the same time.

*A reset* begins new logs. An event of before it is recognised by its log, and attempted no more.

:meth:`~Outbox.attempt` and :meth:`~Outbox.attempt_async` differ only in how they wait for answers.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeAlias

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.notes import ATTEMPT, ENTRY, EVENT, LOSS
from ..base.triggers import Triggers
from ..domain.facts import Fact
from ..domain.ids import Ids
from ..domain.instants import MILLISECOND, SECOND
from ..domain.schedule import Schedule
from ..transport.client.answers import Answer
from ..wire.bodies import EventWriter
from .attempts import AttemptLog, is_success
from .busy import Busy
from .dispatch import MAX_DEPTH, Dispatch, endless
from .endpoints import Endpoint, Endpoints, WebhookRequest
from .events import Event, EventLog, OtherEvent
from .faults import Fault, shaped, tampered
from .order import DROPPED, REFUSED, AttemptOrder
from .overdue import Overdue
from .signing import sign
from .together import Way
from .writing import Writing, Written

Outcome: TypeAlias = "Answer | BaseException"


class Outbox:
    """The events of a fake, and the attempts at them.

    Args:
        writer: Writes their bodies.
        per_message: Whether all events of a message share one id (§2.2).
        timeout: How many real seconds an attempt may take, and a verb wait for another thread's.
        now: Gives the present in nanoseconds.
        schedule: Where late attempts and retries are planned.
        lock: Held while events are emitted and attempts are recorded.
        errors: Where an error is kept that can't be raised where it is seen.
        note: Takes note of what happens, in order: see :mod:`~pytest_chatfake.base.notes`.

    Attributes:
        writing: Writes events before they are emitted.
        endpoints: Where attempts go.
        events: What was emitted, in order.
        attempts: What was attempted, in order.
        queue: What is to be attempted next, in order.
        paused: What is held back, inside a block that pauses; None outside.
        faults: Those that are set up now.
        order: What deviates from the order of the queue; None if nothing does.
        unheard: Events of other types that no endpoint listened for.
        overdue: Watches for attempts that take too long.
        busy: Who attempts; empty while nobody does.
    """

    def __init__(
        self,
        writer: EventWriter,
        *,
        per_message: bool,
        timeout: float,
        now: Callable[[], int],
        schedule: Schedule,
        lock: AbstractContextManager[object],
        errors: list[BaseException],
        note: Callable[[int], None],
    ) -> None:
        self.writing: Writing = Writing(writer)
        self._type = writer.event_type
        self._per_message = per_message
        self.overdue: Overdue = Overdue(timeout)
        self._now = now
        self._schedule = schedule
        self._lock = lock
        self._errors = errors
        self._note = note
        self.endpoints: Endpoints = Endpoints()
        self.faults: Triggers[Fault] = Triggers()
        self.order: AttemptOrder | None = None
        self.paused: list[Dispatch] | None = None
        # Of the drainer: what it attempts, where next, since when, and what an app raised.
        self.busy: Busy = Busy()
        self._home = threading.get_ident()
        self._dispatch: Dispatch | None = None
        self._target: Way
        self._next_endpoint = 0
        self._depth = 0
        self._moment = 0
        self._raised: BaseException | None = None

    def begin(self, ids: Ids) -> None:
        """Forget what was emitted and attempted; endpoints stay."""
        self.events: EventLog = EventLog(ids, self._type, per_message=self._per_message)
        self.writing.events = self.events
        self.attempts: AttemptLog = AttemptLog(self.events)
        self.queue: deque[Dispatch] = deque()
        self.unheard: list[Event] = []
        self.faults.clear()
        if self.order is not None:
            self.order.forget()
        if self.paused is not None:
            self.paused.clear()  # its block goes on, and holds back what comes now

    def events_of(self, number: int) -> Sequence[Event]:
        """Return the events about the message of a number, in order."""
        with self._lock:
            return self.events.of(number)

    # Emitting: the fake's lock is held

    def emit(self, fact: Fact, event: Event, body: bytes, line: Line) -> None:
        """Emit the event of a fact, as it was written."""
        self.events.add(fact.what, fact.message.number, body, line, fact.at)
        self._note(fact.rule.code + ENTRY * len(fact.entries))
        self._send_off(event, self._type)

    def emit_synthetic(
        self, fact: Fact, written: Written, status: str, type_: str, line: Line
    ) -> None:
        """Emit an event that the service would not, as it was written."""
        event, body = written
        self.events.add_synthetic(status, fact.message.number, body, line, fact.at, type_)
        self._note(EVENT)
        self._send_off(event, type_)

    def emit_other(self, draft: OtherEvent, written: Written, line: Line, now: int) -> None:
        """Emit an event of another type, which belongs to no message, as it was written."""
        event, body = written
        self.events.add_other(draft, body, line, now)
        self._note(EVENT)
        if not self.endpoints.listening(draft.type):
            self.unheard.append(event)
        self._send_off(event, draft.type)

    def redeliver(self, event: Event, line: Line) -> None:
        """Queue a past event again."""
        self._send_off(event, event.type, Mark("again", line))

    def _send_off(self, event: Event, type_: str, mark: Mark | None = None) -> None:
        """Send an event on its way, past the faults, if there are any."""
        endpoints = self.endpoints.listening(type_)
        if not endpoints:
            return
        dispatch = Dispatch(event, endpoints, self._depth)
        if mark is not None:
            dispatch.mark(mark)
        queue = self.queue if self.paused is None else self.paused
        if not self.faults.active:
            queue.append(dispatch)
            return
        for part in shaped(dispatch, self.faults.active):
            if part.overrides.delay:
                self.plan(part, part.overrides.delay)
            else:
                queue.append(part)

    def take_due(self, dispatch: Dispatch, due: int) -> None:
        """Queue what was planned for ``due``: a late attempt, or a retry."""
        # Where time has jumped over it, it counts as made when it was due.
        if self._now() - due > MILLISECOND:
            dispatch.due = due
        (self.queue if self.paused is None else self.paused).append(dispatch)

    def plan(self, dispatch: Dispatch, delay: int) -> None:
        """Attempt something later, by so much on the clock."""
        self._schedule.add(self._now() + delay, "attempt", dispatch)

    # Attempting: no lock is held

    def attempt(self) -> None:
        """Attempt what is queued, in order; nothing, if another drainer is attempting.

        Raises:
            Exception: What a receiver raised, after the event's other endpoints had it. The rest
                of the queue stays.
        """
        while self.queue and not self.busy:
            claim, outer = [threading.get_ident()], None
            try:
                if self.busy.setdefault(0, claim) is claim:
                    outer = self.busy.mark()
                    while (request := self._next()) is not None:
                        try:
                            outcome: Outcome = self._target.attempt(request)
                        except BaseException as error:
                            outcome = error
                        self._record(request.endpoint, outcome)
            finally:
                # No call comes before it is let go, because an interrupt comes where there is one.
                try:
                    if self.busy[0] is claim:
                        self._dispatch = self._raised = self.overdue.doing = None
                        self._depth = 0
                        del self.busy[0]
                except KeyError:
                    pass
                if outer is not None:
                    self.busy.unmark(outer)

    async def attempt_async(self) -> None:
        """The same, awaiting each attempt in the test's own loop."""
        while self.queue and not self.busy:
            claim, outer = [threading.get_ident()], None
            try:
                if self.busy.setdefault(0, claim) is claim:
                    outer = self.busy.mark()
                    while (request := self._next()) is not None:
                        try:
                            outcome: Outcome = await self._target.attempt_async(request)
                        except BaseException as error:
                            outcome = error
                        self._record(request.endpoint, outcome)
            finally:
                # No call comes before it is let go, because an interrupt comes where there is one.
                try:
                    if self.busy[0] is claim:
                        self._dispatch = self._raised = self.overdue.doing = None
                        self._depth = 0
                        del self.busy[0]
                except KeyError:
                    pass
                if outer is not None:
                    self.busy.unmark(outer)

    def flush(self) -> None:
        """Attempt what is queued, and let the test's thread wait for what another one attempts.

        Code that is part of an attempt would wait for itself: it leaves that to the drainer.
        """
        if self.queue:
            self.attempt()
        if self.busy and not self.in_attempt():
            self.busy.wait(self._home, self.overdue.limit)
            self.attempt()  # what the other one left, because a receiver raised

    def in_attempt(self) -> bool:
        """Return whether the running code is part of an attempt: a receiver that calls back.

        A task that a receiver started stays marked for good; when the attempt is over, it is part
        of none any more.
        """
        return self.busy.is_here()

    def _next(self) -> WebhookRequest | None:
        """Return the next attempt to make; None if nothing is queued.

        Raises:
            Exception: What an app raised at the last event, now that all its endpoints had it.
            UndeliveredWebhooks: Events cause each other without an end.
        """
        if self.order is not None and self.order.round is not None:
            self.order.end_round()
        while True:
            dispatch = self._dispatch
            if dispatch is None or self._next_endpoint == len(dispatch.endpoints):
                if self._raised is not None:
                    raise self._raised
                queue = self.queue  # a reset brings another one
                if not queue:
                    return None
                dispatch = self._dispatch = queue.popleft()
                self._next_endpoint = 0
                if dispatch.depth > MAX_DEPTH:
                    queue.clear()
                    raise endless(dispatch)
                self._depth = dispatch.depth + 1
            endpoint = dispatch.endpoints[self._next_endpoint]
            self._next_endpoint += 1
            if endpoint.connected and dispatch.event._log is self.events:
                if (
                    self.order is not None
                    and (turn := self.order.turn(dispatch, endpoint)) != "now"
                ):
                    if turn != "later":
                        self._moment = self._now()
                        self._note(ATTEMPT if turn == "refused" else LOSS)
                        self._record(endpoint, REFUSED if turn == "refused" else DROPPED)
                    continue
                request = self._request(dispatch, endpoint)
                if self.order is not None:
                    self.order.begin(request)
                if request is not None:
                    return request

    def _put_first(self, dispatch: Dispatch) -> None:
        """Attempt something next, before the endpoints that are left, and before the queue."""
        current = self._dispatch
        if current is not None:
            if rest := current.endpoints[self._next_endpoint :]:
                self.queue.appendleft(replace(current, endpoints=rest))
            self._next_endpoint = len(current.endpoints)
        self.queue.appendleft(dispatch)

    def _request(self, dispatch: Dispatch, endpoint: Endpoint) -> WebhookRequest | None:
        """Return the request to make now; None if a function of the test's fails."""
        event, overrides = dispatch.event, dispatch.overrides
        now = self._now()
        self._moment = now if dispatch.due is None else dispatch.due
        self._note(ATTEMPT)
        request = WebhookRequest(
            event, event.body, endpoint.headers, now // SECOND, dispatch.number, endpoint
        )
        self.overdue.doing, self._target = request, endpoint._target
        signer = overrides.signer or endpoint.signer
        try:
            if signer is not None:
                request.headers = {**endpoint.headers, **sign(signer, request)}
            if overrides.change is not None:
                request.body = tampered(overrides.change, request.body)
        except Exception as error:  # the test's own function: it is no attempt's failure
            self._record(endpoint, error)
            self._raised = self._raised or error
            return None
        return request

    def _record(self, endpoint: Endpoint, outcome: Outcome) -> None:
        """Record an attempt, plan its retry, and keep what has to be raised in the test.

        A cancellation or an interrupt is raised at once; the endpoints that are left stay queued.
        """
        dispatch = self._dispatch
        assert dispatch is not None
        error = outcome if isinstance(outcome, BaseException) else None
        answer = Answer(None, b"", outcome) if isinstance(outcome, BaseException) else outcome
        made, order = dispatch, self.order
        with self._lock:
            if order is not None:
                made, answer = order.answered(dispatch, endpoint, answer)
                if (ready := order.ready()) is not None:
                    self._put_first(ready)
            place = self.attempts.add(made, endpoint, answer, self._moment)
            if is_success(answer) or made.overrides.fault == "drop":
                return
            number = dispatch.number
            if order is not None and order.deviates:
                order.failed(made, endpoint)
            elif number <= len(endpoint._retries) and place is not None:
                retry = Dispatch(dispatch.event, (endpoint,), dispatch.depth, number + 1)
                self._schedule.add(self._moment + endpoint._retries[number - 1], "attempt", retry)
        if error is None or not endpoint._surfaces(error):
            return
        if place is not None:
            self.attempts.surfaced.add(place)
        if not isinstance(error, Exception):
            self._break_off(dispatch, error)
            raise error
        error.add_note(
            f"raised by {endpoint._shown} at {dispatch.event._title}, "
            f"caused at {dispatch.event.line}"
        )
        self._raised = self._raised or error

    def _break_off(self, dispatch: Dispatch, error: BaseException) -> None:
        """Leave the endpoints that are left to the next drainer: this one is interrupted."""
        if self.order is not None:
            self.order.end_round()
        if rest := dispatch.endpoints[self._next_endpoint :]:
            self.queue.appendleft(replace(dispatch, endpoints=rest))
        if self._raised is not None and self._raised is not error:
            self._errors.append(self._raised)  # it has to wait for the next verb
