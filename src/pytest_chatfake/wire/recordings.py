r"""Recorded events, read from a file: JSON, or JSON lines.

An entry is the body that was received, or an object with the body and the moment when it was::

    {"id": "evt_1", "type": "chat.message.updated", ...}
    {"at": "2026-03-01T09:00:00Z", "body": {"id": "evt_2", ...}}
    {"at": "2026-03-01T09:00:07Z", "body": "{\"id\": \"evt_3\", ...}"}

A body that is a line, a whole file or a text is kept byte for byte. One inside a list or an object
is written anew: its fields keep their order and its numbers every digit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, cast

from ..base.arguments import shortened, utf8
from ..domain.instants import aware, nanoseconds
from .exact_json import encode

#: What else logs are kept as, by the bytes that a file of it begins with.
_FORMS: Final = {
    b"\x1f\x8b": "gzip: decompress it",
    b"BZh": "bzip2: decompress it",
    b"\xfd7zXZ": "xz: decompress it",
    b"\x28\xb5\x2f\xfd": "zstd: decompress it",
    b"PK\x03\x04": "zip: decompress it",
    b"\xff\xfe": "UTF-16: convert it",
    b"\xfe\xff": "UTF-16: convert it",
}


class RecordedEvent(NamedTuple):
    """An entry of a recording.

    Attributes:
        where: The file and the line, or the number of the entry in a list.
        body: The bytes that were received, or the same JSON written anew.
        json: The body, parsed; fractions are decimals.
        at: When it was received, or else when it says that it was made, in nanoseconds.
        problem: Why the entry can't be used; empty if it can.
    """

    where: str
    body: bytes = b""
    json: Any = None
    at: int | None = None
    problem: str = ""


def read_recording(path: str | PathLike[str]) -> Iterator[RecordedEvent]:
    """Read a recording; an OSError if the file can't be read.

    JSON lines are read one at a time, all else as a whole.
    """
    name = str(path)
    with Path(path).open("rb") as file:
        lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
        number, first = next(lines, (0, b""))
        form = next((form for magic, form in _FORMS.items() if first.startswith(magic)), "")
        if form:
            yield RecordedEvent(name, problem=f"expected UTF-8 text, got {form}")
        elif not first:
            yield RecordedEvent(name, problem="no events")
        elif _goes_on(first):
            yield from _whole(name, b"\n" * (number - 1) + first + file.read())
        else:
            yield from _lines(name, chain([(number, first)], lines))


def _goes_on(line: bytes) -> bool:
    """Return whether a line begins a list, or an object that does not end in it."""
    try:
        text = _text(line)
        if text.startswith("["):
            return True
        _parsed(text)
    except json.JSONDecodeError as error:
        return error.pos == len(error.doc)
    except ValueError:
        pass
    return False


def _whole(name: str, content: bytes) -> Iterator[RecordedEvent]:
    """Yield the entries of JSON that is no line; those of its lines if it is no JSON."""
    try:
        text = content.decode("utf-8-sig")
        whole: Any = _parsed(text)
    except ValueError as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        entries = [*_lines(name, enumerate(content.split(b"\n"), 1))]
        is_lines = any(not entry.problem for entry in entries)
        yield from entries if is_lines else [RecordedEvent(name + line, problem=_problem(error))]
    else:
        if whole == []:
            yield RecordedEvent(name, problem="no events")
        elif isinstance(whole, list):
            for number, item in enumerate(cast("list[object]", whole), 1):
                yield _entry(f"{name}, number {number}", item)
        else:
            yield _entry(f"{name}:1", whole, text.strip())


def _lines(name: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[RecordedEvent]:
    """Yield the entries of JSON lines; the first problem alone if no line is JSON."""
    entries = (_line(f"{name}:{number}", line) for number, line in lines if line.strip())
    problems: list[RecordedEvent] = []
    for entry in entries:
        if not entry.problem:
            yield from chain(problems, [entry], entries)
            return
        problems.append(entry)
    yield from problems[:1]


def _line(where: str, line: bytes) -> RecordedEvent:
    try:
        text = _text(line)
        return _entry(where, _parsed(text), text)
    except ValueError as error:
        return RecordedEvent(where, problem=_problem(error))


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig").strip("\r\n\t ")


def _problem(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at column {error.colno}"
    return str(error)


def _entry(where: str, value: Any, text: str | None = None) -> RecordedEvent:
    """Return the entry of a JSON value, which was written as ``text`` if that is known."""
    try:
        return RecordedEvent(where, *_content(value, encode(value) if text is None else text))
    except (TypeError, ValueError) as error:
        return RecordedEvent(where, problem=str(error))


def _content(value: Any, text: str) -> tuple[bytes, dict[str, Any], int | None]:
    """Return the body of an entry, the same parsed, and its moment."""
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {shortened(text)}")
    entry = cast("dict[str, Any]", value)
    if "body" not in entry or not entry.keys() <= {"at", "body"}:
        return text.encode(), entry, moment(entry, "createTime")
    inner = entry["body"]
    if isinstance(inner, str):
        body = utf8(inner, "body")
        try:
            inner = _parsed(inner)
        except ValueError as error:
            raise ValueError(f"body: {_problem(error)}") from None
    else:
        body = encode(inner).encode()
    if not isinstance(inner, dict):
        raise TypeError(f"body: expected an object, got {shortened(body.decode())}")
    event = cast("dict[str, Any]", inner)
    at = entry.get("at")
    return body, event, moment(event, "createTime") if at is None else nanoseconds(aware(at, "at"))


def moment(fields: Mapping[str, Any], name: str) -> int | None:
    """Return a field's moment, in nanoseconds; None if it says none, which deviates."""
    with suppress(TypeError, ValueError):
        return nanoseconds(aware(fields.get(name), name))
    return None


def _parsed(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _number(text: str) -> Decimal:
    """Return a number; refuse a huge exponent, which would fill the memory once written out."""
    value = Decimal(text)
    if value and abs(value.adjusted()) > _LARGEST_EXPONENT:
        raise ValueError(f"the number {shortened(text)} is out of range")
    return value


#: More than any language of today reads.
_LARGEST_EXPONENT: Final = 400


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"not JSON: it has no {constant}")


_DECODER: Final = json.JSONDecoder(parse_float=_number, parse_constant=_refuse)
