"""Endpoints: the targets of attempts, with their event types and requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, TypeAlias

from ..base.arguments import check_list, unexpected
from ..base.calling_line import Line, calling_line
from ..base.redaction import redacted_place
from ..domain.instants import parse_delay
from ..transport.client.targets import Target
from .events import Event


class Endpoint:
    """The target of attempts, as ``connect`` returns it.

    Attributes:
        name: Its URL, or the name of the app or function.
        label: The same, as reports show it: shorter, and without the secrets of a URL.
        headers: The headers of every attempt, beside a signature.
        events: The event types that it listens for (§4.2).
        raise_exceptions: Whether an exception of an in-process app comes back in the test.
        connected: Whether :meth:`disconnect` was not called yet.
        disabled: Whether it gets no events, because too many attempts in a row have failed.
    """

    def __init__(
        self,
        name: str,
        target: Target,
        *,
        label: str,
        headers: Mapping[str, str],
        events: frozenset[str],
        raise_exceptions: bool,
        retries: tuple[int, ...],
        signer: Signer | None,
        is_test_function: bool,
        is_receiver: bool,
        disconnect: Callable[[Endpoint], None],
        restart: Callable[[], object] | None,
        disable_after: int | None,
        line: Line,
        note: Callable[[str, Line], None],
    ) -> None:
        self.name = name
        self.label = label
        self.headers: Mapping[str, str] = MappingProxyType(dict(headers))
        self.events = events
        self.raise_exceptions = raise_exceptions
        self.connected = True
        self._target = target
        self._retries = retries
        self._is_test_function = is_test_function
        self._is_receiver = is_receiver  # the test says what it responds: a failure is no news
        self._disconnect = disconnect
        self._restart = restart
        self._signers = [signer]  # as it was connected, and after each change of its secrets
        self._disable_after = disable_after
        self._line = line  # connected it
        self._note = note  # refuses a closed fake
        self._reset()
        self._stopped = ""  # how the app was stopped last
        self._shown = redacted_place(name)  # what texts call it

    def __repr__(self) -> str:
        return f"<Endpoint {self._shown}{'' if self.connected else ' (disconnected)'}>"

    @property
    def signer(self) -> Signer | None:
        """Signs its attempts."""
        return self._signers[-1]

    @property
    def retry_after(self) -> tuple[timedelta, ...]:
        """How long after each failure an attempt is retried."""
        return tuple(timedelta(microseconds=delay // 1_000) for delay in self._retries)

    def listens_for(self, event_type: str) -> bool:
        """Return whether it gets the events of a type, while it is connected."""
        return not self.events.isdisjoint((event_type, "*"))

    def _surfaces(self, error: BaseException) -> bool:
        """Return whether an error comes back in the test: not if a retry may follow."""
        if not isinstance(error, Exception):
            return True
        # An assertion in a function of the test is a failure in any case.
        judged = self._is_test_function and isinstance(error, AssertionError)
        return self.raise_exceptions and (judged or not self._retries)

    def _make_anew(self) -> None:
        """Replace a stopped app by a new one, if the test says how."""
        if self._restart is not None:
            app: Any = self._restart()
            if not callable(app):
                raise TypeError(unexpected("what restart= returned", "a callable", app))
            self._target._app = app

    def enable(self) -> None:
        """Send it the events that are emitted from now on, if it was disabled.

        Raises:
            ClosedError: The fake is closed.
        """
        self._note("endpoint.enable()", calling_line())
        if self.disabled:
            self._count_anew()

    def _reset(self) -> None:
        """Restore the state at connection."""
        del self._signers[1:]
        self._count_anew()

    def _count_anew(self) -> None:
        self.disabled: bool = False
        self._failures = 0  # in a row

    def _count(self, *, ok: bool) -> bool:
        """Count an attempt, and return whether the endpoint is disabled by it."""
        self._failures = 0 if ok else self._failures + 1
        is_last = self._failures == self._disable_after
        self.disabled = self.disabled or is_last
        return is_last

    def disconnect(self) -> None:
        """Stop attempts at this endpoint, scheduled retries included, and close its connection.

        A running attempt is finished. Calling it again has no effect.
        """
        self._disconnect(self)


@dataclass(slots=True, eq=False, repr=False)
class WebhookRequest:
    """One attempt as the receiver sees it (§4.2).

    Attributes:
        event: The event that is posted, as it was emitted.
        body: The exact bytes of this attempt; a fault may have changed them.
        headers: The request's headers. A signer's headers are among them.
        timestamp: The moment of this attempt in Unix seconds, on the clock that the app sees.
        number: 1 for the first attempt at this event, 2 for the first retry.
        endpoint: Where the attempt goes.
    """

    event: Event
    body: bytes
    headers: Mapping[str, str]
    timestamp: int
    number: int
    endpoint: Endpoint
    _id: str | None = None

    def __repr__(self) -> str:
        return f"<WebhookRequest {self.number} of {self.event._full_name} at {self.endpoint.label}>"

    @property
    def id(self) -> str:
        """The event's id, ``evt_...``.

        It is the same in every attempt at the event (assumed), unless a fault gives a duplicate
        another one; ``event.id`` stays that of the first.
        """
        return self._id or self.event.id

    def json(self) -> Any:
        """Return the body parsed as JSON, numbers as ``int`` and ``float`` as an app would.

        Raises:
            ValueError: The body is not JSON (a fault cut it off, for example).
        """
        return json.loads(self.body)


#: Takes the request of an attempt, returns the headers that sign it.
Signer: TypeAlias = Callable[[WebhookRequest], Mapping[str, str]]


class Endpoints:
    """The endpoints of a fake, in the order in which they were connected.

    Attributes:
        ever: All endpoints, disconnected or not.
        threaded: Whether an awaited attempt may be a call in a thread.
    """

    def __init__(self) -> None:
        self.threaded: bool = False
        self.ever: list[Endpoint] = []
        self._listening: dict[str, tuple[Endpoint, ...]] = {}

    def __len__(self) -> int:
        return sum(endpoint.connected for endpoint in self.ever)

    def __iter__(self) -> Iterator[Endpoint]:
        return (endpoint for endpoint in self.ever if endpoint.connected)

    def listening(self, event_type: str) -> tuple[Endpoint, ...]:
        """Return those that get events of a type."""
        known = self._listening  # another thread that connects an endpoint begins a new one
        found = known.get(event_type)
        if found is None:
            found = tuple(endpoint for endpoint in self if endpoint.listens_for(event_type))
            known[event_type] = found
        return found

    def connect(self, endpoint: Endpoint) -> None:
        """Add an endpoint for the events that are emitted from now on."""
        self.ever.append(endpoint)
        self.threaded = self.threaded or endpoint._target.threaded
        self._listening = {}

    def disconnect(self, endpoint: Endpoint) -> None:
        """Remove an endpoint; queued attempts at it are not made any more."""
        endpoint.connected = False
        self._listening = {}
        endpoint._target.hang_up()  # some servers wait for that when they shut down

    def reset(self) -> None:
        """Restore the state at connection of all endpoints."""
        for endpoint in self.ever:
            endpoint._reset()

    def close(self) -> None:
        """Close the connections of all endpoints, disconnected or not."""
        with ExitStack() as stack:
            for endpoint in self.ever:
                stack.callback(endpoint._target.close)


def retry_delays(value: Iterable[Any]) -> tuple[int, ...]:
    """Return the delays of retries in nanoseconds."""
    delays = check_list(value, "retry_after", "seconds such as [10, 30]")
    return tuple(parse_delay(delay, f"retry_after[{index}]") for index, delay in enumerate(delays))
