"""Arrivals: in which order events reached an app, and whether that differs between two worlds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple


class Arrival(NamedTuple):
    """The first arrival of an event at an endpoint.

    Attributes:
        item: The number of the event at its endpoint, the same in every world.
        endpoint: The number of the endpoint.
        message: The number of the event's message; negative: a recorded one; 0: none.
        status: The event's status; empty: it has none.
    """

    item: int
    endpoint: int
    message: int
    status: str


def is_another_order(written: Sequence[Arrival], world: Sequence[Arrival]) -> bool:
    """Return whether two events reached an endpoint in another order than as written.

    Most apps keep their state by message, so events of different messages only count if none has
    two statuses to mix up. Two deliveries of a message don't count, because they say the same.
    """
    earlier = {
        (first.item, second.item)
        for first, second in combinations(written, 2)
        if first.endpoint == second.endpoint
    }
    overtaken = [
        (first, second)
        for first, second in combinations(world, 2)
        if (second.item, first.item) in earlier
    ]
    if any(_are_steps(first, second) for first, second in combinations(written, 2)):
        return any(_are_steps(first, second) for first, second in overtaken)
    return any(not first.message or first.message != second.message for first, second in overtaken)


def _are_steps(first: Arrival, second: Arrival) -> bool:
    # Whether they are different statuses of one message.
    is_same = first.message == second.message and first.endpoint == second.endpoint
    return is_same and first.message != 0 and first.status != second.status
