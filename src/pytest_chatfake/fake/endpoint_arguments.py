"""Checks the arguments of ``connect()``, and turns them into a target."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from ..base.arguments import (
    check_function,
    check_list,
    check_mapping,
    check_names,
    check_str,
    takes,
    unexpected,
)
from ..base.redaction import redacted, redacted_place
from ..transport.client.asgi import AsgiTarget
from ..transport.client.headers import complete_headers
from ..transport.client.portal import Portal
from ..transport.client.targets import HandlerTarget, Target, UrlTarget, is_async
from ..transport.client.url import parse_url
from ..transport.client.wsgi import WsgiTarget
from ..webhooks.endpoints import PathFunction

_P = ParamSpec("_P")
_T = TypeVar("_T")


def refuse_other_names(connect: Callable[_P, _T]) -> Callable[_P, _T]:
    # Everyone tries app= first, so a hint says what connect() takes.
    parameters = inspect.signature(connect).parameters.values()
    names = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]

    @functools.wraps(connect)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if "app" in kwargs:
            raise TypeError(
                "connect() takes no app=: write wsgi= for a WSGI app (Flask, Django), or asgi= for "
                "an ASGI app (FastAPI, Starlette)"
            )
        check_names(kwargs, names, "connect()")
        return connect(*args, **kwargs)

    return checked


def target_of(
    url: str | None,
    wsgi: Callable[..., Any] | None,
    asgi: Callable[..., Any] | None,
    handler: Callable[..., object] | None,
    path: str | PathFunction | None,
    client: tuple[str, int] | None,
    *,
    portal: Portal,
    timeout: float,
) -> tuple[Target, str, str, str | PathFunction]:
    """Return the target that was given, its name, its label ``Flask /hooks/chat``, and its path."""
    given = {"a URL": url, "wsgi=": wsgi, "asgi=": asgi, "handler=": handler}
    targets = [name for name, value in given.items() if value is not None]
    if len(targets) != 1:
        raise TypeError(
            f"connect() takes exactly one target: a URL, wsgi=app, asgi=app or "
            f"handler=function; it got {' and '.join(targets) or 'none'}"
        )
    if callable(url):
        raise TypeError(
            "url: expected a str, got a callable. Pass an app or a function by keyword: wsgi=, "
            "asgi= or handler="
        )
    if wsgi is None and asgi is None:
        is_chosen = url is not None and callable(path)
        for what, value in (("path", None if is_chosen else path), ("client", client)):
            if value is not None:
                raise TypeError(f"{what}= goes with wsgi= or asgi= only, not with {targets[0]}")
    path = "/" if path is None else path
    if isinstance(path, str):
        fixed, after = path, f" {path}"
    else:
        fixed, after = "/", ""  # no name has any of a function's paths
        check_function(path, "path", 'lambda event: f"/{event.message_id}"', "the event")
    target: Target
    if url is not None:
        target = UrlTarget(url, timeout=timeout)
        path = path if callable(path) else parse_url(url).target
        return target, url, redacted(url).partition("://")[2], path
    if handler is not None:
        _check_callable(handler, "handler")
        if not takes(handler, object()):
            raise TypeError(unexpected("handler", "a function of the request", handler))
        target = HandlerTarget(handler, portal=portal)
        return target, f"{_name(handler)}()", f"{_class_of(handler)}()", path
    app: Any = wsgi if asgi is None else asgi
    if asgi is None:
        _check_wsgi(app)
        target, kind = WsgiTarget(app, path=fixed, client=client), "WSGI"
    else:
        check_asgi(app, "asgi")
        target, kind = AsgiTarget(app, path=fixed, client=client, portal=portal), "ASGI"
    label = f"{_title(app) or _class_of(app)}{redacted_place(after)}"
    return target, f"{_name(app)} ({kind}){after}", label, path


def _check_wsgi(app: Callable[..., Any]) -> None:
    _check_callable(app, "wsgi")
    if is_async(app):
        raise TypeError(f"{_name(app)} looks like an ASGI app: connect it as asgi=")
    _check_app(app, "wsgi", "environ", "start_response")


def check_asgi(app: Callable[..., Any], what: str) -> None:
    _check_callable(app, what)
    if hasattr(app, "wsgi_app"):
        raise TypeError(f"{_name(app)} looks like a WSGI app: connect it as wsgi=")
    _check_app(app, what, "scope", "receive", "send")


def _check_callable(value: object, what: str) -> None:
    if not callable(value):
        raise TypeError(unexpected(what, "a callable", value))


def _check_app(app: Callable[..., Any], what: str, *arguments: str) -> None:
    if not takes(app, *arguments):
        expected = f"an app, which is called with {', '.join(arguments)}"
        raise TypeError(
            f"{unexpected(what, expected, app)}. Connect a function of the request as handler="
        )


def _class_of(thing: object) -> str:
    name: str = getattr(thing, "__qualname__", type(thing).__name__)
    return name.rpartition(".")[2]


def _title(app: object) -> str:
    # FastAPI apps have a title.
    title = getattr(app, "title", None)
    return title if isinstance(title, str) else ""


def event_types(events: Iterable[str]) -> frozenset[str]:
    if events == "*":
        return frozenset("*")
    given = check_list(events, "events", 'event types such as ["chat.message.updated"]')
    return frozenset(check_str(event, "an event type in events") for event in given)


def headers_of(headers: Mapping[str, str] | None) -> dict[str, str]:
    if headers is None:
        headers = {}
    check_mapping(headers, "headers")
    complete_headers(headers.items(), "")  # refuses headers that could not be sent
    given = {str.__str__(name): str.__str__(value) for name, value in headers.items()}
    if any(name.lower() == "content-type" for name in given):
        return given
    return {"Content-Type": "application/json", **given}


def _name(thing: object) -> str:
    return (
        getattr(thing, "__qualname__", None)
        or _title(thing)
        or getattr(thing, "name", None)
        or type(thing).__name__
    )
