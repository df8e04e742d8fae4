"""The fake: what a test holds. It puts the parts together and has no rule of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from . import assertions, timeline
from .arguments import text, whole
from .clock import Clock
from .config import ChatFakeConfig
from .domain.account import Draft
from .domain.ids import derived_key
from .domain.ledger import Balance, LedgerEntry
from .domain.messages import STATUSES, MessageState
from .domain.money import EXACT, signed
from .domain.money import amount as exact
from .engine import Engine
from .leftovers import complain
from .plan import Performing
from .scenario import Conversation, Message, Recipient, Submission
from .server.api import AccountApi, Service
from .server.routes import Route
from .views import View
from .webhooks.hub import Webhooks
from .webhooks.portal import Portal
from .wire import members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from decimal import Decimal
    from types import TracebackType
    from wsgiref.types import WSGIApplication

    from .config import Price
    from .domain.conversations import Conversation as ConversationRecord
    from .domain.facts import Fact
    from .domain.money import Money
    from .server.listener import Listener
    from .webhooks.events import Event

__all__ = ["ChatFake"]

_V = TypeVar("_V", bound="Callable[..., Any]")

DEFAULT_RECIPIENT = "+15550100"

#: Behind every fake of the process that is not given another; the plugin holds it for its session.
service = Service()

_fakes = itertools.count(1)


class ChatFake:
    """An in-process fake of the messaging service.

    Under pytest, the ``chat_fake`` fixture gives one to every test. Elsewhere it is a context
    manager::

        with ChatFake(price="0.10") as fake:
            fake.send_text("Hello").deliver()

    Args:
        config: The configuration; or leave it out and give its fields.
        **fields: Fields of :class:`~pytest_chatfake.ChatFakeConfig`.

    Attributes:
        config: The configuration.
        clock: Moves time.
        webhooks: Connects endpoints, and shows what was attempted.
        api: What was asked of the HTTP API, and its bad days.

    Raises:
        TypeError: There is no such field, or a value is of the wrong kind.
        ValueError: A value is out of range, or another fake that lives has the API key.
    """

    def __init__(self, config: ChatFakeConfig | None = None, /, **fields: Any) -> None:
        config = ChatFakeConfig.of(**fields) if config is None else config.replace(**fields)
        self.config = config
        seed = config.seed or "pytest-chatfake"
        self._engine = Engine(config, config.mode or "sync", seed)
        self.clock = Clock(self._engine)
        self._portal = Portal()
        self.webhooks = Webhooks(self._engine, self._portal)
        self.api = AccountApi(self._engine, config.api_key or derived_key(f"{seed} {next(_fakes)}"))
        self._recipients: dict[str, Recipient] = {}
        service.open(self.api)
        service.hold()
        try:
            if config.webhook_url is not None:
                self.webhooks.connect(config.webhook_url)
        except BaseException:
            self._shut()
            raise

    def __repr__(self) -> str:
        state = "closed" if self._engine.closed else self._engine.mode
        return f"<ChatFake {state}, {len(self._engine.account.messages)} messages>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # Messages (§3)

    def recipient(self, address: str, *, devices: int = 1, read_receipts: bool = True) -> Recipient:
        """Describe a person: messages to this address go by it from now on.

        Args:
            address: Where messages go; any text.
            devices: How many devices the person uses.
            read_receipts: Whether the service learns of reading (§3 rule 3).

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: The address is empty, or there is no device.
        """
        self._engine.refuse_closed()
        person = Recipient(address, devices, read_receipts)
        self._recipients[address] = person
        return person

    def send_text(
        self,
        body: str = "Hello",
        *,
        to: str | Recipient | None = None,
        conversation: Conversation | str | None = None,
        origin_type: str | None = None,
        price: Price | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> Message:
        """Send a text message: it is accepted and sent; a ``sent`` event, and money is held (§3).

        Args:
            body: The text.
            to: An address, or a recipient; None: one and the same person.
            conversation: The conversation it belongs to, or a hex id for one; None: the pending
                or open one with that person and origin type, or a new one (assumed).
            origin_type: The origin type of a new conversation (§2.4).
            price: What starting a conversation with it costs, instead of the configuration's: an
                amount, or a function of the message.
            extra: More fields for the message resource of its events, as JSON knows them.

        Returns:
            The message. In async mode, ``await`` it or a chain of its verbs.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: An argument is out of range, empty, or of another fake.
            IllegalTransition: The conversation's session is over.
        """
        return self.submit_text(
            body,
            to=to,
            conversation=conversation,
            origin_type=origin_type,
            price=price,
            extra=extra,
        ).accept()

    def submit_text(
        self,
        body: str = "Hello",
        *,
        to: str | Recipient | None = None,
        conversation: Conversation | str | None = None,
        origin_type: str | None = None,
        price: Price | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> Submission:
        """Submit a text message, and decide afterwards: ``.accept()`` or ``.reject()`` it.

        Args and errors are those of :meth:`send_text`.
        """
        self._engine.refuse_closed()
        if not isinstance(body, str):
            raise TypeError(f"body must be text, not {type(body).__name__} {body!r}")
        known = self._known_conversation(conversation)
        person = self._person(to)
        if origin_type is not None:
            text(origin_type, "origin_type")
        message = MessageState(
            body, person.address, person.devices, person.read_receipts, self._extra(extra)
        )
        charge = self._price(self.config.price if price is None else price)
        self._engine.created(message)
        return Submission(self._engine, message, Draft(known, origin_type, charge))

    def _known_conversation(
        self, conversation: Conversation | str | None
    ) -> ConversationRecord | str | None:
        if conversation is None:
            return None
        if isinstance(conversation, Conversation):
            if conversation._engine is not self._engine:
                raise ValueError(f"conversation {conversation.id} belongs to another fake")
            return conversation._record
        if not isinstance(conversation, str):
            raise TypeError(
                f"conversation must be a conversation or a hex id, not {conversation!r}"
            )
        if not conversation or not set(conversation) <= set("0123456789abcdefABCDEF"):
            raise ValueError(
                f"a conversation's id is a hex string such as 'c0ffee', and {conversation!r} is not"
            )
        return self._engine.account.conversations.get(conversation, conversation)

    def _person(self, to: str | Recipient | None) -> Recipient:
        if isinstance(to, Recipient):
            return to
        if to is None:
            to = DEFAULT_RECIPIENT
        person = self._recipients.get(text(to, "to"))
        if person is None:
            person = self._recipients[to] = Recipient(to)
        return person

    def _price(self, price: Price) -> Decimal | Callable[[MessageState], Decimal]:
        if not callable(price):
            return exact(price, "price")
        engine = self._engine
        return lambda message: exact(
            price(Message(engine, message)), "the amount that the price function returned"
        )

    def _extra(self, extra: Mapping[str, object] | None) -> str:
        if extra is None:
            return ""
        if not isinstance(extra, Mapping):
            raise TypeError(f"extra must be a mapping of field names to values, not {extra!r}")
        taken = sorted(set(extra) & self.config.naming.message_keys)
        if taken:
            raise ValueError(
                f"extra can't replace {', '.join(map(repr, taken))}: these fields are specified. "
                f"To send them changed, see fake.webhooks.emit()."
            )
        return members(extra)

    # What happened so far

    @property
    def messages(self) -> Sequence[Message]:
        """The messages, in the order in which they were accepted or rejected."""
        self._engine.look()
        engine = self._engine
        return View(engine.account.messages, lambda message: Message(engine, message))

    @property
    def conversations(self) -> Sequence[Conversation]:
        """The conversations, in the order in which they were begun."""
        self._engine.look()
        return tuple(
            Conversation(self._engine, record)
            for record in self._engine.account.conversations.values()
        )

    @property
    def events(self) -> Sequence[Event]:
        """The events that were emitted, whoever listened, in order (§6)."""
        self._engine.look()
        return View(self._engine.outbox.events)

    @property
    def ledger(self) -> Sequence[LedgerEntry]:
        """The entries of the ledger, in order; the balances are their sums."""
        self._engine.look()
        return View(self._engine.account.ledger.entries)

    def message(self, id: str) -> Message:  # noqa: A002 - the service's own name for it
        """Return the message of that id.

        Raises:
            KeyError: There is none.
        """
        self._engine.look()
        message = self._engine.account.by_id.get(id)
        if message is None:
            raise KeyError(f"there is no message {id!r}")
        return Message(self._engine, message)

    # Money

    @property
    def balance(self) -> Balance:
        """What is available, held and charged now, in exact decimals (§2.1, §3 rule 5)."""
        self._engine.look()
        with self._engine.lock:
            ledger = self._engine.account.ledger
            return Balance(ledger.available, ledger.held, ledger.charged, self.config.currency)

    def top_up(self, amount: Money) -> Performing:
        """Add to the balance (assumed).

        Args:
            amount: More than 0: a ``Decimal``, an ``int`` or a text.

        Raises:
            TypeError: The amount is of the wrong kind.
            ValueError: It is not above 0.
        """
        value = exact(amount, "the amount to top up")
        if not value:
            raise ValueError("the amount to top up must be more than 0")
        engine = self._engine
        return self._perform("top_up()", lambda now: engine.account.top_up(value, now))

    def set_balance(self, available: Money) -> Performing:
        """Make what is available exactly that much, by an adjustment (assumed).

        Args:
            available: 0 or more: a ``Decimal``, an ``int`` or a text.

        Raises:
            TypeError: The amount is of the wrong kind.
            ValueError: It is negative or not finite.
        """
        value = exact(available, "the balance")
        engine = self._engine
        return self._perform("set_balance()", lambda now: engine.account.set_balance(value, now))

    def _perform(self, what: str, verb: Callable[[int], Iterable[Fact]]) -> Performing:
        self._engine.perform(what, verb)
        return Performing(self._engine)

    # Flow

    def settle(self) -> Performing:
        """Perform what is planned, run what is due now, attempt what is queued."""
        return self._engine.settle()

    def reset(self) -> Performing:
        """Begin as new: no messages, the opening balance, ids from the start.

        Endpoints and routes stay; faults and records go.
        """
        return self._engine.reset(self.api.forget)

    # The HTTP API (§4, §5)

    @property
    def api_key(self) -> str:
        """The account's key, for the ``X-API-Key`` header (§5)."""
        return self.api.key

    def rotate_key(self) -> str:
        """Give the account another key and return it; the old one gets 401 from now on (§5)."""
        self._engine.refuse_closed()
        service.rekey(self.api, derived_key(f"{self._engine.seed} {next(_fakes)}"))
        return self.api.key

    @property
    def base_url(self) -> str:
        """Where the HTTP API listens, ``http://127.0.0.1:<port>``; its first use starts it."""
        self._engine.refuse_closed()
        return service.url

    @property
    def wsgi_app(self) -> WSGIApplication:
        """The same HTTP API as a WSGI app, without a socket."""
        return service.wsgi_app

    @property
    def http(self) -> Listener:
        """The pytest-httpserver server behind :attr:`base_url`, for handlers of your own."""
        self._engine.refuse_closed()
        _ = service.url
        return service.listener

    def route(
        self, path: str, methods: Iterable[str] = ("POST",), *, webhooks_first: bool = False
    ) -> Callable[[_V], _V]:
        """Decorate a function that answers an endpoint of your own, behind the key check.

        The service's description has no send endpoint, yet every client calls one: write it here.
        The function takes werkzeug's ``Request`` (and the path's variables) and returns a
        ``Response``, a dict, or a dict and a status.

        Args:
            path: Such as ``/v2/messages`` or ``/v2/messages/<id>``.
            methods: The methods that it answers.
            webhooks_first: Whether the events that it causes are attempted before its answer
                leaves: the race that a fast service wins. Otherwise the test's next verb,
                assertion or ``settle()`` attempts them.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: The path is none, or the service's own.
        """
        self._engine.refuse_closed()

        def add(view: _V) -> _V:
            if not callable(view):
                raise TypeError(f"route() decorates a function, not {view!r}")
            self.api.routes.add(path, methods, Route(path, view, webhooks_first))
            return view

        return add

    # Expectations

    def assert_charged(self, amount: Money, *, message: Message | None = None) -> None:
        """Expect that so much was charged: in all, or for one message (§8)."""
        self._assert_amount("charged", amount, message)

    def assert_held(self, amount: Money, *, message: Message | None = None) -> None:
        """Expect that so much is held now: in all, or for one message (§3 rule 5)."""
        self._assert_amount("held", amount, message)

    def assert_available(self, amount: Money) -> None:
        """Expect that so much can be spent now; a text with a minus, if it is below 0."""
        self._assert_amount("available", amount, None)

    def _assert_amount(
        self,
        what: Literal["available", "held", "charged"],
        expected: Money,
        message: Message | None,
    ) -> None:
        value = signed(expected, "the expected amount")
        self._engine.settle_and_look()
        state = None if message is None else self._own(message)
        _fail(assertions.amount_failure(self._engine, what, value, state))

    def assert_statuses(self, message: Message, *statuses: str) -> None:
        """Expect that the message's events had exactly these statuses, in this order (§6).

        Raises:
            AssertionError: They had not.
            ValueError: One of them is no status.
        """
        for status in statuses:
            if status not in STATUSES:
                raise ValueError(f"statuses are {', '.join(STATUSES)}, and {status!r} is none")
        self._engine.settle_and_look()
        _fail(assertions.statuses_failure(self._engine, self._own(message), statuses))

    def assert_requested(self, method: str, path: str, *, times: int | None = None) -> None:
        """Expect that the API was asked for this; ``times=None``: at least once."""
        if times is not None:
            whole(times, "times", 0)
        self._engine.settle_and_look()
        _fail(assertions.requests_failure(self.api.log, method.upper(), path, times))

    @contextmanager
    def expect_charge(self, amount: Money) -> Iterator[None]:
        """Expect that the block charges exactly that much."""
        value = exact(amount, "the expected amount")
        self._engine.settle_and_look()
        ledger = self._engine.account.ledger
        charged, count = ledger.charged, len(ledger.entries)
        yield
        self._engine.settle_and_look()
        found = EXACT.subtract(ledger.charged, charged)
        _fail(assertions.charge_failure(self._engine, value, found, ledger.entries[count:]))

    def explain(self, message: Message) -> str:
        """Tell all that is known of a message: status, money, events and attempts, in order."""
        self._engine.settle_and_look()
        return timeline.message_story(self._engine, self._own(message))

    def _own(self, message: Message) -> MessageState:
        self._engine.own(message)
        return message._look()

    # The end

    def close(self) -> None:
        """End the fake: its key gets 401, connections close, time is given back.

        Twice does no harm.

        Raises:
            NotAwaited: Async mode: steps were never awaited.
        """
        if self._engine.closed:
            return
        try:
            complain(self)
        finally:
            self._shut()

    def _shut(self) -> None:
        if self._engine.closed:
            return
        self._engine.closed = True
        service.close(self.api)
        with ExitStack() as stack:  # each of them, whatever the others do
            stack.callback(service.release)
            stack.callback(self._engine.time.stop)
            stack.callback(self._portal.close)
            stack.callback(self._engine.outbox.close)


def _fail(text: str | None) -> None:
    if text is not None:
        raise AssertionError(text)
