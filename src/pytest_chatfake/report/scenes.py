"""Which assumptions a scene shows: what happened, and how the fake was configured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from ..domain.failures import CATALOGUE
from ..domain.instants import MILLISECOND
from ..domain.ledger import LedgerEntry
from ..domain.messages import DEFAULT_ADDRESS, MessageState
from ..domain.people import PersonFact
from ..engine.engine import Engine
from ..engine.journal import Refusal, VerbRecord
from ..http_api.account import AccountApi
from ..http_api.request_log import ApiRequest
from ..http_api.routes import BALANCE_PATH
from ..webhooks.attempts import Attempt
from ..webhooks.events import Event
from ..wire.naming import Naming
from .happenings import LOSING, Happening


class Scene(NamedTuple):
    """What happened, and how the fake was configured.

    Attributes:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.
        found: What happened.
        refused: What was refused.
    """

    engine: Engine
    api: AccountApi
    found: Sequence[Happening]
    refused: Sequence[Refusal]

    def rules(self) -> Iterator[str]:
        """Give the keys of the rules that facts rested on."""
        return (one.rule.key for one in self.found if one.rule is not None)

    def events(self) -> Iterator[Event]:
        """Give the events of messages."""
        records = (one.record for one in self.found if one.kind == "event")
        return (one for one in records if isinstance(one, Event) and one.message_id is not None)

    def told_of(self) -> Iterator[MessageState]:
        """Give the message of each event."""
        return (one.state for one in self.found if one.kind == "event" and one.state is not None)

    def failed(self) -> bool:
        """Return whether a message failed."""
        return any(event.status == "failed" for event in self.events())

    def attempts(self) -> list[Attempt]:
        """Return the attempts that were made."""
        made = [one.record for one in self.found if isinstance(one.record, Attempt)]
        return [one for one in made if one.fault != "drop"]

    def requests(self) -> Iterator[ApiRequest]:
        """Give what was asked of the API."""
        return (one.record for one in self.found if isinstance(one.record, ApiRequest))

    def balances(self) -> Iterator[ApiRequest]:
        """Give the balance queries that were answered."""
        return (one for one in self.requests() if one.path == BALANCE_PATH and one.status == 200)

    def own_entries(self) -> set[LedgerEntry]:
        """Return what the ledger took meanwhile for messages."""
        return {r for one in self.found if isinstance(r := one.record, LedgerEntry)}

    def failures(self) -> Iterator[tuple[str, str, str]]:
        """Give the code, the text and the platform's type of each failure."""
        for one in self.found:
            failure = one.state.failure if one.state is not None else None
            if failure is not None and one.kind == "event":
                error = failure.platform_error
                yield failure.code, failure.message, "" if error is None else error.type


def _opening_balance(scene: Scene) -> bool:
    """Whether what could be spent mattered, before the test said itself how much that is."""
    set_before = sum(one.kind == "adjustment" for one in scene.engine.account.ledger.entries)
    set_here = [one.number for one in scene.found if one.text.startswith("set_balance() ")]
    first = set_here[0] if set_here else None
    if set_before > len(set_here):
        return False
    asked = set(map(id, scene.balances()))
    return any(
        (one.amount is not None or id(one.record) in asked or one.text.startswith("top_up()"))
        and (first is None or one.number < first)
        for one in scene.found
    )


def _balance_while_held(scene: Scene) -> bool:
    own, asked = scene.own_entries(), set(map(id, scene.balances()))
    before = [one for one in scene.engine.account.ledger.entries if one not in own]
    held = sum((_HELD.get(one.kind, 0) * one.amount for one in before), Decimal(0))
    for one in scene.found:
        if one.amount is not None:
            held += _HELD.get(one.kind, 0) * one.amount
        if held and id(one.record) in asked:
            return True
    return False


#: What an entry does to what is held.
_HELD: Final = {"hold": 1, "release": -1}


def _below_zero(scene: Scene) -> bool:
    available, own = Decimal(0), scene.own_entries()
    for entry in scene.engine.account.ledger.entries:
        moves = {"hold": -1, "charge": -1}.get(entry.kind, 1)
        available += moves * entry.amount
        if available < 0 and entry.kind == "hold" and entry in own:
            return True
    return False


def _only_failures_before(scene: Scene) -> bool:
    alive: dict[int, set[int]] = {}  # the messages of each conversation that have not failed
    for one in scene.found:
        if one.rule is None or one.state is None:
            continue
        inside = alive.get(id(one.state.conversation))
        if inside is not None and not inside and one.rule.key.startswith("joined"):
            return True
        inside = alive.setdefault(id(one.state.conversation), set())
        inside.add(one.state.number)
        if _is(one, "failed"):
            inside.remove(one.state.number)
    return False


def _reached(scene: Scene) -> dict[int, str]:
    """Give the verbs by which people became reachable: their numbers, and the addresses."""
    return {
        one.number: person.after.address
        for one in scene.found
        if isinstance(person := _subject(one), PersonFact)
        and person.after.is_reachable
        and not person.before.is_reachable
    }


def _back_online(scene: Scene) -> bool:
    reached = _reached(scene)
    return any(one.cause in reached for one in scene.found if one.kind == "event")


def _scripted_delivery(scene: Scene) -> bool:
    """Whether a phone came back and a message waited on for its script, done by now or not."""
    reached = _reached(scene)
    sent = {id(one.state): one.number for one in scene.found if _is(one, "sent")}
    waiting = [one for one in scene.told_of() if "deliver" in (one.script or {}).values()]
    return any(
        state.recipient == address and state.state == "sent" and sent[id(state)] < number
        for number, address in reached.items()
        for state in waiting
        if id(state) in sent
    ) or any(
        _is(one, "delivered")
        and one.state is not None
        and one.state.recipient == address
        and sent.get(id(one.state), number) < number < (one.cause or 0)
        for number, address in reached.items()
        for one in scene.found
    )


def _open_chat(scene: Scene) -> bool:
    by_hand = {one.number for one in scene.found if one.text.startswith("deliver()")}
    return any(_is(one, "read") and one.cause in by_hand for one in scene.found)


def _not_registered(scene: Scene) -> bool:
    sent = {one.cause for one in scene.found if _is(one, "sent")}
    return any(_is(one, "failed") and one.cause in sent for one in scene.found)


def _taken_back(scene: Scene) -> bool:
    people = scene.engine.account.people
    kept = {id(one.state): one.state for one in scene.found if one.state and one.state.kept_back}
    waiting = [people[state.recipient] for state in kept.values() if state.state == "sent"]
    return any(not (person.blocked or person.withheld) for person in waiting)


def _subject(one: Happening) -> object:
    return one.record.subject if isinstance(one.record, VerbRecord) else None


def _is(one: Happening, status: str) -> bool:
    return isinstance(one.record, Event) and one.rule is not None and one.record.status == status


def _at_the_instant(scene: Scene) -> bool:
    ends = {(one.recipient, one.expires_at) for one in scene.engine.account.conversations.all}
    return any(
        (one.state.recipient, one.moment) in ends
        for one in scene.found
        if one.state is not None and one.kind in {"event", "verb"}
    )


def _one_device(scene: Scene) -> bool:
    """Whether a delivery arrived on one device, and nobody had described another number."""
    people = scene.engine.account.people
    own = [one for one in scene.found if _is(one, "delivered")]
    told = Counter(one.cause for one in own)
    for one in own:
        assert one.state is not None
        person = people.get(one.state.recipient)
        if told[one.cause] == 1 and (person is None or person.devices == 1):
            return True
    return False


def _platform_tried(scene: Scene) -> bool:
    """Whether a failure has the platform's error because it was sent, or none because not."""
    for one in scene.found:
        if not _is(one, "failed") or one.state is None or one.state.failure is None:
            continue
        error = one.state.failure.platform_error
        if (error is not None) == (one.state.sent_at is not None):
            return True
    return False


def _other_paths(scene: Scene) -> bool:
    """Whether something was asked for that is not there; a route's own 404 is the user's."""
    log = scene.api._log
    routed = {id(log[place]) for place, _ in scene.api._calls if place is not None}
    return any(
        one.accepted and one.status in {404, 405} and id(one) not in routed
        for one in scene.requests()
    )


def _is_too_late(attempt: Attempt) -> bool:
    """Whether it was ended because its time was up; an app's own timeout is not that."""
    error = attempt.error
    return isinstance(error, TimeoutError) and str(error) == "no complete answer within 5 s"


def _refused(verb: str | None, *states: str) -> Callable[[Scene], bool]:
    return lambda scene: any(
        one.state in states and verb in {None, one.verb} for one in scene.refused
    )


def _rule(*keys: str) -> Callable[[Scene], bool]:
    return lambda scene: any(key.startswith(keys) for key in scene.rules())


def _reason(row: str) -> Callable[[Scene], bool]:
    return lambda scene: any(
        reason.row == row for one in scene.found if one.rule for reason in one.rule.reasons
    )


def _asked(fits: Callable[[ApiRequest], bool]) -> Callable[[Scene], bool]:
    return lambda scene: any(map(fits, scene.requests()))


#: Whether a scene shows an assumption, by the name of its row.
EXERCISED: Final[dict[str, Callable[[Scene], bool]]] = {
    "opening-balance": lambda scene: (
        scene.engine.settings.opening_balance == 100 and _opening_balance(scene)
    ),
    "currency": lambda scene: (
        scene.engine.settings.currency == "USD" and any([*scene.events(), *scene.balances()])
    ),
    "held-in-balance": lambda scene: (
        scene.engine.settings.balance_amount == "available" and _balance_while_held(scene)
    ),
    "no-key": _asked(lambda asked: not asked.key and asked.status == 401),
    "other-paths": _other_paths,
    "balance-too-low": _below_zero,
    "balance-code": lambda scene: (
        _rule("too-dear")(scene)
        and any(code == "BALANCE_INSUFFICIENT" for code, _, _ in scene.failures())
    ),
    "grouping": _reason("grouping"),
    "default-recipient": lambda scene: any(
        one.state is not None and one.state.recipient == DEFAULT_ADDRESS for one in scene.found
    ),
    "expired-conversation": _refused("accept", "submitted"),
    "failed-conversation": _only_failures_before,
    "origin-type": lambda scene: (
        scene.engine.settings.rules.origin_type == "marketing"
        and any(
            one.conversation is not None and one.conversation.origin_type == "marketing"
            for one in scene.told_of()
        )
    ),
    "conversation-type": lambda scene: (
        scene.engine.settings.conversation_type == "REGULAR"
        and any(event.status in {"delivered", "read"} for event in scene.events())
    ),
    "expiry-instant": _at_the_instant,
    "price": _reason("price"),
    "open-price": _reason("open-price"),
    "two-pending": _reason("two-pending"),
    "late-delivery": _reason("late-delivery"),
    "devices": _one_device,
    "drop-instant": _rule("dropped"),
    "dropped-status": _rule("dropped"),
    "after-failed": _refused(None, "failed"),
    "after-read": _refused("deliver", "read"),
    "fail-after-delivery": _refused("fail", "delivered", "read"),
    "read-at-once-times": _rule("read-at-once"),
    "second-device-time": _rule("another-device"),
    "back-online": _back_online,
    "not-registered": _not_registered,
    "open-chat": _open_chat,
    "scripted-delivery": _scripted_delivery,
    "sent-while-blocked": _taken_back,
    "read-in-private": _reason("read-in-private"),
    "failed-hold": _reason("failed-hold"),
    "failed-price": Scene.failed,
    "failed-create-time": Scene.failed,
    "error-text": lambda scene: any(
        failure[:2] == ("131026", CATALOGUE["131026"]) for failure in scene.failures()
    ),
    "platform-text": lambda scene: any(
        type_ == "PlatformException" for _, _, type_ in scene.failures()
    ),
    "platform-tried": _platform_tried,
    "event-ids": lambda scene: (
        scene.engine.settings.event_ids == "unique"
        and any(
            count > 1 for count in Counter(event.message_id for event in scene.events()).values()
        )
    ),
    "event-order": lambda scene: len({(one.event, one.endpoint) for one in scene.attempts()}) > 1,
    "barriers": lambda scene: any(
        one.number > 1 and one.number - 1 > len(one.endpoint._retries) for one in scene.attempts()
    ),
    "no-money-event": lambda scene: any(
        one.kind == "drop" or one.text.startswith(("top_up()", "set_balance()"))
        for one in scene.found
    ),
    "receivers-answer": lambda scene: any(one.status_code is not None for one in scene.attempts()),
    "retries": lambda scene: any(
        not one.ok and not one.endpoint._retries and one.fault not in LOSING
        for one in scene.attempts()
    ),
    "timeout": lambda scene: (
        scene.engine.settings.timeout == 5 and any(_is_too_late(one) for one in scene.attempts())
    ),
    "signing": lambda scene: any(one.endpoint.signer is None for one in scene.attempts()),
    "names": lambda scene: any(scene.events()) and scene.engine.settings.naming == Naming(),
    "extra-fields": lambda scene: (
        scene.engine.changes.fields_of is None and any(not one.extra for one in scene.told_of())
    ),
    "addresses": lambda scene: (
        any(scene.events())
        and None in {scene.engine.settings.naming.to_key, scene.engine.settings.naming.from_key}
    ),
    "other-types": lambda scene: any(
        one.state is not None and one.state.type != "text" for one in scene.found
    ),
    "other-events": lambda scene: any(
        isinstance(one.record, Event) and one.record.status is None for one in scene.found
    ),
    "send-call": lambda scene: any(
        isinstance(one.record, VerbRecord) and one.record.what == "the send call"
        for one in scene.found
    ),
    "milliseconds": lambda scene: any(one.moment % MILLISECOND for one in scene.events()),
}
