"""Compares recorded events with the models, and describes the mismatches in sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..base.arguments import cited
from ..base.escaping import one_line
from ..base.views import counted
from .models import Envelope, event_model
from .naming import Naming

Fields: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str | int, ...]

#: What a field should be, by the type of pydantic's error.
_EXPECTED = {
    "greater_than_equal": "at least {ge}",
    "literal_error": "{expected}",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "moment": "a moment in UTC with milliseconds and Z",
    "number_type": "a number",
    "string_pattern_mismatch": "the form {pattern}",
    "string_too_short": "a non-empty string",
    "string_type": "a string",
    "string_unicode": "a string without lone surrogates",
    "union_tag_not_found": "an object",
}


class _Status(BaseModel):
    status: Literal["sent", "delivered", "read", "failed"]


def is_other_type(event: Fields, naming: Naming) -> bool:
    """Return whether an event has another type than the events about messages (§6).

    An event with a message still counts as one about a message, and so does one whose type only
    differs in the channel's name: in both cases, the event or the naming is wrong.
    """
    type_ = event.get("type")
    if not isinstance(type_, str) or not type_ or naming.message_key in event:
        return False
    own = naming.event_type
    return type_ != own and type_.partition(".")[2] != own.partition(".")[2]


def mismatches(
    event: Fields, naming: Naming, omit: Collection[str] = (), *, extra_fields: bool = False
) -> list[str]:
    """Return an event's mismatches with the description, one sentence each.

    The description has only one type of event (§6), so only the envelope of other types is checked.

    Args:
        event: The parsed event.
        naming: The names of the channel's brand.
        omit: Fields of the message resource that may be missing.
        extra_fields: Whether fields that the description does not have are allowed.
    """
    if is_other_type(event, naming):
        return [_sentence(path, error) for path, error in _errors(Envelope, event).items()]
    model, key = event_model(naming, "allow" if extra_fields else "forbid"), naming.message_key
    errors = _errors(model, event)
    refused, may_be_missing = errors.get((key,)), {(key, name) for name in omit}
    if refused and refused["type"].startswith("union_tag") and isinstance(event[key], dict):
        del errors[key,]  # because the expected fields depend on the status
        errors[key, "status"] = _errors(_Status, event[key])["status",]
    return [
        _sentence(path, error)
        for path, error in errors.items()
        if not _is_content(path, error, event)
        and not (error["type"] == "missing" and path in may_be_missing)
    ]


def summary(events: int, others: int, found: int) -> str:
    """Return a validation's last line, with its counts: ``2 events, 1 mismatch``."""
    beside = f", {others:,} of other types (envelope only)" if others else ""
    return f"{counted(events, 'event')}{beside}, {counted(found, 'mismatch', 'mismatches')}"


def _errors(model: type[BaseModel], value: Fields) -> dict[Path, ErrorDetails]:
    try:
        model.model_validate(value)
    except ValidationError as error:
        # Inside the message, a location's second part is the status.
        return {found["loc"][:1] + found["loc"][2:]: found for found in error.errors()}
    return {}


def _is_content(path: Path, error: ErrorDetails, event: Fields) -> bool:
    # A message of another type has its content in a field named after the type.
    return (
        error["type"] == "extra_forbidden"
        and isinstance(error["input"], (dict, list))
        and len(path) == 2
        and path[1] == event[str(path[0])].get("type")
    )


def _sentence(path: Path, error: ErrorDetails) -> str:
    location, context, got = error["loc"], error.get("ctx", {}), _shown(error["input"])
    kind = context.get("kind") or (f"a {location[1]} message" if len(location) > 1 else "")
    within = f" in {kind}" if kind else ""
    match error["type"]:
        case "missing":
            problem = f"missing{within}"
        case "unexpected":
            problem = f"unexpected{within}, got {got}"
        case "extra_forbidden":
            problem = "not in the description"
        case type_:
            expected = _EXPECTED.get(type_, error["msg"]).format(**context)
            problem = f"expected {expected}, got {got}"
    where = f"`{'.'.join(map(str, path))}`" if path else "the event"
    return one_line(f"{where}: {problem}")


def _shown(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return str(value)
        case _:
            return cited(value)
