"""A configuration that recorded events show, as code, with the evidence for each setting.

Agreement is not truth: three messages agree with many configurations. So only what enough messages
to enough people show is code; all else is a comment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Final, NamedTuple

from ..base.escaping import one_line
from ..domain.messages import DEFAULT_PRICE
from . import defaults
from .evidence import Seen, code, relate, seen_in
from .naming import Naming
from .recordings import read_recording

#: How many messages show a setting, and to how many people, before it is code.
_MESSAGES: Final = 20
_PEOPLE: Final = 3

#: The settings that every configuration has, and their defaults.
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

#: Settings that a call may give: several values contradict nothing.
_OF_CALLS: Final = ("extra.", "config.sender", "config.origin_type")

_PRICE: Final = """\
}


def price(message):
    for prefix, amount in PRICES.items():
        if message.to.startswith(prefix):
            return amount
    raise ValueError("no recording has a price for such an address: extend PRICES")


"""


class _Part(NamedTuple):
    """A part of the printed code, which has all settings of its name.

    Attributes:
        begin: The line before them.
        form: The line of a setting; ``key`` is its name as code, ``off`` makes it a comment.
        fits: What a value has to be, as code.
        end: The lines behind them.
    """

    begin: str
    form: str
    fits: str
    end: str


_PARTS: Final = {
    "price": _Part("PRICES = {", "    {off}{key}: {value},", r'"\d+(\.\d+)?"', _PRICE),
    "config": _Part("CONFIG = ChatFakeConfig(", "    {off}{name}={value},", '"[^"]+"|price', ""),
    "naming": _Part(
        "    naming=Naming(", "        {off}{name}={value},", r'"[!#-\[\]-~]+"', "    ),"
    ),
    "omit": _Part("    omit=(", "        {off}{value},", ".+", "    ),"),
    "extra": _Part("    extra={", "        {off}{key}: {value},", ".+", "    },"),
}

# The beginnings of the kinds of lines, in the order in which they are printed.
_CODE: Final = ""
_WRONG: Final = "# contradicted: "
_SEEN: Final = "# seen, and can't be expressed: "
_UNKNOWN: Final = "# unknown: "

#: Settings that events do not show, and what is not looked for.
_NEVER: Final = """\
opening_balance, balance_amount: ask whether held money counts in the balance
on_insufficient_balance, insufficient_balance_code: ask what becomes of messages that it can't cover
timeout, retry_after, drop_after, signer: ask when a response is late, when an event comes again, \
when a message is dropped, and how events are signed
conversation_length, a price of 0, fields that only some statuses have: not looked for
how many digits moments have, and how else events deviate: `validate --naming` tells"""


def learn(files: Iterable[str]) -> tuple[list[str], bool]:
    """Return a configuration as lines of code, and whether nothing in the files speaks against it.

    An OSError if a file can't be read; a ValueError if there is no event of a message.
    """
    entries = [entry for file in files for entry in read_recording(file)]
    found = [(entry, seen_in(entry)) for entry in entries if not entry.problem]
    seen = [event for _, event in found if event]
    if not seen:
        raise ValueError("no event has a message: an object with an id, a status and a totalPrice")
    relate(seen)
    lines: dict[str, list[str]] = {kind: [] for kind in (_CODE, _WRONG, _SEEN, _UNKNOWN)}
    settings = dict.fromkeys([*_DEFAULTS, *(setting for event in seen for setting in event.shown)])
    for name, part in _PARTS.items():
        of_part = [setting for setting in settings if setting.startswith(f"{name}.")]
        if of_part:
            lines[_CODE].append(part.begin)
            for kind, line in (_line(setting, part, seen) for setting in of_part):
                lines[kind].append(line)
            lines[_CODE] += part.end.splitlines()
    odd = Counter(
        event.oddity if event else f"of another type, {code(entry.json.get('type'))}"
        for entry, event in found
    )
    lines[_CODE].append(")")
    lines[_WRONG] += [f"{entry.where}: {entry.problem}" for entry in entries if entry.problem]
    lines[_SEEN] += [f"{what}: {count}" for what, count in odd.items() if what]
    lines[_UNKNOWN] += _NEVER.splitlines()
    imports = ["from decimal import Decimal", ""] * ("Decimal(" in "".join(lines[_CODE]))
    imports += ["from pytest_chatfake import ChatFakeConfig, Naming", ""]
    printed = [one_line(kind + line) for kind, of_kind in lines.items() for line in of_kind]
    return imports + printed, not lines[_WRONG]


def _line(setting: str, part: _Part, seen: Sequence[Seen]) -> tuple[str, str]:
    """Return the kind of the line about a setting, and the line."""
    name = setting.partition(".")[2]
    events = [event for event in seen if setting in event.shown]
    values = [event.shown[setting] for event in events]
    counts = Counter(values).most_common()
    value, count = counts[-1] if counts else ('""', 0)
    if len(counts) < 2 and not re.fullmatch(part.fits, value):
        return _UNKNOWN, f"{name} {value}".replace(' ""', ": no event shows it")
    first = events[values.index(value)].entry.where
    evidence = f"{count} of {len(events)} events; first at {first}"
    if len(counts) > 1:
        if setting.startswith(_OF_CALLS):
            return _SEEN, f"{name} varies: a call gives it"
        shown = ", ".join(f"{value} {count}" for value, count in counts[:9])
        return _WRONG, f"{name}: {shown}: not set; {evidence}"
    people = {event.person for event in events} - {None}
    few = "recipients: " if 0 < len(people) < _PEOPLE else ""
    if len({event.message["id"] for event in events}) < _MESSAGES:
        few = "messages: "
    if few and setting.startswith("extra."):
        value = "..."  # it may be somebody's
    is_usual = value == code(_DEFAULTS.get(setting, ...))
    note = "the default: " if is_usual else few and f"too few {few}"
    line = part.form.format(name=name, value=value, key=code(name), off="# " * bool(note))
    return _CODE, f"{line}  # {note}{evidence}"
