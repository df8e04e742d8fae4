"""Arrivals: whether events reached an app in another order than as written."""

from __future__ import annotations

from itertools import combinations

from .search import LoggedAttempt, WorldLog


def is_another_order(written: WorldLog, world: WorldLog) -> bool:
    """Return whether two events reached an endpoint in another order than as written.

    Most apps keep their state by message, so events of different messages only count if none has
    two statuses to mix up. Two deliveries of a message don't count, because they say the same.

    If the app's own tasks or threads sent in another order than as written, the events are others,
    and the order counts in which the service emitted them.
    """
    before = _arrivals(written)
    known = {each.item for each in before}
    earlier = {
        (first.item, second.item)
        for first, second in combinations(before, 2)
        if first.at == second.at
    }
    overtaken = [
        (first, second)
        for first, second in combinations(_arrivals(world), 2)
        if (second.item, first.item) in earlier
        or (
            not {first.item, second.item} & known
            and first.at == second.at
            and first.number > second.number
        )
    ]
    if any(_are_steps(first, second) for first, second in combinations(before, 2)):
        return any(_are_steps(first, second) for first, second in overtaken)
    return any(not first.message or first.message != second.message for first, second in overtaken)


def _arrivals(log: WorldLog) -> list[LoggedAttempt]:
    # The first arrival of each event at each endpoint.
    found: dict[int, LoggedAttempt] = {}
    for attempt in log.attempts:
        if attempt is not None and attempt.item > 0:
            found.setdefault(attempt.item, attempt)
    return [*found.values()]


def _are_steps(first: LoggedAttempt, second: LoggedAttempt) -> bool:
    # Whether they are different statuses of one message.
    is_same = first.message == second.message and first.at == second.at
    return is_same and first.message != 0 and first.status != second.status
