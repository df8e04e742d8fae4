"""Writes the configuration that recorded events show, as code, with evidence for each setting.

Agreement is not truth: three messages agree with many configurations. So a setting is only code if
enough messages to enough people show it; everything else is a comment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import chain
from typing import Final, NamedTuple

from ..base.escaping import one_line
from ..domain.messages import DEFAULT_PRICE
from ..wire import defaults
from ..wire.naming import Naming
from ..wire.recordings import read_recording
from .evidence import Evidence, Seen, code

#: A setting shown by fewer messages, or to fewer people, stays a comment.
_MESSAGES: Final = 20
_PEOPLE: Final = 3

#: The settings of every configuration, and their defaults.
_DEFAULTS: Final[dict[str, object]] = {
    "config.currency": defaults.CURRENCY,
    "config.price": DEFAULT_PRICE,
    "config.charge_per": defaults.CHARGE_PER,
    "config.origin_type": defaults.ORIGIN_TYPE,
    "config.conversation_type": defaults.CONVERSATION_TYPE,
    "config.event_ids": defaults.EVENT_IDS,
    "config.sender": defaults.SENDER,
    **{f"naming.{field.name}": field.default for field in fields(Naming)},
}

#: Settings that each call can override, so several values don't contradict each other.
_OF_CALLS: Final = ("config.sender", "config.origin_type")

#: The rows of a price table.
_TABLES: Final = ("price.", "origin.")

_PRICE: Final = """\
}}


def price(message):
    for {key}, amount in PRICES.items():
        if {test}:
            return amount
    raise ValueError("no recording has a price for this {what}: extend PRICES")


"""
_BY_RECIPIENT: Final = _PRICE.format(
    key="prefix", test="message.to.startswith(prefix)", what="address"
)
_BY_ORIGIN: Final = _PRICE.format(
    key="origin_type", test="message.origin_type == origin_type", what="origin type"
)


class _Part(NamedTuple):
    """A section of the printed code.

    Attributes:
        begin: The line before the settings.
        form: The line of a setting; ``key`` is its name as code, ``off`` makes it a comment.
        fits: What a value has to be, as code.
        end: The lines after the settings.
    """

    begin: str
    form: str
    fits: str
    end: str


_AMOUNT: Final = r'"\d+(\.\d+)?"'
_PARTS: Final = {
    "price": _Part("PRICES = {", "    {off}{key}: {value},", _AMOUNT, _BY_RECIPIENT),
    "origin": _Part("PRICES = {", "    {off}{key}: {value},", _AMOUNT, _BY_ORIGIN),
    "config": _Part("CONFIG = ChatFakeConfig(", "    {off}{name}={value},", '"[^"]+"', ""),
    "naming": _Part(
        "    naming=Naming(", "        {off}{name}={value},", r'"[!#-\[\]-~]+"', "    ),"
    ),
    "omit": _Part("    omit=(", "        {off}{value},", ".+", "    ),"),
    "extra": _Part("    extra={", "        {off}{key}: {value},", ".+", "    },"),
}

# How each kind of line begins, in the order of printing.
_CODE: Final = ""
_WRONG: Final = "# contradicted: "
_SEEN: Final = "# seen, but there is no setting for it: "
_UNKNOWN: Final = "# unknown: "

#: Settings that events can't show, or that are not looked for.
_NEVER: Final = """\
opening_balance, balance_amount: ask your provider whether the balance includes held money
on_insufficient_balance, insufficient_balance_code: ask what happens if the balance is too low
timeout, retry_after, drop_after, signer: ask when webhooks time out and are retried, when a \
message is dropped, and how webhooks are signed
conversation_length, a price of 0, fields that only some statuses have: not examined
digits of timestamps, and other differences: run `validate --naming`"""


def learn(files: Iterable[str]) -> tuple[list[str], bool]:
    """Return a configuration as lines of code, and whether the files agree on it.

    Raises:
        OSError: A file can't be read.
        ValueError: No file has an event about a message.
    """
    evidence, problems = Evidence(), list[str]()
    for entry in (entry for file in files for entry in read_recording(file)):
        if entry.problem:
            problems.append(f"{entry.where}: {entry.problem}")
        else:
            evidence.add(entry)
    seen = evidence.events
    if not seen:
        expected = "expected an object with an id, a status and a totalPrice"
        raise ValueError(f"no event has a message: {'; '.join(problems[:9]) or expected}")
    evidence.relate()
    # Not a list, because there are too many events.
    shown_by_events = chain.from_iterable(event.shown for event in seen)
    settings = dict.fromkeys(chain(_DEFAULTS, shown_by_events))
    lines: dict[str, list[str]] = {kind: [] for kind in (_CODE, _WRONG, _SEEN, _UNKNOWN)}
    for name, part in _PARTS.items():
        found = [
            _line(setting, part, seen) for setting in settings if setting.startswith(f"{name}.")
        ]
        for kind, line, _ in found:
            if kind != _CODE:
                lines[kind].append(line)
        shown = [line for kind, line, _ in found if kind == _CODE]
        is_set = name in {"config", "naming"} or any(sets for _, _, sets in found)
        off = "" if is_set else "# "
        if found:
            frame = (part.begin, *part.end.splitlines())
            begin, *end = [(off + line).rstrip() for line in frame]
            lines[_CODE] += [begin, *shown, *end]
    lines[_CODE].append(")")
    lines[_WRONG] += problems
    lines[_SEEN] += [f"{key} varies: pass it to each call" for key in evidence.varying]
    lines[_SEEN] += [f"{what}: {count}" for what, count in evidence.odd.items()]
    lines[_UNKNOWN] += _NEVER.splitlines()
    imports = ["from decimal import Decimal", ""] * ("Decimal(" in "".join(lines[_CODE]))
    imports += ["from pytest_chatfake import ChatFakeConfig, Naming", ""]
    printed = [one_line(kind + line) for kind, of_kind in lines.items() for line in of_kind]
    return imports + printed, not lines[_WRONG]


def _line(setting: str, part: _Part, seen: Sequence[Seen]) -> tuple[str, str, bool]:
    # One of the kinds above, the line, and whether it sets something: a value that events
    # contradict isn't code.
    name = setting.partition(".")[2]
    events = [event for event in seen if setting in event.shown]
    values = [event.shown[setting] for event in events]
    counts = Counter(values).most_common()
    value, count = counts[-1] if counts else ('""', 0)
    fits = f"{_AMOUNT}|price" if setting == "config.price" else part.fits
    if len(counts) < 2 and not re.fullmatch(fits, value):
        return _UNKNOWN, f"{name} {value}".replace(' ""', ": no event shows it"), False
    first = events[values.index(value)]
    evidence = f"{count} of {len(events)} events; first at {first.source}{first.number}"
    if len(counts) > 1:
        if setting.startswith(_OF_CALLS):
            return _SEEN, f"{name} varies: pass it to each call", False
        shown = ", ".join(f"{value} {count}" for value, count in counts[:9])
        return _WRONG, f"{name}: {shown}; not set; {evidence}", False
    few = _few(events)
    if value == "price":  # one row of the table with enough messages is enough
        rows = {name for event in events for name in event.shown if name.startswith(_TABLES)}
        few = min(_few([event for event in events if row in event.shown]) for row in rows)
    if few and setting.startswith("extra."):
        value = "..."  # the value may be private
    is_usual = value == code(_DEFAULTS.get(setting, ...))
    note = "the default: " if is_usual else few and f"too few {few}"
    line = part.form.format(name=name, value=value, key=code(name), off="# " * bool(note))
    return _CODE, f"{line}  # {note}{evidence}", not note


def _few(events: Sequence[Seen]) -> str:
    # The beginning of a comment; empty if enough messages and people show the setting.
    if len({event.id for event in events}) < _MESSAGES:
        return "messages: "
    people = {event.person for event in events} - {None}
    return "recipients: " if 0 < len(people) < _PEOPLE else ""
