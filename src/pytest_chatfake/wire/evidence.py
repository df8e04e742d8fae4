"""What recorded events show of an account's settings.

Names are recognised by their place and their shape, never by a majority: values of people or of
other apps may stand under the same keys, and there may be more of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, Final, TypeAlias, cast

from ..domain.messages import STATUSES
from .exact_json import encode
from .naming import ERROR_KEYS, MESSAGE_KEYS
from .recordings import RecordedEvent, moment

_Fields: TypeAlias = dict[str, Any]


@dataclass(slots=True, eq=False)
class Seen:
    """An event of a message.

    Attributes:
        entry: Where it was recorded, and its body.
        message: The fields of its message.
        own: Those that the description does not name, without the error.
        shown: The settings that it shows, as code, by the part of the configuration and their name,
            as in ``naming.to_key``.
        person: The address of the recipient, if a field has it.
        oddity: What is odd about it, and can't be expressed by a setting.
    """

    entry: RecordedEvent
    message: _Fields
    own: _Fields
    shown: dict[str, str]
    person: Any = None
    oddity: str = ""


#: A telephone number as code, perhaps with the channel before or behind it.
_ADDRESS: Final = re.compile(r'"(?:[a-z]+:)?\+?\d{6,15}(?:@[a-z.]+)?"')

#: What a platform's id may begin with, as code: a text up to its first separator.
_PREFIX: Final = re.compile(r'"([^".:_-]+[.:_-])')

#: The fields of all messages that did not fail, whatever the account (§2.3).
_ALWAYS: Final = ("bizType", "conversation", "createTime", "currency", "sendTime", "type")


def seen_in(entry: RecordedEvent) -> Seen | None:
    """Return an event with what it shows by itself; None if it has no message.

    A message is an object that has an id, a price, and a status of §2.3.
    """
    for key, value in entry.json.items():
        message = _object(value)
        is_message = message.get("status") in STATUSES and "totalPrice" in message
        if is_message and isinstance(message.get("id"), str):
            return _seen(entry, key, message)
    return None


def _seen(entry: RecordedEvent, key: str, message: _Fields) -> Seen:
    described = {*MESSAGE_KEYS, str(message.get("type"))}
    own = {name: value for name, value in message.items() if name not in described}
    conversation = _object(message.get("conversation"))
    shown: _Fields = {
        "config.conversation_type": conversation.get("type"),
        "config.currency": message.get("currency"),
        "config.origin_type": conversation.get("originType"),
        "naming.biz_type": message.get("bizType"),
        "naming.event_type": entry.json.get("type"),
        "naming.message_key": key,
    }
    for name in [*own]:
        error = _object(own[name])
        if "error_data" in error:
            del own[name]
            shown |= {
                "naming.error_key": name,
                "naming.messaging_product": _object(error["error_data"]).get("messaging_product"),
                "naming.trace_key": " or ".join(sorted(error.keys() - ERROR_KEYS)),
            }
    settings = {name: code(value) for name, value in shown.items() if value is not None}
    return Seen(entry, message, own, settings)


def relate(seen: list[Seen]) -> None:
    """Add what events show only beside each other."""
    _show_names(seen)
    _show_billing(seen)
    _show_table([event for event in seen if "config.price" in event.shown and event.person])
    last: dict[str, Seen] = {}
    bodies: dict[bytes, RecordedEvent] = {}
    for event in seen:
        entry, status, id_ = event.entry, event.message["status"], event.message["id"]
        before = last.get(id_, event)
        last[id_] = event
        earlier = before.message["status"]
        if status != earlier:
            is_shared = before.entry.json.get("id") == entry.json.get("id")
            event.shown["config.event_ids"] = code("per-message" if is_shared else "unique")
        first = bodies.setdefault(entry.body, entry)
        if first.at != entry.at:
            event.oddity = "the same again, later"
        elif first is not entry:
            event.oddity = "the same again at one instant: devices or duplicates, can't be told"
        elif STATUSES.index(status) < STATUSES.index(earlier):
            event.oddity = "after a later status of their message"


def _show_names(seen: list[Seen]) -> None:
    """Show the names that only many messages show, and which fields are the account's own."""
    columns = {
        key: {code(event.own.get(key, ...)) for event in seen}
        for key in {key: 0 for event in seen for key in event.own}
    }
    ids = {event.message["id"] for event in seen}
    # Each message has an id of its own on the platform.
    originals = [
        key
        for key, texts in columns.items()
        if all(map(_PREFIX.match, texts)) and len(texts) == len(ids)
    ]
    # Somebody gets two messages, and there are more recipients than senders.
    people = {
        key: len(texts)
        for key, texts in columns.items()
        if all(map(_ADDRESS.fullmatch, texts)) and len(texts) < len(ids)
    }
    to = [key for key, count in people.items() if 1 < count == max(people.values())]
    to_key, from_key = " or ".join(to), " or ".join(key for key in people if to and key not in to)
    names = {
        "naming.from_key": from_key,
        "naming.original_id_key": " or ".join(originals),
        "naming.to_key": to_key,
    }
    prefixes = {_PREFIX.findall(text)[0] for key in originals for text in columns[key]}
    if len(prefixes) == 1:
        names["naming.id_prefix"] = prefixes.pop()
    extra = [key for key in columns if key not in {*originals, *people}]
    omitted = sorted(set(_ALWAYS).difference(*(event.message for event in seen)))
    for event in seen:
        event.person = event.own.get(to_key)
        values = names | {f"extra.{key}": event.own.get(key, ...) for key in extra}
        values["config.sender"] = event.own.get(from_key, "")
        if event.message["status"] != "failed":
            values |= {f"omit.{key}": key for key in omitted}
        event.shown |= {name: code(value) for name, value in values.items()}


def _show_billing(seen: list[Seen]) -> None:
    """Show prices, and whether messages in an open session have one."""
    arrivals: dict[str, _Fields] = {}  # the first of each conversation
    for event in seen:
        message, price = event.message, event.message["totalPrice"]
        if price:
            event.shown["config.price"] = code(encode(price))
        session = str(_object(message.get("conversation")).get("id", message["id"]))
        if _at(message, "deliverTime"):
            arrivals.setdefault(session, message)
        arrival = arrivals.get(session, message)
        is_in_session = 0 < _at(arrival, "deliverTime") < _at(message, "sendTime")
        # After a message that cost nothing, a message without a price shows nothing.
        if is_in_session and message["status"] == "sent" and (price or arrival["totalPrice"]):
            event.shown["config.charge_per"] = code("message" if price else "conversation")


def _show_table(priced: list[Seen]) -> None:
    """Show several prices by what the addresses begin with, if that decides the price."""
    for length in range(3, 8):  # from a country's code to less than identifies a person
        pairs = {(event.person[:length], event.shown["config.price"]) for event in priced}
        table = dict(pairs)
        if len({*table.values()}) > 1 and len(table) == len(pairs):
            for event in priced:
                event.shown[f"price.{event.person[:length]}"] = event.shown["config.price"]
                event.shown["config.price"] = "price"  # the function that is printed
            return


def code(value: object) -> str:
    """Return a value as Python code; a text in double quotes."""
    return quoted(value) if isinstance(value, str) else repr(value)


def _at(message: _Fields, name: str) -> int:
    return moment(message, name) or 0


def _object(value: Any) -> _Fields:
    return cast("_Fields", value) if isinstance(value, dict) else {}
