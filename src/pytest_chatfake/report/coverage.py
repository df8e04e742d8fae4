"""What a suite has exercised of the service: transitions, money, faults, responses, edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ..base.history import Record
from ..domain.people import PersonFact
from ..domain.reasons import ChargePer
from ..engine.records import VerbRecord
from ..http_api.account import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.fault_kinds import EFFECTS, effect_of
from .entries import kind_of

#: All that a suite may try, in the order in which it is shown: by its group and its name, a pattern
#: of the signs of entries that show it.
_SIGNS: Final = {
    "transitions": {
        "sent": "rule (new|joined|given).*",
        "delivered": "rule delivered.*",
        "delivered to another device": "rule another-device.*",
        "read after delivery": "rule read",
        "read at once": "rule read-at-once.*",
        "read without read receipts": "rule read-in-private.*",
        "failed": "rule failed.*",
        "rejected": "rule rejected.*",
        "dropped": "rule dropped.*",
    },
    "people": {
        "phone off": "person online=False",
        "sender blocked": "person blocked=True",
        "messages withheld": "person withheld=True",
        "number not registered": "person registered=False",
        "chat open": "person chat_open=True",
    },
    "money": {
        "held": "kind hold",
        "charged": "kind charge",
        "final price differs": "rule .*-final",
        "into a pending conversation": "rule (joined|given).*",
        "into an open conversation": "rule .*-open",
        "second of two pending": "rule .*-held",
        "delivered after the session": "rule .*-late",
        "balance too low": "rule too-dear.*",
        "topped up": "verb (top_up|set_balance).*",
    },
    "webhook faults": {
        **{effect.mark: f"mark {kind}" for kind, effect in EFFECTS.items()},
        "held back": "mark paused",
        "made up by the test": "mark emit",
        "redelivered": "mark redeliver",
    },
    "your app": {
        "took an event": "attempt took",
        "refused an event": "attempt refused",
        "raised or gave no response": "attempt raised",
        "was tried again": "attempt again",
        "signature checked": "attempt signed",
        "asked for the balance": "request /v2/balance 200",
        "asked with a wrong key": "request /v2/balance 401",
        "sent through a route": "inside",
    },
    "API faults": {
        "fail": "mark api.fail",
        "delay": "mark api.delay",
        "disconnect": "mark api.disconnect",
        "truncate": "mark api.truncate",
        "rate_limit": "mark api.rate_limit",
        "lose_response": "mark api.lose_response",
        "key rotated": "verb rotate_key.*",
    },
    "time": {"time moved": "kind clock"},
}

#: What there is not where each message is charged.
_SHARED: Final = frozenset({"rule .*-open", "rule .*-held", "rule .*-late"})


class Item(NamedTuple):
    """Something that a suite may try.

    Attributes:
        group: What kind of thing it is.
        name: What it is called in reports.
        sign: A pattern of the signs of entries that show it.
    """

    group: str
    name: str
    sign: str


ITEMS: Final = tuple(
    Item(group, name, sign) for group, signs in _SIGNS.items() for name, sign in signs.items()
)


def _signs(record: Record) -> Iterator[str]:
    """Say what an entry shows, each in a word or two."""
    yield f"kind {kind_of(record)}"
    yield from (f"mark {mark.kind}" for mark in record._marks)
    if record._rule is not None:
        yield f"rule {record._rule.key}"
    match record:
        case VerbRecord(what=what, subject=subject):
            yield f"verb {what}"
            if record._cause is not None:
                yield "inside"
            if isinstance(subject, PersonFact):
                is_so = subject.after._asdict()
                yield from (f"person {name}={value}" for name, value in is_so.items())
        case Attempt() as made:
            shows = {
                "took": made.ok,
                "refused": made.status_code is not None and not made.ok,
                "raised": made.error is not None and not effect_of(made.fault).fails,
                "again": made.number > 1,
                "signed": made.endpoint.signer is not None,
            }
            yield from (f"attempt {name}" for name, is_shown in shows.items() if is_shown)
        case ApiRequest() as asked:
            yield f"request {asked.path} {asked.status}"
        case _:
            pass


def exercised(found: Iterable[Record], per: ChargePer) -> set[str]:
    """Return the names of what a fake has exercised, as ``group: name``, and what it charges."""
    signs = "\n".join({sign for record in found for sign in _signs(record)})
    shown = [item for item in ITEMS if re.search(f"^{item.sign}$", signs, re.MULTILINE)]
    return {per, *map(name_of, shown)}


def possible(seen: Iterable[str]) -> list[Item]:
    """Return what can be exercised by a suite that has exercised so much."""
    is_shared = {"conversation", "message"}.intersection(seen) != {"message"}
    return [item for item in ITEMS if is_shared or item.sign not in _SHARED]


def name_of(item: Item) -> str:
    """Return the name of an item, with its group."""
    return f"{item.group}: {item.name}"


def tried(seen: Iterable[str]) -> dict[str, tuple[list[str], list[str]]]:
    """Return, by group, what was exercised, and what never was."""
    known, groups = set(seen), dict[str, tuple[list[str], list[str]]]()
    for item in possible(known):
        sides = groups.setdefault(item.group, ([], []))
        sides[name_of(item) not in known].append(item.name)
    return groups


def count(seen: Iterable[str]) -> tuple[int, int]:
    """Return how much of the list was exercised, and how long it is."""
    known, items = set(seen), possible(seen)
    return len(known.intersection(map(name_of, items))), len(items)
