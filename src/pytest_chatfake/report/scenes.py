"""Which assumptions a scene shows: what happened, and how the fake was configured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from ..domain.failures import CATALOGUE
from ..domain.ledger import LedgerEntry
from ..domain.messages import DEFAULT_ADDRESS
from ..domain.people import PersonFact
from ..engine.engine import Engine
from ..engine.journal import VerbRecord
from ..http_api.request_log import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.events import Event
from ..wire.naming import Naming
from .happenings import Happening


class Scene(NamedTuple):
    """What happened, and how the fake was configured."""

    engine: Engine
    found: Sequence[Happening]

    def rules(self) -> Iterator[str]:
        """Give the keys of the rules that facts rested on."""
        return (one.rule.key for one in self.found if one.rule is not None)

    def events(self) -> Iterator[Event]:
        """Give the events of messages."""
        records = (one.record for one in self.found if one.kind == "event")
        return (one for one in records if isinstance(one, Event) and one.status is not None)

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

    def failures(self) -> Iterator[tuple[str, str, str]]:
        """Give the code, the text and the platform's type of each failure."""
        for one in self.found:
            failure = one.state.failure if one.state is not None else None
            if failure is not None and one.kind == "event":
                error = failure.platform_error
                yield failure.code, failure.message, "" if error is None else error.type


def _balance_while_held(scene: Scene) -> bool:
    held = Decimal(0)
    for one in scene.found:
        if one.amount is not None and one.kind != "charge":
            held += one.amount if one.kind == "hold" else -one.amount
        if isinstance(one.record, ApiRequest) and held and one.record.path == "/v2/balance":
            return True
    return False


def _below_zero(scene: Scene) -> bool:
    available = Decimal(0)
    for entry in scene.engine.account.ledger.entries:
        moves = {"hold": -1, "charge": -1}.get(entry.kind, 1)
        available += moves * entry.amount
        if available < 0 and any(one.record == entry for one in scene.found):
            return True
    return False


def _only_failures_before(scene: Scene) -> bool:
    for one in scene.found:
        if one.rule is None or one.state is None or not one.rule.key.startswith("joined"):
            continue
        conversation = one.state.conversation
        before = [
            other.state
            for other in scene.found
            if other.number < one.number and other.rule is not None and other.state is not None
        ]
        earlier = {
            id(s): s for s in before if s.conversation is conversation and s is not one.state
        }
        if earlier and all(state.state == "failed" for state in earlier.values()):
            return True
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
    sent = {id(one.state): one.number for one in scene.found if _is(one, "sent")}
    return any(
        _is(one, "delivered")
        and one.state is not None
        and one.state.recipient == address
        and sent.get(id(one.state), number) < number < (one.cause or 0)
        for number, address in _reached(scene).items()
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
    ends = {one.expires_at for one in scene.engine.account.conversations.all}
    return any(one.moment in ends for one in scene.found if one.kind in {"event", "verb"})


def _rule(*keys: str) -> Callable[[Scene], bool]:
    return lambda scene: any(key.startswith(keys) for key in scene.rules())


def _reason(row: str) -> Callable[[Scene], bool]:
    return lambda scene: any(
        reason.row == row for one in scene.found if one.rule for reason in one.rule.reasons
    )


def _asked(fits: Callable[[ApiRequest], bool]) -> Callable[[Scene], bool]:
    return lambda scene: any(map(fits, scene.requests()))


def _posted(scene: Scene) -> bool:
    return any(isinstance(one.record, LedgerEntry) for one in scene.found)


#: Whether a scene shows an assumption, by the name of its row.
EXERCISED: Final[dict[str, Callable[[Scene], bool]]] = {
    "opening-balance": lambda scene: (
        _posted(scene) and scene.engine.settings.opening_balance == 100
    ),
    "currency": lambda scene: any(scene.events()) and scene.engine.settings.currency == "USD",
    "held-in-balance": lambda scene: (
        scene.engine.settings.balance_amount == "available" and _balance_while_held(scene)
    ),
    "no-key": _asked(lambda asked: not asked.key and asked.status == 401),
    "other-paths": _asked(lambda asked: asked.accepted and asked.status in {404, 405}),
    "balance-too-low": lambda scene: _below_zero(scene) or _rule("too-dear")(scene),
    "balance-code": lambda scene: any(
        code == "BALANCE_INSUFFICIENT" for code, _, _ in scene.failures()
    ),
    "grouping": _reason("grouping"),
    "default-recipient": lambda scene: any(
        one.state is not None and one.state.recipient == DEFAULT_ADDRESS for one in scene.found
    ),
    "failed-conversation": _only_failures_before,
    "origin-type": lambda scene: (
        any(scene.events()) and scene.engine.settings.rules.origin_type == "marketing"
    ),
    "conversation-type": lambda scene: (
        scene.engine.settings.conversation_type == "REGULAR"
        and any(event.status in {"delivered", "read"} for event in scene.events())
    ),
    "expiry-instant": _at_the_instant,
    "open-price": _reason("open-price"),
    "two-pending": _reason("two-pending"),
    "late-delivery": _reason("late-delivery"),
    "devices": _rule("delivered"),
    "drop-instant": _rule("dropped"),
    "dropped-status": _rule("dropped"),
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
    "platform-tried": Scene.failed,
    "event-ids": lambda scene: (
        scene.engine.settings.event_ids == "unique" and sum(1 for _ in scene.events()) > 1
    ),
    "event-order": lambda scene: len(scene.attempts()) > 1,
    "barriers": lambda scene: any(
        one.number > 1 and one.number - 1 > len(one.endpoint._retries) for one in scene.attempts()
    ),
    "no-money-event": lambda scene: any(
        one.kind == "drop" or one.text.startswith(("top_up()", "set_balance()"))
        for one in scene.found
    ),
    "receivers-answer": lambda scene: any(one.status_code is not None for one in scene.attempts()),
    "retries": lambda scene: any(
        not one.ok and not one.endpoint._retries for one in scene.attempts()
    ),
    "timeout": lambda scene: (
        scene.engine.settings.timeout == 5
        and any(isinstance(one.error, TimeoutError) for one in scene.attempts())
    ),
    "signing": lambda scene: any(one.endpoint.signer is None for one in scene.attempts()),
    "names": lambda scene: any(scene.events()) and scene.engine.settings.naming == Naming(),
    "other-types": lambda scene: any(
        one.state is not None and one.state.type != "text" for one in scene.found
    ),
    "other-events": lambda scene: any(
        one.kind == "event" and one.state is None for one in scene.found
    ),
}
