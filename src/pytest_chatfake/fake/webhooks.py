"""``fake.webhooks``: who gets the events, and what goes wrong on the way."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.arguments import text
from ..transport.client.asgi import AsgiTarget
from ..transport.client.headers import complete_headers
from ..transport.client.lifespan import Lifespan
from ..transport.client.targets import HandlerTarget, UrlTarget
from ..transport.client.wsgi import WsgiTarget
from ..webhooks.endpoints import Endpoint
from .config import check_signer, retry_delays
from .receiver import Receiver
from .webhook_faults import BadDay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import timedelta

    from ..engine.engine import Engine
    from ..transport.client.portal import Portal
    from ..transport.client.targets import Target
    from ..webhooks.events import Attempt
    from ..webhooks.requests import WebhookRequest
    from .config import Signer

__all__ = ["Webhooks"]


class Webhooks(BadDay):
    """The webhooks of a fake: endpoints, attempts, and faults on the way (§4.2, §6)."""

    def __init__(self, engine: Engine, portal: Portal) -> None:
        super().__init__(engine)
        self._portal = portal
        self._seen = 0
        self._receivers: list[Receiver] = []

    # Endpoints

    def connect(
        self,
        url: str | None = None,
        /,
        *,
        wsgi: Callable[..., Any] | None = None,
        asgi: Callable[..., Any] | None = None,
        handler: Callable[[WebhookRequest], object] | None = None,
        path: str | None = None,
        headers: Mapping[str, str] | None = None,
        events: Iterable[str] | None = None,
        raise_exceptions: bool = True,
        retry_after: Iterable[timedelta | float] | None = None,
        signer: Signer | None = None,
    ) -> Endpoint:
        """Attempt events at an endpoint from now on: a URL, an app in process, or a function.

        Args:
            url: Where to post, for a server that listens.
            wsgi: A WSGI app, called in process.
            asgi: An ASGI app, called in process.
            handler: A function that takes a :class:`~pytest_chatfake.WebhookRequest` and returns
                None (200), a status, or a response.
            path: Where the app takes webhooks; only with ``wsgi`` or ``asgi``. Default ``"/"``.
            headers: Headers that every attempt carries.
            events: The event types to listen for (§4.2); by default the service's one type.
            raise_exceptions: Whether an exception that leaves an app or a function comes back in
                the test. If not, it is recorded, as a 500 would be.
            retry_after: When failed attempts are made again, instead of the configuration's.
            signer: Signs attempts, instead of the configuration's.

        Returns:
            The endpoint; ``endpoint.disconnect()`` ends it.

        Raises:
            TypeError: Not exactly one target is given, or an argument is of the wrong kind.
            ValueError: The URL or the path is not one.
            ClosedError: The fake is closed.
        """
        self._engine.refuse_closed()
        config = self._engine.config
        given = {"a URL": url, "wsgi=": wsgi, "asgi=": asgi, "handler=": handler}
        targets = [name for name, value in given.items() if value is not None]
        if len(targets) != 1:
            raise TypeError(
                f"connect() takes exactly one target: a URL, wsgi=app, asgi=app or "
                f"handler=function; it got {' and '.join(targets) or 'none'}"
            )
        if callable(url):
            raise TypeError("an app or a function is given by name: wsgi=, asgi= or handler=")
        if path is not None and (url is not None or handler is not None):
            raise TypeError(f"path= goes with wsgi= or asgi= only, not with {targets[0]}")
        if not isinstance(raise_exceptions, bool):
            raise TypeError(f"raise_exceptions must be True or False, not {raise_exceptions!r}")
        types = frozenset([config.naming.event_type] if events is None else _types(events))
        delays = retry_delays(config.retry_after if retry_after is None else retry_after)
        check_signer(signer)
        name, target = self._target(url, wsgi, asgi, handler, "/" if path is None else path)
        endpoint = Endpoint(
            name,
            target,
            headers=_headers(headers),
            events=types,
            raise_exceptions=raise_exceptions,
            retries=delays,
            signer=signer or config.signer,
            scripted=handler is not None,
            disconnect=self._outbox.disconnect,
        )
        self._outbox.connect(endpoint)
        return endpoint

    def _target(
        self,
        url: str | None,
        wsgi: Callable[..., Any] | None,
        asgi: Callable[..., Any] | None,
        handler: Callable[[WebhookRequest], object] | None,
        path: str,
    ) -> tuple[str, Target]:
        for what, app in (("wsgi", wsgi), ("asgi", asgi), ("handler", handler)):
            if app is not None and not callable(app):
                raise TypeError(f"{what}= must be callable, and {app!r} is not")
        if handler is not None and not _takes_one(handler):
            raise TypeError(
                f"handler= takes a function of one argument, the request, and {_name(handler)}() "
                f"is none: write def {_name(handler).rpartition('.')[2]}(request)"
            )
        if wsgi is not None:
            if _is_async(wsgi):
                raise TypeError(f"{_name(wsgi)} looks like an ASGI app: connect it as asgi=")
            return f"{_name(wsgi)} (WSGI) {path}", WsgiTarget(wsgi, path=path)
        if asgi is not None:
            if hasattr(asgi, "wsgi_app"):
                raise TypeError(f"{_name(asgi)} looks like a WSGI app: connect it as wsgi=")
            return f"{_name(asgi)} (ASGI) {path}", AsgiTarget(asgi, path=path, portal=self._portal)
        if handler is not None:
            return f"{_name(handler)}()", HandlerTarget(handler, portal=self._portal)
        timeout = self._engine.config._timeout_seconds
        name = text(url, "the URL")
        return name, UrlTarget(name, timeout=timeout)

    def receiver(self) -> Receiver:
        """Connect a receiver that records what it gets, for tests without an app."""
        receiver = Receiver(self._engine)
        receiver.endpoint = self.connect(handler=receiver)
        self._receivers.append(receiver)
        return receiver

    def disconnect(self) -> None:
        """Disconnect all endpoints."""
        for endpoint in self._outbox.endpoints:
            endpoint.disconnect()

    def lifespan(self, app: Callable[..., Any]) -> Lifespan:
        """Run an ASGI app's start-up and shutdown around a block.

        ``with`` in sync mode, ``async with`` in async mode (in the test's own loop).

        Args:
            app: The app, as it is connected.
        """
        return Lifespan(
            app,
            portal=self._portal,
            check=self._engine.refuse_mode,
        )

    @property
    def attempts(self) -> Sequence[Attempt]:
        """The attempts so far, in order. Who looks at them needs no warning about failed ones.

        Raises:
            NotAwaited: Async mode: steps are pending.
        """
        self._engine.look()
        attempts = self._outbox.attempts
        self._seen = len(attempts)
        return tuple(attempts)

    def _forget(self) -> None:
        """Forget what was looked at and what was to go wrong; the outbox forgets the rest."""
        self._seen = 0
        self._past_faults.clear()
        for receiver in self._receivers:
            receiver._forget()


def _is_async(app: Callable[..., Any]) -> bool:
    called = getattr(app, "__call__", None)  # noqa: B004 - its kind matters, not whether it is there
    return inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(called)


def _takes_one(handler: Callable[..., object]) -> bool:
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):  # some functions of C have none to show
        return True
    try:
        signature.bind(object())
    except TypeError:
        return False
    return True


def _types(events: Iterable[str]) -> list[str]:
    if isinstance(events, (str, bytes)) or not hasattr(events, "__iter__"):
        raise TypeError(f'events must be a list of event types such as ["..."], not {events!r}')
    return [text(event, "an event type") for event in events]


def _headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    if headers is not None and not isinstance(headers, Mapping):
        raise TypeError(f"headers must be a mapping of names to texts, not {headers!r}")
    complete_headers((headers or {}).items(), "")  # refuses now what could not be sent later
    given = {str.__str__(name): str.__str__(value) for name, value in (headers or {}).items()}
    if any(name.lower() == "content-type" for name in given):
        return given
    return {"Content-Type": "application/json", **given}


def _name(thing: object) -> str:
    return (
        getattr(thing, "__qualname__", None) or getattr(thing, "name", None) or type(thing).__name__
    )
