"""The fields of a posted body: the values in JSON, also in JSON inside JSON, or those of a form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Self
from urllib.parse import parse_qs, urlencode

from ..wire.exact_json import encode

#: A form's names and values. Other texts, such as XML, are no forms.
_FORM = re.compile(r"([\w.\[\]%+-]+=[^=&]*(&|$))+")


class Field(str):
    """A field's name, such as ``body.entry[0].status``; a ``str``, so it can stand among headers.

    Attributes:
        path: The keys and indices that lead to it.
        is_number: Whether it is a number.
    """

    path: tuple[str | int, ...]
    is_number: bool

    def __new__(cls, path: tuple[str | int, ...], value: object) -> Self:
        name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
        field = super().__new__(cls, f"body{name}")
        field.path, field.is_number = path, isinstance(value, int | Decimal)
        return field

    def typed(self, text: str) -> object:
        """Return a new value as a number, if the field is a number and the text is one."""
        return int(text) if self.is_number and text.isdecimal() else text


def fields_of(body: bytes) -> dict[Field, Any]:
    """Return the values in a body that are neither objects nor lists; none if it has no fields."""
    opened = opened_body(body)
    return {} if opened is None else {Field(*leaf): leaf[1] for leaf in _leaves(opened[0])}


def with_fields(body: bytes, fields: Mapping[Field, Any]) -> bytes:
    """Return a body with other values for these fields; a field that it lacks is added."""
    opened = opened_body(body)
    if opened is None or not fields:
        return body
    value, write = opened
    for field, new in fields.items():
        value = _with(value, field.path, new)
    return write(value).encode()


def opened_body(body: bytes) -> tuple[Any, Callable[[Any], str]] | None:
    """Return what a body says, and the function that writes it; None if it has no fields."""
    text = body.decode(errors="replace")
    if (value := json_in(text)) is not None:
        return value, encode
    if not _FORM.fullmatch(text):
        return None
    values = parse_qs(text, keep_blank_values=True)
    form = {name: each[0] if len(each) == 1 else each for name, each in values.items()}
    return form, lambda value: urlencode(value, doseq=True)


def json_in(text: str) -> Any:
    """Return the JSON object or list that a text is; None if it is none."""
    try:
        value = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _leaves(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    inner = json_in(value) if isinstance(value, str) else value
    if isinstance(inner, dict | list):
        for key, each in inner.items() if isinstance(inner, dict) else enumerate(inner):
            yield from _leaves(each, (*path, key))
    else:
        yield path, value


def _with(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    if isinstance(value, str):
        return encode(_with(json_in(value), path, new))
    key, *rest = path
    if isinstance(value, list):
        return [_with(each, (*rest,), new) if at == key else each for at, each in enumerate(value)]
    return {**value, key: _with(value.get(key, {}), (*rest,), new)}
