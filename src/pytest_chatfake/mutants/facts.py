"""Mutants: false facts for the app, to find out which facts your tests check.

A mutant only changes bytes on their way to the app; the fake keeps the truth. It falsifies one
fact, but not the facts that follow from it. A redelivered event is as false as the first time,
because mutants of events only depend on facts that can't change any more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from functools import partial, reduce
from operator import getitem
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ..base.arguments import check_choice
from ..domain.ids import other_id
from ..domain.instants import SECOND, aware, nanoseconds, stamp
from ..domain.money import EXACT, ZERO
from ..fake.details import changes_of, meaning_of, post_of, seen_by_app
from ..fake.fake import opened
from ..fake.inside import Inside
from ..http_api.account_api import AccountApi
from ..http_api.service import INVALID_KEY
from ..transport.client.targets import ACCEPTED
from ..transport.server.replies import Reply, error_reply
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import WebhookRequest
from ..webhooks.events import Event
from ..webhooks.signing import OwnSigner, sign
from ..wire.exact_json import encode

_T = TypeVar("_T")

#: Subjects, mutants and their sentences, in the order of the report.
_SUBJECTS: Final[Mapping[str, Mapping[str, str]]] = {
    "prices": {
        "price-times-ten": "a price is ten times as high",
        "price-last-digit": "the last digit of a price is one too high",
        "first-delivery-free": "the first delivery of a conversation is free",
        "open-session-priced": "a message in an open session has the session's price",
        "other-currency": "a price has a different currency",
    },
    "error codes": {
        "other-error-code": "a message fails with a different code",
    },
    "delivery times": {
        "deliver-time-off": "deliverTime is an hour late",
    },
    "conversations": {
        "other-conversation": "an event has the id of another conversation",
    },
    "ids": {
        "unknown-message": "an event has the id of a message that was never sent",
    },
    "texts": {
        "other-text": "an event has the text of the previous message",
    },
    "statuses": {
        "no-sent": "sent events never arrive",
        "no-delivered": "delivered events never arrive",
        "no-read": "read events never arrive",
        "no-failed": "failed events never arrive",
    },
    "the balance": {
        "balance-zero": "the balance is zero",
        "balance-cent-more": "the balance is 0.01 too high",
        "balance-with-held": "the balance includes held money",
        "second-device-charged": "a second device is charged again in the balance",
        "hold-kept": "a failed or dropped message keeps its hold in the balance",
        "top-up-lost": "the first top-up is missing from the balance",
        "balance-503": "the balance query gets 503",
        "balance-401": "the balance query gets 401",
        "balance-truncated": "the response to the balance query is cut off",
    },
    "signatures": {
        "signature-missing": "the signature is missing",
        "signature-wrong": "the signature is wrong",
        "signature-stale": "the signature is a day old",
    },
    "inbound messages": {
        "no-inbound": "no inbound message arrives",
        "inbound-other-text": "an inbound message has a different text",
        "inbound-other-sender": "an inbound message has a different sender",
        "inbound-other-id": "an inbound message has a different id",
    },
    "send calls": {
        "send-other-id": "the response to the send call has a different id",
        "send-other-status": "the response to the send call has a different status",
    },
}

#: Each mutant's subject and sentence, by name.
MUTANTS: Final[Mapping[str, Sequence[str]]] = {
    name: (subject, sentence)
    for subject, sentences in _SUBJECTS.items()
    for name, sentence in sentences.items()
}


class _Facts(NamedTuple):
    """What a mutant may look at; ``message`` and ``status`` are the event's."""

    settings: Any
    account: Any
    message: Any = None
    status: str | None = None


#: Takes the objects in a body, the outermost last, and returns the one that has a field.
_Find: TypeAlias = Callable[[list[Any], _Facts], Any]


def _whole(objects: list[Any], _: _Facts) -> Any:
    return objects[-1]


def _resource(objects: list[Any], facts: _Facts) -> Any:
    return objects[-1][facts.settings.naming.message_key]


def _inbound(objects: list[Any], facts: _Facts) -> Any:
    assert facts.status is None  # if not, the event is about a message of the fake
    return next(fields for fields in objects if {"from", "id"} <= fields.keys())


def _sent(objects: list[Any], facts: _Facts) -> Any:
    find = facts.account.find
    return next(fields for fields in objects if find(fields.get("id")))


def _field(
    path: str, change: Callable[[Any, _Facts], object], find: _Find = _resource
) -> Callable[..., bytes]:
    # The bytes stay the same if the field is missing, or if the false value equals the true one.
    def changed(body: bytes, facts: _Facts) -> bytes:
        objects: list[Any] = []  # inner objects come first

        def collected(fields: Any) -> Any:
            objects.append(fields)
            return fields

        with suppress(Exception), localcontext(EXACT):  # because the test may have emitted anything
            document = json.loads(
                body, object_hook=collected, parse_float=Decimal, parse_int=Decimal
            )
            *parents, key = path.split(".")
            parent: Any = reduce(getitem, parents, find(objects, facts))
            value, parent[key] = parent[key], change(parent[key], facts)
            if parent[key] != value:
                return encode(document).encode()
        return body

    return changed


_EVENTS: Final = {
    "price-times-ten": _field("totalPrice", lambda price, _: 10 * price),
    "price-last-digit": _field(
        "totalPrice",
        lambda price, _: price and price.next_plus(Context(len(price.as_tuple().digits))),
    ),
    "first-delivery-free": _field(
        "totalPrice", lambda price, facts: price if facts.status == "sent" else ZERO
    ),
    "open-session-priced": _field(
        "totalPrice",
        lambda price, facts: (
            price
            # If each message is charged, a session has no price.
            if price or facts.settings.rules.charge_per == "message"
            else max(
                message.charged for message in facts.account.messages_in(facts.message.conversation)
            )
        ),
    ),
    "other-currency": _field("currency", lambda code, _: "USD" if code == "EUR" else "EUR"),
    "other-error-code": _field("errorCode", lambda code, _: "131026" if code == "100" else "100"),
    "deliver-time-off": _field(
        "deliverTime", lambda time, _: stamp(nanoseconds(aware(time, "")) + 3_600 * SECOND)
    ),
    "other-conversation": _field("conversation.id", lambda id_, _: other_id(id_)),
    "unknown-message": _field("id", lambda id_, _: other_id(id_)),
    "other-text": _field(
        "text.body",
        lambda text, facts: facts.account.numbered(facts.message.number - 1).body or text,
    ),
    "inbound-other-text": _field("text.body", lambda _, __: "another text", _inbound),
    "inbound-other-sender": _field("from", lambda sender, _: other_id(sender), _inbound),
    "inbound-other-id": _field("id", lambda id_, _: other_id(id_), _inbound),
}


def _seen(event: Event, change: Callable[..., bytes], body: bytes, facts: _Facts) -> bytes:
    return seen_by_app(event, change(body, facts), body)


_SENT: Final = {
    "send-other-id": _field("id", lambda id_, _: other_id(id_), _sent),
    "send-other-status": _field(
        "status", lambda status, _: "sent" if status == "failed" else "failed", _sent
    ),
}

_amount: Final = partial(_field, "amount", find=_whole)

_BALANCES: Final = {
    "balance-zero": _amount(lambda _, __: ZERO),
    "balance-cent-more": _amount(lambda value, _: value + Decimal("0.01")),
    "balance-with-held": _amount(
        lambda _, facts: facts.account.ledger.available + facts.account.ledger.held,
    ),
    "second-device-charged": _amount(
        lambda value, facts: (
            value
            - sum(
                message.charged * (message.delivered_devices - 1)
                for message in facts.account.messages
                if message.delivered_devices
            )
        ),
    ),
    "hold-kept": _amount(
        lambda value, facts: (
            value
            - sum(
                entry.amount
                for entry in facts.account.ledger.entries
                if entry.kind == "hold"
                and facts.account.find(entry.message_id).state in {"failed", "dropped"}
                # The total includes held money anyway.
                and facts.settings.balance_amount == "available"
            )
        ),
    ),
    "top-up-lost": _amount(
        lambda value, facts: (
            value
            - next(entry.amount for entry in facts.account.ledger.entries if entry.kind == "top_up")
        ),
    ),
}

_RESPONSES: Final[Mapping[str, Callable[[Reply], Reply]]] = {
    "balance-503": lambda _: error_reply(503, "SERVICE_UNAVAILABLE", "SERVICE_UNAVAILABLE"),
    "balance-401": lambda _: INVALID_KEY,
    "balance-truncated": Reply.cut_off,
}

#: Functions that take a signature's true headers, and those of a day before.
_HEADERS: Final[Mapping[str, Callable[[Any, Any], dict[str, str]]]] = {
    "signature-missing": lambda _, __: {},
    # In hex or base64, a signature is longer than a timestamp or an event's id without prefix.
    "signature-wrong": lambda truth, _: truth.forged(
        {
            name: re.sub(r"[0-9A-Za-z+/]{27,}", lambda run: other_id(run[0]), text)
            for name, text in truth.items()
        }
    ),
    "signature-stale": lambda _, stale: stale,
}


class Mutation:
    """One run of a test: with a false fact, or to find out which facts could be falsified.

    Args:
        name: A key of :data:`MUTANTS`; None: the app receives the truth.
        plain: The same test's true run. A lost event gets the response noted there, or else a
            200.

    Attributes:
        name: As given.
        exercised: The mutants that changed bytes for the app or, without a ``name``, that would
            have.
        responses: How the app responded to the truth, by the attempt's number in the run and the
            event's status.

    Raises:
        ValueError: There is no such mutant.
    """

    def __init__(self, name: str | None, plain: Mutation | None = None) -> None:
        check_choice(name, "mutant", [None, *MUTANTS])
        self.name = name
        self.exercised: set[str] = set()
        self.responses: dict[object, Any] = {} if plain is None else plain.responses
        self._asked = {*MUTANTS} if name is None else {name}
        self._attempts = 0

    def _choose(
        self, rows: Mapping[str, Callable[..., _T]], truth: _T, noted: set[str], *facts: object
    ) -> _T:
        # Without a name, nothing is falsified: the run finds out which mutants are worth a rerun.
        chosen = truth
        for name in rows.keys() & self._asked:
            false = rows[name](truth, *facts)
            if false != truth:
                noted.add(name)
                chosen = truth if self.name is None else false
        return chosen

    @contextmanager
    def falsify(self, attempt: Attempt) -> Generator[None]:
        """Falsify an attempt while it is made, and note whether the app read the event."""
        post, meaning = post_of(attempt), meaning_of(attempt)
        if meaning.uncounted:  # a forgery must neither get lost nor get through
            yield
            return
        noted: set[str] = set()
        self._attempts += 1
        key = self._attempts, attempt.event.status
        lost = self._falsify_event(attempt.event, post.request, noted)
        signer = post.request.endpoint.signer
        if signer is not None and all(change.signer is None for change in changes_of(attempt)):
            post.signer = partial(self._forged, signer, noted)
        if lost in self._asked and post.attendant is None:  # webhooks.crash() needs the event
            noted.add(lost)
            post.result = None if self.name is None else self.responses.get(key, ACCEPTED)
        yield
        error = getattr(post.result, "error", post.result)
        # An app that refuses the signature hasn't read the event.
        unread = range(400, 500) if meaning.wrong else (401, 403)
        is_unread = self.name is None and getattr(post.result, "status", None) in unread
        if not (is_unread or isinstance(error, ConnectionRefusedError)):
            self.exercised |= noted
        if self.name is None:
            self._asked -= self.exercised  # once is enough
            if error is None:
                self.responses.setdefault(key, post.result)

    def _falsify_event(self, event: Event, request: WebhookRequest, noted: set[str]) -> str:
        # Returns the mutant with which the event never arrives.
        lost = f"no-{event.status}"
        inside = next((each for each in map(Inside, {*opened}) if each.has(event)), None)
        if inside is None:  # a thread may still attempt a closed fake's events
            return lost
        message = inside.account.find(event.message_id or "")
        facts = _Facts(inside.settings, inside.account, message, event.status)
        if _EVENTS["inbound-other-id"](request.body, facts) != request.body:
            lost = "no-inbound"
        rows = {name: partial(_seen, event, change) for name, change in _EVENTS.items()}
        request.body = self._choose(rows, request.body, noted, facts)
        return lost

    def _forged(self, signer: Any, noted: set[str], request: WebhookRequest) -> dict[str, str]:
        truth: dict[str, str] = sign(signer, request)
        stale = truth
        # Call other signers only once, because they may count calls.
        if isinstance(signer, OwnSigner):
            stale = signer(replace(request, timestamp=request.timestamp - 86_400))
        return self._choose(_HEADERS, truth, noted, stale)

    def misreport(self, api: AccountApi, reply: Callable[[], Reply], is_balance: bool) -> Reply:
        """Return a false response to a balance request or a send call."""
        truth = reply()
        inside = next((Inside(fake) for fake in {*opened} if fake.api is api), None)
        if inside is None:  # it was closed meanwhile
            return truth
        bodies, replies = (_BALANCES, _RESPONSES) if is_balance else (_SENT, {})
        facts = _Facts(inside.settings, inside.account)
        body = self._choose(bodies, truth.body, self.exercised, facts)
        return self._choose(replies, truth._replace(body=body), self.exercised)
