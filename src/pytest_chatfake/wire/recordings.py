r"""Reads recorded events from a file: a JSON list, or JSON objects that each start on a new line.

An entry is a body as it was received, or an object with the body and the time::

    {"id": "evt_1", "type": "chat.message.updated", ...}
    {"at": "2026-03-01T09:00:00Z", "body": {"id": "evt_2", ...}}
    {"at": "2026-03-01T09:00:07Z", "body": "{\"id\": \"evt_3\", ...}"}

A plain body is kept byte for byte, and so is a string under ``body``. An object under ``body`` is
encoded again, with its fields in the same order and every digit of its numbers.
"""

from __future__ import annotations

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BufferedReader
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from ..base.arguments import shortened, utf8
from ..domain.instants import aware, nanoseconds
from .exact_json import encode, read_number, refuse_constant

#: Other file formats for logs, by the file's first bytes.
_FORMS = {
    b"\x1f\x8b": "gzip; decompress it",
    b"BZh": "bzip2; decompress it",
    b"\xfd7zXZ": "xz; decompress it",
    b"\x28\xb5\x2f\xfd": "zstd; decompress it",
    b"PK\x03\x04": "zip; decompress it",
    b"\xff\xfe": "UTF-16; convert it",
    b"\xfe\xff": "UTF-16; convert it",
    b"{\0": "UTF-16; convert it",
    b"[\0": "UTF-16; convert it",
    b"\0": "UTF-16; convert it",
}


class RecordedEvent(NamedTuple):
    """An entry of a recording.

    Attributes:
        source: The file and what ``number`` counts: ``a.jsonl:`` (lines) or ``a.json, number ``.
        number: The number of the line, or of the entry in a list; 0 for the whole file.
        body: The received bytes, or the same JSON encoded again.
        json: The parsed body; fractions are decimals.
        at: When it was received, or else its own ``createTime``, in nanoseconds since the epoch.
        problem: Why the entry can't be used; empty if it can.
    """

    source: str
    number: int = 0
    body: bytes = b""
    json: Any = None
    at: int | None = None
    problem: str = ""

    @property
    def where(self) -> str:
        """The file with the number of the line or the entry."""
        return f"{self.source}{self.number or ''}"


def read_recording(path: str | PathLike[str]) -> Iterator[RecordedEvent]:
    """Yield a recording's entries, one at a time, so the file may be larger than memory.

    Raises:
        OSError: The file can't be read.
    """
    name = str(path)
    with Path(path).open("rb") as file:
        head = file.peek()
        form = next((form for magic, form in _FORMS.items() if head.startswith(magic)), "")
        if form:
            yield RecordedEvent(name, problem=f"expected UTF-8 text, got {form}")
            return
        entries = (_items if _LIST.match(head) else _objects)(name, _Text(file))
        begin: list[RecordedEvent] = []
        for entry in entries:
            begin.append(entry)
            if not entry.problem:
                yield from chain(begin, entries)
                return
            if len(begin) == _MANY:
                break
        # The file isn't a recording, so one problem is enough.
        yield begin[0] if begin else RecordedEvent(name, problem="no events")


#: A file without a usable entry among this many doesn't count as a recording.
_MANY = 100

#: The start of a list, but not of a line such as ``[INFO] started``.
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:[\[{\]]|\Z)")


class _Text:
    """A file's JSON text, read in pieces: only the text after the position is kept in memory.

    Bytes that are not UTF-8 become lone surrogates.

    Attributes:
        line: The line number of the position, from 1.
    """

    def __init__(self, file: BufferedReader) -> None:
        self.line = 1
        self._file = file
        self._decoder = getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._kept = ""
        self._position = 0
        self._line_start = 0  # negative once the start of the line was discarded

    def find(self, pattern: re.Pattern[str]) -> str:
        """Move to the next match and return it; without a match, move to the end and return ""."""
        while not (found := pattern.search(self._kept, self._position)):
            self._move(len(self._kept))
            if not self._read_on():
                return ""
        self._move(found.start())
        return found[0]

    def take(self, expected: str) -> str:
        """Move past the next character and return it; raise a ValueError if it is not expected."""
        found = self.find(_CHARACTER)
        if not found or found not in expected:
            raise self.error(f"Expecting '{expected[0]}' delimiter")
        self._move(self._position + 1)
        return found

    def value(self) -> tuple[str, Any]:
        """Move past the next value; return its text and the value."""
        self.find(_CHARACTER)
        while True:
            try:
                value, end = _DECODER.raw_decode(self._kept, self._position)
            except json.JSONDecodeError as error:
                # The buffer may end inside a token of this length, or inside a string.
                is_near_end = len(self._kept) - error.pos < len("-Infinity")
                is_cut_off = is_near_end or error.msg.startswith("Unterminated string")
                if not (is_cut_off and self._read_on()):
                    self._move(error.pos)
                    raise self.error(_sentence(error)) from None
            except (RecursionError, ValueError):
                self._move(self._position + 1)  # so that _NEXT_OBJECT doesn't match here again
                raise
            else:
                # A number at the end of the buffer may have more digits.
                if end < len(self._kept) or not self._read_on():
                    text = self._kept[self._position : end]
                    self._move(end)
                    return text, value

    def error(self, problem: str) -> ValueError:
        """Return a ValueError about the text at the position."""
        column = self._position - self._line_start + 1
        if _NOT_UTF_8.match(self._kept, self._position):
            return ValueError(f"not UTF-8 at column {column}")
        return ValueError(f"not JSON ({problem} at column {column})")

    def _move(self, position: int) -> None:
        newlines = self._kept.count("\n", self._position, position)
        if newlines:
            self.line += newlines
            self._line_start = self._kept.rfind("\n", self._position, position) + 1
        self._position = position

    def _read_on(self) -> bool:
        # Each piece is as long as the buffer, so that a long value isn't parsed too often.
        forgotten = max(self._position - 1, 0)  # _NEXT_OBJECT looks one character back
        length = max(len(self._kept) - forgotten, _PIECE)
        piece = self._file.read(length)
        text = self._decoder.decode(piece, final=len(piece) < length)
        if text:
            self._kept = self._kept[forgotten:] + text
            self._position -= forgotten
            self._line_start -= forgotten
        return bool(text)


_PIECE = 1 << 15
_CHARACTER = re.compile(r"[^ \t\n\r]")
_NEXT_OBJECT = re.compile(r"(?<=\n)\{")
_NOT_UTF_8: Final = re.compile("[\udc80-\udcff]")


def _items(name: str, text: _Text) -> Iterator[RecordedEvent]:
    # Anything that isn't JSON ends the list.
    source, number = f"{name}, number ", 0
    try:
        delimiter = text.take("[")
        while delimiter != "]":
            if number or text.find(_CHARACTER) != "]":
                number += 1
                yield _entry(source, number, *text.value())
            delimiter = text.take(",]")
        if text.find(_CHARACTER):
            raise text.error("Extra data")
    except (RecursionError, ValueError) as error:
        yield RecordedEvent(f"{name}:", text.line, problem=_problem(error))


def _objects(name: str, text: _Text) -> Iterator[RecordedEvent]:
    # Everything that isn't JSON, up to the next line that begins an object, is one problem.
    source = f"{name}:"
    while text.find(_CHARACTER):
        first = text.line
        try:
            written, value = text.value()
            last = text.line
            if text.find(_CHARACTER) and text.line == last:
                raise text.error("Extra data")
        except (RecursionError, ValueError) as error:
            yield RecordedEvent(source, text.line, problem=_problem(error))
            text.find(_NEXT_OBJECT)
        else:
            yield _entry(source, first, written, value)


def _entry(source: str, number: int, text: str, value: Any) -> RecordedEvent:
    try:
        return RecordedEvent(source, number, *_content(value, text.encode()))
    except UnicodeEncodeError as error:
        start = len(text[: error.start].encode())
        return RecordedEvent(source, number, problem=f"not UTF-8 at byte {start}")
    except (TypeError, ValueError) as error:
        return RecordedEvent(source, number, problem=str(error))


def _content(value: Any, text: bytes) -> tuple[bytes, dict[str, Any], int | None]:
    # The body, the parsed body, and its moment.
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {shortened(text.decode())}")
    entry = cast("dict[str, Any]", value)
    if "body" not in entry or not entry.keys() <= {"at", "body"}:
        return text, entry, moment(entry, "createTime")
    inner = entry["body"]
    if isinstance(inner, str):
        body = utf8(inner, "body")
        try:
            inner = _DECODER.decode(inner)
        except (RecursionError, ValueError) as error:
            raise ValueError(f"body: {_problem(error)}") from None
    else:
        body = encode(inner).encode()
    if not isinstance(inner, dict):
        raise TypeError(f"body: expected an object, got {shortened(body.decode())}")
    event = cast("dict[str, Any]", inner)
    at = entry.get("at")
    return body, event, moment(event, "createTime") if at is None else nanoseconds(aware(at, "at"))


def _problem(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({_sentence(error)} at column {error.colno})"
    return str(error)


def _sentence(error: json.JSONDecodeError) -> str:
    return error.msg.removesuffix(" at")  # some messages end with it, for a column to follow


def moment(fields: Mapping[str, Any], name: str) -> int | None:
    """Return the moment in a field, in nanoseconds since the epoch; None if it isn't valid."""
    with suppress(TypeError, ValueError):
        return nanoseconds(aware(fields.get(name), name))
    return None


_DECODER = json.JSONDecoder(parse_float=read_number, parse_constant=refuse_constant)
