"""Reads a response with ``http.client``, but with a readable message for each error.

By itself, if a server says ``hello``, the whole error message of ``http.client`` is ``hello``.
"""

from __future__ import annotations

from http.client import (
    BadStatusLine,
    HTTPException,
    HTTPResponse,
    IncompleteRead,
    RemoteDisconnected,
    UnknownProtocol,
)
from typing import TYPE_CHECKING

from .responses import Response

if TYPE_CHECKING:
    from socket import socket

KEEP_LIMIT = 64 * 1024  # how many bytes of a body are kept


def receive(sock: socket) -> tuple[Response, bool]:
    """Read a response to a POST.

    Returns:
        The response, and whether the connection can be used again.

    Raises:
        HTTPException: The response is not HTTP, or is cut off.
        OSError: The connection broke.
    """
    start, size = b"", 0
    try:
        with HTTPResponse(sock, method="POST") as response:
            response.begin()
            while part := response.read(KEEP_LIMIT):
                start += part[: KEEP_LIMIT - len(start)]
                size += len(part)
            if missing := response.length:
                raise HTTPException(
                    f"the response is cut off: {size} of {size + missing} bytes of its body arrived"
                )
            # After a 1xx, either another response follows or the protocol changes.
            is_reusable = not response.will_close and response.status >= 200
            return Response(response.status, start), is_reusable
    except RemoteDisconnected:
        raise
    except (BadStatusLine, UnknownProtocol) as error:
        shown = (str(error).strip() or str(error))[:80]
        raise HTTPException(f"no HTTP response: it started with {shown!r}") from error
    except (IncompleteRead, ValueError) as error:
        raise HTTPException("the response's chunks are malformed or cut off") from error
