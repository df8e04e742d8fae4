"""Barriers: where what waits is let go, and how a fake begins to have an order of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..transport.client.portal import Portal
from .order import AttemptOrder, Ordered, Pause


def deviate(outbox: Ordered, portal: Portal | None = None, *, order_only: bool = False) -> None:
    """Let attempts come in another order than that of the queue, from now on.

    Args:
        outbox: Where they are queued.
        portal: Runs what is awaited in a round, in sync mode; None: there will be no round.
        order_only: Whether failed attempts are made again as ever, and not at barriers.
    """
    if outbox.order is None:
        outbox.order = AttemptOrder(outbox)
        outbox.order.deviates = False
    outbox.order.deviates = outbox.order.deviates or not order_only
    if portal is not None:
        outbox.order.portal = portal


def at_barriers(
    outbox: Ordered,
    step: Callable[[], Iterator[None]],
    is_due: Callable[[], bool],
    move: Callable[[Pause], Iterator[None]] | None = None,
) -> Callable[[], Iterator[None]]:
    """Return a step in which what waits is let go: before it, and before time goes on.

    Args:
        outbox: Where attempts are queued.
        step: The step; where it yields, attempts are made.
        is_due: Tells whether more happens at this very moment.
        move: Moves time to the end of a pause; None: pauses last as long as others let them.
    """
    order = outbox.order
    if order is None:
        return step

    def run() -> Iterator[None]:
        yield from order.letting_go()
        yield from letting_go_in(step())
        while move is not None and (pause := order.next_pause()) is not None:
            yield from letting_go_in(move(pause))
            yield from order.letting_go()

    def letting_go_in(steps: Iterator[None]) -> Iterator[None]:
        for _ in steps:
            yield
            if not is_due():
                yield from order.letting_go()

    return run
