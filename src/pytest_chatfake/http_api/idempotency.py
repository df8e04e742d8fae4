"""Idempotency keys: a call that is repeated gets its first response again (assumed)."""

from __future__ import annotations

from typing import Any, TypeAlias

from werkzeug import Request, Response

from ..transport.server.replies import Reply, error_reply, plain
from .routes import Route

#: Of each route, method, path and key: the body of the first call, and what a second one gets.
FirstCalls: TypeAlias = dict[object, tuple[bytes, Reply]]

_REUSED = error_reply(409, "IDEMPOTENCY_KEY_REUSED", "IDEMPOTENCY_KEY_REUSED")
_IN_USE = error_reply(409, "IDEMPOTENCY_KEY_IN_USE", "IDEMPOTENCY_KEY_IN_USE")


def respond(
    calls: FirstCalls, route: Route, request: Request, variables: dict[str, Any]
) -> Response | Reply | None:
    """Call a route, or repeat its first response to the key of the request.

    A response of 400 to 499 is not kept, nor an error: the key may be used again. Nobody waits for
    a call in flight, which may be waiting for the very app that calls.
    """
    key = request.headers.get(route.idempotency_header or "")
    if not key:
        return route.respond(request, variables)
    call_key = (id(route), request.method, request.path, key)
    call = request.get_data(), _IN_USE
    first = calls.setdefault(call_key, call)  # atomic: only one of two threads is first
    if first is not call:
        return first[1] if first[0] == call[0] else _REUSED
    try:
        response = route.respond(request, variables)
        if response and not 400 <= response.status_code < 500:
            calls[call_key] = call[0], plain(response, request.environ)
        return response
    finally:
        if calls[call_key] is call:
            del calls[call_key]
