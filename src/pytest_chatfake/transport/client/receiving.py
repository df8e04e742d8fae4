"""Reads a response with ``http.client``, but with a limit and a readable message for each error.

By itself, ``http.client`` reads however much a server sends, accepts nonsense as a length, and if a
server says ``hello``, the whole error message is ``hello``.
"""

from __future__ import annotations

import re
from http.client import (
    BadStatusLine,
    HTTPException,
    HTTPResponse,
    IncompleteRead,
    RemoteDisconnected,
    UnknownProtocol,
)
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, Any

from .responses import Response

if TYPE_CHECKING:
    from socket import socket

    from _typeshed import WriteableBuffer

READ_LIMIT = 16 * 1024 * 1024  # the maximum size of a response in bytes, with its headers
KEEP_LIMIT = 64 * 1024  # how many bytes of a body are kept


def receive(sock: socket) -> tuple[Response, bool]:
    """Read a response to a POST.

    Returns:
        The response, and whether the connection can be used again.

    Raises:
        HTTPException: The response is not HTTP, is cut off or too long.
        OSError: The connection broke.
    """
    start, size = b"", 0
    try:
        with _LimitedResponse(sock, method="POST") as response:
            response.begin()
            length = "0" if response.chunked else response.getheader("Content-Length", "0").strip()
            if not re.fullmatch("[0-9]{1,18}", length):
                shown = length[:80]
                raise HTTPException(f"the response has an invalid Content-Length: {shown!r}")
            while part := response.read(KEEP_LIMIT):
                start += part[: KEEP_LIMIT - len(start)]
                size += len(part)
            if response.length:
                raise HTTPException(
                    f"the response is cut off: {size} of {length} bytes of its body arrived"
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


class _LimitedResponse(HTTPResponse):
    """A response that raises an error beyond the limit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fp = BufferedReader(_Limited(self.fp.detach()))


class _Limited(RawIOBase):
    """A raw stream that raises an error beyond the limit."""

    def __init__(self, raw: RawIOBase) -> None:
        self._raw = raw
        self._left = READ_LIMIT

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        count = self._raw.readinto(buffer) or 0
        self._left -= count
        if self._left < 0:
            raise HTTPException(f"the response is longer than {READ_LIMIT // 2**20} MiB")
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
