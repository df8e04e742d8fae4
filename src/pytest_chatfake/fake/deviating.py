"""Attempts in another order than the service's: methods of webhooks, as functions of them.

They count attempts where they are made, and not events where they are emitted: each event counts
once for each endpoint that it is attempted at. What waits is let go at the next ``settle()``,
assertion or move of time.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol, Unpack

from ..base.arguments import check_int, check_seed, check_share, cited
from ..base.calling_line import calling_line
from ..base.notes import WEBHOOK_FAULT
from ..domain.instants import SECOND, planned
from ..engine.engine import Engine
from ..transport.client.portal import Portal
from ..webhooks.chaos import Chaos
from ..webhooks.deviation import Deviation
from ..webhooks.fault_kinds import FaultKind
from ..webhooks.faults import Fault
from .where import Where, checked


class Deviating(Protocol):
    """The webhooks whose attempts come in another order."""

    _engine: Engine
    _portal: Portal


def reorder(webhooks: Deviating, *, by: int = 1, **where: Unpack[Where]) -> Fault:
    """Let an attempt wait until others were made that came after it (assumed).

    It waits no longer than to the next ``settle()``, assertion or move of time.

    Args:
        by: How many others, whatever they are about; at least 1.
        **where: Which attempts; see :class:`Webhooks`.
    """
    return _deviate(webhooks, "reorder", where, check_int(by, "by", 1))


def again(
    webhooks: Deviating, after: int | None, pause: timedelta | float | None, where: Where
) -> Fault:
    """Make an attempt again; see :meth:`Webhooks.duplicate`."""
    if pause is None:
        return _deviate(webhooks, "duplicate", where, check_int(after, "after", 0))
    if after is not None:
        raise ValueError("after= and pause= say when it comes again: give one of them")
    length = planned(pause, "pause")
    if not length:
        raise ValueError("pause must be greater than 0: with after=0 it comes again at once")
    return _deviate(webhooks, "duplicate", where, pause=length)


def concurrently(webhooks: Deviating, by: int, where: Where) -> Fault:
    """Make an attempt at the same time as another one; see :meth:`Webhooks.concurrently`."""
    fault = _deviate(webhooks, "concurrently", where, check_int(by, "by", 0))
    webhooks._engine.deviate(webhooks._portal)
    return fault


def lose_response(webhooks: Deviating, **where: Unpack[Where]) -> Fault:
    """Lose the answer to an attempt: the app has acted, and the attempt is made again (assumed).

    The service takes it for failed. It comes again at the next ``settle()``, assertion or move of
    time, even without ``retry_after``.

    Args:
        **where: Which attempts; see :class:`Webhooks`.
    """
    return _deviate(webhooks, "lose_response", where)


def refuse(webhooks: Deviating, **where: Unpack[Where]) -> Fault:
    """Refuse an attempt before it reaches the app, and make it again (assumed).

    It comes again at the next ``settle()``, assertion or move of time, even without
    ``retry_after``.

    Args:
        **where: Which attempts; see :class:`Webhooks`.
    """
    return _deviate(webhooks, "refuse", where)


def drop(webhooks: Deviating, **where: Unpack[Where]) -> Fault:
    """Drop an event on its way to an endpoint: it is never attempted there.

    Args:
        **where: Which attempts; see :class:`Webhooks`.
    """
    return _deviate(webhooks, "drop", where, order_only=True)


def chaos(
    webhooks: Deviating,
    *,
    seed: int | str,
    duplicate: float = 0,
    lose_response: float = 0,
    delay: timedelta | float | None = None,
    reorder: float = 0,
    refuse: float = 0,
) -> Chaos:
    """Let attempts go wrong by chance, and by the same chance for the same seed (assumed).

    Only first attempts are concerned, and each by one thing at most.

    Args:
        seed: A number or a text. The same seed and the same attempts go wrong in the same way.
        duplicate: How likely an attempt is made again, after up to three others; from 0 to 1.
        lose_response: How likely the app's response is lost, and it is made again: see
            :meth:`lose_response`.
        delay: How much later it may be made on the fake's clock, in whole seconds; a ``timedelta``
            or seconds. It concerns all that nothing else happens to. None: no later.
        reorder: How likely it waits for up to three others: see :meth:`reorder`.
        refuse: How likely it is refused, and made again: see :meth:`refuse`.

    Returns:
        The fault. It is a context manager, and :attr:`Chaos.happened` lists what went wrong.

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: A likelihood is not from 0 to 1, the delay is below a second, or nothing can go
            wrong.
    """
    engine = webhooks._engine
    engine.refuse_closed()
    check_seed(seed)
    given = {
        "refuse": refuse,
        "lose_response": lose_response,
        "duplicate": duplicate,
        "reorder": reorder,
    }
    for name, value in given.items():
        check_share(value, name)
    longest = 0 if delay is None else planned(delay, "delay")
    if delay is not None and longest < SECOND:
        raise ValueError(f"delay must be at least a second, not {cited(delay)}")
    if not (longest or any(given.values())):
        raise ValueError(
            "nothing can go wrong: give one of duplicate=, lose_response=, delay=, reorder=, "
            "refuse="
        )
    fault = Chaos(seed, given, longest, calling_line(2))
    engine.journal.note(WEBHOOK_FAULT)
    engine.deviate()
    engine.outbox.faults.add(fault)
    return fault


def _deviate(
    webhooks: Deviating,
    kind: FaultKind,
    where: Where,
    steps: int = 0,
    *,
    pause: int = 0,
    order_only: bool = False,
) -> Fault:
    engine = webhooks._engine
    concerned = checked(where, f"{kind}()", engine)
    fault = Deviation(kind, steps, pause=pause, line=calling_line(3), **concerned)
    engine.journal.note(WEBHOOK_FAULT)
    engine.deviate(order_only=order_only)
    return engine.outbox.faults.add(fault)
