"""The fake: what a test holds. It puts the parts together and has no rule of its own."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from ..base.arguments import check_str, cited
from ..base.calling_line import calling_line
from ..base.misspelt import spelt
from ..base.views import View, counted
from ..domain.facts import Verb
from ..domain.ids import derived_key
from ..domain.ledger import Balance, LedgerEntry
from ..domain.money import Money
from ..domain.money import amount as exact
from ..engine.engine import Engine
from ..engine.performer import PendingPlan
from ..http_api.account import AccountApi
from ..http_api.routes import Route
from ..http_api.service import Service
from ..people.autopilot import Autopilots
from ..people.scripts import Scripts
from ..report import watching
from ..report.sections import Story
from ..report.teardown import TeardownChecks
from ..transport.client.portal import Portal
from ..transport.client.watch import watch
from ..webhooks.events import Event
from . import checking, expectations, recipients, sending
from .clock import Clock
from .config import ChatFakeConfig, given_or_default
from .drafting import Drafting
from .finding import find_message
from .messages import Conversation, Message
from .send_endpoint import send_endpoint
from .timeline import Timeline
from .waiting import wait_until
from .webhooks import Webhooks

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

    from ..transport.server.listener import Listener

_V = TypeVar("_V", bound="Callable[..., Any]")

#: Behind every fake of the process that is not given another; the plugin holds it for its session.
service: Service = Service()

_fakes = itertools.count(1)


@spelt
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
        webhooks: Connects endpoints, shows what was attempted, and lets things go wrong.
        api: What was asked of the HTTP API, and what goes wrong with it.

    Raises:
        TypeError: There is no such field, or a value is of the wrong kind.
        ValueError: A value is out of range, or another fake that lives has the API key.
    """

    def __init__(self, config: ChatFakeConfig | None = None, /, **fields: Any) -> None:
        config = given_or_default(config).replace(**fields)
        self.config = config
        seed = config.seed or os.urandom(16).hex()
        self._engine = engine = Engine(config._settings(seed))
        self._portal = Portal()
        self._drafting = Drafting(engine, config)
        self._recipients: dict[str, recipients.Recipient] = {}
        self._autopilots = Autopilots(engine)
        self._scripts = Scripts(engine, self._autopilots)
        self.clock: Clock = Clock(engine)
        self.webhooks: Webhooks = Webhooks(engine, config, self._portal)
        key = config.api_key or derived_key(f"{seed} {next(_fakes)}")
        self.api: AccountApi = AccountApi(
            engine, engine.time.read, engine.journal.note, config.currency, key
        )
        self._kept: checking.Kept | None = None  # what an exploration keeps
        self._story = Story(engine, self.api)
        watching.register(self._story)
        strict = bool(config.strict)
        self._checks = TeardownChecks(engine, self.api, self._scripts.idle, strict=strict)
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
        messages, ledger = self._engine.account.messages, self._engine.account.ledger
        return (
            f"<ChatFake {state}, {counted(len(messages), 'message')}: available "
            f"{ledger.available:f}, held {ledger.held:f}, charged {ledger.charged:f} "
            f"{self.config.currency}>"
        )

    # Sending

    recipient: Final = recipients.recipient
    autopilot: Final = recipients.autopilot
    send_text: Final = sending.send_text
    submit_text: Final = sending.submit_text
    send: Final = sending.send
    submit: Final = sending.submit
    send_endpoint = send_endpoint
    find_message = find_message

    # What happened so far

    @property
    def messages(self) -> Sequence[Message]:
        """The messages, in the order in which they were accepted or rejected."""
        engine = self._engine
        engine.ensure_readable()
        return View(engine.account.messages, lambda state: Message(engine, state))

    @property
    def conversations(self) -> Sequence[Conversation]:
        """The conversations, in the order in which they were begun."""
        self._engine.ensure_readable()
        with self._engine.lock:
            records = list(self._engine.account.conversations.all)
        return tuple(Conversation(self._engine, record) for record in records)

    @property
    def events(self) -> Sequence[Event]:
        """The events that were emitted, whoever listened, in order (§6)."""
        self._engine.ensure_readable()
        return View(self._engine.outbox.events)

    @property
    def ledger(self) -> Sequence[LedgerEntry]:
        """The entries of the ledger, in order; the balances are their sums."""
        self._engine.ensure_readable()
        return self._engine.account.ledger.entries

    @property
    def timeline(self) -> Timeline:
        """All that happened, in order: verbs, money, events, attempts, requests, moves of time."""
        return Timeline(self._story)

    def message(self, id: str) -> Message:  # noqa: A002 - the service's own name for it
        """Return the message of that id.

        Raises:
            KeyError: There is none.
            TypeError: It is no text.
            ValueError: It is empty.
        """
        self._engine.ensure_readable()
        state = self._engine.account.find(check_str(id, "a message's id"))
        if state is None:
            raise KeyError(f"there is no message {cited(id)}")
        return Message(self._engine, state)

    # Money

    @property
    def balance(self) -> Balance:
        """What is available, held and charged now, in exact decimals (§2.1, §3 rule 5)."""
        self._engine.ensure_readable()
        with self._engine.lock:
            ledger = self._engine.account.ledger
            return Balance(ledger.available, ledger.held, ledger.charged, self.config.currency)

    def top_up(self, amount: Money) -> PendingPlan:
        """Add to the balance (assumed): a ``Decimal``, an ``int`` or a text, greater than 0.

        Raises:
            TypeError: The amount is of the wrong kind.
            ValueError: It is not above 0.
        """
        value = exact(
            amount,
            "the amount to top up",
            "it is what is added. To take money away, write what is left: set_balance(...)",
        )
        if not value:
            raise ValueError("the amount to top up must be more than 0")
        self._engine.perform(Verb("top_up", None, (value,)), "top_up()")
        return PendingPlan(self._engine.performer)

    def set_balance(self, available: Money) -> PendingPlan:
        """Make what is available exactly that much, by an adjustment (assumed).

        Args:
            available: 0 or more: a ``Decimal``, an ``int`` or a text.

        Raises:
            TypeError: The amount is of the wrong kind.
            ValueError: It is negative or not finite.
        """
        value = exact(
            available,
            "the balance",
            "set_balance() takes what is available from now on, 0 or more, and no difference",
        )
        self._engine.perform(Verb("set_balance", None, (value,)), "set_balance()")
        return PendingPlan(self._engine.performer)

    # Expectations

    assert_charged: Final = expectations.assert_charged
    assert_held: Final = expectations.assert_held
    assert_available: Final = expectations.assert_available
    assert_statuses: Final = expectations.assert_statuses
    assert_requested: Final = expectations.assert_requested
    expect_charge: Final = expectations.expect_charge
    explain: Final = expectations.explain
    assert_idempotent: Final = checking.assert_idempotent
    assert_order_independent: Final = checking.assert_order_independent

    # Flow

    wait_until = wait_until

    def settle(self) -> PendingPlan:
        """Perform what is planned, run what is due now, attempt what is queued."""
        return self._engine.settle()

    def reset(self) -> PendingPlan:
        """Begin as new: no messages, the opening balance, ids from the start.

        Endpoints and routes stay; recipients, faults and records go, a receiver's too.
        """
        return self._engine.reset(self._forget)

    def _forget(self) -> None:
        watching.left(self._story)
        self.api._forget()
        self.webhooks._forget()
        self._recipients.clear()
        self._scripts.forget()
        self._autopilots.forget()

    # The HTTP API (§4, §5)

    @property
    def api_key(self) -> str:
        """The account's key, for the ``X-API-Key`` header (§5)."""
        return self.api._key

    def rotate_key(self) -> str:
        """Give the account another key and return it; the old one gets 401 from now on (§5)."""
        self._engine.refuse_closed()
        self._engine.note("rotate_key()", calling_line())
        service.rekey(self.api, derived_key(f"{self._engine.settings.seed} {next(_fakes)}"))
        return self.api._key

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
        ``Response``, a dict, or a dict and a status. Of two that answer the same request, the last
        one does.

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
                raise TypeError(f"route() decorates a function, not {cited(view)}")
            if inspect.iscoroutinefunction(view):
                raise TypeError("route() decorates a plain function: write `def`, not `async def`")
            self.api._routes.add(path, methods, Route(path, view, webhooks_first))
            return view

        return add

    # The end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc_value is None:
            self.close()
        else:  # the block's own error is what counts
            if not watching.is_in_a_test() and (text := self._story.section()):
                exc_value.add_note(text)
            self._shut()

    def close(self) -> None:
        """End the fake: its key gets 401, connections close, time is given back.

        Twice does no harm.

        Raises:
            NotAwaited: Async mode: steps were never awaited.
            UndeliveredWebhooks: ``strict`` is set, and there is something to warn about.
            Exception: What a user route raised and was not yet re-raised.
        """
        if self._engine.closed:
            return
        try:
            self._checks.run()
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
            stack.callback(self._engine.outbox.endpoints.close)
            stack.callback(watch.remove, self._engine.outbox.overdue)
