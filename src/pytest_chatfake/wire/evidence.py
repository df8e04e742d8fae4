"""What recorded events show of an account's settings.

Names are recognised by their place and their shape, never by a majority: values of people or of
other apps may stand under the same keys, and there may be more of them.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, Final, TypeAlias, cast

from ..domain.messages import STATUSES
from .exact_json import encode
from .naming import ERROR_KEYS, MESSAGE_KEYS, Naming
from .recordings import RecordedEvent, moment

_Fields: TypeAlias = dict[str, Any]
_Shown: TypeAlias = dict[str, str]

#: Of a field that an event does not have.
_MISSING: Final = "..."


@dataclass(slots=True, eq=False)
class Seen:
    """An event of a message: only what it shows, because a file may have a million of them.

    Attributes:
        where: Where it was recorded.
        id: The id of its message.
        status: The status of its message.
        own: The fields of its message that the description does not name, without the error, as
            code. Equal ones of a message are one dict.
        shown: The settings that it shows, as code, by the part of the configuration and their name,
            as in ``naming.to_key``. Equal ones are one dict.
        person: The address of the recipient, as code, if a field has it.
    """

    where: str
    id: str
    status: str
    own: _Shown
    shown: _Shown
    person: str | None = None


#: A telephone number as code, perhaps with the channel before or behind it.
_ADDRESS: Final = re.compile(r'"(?:[a-z]+:)?\+?\d{6,15}(?:@[a-z.]+)?"')

#: What a platform's id may begin with, as code: a text up to its first separator.
_PREFIX: Final = re.compile(r'"([^".:_-]+[.:_-])')

#: The fields of all messages with a status, whatever the account (§2.3).
_ALWAYS: Final = {"bizType", "currency", "type"}
_ACCEPTED: Final = {*_ALWAYS, "conversation", "createTime", "sendTime"}
_FIELDS: Final = {
    "sent": _ACCEPTED,
    "delivered": {*_ACCEPTED, "deliverTime"},
    "read": {*_ACCEPTED, "deliverTime", "readTime"},
    "failed": {*_ALWAYS, "errorCode", "errorMessage"},
}


class Evidence:
    """What events show, each by itself and all together.

    Attributes:
        events: The events of messages.
        odd: What can't be expressed by a setting, and how often it was seen.
        varying: The fields of the account that are not the same in all events.
    """

    def __init__(self) -> None:
        self.events: list[Seen] = []
        self.odd: Counter[str] = Counter()
        self.varying: list[str] = []
        self._shared: dict[tuple[tuple[str, str], ...], _Shown] = {}
        self._last: dict[str, tuple[Seen, object]] = {}  # of each message, with the event's id
        self._received: dict[int, int | None] = {}  # when, by the hash of the body
        self._arrivals: dict[str, tuple[int, bool]] = {}  # of conversations
        self._present: set[str] = set()
        self._behind_id: set[str] = set()
        self._writers: set[str] = set()
        self._reached: set[str] = set()

    def add(self, entry: RecordedEvent) -> None:
        """Add an event.

        A message is an object that has an id, a price, and a status of §2.3.
        """
        resources = {key: _object(value) for key, value in entry.json.items()}
        for key, message in resources.items():
            is_message = message.get("status") in STATUSES and "totalPrice" in message
            if is_message and isinstance(message.get("id"), str):
                self._add_message(entry, key, message)
                return
        self.odd[f"of another type, {code(entry.json.get('type'))}"] += 1
        for key, resource in resources.items():
            if "inbound" in f"{entry.json.get('type')} {key}".lower():
                self._writers.add(code(resource.get("from")))
                self._reached.add(code(resource.get("to")))

    def _add_message(self, entry: RecordedEvent, key: str, message: _Fields) -> None:
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
                    "naming.messaging_product": _object(error["error_data"]).get(
                        "messaging_product"
                    ),
                    "naming.trace_key": " or ".join(sorted(error.keys() - ERROR_KEYS)),
                }
        if message["totalPrice"]:
            shown["config.price"] = encode(message["totalPrice"])
        shown["config.charge_per"] = self._charge_per(message)
        status = STATUSES[STATUSES.index(message["status"])]  # one text for all
        texts = {sys.intern(name): sys.intern(code(value)) for name, value in own.items()}
        seen = Seen(entry.where, message["id"], status, texts, {})
        before, event_id = self._last.get(seen.id, (seen, None))
        if before.own == texts:
            seen.own = before.own
        if before.status != status:
            is_shared = event_id == entry.json.get("id")
            shown["config.event_ids"] = "per-message" if is_shared else "unique"
        seen.id = before.id
        seen.shown = self._share(
            {name: code(value) for name, value in shown.items() if value is not None}
        )
        self._note_oddity(entry, STATUSES.index(status) < STATUSES.index(before.status))
        self._last[seen.id] = seen, entry.json.get("id")
        self._present |= message.keys()
        self._behind_id.update([*message][1:2])
        self.events.append(seen)

    def _charge_per(self, message: _Fields) -> str | None:
        """Return what is charged, if a message that was sent into an open session shows it."""
        price = bool(message["totalPrice"])
        session = str(_object(message.get("conversation")).get("id", message["id"]))
        if arrived := moment(message, "deliverTime"):
            self._arrivals.setdefault(session, (arrived, price))
        began, was_charged = self._arrivals.get(session, (0, False))
        is_in_session = 0 < began < (moment(message, "sendTime") or 0)
        # After a message that cost nothing, a message without a price shows nothing.
        if is_in_session and message["status"] == "sent" and (price or was_charged):
            return "message" if price else "conversation"
        return None

    def _note_oddity(self, entry: RecordedEvent, is_late: bool) -> None:
        body = hash(entry.body)
        if body not in self._received:
            self._received[body] = entry.at
            if is_late:
                self.odd["after a later status of their message"] += 1
        elif self._received[body] != entry.at:
            self.odd["the same again, later"] += 1
        else:
            self.odd["the same again at one instant: devices or duplicates, can't be told"] += 1

    def _share(self, shown: _Shown) -> _Shown:
        return self._shared.setdefault((*shown.items(),), shown)

    def relate(self) -> None:
        """Add what the events show only beside each other; no event can be added any more."""
        messages = len(self._last)
        for no_more_needed in (self._last, self._received, self._arrivals):
            no_more_needed.clear()  # a third of the memory
        columns = {
            key: {event.own.get(key, _MISSING) for event in self.events}
            for key in {key: 0 for event in self.events for key in event.own}
        }
        numbers = {
            key: texts for key, texts in columns.items() if all(map(_ADDRESS.fullmatch, texts))
        }
        international = {
            key for key, texts in numbers.items() if all("+" in text for text in texts)
        }
        people = [  # what is unique for each message may also be its number
            key
            for key, texts in numbers.items()
            if len(texts) < messages or key in international or texts & self._writers
        ]
        to, from_ = self._addresses({key: numbers[key] for key in people}, international)
        originals = self._originals(columns, {*to, *from_}, messages)
        names = {
            "naming.from_key": " or ".join(from_),
            "naming.original_id_key": " or ".join(originals),
            "naming.to_key": " or ".join(to),
        }
        prefixes = {_PREFIX.findall(text)[0] for key in originals for text in columns[key]}
        if len(prefixes) == 1:
            names["naming.id_prefix"] = prefixes.pop()
        always = {name: code(value) for name, value in names.items()}
        # Beside international numbers, another number is nobody's address.
        private = international if international.issuperset(to) and to else people
        for key, texts in columns.items():
            if key in {*originals, *to, *from_}:
                continue
            if len(texts) > 1:
                self.varying.append(key)
            elif key not in private:
                always[f"extra.{key}"] = min(texts)
        persons = to or [key for key in people if key not in from_]
        omitted = {
            status: {f"omit.{key}": code(key) for key in sorted(keys - self._present)}
            for status, keys in _FIELDS.items()
        }
        for event in self.events:
            shown = event.shown | always | omitted[event.status]
            if len(from_) == 1:
                shown["config.sender"] = event.own[from_[0]]
            event.shown = self._share(shown)
            event.person = event.own[persons[0]] if persons else None
        self._show_table()

    def _addresses(
        self, numbers: Mapping[str, set[str]], international: set[str]
    ) -> tuple[list[str], list[str]]:
        """Return the fields that may be the recipient's address, and the sender's."""
        reached = [key for key, texts in numbers.items() if texts & self._reached]
        to = [key for key, texts in numbers.items() if texts & self._writers and key not in reached]
        # There are more recipients than senders.
        several = [key for key in numbers if len(numbers[key]) > 1 and key not in reached]
        to = _narrowed(to or several, international.__contains__)
        most = max((len(numbers[key]) for key in to), default=0)
        to = [key for key in to if len(numbers[key]) == most]
        others = [key for key in numbers if key not in to] if to else []
        if international.issuperset(to):
            others = [key for key in others if key in international]
        return to, reached or _narrowed(others, international.__contains__)

    def _originals(
        self, columns: Mapping[str, set[str]], people: set[str], messages: int
    ) -> list[str]:
        """Return the fields that may be the platform's id, which each message has of its own."""

        def begins_with(pattern: str, key: str) -> bool:
            return all(re.match(pattern, text) for text in columns[key])

        brand = re.match('"[a-z]*', self.events[0].shown["naming.message_key"])
        assert brand is not None
        found = _narrowed(
            [
                key
                for key, texts in columns.items()
                if len(texts) == messages and begins_with('"', key) and key not in people
            ],
            partial(begins_with, re.escape(code(Naming().id_prefix)[:-1])),
            lambda key: code(key).startswith(brand[0]),
            partial(begins_with, _PREFIX.pattern),
            lambda key: {key} == self._behind_id,
        )
        return [key for key in found if begins_with(_PREFIX.pattern, key)]

    def _show_table(self) -> None:
        """Show several prices by the origin type, or by how the addresses begin."""
        priced = [event for event in self.events if "config.price" in event.shown]
        prices = [event.shown["config.price"] for event in priced]
        if len({*prices}) < 2:
            return
        found: list[tuple[int, str, Callable[[Seen], str]]] = []
        for name, key_of in _TABLES:
            pairs = {(key_of(event), price) for event, price in zip(priced, prices, strict=True)}
            keys = {key for key, _ in pairs}
            if len(keys) == len(pairs) and "" not in keys:
                found.append((len(keys), name, key_of))
        found = [table for table in found if table[0] == min(count for count, _, _ in found)]
        names = {name for _, name, _ in found}
        for event, price in zip(priced, prices, strict=True) if found else ():
            rows = {"config.price": "by origin type or by recipient"}
            if len(names) == 1:  # the function that is printed
                _, name, key_of = found[0]
                rows = {"config.price": "price", f"{name}.{key_of(event)}": price}
            event.shown = self._share(event.shown | rows)


def _origin_of(event: Seen) -> str:
    return event.shown.get("config.origin_type", "").strip('"')


def _beginning_of(length: int, event: Seen) -> str:
    return (event.person or "").strip('"')[:length]


#: What may decide a price, by the name of the table. An address shows less than a person: from a
#: country's code.
_TABLES: Final[list[tuple[str, Callable[[Seen], str]]]] = [
    ("origin", _origin_of),
    *(("price", partial(_beginning_of, length)) for length in range(3, 8)),
]


def _narrowed(keys: Iterable[str], *tests: Callable[[str], bool]) -> list[str]:
    """Return the keys that pass the tests, one after another; a test that none passes is void."""
    found = [*keys]
    for test in tests:
        found = [key for key in found if test(key)] or found
    return found


def code(value: object) -> str:
    """Return a value as Python code; a text in double quotes."""
    return quoted(value) if isinstance(value, str) else repr(value)


def _object(value: Any) -> _Fields:
    return cast("_Fields", value) if isinstance(value, dict) else {}
