"""Reads one request off a connection, strictly: what is not plainly a request is refused.

Everything is read to its end before anyone looks at it, so that the next request on the
connection always starts where this one stopped. Whatever reads may raise `Refusal`, or a
`ConnectionError` where the client hung up first.

Python's own ``http.server`` is too kind for a connection that is kept: it takes folded headers,
ends the headers at a malformed one, and leaves the body to whoever asks for it.
"""

from __future__ import annotations

import re
from http.client import HTTPMessage
from io import BufferedReader

from ..header_parsing import FIELD_LINE, TOKEN

MAX_LINE = 65_536  # bytes in a request line, a header or a chunk's size line
MAX_FIELDS = 100  # header lines in one request
MAX_BODY = 64 * 1024 * 1024  # bytes: more than any test sends, little enough to keep in memory

REQUEST_LINE = re.compile(rb"(%s) ([!-~\x80-\xff]+) (HTTP/1\.[01])\r?\n" % TOKEN)
CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
BLANK_LINES = (b"\r\n", b"\n")


class Refusal(Exception):  # noqa: N818 - becomes a 400 for the client, no error of ours
    """What arrived is not a request; the connection ends with a 400 that says why (§7.1)."""


def read_request_line(reader: BufferedReader) -> tuple[str, str, str]:
    """Return the next request's method, target and version, decoded as Latin-1.

    Blank lines before it are skipped (RFC 9112 §2.2).
    """
    if reader.peek()[:1] == b"\x16":  # its client would wait for us, and we for the line's end
        raise Refusal("this is TLS: the address starts with http://")
    line = b"\n"
    while line in BLANK_LINES:
        line = _read_line(reader, "request line")
    match = _matched(REQUEST_LINE, line, "request line of HTTP/1.1")
    method, target, version = (group.decode("latin-1") for group in match.groups())
    return method, target, version


def read_headers(reader: BufferedReader) -> HTTPMessage:
    """Read header lines up to the blank line that ends them."""
    headers = HTTPMessage()
    for _ in range(MAX_FIELDS + 1):
        line = _read_line(reader, "header line")
        if line in BLANK_LINES:
            return headers
        name, value = _matched(FIELD_LINE, line, "header line").groups()
        headers[name.decode()] = value.strip(b" \t").decode("latin-1")
    raise Refusal(f"expected at most {MAX_FIELDS} header lines, got more")


def body_length(headers: HTTPMessage) -> int | None:
    """Return the length of the body in bytes, or None if it comes in chunks."""
    if len(headers.get_all("Host", ())) > 1:
        raise Refusal("expected one Host, got several")
    codings = headers.get_all("Transfer-Encoding", ())
    lengths = set(headers.get_all("Content-Length", ()))
    if codings:
        if lengths:
            raise Refusal("expected Content-Length or Transfer-Encoding, got both")
        if [coding.lower() for coding in codings] != ["chunked"]:
            raise Refusal(f"expected the transfer coding 'chunked', got {codings[0][:80]!r}")
        return None
    length = lengths.pop() if lengths else "0"
    if lengths or not re.fullmatch(r"[0-9]{1,18}", length):
        raise Refusal("expected one number as Content-Length")
    return int(length)


def read_body(reader: BufferedReader, length: int | None) -> bytes:
    """Read the whole body, of so many bytes, or in chunks."""
    if length is not None:
        return _read_exactly(reader, length)
    body = bytearray()
    while size := _read_chunk_size(reader):
        body += _read_exactly(reader, size, already=len(body))
        if _read_line(reader, "end of a chunk") not in BLANK_LINES:
            raise Refusal("expected the end of a chunk, got more")
    read_headers(reader)  # the trailers: nobody asks for them
    return bytes(body)


def _read_line(reader: BufferedReader, kind: str) -> bytes:
    line = reader.readline(MAX_LINE + 1)
    if len(line) > MAX_LINE:
        raise Refusal(f"expected a {kind} of at most {MAX_LINE} bytes, got more")
    if not line.endswith(b"\n"):
        raise ConnectionAbortedError
    return line


def _read_chunk_size(reader: BufferedReader) -> int:
    line = _read_line(reader, "chunk's size")
    return int(_matched(CHUNK_LINE, line, "chunk's size")[1], 16)


def _matched(pattern: re.Pattern[bytes], line: bytes, kind: str) -> re.Match[bytes]:
    match = pattern.fullmatch(line)
    if match is None:
        raise Refusal(f"expected a {kind}, got {line[:80].decode('latin-1')!r}")
    return match


def _read_exactly(reader: BufferedReader, length: int, *, already: int = 0) -> bytes:
    if already + length > MAX_BODY:
        raise Refusal(f"expected a body of at most {MAX_BODY} bytes, got more")
    data = reader.read(length)
    if len(data) < length:
        raise ConnectionAbortedError
    return data
