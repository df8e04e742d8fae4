"""Endpoints: where webhooks go, with their event types, their signers and their requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from ..base.arguments import check_list, unexpected
from ..base.calling_line import Line, calling_line
from ..base.errors import ChatFakeError
from ..base.redaction import redacted_place
from ..domain.instants import parse_delay
from ..transport.client.django_bridge import has_broken_transaction
from ..transport.client.targets import Target
from ..transport.client.url import checked_path
from .core import Core
from .events import Event

#: Takes an event and returns the path to post it to.
PathFunction: TypeAlias = Callable[[Event], str]


@dataclass(eq=False, repr=False, kw_only=True)
class Endpoint:
    """A target of webhooks, as returned by ``connect()``.

    Example::

        shop = chat_fake.webhooks.connect(wsgi=shop_app, path="/hooks/chat")
        audit = chat_fake.webhooks.connect(wsgi=audit_app, path="/hooks/chat")
        chat_fake.webhooks.lose(endpoint=audit)

    Attributes:
        name: The URL, or the name of the app or function.
        label: The name in reports: shorter, and without a URL's secrets.
        headers: The headers of every attempt, except the signature's.
        events: The event types that the endpoint listens for (§4.2).
        raise_exceptions: Whether an in-process app's exception is raised in the test.
        connected: False after :meth:`disconnect`.
    """

    name: str
    label: str
    headers: Mapping[str, str]
    events: frozenset[str]
    raise_exceptions: bool
    _target: Target
    _retries: tuple[int, ...]
    _signer: Signer | None  # when it was connected
    _is_test_function: bool
    _is_receiver: bool  # the test decides its responses, so its failures need no report
    _restart: Callable[[], object] | None
    _disable_after: int | None
    _line: Line  # the line of connect()
    _path: str | PathFunction
    _note: Callable[[str, Line], None]  # records a call, or refuses it if the fake is closed
    _core: Core[Any]
    connected: bool = True
    _stopped: str = ""  # how the app was last stopped, for reports

    def __repr__(self) -> str:
        return f"<Endpoint {self._shown}{'' if self.connected else ' (disconnected)'}>"

    @property
    def _shown(self) -> str:
        return redacted_place(self.name)  # whole, but without secrets

    @property
    def disabled(self) -> bool:
        """Whether too many attempts in a row have failed: the endpoint then gets no events."""
        limit = self._disable_after
        return limit is not None and bool(self._core.state.failures.get(self, 0) >= limit)

    @property
    def signer(self) -> Signer | None:
        """The function that signs the endpoint's webhooks; None if they are unsigned."""
        changed = self._core.state.signers.get(self)
        return changed[-1] if changed else self._signer

    @property
    def _signers(self) -> list[Signer | None]:
        # The first one, and one more after each change of secrets.
        return self._core.state.signers.get(self) or [self._signer]

    @property
    def retry_after(self) -> tuple[timedelta, ...]:
        """The delays between a failed attempt and each of its retries."""
        return tuple(timedelta(microseconds=delay // 1_000) for delay in self._retries)

    def listens_for(self, event_type: str) -> bool:
        """Return whether the endpoint, while connected, gets events of this type."""
        return not self.events.isdisjoint((event_type, "*"))

    def _path_for(self, event: Event) -> str:
        return self._path if isinstance(self._path, str) else checked_path(self._path(event))

    def _surfaces(self, error: BaseException) -> bool:
        # With retries, the app gets another chance, so its error doesn't fail the test.
        if not isinstance(error, Exception):
            return True
        # But a failed assertion in the test's own function always does.
        judged = self._is_test_function and isinstance(error, AssertionError)
        return self.raise_exceptions and (judged or not self._retries)

    def _make_anew(self, stopped: str) -> None:
        # Replaces an app that was stopped, with how it was: "crashed at ...".
        self._stopped = stopped
        if has_broken_transaction():
            raise ChatFakeError(
                f"the app {stopped} inside a transaction that it shares with the test: expected "
                f"one that ends with the app. Use Django's TransactionTestCase, or pytest-django's "
                f"django_db(transaction=True)"
            )
        if self._restart is not None:
            app: Any = self._restart()
            if not callable(app):
                raise TypeError(unexpected("what restart= returned", "a callable", app))
            self._target.replace(app)

    def enable(self) -> None:
        """Start posting events again, if the endpoint was disabled.

        Events that were emitted in the meantime are not posted; use :meth:`Webhooks.redeliver`.

        Raises:
            ClosedError: The fake is closed.
        """
        self._note("endpoint.enable()", calling_line())
        if self.disabled:
            self._core.state.failures[self] = 0

    def disconnect(self) -> None:
        """Stop posting to the endpoint, retries included, and close its connection.

        An attempt in progress is allowed to finish. Calling this again is a no-op.
        """
        self._core.state.outbox.disconnect(self)


@dataclass(slots=True, eq=False, repr=False)
class WebhookRequest:
    """One attempt as the app receives it (§4.2).

    Attributes:
        event: The event as it was emitted.
        body: The exact bytes of this attempt; a fault may have changed them.
        headers: The request's headers, including the signature's.
        timestamp: When the attempt is made, in Unix seconds, as ``time.time()`` in the app.
        number: 1 for the first attempt to post this event, 2 for its first retry; a duplicate and
            ``redeliver()`` begin at 1 again.
        endpoint: The endpoint that receives it.
    """

    event: Event
    body: bytes
    headers: Mapping[str, str]
    timestamp: int
    number: int
    endpoint: Endpoint
    _id: str | None = None
    _unsigned: bytes | None = None  # the body, if a signer has signed inside it

    def __repr__(self) -> str:
        return f"<WebhookRequest {self.number} of {self.event._full_name} at {self.endpoint.label}>"

    @property
    def path(self) -> str:
        """The path, with the query if there is one; ``"/"`` for a function."""
        return self.endpoint._path_for(self.event)

    @property
    def id(self) -> str:
        """The event's id, ``evt_...``.

        Every attempt to post the event has the same id (assumed), unless a fault gives a duplicate
        a new one; ``event.id`` never changes.
        """
        return self._id or self.event.id

    def json(self) -> Any:
        """Parse the body as JSON, with numbers as ``int`` and ``float``, as an app would.

        Raises:
            ValueError: The body is not JSON, for example because a fault has changed it.
        """
        return json.loads(self.body)


#: Takes an attempt's request and returns the headers that sign it, or headers and the signed body.
Signer: TypeAlias = Callable[
    [WebhookRequest],
    Mapping[str, str] | tuple[Mapping[str, str], Mapping[str, Any] | list[Any] | str | bytes],
]


class Endpoints:
    """The endpoints of a fake, in the order in which they were connected.

    Attributes:
        ever: All endpoints, including disconnected ones.
        threaded: Whether an awaited attempt may be a call in a thread.
    """

    def __init__(self) -> None:
        self.threaded: bool = False
        self.ever: list[Endpoint] = []
        self._reserved: dict[str, Endpoint] = {}
        self._listening: dict[str, tuple[Endpoint, ...]] = {}

    def __len__(self) -> int:
        return sum(endpoint.connected for endpoint in self.ever)

    def __iter__(self) -> Iterator[Endpoint]:
        return (endpoint for endpoint in self.ever if endpoint.connected)

    def listening(self, event_type: str) -> tuple[Endpoint, ...]:
        """Return the connected endpoints that listen for this type."""
        known = self._listening  # read once, because another thread's connect() replaces it
        if event_type not in known:
            only = self._reserved.get(event_type)
            listening = [endpoint for endpoint in self if endpoint.listens_for(event_type)]
            known[event_type] = tuple(listening) if only is None else (only,)
        return known[event_type]

    def reserve(self, event_type: str, endpoint: Endpoint) -> None:
        """Let an endpoint get the events of a type, unsigned; nothing else, and no other does."""
        endpoint.events, endpoint._signer = frozenset([event_type]), None
        self._reserved[event_type] = endpoint
        self._listening = {}

    def connect(self, endpoint: Endpoint) -> None:
        self.ever.append(endpoint)
        self.threaded = self.threaded or endpoint._target.threaded
        self._listening = {}

    def disconnect(self, endpoint: Endpoint) -> None:
        """Remove an endpoint; its queued attempts are no longer made."""
        endpoint.connected = False
        self._listening = {}
        endpoint._target.hang_up()  # some servers wait for this before they shut down

    def close(self) -> None:
        with ExitStack() as stack:
            for endpoint in self.ever:
                stack.callback(endpoint._target.close)


def are_one_by_one(endpoints: Iterable[Endpoint]) -> bool:
    """Return whether there are endpoints, but none that can handle two events at a time."""
    return {endpoint._target.overlaps for endpoint in endpoints} == {False}


def retry_delays(value: Iterable[Any]) -> tuple[int, ...]:
    """Return the delays of ``retry_after=`` in nanoseconds."""
    delays = check_list(value, "retry_after", "seconds such as [10, 30]")
    return tuple(parse_delay(delay, f"retry_after[{index}]") for index, delay in enumerate(delays))
