"""Attempts at the same time: one round in which the drainer makes several.

Theory of operation
-------------------
The order of attempts keeps those that wait for company. When the last of them is about to be made,
a :class:`Round` takes the place of its target: for the drainer it is one attempt like any other.
The round prepares the others, makes all of them at the same time, and gives back what came of the
one that the drainer knows. The others are recorded right after it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..transport.client import at_once
from ..transport.client.answers import Answer
from ..transport.client.at_once import Call
from ..transport.client.portal import Portal
from .dispatch import Dispatch
from .endpoints import Endpoint, WebhookRequest
from .events import Event
from .overdue import Overdue

Outcome: TypeAlias = "Answer | BaseException"


class Way(Protocol):
    """How an attempt is made: a target, or a round."""

    def attempt(self, request: Any) -> Answer:
        """Make it here."""
        ...

    async def attempt_async(self, request: Any) -> Answer:
        """Await it here."""
        ...


class Drainer(Protocol):
    """The outbox, as far as a round takes part in its work."""

    overdue: Overdue
    _target: Way
    _dispatch: Dispatch | None
    _next_endpoint: int
    _moment: int

    def _request(self, dispatch: Dispatch, endpoint: Endpoint) -> WebhookRequest | None: ...
    def _record(self, endpoint: Endpoint, outcome: Outcome) -> None: ...
    def _break_off(self, dispatch: Dispatch, error: BaseException) -> None: ...


class Unrecorded(NamedTuple):
    """An attempt of a round that is to be recorded.

    Attributes:
        dispatch: What was attempted.
        moment: When, in nanoseconds.
        outcome: How it ended.
    """

    dispatch: Dispatch
    moment: int
    outcome: Outcome


#: Which round the running code is part of, and how many attempts of it were prepared after its own.
_part: ContextVar[tuple[Round, int] | None] = ContextVar("pytest_chatfake_round", default=None)


class Round:
    """Several attempts at the same time: to the drainer it is a target, to the watch a request.

    Args:
        outbox: Whose drainer is about to make the first of them.
        first: The request of that one.
        others: The other attempts, each at one endpoint.
        portal: Runs what is awaited, in sync mode.

    Attributes:
        made: What is to be recorded, when it is over.
        endpoint: The watch asks it to end an attempt: itself.
        event: What the first one is about.
        label: What a report calls it.
        has_threads: Whether two of the attempts are made in threads.
    """

    def __init__(
        self,
        outbox: Drainer,
        first: WebhookRequest,
        others: Sequence[Dispatch],
        portal: Portal,
    ) -> None:
        self._outbox = outbox
        self._portal = portal
        self._dispatches: list[tuple[Dispatch, int]] = []
        self._calls: list[Call[WebhookRequest]] = [Call(first, first.endpoint._target)]
        for dispatch in others:
            with _current(outbox, dispatch):
                request = outbox._request(dispatch, dispatch.endpoints[0])
                if request is not None:
                    self._dispatches.append((dispatch, outbox._moment))
                    self._calls.append(Call(request, request.endpoint._target))
        self.made: list[Unrecorded] = []
        self._fatal: Outcome | None = None  # what is to be raised when all are recorded
        self.event: Event = first.event
        self.label: str = " and ".join(
            dict.fromkeys(one.request.endpoint.label for one in self._calls)
        )
        self.has_threads: bool = sum(one.target.threaded for one in self._calls) > 1
        for place, call in enumerate(reversed(self._calls)):
            call.context = (_part, (self, place))
        outbox._target, outbox.overdue.doing = self, self

    @property
    def endpoint(self) -> Round:
        """Itself: it has the label, and is the target."""
        return self

    @property
    def _target(self) -> Round:
        return self

    # As a target

    def attempt(self, request: object) -> Answer:  # noqa: ARG002 - it knows its requests
        """Make the attempts, and return the answer to the first."""
        try:
            at_once.attempt(self._calls, self._portal)
        except BaseException as error:
            self._keep(error)
            raise
        return self._answer()

    async def attempt_async(self, request: object) -> Answer:  # noqa: ARG002 - it knows its requests
        """The same in the running loop."""
        try:
            await at_once.attempt_async(self._calls)
        except BaseException as error:
            self._keep(error)
            raise
        return self._answer()

    def _answer(self) -> Answer:
        outcome = self._calls[0].outcome
        fatal = next((one.outcome for one in self._calls if _is_fatal(one.outcome)), None)
        self._keep(fatal)
        if not _is_fatal(outcome):
            self._fatal = fatal
        if isinstance(outcome, BaseException):
            raise outcome
        return _ended(fatal) if outcome is None else outcome

    def _keep(self, why: Outcome | None) -> None:
        """Keep what has to be recorded; what is fatal is raised by the first, or at the end."""
        for (dispatch, moment), call in zip(self._dispatches, self._calls[1:], strict=True):
            outcome = _ended(why) if call.outcome is None else call.outcome
            if isinstance(outcome, BaseException) and _is_fatal(outcome):
                outcome = Answer(None, b"", outcome)
            self.made.append(Unrecorded(dispatch, moment, outcome))

    def end(self, request: object, why: Exception) -> bool:  # noqa: ARG002 - all have one limit
        """End all that can be ended."""
        ended = [call.target.end(call.request, why) for call in self._calls]
        return any(ended)

    def record(self) -> None:
        """Record the others, now that the first one is.

        Raises:
            BaseException: What interrupted one of them, but not the first.
        """
        made, self.made = self.made, []
        for one in made:
            with _current(self._outbox, one.dispatch):
                self._outbox._moment = one.moment
                self._outbox._record(one.dispatch.endpoints[0], one.outcome)
        if isinstance(self._fatal, BaseException) and (own := self._outbox._dispatch) is not None:
            self._outbox._break_off(own, self._fatal)
            raise self._fatal


def noted_after(outbox: Drainer) -> int:
    """Return how many attempts were noted after the one that the running code is part of."""
    found = _part.get()
    return found[1] if found is not None and outbox._target is found[0] else 0


@contextmanager
def _current(outbox: Drainer, dispatch: Dispatch) -> Generator[None]:
    """Let the drainer be at another dispatch, at the end of its one endpoint, for a block."""
    own = outbox._dispatch, outbox._next_endpoint, outbox._moment
    outbox._dispatch, outbox._next_endpoint = dispatch, 1
    try:
        yield
    finally:
        outbox._dispatch, outbox._next_endpoint, outbox._moment = own


def _ended(why: Outcome | None) -> Answer:
    """Return the outcome of an attempt that never began, or was not waited for."""
    if not isinstance(why, Exception):
        why = InterruptedError("another one of the round was ended")
    return Answer(None, b"", why)


def _is_fatal(outcome: Any) -> bool:
    return isinstance(outcome, BaseException) and not isinstance(outcome, Exception)
