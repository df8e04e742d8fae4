r"""Recorded events, read from a file: JSON, or JSON lines.

An entry is the body that was received, or an object with the body and the moment when it was::

    {"id": "evt_1", "type": "chat.message.updated", ...}
    {"at": "2026-03-01T09:00:00Z", "body": {"id": "evt_2", ...}}
    {"at": "2026-03-01T09:00:07Z", "body": "{\"id\": \"evt_3\", ...}"}

Every body is kept byte for byte, wherever it stands: a signature over it holds, and no number is
written in another way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, cast

from ..base.arguments import shortened, utf8
from ..domain.instants import aware, nanoseconds


class Recorded(NamedTuple):
    """An entry of a recording.

    Attributes:
        where: The file and the line, or the number of the entry in a list.
        body: What was received.
        json: The same, parsed; fractions are decimals.
        at: When it was received, or else when it says that it was made, in nanoseconds; None: it
            is not known.
        problem: What is wrong with the entry, so that the rest means nothing; empty: nothing.
    """

    where: str
    body: bytes = b""
    json: Any = None
    at: int | None = None
    problem: str = ""


def recorded(path: str | PathLike[str]) -> list[Recorded]:
    """Read a recording.

    Raises:
        OSError: The file can't be read.
    """
    name = str(path)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return [Recorded(name, problem=f"is not UTF-8 at byte {error.start}")]
    if not text.strip():
        return [Recorded(name, problem="holds no events")]
    try:
        whole = _parsed(text)
    except ValueError as error:
        return list(_lines(name, text)) or [_not_json(name, error)]
    if whole == []:
        return [Recorded(name, problem="holds no events")]
    if isinstance(whole, list):
        items = enumerate(_items(text), 1)
        return [_entry(f"{name}, number {number}", *item) for number, item in items]
    return [_entry(f"{name}:1", whole, text.strip())]


def _lines(name: str, text: str) -> Iterator[Recorded]:
    """Give the entries of JSON lines; nothing if no line is JSON."""
    entries: list[Recorded] = []
    for number, line in enumerate(text.split("\n"), 1):
        body = line.strip("\r\t ")
        if not body:
            continue
        where = f"{name}:{number}"
        try:
            entries.append(_entry(where, _parsed(body), body))
        except ValueError as error:
            entries.append(Recorded(where, problem=f"is not JSON: {_problem(error)}"))
    if any(not one.problem for one in entries):
        yield from entries


def _not_json(name: str, error: ValueError) -> Recorded:
    line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
    return Recorded(name + line, problem=f"is not JSON: {_problem(error)}")


def _problem(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return str(error)


def _entry(where: str, value: Any, text: str) -> Recorded:
    if not isinstance(value, dict):
        return Recorded(where, problem=f"is {shortened(text)}, and not an object")
    event = cast("dict[str, Any]", value)
    body = text.encode()
    moment: int | None = None
    if "body" in event and event.keys() <= {"at", "body"}:
        inner = event["body"]
        try:
            if isinstance(inner, str):
                body, inner = utf8(inner, "it"), _parsed(inner)
            else:
                body = _member(text, "body").encode()
        except ValueError as error:
            return Recorded(where, problem=f"has a body that is not JSON: {_problem(error)}")
        if not isinstance(inner, dict):
            return Recorded(where, problem="has a body that is not an object")
        try:
            if event.get("at") is not None:
                moment = nanoseconds(aware(event["at"], "at"))
        except (TypeError, ValueError) as error:
            return Recorded(where, problem=f"does not say when it came: {error}")
        event = cast("dict[str, Any]", inner)
    if moment is None:
        # What is no moment deviates from the description, and means nothing here.
        with suppress(TypeError, ValueError):
            moment = nanoseconds(aware(event.get("createTime"), "createTime"))
    return Recorded(where, body, event, moment)


def _parsed(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _items(text: str) -> Iterator[tuple[Any, str]]:
    """Give the items of a JSON list, each with its text."""
    place = _behind("[", text, 0)
    while text[place] != "]":
        value, end = _DECODER.raw_decode(text, place)
        yield value, text[place:end]
        place = _behind(",", text, end)


def _member(text: str, name: str) -> str:
    """Return the text of an object's member; of several with that name, the last one counts."""
    found, place = "", _behind("{", text, 0)
    while text[place] != "}":
        key, end = _DECODER.raw_decode(text, place)
        place = _behind(":", text, end)
        _, end = _DECODER.raw_decode(text, place)
        if key == name:
            found = text[place:end]
        place = _behind(",", text, end)
    return found


def _behind(mark: str, text: str, place: int) -> int:
    """Return the place behind a mark, if it comes next, and the white space around it."""
    place = _SPACE.match(text, place).end()
    return _SPACE.match(text, place + 1).end() if text[place] == mark else place


def _number(text: str) -> Decimal:
    """Return a number that may be written out: with a huge exponent it would fill the memory."""
    value = Decimal(text)
    if value and abs(value.adjusted()) > _LARGEST_EXPONENT:
        raise ValueError(f"the number {shortened(text)} is out of range")
    return value


#: Beyond that of any number that a language of today reads.
_LARGEST_EXPONENT: Final = 400

_CONSTANTS: Final = "NaN and Infinity are no numbers of JSON"


def _refuse(_constant: str) -> NoReturn:
    raise ValueError(_CONSTANTS)


_DECODER: Final = json.JSONDecoder(parse_float=_number, parse_constant=_refuse)

#: Any white space of JSON's, or none: it matches everywhere.
_SPACE: Final[Any] = re.compile(r"[ \t\n\r]*")
