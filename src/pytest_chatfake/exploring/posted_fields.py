"""What a later version of a provider might change in the fields of a body that ``outbound=`` wrote.

The fake doesn't know what such a body means. So it is told by what the bodies of the scenario have
in common: a word that several events share is from a list that may grow, unless it is an id, a
name, a time, a text of the test, or the status itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from ..webhooks.fields import fields_of, json_in, opened_body, rewritten
from ..webhooks.synthetic import OPEN

#: A word from a list: ``sms``, ``USER_INITIATED``, ``message.delivered``.
_WORD: Final = re.compile(r"(?=.{2,40}$)[A-Za-z]+(?:[._:-][A-Za-z]+)*")

#: A number as text. Longer ones are ids, phone numbers or timestamps.
_NUMBER: Final = re.compile(r"-?\d{1,8}(?:\.\d{1,8})?")

#: Fields whose values are no list's, by the words of their names, and of the objects around them.
_FREE: Final = frozenset(
    {"account", "address", "agent", "at", "body", "campaign", "country", "currency", "custom"}
    | {"customer", "date", "description", "display", "email", "extra", "from", "host", "id", "ids"}
    | {"identifier", "ip", "key", "language", "locale", "metadata", "number", "phone", "recipient"}
    | {"ref", "reference", "sender", "sid", "subject", "tag", "tags", "text", "time", "timestamp"}
    | {"timezone", "title", "to", "token", "ts", "uri", "url", "user", "username", "uuid"}
    | {"version", "waid"}
)

#: What has names from lists: ``status.groupName``.
_NAMED: Final = frozenset({"category", "event", "group", "status", "type"})

#: The service's own fields with words from lists; other texts in an event are the test's.
_CLOSED: Final = frozenset(
    {"bizType", "errorCode", "messaging_product", "originType", "status", "type"}
)

#: The further arguments of a deviation.
Way: TypeAlias = tuple[tuple[str, Any], ...]


class Posted(NamedTuple):
    """A body that ``outbound=`` wrote.

    Attributes:
        body: The body, without a signature.
        event: The service's own body.
        status: The status in it.
    """

    body: bytes
    event: bytes
    status: str


def ways_to_evolve(posted: Sequence[Posted]) -> Mapping[str, tuple[Way, ...]]:
    """Return what can change in these bodies, by kind of deviation."""
    fields = [fields_of(each.body) for each in posted]
    names = [*dict.fromkeys(name for each in fields for name in each if _is_first(name))]
    values = {name: [each.get(name) for each in fields] for name in names}
    own = {text for each in posted for text in _texts(json.loads(each.event))}
    words = [
        name
        for name in names
        if not (_is_free(name) or own & {*map(str, values[name])})
        and all(value is None or _is_word(value) for value in values[name])
    ]
    statuses, events = [each.status for each in posted], [fields_of(each.event) for each in posted]
    status = _status_in(words, values, statuses)
    tried = [values[status]] if status is not None else []
    tried += [[event.get(name) for event in events] for name in events[0] if _is_open(name)]
    words = [name for name in words if values[name] not in tried]
    is_nested = any(_depth(name) > 1 for name in names)
    shared = [
        name
        for name in words
        if _is_shared(values[name])
        # A constant at the top of a nested body says what kind of webhook it is.
        and not (is_nested and _depth(name) == 1 and len({*values[name]}) == 1)
    ]
    starts = {each.body.lstrip()[:1] for each in posted}
    is_json = starts <= {b"{", b"[", b""}
    numbers = [
        name
        for name in names
        if is_json and not _is_free(name) and all(map(_is_number_or_none, values[name]))
    ]
    return {
        "unknown_value": tuple((("unknown", name),) for name in shared),
        "unknown_type": tuple((("unknown", name), ("how", "type")) for name in numbers),
        "unknown_event": ((("unknown", status), ("how", "event")),)
        if starts == {b"["} and status is not None
        else (),
    }


def change_of(name: str, how: str) -> Callable[[bytes], bytes]:
    """Return the function that changes a field of a body, if the body has it.

    Args:
        name: The field's name, such as ``body.status.group``.
        how: ``"value"``: it gets an unknown value. ``"type"``: a number is written as text, or a
            text as a number. ``"event"``: the body, a list, begins with another event, a copy of
            the field's one with an unknown value there.
    """

    def new_value(field: str, value: Any) -> Any:
        if field != name:
            return value
        if how == "type":
            return _of_other_type(value)
        return "ADDED_LATER" if isinstance(value, str) and value.isupper() else "added_later"

    def change(body: bytes) -> bytes:
        opened = opened_body(body)
        if opened is None or name not in fields_of(body):
            return body
        (events, write), changed = opened, rewritten(body, new_value)
        if how != "event":
            return changed
        others = json_in(changed.decode())
        copies = [other for event, other in zip(events, others, strict=True) if event != other]
        return write(copies + events).encode()

    return change


def _of_other_type(value: Any) -> Any:
    if isinstance(value, str):
        is_number = _NUMBER.fullmatch(value)
        return json.loads(value, parse_float=Decimal) if is_number else value
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _is_number_or_none(value: Any) -> bool:
    if isinstance(value, str):
        return _of_other_type(value) is not value
    is_small = isinstance(value, int | Decimal) and -(10**8) < value < 10**8
    return value is None or (is_small and not isinstance(value, bool))


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


def _is_first(name: str) -> bool:
    # Of a list, only the first item is changed.
    return {*re.findall(r"\[(\d+)]", name)} <= {"0"}


def _is_free(name: str) -> bool:
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name.removeprefix("body"))
    words = {word.lower() for word in found}
    return bool(words & _FREE) or ("name" in words and not words & _NAMED)


def _is_shared(values: Sequence[Any]) -> bool:
    found = [value for value in values if value is not None]
    return len({*found}) < len(found)


def _is_open(name: str) -> bool:
    # A field of the service's own message, of which unknown values are tried anyway.
    return name.split(".", 2)[-1] in OPEN


def _depth(name: str) -> int:
    return name.count(".")


def _status_in(
    words: Iterable[str], values: Mapping[str, Sequence[Any]], statuses: Sequence[str]
) -> str | None:
    # The field that tells the statuses apart, best by their own names.
    found = [
        name
        for name in words
        if len({*zip(values[name], statuses, strict=True)}) == len({*statuses})
        and len({*values[name]}) == len({*statuses})
    ]
    same = [name for name in found if [str(value).lower() for value in values[name]] == statuses]
    return next(iter([*same, *found]), None)


def _texts(value: Any, key: str = "status") -> Iterable[str]:
    # The texts in an event that the service or the test chose freely.
    anything: Any = value  # the patterns below narrow `value` to types that are partly unknown
    match value:
        case dict():
            for name in anything:
                yield from _texts(anything[name], name)
        case list():
            for each in anything:
                yield from _texts(each, key)
        case str() if key not in _CLOSED:
            yield value
        case _:
            pass
