"""The fake that a test uses. It puts the parts together, and contains no rules of the service."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import timedelta
from decimal import Decimal
from functools import partial
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet, finalize

from ..base.arguments import (
    check_bool,
    check_choice,
    check_function,
    check_int,
    check_plain,
    check_seed,
    check_share,
    check_str,
    cited,
    unexpected,
)
from ..base.calling_line import calling_line, is_by_package
from ..base.current_test import current, is_of_outer_test
from ..base.errors import ChatFakeError
from ..base.forks import call_in_children
from ..base.views import View, counted
from ..domain.ids import derived_key
from ..domain.instants import SECOND, parse_length
from ..domain.ledger import Balance, LedgerEntry
from ..domain.messages import MAX_DEVICES, STATUSES, MessageState
from ..domain.money import EXACT, Money, signed
from ..domain.money import amount as exact
from ..domain.people import PersonState
from ..domain.verbs import Accept
from ..engine.engine import Engine
from ..engine.performer import Pending
from ..engine.verbs import SetBalance, TopUp
from ..http_api.account_api import AccountApi
from ..http_api.key_header import KeyHeader
from ..http_api.routes import Route
from ..http_api.service import Service
from ..people.autopilot import Autopilot, Autopilots, Span, draws_of
from ..people.scripts import run_scheduled
from ..report import active_stories, failure_texts
from ..report.explanations import explanation
from ..report.final_checks import FinalChecks, warn_of_unclosed
from ..report.section import Section
from ..report.story import Story
from ..transport.client.headers import check_header
from ..transport.client.portal import Portal
from ..transport.client.watchdog import watchdog
from ..webhooks.events import Event
from .clock import Clock
from .config import ChatFakeConfig, Price, given_or_default
from .drafts import Drafts
from .handles import Conversation, Message, Submission, state_of
from .inbound import Write
from .message_search import MessageSearch
from .recipients import Recipient, address_of
from .send_endpoint import Parse, ReplyFunction, SendEndpoint
from .snapshots import Snapshot, check_snapshot, expect_idempotent
from .timeline import Timeline
from .waits import check_predicate, wait_until
from .webhooks import Webhooks

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

    from ..report.failure_texts import Figure
    from ..transport.server.listener import Listener

_V = TypeVar("_V", bound="Callable[..., Any]")

#: One HTTP API serves all fakes of the process; the plugin keeps it up for the session.
service: Service = Service()
call_in_children(service.leave_to_parent)

#: Keys are numbered within each test, so they don't depend on earlier tests.
_numbers: tuple[str, Iterator[int]] = ("", itertools.count())

#: The fakes that are still open.
opened: WeakSet[ChatFake] = WeakSet()


def share_open_fakes() -> None:
    # Their histories so far belong to earlier tests.
    stories = [fake._story for fake in opened if not fake._engine.core.closed]
    stories.sort(key=lambda story: story.number)
    shared = current().stories
    shared.extend(story for story in stories if not is_of_outer_test(story))
    for story in shared:
        story.skip()


class ChatFake:
    """An in-process fake of the messaging service.

    Under pytest, every test gets its own from the fixture ``chat_fake``. Elsewhere, use it as a
    context manager::

        with ChatFake(price="0.10") as fake:
            fake.webhooks.connect(wsgi=app, path="/hooks/chat")
            fake.send_text("Sale ends today").deliver(devices=2).read()
            assert fake.balance.charged == Decimal("0.10")

    In async mode, ``await`` everything that changes something: messages, chains of verbs, and every
    call that returns a ``Pending``. While steps are pending, you can only read :attr:`timeline`;
    other results raise ``NotAwaited``.

    Pass amounts as a ``Decimal``, an ``int`` or a string, in the configuration's currency; results
    are exact ``Decimal``s. After :meth:`close`, you can still read results, but every call that
    would change something raises ``ClosedError``.

    *Assumed* means that the service's description is silent, so check how your account behaves.

    Args:
        config: The configuration; the defaults if None.
        **fields: Fields of :class:`~pytest_chatfake.ChatFakeConfig`.

    Attributes:
        config: The configuration.
        clock: Moves time.
        webhooks: Connects endpoints, lists attempts, and sets up webhook faults.
        api: Lists requests to the HTTP API, and sets up faults in its responses.

    Raises:
        TypeError: A field is unknown.
        ValueError: A value is out of range, or another open fake has the same API key.
    """

    def __init__(self, config: ChatFakeConfig | None = None, /, **fields: Any) -> None:
        config = given_or_default(config).replace(**fields)
        self.config = config
        seed = config.seed or os.urandom(16).hex()
        self._portal = Portal()
        self._engine = engine = Engine(config._settings(seed), self._portal)
        self._drafts = Drafts(engine, config)
        engine.executor.due_handlers["step"] = partial(run_scheduled, engine)
        self.clock: Clock = Clock(engine)
        self.webhooks: Webhooks = Webhooks(engine, config, self._portal)
        key = config.api_key or _next_key(seed)
        self.api: AccountApi = AccountApi(engine, key, KeyHeader(config.api_key_header))
        self._key_reads = 0
        self._story = Story(engine, self.api)
        active_stories.register(self._story)
        strict = config.strict is not False
        self._checks = FinalChecks(engine, self.api, strict=strict)
        line = None if is_by_package() else calling_line()  # the package closes its own
        self._unclosed = finalize(self, warn_of_unclosed, current().why_open, line)
        opened.add(self)
        try:
            service.open(self.api)
            if config.tls:
                _ = service.authority  # refuses a missing trustme
            if config.webhook_url is not None:
                self.webhooks.connect(config.webhook_url)
        except BaseException:
            self._shut()
            raise

    def __repr__(self) -> str:
        state = "closed" if self._engine.core.closed else self._engine.mode
        messages, ledger = self._engine.account.messages, self._engine.account.ledger
        return (
            f"<ChatFake {state}, {counted(len(messages), 'message')}: available "
            f"{ledger.available:f}, held {ledger.held:f}, charged {ledger.charged:f} "
            f"{self.config.currency}>"
        )

    # Sending

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
        """Send a text message: it is accepted, a ``sent`` event is posted, and money is held (§3).

        Args:
            body: The text.
            to: An address (any string) or a recipient; always the same person if None (assumed).
            conversation: A conversation, or a hex id for one. If None, it is the pending or open
                conversation with that person and origin type, or a new one (assumed).
            origin_type: The origin type of a new conversation (§2.4).
            price: Overrides the configuration's price: an amount, or a function that takes the
                message, returns an amount, and must not change anything.
            extra: Fields to add to the message resource in the message's events, with JSON values.

        Returns:
            The message. In async mode, ``await`` the message or a chain of its verbs.

        Raises:
            ValueError: An argument is out of range, empty, or belongs to another fake; or the
                conversation has another origin type.
            IllegalTransition: The conversation has expired.
            ClosedError: The conversation is from before a reset.
        """
        state, draft = self._drafts.prepare_text(body, to, conversation, origin_type, price, extra)
        self._engine.perform(Accept(state, draft), "send_text()")
        return Message(self._engine, state)

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
        """Submit a text message and decide later: ``.accept()`` or ``.reject()`` it.

        Arguments and errors are as for :meth:`send_text`. The conversation is looked up when the
        message is accepted.
        """
        state, draft = self._drafts.prepare_text(body, to, conversation, origin_type, price, extra)
        self._engine.submitted(state, "submit_text()")
        return Submission(self._engine, state, draft)

    def send(
        self,
        type: str,  # noqa: A002 - as §2.3 names it
        content: Mapping[str, object] | list[Any],
        *,
        to: str | Recipient | None = None,
        conversation: Conversation | str | None = None,
        origin_type: str | None = None,
        price: Price | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> Message:
        """Send a message of any type (assumed: §2.3 shows only ``text``).

        Example::

            chat_fake.send("image", {"link": "https://example.com/cat.png"}).deliver()

        In the message resource, the key named after the type holds ``content``, a JSON object or
        list: here, ``"image": {...}``. So a type can't have the name of another field of a message.
        Prices, failures and drops work as for a text message. Other arguments and errors are as for
        :meth:`send_text`.
        """
        state, draft = self._drafts.prepare(
            type, content, to, conversation, origin_type, price, extra
        )
        self._engine.perform(Accept(state, draft), "send()")
        return Message(self._engine, state)

    def submit(
        self,
        type: str,  # noqa: A002 - as §2.3 names it
        content: Mapping[str, object] | list[Any],
        *,
        to: str | Recipient | None = None,
        conversation: Conversation | str | None = None,
        origin_type: str | None = None,
        price: Price | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> Submission:
        """Submit a message of any type, and decide later: accept or reject it (assumed).

        Arguments and errors are as for :meth:`send`.
        """
        state, draft = self._drafts.prepare(
            type, content, to, conversation, origin_type, price, extra
        )
        self._engine.submitted(state, "submit()")
        return Submission(self._engine, state, draft)

    # The people at the other end

    def recipient(
        self,
        address: str,
        *,
        devices: int | None = None,
        read_receipts: bool | None = None,
        online: bool | None = None,
        blocked: bool | None = None,
        chat_open: bool | None = None,
        registered: bool | None = None,
        withheld: bool | None = None,
    ) -> Recipient:
        """Describe the person at an address; until a reset, an address has one ``Recipient``.

        The arguments apply immediately, even in async mode; what you leave out stays as it was. By
        default, a person has one device, is online, and sends read receipts.

        Args:
            address: Where messages go; any string.
            devices: How many devices the person uses, at most 10,000; ``deliver()`` reaches all of
                them.
            read_receipts: Whether the service learns when the person reads (§3 rule 3).
            online: Whether the phone is on; nothing arrives while it is off (§3 rule 2).
            blocked: Whether the person has blocked the sender: messages stay ``sent`` (§3 rule 2).
            chat_open: Whether the chat is on the person's screen: messages are read on arrival
                (§3).
            registered: Whether the number is registered; if not, messages fail with 131026 (§7.2),
                immediately (assumed).
            withheld: Whether messages to the person are withheld (§3 rule 2).

        Raises:
            ValueError: The address is empty, the number of devices is out of range, or the chat
                would be open although the phone is off or the number is not registered.
        """
        engine = self._engine
        engine.refuse_closed()
        check_str(address, "address")
        flags = {
            "read_receipts": read_receipts,
            "online": online,
            "blocked": blocked,
            "chat_open": chat_open,
            "registered": registered,
            "withheld": withheld,
        }
        changes: dict[str, Any] = {name: flag for name, flag in flags.items() if flag is not None}
        for name, flag in changes.items():
            check_bool(flag, name)
        if devices is not None:
            changes["devices"] = check_int(devices, "devices", 1, MAX_DEVICES)
        recipients = engine.state.part(Recipient, dict[str, Recipient])
        handle = recipients.get(address) or Recipient(engine, address)
        if changes:
            person = engine.account.people.get(address) or PersonState(address)
            if (contradiction := person._replace(**changes).contradiction) is not None:
                raise ValueError(f"can't call recipient() for {address}: {contradiction}.")
            handle._describe("recipient()", changes)
        recipients[address] = handle
        return handle

    def autopilot(
        self,
        *,
        to: str | Recipient | None = None,
        deliver_after: Span | None = None,
        read_after: Span | None = None,
        fail_share: float = 0,
        replies: Callable[[Message, Random], str | None] | None = None,
        reply_after: Span = 0,
        seed: int | str | None = None,
    ) -> Autopilot:
        """Deliver, read, fail and answer messages automatically, at random times (assumed).

        An autopilot handles messages that are sent from now on, unless they have a script
        (``after()``). An autopilot for a single address takes precedence over a general one, and a
        later one over an earlier one. While a phone is off, its messages wait. An unused
        autopilot doesn't make a test fail.

        Args:
            to: Whose messages to handle: an address or a recipient; everybody's if None.
            deliver_after: The time from sending to delivery: a ``timedelta`` or seconds, a pair of
                them for a uniform range, or a function that takes a ``random.Random`` and returns a
                duration. If None, nothing is delivered.
            read_after: The time from delivery to reading, in the same forms. If None, nothing is
                read. People with read receipts off cause no ``read`` event.
            fail_share: The share of messages that fail instead of being delivered, from 0 to 1.
                They fail with 131026 (§7.2), immediately if ``deliver_after`` is None.
            replies: A function that takes the message and a ``random.Random``, and returns the
                person's reply to you, or None. It is called when the message is sent, and
                must not change anything. If the person can't write when the reply is due, nothing
                is written (assumed).
            reply_after: The time from reading to the reply, in the same forms. If there is no
                ``read`` event, it is the time from the delivery.
            seed: The seed of the random numbers, which also depend on the message's number; the
                fake's own seed if None.

        Returns:
            The autopilot; ``end()`` or the end of a ``with`` block stops it.

        Raises:
            TypeError: ``reply_after`` is given without ``replies``.
            ValueError: A duration is negative or a range reversed, the share is not between 0 and
                1, or the recipient belongs to another fake.
        """
        engine = self._engine
        engine.refuse_closed()
        address = None if to is None else address_of(to, engine)
        if seed is not None:
            check_seed(seed)
        check_share(fail_share, "fail_share")
        reply = None
        if replies is not None:
            example = 'lambda message, random: "STOP"'
            check_function(replies, "replies", example, "the message", "a random.Random")
            reply = partial(self._reply, replies)
        elif reply_after:
            raise TypeError("reply_after= needs replies=: without it, nobody replies")
        autopilots = engine.state.part(Autopilots, partial(Autopilots, engine))
        autopilot = Autopilot(
            autopilots,
            address,
            None if deliver_after is None else draws_of(deliver_after, "deliver_after"),
            None if read_after is None else draws_of(read_after, "read_after"),
            fail_share,
            reply,
            draws_of(reply_after, "reply_after"),
            engine.seed if seed is None else str(seed),
            calling_line(),
            any(map(callable, (deliver_after, read_after, replies))),
        )
        autopilots.add(autopilot)
        return autopilot

    def _reply(
        self, replies: Callable[..., str | None], state: MessageState, random: Random
    ) -> Write | None:
        message = Message(self._engine, state)
        text = replies(message, random)
        return None if text is None else message._written(text, {})

    # What happened so far

    @property
    def messages(self) -> Sequence[Message]:
        """The messages, in the order in which they were accepted or rejected."""
        engine = self._engine
        engine.ensure_readable()
        return View(engine.account.messages, lambda state: Message(engine, state))

    @property
    def conversations(self) -> Sequence[Conversation]:
        """The conversations, in the order in which they began."""
        engine = self._engine
        engine.ensure_readable()
        return View(engine.account.conversations.all, lambda record: Conversation(engine, record))

    @property
    def events(self) -> Sequence[Event]:
        """All events so far, in order, whether or not an endpoint listens (§6)."""
        self._engine.ensure_readable()
        return View(self._engine.outbox.events)

    @property
    def ledger(self) -> Sequence[LedgerEntry]:
        """The ledger's entries, in order; they add up to the balance."""
        self._engine.ensure_readable()
        return View(self._engine.account.ledger.entries)

    @property
    def timeline(self) -> Timeline:
        """All that happened, in order: verbs, money, events, attempts, requests and clock moves."""
        return Timeline(self._story)

    def message(self, id: str) -> Message:  # noqa: A002 - the service's own name for it
        """Return the message with this id.

        Raises:
            KeyError: There is no such message.
            ValueError: The id is empty.
        """
        self._engine.ensure_readable()
        state = self._engine.account.find(check_str(id, "id"))
        if state is None:
            raise KeyError(f"there is no message {cited(id)}")
        return Message(self._engine, state)

    def find_message(
        self, to: str | Recipient | None = None, body: str | None = None, **fields: object
    ) -> Message:
        """Return the only message that matches, such as the one that your app has sent.

        Example::

            shop.remind(customer)
            chat_fake.find_message(to=customer.phone, externalId="order-17").deliver()

        Args:
            to: The recipient, or the address.
            body: The text.
            **fields: Fields of the message resource, as in the message's newest event.

        Raises:
            LookupError: No message matches, or several do; the error lists the closest.
        """
        engine = self._engine
        engine.ensure_readable()
        address = None if to is None else address_of(to, engine)
        if not (body is None or isinstance(body, str)):
            raise TypeError(unexpected("body", "a str", body))
        make = partial(MessageSearch, engine, self.config.naming.message_key)
        return engine.state.part(MessageSearch, make).find(address, body, fields)

    # Money

    @property
    def balance(self) -> Balance:
        """The available, held and charged amounts now (§2.1, §3 rule 5)."""
        self._engine.ensure_readable()
        with self._engine.core.lock:
            ledger = self._engine.account.ledger
            return Balance(ledger.available, ledger.held, ledger.charged, self.config.currency)

    def top_up(self, amount: Money) -> Pending[None]:
        """Add to the balance (assumed).

        Args:
            amount: Greater than 0.

        Raises:
            ValueError: The amount is not greater than 0.
        """
        value = exact(
            amount,
            "amount",
            "To take money away, write what is left: set_balance(...)",
        )
        if not value:
            raise ValueError(unexpected("amount", "more than 0", amount))
        self._engine.perform(TopUp(None, value), "top_up()")
        return self._engine.pending()

    def set_balance(self, available: Money) -> Pending[None]:
        """Set the available amount, with an adjustment in the ledger (assumed).

        Args:
            available: 0 or more.

        Raises:
            ValueError: The amount is negative or not finite.
        """
        value = exact(
            available,
            "available",
            "Write what is available from now on, not the difference",
        )
        self._engine.perform(SetBalance(None, value), "set_balance()")
        return self._engine.pending()

    # Expectations

    def assert_charged(self, amount: Money, *, message: Message | None = None) -> None:
        """Assert that this amount has been charged, in total or for one message (§8).

        In sync mode, the fake settles first.

        Args:
            amount: The expected amount.
            message: The message to look at; all messages if None.

        Raises:
            AssertionError: The charged amount differs; the error explains each charge.
            ValueError: The amount is not a number, or the message belongs to another fake.
        """
        self._assert_amount("charged", amount, message)

    def assert_held(self, amount: Money, *, message: Message | None = None) -> None:
        """Assert that this amount is held, in total or for one message (§3 rule 5).

        Arguments and errors are as for :meth:`assert_charged`.
        """
        self._assert_amount("held", amount, message)

    def assert_available(self, amount: Money) -> None:
        """Assert that the available balance (§2.1), which may be negative, equals ``amount``.

        Errors are as for :meth:`assert_charged`.
        """
        self._assert_amount("available", amount, None)

    def _assert_amount(self, what: Figure, expected: Money, message: Message | None) -> None:
        value = signed(expected, "amount")
        self._engine.settle_before_read()
        state = None if message is None else self._state_of(message)
        _fail(failure_texts.amount_failure(self._story, what, value, state))

    def assert_statuses(self, message: Message, *statuses: str) -> None:
        """Assert that a message's events have exactly these statuses, in this order (§6).

        Example::

            chat_fake.assert_statuses(message, "sent", "delivered", "read")

        Raises:
            AssertionError: The statuses differ.
            ValueError: A status is unknown, or the message belongs to another fake.
        """
        for status in statuses:
            if not isinstance(status, str):
                raise TypeError(unexpected("statuses", "one argument for each status", status))
            if status not in STATUSES:  # emit() may have used it
                emitted = (event.status for event in self._engine.outbox.events if event.status)
                check_choice(status, "status", dict.fromkeys([*STATUSES, *emitted]))
        self._engine.settle_before_read()
        _fail(failure_texts.statuses_failure(self._story, self._state_of(message), statuses))

    def assert_requested(self, method: str, path: str, *, times: int | None = None) -> None:
        """Assert that a request was made to the API (§4).

        Args:
            method: The method, such as ``GET``.
            path: The path, without the query string.
            times: The exact number of requests; at least one if None.

        Raises:
            AssertionError: The request was not made, or not the expected number of times.
            ValueError: An argument is empty or out of range.
        """
        method = check_str(method, "method").upper()
        check_str(path, "path")
        if times is not None:
            check_int(times, "times", 0)
        self._engine.settle_before_read()
        _fail(failure_texts.requests_failure(self._story, method, path, times))

    def expect_charge(self, amount: Money) -> AbstractContextManager[None]:
        """Assert that a block charges exactly this amount (§8).

        Example::

            with chat_fake.expect_charge("0.05"):
                shop.send_reminders()

        Raises:
            AssertionError: The block charged a different amount.
            ChatFakeError: The fake was reset in the block.
            ValueError: The amount is not a number, or negative.
        """
        value = exact(amount, "amount", "Write what the block charges, without a sign")
        block = _ExpectedCharge(self._engine, self._story, value)
        self._engine.expect_use(block, "`with chat_fake.expect_charge(...):`")
        return block

    def explain(self, message: Message) -> str:
        """Explain why a message costs what it does, and cite the service's sections (§).

        Returns:
            Several lines, with the message's status, money and history.

        Raises:
            ValueError: The message belongs to another fake.
        """
        self._engine.settle_before_read()
        return explanation(self._story, self._state_of(message))

    def _state_of(self, message: Message) -> MessageState:
        state_of(message, self._engine)
        return message._known()

    # Snapshots of an app's state

    def assert_idempotent(self, snapshot: Snapshot) -> Pending[None]:
        """Post all events again, byte for byte, and assert that the app's snapshot stays the same.

        Example::

            chat_fake.send_text("Hello").deliver().read()
            chat_fake.assert_idempotent(lambda: shop.spent)

        The fake settles first. Then each event that an endpoint accepted is posted again, in order,
        and the snapshot is compared after each event.

        Args:
            snapshot: A function without arguments that returns the app's state: a sum, a dict of
                statuses, or rows, for example. In async mode, it may be ``async def``.

        Raises:
            AssertionError: The snapshot changed; the error names the first event that changed it.
            ChatFakeError: No event was accepted before, ``paused()`` holds one back, or the app may
                have changed the snapshot in the background.
            TypeError: The snapshot can't be copied.
        """
        check_snapshot(snapshot)
        check = partial(expect_idempotent, self._engine, snapshot)
        return self._engine.check("assert_idempotent()", check)

    def assert_order_independent(self, snapshot: Snapshot) -> Pending[None]:
        """Assert that the snapshot is the same in every world of an exploration.

        Queued and due events are posted first.

        Args:
            snapshot: As for :meth:`assert_idempotent`.

        Raises:
            AssertionError: The snapshot differs from that of the world as written.
            ChatFakeError: The fake is not part of an exploration, or no event has been posted yet.
        """
        check_snapshot(snapshot)
        if (observer := self._engine.drain.observer) is None:
            raise ChatFakeError(
                "assert_order_independent() compares the worlds of an exploration, but this fake "
                "isn't part of one: call it in a chat_explore body, or use assert_idempotent()"
            )
        check = partial(observer.compare, snapshot)
        return self._engine.check("assert_order_independent()", check)

    # Flow

    def settle(self) -> Pending[None]:
        """Perform pending steps, run what is due, and post queued webhooks.

        It only moves the clock to post late duplicates, and to retry attempts that failed after a
        fault had changed the order of attempts.

        Raises:
            Exception: The first error of a route, an in-process app or a due step.
        """
        return self._engine.settle()

    def wait_until(
        self,
        predicate: Callable[[], Any],
        *,
        timeout: timedelta | float = 5,
        settle: bool = True,
    ) -> Any:
        """Wait until an app that works in the background has done something.

        Example::

            chat_fake.send_text("Hello").deliver()
            chat_fake.wait_until(lambda: shop.spent == Decimal("0.05"))

        Real time passes; the fake's clock only moves where :meth:`settle` moves it. The fake
        settles before each call of the predicate, and other threads and tasks keep running. In an
        exploration, the fake doesn't settle; it only posts held-back webhooks, before the first
        call.

        Args:
            predicate: A function without arguments, or a coroutine function. It is called until it
                returns a true value; a ``LookupError`` or an ``AssertionError`` means "not yet".
            timeout: Real time, even while time is frozen: a ``timedelta`` or seconds.
            settle: Pass False to post nothing during the wait, for example so that webhooks only
                arrive after your app has committed.

        Returns:
            The true value. In async mode, ``await`` it.

        Raises:
            AssertionError: The predicate was not true in time; the error shows the value or the
                error of the last call.
            Exception: The predicate raised another error, or an in-process app raised one.
            ValueError: The timeout is not greater than 0.
        """
        check_predicate(predicate)
        length = parse_length(timeout, "timeout")
        check_bool(settle, "settle")
        return wait_until(self._engine, self._portal, predicate, length / SECOND, settle=settle)

    def reset(self) -> Pending[None]:
        """Start over: no messages, the opening balance, and ids from the beginning.

        The clock doesn't move, and endpoints, routes and the key stay. Recipients, autopilots,
        faults and all records are removed, including those of receivers.
        """
        return self._engine.reset(lambda: current().before_forget(self._story))

    # The HTTP API (§4, §5)

    @property
    def api_key(self) -> str:
        """The account's key (§5); :attr:`headers` has it in the right header."""
        self._key_reads += 1
        return self.api._key

    @property
    def headers(self) -> dict[str, str]:
        """The header with the account's key, for a client's requests (§5).

        Raises:
            ChatFakeError: The configuration's ``api_key_header`` is a function.
        """
        return self.api._key_header.headers(self.api_key)

    def rotate_key(self) -> str:
        """Replace the account's key and return the new one; the old key now gets a 401 (§5)."""
        self._engine.refuse_closed()
        self._engine.note("rotate_key()", calling_line())
        service.rekey(self.api, _next_key(self._engine.settings.seed))
        return self.api._key

    @property
    def base_url(self) -> str:
        """The URL of the HTTP API, ``http://127.0.0.1:<port>``; reading it starts the server.

        With ``tls=True``, it is ``https://``, and :attr:`ca_file` is the certificate to trust.

        The ini option ``chat_fake_host`` makes the fixture's server listen on another address.
        """
        self._engine.refuse_closed()
        url = service.url_of(self.api)
        return service.secured(url) if self.config.tls else url

    @property
    def ca_file(self) -> str:
        """The path of the certificate of the authority that signed the API's, in PEM.

        A client over https has to trust it. It is the same for all fakes of the process.

        Raises:
            ChatFakeError: ``trustme`` is not installed.
        """
        return service.authority.path

    @property
    def wsgi_app(self) -> WSGIApplication:
        """The same HTTP API as a WSGI app, without a socket."""
        return service.wsgi_app

    @property
    def http(self) -> Listener:
        """The pytest-httpserver server behind :attr:`base_url`, for your own handlers.

        ``chat_fake`` clears the handlers after every test. ``close_idle_connections()`` closes the
        connections that clients keep open, and ``connections`` is their set.
        """
        self._engine.refuse_closed()
        _ = service.url
        return service.listener

    def route(
        self,
        path: str,
        methods: Iterable[str] = ("POST",),
        *,
        webhooks_first: bool = False,
        idempotency_header: str | None = None,
    ) -> Callable[[_V], _V]:
        """Decorate a function that serves a route of your own (assumed).

        As on the fake's own routes, requests need the API key. If :meth:`send_endpoint` does not
        fit your service's send call, write your own::

            @chat_fake.route("/v2/messages")
            def send(request):
                message = chat_fake.send_text(request.json["text"], to=request.json["to"])
                return {"id": message.id}, 202

        The function takes werkzeug's ``Request`` and the path's variables. It returns a
        ``Response``, a dict, exact bytes or None (204); the last three may come with a status. If
        several routes match a request, the last one added responds. If its function returns
        ``NotImplemented``, the request goes to the earlier route, to a handler of :attr:`http`, or
        gets a 404.

        Args:
            path: The path, such as ``/v2/messages`` or ``/v2/messages/<id>``.
            methods: The HTTP methods.
            webhooks_first: Whether a call's webhooks are posted before its response leaves, as when
                a webhook overtakes the response. Otherwise, the test's next verb, assertion or
                ``settle()`` posts them.
            idempotency_header: The header with a call's idempotency key, such as
                ``"Idempotency-Key"``. If the key and the body repeat, the call gets the first
                response again, even if that response was lost, and the function is not called. The
                same key with a different body gets a 409, and so does a call while the first one is
                in flight. A 4xx response isn't kept, nor is anything if the function raises; other
                responses are, including 5xx. A reset forgets all keys.

        Raises:
            ValueError: The path is invalid, or one of the service's own.
        """
        self._engine.refuse_closed()
        check_bool(webhooks_first, "webhooks_first")
        if idempotency_header is not None:
            check_header(idempotency_header, "idempotency_header")

        unused = object()  # not `add`, which would keep the fake alive through itself

        def add(view: _V) -> _V:
            self._engine.state.unused.pop(unused, None)
            check_plain(view, "route()")
            route = Route(path, view, webhooks_first, idempotency_header)
            self.api._routes.add(path, methods, route)
            return view

        self._engine.expect_use(unused, "`@chat_fake.route(...)`")
        return add

    def send_endpoint(
        self,
        path: str = "/v2/messages",
        *,
        echo: Iterable[str] = (),
        parse: Parse | None = None,
        status: str = "sent",
        reply: ReplyFunction | None = None,
        idempotency_header: str | None = None,
        webhooks_first: bool = False,
    ) -> None:
        """Add a send call: a key-checked POST that sends the message in its body (assumed).

        The body is ``{"to": "+1...", "type": "text", "text": {"body": "Hello"}}``, with
        ``recipient`` accepted in place of ``to``. For another type, its object or list is under the
        key named after the type. If ``ChatFakeConfig.naming`` sets ``from_key``, the body's
        ``from`` is the sender's address. The response is a 200 with the message resource of the
        ``sent`` event, or of the ``failed`` event if the message is rejected. A body without a
        recipient or content, or with two recipients, gets a 400 in the shape of §7.1, and sends
        nothing. If two send calls have the same path, the last one added responds.

        Args:
            path: The path, which may have variables for ``parse`` to read.
            echo: Fields of the body that every event of the message repeats; others are ignored.
            parse: A function that reads the body in place of the fake: it takes werkzeug's
                ``Request`` and returns the arguments of :meth:`send`. If it raises ``ValueError``,
                the call gets a 400.
            status: The status in the response, such as ``"accepted"``, if the message was sent;
                events still say ``sent``.
            reply: A function that takes the message and returns the whole response, like a route.
            idempotency_header: As for :meth:`route`; a call with a known key sends nothing.
            webhooks_first: As for :meth:`route`.

        Raises:
            ValueError: The path is invalid, or ``echo`` names a field of the description.
        """
        endpoint = SendEndpoint(
            self._engine,
            self._drafts,
            self.config.naming,
            echo=echo,
            parse=parse,
            status=status,
            reply=reply,
        )
        add = self.route(
            path, ["POST"], webhooks_first=webhooks_first, idempotency_header=idempotency_header
        )
        add(endpoint.respond)

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
        else:  # the block's own error matters more
            if not active_stories.is_in_a_test() and (text := str(Section(self._story, exc_value))):
                exc_value.add_note(text)
            self._shut()

    def close(self) -> None:
        """Close the fake: its key gets a 401, connections are closed, and real time is restored.

        Closing it again is a no-op.

        Raises:
            NotAwaited: In async mode, steps were never awaited.
            UndeliveredWebhooks: The test overlooked a failed or queued webhook, or a call without
                effect, and ``strict`` is not False.
            UnusedFault: Faults never fired, and the test overlooked nothing else.
            Exception: An error of a route or an app that the test has not seen yet.
            ChatFakeError: The call comes from a receiver, a route or a callback, for which the fake
                is waiting.
        """
        self._engine.refuse_inside("close()")
        try:
            if not current().is_lost:
                self._checks.run()
        finally:
            self._shut()

    def _shut(self) -> None:
        # It may run again after an interrupt.
        if self not in opened:
            return
        self._unclosed.detach()
        self._engine.core.closed = True
        try:
            with ExitStack() as stack:  # each step, even if one raises
                stack.callback(service.close, self.api)
                stack.callback(self._engine.time.stop)
                stack.callback(self._portal.close)
                stack.callback(self._engine.drain.log.end)  # before what ends with the loop
                stack.callback(self._engine.outbox.endpoints.close)
                stack.callback(watchdog.remove, self._engine.drain.overdue)
        except Exception:
            opened.discard(self)
            raise
        opened.discard(self)


class _ExpectedCharge:
    """Context manager of ``expect_charge()``; a class, to keep contextlib out of tracebacks."""

    def __init__(self, engine: Engine, story: Story, amount: Decimal) -> None:
        self._engine = engine
        self._story = story
        self._amount = amount

    def __enter__(self) -> None:
        self._engine.state.unused.pop(self, None)
        self._engine.settle_before_read()
        self._account = self._engine.account
        self._charged, self._count = self._account.ledger.charged, len(self._account.ledger)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        self._engine.settle_before_read()
        ledger = self._account.ledger
        if self._account is not self._engine.account:
            raise ChatFakeError(
                "expect_charge() can't tell: the fake was reset in its block. Reset it before"
            )
        found = EXACT.subtract(ledger.charged, self._charged)
        entries = ledger.entries[self._count :]
        _fail(failure_texts.charge_failure(self._story, self._amount, found, entries))


def _fail(text: str | None) -> None:
    if text is not None:
        raise AssertionError(text)


def _next_key(seed: str) -> str:
    # Under pytest, the seed is the same in every run.
    global _numbers  # noqa: PLW0603 - there is one test at a time in a process
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if _numbers[0] != test:
        _numbers = (test, itertools.count())
    keys = (derived_key(f"{seed} {test} {number}") for number in _numbers[1])
    return next(key for key in keys if not service.knows(key))
