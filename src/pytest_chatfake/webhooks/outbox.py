"""The outbox: what is emitted, queued for attempts, attempted, and recorded.

Events are attempted in the order in which they were emitted, by one drainer at a time. Whoever
emits while attempts are being made (a receiver that calls back, a thread of the app) only adds to
the queue. :meth:`Outbox.attempt` and :meth:`Outbox.attempt_async` are the same loop, and differ
only in how they wait for an answer.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import ExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from ..base.errors import UndeliveredWebhooks
from ..domain.instants import MILLISECOND, SECOND
from ..wire.bodies import EventWriter, encode
from .dispatch import Dispatch
from .events import AttemptLog, EventLog
from .faults import shaped, tampered
from .requests import Answer, WebhookRequest
from .signing import sign
from .synthetic import completed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from ..base.calling_line import Line
    from ..domain.facts import Fact
    from ..domain.ids import Ids
    from ..domain.messages import MessageState
    from ..engine.engine import Engine
    from .endpoints import Endpoint
    from .events import Event
    from .faults import Fault
    from .synthetic import Edit

__all__ = ["Outbox"]

Outcome: TypeAlias = "Answer | BaseException"

#: How far events may cause each other, attempt by attempt, before that counts as endless.
_MAX_DEPTH: Final = 10_000

#: The outboxes whose attempts the running code is part of.
_attempting: ContextVar[tuple[Outbox, ...]] = ContextVar("pytest_chatfake_attempting", default=())


class Outbox:
    """The events of a fake, and the attempts at them.

    Attributes:
        endpoints: Those that are connected.
        events: What was emitted, in order.
        attempts: What was attempted, in order.
        queue: What is to be attempted next, in order.
        paused: What is held back, inside a block that pauses; None outside.
        faults: Those that are set up now, in the order in which they were.
        threaded: Whether an awaited attempt may be a call in a thread.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writer = EventWriter(engine.config)
        self._type = engine.config.naming.event_type
        self._per_message = engine.config.event_ids == "per-message"
        self._busy = threading.Lock()
        self._depth = 0
        self._met: BaseException | None = None
        self.endpoints: tuple[Endpoint, ...] = ()
        self._ever: list[Endpoint] = []
        self._listening: tuple[Endpoint, ...] = ()
        self.paused: list[Dispatch] | None = None
        self._home = threading.get_ident()
        self._drainer = 0
        self.threaded = False

    def begin(self, ids: Ids) -> None:
        """Forget what was emitted and attempted; endpoints stay."""
        self.events = EventLog(ids, self._type, per_message=self._per_message)
        self.attempts = AttemptLog(self.events)
        self.queue: deque[Dispatch] = deque()
        if self.paused is not None:
            self.paused.clear()  # its block goes on, and holds back what comes now
        self.faults: list[Fault] = []

    def events_of(self, message_id: str) -> Sequence[Event]:
        """Return the events of a message, in order."""
        with self._engine.lock:
            return self.events.of(message_id)

    def close(self) -> None:
        """Close what leads to the endpoints."""
        with ExitStack() as stack:
            for endpoint in self._ever:
                stack.callback(endpoint._target.close)

    def connect(self, endpoint: Endpoint) -> None:
        """Add an endpoint; it gets what is emitted from now on."""
        self._ever.append(endpoint)
        self._set_endpoints((*self.endpoints, endpoint))

    def disconnect(self, endpoint: Endpoint) -> None:
        """Remove an endpoint; what is queued for it is not attempted any more."""
        endpoint.connected = False
        self._set_endpoints(tuple(one for one in self.endpoints if one is not endpoint))

    def _set_endpoints(self, endpoints: tuple[Endpoint, ...]) -> None:
        self.endpoints = endpoints
        self._listening = self._listeners(self._type)
        self.threaded = any(one._target.threaded for one in self._ever)

    def _listeners(self, type_: str) -> tuple[Endpoint, ...]:
        return tuple(one for one in self.endpoints if type_ in one.events)

    # Emitting; the engine's lock is held

    def emit(self, fact: Fact, line: Line) -> None:
        """Emit the event of a fact."""
        what, message, at, _, expires_at = fact
        id_ = self.events.next_id(message.id)
        body = self._writer.write(id_, what, message, at, expires_at)
        event = self.events.add(what, message.id, body, line, at)
        if self._listening:
            self._dispatch(event, self._listening, at)

    def forge(self, message: MessageState, status: str, edit: Edit, now: int, line: Line) -> None:
        """Emit an event that the service would not: an honest body, edited."""
        id_ = self.events.next_id(message.id)
        expires_at = None
        if message.conversation is not None and message.sent_at is not None:
            estimate = message.sent_at + self._engine.config._rules.conversation_length
            expires_at = message.conversation.expires_at or estimate
        shown = encode(status)[1:-1]  # any text, and the writer quotes no status
        body = self._writer.write(id_, shown, completed(message, status, now), now, expires_at)
        event = self.events.add(status, message.id, edit(body), line, now, forged=True)
        if self._listening:
            self._dispatch(event, self._listening, now)

    def send_again(self, event: Event) -> None:
        """Queue a past event again."""
        self._dispatch(event, self._listeners(event.type), self._engine.time.read())

    def _dispatch(self, event: Event, endpoints: tuple[Endpoint, ...], now: int) -> None:
        """Send an event on its way, past the faults, if there are any."""
        dispatch = Dispatch(event, endpoints, self._depth)
        for part in shaped(dispatch, self.faults) if self.faults else (dispatch,):
            if part.twist.dropped:
                for endpoint in part.endpoints:
                    part.moment = now
                    self._record(part, endpoint, Answer(None))
            elif part.twist.delay:
                self._plan(part, now + part.twist.delay)
            else:
                self._enqueue(part)

    def _enqueue(self, dispatch: Dispatch) -> None:
        (self.queue if self.paused is None else self.paused).append(dispatch)

    def _plan(self, dispatch: Dispatch, due: int) -> None:
        def begin(_: int) -> None:
            # Where time has jumped over it, it counts as made when it was due.
            if self._engine.time.read() - due > MILLISECOND:
                dispatch.due = due
            self._enqueue(dispatch)

        with self._engine.lock:  # a retry is planned by whoever attempts
            if self._is_current(dispatch):
                self._engine.schedule.add(due, begin)

    def _is_current(self, dispatch: Dispatch) -> bool:
        """Whether no reset has come since the event was emitted."""
        return dispatch.event._log is self.events

    # Attempting; no lock is held

    @property
    def in_flight(self) -> bool:
        """Whether somebody is attempting now."""
        return self._busy.locked()

    def attempt(self) -> None:
        """Attempt what is queued, in order; nothing, if somebody is at it already.

        Raises:
            Exception: What a receiver raised, after the event's other endpoints had it. The rest
                of the queue stays.
        """
        # Whoever emits while somebody else is at it relies on him: so look again after letting go.
        while self.queue and self._busy.acquire(blocking=False):
            self._drainer = threading.get_ident()
            token = _attempting.set((*_attempting.get(), self))
            try:
                while (dispatch := self._next()) is not None:
                    for endpoint in dispatch.endpoints:
                        request = self._request(dispatch, endpoint)
                        if request is None:
                            continue
                        try:
                            outcome: Outcome = endpoint._target.attempt(request)
                        except BaseException as error:
                            outcome = error
                        self._record(dispatch, endpoint, outcome)
                    if self._met is not None:
                        raise self._met
            finally:
                self._let_go()
                _attempting.reset(token)

    def wait(self) -> None:
        """Wait until another thread that is attempting has finished.

        Only the test's own thread waits: any other may be the very one that an attempt waits for,
        a server of the app's that asks the fake something before it answers.
        """
        here = threading.get_ident()
        # Its own attempts it can't wait for, even where a receiver has left the context behind.
        if self.in_flight and here == self._home != self._drainer:
            timeout = self._engine.config._timeout_seconds
            if self._busy.acquire(timeout=timeout):
                self._busy.release()

    async def attempt_async(self) -> None:
        """The same, awaiting each attempt in the test's own loop."""
        while self.queue and self._busy.acquire(blocking=False):
            token = _attempting.set((*_attempting.get(), self))
            try:
                while (dispatch := self._next()) is not None:
                    for endpoint in dispatch.endpoints:
                        request = self._request(dispatch, endpoint)
                        if request is None:
                            continue
                        try:
                            outcome: Outcome = await endpoint._target.attempt_async(request)
                        except BaseException as error:
                            outcome = error
                        self._record(dispatch, endpoint, outcome)
                    if self._met is not None:
                        raise self._met
            finally:
                self._let_go()
                _attempting.reset(token)

    def in_attempt(self) -> bool:
        """Whether the running code is part of an attempt: a receiver that calls back.

        A task that a receiver started stays marked for good, and is part of none any more when the
        attempt is over.
        """
        return self.in_flight and self in _attempting.get()

    def _let_go(self) -> None:
        self._depth = 0
        self._drainer = 0
        self._busy.release()

    def _next(self) -> Dispatch | None:
        queue = self.queue  # a reset brings another one
        if not queue:
            return None
        dispatch = queue.popleft()
        if dispatch.depth > _MAX_DEPTH:
            self._refuse_endless(dispatch)
        self._depth = dispatch.depth + 1
        self._met = None
        return dispatch

    def _request(self, dispatch: Dispatch, endpoint: Endpoint) -> WebhookRequest | None:
        """Return the request to make now; None if there is none.

        The endpoint is gone, or the event (with a reset), or a function of the test's fails.
        """
        if not (endpoint.connected and self._is_current(dispatch)):
            return None
        event, twist = dispatch.event, dispatch.twist
        now = self._engine.time.read()
        dispatch.moment = now if dispatch.due is None else dispatch.due
        request = WebhookRequest(
            event, event.body, endpoint.headers, now // SECOND, dispatch.number, endpoint
        )
        signer = twist.signer or endpoint.signer
        try:
            if signer is not None:
                request.headers = {**endpoint.headers, **sign(signer, request)}
            if twist.change is not None:
                request.body = tampered(twist.change, request.body)
        except Exception as error:  # the test's own function: it is no attempt's failure
            self._record(dispatch, endpoint, error)
            self._met = self._met or error
            return None
        return request

    def _record(self, dispatch: Dispatch, endpoint: Endpoint, outcome: Outcome) -> None:
        """Record an attempt, plan its retry, and keep what must come back in the test.

        Raises:
            BaseException: A cancellation or an interrupt, which can't wait for other endpoints:
                they stay queued.
        """
        answer = Answer(None, b"", outcome) if isinstance(outcome, BaseException) else outcome
        log, event = self.attempts, dispatch.event
        place = None
        if event._log is log.events:  # no reset has come meanwhile
            fault = dispatch.twist.fault
            place = log.add(event, endpoint, dispatch.number, fault, answer, dispatch.moment)
        if answer.ok or dispatch.twist.dropped:
            return
        if dispatch.number <= len(endpoint._retries):
            retry = Dispatch(dispatch.event, (endpoint,), dispatch.depth, dispatch.number + 1)
            self._plan(retry, dispatch.moment + endpoint._retries[dispatch.number - 1])
        if not isinstance(outcome, BaseException):
            return
        if not isinstance(outcome, Exception):
            if place is not None:
                log.surfaced.add(place)
            rest = dispatch.endpoints[dispatch.endpoints.index(endpoint) + 1 :]
            if rest:
                self.queue.appendleft(dispatch.part(rest))
            if self._met is not None:
                self._engine.errors.append(self._met)  # it has to wait for the next verb
            raise outcome
        # The service tries again what an app raised; an assertion of the test's own is a failure.
        judged = endpoint._scripted and isinstance(outcome, AssertionError)
        if endpoint.raise_exceptions and (judged or not endpoint._retries):
            outcome.add_note(
                f"raised by {endpoint.name} at the {dispatch.event.status} event of message "
                f"{dispatch.event.message_id}, caused at {dispatch.event.line}"
            )
            self._met = self._met or outcome
            if place is not None:
                log.surfaced.add(place)

    def _refuse_endless(self, dispatch: Dispatch) -> None:
        self.queue.clear()
        raise UndeliveredWebhooks(
            f"{_MAX_DEPTH} attempts in a row have each caused another event, the last one at "
            f"{dispatch.event.line}: does the receiver send a message for every event it gets?"
        )
