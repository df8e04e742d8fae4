"""Reads one request off a connection, strictly: what is not plainly a request is refused.

Everything is read to its end before anyone looks at it, so that the next request on the
connection always starts where this one stopped. Whatever reads may raise `Refusal`, or `ClientGone`
where the connection ended first.
"""

from __future__ import annotations

import re
from http.client import HTTPMessage
from typing import TYPE_CHECKING, Any

from ..fields import FIELD_LINE, TOKEN
from .replies import Reply, error_reply

if TYPE_CHECKING:
    from io import BufferedReader

MAX_LINE = 65_536  # bytes in a request line, a header or a chunk's size line
MAX_FIELDS = 100  # header lines in one request
MAX_BODY = 64 * 1024 * 1024  # bytes: more than any test sends, little enough to keep in memory
TOO_LARGE = (431, "REQUEST_HEADER_FIELDS_TOO_LARGE")

REQUEST_LINE = re.compile(rb"(%s) ([!-~\x80-\xff]+) HTTP/(\d)\.(\d)\r?\n" % TOKEN)
CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
BLANK_LINES = (b"\r\n", b"\n")


class Refusal(Exception):  # noqa: N818 - a reply to the client, no error of ours
    """What arrived is not a request; the connection ends with a reply that says why (§7.1)."""

    def __init__(self, message: str, status: int = 400, code: str = "BAD_REQUEST") -> None:
        super().__init__(message)
        self.reply: Reply = error_reply(status, code, message)


class ClientGone(Exception):  # noqa: N818 - what happened, no error of ours
    """The client closed the connection before its request or our answer was complete."""


def read_request_line(reader: BufferedReader) -> tuple[str, str, str]:
    """Return the next request's method, target and version, decoded as Latin-1.

    Blank lines before it are skipped (RFC 9112 §2.2).
    """
    if reader.peek()[:1] == b"\x16":  # its client would wait for us, and we for the line's end
        raise Refusal("this is TLS: the address starts with http://")
    line = b"\n"
    while line in BLANK_LINES:
        line = _read_line(reader, "the request line", 414, "URI_TOO_LONG")
    match = REQUEST_LINE.fullmatch(line)
    if match is None:
        raise Refusal(f"not a request line: {_quote(line)}")
    method, target, major, minor = (group.decode("latin-1") for group in match.groups())
    if major != "1":
        message = f"HTTP/{major}.{minor} is not spoken here: use HTTP/1.1"
        raise Refusal(message, 505, "HTTP_VERSION_NOT_SUPPORTED")
    if method != method.upper():
        message = f"the method {method[:80]!r} is not known here: write it in upper case"
        raise Refusal(message, 501, "NOT_IMPLEMENTED")
    return method, target, f"HTTP/{major}.{minor}"


def read_headers(reader: BufferedReader) -> HTTPMessage:
    """Read header lines up to the blank line that ends them."""
    headers = HTTPMessage()
    for _ in range(MAX_FIELDS + 1):
        line = _read_line(reader, "a header line", *TOO_LARGE)
        if line in BLANK_LINES:
            break
        match = FIELD_LINE.fullmatch(line)
        if match is None:
            raise Refusal(f"not a header line: {_quote(line)}")
        name, value = match.groups()
        headers[name.decode()] = value.strip(b" \t").decode("latin-1")
    else:
        raise Refusal(f"there are more than {MAX_FIELDS} header lines", *TOO_LARGE)
    if len(headers.get_all("Host", ())) > 1:
        raise Refusal("there is more than one Host")
    return headers


def connection_options(headers: HTTPMessage) -> set[str]:
    """Return what the ``Connection`` headers ask for, in lower case."""
    values = ",".join(headers.get_all("Connection", ()))
    return {option.strip().lower() for option in values.split(",")}


def expects_continue(headers: HTTPMessage) -> bool:
    """Return whether the client waits for a 100 before it sends the body."""
    expectations = {value.lower() for value in headers.get_all("Expect", ())}
    if expectations - {"100-continue"}:
        raise Refusal("only 100-continue can be expected here", 417, "EXPECTATION_FAILED")
    return bool(expectations)


def body_length(headers: HTTPMessage) -> int | None:
    """Return the length of the body in bytes, or None if it comes in chunks."""
    codings = headers.get_all("Transfer-Encoding", ())
    lengths = set(headers.get_all("Content-Length", ()))
    if codings:
        coding = ", ".join(codings)
        if lengths:
            raise Refusal("Content-Length and Transfer-Encoding exclude each other")
        if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", coding):
            raise Refusal(f"Transfer-Encoding has a control character in it: {coding[:80]!r}")
        if coding.lower() != "chunked":
            message = f"the transfer coding {coding[:80]!r} is not spoken here: use 'chunked'"
            raise Refusal(message, 501, "NOT_IMPLEMENTED")
        return None
    if not lengths:
        return 0
    length = lengths.pop()
    if lengths or not re.fullmatch(r"[0-9]{1,18}", length):
        raise Refusal("Content-Length must be one number")
    return int(length)


def read_body(reader: BufferedReader, length: int | None) -> bytes:
    """Read the whole body, of so many bytes, or in chunks."""
    if length is not None:
        return _read_exactly(reader, length)
    body = bytearray()
    while size := _read_chunk_size(reader):
        body += _read_exactly(reader, size, already=len(body))
        end = reader.readline(2)
        if not end:
            raise ClientGone
        if end not in BLANK_LINES:
            raise Refusal("a chunk is longer than it says")
    read_headers(reader)  # the trailers: nobody asks for them
    return bytes(body)


def _read_line(reader: BufferedReader, what: str, *refusal: Any) -> bytes:
    line = reader.readline(MAX_LINE + 1)
    if len(line) > MAX_LINE:
        raise Refusal(f"{what} is longer than {MAX_LINE} bytes", *refusal)
    if not line.endswith(b"\n"):
        raise ClientGone
    return line


def _read_chunk_size(reader: BufferedReader) -> int:
    line = _read_line(reader, "the size of a chunk")
    match = CHUNK_LINE.fullmatch(line)
    if match is None:
        raise Refusal(f"not the size of a chunk: {_quote(line)}")
    return int(match[1], 16)


def _read_exactly(reader: BufferedReader, length: int, *, already: int = 0) -> bytes:
    if already + length > MAX_BODY:
        raise Refusal(f"the body is larger than {MAX_BODY} bytes", 413, "CONTENT_TOO_LARGE")
    data = reader.read(length)
    if len(data) < length:
        raise ClientGone
    return data


def _quote(line: bytes) -> str:
    return repr(line[:80].decode("latin-1"))
