"""What recorded events show of an account's settings.

Names are told by their place and their shape, never by a majority: what people or other apps have
sent may stand under the same keys, and there may be more of it.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, Final, TypeAlias, cast

from ..domain.messages import STATUSES
from .exact_json import encode
from .naming import ERROR_KEYS, MESSAGE_KEYS
from .recordings import RecordedEvent, moment

#: An event: its message's fields, if it has a message, and behind ``@`` what the event shows, as in
#: ``@naming.to_key``.
Seen: TypeAlias = dict[str, Any]

#: A telephone number as code, perhaps with the channel before or behind it.
_ADDRESS: Final = re.compile(r'"(?:[a-z]+:)?\+?\d{6,15}(?:@[a-z.]+)?"')

#: What a platform's id may begin with, as code: a text up to its first separator.
_PREFIX: Final = re.compile(r'"([^".:_-]+[.:_-])')

#: The fields of all messages that did not fail, whatever the account (§2.3).
_ALWAYS: Final = ("bizType", "conversation", "createTime", "currency", "sendTime", "type")


def seen_in(entry: RecordedEvent) -> Seen:
    """Return what an event shows by itself.

    Its message is the object that has an id, a price, and a status of §2.3.
    """
    for key, value in entry.json.items():
        message = _object(value)
        is_message = message.get("status") in STATUSES and "totalPrice" in message
        if is_message and isinstance(message.get("id"), str):
            return _seen(entry, key, message)
    return {"@odd": f"of another type, {code(entry.json.get('type'))}"}


def _seen(entry: RecordedEvent, key: str, message: Seen) -> Seen:
    conversation = _object(message.get("conversation"))
    own = [name for name in message if name not in (*MESSAGE_KEYS, message.get("type"))]
    shown: Seen = {
        "@config.conversation_type": conversation.get("type"),
        "@config.currency": message.get("currency"),
        "@config.origin_type": conversation.get("originType"),
        "@naming.biz_type": message.get("bizType"),
        "@naming.event_type": entry.json.get("type"),
        "@naming.message_key": key,
    }
    for name in [*own]:
        error = _object(message[name])
        if "error_data" in error:
            own.remove(name)
            shown |= {
                "@naming.error_key": name,
                "@naming.messaging_product": _object(error["error_data"]).get("messaging_product"),
                "@naming.trace_key": " or ".join(sorted(error.keys() - ERROR_KEYS)),
            }
    return {
        **message,
        **{name: value for name, value in shown.items() if value is not None},
        "@entry": entry,
        "@own": own,
        "@session": str(conversation.get("id", message["id"])),
    }


def relate(seen: list[Seen]) -> None:
    """Add what events show only beside each other."""
    _show_names(seen)
    arrivals: dict[str, Seen] = {}
    bodies: dict[bytes, Seen] = {}
    last: dict[str, Seen] = {}
    for one in seen:
        entry, before, price = one["@entry"], last.get(one["id"], one), one["totalPrice"]
        last[one["id"]] = one
        if price:
            one["@config.price"] = encode(price)
        if _at(one, "deliverTime"):
            arrivals.setdefault(one["@session"], one)
        arrival = arrivals.get(one["@session"], one)
        is_in_session = 0 < _at(arrival, "deliverTime") < _at(one, "sendTime")
        # After a message that cost nothing, one that costs nothing tells nothing.
        if is_in_session and one["status"] == "sent" and (price or arrival["totalPrice"]):
            one["@config.charge_per"] = "message" if price else "conversation"
        if before["status"] != one["status"]:
            is_shared = before["@entry"].json.get("id") == entry.json.get("id")
            one["@config.event_ids"] = "per-message" if is_shared else "unique"
        first = bodies.setdefault(entry.body, one)["@entry"]
        if first.at != entry.at:
            one["@odd"] = "the same again, later"
        elif first is not entry:
            one["@odd"] = "the same again at one instant: devices or duplicates, can't be told"
        elif STATUSES.index(one["status"]) < STATUSES.index(before["status"]):
            one["@odd"] = "after a later status of their message"
    _show_table([one for one in seen if "@config.price" in one and one["@person"]])


def _show_names(seen: list[Seen]) -> None:
    """Show the names that only many messages tell, and which fields are the account's own."""
    columns = {
        key: {code(one.get(key, ...)) for one in seen}
        for key in {key: 0 for one in seen for key in one["@own"]}
    }
    ids = {one["id"] for one in seen}
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
    senders = [key for key in people if to and key not in to]
    omitted = set(_ALWAYS).difference(*seen)
    names = {
        "@naming.from_key": " or ".join(senders),
        "@naming.original_id_key": " or ".join(originals),
        "@naming.to_key": " or ".join(to),
    }
    prefixes = {_PREFIX.findall(text)[0] for key in originals for text in columns[key]}
    if len(prefixes) == 1:
        names["@naming.id_prefix"] = prefixes.pop()
    extra = [key for key in columns if key not in {*originals, *people}]
    for one in seen:
        one |= {
            **names,
            "@config.sender": one.get(names["@naming.from_key"], ""),
            "@person": one.get(names["@naming.to_key"]),
            **{f"@extra.{key}": one.get(key, ...) for key in extra},
            **{f"@omit.{key}": True for key in sorted(omitted) if one["status"] != "failed"},
        }


class _Function:
    """The price that the printed function gives."""

    def __repr__(self) -> str:
        return "price"


def _show_table(priced: list[Seen]) -> None:
    """Show several prices by what the addresses begin with, if that decides the price."""
    for length in range(3, 8):  # from a country's code to less than tells whose the address is
        pairs = {(one["@person"][:length], one["@config.price"]) for one in priced}
        table = dict(pairs)
        if len({*table.values()}) > 1 and len(table) == len(pairs):
            for one in priced:
                one[f"@price.{one['@person'][:length]}"] = one["@config.price"]
                one["@config.price"] = _Function()
            return


def code(value: object) -> str:
    """Return a value as Python code; a text in double quotes."""
    return quoted(value) if isinstance(value, str) else repr(value)


def _at(one: Seen, name: str) -> int:
    return moment(one, name) or 0


def _object(value: Any) -> Seen:
    return cast("Seen", value) if isinstance(value, dict) else {}
