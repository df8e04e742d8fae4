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
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, cast

from ..base.arguments import shortened, utf8
from ..domain.instants import aware, nanoseconds
from .exact_json import encode


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


def read_recording(path: str | PathLike[str]) -> list[RecordedEvent]:
    """Read a recording; an OSError if the file can't be read."""
    name = str(path)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return [RecordedEvent(name, problem=f"not UTF-8 at byte {error.start}")]
    try:
        whole: Any = _parsed(text) if text.strip() else []
    except ValueError as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        return _lines(name, text) or [RecordedEvent(name + line, problem=_unreadable(error))]
    if whole == []:
        return [RecordedEvent(name, problem="no events")]
    if isinstance(whole, list):
        items = cast("list[object]", whole)
        return [_entry(f"{name}, number {number}", item) for number, item in enumerate(items, 1)]
    return [_entry(f"{name}:1", whole, text.strip())]


def _lines(name: str, text: str) -> list[RecordedEvent]:
    """Return the entries of JSON lines; nothing if no line is JSON."""
    entries: list[RecordedEvent] = []
    for number, line in enumerate(text.split("\n"), 1):
        where, body = f"{name}:{number}", line.strip("\r\t ")
        try:
            if body:
                entries.append(_entry(where, _parsed(body), body))
        except ValueError as error:
            entries.append(RecordedEvent(where, problem=_unreadable(error)))
    return entries if any(not entry.problem for entry in entries) else []


def _unreadable(error: ValueError) -> str:
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
            raise ValueError(f"body: {_unreadable(error)}") from None
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
