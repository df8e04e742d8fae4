"""The fields of a posted body: the values in JSON, also in JSON inside JSON, or those of a form.

Fields have names such as ``body.entry[0].status``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

from ..wire.exact_json import encode

#: Leaves a field out.
GONE: Final = object()

#: A form's names and values. Other texts, such as XML, are no forms.
_FORM = re.compile(r"([\w.\[\]%+-]+=[^&\s<>\"]*(&|$))+")


def fields_of(body: bytes) -> dict[str, Any]:
    """Return the values in a body that are neither objects nor lists; none if it has no fields."""
    found: dict[str, Any] = {}
    if (opened := opened_body(body)) is not None:
        _rewritten(opened[0], "body", found.setdefault)
    return found


def rewritten(body: bytes, change: Callable[[str, Any], Any]) -> bytes:
    """Return a body with other values; a body that has no fields stays as it is.

    Args:
        body: The body.
        change: Takes a field's name and value, and returns the new value, or :data:`GONE`.
    """
    if (opened := opened_body(body)) is None:
        return body
    value, write = opened
    return write(_rewritten(value, "body", change)).encode()


def opened_body(body: bytes) -> tuple[Any, Callable[[Any], str]] | None:
    """Return what a body says, and the function that writes it; None if it has no fields."""
    text = body.decode(errors="replace")
    if (value := json_in(text)) is not None:
        return value, encode
    if not _FORM.fullmatch(text):
        return None
    values = parse_qs(text, keep_blank_values=True)
    form = {name: each if len(each) > 1 else each[0] for name, each in values.items()}
    return form, partial(urlencode, doseq=True)


def json_in(text: str) -> Any:
    """Return the JSON object or list that a text is; None if it is none."""
    try:
        value: Any = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
    return value if type(value) in (dict, list) else None


def _rewritten(value: Any, name: str, change: Callable[[str, Any], Any]) -> Any:
    anything: Any = value  # the patterns below narrow `value` to types that are partly unknown
    match value:
        case str() if (inner := json_in(value)) is not None:
            new = _rewritten(inner, name, change)
            return value if new == inner else encode(new)  # its bytes may be signed
        case list():
            items = [_rewritten(each, f"{name}[{at}]", change) for at, each in enumerate(anything)]
            return [new for new in items if new is not GONE]
        case dict():
            fields = {key: _rewritten(anything[key], f"{name}.{key}", change) for key in anything}
            return {key: new for key, new in fields.items() if new is not GONE}
        case _:
            return change(name, value)
