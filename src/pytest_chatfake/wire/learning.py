"""A configuration that recorded events show, as code, with the evidence for each setting.

Agreement is not truth: three messages agree with many configurations. So only what enough messages
to enough people show is code; all else is a comment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import chain
from operator import itemgetter
from typing import Final

from ..base.controls import one_line
from ..domain.messages import DEFAULT_PRICE
from .evidence import Seen, code, relate, seen_in
from .naming import Naming
from .recordings import read_recording

#: How many messages show a setting, and to how many people, before it is code.
_MESSAGES: Final = 20
_PEOPLE: Final = 3

#: The settings that an event may show, and their defaults.
SETTINGS: Final[dict[str, object]] = {
    "@config.currency": "USD",
    "@config.price": DEFAULT_PRICE,
    "@config.charge_per": "conversation",
    "@config.origin_type": "marketing",
    "@config.conversation_type": "REGULAR",
    "@config.event_ids": "unique",
    "@config.sender": "+15550199",
    **{f"@naming.{one.name}": one.default for one in fields(Naming)},
}

_PRICE: Final = """\
}


def price(message):
    for prefix, amount in PRICES.items():
        if message.to.startswith(prefix):
            return amount
    raise ValueError("no recording has a price for such an address: extend PRICES")

"""

#: Of what settings are a part: what stands before it, how a part is written and what it may be, and
#: what stands behind.
_WHOLES: Final = {
    "price": ("PRICES = {", "    {3}{2}: {1},", r'"\d+(\.\d+)?"', _PRICE),
    "config": ("CONFIG = ChatFakeConfig(", "    {3}{0}={1},", '".+"|price', ""),
    "naming": ("    naming=Naming(", "        {3}{0}={1},", r'"[!#-\[\]-~]+"', "    ),"),
    "omit": ("    omit=(", "        {3}{2},", ".+", "    ),"),
    "extra": ("    extra={", "        {3}{2}: {1},", ".+", "    },"),
}

#: What stands before the lines that are no code, in the order of these.
_WRONG: Final = "# contradicted: "
_SEEN: Final = "# seen, and can't be expressed: "
_UNKNOWN: Final = "# unknown: "

#: What is not told by events, and what is not looked for.
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
    found = [seen_in(entry) for entry in entries if not entry.problem]
    seen = [one for one in found if "id" in one]
    if not seen:
        raise ValueError("no event has a message: an object with an id, a status and a totalPrice")
    relate(seen)
    lines = [("", "from pytest_chatfake import ChatFakeConfig, Naming"), ("", "")]
    paths = dict.fromkeys(chain(SETTINGS, *seen))
    for whole, (begin, form, fit, end) in _WHOLES.items():
        told = [_line(path, form, fit, seen) for path in paths if path.startswith(f"@{whole}.")]
        if told:
            lines += [("", begin), *told, *(("", line) for line in end.splitlines())]
    lines += [
        ("", ")"),
        *((_WRONG, f"{one.where}: {one.problem}") for one in entries if one.problem),
    ]
    odd = Counter(one["@odd"] for one in found if "@odd" in one)
    lines += [(_SEEN, f"{what}: {count}") for what, count in odd.items()]
    lines += [(_UNKNOWN, line) for line in _NEVER.splitlines()]
    return (
        [one_line(kind + line) for kind, line in sorted(lines, key=itemgetter(0))],
        _WRONG not in dict(lines),
    )


def _line(path: str, form: str, fit: str, seen: Sequence[Seen]) -> tuple[str, str]:
    """Return the line about a setting, behind its kind."""
    name = path.partition(".")[2]
    events = [one for one in seen if path in one]
    values = [code(one[path]) for one in events]
    counts = Counter(values).most_common()
    value, count = counts[-1] if counts else ('""', 0)
    if len(counts) < 2 and not re.fullmatch(fit, value):
        return _UNKNOWN, f"{name} {value}".replace(' ""', ": no event shows it")
    evidence = (
        f"{count} of {len(events)} events; first at {events[values.index(value)]['@entry'].where}"
    )
    if len(counts) > 1:
        if path.startswith(("@extra", "@config.sender", "@config.origin_type")):
            return _SEEN, f"{name} varies: a call gives it"
        told = ", ".join(f"{value} {count}" for value, count in counts[:9])
        return _WRONG, f"{name}: {told}: not set; {evidence}"
    people = {one["@person"] for one in events} - {None}
    is_few = len({one["id"] for one in events}) < _MESSAGES or 0 < len(people) < _PEOPLE
    if is_few and path.startswith("@extra"):
        value = "..."  # it may be somebody's
    is_usual = value == code(SETTINGS.get(path, ...))
    note = "the default: " if is_usual else "too few: " * is_few
    return "", f"{form.format(name, value, code(name), '# ' * bool(note))}  # {note}{evidence}"
