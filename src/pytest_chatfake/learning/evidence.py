"""What recorded events show about an account's settings.

Fields are recognised by their place and the shape of their values, never by a majority, because
other fields may look alike and be more frequent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, Final, TypeAlias, TypeVar, cast

from ..domain.messages import STATUSES
from ..wire.exact_json import encode
from ..wire.naming import ERROR_KEYS, MESSAGE_KEYS, Naming
from ..wire.recordings import RecordedEvent, moment

_Fields: TypeAlias = dict[str, Any]
_Shown: TypeAlias = dict[str, str]
_T = TypeVar("_T")

#: Stands for an absent field.
_MISSING: Final = "..."


@dataclass(slots=True, eq=False)
class Seen:
    """What one event about a message shows.

    It is kept small, because a file may have a million events: equal parts are shared, and ids are
    hashes.

    Attributes:
        source: Where it was recorded, with ``number``.
        id: The id of its message.
        event_id: Its own id.
        status: The status of its message.
        names: The account's own fields of its message, without the error.
        texts: Their values, as code.
        shown: The settings that it shows, as code, by names such as ``naming.to_key``.
        person: The recipient's address, as code, if a field has it.
    """

    source: str
    number: int
    id: int
    event_id: int
    status: str
    names: tuple[str, ...]
    texts: tuple[str, ...]
    shown: _Shown
    person: str | None = None

    def text(self, name: str) -> str:
        """Return a field's value, as code."""
        return self.texts[self.names.index(name)]


#: A telephone number as code, possibly with the channel before or after it.
_ADDRESS: Final = re.compile(r'"(?:[a-z]+:)?\+?\d{6,15}(?:@[a-z.]+)?"')

#: The fields of all messages that did not fail, in any account (§2.3).
_ACCEPTED: Final = {"bizType", "conversation", "createTime", "currency", "sendTime", "type"}


class Evidence:
    """What events show: first each by itself (:meth:`add`), then all together (:meth:`relate`).

    Attributes:
        events: The events about messages.
        odd: How often something was seen for which there is no setting.
        varying: The account's own fields with several values.
    """

    def __init__(self) -> None:
        self.events: list[Seen] = []
        self.odd: Counter[str] = Counter()
        self.varying: list[str] = []
        self._texts: dict[str, str] = {}  # each of them once
        self._shared: dict[tuple[Any, ...], Any] = {}  # parts that several events have in common
        self._last: dict[int, Seen] = {}  # by message
        self._received: dict[int, int | None] = {}  # when bodies were received, by their hashes
        self._arrivals: dict[str, tuple[int, bool]] = {}  # by conversation
        self._present: set[str] = set()
        self._writers: set[str] = set()
        self._reached: set[str] = set()

    def add(self, entry: RecordedEvent) -> None:
        """Add an event; it is about a message if one of its objects has an id, price and status."""
        resources = {key: _object(value) for key, value in entry.json.items()}
        for key, message in resources.items():
            is_message = message.get("status") in STATUSES and "totalPrice" in message
            if is_message and isinstance(message.get("id"), str):
                self._add_message(entry, key, message)
                return
        self.odd[f"events of type {code(entry.json.get('type'))}"] += 1
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
        error_key = next((name for name in own if "error_data" in _object(own[name])), None)
        if error_key is not None:
            error = own.pop(error_key)
            shown |= {
                "naming.error_key": error_key,
                "naming.messaging_product": _object(error["error_data"]).get("messaging_product"),
                "naming.trace_key": " or ".join(sorted(error.keys() - ERROR_KEYS)),
            }
        if message["totalPrice"]:
            shown["config.price"] = encode(message["totalPrice"])
        shown["config.charge_per"] = self._charge_per(message)
        id_, event_id = hash(message["id"]), hash(code(entry.json.get("id")))
        status = self._text(message["status"])
        before, is_late = self._last.get(id_), False
        if before is not None and before.status != status:
            shown["config.event_ids"] = "per-message" if event_id == before.event_id else "unique"
            is_late = STATUSES.index(status) < STATUSES.index(before.status)
        self._note_oddity(entry, is_late)
        names, texts = (*own,), (*(self._text(code(value)) for value in own.values()),)
        names = self._shared.setdefault(names, names)
        as_code = {name: code(value) for name, value in shown.items() if value is not None}
        place = entry.source, entry.number
        seen = Seen(*place, id_, event_id, status, names, texts, self._share(as_code))
        self._last[id_] = seen
        self._present |= message.keys()
        self.events.append(seen)

    def _charge_per(self, message: _Fields) -> str | None:
        # Only a message that is sent into an open session shows whether it is charged again.
        price = bool(message["totalPrice"])
        session = str(_object(message.get("conversation")).get("id", message["id"]))
        if arrived := moment(message, "deliverTime"):
            self._arrivals.setdefault(session, (arrived, price))
        began, was_charged = self._arrivals.get(session, (0, False))
        is_in_session = 0 < began < (moment(message, "sendTime") or 0)
        # After a free message, another one without a price shows nothing.
        if is_in_session and message["status"] == "sent" and (price or was_charged):
            return "message" if price else "conversation"
        return None

    def _note_oddity(self, entry: RecordedEvent, is_late: bool) -> None:
        body = hash(entry.body)
        if body not in self._received:
            self._received[body] = entry.at
            if is_late:
                self.odd["out of order"] += 1
        elif self._received[body] != entry.at:
            self.odd["redelivered"] += 1
        else:
            self.odd["twice at the same instant, from two devices or as duplicates"] += 1

    def _text(self, text: str) -> str:
        # Not sys.intern(), whose table for the whole process grows with each text for good.
        return self._texts.setdefault(text, text)

    def _share(self, shown: _Shown) -> _Shown:
        shared: _Shown = self._shared.setdefault((*shown.items(),), shown)
        return shared

    def relate(self) -> None:
        """Add what only all events together show; call it once, after the last :meth:`add`."""
        messages = len(self._last)
        for done_with in (self._last, self._received, self._arrivals, self._texts):
            done_with.clear()  # to make room for the columns
        columns: dict[str, set[str]] = {}
        for event in self.events:
            for key, text in zip(event.names, event.texts, strict=True):
                columns.setdefault(key, set()).add(text)
        for names in {event.names for event in self.events}:
            for key in columns.keys() - names:
                columns[key].add(_MISSING)
        to, from_, people = self._addresses(columns, messages)
        unique = [key for key in columns if len(columns[key]) == messages and key not in people]
        originals = self._originals({key: columns[key] for key in unique})
        related = {
            "naming.from_key": code(" or ".join(from_)),
            "naming.id_prefix": code(_prefix([text for key in originals for text in columns[key]])),
            "naming.original_id_key": code(" or ".join(originals)),
            "naming.to_key": code(" or ".join(to)),
        }
        others = [key for key in columns if key not in {*originals, *to, *from_}]
        self.varying = [key for key in others if len(columns[key]) > 1]
        for key in others:
            if key not in self.varying and key not in people:
                related[f"extra.{key}"] = min(columns[key])
        omitted = {f"omit.{key}": code(key) for key in sorted(_ACCEPTED - self._present)}
        persons = to or [key for key in people if key not in from_]
        for event in self.events:
            shown = event.shown | related
            if event.status != "failed":
                shown |= omitted
            if len(from_) == 1:
                shown["config.sender"] = event.text(from_[0])
            event.shown = self._share(shown)
            event.person = event.text(persons[0]) if persons else None
        self._show_table()

    def _addresses(
        self, columns: Mapping[str, set[str]], messages: int
    ) -> tuple[list[str], list[str], list[str]]:
        # The keys that may hold the recipient's, the sender's, and anybody's address.
        numbers = [key for key in columns if all(map(_ADDRESS.fullmatch, columns[key]))]
        international = [key for key in numbers if all("+" in text for text in columns[key])]
        written = [key for key in numbers if columns[key] & self._writers]
        people = [  # a value that is unique to each message may also be its number
            key
            for key in numbers
            if len(columns[key]) < messages or key in international or key in written
        ]
        from_ = [key for key in people if columns[key] & self._reached]
        # There are more recipients than senders.
        several = [key for key in people if len(columns[key]) > 1 or key in written]
        to = _best(
            [key for key in several if key not in from_],
            lambda key: (key in written, key in international, len(columns[key])),
        )
        if to and all(key in international for key in to):
            people = international  # so other numbers aren't addresses
        if to and not from_:
            from_ = [key for key in people if key not in to]
        return to, from_, people

    def _originals(self, unique: Mapping[str, set[str]]) -> list[str]:
        # The platform's id differs in each message, and is named after the brand or begins as
        # usual.
        brand = re.findall("[a-z]*", self.events[0].shown["naming.message_key"].strip('"'))[0]
        prefixes = {key: _prefix(texts) for key, texts in unique.items()}
        found = _best(
            unique, lambda key: (prefixes[key] == Naming().id_prefix, key.startswith(brand))
        )
        return found if any(prefixes[key] for key in found) else []

    def _show_table(self) -> None:
        # Several prices don't contradict each other if the origin type or the country explains
        # them.
        priced = [event for event in self.events if "config.price" in event.shown]
        prices = [event.shown["config.price"] for event in priced]
        if len({*prices}) < 2:
            return
        origins = [event.shown.get("config.origin_type", "").strip('"') for event in priced]
        people = [(event.person or "").strip('"') for event in priced]
        tables = [
            [f"origin.{origin}" for origin in origins],
            # From a country code to fewer digits than would identify a person.
            *([f"price.{person[:length]}" for person in people] for length in range(3, 8)),
        ]
        # Each row has one price.
        tables = [rows for rows in tables if len({*rows}) == len({*zip(rows, prices, strict=True)})]
        tables = _best(tables, lambda rows: -len({*rows}))
        is_clear = len({rows[0].partition(".")[0] for rows in tables}) == 1
        for event, price, row in zip(priced, prices, tables[0], strict=True) if tables else ():
            shown = {"config.price": "by origin type or by recipient"}
            if is_clear:
                shown = {"config.price": "price", row: price}  # the price function to print
            event.shown = self._share(event.shown | shown)


def _prefix(texts: Collection[str]) -> str:
    # Only up to a separator, because an id may follow it.
    first, last = min(texts, default=""), max(texts, default="")
    ends = [match.end() for match in re.finditer("[.:_-]", first)]
    common = [first[1:end] for end in ends if first[0] == '"' and last.startswith(first[:end])]
    return common[-1] if common else ""


def _best(found: Iterable[_T], rank: Callable[[_T], Any]) -> list[_T]:
    ranks = [(rank(item), item) for item in found]
    highest = max((of_item for of_item, _ in ranks), default=None)
    return [item for of_item, item in ranks if of_item == highest]


def code(value: object) -> str:
    """Return a value as Python code, with strings in double quotes."""
    return quoted(value) if isinstance(value, str) else repr(value)


def _object(value: Any) -> _Fields:
    return cast("_Fields", value) if isinstance(value, dict) else {}
