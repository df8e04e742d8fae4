"""``ChatFakeConfig``: every setting, with its section of the description or the word "assumed"."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

from ..base.arguments import (
    check_bool,
    check_choice,
    check_function,
    check_mapping,
    check_names,
    check_str,
    unexpected,
)
from ..base.redaction import redacted, tail
from ..domain.account import Rules
from ..domain.failure_codes import Failure
from ..domain.instants import SECOND, parse_duration, parse_length
from ..domain.messages import DEFAULT_PRICE
from ..domain.money import Money, amount
from ..domain.reasons import ChargePer
from ..engine.settings import Mode, Settings
from ..http_api.key_header import KeyFunction, KeyHeader
from ..webhooks.endpoints import Signer, retry_delays
from ..webhooks.signing import check_signer
from ..wire import defaults
from ..wire.exact_json import members
from ..wire.naming import Naming, check_fields, check_omit
from .handles import Message
from .inbound import Shape

#: Extra fields for the message resource, or a function of the message and the next event's status.
Extra = Mapping[str, object] | Callable[["Message", str], Mapping[str, object]]

#: Takes a status event and returns what to post: a mapping or a list for JSON, or the body; None
#: for nothing.
Form = Callable[[Any], Mapping[str, object] | list[Any] | str | bytes | None]

#: What a message costs: an amount, or a function of the message.
Price = Money | Callable[["Message"], Money]

_NAMING: Final = Naming()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFakeConfig:
    """The fake's settings: what your account is like, and what the description leaves open.

    Override the fixture ``chat_fake_config`` for a suite, and change single fields for a test with
    the marker ``@pytest.mark.chat_fake(price="0.10")``::

        @pytest.fixture(scope="session")
        def chat_fake_config():
            return ChatFakeConfig(currency="EUR", price="0.07", retry_after=[10, 60])

    *Assumed* means that the service's description is silent, so check the setting against your
    account.

    Attributes:
        api_key: The account's key (§5); if None, each fake derives its own.
        api_key_header: The header in which requests carry the key (§5): its name and, in its value,
            ``{api_key}``, as in ``"Authorization: Bearer {api_key}"``. Or a function that takes the
            request's headers and returns the key, or None if it finds none, as for Basic
            authentication (assumed). Fakes with different headers can run side by side.
        opening_balance: The balance at the start: a ``Decimal``, an ``int`` or a string (assumed).
        currency: The three-letter code of every amount (§2.1).
        price: What a conversation or, depending on ``charge_per``, a message costs: an amount, or a
            function that takes the :class:`~pytest_chatfake.Message` and returns an amount
            (assumed: the description shows no amounts). The function is called once, when the
            message is sent.
        charge_per: What is charged. With ``"conversation"``, it is the first delivery in each
            conversation (§1). With ``"message"``, it is the first delivery of each message, even in
            an open session. Money is then held for each message, and ``deliver(price=)`` sets that
            message's price (assumed: this departs from §1, §3 and §8).
        origin_type: The origin type of new conversations, unless a call gives another one (§2.4).
        conversation_type: The ``type`` of conversations (§2.4).
        conversation_length: How long a session lasts (§8): a ``timedelta`` or seconds.
        drop_after: The time from sending until an undelivered message is dropped (§8).
        event_ids: With ``"unique"``, every event has its own id. With ``"per-message"``, all events
            of a message share one. In the samples, they can share one (§2.2).
        balance_amount: What ``GET /v2/balance`` reports: ``"available"``, or ``"total"``, which
            adds the held amount (assumed).
        on_insufficient_balance: What happens to a message that the balance can't cover: ``"allow"``
            accepts it anyway, and ``"fail"`` makes it fail before it is sent (assumed).
        insufficient_balance_code: The error code when a message fails for lack of money (assumed).
        naming: Your channel's names for the event type and some fields, where the description says
            ``chat`` (§1).
        webhook_url: The URL that webhooks go to from the start; if None, they are not posted until
            you call ``connect()``.
        timeout: How long your app may take to respond, in real seconds; there is no limit if None
            (assumed).
        seed: What ids are derived from: the same seed gives the same ids. If None, the fixture's
            fake derives them from the test's node id and the ini option ``chat_fake_seed``, and any
            other fake has new ids.
        mode: ``"sync"`` or ``"async"``. If None, the fixture's fake has the test function's mode,
            and any other fake is sync.
        retry_after: How long after each failure an event is retried: a list of seconds or
            ``timedelta``s, one for each retry (assumed: none).
        signer: A function that signs webhooks: it takes the
            :class:`~pytest_chatfake.WebhookRequest` and returns headers (§5 rule 4; assumed: none).
            If your provider signs inside the body, return ``(headers, body)``: the same JSON or
            form, with the fields of the signature.
        extra: Fields to add to the message resource of every event: a mapping, or a function that
            takes the :class:`~pytest_chatfake.Message` and the next event's status and returns a
            mapping (assumed: none). The function must not change anything; it is called once for
            each verb and status. A call's own ``extra=`` takes precedence. If the function raises,
            the verb is refused. But a person's reaction to a verb, such as reading a message when
            they open the chat, still happens: its event lacks these fields, and the error is
            raised.
        omit: Fields that the messages in your account's events don't have, by their names in the
            JSON: ``("conversation", "bizType")``, for example (assumed: none). ``id`` and
            ``status`` can't be left out.
        inbound: Gives the events of inbound messages another shape: a function that takes the
            :class:`~pytest_chatfake.InboundMessage` and returns a mapping of arguments for
            ``webhooks.emit_event()``: ``resource``, ``type``, ``key``, ``id``, ``body`` (assumed).
            Without ``type``, the usual type is used. The function may change ``resource``, but
            nothing in the fake. If another thread adds an inbound message in the meantime, the
            function is called again with the next id.
        outbound: Gives posted status events another shape: a function that takes the event, as
            ``event.json()`` returns it, and returns a mapping or a list, which is posted as JSON
            with exact decimals, or the body as a string or bytes (assumed). If your provider
            posts nothing for a status, return None: the event is then in ``fake.events``, but there
            is no attempt to post it. ``fake.events`` keeps the description's form. The function
            must not change anything. It is called once for each body, before anything changes, so
            a verb is refused if the function raises. If it raises for a person's reaction to a
            verb, it is called again when that event is posted. It does not apply to inbound
            messages, ``emit_event()``, ``replay()`` or ``emit(raw=)``.
        tick: How much later each verb's events are dated than those of the verb before, in
            ``createTime`` and the message's own times: a ``timedelta`` or seconds, at most a day.
            The clock itself stands still, and all rules go by the clock. If None, there is no
            difference, except in :class:`~pytest_chatfake.WebhookTests`, where it is one second
            (assumed).
        sender: Your own address, which people write to; if ``naming`` has a ``from_key``, your
            messages' events have it too (assumed).
        strict: Whether a test fails if it overlooked something, such as a failed webhook:
            ``UndeliveredWebhooks`` or ``UnusedFault`` is then raised at the end of the test
            function, or of a fake's block. If False, a :class:`~pytest_chatfake.WebhookWarning` is
            issued instead. None means True, unless the ini option ``chat_fake_strict`` says
            otherwise.
        tls: Whether the HTTP API's ``base_url`` is https, for clients that insist on it. This needs
            the extra ``pytest-chatfake[tls]``. None means False, unless the ini option
            ``chat_fake_tls`` says otherwise.

    Raises:
        TypeError: A value has the wrong type.
        ValueError: A value is out of range; the error lists the valid ones.
    """

    api_key: str | None = None
    api_key_header: str | KeyFunction = "X-API-Key: {api_key}"
    opening_balance: Money = "100"
    currency: str = defaults.CURRENCY
    price: Price = DEFAULT_PRICE
    charge_per: ChargePer = defaults.CHARGE_PER
    origin_type: str = defaults.ORIGIN_TYPE
    conversation_type: str = defaults.CONVERSATION_TYPE
    conversation_length: timedelta | float = timedelta(hours=24)
    drop_after: timedelta | float = timedelta(days=30)
    event_ids: Literal["unique", "per-message"] = defaults.EVENT_IDS
    balance_amount: Literal["available", "total"] = "available"
    on_insufficient_balance: Literal["allow", "fail"] = "allow"
    insufficient_balance_code: str = "BALANCE_INSUFFICIENT"
    naming: Naming = _NAMING
    webhook_url: str | None = None
    timeout: timedelta | float | None = 5
    seed: str | None = None
    mode: Mode | None = None
    retry_after: Iterable[timedelta | float] = ()
    signer: Signer | None = None
    extra: Extra | None = None
    omit: Iterable[str] = ()
    inbound: Shape | None = None
    outbound: Form | None = None
    tick: timedelta | float | None = None
    sender: str = defaults.SENDER
    strict: bool | None = None
    tls: bool | None = None

    def __post_init__(self) -> None:
        # Most tests change little, and defaults need no check.
        given = {name for name, usual in _USUAL.items() if getattr(self, name) is not usual}
        for name, check in _CHECKS.items():
            if name in given:
                check(getattr(self, name), name)
        if "retry_after" in given:
            retries = retry_delays(self.retry_after)  # an iterator can be read only once
            lengths = tuple(timedelta(0, 0, ns // 1_000) for ns in retries)
            object.__setattr__(self, "retry_after", lengths)
        if "omit" in given:
            object.__setattr__(self, "omit", check_omit(self.omit, self.naming._message_keys))
        if self.extra is not None:
            _check_given_extra(self.extra, self.naming)

    def __repr__(self) -> str:
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        shown = {name: repr(value) for name, value in values.items() if value != _USUAL[name]}
        if self.api_key is not None:
            shown["api_key"] = repr(tail(self.api_key))
        if self.webhook_url is not None:
            shown["webhook_url"] = repr(redacted(self.webhook_url))
        return f"ChatFakeConfig({', '.join(f'{name}={text}' for name, text in shown.items())})"

    def replace(self, **fields: Any) -> ChatFakeConfig:
        """Return a copy with other values for these fields.

        Raises:
            TypeError: There is no such field.
        """
        if not fields:
            return self
        check_names(fields, _USUAL, "ChatFakeConfig()")
        return dataclasses.replace(self, **fields)

    def _settings(self, seed: str) -> Settings:
        # The engine calculates in nanoseconds and decimals.
        return Settings(
            mode=self.mode or "sync",
            seed=seed,
            rules=Rules(
                origin_type=self.origin_type,
                conversation_length=parse_duration(self.conversation_length, "conversation_length"),
                drop_after=parse_duration(self.drop_after, "drop_after"),
                charge_per=self.charge_per,
                on_insufficient_balance=self.on_insufficient_balance,
                insufficient_balance=Failure(
                    self.insufficient_balance_code, "Balance Insufficient", None
                ),
            ),
            opening_balance=amount(self.opening_balance, "opening_balance"),
            currency=self.currency,
            balance_amount=self.balance_amount,
            conversation_type=self.conversation_type,
            sender=self.sender,
            naming=self.naming,
            omit=tuple(self.omit),
            inbound=self.inbound,
            outbound=self.outbound,
            event_ids=self.event_ids,
            timeout=_seconds(self.timeout),
            tick=_check_tick(self.tick, "tick"),
        )


#: Real seconds, 23 days: socket timeouts are 31-bit milliseconds.
_LONGEST_TIMEOUT: Final = 2_000_000.0


#: A day, in nanoseconds: even after many verbs, dates must stay within the calendar.
_LONGEST_TICK: Final = 86_400 * SECOND


def given_or_default(config: ChatFakeConfig | None) -> ChatFakeConfig:
    if config is None:
        return ChatFakeConfig()
    if not isinstance(config, ChatFakeConfig):
        raise TypeError(unexpected("config", "a ChatFakeConfig(...)", config))
    return config


def _check_price(price: Price, what: str) -> None:
    if callable(price):
        check_price_function(price)
    else:
        amount(price, what)


def check_price_function(price: Callable[..., object]) -> None:
    example = 'lambda message: "0.05"'
    if isinstance(price, type):
        raise TypeError(unexpected("price", f"an amount or a function, as in {example}", price))
    check_function(price, "price", example, "the message")


def _check_given_extra(extra: Extra, naming: Naming) -> None:
    if callable(extra):
        example = 'lambda message, status: {"kind": status}'
        check_function(extra, "extra", example, "the message", "the status")
    else:
        check_extra(extra, naming)
        members(extra)  # refuses values that are not JSON


def _seconds(timeout: timedelta | float | None) -> float:
    # Without a timeout, the longest that a socket can wait.
    if timeout is None:
        return _LONGEST_TIMEOUT
    return min(parse_duration(timeout, "timeout") / SECOND, _LONGEST_TIMEOUT)


def _check_api_key(value: object, what: str) -> None:
    if not isinstance(value, str):  # never cited, because it may be the key
        raise TypeError(f"{what}: expected a str, got {type(value).__name__}")
    if not re.fullmatch(r"[!-~]+", check_str(value, what)):
        raise ValueError(unexpected(what, "printable ASCII without spaces", tail(value)))


def _check_currency(value: object, what: str) -> None:
    if not re.fullmatch(r"[A-Z]{3}", check_str(value, what)):
        raise ValueError(unexpected(what, "a three-letter code such as 'USD'", value))


def _check_timeout(value: timedelta | float | None, what: str) -> None:
    if value is not None:
        parse_length(value, what)


def _check_tick(value: timedelta | float | None, what: str) -> int:
    tick = parse_duration(0 if value is None else value, what)
    if tick > _LONGEST_TICK:
        raise ValueError(unexpected(what, "at most a day: move the clock", value))
    return tick


def _check_naming(value: object, what: str) -> None:
    if not isinstance(value, Naming):
        raise TypeError(unexpected(what, "a Naming(...)", value))


def check_extra(extra: object, naming: Naming) -> None:
    check_fields(check_mapping(extra, "extra"), naming._message_keys, "extra")


def _one_of(*valid: str | None) -> Callable[[Any, str], object]:
    return lambda value, what: check_choice(value, what, valid)


#: The default of each field.
_USUAL: Final = {item.name: item.default for item in dataclasses.fields(ChatFakeConfig)}

#: The check of each field; defaults are not checked.
_CHECKS: Final[Mapping[str, Callable[[Any, str], object]]] = {
    "api_key": _check_api_key,
    "api_key_header": lambda value, _: KeyHeader(value),
    "opening_balance": amount,
    "currency": _check_currency,
    "price": _check_price,
    "charge_per": _one_of("conversation", "message"),
    "origin_type": check_str,
    "conversation_type": check_str,
    "conversation_length": parse_length,
    "drop_after": parse_length,
    "event_ids": _one_of("unique", "per-message"),
    "balance_amount": _one_of("available", "total"),
    "on_insufficient_balance": _one_of("allow", "fail"),
    "insufficient_balance_code": check_str,
    "naming": _check_naming,
    "webhook_url": check_str,
    "timeout": _check_timeout,
    "seed": check_str,
    "mode": _one_of(None, "sync", "async"),
    "signer": lambda value, _: check_signer(value),
    "inbound": lambda value, what: check_function(
        value, what, 'lambda message: {"type": "in"}', "the message"
    ),
    "outbound": lambda value, what: check_function(
        value, what, 'lambda event: {"statuses": [event["chatMessage"]]}', "the event"
    ),
    "tick": _check_tick,
    "sender": check_str,
    "strict": check_bool,
    "tls": check_bool,
}
