"""How a body deviates from a JSON Schema, in sentences.

Only what :func:`.event_schema` uses is understood. It is no library's work, because none is needed
by who installs this package, and because the sentences are to be read by who has to act on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

from ..base.arguments import cited
from .schema import Schema

_KINDS: Final = {"string": "text", "number": "a number", "object": "an object"}


def deviations(body: Any, schema: Schema, *, extra_fields: bool = False) -> list[str]:
    """Return how a body deviates from a schema, a sentence for each.

    Args:
        body: Parsed JSON; fractions may be decimals.
        schema: As :func:`.event_schema` returns it.
        extra_fields: Whether fields may be there that the schema does not name.
    """
    told = dict.fromkeys(
        _Reader(schema["$defs"], extra_fields=extra_fields).told(body, schema, "", "")
    )
    return list(told)


class _Reader:
    def __init__(self, definitions: Schema, *, extra_fields: bool) -> None:
        self._definitions = definitions
        self._extra_fields = extra_fields

    def told(self, value: Any, schema: Schema, path: str, why: str) -> Iterator[str]:
        """Tell how a value deviates.

        Args:
            value: The value.
            schema: What it is to be.
            path: Where it stands; empty for the whole.
            why: What the schema is about, if that is only a part of all values.
        """
        if "$ref" in schema:
            schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        where = f"`{path}`" if path else "the event"
        if "type" in schema and not _FITS[schema["type"]](value):
            yield f"{where} is {_shown(value)}, and not {_KINDS[schema['type']]}"
            return
        yield from _of_value(value, schema, where)
        if isinstance(value, dict):
            yield from self._of_object(value, schema, path, why)

    def _of_object(self, value: Any, schema: Schema, path: str, why: str) -> Iterator[str]:
        dot = f"{path}." if path else ""
        properties: Schema = schema.get("properties", {})
        for key in schema.get("required", ()):
            if key not in value:
                yield f"`{dot}{key}` is missing" + (f": {why} has it" if why else "")
        parts = list(self._rules(value, schema, path))
        absent = {key for part in parts for key, of in part["properties"].items() if of is False}
        for key, inner in value.items():
            if key not in properties:
                # What is no text has its content under the name of its type (§2.3).
                is_content = key == value.get("type") and isinstance(inner, dict)
                if "type" in schema and not (self._extra_fields or is_content):
                    yield f"`{dot}{key}` is not in the description"
            elif properties[key] is False:
                yield f"`{dot}{key}` is {_shown(inner)}, and {why} does not have it"
            elif key not in absent:
                of = properties[key].get("description", "") if why else ""
                yield from self.told(inner, properties[key], f"{dot}{key}", of)
        for part in parts:
            yield from self.told(value, part, path, part["description"])

    def _rules(self, value: Any, schema: Schema, path: str) -> Iterator[Schema]:
        """Give the parts of a schema that depend on the value."""
        for rule in schema.get("allOf", ()):
            part = "else" if list(self.told(value, rule["if"], path, "it")) else "then"
            if part in rule:
                yield {"properties": {}, **rule[part]}


def _of_value(value: Any, schema: Schema, where: str) -> Iterator[str]:
    """Tell how a value deviates that has the right type."""
    shown = _shown(value)
    if "const" in schema and value != schema["const"]:
        yield f"{where} is {shown}, and not {cited(schema['const'])}"
    if "enum" in schema and value not in schema["enum"]:
        *most, last = map(cited, schema["enum"])
        yield f"{where} is {shown}, and not {', '.join(most)} or {last}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        form = "a moment in UTC with milliseconds and Z" if "format" in schema else "of the form"
        pattern = "" if "format" in schema else f" {schema['pattern']}"
        yield f"{where} is {shown}, and not {form}{pattern}"
    if "minLength" in schema and not value:
        yield f"{where} is empty"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where} is {shown}, and below {schema['minimum']}"


_FITS: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: (
        isinstance(value, (int, Decimal, float)) and not isinstance(value, bool)
    ),
    "object": lambda value: isinstance(value, dict),
}


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return cited(value)
