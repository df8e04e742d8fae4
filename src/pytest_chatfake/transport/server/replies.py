"""Responses as plain values, with deliberate defects."""

from __future__ import annotations

import json
from http.client import responses as REASONS  # noqa: N812 - a constant under a lower-case name
from socket import MSG_PEEK, socket
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

    from werkzeug import Response


class Reply(NamedTuple):
    """An API response that is ready to be written.

    Attributes:
        status: The HTTP status.
        body: The exact bytes of the body.
        headers: Names and values beyond ``Content-Type`` and ``Content-Length``.
        delay: Real seconds to wait before the response, over a socket.
        disconnect: Whether to close the connection without a response.
        reset: Whether the connection is then reset, so that the client gets a different error.
        declared_length: A ``Content-Length`` beyond the body: the response is cut off, and the
            connection closed after it. None: the length of the body.
        content_type: The value of ``Content-Type``.
    """

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0
    disconnect: bool = False
    reset: bool = False
    declared_length: int | None = None
    content_type: str = "application/json"

    def content(self, method: str) -> tuple[list[tuple[str, str]], bytes]:
        """Return the headers and the body for a request's method; HEAD gets no body."""
        if is_bodiless(self.status):
            return [*self.headers], b""
        length = len(self.body) if self.declared_length is None else self.declared_length
        fields = [("Content-Type", self.content_type), ("Content-Length", str(length))]
        return [*fields, *self.headers], b"" if method == "HEAD" else self.body

    def cut_off(self, length: int | None = None) -> Reply:
        """Keep only the first ``length`` bytes of the body; None for half of it."""
        kept = len(self.body) // 2 if length is None else length
        return self._replace(body=self.body[:kept], declared_length=len(self.body))


def plain(response: Response | Reply, environ: WSGIEnvironment) -> Reply:
    """Return a response as a plain value, and close it; a streamed body is read to its end."""
    reply = copied(response, environ)
    if not isinstance(response, Reply):
        response.close()
    return reply


def copied(response: Response | Reply, environ: WSGIEnvironment) -> Reply:
    """Return what :func:`plain` does, but leave the response open."""
    if isinstance(response, Reply):
        return response
    response.make_sequence()
    headers = response.get_wsgi_headers(environ)
    content_type = headers.get("Content-Type", "")
    for name in ("Content-Type", "Content-Length", "Connection"):
        headers.remove(name)
    fields = tuple(headers.to_wsgi_list())
    body = b"".join(response.iter_encoded())
    return Reply(response.status_code, body, fields, content_type=content_type)


def has_hung_up(client: socket | None) -> bool:
    """Return whether a client no longer waits for its response; None: it has no socket."""
    if client is None:
        return False
    try:
        client.setblocking(False)
        # Below TLS, as an SSLSocket can't peek: what a waiting client sends there is an end.
        return not socket.recv(client, 1, MSG_PEEK) or type(client) is not socket
    except BlockingIOError:  # it waits for its response
        return False
    except OSError:
        return True
    finally:
        client.setblocking(True)


def error_body(status: int, code: str, message: str) -> dict[str, Any]:
    """Return the body of an API error (§7.1)."""
    return {"error": {"status": status, "code": code, "message": message}}


def error_reply(status: int, code: str, message: str) -> Reply:
    """Return a reply with an API error (§7.1)."""
    body = json.dumps(error_body(status, code, message), separators=(",", ":"))
    return Reply(status, body.encode())


def server_error(error: BaseException) -> Reply:
    """Return the 500 for a handler's error; the test gets the error itself."""
    message = f"a handler raised {type(error).__name__}"
    return error_reply(500, "INTERNAL_SERVER_ERROR", message)


def status_line(status: int) -> str:
    """Return a status with its usual reason, such as ``200 OK``."""
    return f"{status} {REASONS.get(status, '')}"


def is_bodiless(status: int) -> bool:
    """Return whether HTTP forbids a body with this status (RFC 9110 §6.4.1)."""
    return status < 200 or status in {204, 304}
