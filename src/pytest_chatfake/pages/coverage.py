"""What a suite has exercised: transitions, money, faults, responses, edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ..base.faults import verb_of
from ..base.history import Record
from ..domain.people import PersonFact
from ..domain.reasons import ChargePer
from ..engine.records import VerbRecord
from ..http_api.account_api import ApiRequest
from ..http_api.faults import API_FAULTS
from ..report.entries import cause_of, has_failed_itself, kind_of, marks_of, rule_of
from ..webhooks.attempts import Attempt
from ..webhooks.faults import FAULTS, Fault, shown_kind
from ..webhooks.forgeries import Forgery

_KINDS: Final[tuple[type[Fault], ...]] = (*FAULTS, Forgery)

#: What a suite can try, in the order of the report. Each name has a pattern for the signs of it
#: (see ``_signs``), and the verbs that try it.
_SIGNS: Final = {
    "transitions": {
        "sent": ("rule (new|joined|given).*", "send_text()"),
        "delivered": ("rule delivered.*", "deliver()"),
        "delivered to another device": ("rule another-device.*", "deliver(devices=2)"),
        "read after delivery": ("rule read", "deliver(), read()"),
        "read at once": ("rule read-at-once.*", "read() without deliver()"),
        "read without read receipts": (
            "rule read-in-private.*",
            "recipient(to, read_receipts=False), read()",
        ),
        "failed": ("rule failed.*", "fail()"),
        "rejected": ("rule rejected.*", "submit_text(), reject()"),
        "dropped": ("rule dropped.*", "clock.advance(days=30) without deliver()"),
    },
    "people": {
        "phone off": ("person online=False", "recipient(to).goes_offline()"),
        "sender blocked": ("person blocked=True", "recipient(to).blocks()"),
        "messages withheld": ("person withheld=True", "recipient(to, withheld=True)"),
        "number not registered": ("person registered=False", "recipient(to, registered=False)"),
        "chat open": ("person chat_open=True", "recipient(to).opens_chat()"),
    },
    "money": {
        "held": ("kind hold", "send_text()"),
        "charged": ("kind charge", "deliver()"),
        "final price differs": ("rule .*-final", 'deliver(price="0.10")'),
        "into a pending conversation": (
            "rule (joined|given).*",
            "send_text() twice before deliver()",
        ),
        "into an open conversation": ("rule .*-open", "send_text() after deliver()"),
        "second of two pending": ("rule .*-held", "send_text() twice, deliver() both"),
        "delivered after the session": (
            "rule .*-late",
            "send_text() twice, deliver(), clock.advance(hours=24), deliver()",
        ),
        "balance too low": (
            "rule too-dear.*",
            'on_insufficient_balance="fail", set_balance(0), send_text()',
        ),
        "topped up": ("verb (top_up|set_balance).*", "top_up()"),
    },
    "webhook faults": {
        **{text: (f"mark {name}", call) for name, text, call in map(shown_kind, _KINDS)},
        "held back": ("mark paused", "webhooks.paused()"),
        "made up by the test": ("mark emit", "webhooks.emit()"),
        "redelivered": ("mark redeliver", "webhooks.redeliver()"),
    },
    "your app": {
        "accepted an event": ("attempt took", "webhooks.connect()"),
        "refused an event": ("attempt refused", "an app that responds with 500"),
        "raised or gave no response": ("attempt raised", "an app that raises"),
        "saw a retry": ("attempt again", "webhooks.connect(retry_after=)"),
        "signature checked": ("attempt signed", "webhooks.connect(signer=)"),
        "requested the balance": ("request /v2/balance 200", "GET /v2/balance"),
        "used a wrong key": ("request /v2/balance 401", "rotate_key(), GET /v2/balance"),
        "sent through a route": ("inside", "send_endpoint()"),
    },
    "API faults": {
        **{
            verb.removeprefix("api."): (f"mark {verb}", f"{verb}()")
            for verb in map(verb_of, API_FAULTS)
        },
        "key rotated": ("verb rotate_key.*", "rotate_key()"),
    },
    "time": {"time moved": ("kind clock", "clock.advance()")},
}

#: Items that can't happen if each message is charged.
_SHARED: Final = frozenset({"rule .*-open", "rule .*-held", "rule .*-late"})


class Item(NamedTuple):
    """Something that a suite can try: a row of ``_SIGNS``."""

    group: str
    name: str
    sign: str
    how: str


ITEMS: Final = tuple(
    Item(group, name, *shown) for group, signs in _SIGNS.items() for name, shown in signs.items()
)


def _signs(record: Record) -> Iterator[str]:
    # Uses the words that the patterns above match.
    yield f"kind {kind_of(record)}"
    yield from (f"mark {mark.kind}" for mark in marks_of(record))
    if (rule := rule_of(record)) is not None:
        yield f"rule {rule.key}"
    match record:
        case VerbRecord(what=what, subject=subject):
            yield f"verb {what}"
            if cause_of(record) is not None:
                yield "inside"
            if isinstance(subject, PersonFact):
                is_so = subject.after._asdict()
                yield from (f"person {name}={value}" for name, value in is_so.items())
        case Attempt() as made:
            shows = {
                "took": made.ok,
                "refused": made.status_code is not None and not made.ok,
                "raised": has_failed_itself(made),
                "again": made.number > 1,
                "signed": made.endpoint.signer is not None,
            }
            yield from (f"attempt {name}" for name, is_shown in shows.items() if is_shown)
        case ApiRequest() as asked:
            yield f"request {asked.path} {asked.status}"
        case _:
            pass


def exercised(found: Iterable[Record], per: ChargePer) -> set[str]:
    """Return what a fake has exercised, as ``group: name``, and what it charges for."""
    signs = "\n".join({sign for record in found for sign in _signs(record)})
    shown = [item for item in ITEMS if re.search(f"^{item.sign}$", signs, re.MULTILINE)]
    return {per, *map(item_name, shown)}


def possible(seen: Iterable[str]) -> list[Item]:
    """Return what a suite can exercise, depending on what its fakes charge for."""
    is_shared = {"conversation", "message"}.intersection(seen) != {"message"}
    return [item for item in ITEMS if is_shared or item.sign not in _SHARED]


def item_name(item: Item) -> str:
    """Return an item's name in a run's data."""
    return f"{item.group}: {item.name}"


def tried(seen: Iterable[str]) -> dict[str, tuple[list[Item], list[Item]]]:
    """Return, for each group, what was exercised and what never was."""
    known, groups = set(seen), dict[str, tuple[list[Item], list[Item]]]()
    for item in possible(known):
        sides = groups.setdefault(item.group, ([], []))
        sides[item_name(item) not in known].append(item)
    return groups


def count(seen: Iterable[str]) -> tuple[int, int]:
    """Return how many items were exercised, and how many can be."""
    known, items = set(seen), possible(seen)
    return len(known.intersection(map(item_name, items))), len(items)
