"""Expectations: methods of the fake, written as functions of it.

In sync mode each settles first: what is due runs, and what is queued is attempted.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ..base.arguments import check_int, check_str, cited
from ..base.misspelt import nearest
from ..domain.messages import STATUSES, MessageState
from ..domain.money import EXACT, Money, signed
from ..domain.money import amount as exact
from ..engine.engine import Engine
from ..report.sections import Story
from .messages import Message, state_of

if TYPE_CHECKING:
    from ..report.failures import Figure


class Asked(Protocol):
    """The fake of which something is expected."""

    _engine: Engine
    _story: Story


def assert_charged(fake: Asked, amount: Money, *, message: Message | None = None) -> None:
    """Expect that so much was charged: in all, or for one message (§8).

    Args:
        amount: A ``Decimal``, an ``int`` or a text.
        message: None: in all.

    Raises:
        AssertionError: It was not.
        TypeError: An argument is of the wrong kind.
        ValueError: The amount is no number, or the message is of another fake.
    """
    _assert_amount(fake, "charged", amount, message)


def assert_held(fake: Asked, amount: Money, *, message: Message | None = None) -> None:
    """Expect that so much is held now: in all, or for one message (§3 rule 5).

    Arguments and errors are those of :meth:`assert_charged`.
    """
    _assert_amount(fake, "held", amount, message)


def assert_available(fake: Asked, amount: Money) -> None:
    """Expect that so much can be spent now (§2.1); with a minus, if it is below 0.

    Arguments and errors are those of :meth:`assert_charged`.
    """
    _assert_amount(fake, "available", amount, None)


def _assert_amount(fake: Asked, what: Figure, expected: Money, message: Message | None) -> None:
    value = signed(expected, "the expected amount")
    fake._engine.settle_before_read()
    state = None if message is None else _known(fake, message)
    from ..report import failures

    _fail(failures.amount_failure(fake._story, what, value, state))


def assert_statuses(fake: Asked, message: Message, *statuses: str) -> None:
    """Expect that the message's events had exactly these statuses, in this order (§6).

    Raises:
        AssertionError: They had not.
        ValueError: One of them is no status.
    """
    for status in statuses:
        if not isinstance(status, str):
            raise TypeError(f"write the statuses one by one, not as {cited(status)}")
        if status not in STATUSES and not _emitted(fake, status):
            near = nearest(status, STATUSES)
            hint = f": did you mean {near!r}?" if near else ""
            raise ValueError(
                f"statuses are {', '.join(STATUSES)}, and {cited(status)} is none{hint}"
            )
    fake._engine.settle_before_read()
    from ..report import failures

    _fail(failures.statuses_failure(fake._story, _known(fake, message), statuses))


def _emitted(fake: Asked, status: str) -> bool:
    return any(event.status == status for event in fake._engine.outbox.events)


def assert_requested(fake: Asked, method: str, path: str, *, times: int | None = None) -> None:
    """Expect that the API was asked for this (§4).

    Args:
        method: Such as ``GET``.
        path: The path, without the query string.
        times: How often; None: at least once.

    Raises:
        AssertionError: It was not.
        TypeError: An argument is of the wrong kind.
        ValueError: An argument is empty or out of range.
    """
    method = check_str(method, "method").upper()
    check_str(path, "path")
    if times is not None:
        check_int(times, "times", 0)
    fake._engine.settle_before_read()
    from ..report import failures

    _fail(failures.requests_failure(fake._story, method, path, times))


@contextmanager
def expect_charge(fake: Asked, amount: Money) -> Generator[None, None, None]:
    """Expect that the block charges exactly that much (§8).

    Raises:
        AssertionError: It charged something else.
        TypeError: The amount is of the wrong kind.
        ValueError: The amount is no number, or negative.
    """
    value = exact(amount, "the expected amount", "write what the block charges, without a sign")
    fake._engine.settle_before_read()
    ledger = fake._engine.account.ledger
    charged, count = ledger.charged, len(ledger)
    yield
    fake._engine.settle_before_read()
    found = EXACT.subtract(ledger.charged, charged)
    from ..report import failures

    _fail(failures.charge_failure(fake._story, value, found, ledger.entries[count:]))


def explain(fake: Asked, message: Message) -> str:
    """Tell why a message costs what it costs, each reason with the section that it rests on.

    And all that is known of it: its status, its money, and what happened to it, in order.
    """
    fake._engine.settle_before_read()
    from ..report.stories import message_story

    return message_story(fake._story, _known(fake, message))


def _known(fake: Asked, message: Message) -> MessageState:
    state_of(message, fake._engine)
    return message._known()


def _fail(text: str | None) -> None:
    if text is not None:
        raise AssertionError(text)
