"""What a suite has exercised of the service: transitions, money, faults, responses, edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from ..domain.people import PersonFact, PersonRecord
from ..domain.reasons import ChargePer
from ..engine.journal import VerbRecord
from ..http_api.account import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.fault_kinds import EFFECTS, effect_of
from .entries import Entry


class Item(NamedTuple):
    """Something that a suite may try.

    Attributes:
        group: What kind of thing it is.
        name: What it is called in reports.
        seen: Whether an entry shows it.
        is_shared: Whether there is no such thing where each message is charged.
    """

    group: str
    name: str
    seen: Callable[[Entry], bool]
    is_shared: bool = False


def _rule(*keys: str) -> Callable[[Entry], bool]:
    return lambda one: one.rule is not None and one.rule.key.startswith(keys)


def _ends(*ends: str) -> Callable[[Entry], bool]:
    return lambda one: one.rule is not None and one.rule.key.endswith(ends)


def _is(key: str) -> Callable[[Entry], bool]:
    return lambda one: one.rule is not None and one.rule.key == key


def _kind(kind: str) -> Callable[[Entry], bool]:
    return lambda one: one.kind == kind


def _verb(*verbs: str) -> Callable[[Entry], bool]:
    return lambda one: one.verb in verbs


def _person(fits: Callable[[PersonRecord], bool]) -> Callable[[Entry], bool]:
    def seen(one: Entry) -> bool:
        subject = one.record.subject if isinstance(one.record, VerbRecord) else None
        return isinstance(subject, PersonFact) and fits(subject.after)

    return seen


def _inner(one: Entry) -> bool:
    return one.kind == "verb" and one.cause is not None


def _refused(one: Attempt) -> bool:
    return one.status_code is not None and not one.ok


def _raised(one: Attempt) -> bool:
    return one.error is not None and not effect_of(one.fault).fails


def _mark(kind: str) -> Callable[[Entry], bool]:
    return lambda one: any(mark.kind == kind for mark in one.marks)


def _attempt(fits: Callable[[Attempt], bool]) -> Callable[[Entry], bool]:
    return lambda one: isinstance(one.record, Attempt) and fits(one.record)


def _request(fits: Callable[[ApiRequest], bool]) -> Callable[[Entry], bool]:
    return lambda one: isinstance(one.record, ApiRequest) and fits(one.record)


def _balance(*statuses: int) -> Callable[[Entry], bool]:
    return _request(lambda asked: asked.path == "/v2/balance" and asked.status in statuses)


#: All that a suite may try, in the order in which it is shown.
ITEMS: Final[tuple[Item, ...]] = (
    Item("transitions", "sent", _rule("new", "joined", "given")),
    Item("transitions", "delivered", _rule("delivered")),
    Item("transitions", "delivered to another device", _rule("another-device")),
    Item("transitions", "read after delivery", _is("read")),
    Item("transitions", "read at once", _rule("read-at-once")),
    Item("transitions", "read without read receipts", _rule("read-in-private")),
    Item("transitions", "failed", _rule("failed")),
    Item("transitions", "rejected", _rule("rejected")),
    Item("transitions", "dropped", _rule("dropped")),
    Item("people", "phone off", _person(lambda person: not person.online)),
    Item("people", "sender blocked", _person(lambda person: person.blocked)),
    Item("people", "messages withheld", _person(lambda person: person.withheld)),
    Item("people", "number not registered", _person(lambda person: not person.registered)),
    Item("people", "chat open", _person(lambda person: person.chat_open)),
    Item("money", "held", _kind("hold")),
    Item("money", "charged", _kind("charge")),
    Item("money", "final price differs", _ends("-final")),
    Item("money", "into a pending conversation", _rule("joined", "given")),
    Item("money", "into an open conversation", _ends("-open"), is_shared=True),
    Item("money", "second of two pending", _ends("-held"), is_shared=True),
    Item("money", "delivered after the session", _ends("-late"), is_shared=True),
    Item("money", "balance too low", _rule("too-dear")),
    Item("money", "topped up", _verb("top_up()", "set_balance()")),
    *(Item("events go wrong", one.mark, _mark(kind)) for kind, one in EFFECTS.items()),
    Item("events go wrong", "held back", _mark("paused")),
    Item("events go wrong", "synthetic", _mark("emit")),
    Item("events go wrong", "again", _mark("redeliver")),
    Item("your app", "took an event", _attempt(lambda one: one.ok)),
    Item("your app", "refused an event", _attempt(_refused)),
    Item("your app", "raised or gave no response", _attempt(_raised)),
    Item("your app", "was tried again", _attempt(lambda one: one.number > 1)),
    Item("your app", "signature checked", _attempt(lambda one: one.endpoint.signer is not None)),
    Item("your app", "asked for the balance", _balance(200)),
    Item("your app", "asked with a wrong key", _balance(401)),
    Item("your app", "sent through a route", _inner),
    Item("the API goes wrong", "fail", _mark("api.fail")),
    Item("the API goes wrong", "delay", _mark("api.delay")),
    Item("the API goes wrong", "disconnect", _mark("api.disconnect")),
    Item("the API goes wrong", "truncate", _mark("api.truncate")),
    Item("the API goes wrong", "rate_limit", _mark("api.rate_limit")),
    Item("the API goes wrong", "lose_response", _mark("api.lose_response")),
    Item("the API goes wrong", "key rotated", _verb("rotate_key()")),
    Item("time", "moved", _kind("clock")),
)


def exercised(found: Sequence[Entry], per: ChargePer) -> set[str]:
    """Return the names of what a fake has exercised, as ``group: name``, and what it charges."""
    return {name_of(item) for item in ITEMS if any(map(item.seen, found))} | {per}


def possible(seen: Iterable[str]) -> list[Item]:
    """Return what can be exercised by a suite that has exercised so much."""
    is_shared = {"conversation", "message"}.intersection(seen) != {"message"}
    return [item for item in ITEMS if is_shared or not item.is_shared]


def name_of(item: Item) -> str:
    """Return the name of an item, with its group."""
    return f"{item.group}: {item.name}"


def never(seen: Iterable[str]) -> dict[str, list[str]]:
    """Return what was never exercised, by group."""
    known = set(seen)
    left: dict[str, list[str]] = {}
    for item in possible(known):
        if name_of(item) not in known:
            left.setdefault(item.group, []).append(item.name)
    return left


def percent(seen: Iterable[str]) -> float:
    """Return how much of the list was exercised, in percent."""
    items, known = possible(seen), set(seen)
    return 100 * sum(name_of(item) in known for item in items) / len(items)
