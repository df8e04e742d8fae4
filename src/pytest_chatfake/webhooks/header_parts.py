"""The parts of headers: words, numbers, ids and signatures, each one at its place."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Mapping
from itertools import count
from typing import Final, TypeAlias

from ..domain.ids import lookalike

#: Where a part is: the name of its header, and its number there.
Place: TypeAlias = tuple[str, int]
Places: TypeAlias = set[Place]

#: The minimum length of a part that is neither a version nor a short word, and that can be cut off.
LONG: Final = 9

#: The minimum length of a signature.
SHORTEST: Final = 16

#: A part: a word, a number, or a signature in hex or base64, maybe percent-encoded.
_PART = re.compile(r"(?:[\w+/-]|%[\dA-Fa-f]{2})+(?:=+(?![\w+/-]))?")

#: What comes before a signature, such as ``sha256=`` or ``Bearer ``.
_LABEL = re.compile(r"\b([A-Za-z][\w-]{0,14})(?=[=:, ]+$)")


def names_of(places: Places) -> set[str]:
    """Return the names of the headers."""
    return {name for name, _ in places}


def numbers_in(places: Places, name: str) -> set[int]:
    """Return the numbers of the parts in a header."""
    return {number for other, number in places if other == name}


def parts_of(value: str) -> list[str]:
    """Return the parts of a header's value."""
    return _PART.findall(value)


def part_at(headers: Mapping[str, str], place: Place) -> str:
    """Return a part; empty if the header is missing or has fewer parts."""
    name, number = place
    parts = parts_of(headers.get(name, ""))
    return parts[number] if 0 <= number < len(parts) else ""


def differing(headers: Mapping[str, str], others: Mapping[str, str]) -> Places:
    """Return the parts of headers that others don't have at the same place.

    If a header has another number of parts there, that is each of its parts.
    """
    places: Places = set()
    for name, value in headers.items():
        parts, other_parts = parts_of(value), parts_of(others.get(name, ""))
        places |= {
            (name, number)
            for number, part in enumerate(parts)
            if len(parts) != len(other_parts) or part != other_parts[number]
        }
    return places


def without_digits(text: str) -> str:
    """Return a text without its digits: two timestamps then look the same."""
    return re.sub(r"\d", "", text)


# -- tokens ----------------------------------------------------------------------------------------


def tokens(headers: Mapping[str, str], places: Places) -> Places:
    """Return those of some parts that are JSON in base64, as in a JSON Web Token."""
    return {place for place in places if json_in(part_at(headers, place)) is not None}


def opened(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers whose tokens can be read."""
    return {
        name: _PART.sub(lambda part: json_in(part[0]) or part[0], value)
        for name, value in headers.items()
    }


def json_in(part: str) -> str | None:
    """Return the JSON that a part has in base64; None if it has none."""
    text = part.rstrip("=")
    try:
        json = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
    return json if json.startswith("{") else None


# -- other values ----------------------------------------------------------------------------------


def with_parts(value: str, parts: Mapping[int, str]) -> str:
    """Return a header's value with other parts, by their numbers."""
    numbers = count()
    return _PART.sub(lambda part: parts.get(next(numbers), part[0]), value)


def relabelled(value: str, numbers: Collection[int]) -> str:
    """Return a header's value with another scheme's label before some parts: ``sha1=...``."""
    found = enumerate(_PART.finditer(value))
    starts = [part.start() for number, part in found if number in numbers]
    labels = {label.span() for start in starts if (label := _LABEL.search(value, 0, start))}
    if not labels:
        return f"sha1={value}"
    for start, end in sorted(labels, reverse=True):
        value = value[:start] + ("md5" if value[start:end] == "sha1" else "sha1") + value[end:]
    return value


def with_another_end(signature: str) -> str:
    """Return a wrong signature that can still be decoded.

    The last letter of base64 stays, because it has unused bits, and so does the beginning, which
    may have the lengths of what follows.
    """
    end = len(signature.rstrip("=")) - (len(signature) >= LONG)
    start = max(0, end - SHORTEST)
    return signature[:start] + lookalike(signature[start:end]) + signature[end:]


def without_its_end(signature: str) -> str:
    """Return the beginning of a signature, unless it is too short."""
    return signature[:-4] if len(signature) >= LONG else signature
