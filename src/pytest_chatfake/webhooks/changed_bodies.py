"""Bodies with one change, to see whether a signature depends on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from ..domain.ids import lookalike
from .faults import with_a_space

#: Changes a body.
Change: TypeAlias = Callable[[bytes], bytes]

#: How much longer a body is made to see which parts of headers have it inside them; more than the
#: length of an ECDSA signature varies by.
LONGER: Final = 64

#: How many fields of a body are tried until one is found that is signed.
_MOST_FIELDS = 50

#: A string or a number in JSON (with a second group, it is a key), and a value in a form.
_IN_JSON = re.compile(rb'("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*')
_IN_FORM = re.compile(rb"(?<==)[^&]+")

#: The last digit of a value, and the last letter, unless it is part of an escape.
_LAST_DIGIT = re.compile(rb"\d(?=\D*$)")
_LAST_LETTER = re.compile(rb"(?<![\\%])[A-Za-z](?=[^A-Za-z]*$)")

_DATE = re.compile(rb"\d{4}-\d\d-\d\d")


def longer(body: bytes) -> bytes:
    """Return a body with one more field, whose value has :data:`LONGER` bytes."""
    more = b"0" * LONGER
    if body.lstrip()[:1] == b"{":
        return body.replace(b"{", b'{"more":"%b",' % more, 1)
    return body + b"&more=" + more


def changes_of(body: bytes) -> list[Change]:
    """Return changes of a body: of its bytes alone, and then of one field each.

    They are good for each body with the same fields, which stays as valid as before. Amounts come
    first, then times. Of the others, the last field comes first: ids, which are often looked up,
    stand at the beginning of a body.
    """
    fields = range(len(_with_other_fields(body)))
    return [with_a_space, *(partial(_with_other_field, number) for number in fields)]


def _with_other_field(number: int, body: bytes) -> bytes:
    return _with_other_fields(body)[number]


def _with_other_fields(body: bytes) -> list[bytes]:
    is_json = body.lstrip()[:1] in {b"{", b"["}
    found = (_IN_JSON if is_json else _IN_FORM).finditer(body)
    values = [value for value in found if not is_json or value[2] is None]
    values.reverse()
    bodies: list[bytes] = []
    for value in sorted(values, key=_rank)[:_MOST_FIELDS]:
        start, end = value.span()
        changed = _LAST_DIGIT.sub(_other_digit, value[0])
        if changed == value[0]:
            changed = _LAST_LETTER.sub(lambda letter: letter[0].swapcase(), changed)
        if changed != value[0]:
            bodies.append(body[:start] + changed + body[end:])
    return bodies


def _rank(value: re.Match[bytes]) -> int:
    if value.re is _IN_JSON and not value[0].startswith(b'"'):
        return 0
    return 1 if _DATE.search(value[0]) else 2


def _other_digit(digit: re.Match[bytes]) -> bytes:
    return lookalike(digit[0].decode()).encode()
