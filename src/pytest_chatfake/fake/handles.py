"""Handles of messages and conversations: verbs and results, but no rules of the service."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Self

from ..base.arguments import alternatives, check_int, check_str, cited, unexpected
from ..base.errors import NotAwaited
from ..base.escaping import one_line
from ..base.views import View
from ..domain.conversations import ConversationState, SessionState
from ..domain.failure_codes import CATALOGUE, Failure, PlatformError, failure
from ..domain.instants import instant, length_of, parse_delay, shown
from ..domain.messages import MAX_DEVICES, MessageState
from ..domain.money import Money, amount
from ..domain.verbs import Accept, Deliver, Draft, Fail, Read, Reject
from ..engine.engine import Engine
from ..people.scripts import Cancel, Later
from ..webhooks.events import Event
from .inbound import Write, writing


class Conversation:
    """A conversation: a session of 24 hours that starts at its first delivery (§1, §2.4)."""

    __slots__ = ("_engine", "_record")

    def __init__(self, engine: Engine, record: ConversationState) -> None:
        self._engine = engine
        self._record = record

    def __repr__(self) -> str:
        record = self._record
        state = record.state(self._engine.time.read())
        return one_line(f"<Conversation {record.id} with {record.recipient}: {state}>")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conversation) and self._record is other._record

    def __hash__(self) -> int:
        return hash(self._record.id)

    @property
    def id(self) -> str:
        """The conversation's identifier, a hex string."""
        return self._record.id

    @property
    def origin_type(self) -> str:
        """The origin type, such as ``marketing``."""
        return self._record.origin_type

    @property
    def recipient(self) -> str:
        """The recipient's address."""
        return self._record.recipient

    @property
    def state(self) -> SessionState:
        """``"pending"`` until the first delivery, ``"open"`` for 24 hours, then ``"expired"``."""
        self._engine.ensure_readable()
        return self._record.state(self._engine.time.read())

    @property
    def started_at(self) -> datetime | None:
        """When the session started: aware, UTC; None while the conversation is pending."""
        self._engine.ensure_readable()
        return _instant(self._record.started_at)

    @property
    def expires_at(self) -> datetime | None:
        """When the session expires: aware, UTC; None while the conversation is pending."""
        self._engine.ensure_readable()
        return _instant(self._record.expires_at)

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation's messages, in the order in which they were sent."""
        engine = self._engine
        engine.ensure_readable()
        engine.account.check_conversation(self._record)
        found = engine.account.messages_in(self._record)
        return View(found, lambda state: Message(engine, state))


class Message:
    """A message, with verbs for what the service and the recipient do.

    Example::

        message = chat_fake.send_text("Sale ends today", to="+15550100")
        message.deliver(devices=2).read()
        assert message.status == "read"
        assert message.charged == Decimal("0.05")

    Each verb returns the message, so verbs chain. In async mode, ``await`` the chain:
    ``await message.deliver().read()``. Reading a result earlier raises ``NotAwaited``.
    """

    __slots__ = ("_at", "_engine", "_state")

    def __init__(self, engine: Engine, state: MessageState, at: Later | None = None) -> None:
        self._engine = engine
        self._state = state
        self._at: Engine | Later = engine if at is None else at  # when its verbs happen

    def __repr__(self) -> str:
        state = self._state
        money = "".join(
            f", {what} {amount:f}"
            for what, amount in (("held", state.held), ("charged", state.charged))
            if amount
        )
        name = state.id or "(not sent yet)"
        return one_line(f"<Message {name} to {state.recipient}: {state.state}{money}>")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._state is other._state

    def __hash__(self) -> int:
        return hash(id(self._state))

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from self._engine.performer.perform(self._state).__await__()
        return self

    # Verbs (§3)

    def deliver(self, devices: int | None = None, *, price: Money | None = None) -> Self:
        """Deliver the message: one ``delivered`` event for each device (§3, §6 rule 2).

        The first delivery in a conversation starts its 24 hours and is charged (§1). With
        ``charge_per="message"``, the first delivery of every message is charged.

        Args:
            devices: The number of devices, at most 10,000. If None, all of the recipient's
                devices that don't have the message yet; if all have it, one.
            price: The final price, if it differs from the estimate: a ``Decimal``, an ``int`` or a
                string. It only matters if the delivery is charged.

        Raises:
            IllegalTransition: The message's status or the recipient's state does not allow it.
            ValueError: ``devices`` or ``price`` is out of range.
        """
        count = None if devices is None else check_int(devices, "devices", 1, MAX_DEVICES)
        final = None if price is None else amount(price, "price")
        self._at.perform(Deliver(self._state, count, final), "deliver()")
        return self

    def read(self) -> Self:
        """Read the message, which emits ``read`` (§3).

        A message that is still ``sent`` is delivered and read in one step, without a ``delivered``
        event. If the person has turned read receipts off, there is no ``read`` event (§3 rule 3):
        a message that is still ``sent`` is delivered instead, and the status stays ``delivered``.

        Raises:
            IllegalTransition: The message's status or the recipient's state does not allow it.
        """
        self._at.perform(Read(self._state), "read()")
        return self

    def fail(
        self,
        code: str = "131026",
        message: str | None = None,
        platform_error: bool | PlatformError = True,
    ) -> Self:
        """Fail a message that was sent, which posts ``failed`` and releases the hold (§3).

        Args:
            code: The error code (§7.2).
            message: The ``errorMessage``; required unless the code is ``131026`` or ``100``.
            platform_error: True to add a ``chatApiError`` to the event, or the one to add (§2.5).

        Raises:
            IllegalTransition: The message's status does not allow it.
            ValueError: The code requires a message, and none is given.
        """
        why = _failure(code, message, platform_error)
        self._at.perform(Fail(self._state, why), "fail()")
        return self

    def writes(self, text: str, /, **fields: object) -> Self:
        """Have this message's recipient write to you, at your own address (assumed).

        The message's status doesn't matter. Arguments and errors are as for
        :meth:`Recipient.writes`.
        """
        self._at.perform(self._written(text, fields), "writes()")
        return self

    def _written(self, text: str, fields: Mapping[str, object]) -> Write:
        engine, state = self._engine, state_of(self, self._engine)
        content = {"body": check_str(text, "text")}
        return writing(engine, engine.account, state.recipient, state, "text", content, fields)

    # Scheduling

    def after(
        self, delta: timedelta | float | None = None, /, **timedelta_arguments: float
    ) -> Message:
        """Return a handle to the same message whose verbs are scheduled for later.

        Example::

            message.after(minutes=5).deliver().after(60).read()
            chat_fake.clock.advance(hours=1)

        The duration counts from the previous ``after()`` in the chain, or else from now (in async
        mode, from the ``await``). All verbs up to the next ``after()`` happen at the same moment,
        once the clock reaches it. Verbs of the original handle still happen immediately.

        If a step is illegal when it is due, time stops at that moment, the message's other steps
        are cancelled, and the call that moved time raises an error that names the line of the step.
        An ``after()`` without a verb fails the test when its function ends.

        Args:
            delta: A ``timedelta`` or seconds.
            **timedelta_arguments: ``days=``, ``hours=`` and so on, as for ``timedelta``.

        Raises:
            TypeError: No duration is given, or both ``delta`` and keyword arguments.
            ValueError: The duration is negative, or too long to schedule.
            ClockError: The moment is past the end of the calendar.
            ClosedError: The message was sent before the fake was reset.
        """
        length = parse_delay(length_of("after()", delta, timedelta_arguments), "after()")
        earlier = self._at if isinstance(self._at, Later) else None
        later = Later(self._engine, self._state, earlier, length)
        return Message(self._engine, self._state, later)

    def cancel(self) -> Self:
        """Cancel the message's scheduled steps, whichever ``after()`` scheduled them.

        Raises:
            ClosedError: The message was sent before the fake was reset.
        """
        self._engine.perform(Cancel(self._state), "cancel()")
        return self

    # Results

    def _known(self) -> MessageState:
        self._engine.ensure_readable()
        if not self._state.number:
            raise NotAwaited("this message was never sent: an earlier step failed or was cancelled")
        return self._state

    @property
    def id(self) -> str:
        """The service's identifier (§2.3)."""
        return self._known().id

    @property
    def chat_message_id(self) -> str:
        """The platform's identifier, ``wamid....`` (§2.3)."""
        return self._known().chat_message_id

    @property
    def body(self) -> str:
        """The text; empty if the message's type is not ``text``."""
        return self._state.body

    @property
    def type(self) -> str:
        """``"text"`` or another type (§2.3)."""
        return self._state.type

    @property
    def content(self) -> Any:
        """The object or list under the type's key, with fractions as exact ``Decimal``s."""
        if self._state.content is None:
            return {"body": self._state.body}
        return json.loads(self._state.content, parse_float=Decimal)

    @property
    def extra(self) -> dict[str, Any]:
        """The fields that were added with ``extra=``, with fractions as exact ``Decimal``s.

        Fields of an ``extra=`` function are not included.
        """
        return dict(json.loads(f"{{{self._state.extra[1:]}}}", parse_float=Decimal))

    @property
    def to(self) -> str:
        """The recipient's address."""
        return self._state.recipient

    @property
    def status(self) -> str:
        """``"sent"``, ``"delivered"``, ``"read"`` or ``"failed"`` (§3)."""
        state = self._known().state
        return "sent" if state == "dropped" else state

    @property
    def sent_at(self) -> datetime | None:
        """When the message was sent: aware, UTC; None if it was rejected (§3 rule 4)."""
        moment = self._known().sent_at
        return None if moment is None else instant(shown(moment))

    @property
    def dropped(self) -> bool:
        """Whether the message was dropped, after 30 days as ``sent`` (§3 rule 5)."""
        return self._known().state == "dropped"

    @property
    def total_price(self) -> Decimal:
        """The estimated price while the message is ``sent``, then the final price (§2.3)."""
        return self._known().total_price

    @property
    def conversation(self) -> Conversation | None:
        """The message's conversation; None if the message failed before it was sent."""
        record = self._known().conversation
        return None if record is None else Conversation(self._engine, record)

    @property
    def origin_type(self) -> str | None:
        """The origin type of the message's conversation."""
        conversation = self.conversation
        return None if conversation is None else conversation.origin_type

    @property
    def events(self) -> Sequence[Event]:
        """The message's events so far, in order."""
        self._known()
        return self._engine.outbox.events_of(state_of(self, self._engine))

    @property
    def charged(self) -> Decimal:
        """The amount charged for this message."""
        return self._known().charged

    @property
    def held(self) -> Decimal:
        """The amount held for this message now."""
        return self._known().held


class Submission:
    """A submitted message that the service has neither accepted nor rejected yet.

    Example::

        submission = chat_fake.submit_text("Hello")
        message = submission.reject("100")
    """

    __slots__ = ("_draft", "_engine", "_state")

    def __init__(self, engine: Engine, state: MessageState, draft: Draft) -> None:
        self._engine = engine
        self._state = state
        self._draft = draft

    def __repr__(self) -> str:
        return one_line(f"<Submission to {self._state.recipient}: {self._state.state}>")

    def accept(self) -> Message:
        """Accept and send the message, which posts ``sent`` and holds the price (§3).

        Raises:
            IllegalTransition: The message was already accepted or rejected, or the conversation has
                expired.
            TypeError: The price function didn't return an amount.
            ValueError: The amount is out of range, or the origin type isn't the conversation's.
            ClosedError: The submission, or its conversation, is from before a reset.
        """
        return self._decided(Accept(self._state, self._draft), "accept()")

    def reject(
        self,
        code: str = "100",
        message: str | None = None,
        platform_error: bool | PlatformError = False,
    ) -> Message:
        """Reject the message: a ``failed`` event, before anything was sent (§3 rule 4).

        Args:
            code: The error code (§7.2).
            message: The ``errorMessage``; required unless the code is ``100`` or ``131026``.
            platform_error: True to add a ``chatApiError`` to the event, or the one to add (§2.5).

        Raises:
            IllegalTransition: The message was already accepted or rejected.
            ValueError: The code requires a message, and none is given.
            ClosedError: The submission is from before a reset.
        """
        why = _failure(code, message, platform_error)
        return self._decided(Reject(self._state, why), "reject()")

    def _decided(self, verb: Accept | Reject, what: str) -> Message:
        self._engine.perform(verb, what)
        return Message(self._engine, self._state)


def _failure(code: object, message: object, platform_error: object) -> Failure:
    code = check_str(code, "code")
    if message is None:
        if code not in CATALOGUE:
            known = alternatives(CATALOGUE)
            raise ValueError(f"unknown code {cited(code)}: use {known}, or pass its message=")
        message = CATALOGUE[code]
    message = check_str(message, "message")
    if platform_error is True:
        return failure(code, message)
    if platform_error is False:
        platform_error = None
    elif not isinstance(platform_error, PlatformError):
        raise TypeError(
            unexpected("platform_error", "a bool or PlatformError(...)", platform_error)
        )
    return Failure(code, message, platform_error)


def state_of(message: object, engine: Engine) -> MessageState:
    """Return the state of a message of this fake, even if it has not been sent yet."""
    if not isinstance(message, Message):
        raise TypeError(unexpected("message", "a Message", message))
    if message._engine is not engine:
        raise ValueError(f"{cited(message)} belongs to another fake")
    engine.account.check_current(message._state)
    return message._state


def _instant(moment: int | None) -> datetime | None:
    return None if moment is None else instant(moment)
