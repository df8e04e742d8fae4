"""Attempts in another order than the service's: methods of webhooks, as functions of them.

They count attempts where they are made, and not events where they are emitted: each event counts
once for each endpoint that it is attempted at. What waits is let go at the next ``settle()``,
assertion or move of time.
"""

from __future__ import annotations

from typing import Protocol, Unpack

from ..base.arguments import check_bool, check_int
from ..base.calling_line import calling_line
from ..base.notes import WEBHOOK_FAULT
from ..engine.engine import Engine
from ..webhooks.faults import Fault, FaultKind
from ..webhooks.order import Deviation
from .where import Where, checked


class Deviating(Protocol):
    """The webhooks whose attempts come in another order."""

    _engine: Engine


def late(webhooks: Deviating, *, by: int = 1, **where: Unpack[Where]) -> Fault:
    """Let an attempt wait until others were made that came after it (assumed).

    It waits no longer than to the next ``settle()``, assertion or move of time.

    Args:
        by: How many others, whatever they are about; at least 1.
        **where: Which attempts; see :class:`Webhooks`.
    """
    return _deviate(webhooks, "late", where, check_int(by, "by", 1))


def again(webhooks: Deviating, after: int, where: Where) -> Fault:
    """Make an attempt again; see :meth:`Webhooks.duplicate`."""
    return _deviate(webhooks, "duplicate", where, check_int(after, "after", 0))


def lose_answer(webhooks: Deviating, **where: Unpack[Where]) -> Fault:
    """Lose the answer to an attempt: the app has acted, and the attempt is made again (assumed).

    The service takes it for failed. It comes again at the next ``settle()``, assertion or move of
    time, even without ``retry_after``.

    Args:
        **where: Which attempts; see :class:`Webhooks`.
    """
    return _deviate(webhooks, "lose_answer", where)


def fail(webhooks: Deviating, *, again: bool = True, **where: Unpack[Where]) -> Fault:
    """Refuse an attempt before it reaches the app, and make it again (assumed).

    It comes again at the next ``settle()``, assertion or move of time, even without
    ``retry_after``.

    Args:
        again: Whether it is made again; if not, it is lost for good.
        **where: Which attempts; see :class:`Webhooks`.
    """
    check_bool(again, "again")
    return _deviate(webhooks, "fail", where, again=again)


def _deviate(
    webhooks: Deviating, kind: FaultKind, where: Where, steps: int = 0, *, again: bool = True
) -> Fault:
    engine = webhooks._engine
    concerned = checked(where, f"{kind}()", engine)
    fault = Deviation(kind, steps, again=again, line=calling_line(3), **concerned)
    engine.journal.note(WEBHOOK_FAULT)
    engine.deviate()
    return engine.outbox.faults.add(fault)
