"""Synthetic events: the service's bodies with changes made by a test.

Fields are named by path: ``totalPrice`` and ``conversation.expireTime`` are in the message,
``event.id`` and ``event.type`` in the envelope.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from decimal import Decimal
from typing import Any, Final, TypeAlias

from ..base.arguments import (
    check_bytes,
    check_list,
    check_mapping,
    check_str,
    cited,
    shortened,
    unexpected,
)
from ..wire.exact_json import encode
from ..wire.naming import ENVELOPE_KEYS
from .events import CustomEvent
from .fields import json_in, opened_body

#: Takes the service's body and returns the edited one.
Edit: TypeAlias = Callable[[bytes], bytes]

_FIELDS = 'fields such as ["totalPrice"]'

#: Values that a later version of the service might write, by field.
UNKNOWN: Final[Mapping[str, str]] = {
    "conversation.originType": "added_later",
    "conversation.type": "ADDED_LATER",
    "errorCode": "909090",
    "status": "added_later",
    "type": "added_later",
}


#: Those with lists that may grow; all values of ``status`` are known (§2.3).
OPEN: Final = tuple(path for path in UNKNOWN if path != "status")


def edits(
    changes: Mapping[str, object] | None,
    remove: Iterable[str],
    raw: str | bytes | None,
    resource: str,
) -> Edit | bytes:
    """Return the function that edits a body for ``emit()``, or the whole body for ``raw=``."""
    paths = check_list(remove, "remove", _FIELDS)
    if not all(isinstance(path, str) for path in paths):
        raise TypeError(unexpected("remove", f"a list of {_FIELDS}", remove))
    values = {} if changes is None else dict(check_mapping(changes, "changes"))
    if raw is not None:
        body = check_bytes(raw, "raw")
        if values or paths:
            raise ValueError("pass changes= and remove=, or the whole raw=, not both")
        return body
    if not values and not paths:
        return lambda body: body
    for path, value in values.items():
        if not isinstance(path, str):
            raise TypeError(unexpected("the path of a field in changes", "a str", path))
        encode(value)  # refuses values that JSON can't have, before anything happens

    def edit(body: bytes) -> bytes:
        event = json.loads(body, parse_float=Decimal)
        for path, value in values.items():
            parent, key = _find(event, resource, path)
            parent[key] = deepcopy(value)  # later paths may be inside it
        for path in paths:
            parent, key = _find(event, resource, path)
            if key not in parent:
                raise ValueError(
                    f"there is no field {cited(path)} to remove from {shortened(body.decode())}"
                )
            del parent[key]
        return encode(event).encode()

    return edit


def _find(event: dict[str, Any], resource: str, path: str) -> tuple[dict[str, Any], str]:
    *parents, key = path.split(".")
    parent: dict[str, Any] | None = event.get(resource)
    if parents and parents[0] == "event":
        parent, parents = event, parents[1:]
    for name in parents:
        parent = parent.get(name) if isinstance(parent, dict) else None
    if isinstance(parent, dict):
        return parent, key
    raise ValueError(
        f"there is no object {cited('.'.join(parents) or resource)} for {cited(path)}. Paths start "
        f"in the message, as in 'conversation.expireTime', or with 'event.' in the envelope."
    )


def evolved(body: bytes, *, everywhere: bool) -> bytes:
    """Return a body as a later version of the service might write it.

    The envelope, its resource and the conversation each get a new field, and their fields another
    order. A body that is neither JSON nor a form stays as it is.

    Args:
        body: The body.
        everywhere: Whether to change all objects, because their meaning is unknown.
    """
    if (opened := opened_body(body)) is None:
        return body
    value, write = opened
    try:
        if write is not encode:
            return write({"addedLater": "v3", **dict(reversed(value.items()))}).encode()
        grown = _grown_everywhere(value) if everywhere else _grown(value, is_envelope=True)
        return encode(grown).encode()
    except (AttributeError, ValueError, RecursionError):
        return body  # the test broke it on purpose


def with_unknown(body: bytes, path: str, resource: str) -> bytes:
    """Return a body with an unknown value in a field, if the body has the field."""
    try:
        event = json.loads(body, parse_float=Decimal)
        parent, key = _find(event, resource, path)
        if key not in parent:
            return body
        parent[key] = UNKNOWN[path]
        return encode(event).encode()
    except (AttributeError, ValueError, RecursionError):
        return body  # the test broke it on purpose, or it has no such object


_ADDED: Final[dict[str, Any]] = {"addedLater": {"since": "v3"}}


def _grown(fields: Any, *, is_envelope: bool) -> dict[str, Any]:
    grown = {**_ADDED}
    for name, value in reversed(fields.items()):
        is_known = isinstance(value, dict) and (is_envelope or name == "conversation")
        grown[name] = _grown(value, is_envelope=False) if is_known else value
    return grown


def _grown_everywhere(value: Any) -> Any:
    anything: Any = value  # the patterns below narrow `value` to types that are partly unknown
    match value:
        case list():
            return [*map(_grown_everywhere, anything)]
        case dict():
            return _ADDED | {name: _grown_everywhere(anything[name]) for name in reversed(anything)}
        case str() if (inner := json_in(value)) is not None:
            return encode(_grown_everywhere(inner))
        case _:
            return value


def custom_event(
    event_type: str,
    resource: Mapping[str, object] | None,
    key: str | None,
    id_: str | None,
    body: Mapping[str, object] | str | bytes | None,
) -> CustomEvent:
    """Return the event that the arguments of ``emit_event()`` describe."""
    name = check_str(event_type, "the type")
    given = None if id_ is None else check_str(id_, "id")
    if body is not None:
        if key is not None or resource is not None:
            raise ValueError("pass a resource and its key=, or the whole body=, not both")
        if isinstance(body, Mapping):
            if given is None and isinstance(own := body.get("id"), str):
                given = own or None
            body = encode(dict(body)).encode()
        else:
            body = check_bytes(body, "body")
        return CustomEvent(name, given, "", "", body)
    field = _key_of(name) if key is None else check_str(key, "key")
    if not field:
        raise ValueError(f"the type {cited(name)} names no key for the resource: pass key=")
    if field in ENVELOPE_KEYS:
        raise ValueError(f"key can't be {cited(field)}: the envelope has a field of that name")
    fields = {} if resource is None else dict(check_mapping(resource, "resource"))
    return CustomEvent(name, given, field, encode(fields), None)


def _key_of(event_type: str) -> str:
    # Camel case, without the last part: "chat.message.updated" becomes "chatMessage".
    words = re.split(r"[._-]+", event_type.rpartition(".")[0] or event_type)
    return words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:])
