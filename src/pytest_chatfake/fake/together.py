"""Events that are attempted at the same time: a block, and a fault that counts attempts."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.views import counted
from ..engine.engine import Engine
from ..transport.client.portal import Portal
from ..webhooks.dispatch import Group
from ..webhooks.fault_kinds import EFFECTS
from .paused import HeldBack


class Together(HeldBack):
    """A ``with fake.webhooks.concurrently():`` block.

    What is emitted in it is attempted at its end: all of it at the same time.
    """

    _name = "concurrently()"
    _refusal = (
        "webhooks are held back already, by paused() or concurrently(): a block of "
        "concurrently() can't "
        "stand inside another one"
    )

    def __init__(self, engine: Engine, portal: Portal) -> None:
        super().__init__(engine)
        self._portal = portal

    def __repr__(self) -> str:
        return f"<Together with {counted(len(self._held), 'event')}>"

    def _let_go(self, indices: Sequence[int], line: Line) -> None:
        engine, held = self._engine, [self._held[index] for index in indices]
        attempts = sum(one.connected for dispatch in held for one in dispatch.endpoints)
        if attempts > 1:
            engine.deviate(self._portal, order_only=True)
            group = Group(attempts)
            for dispatch in held:
                dispatch.group = group
                dispatch.mark(Mark("concurrently", line, EFFECTS["concurrently"].mark))
        for dispatch in held:
            dispatch.due = None
        engine.outbox.queue.extend(held)
        self._held.clear()
