"""What goes wrong with webhooks in production, each in one line of a test, on the test's clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.arguments import text
from ..base.calling_line import calling_line
from ..domain.instants import planned
from ..engine.plan import Performing
from ..webhooks.events import Event
from ..webhooks.faults import Fault
from ..webhooks.synthetic import edits
from .config import check_signer
from .paused import Paused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import timedelta

    from ..domain.account import Account, Change
    from ..domain.facts import Fact
    from ..domain.messages import MessageState
    from ..engine.engine import Engine
    from ..webhooks.endpoints import Endpoint
    from ..webhooks.faults import FaultKind
    from .config import Signer
    from .messages import Message

__all__ = ["BadDay"]


class BadDay:
    """The part of ``fake.webhooks`` that lets things go wrong.

    The order of events, their retries and their signatures are not described (§5 rule 4, §6
    rule 4): how they go wrong here is assumed.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._outbox = engine.outbox
        self._past_faults: list[Fault] = []  # all that were set up, removed or not

    # Order and loss

    def paused(self) -> Paused:
        """Hold events back inside a block, to release them there in any order.

        ``with fake.webhooks.paused() as queue:``, or ``async with`` in async mode. What is left
        at the end of the block is released in the order in which it was emitted.

        Raises:
            ClosedError: The fake is closed.
            RuntimeError: On entering the block: it is inside another one.
            TypeError: On entering the block: it is written for the other mode.
        """
        self._engine.refuse_closed()
        return Paused(self._engine)

    def duplicate(
        self,
        *,
        times: int | None = 1,
        start: int = 1,
        message: Message | None = None,
        status: str | None = None,
        endpoint: Endpoint | None = None,
    ) -> Fault:
        """Attempt an event twice: same id, same bytes.

        Args:
            times: How many events; None: all, until the fault is removed.
            start: The first event concerned, among those that match; 1 is the next.
            message: Only events of this message.
            status: Only events with this status.
            endpoint: Only attempts at this endpoint.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: An argument is out of range, or of another fake.
        """
        return self._fault("duplicate", times, start, message, status, endpoint)

    def drop(
        self,
        *,
        times: int | None = 1,
        start: int = 1,
        message: Message | None = None,
        status: str | None = None,
        endpoint: Endpoint | None = None,
    ) -> Fault:
        """Lose an event: it is emitted, and never attempted. Arguments as for :meth:`duplicate`."""
        return self._fault("drop", times, start, message, status, endpoint)

    def delay(
        self,
        duration: timedelta | float,
        *,
        times: int | None = 1,
        start: int = 1,
        message: Message | None = None,
        status: str | None = None,
        endpoint: Endpoint | None = None,
    ) -> Fault:
        """Attempt an event later, by so much on the fake's clock.

        Args:
            duration: How much later; a ``timedelta`` or seconds.
            times: As for :meth:`duplicate`; the next four alike.
            start: See there.
            message: See there.
            status: See there.
            endpoint: See there.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: An argument is out of range, or of another fake.
        """
        length = planned(duration, "duration")
        if not length:
            raise ValueError("duration must be longer than nothing")
        return self._fault("delay", times, start, message, status, endpoint, delay=length)

    def tamper(
        self,
        change: Callable[[bytes], bytes] | None = None,
        *,
        times: int | None = 1,
        start: int = 1,
        message: Message | None = None,
        status: str | None = None,
        endpoint: Endpoint | None = None,
    ) -> Fault:
        """Change an event's body after it was signed.

        Args:
            change: Takes the body, returns another; None: a space is added.
            times: As for :meth:`duplicate`; the next four alike.
            start: See there.
            message: See there.
            status: See there.
            endpoint: See there.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: An argument is out of range, or of another fake.
        """
        if change is not None and not callable(change):
            raise TypeError(f"change must be a function of the body, not {change!r}")
        change = change or _with_a_space
        return self._fault("tamper", times, start, message, status, endpoint, change=change)

    def sign(
        self,
        signer: Signer,
        *,
        times: int | None = 1,
        start: int = 1,
        message: Message | None = None,
        status: str | None = None,
        endpoint: Endpoint | None = None,
    ) -> Fault:
        """Sign an event with another signer: another secret, a stale timestamp, no header at all.

        Args:
            signer: Signs in place of the configured one; ``lambda request: {}`` leaves it out.
            times: As for :meth:`duplicate`; the next four alike.
            start: See there.
            message: See there.
            status: See there.
            endpoint: See there.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: An argument is out of range, or of another fake.
        """
        if signer is None:
            raise TypeError("signer must be a function; to sign nothing: lambda request: {}")
        check_signer(signer)
        return self._fault("sign", times, start, message, status, endpoint, signer=signer)

    def _fault(
        self,
        kind: FaultKind,
        times: int | None,
        start: int,
        message: Message | None,
        status: str | None,
        endpoint: Endpoint | None,
        **effect: Any,
    ) -> Fault:
        self._engine.refuse_closed()
        if status is not None:
            text(status, "status")
        if endpoint is not None and endpoint not in self._outbox.endpoints:
            raise ValueError(f"{endpoint!r} is not connected to this fake")
        fault = Fault(
            kind,
            times=times,
            start=start,
            message=None if message is None else self._engine.own(message),
            status=status,
            endpoint=endpoint,
            line=calling_line(),
            remove=self._remove,
            **effect,
        )
        self._outbox.faults.append(fault)
        self._past_faults.append(fault)
        return fault

    def _remove(self, fault: Fault) -> None:
        if fault in self._outbox.faults:
            self._outbox.faults.remove(fault)

    # Events that come again, and events that should not come

    def redeliver(self, event: Event) -> Performing:
        """Attempt a past event again, byte for byte: same id, fresh signature.

        Args:
            event: One of ``fake.events``.

        Raises:
            TypeError: It is no event.
            ValueError: It is not one of this fake's.
        """
        if not isinstance(event, Event):
            raise TypeError(f"redeliver() takes one of fake.events, not {event!r}")
        outbox = self._outbox

        def again(_: Account, __: int) -> tuple[Fact, ...]:
            if event._log is not outbox.events:
                raise ValueError(f"{event!r} was not emitted by this fake")
            outbox.send_again(event)
            return ()

        return self._perform("redeliver()", again)

    def emit(
        self,
        message: Message,
        status: str,
        *,
        changes: Mapping[str, object] | None = None,
        remove: Iterable[str] = (),
        raw: str | bytes | None = None,
    ) -> Performing:
        """Emit an event that the service would not: the message's status and money stay.

        The body is what an event of that status would be for the message as it stands, and then
        changed. What did not happen to it (a delivery, a failure) is shown as of now.

        Fields are named by their path: ``"totalPrice"`` or ``"conversation.expireTime"`` in the
        message, ``"event.id"`` in the envelope.

        Args:
            message: A message that was sent or rejected.
            status: Any text; an unknown status has the fields of a ``sent`` event.
            changes: New values of fields, or new fields.
            remove: Fields to leave out.
            raw: The whole body instead: cut off, not JSON, or huge.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: A field to remove is not there, or ``raw`` is given with changes.
        """
        text(status, "status")
        edit = edits(changes, remove, raw, self._engine.config.naming.message_key)
        state, outbox, line = self._engine.own(message), self._outbox, calling_line()

        def forge(_: Account, now: int) -> tuple[Fact, ...]:
            outbox.forge(state, status, edit, now, line)
            return ()

        return self._perform("emit()", forge, state)

    def _perform(
        self, what: str, change: Change, subject: MessageState | None = None
    ) -> Performing:
        self._engine.perform(what, change, subject)
        return Performing(self._engine)


def _with_a_space(body: bytes) -> bytes:
    return body + b" "
