"""Idempotency keys: a repeated call gets its first response again (assumed)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from werkzeug import Request, Response

from ..base.history import Record
from ..transport.server.replies import Reply, copied, error_reply
from .routes import Route

#: By route, method, path and key: the first call, its body, and the response to a repeated call.
FirstCalls: TypeAlias = dict[object, tuple[Record, bytes, Reply]]

_REUSED = error_reply(409, "IDEMPOTENCY_KEY_REUSED", "IDEMPOTENCY_KEY_REUSED")
_IN_USE = error_reply(409, "IDEMPOTENCY_KEY_IN_USE", "IDEMPOTENCY_KEY_IN_USE")


class Repeat(NamedTuple):
    """The response to a call that repeats an earlier call's key.

    Attributes:
        first: The earlier call.
        header: The header of the key.
        reply: The response.
    """

    first: Record
    header: str
    reply: Reply

    def __str__(self) -> str:
        if self.reply is _REUSED:
            return f"an earlier call had this {self.header} and a different body"
        if self.reply is _IN_USE:
            return f"an earlier call with this {self.header} has no response yet"
        return f"replayed, because an earlier call had this {self.header}"


def respond(
    calls: FirstCalls,
    route: Route,
    request: Request,
    variables: dict[str, Any],
    asked: Record,
    *,
    has_failed: Callable[[Record], bool],
) -> Response | Repeat | None:
    """Call a route, or repeat the first response to the request's key.

    A 4xx response isn't kept, nor is an exception, nor the response to a call that ``has_failed``,
    as its message failed at once: nothing was sent, so the key can be used again. While a call is
    in flight, another one with the same key gets a 409 and doesn't wait, because the first call may
    be waiting for the app that makes the second.
    """
    header = route.idempotency_header or ""
    key = request.headers.get(header)
    if not key:
        return route.respond(request, variables)
    call_key = (id(route), request.method, request.path, key)
    call = asked, request.get_data(), _IN_USE
    first = calls.setdefault(call_key, call)  # atomic, so only one of two threads is first
    if first is not call:
        earlier, body, reply = first
        return Repeat(earlier, header, reply if body == call[1] else _REUSED)
    try:
        response = route.respond(request, variables)
        if response and not (400 <= response.status_code < 500 or has_failed(asked)):
            calls[call_key] = asked, call[1], copied(response, request.environ)
        return response
    finally:
        if calls[call_key] is call:
            del calls[call_key]
