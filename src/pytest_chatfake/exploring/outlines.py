"""Outlines: what happened in a run of a body, so that two runs can be compared."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import NoReturn

from ..base.errors import NotRepeatable
from ..base.views import listed
from ..fake.details import kept_back, name_of
from .baseline import without_texts
from .timeline_diff import timeline_diff
from .world import World
from .world_observer import Ended, WorldObserver


def outline(seen: WorldObserver) -> list[str]:
    """Return what happened, without ids, so that two runs of one body have the same outline.

    Barriers are left out, because the app's threads may call the API before or after one.
    """
    places = {endpoint: number for number, endpoint in enumerate(seen.inside.endpoints, 1)}
    return [
        f"{name_of(entry.attempt.event)} at endpoint {places[entry.attempt.endpoint]}: "
        f"{_end(entry)}"
        for entry in seen.endings
    ]


def gist(world: World) -> object:
    """Return what happened, regardless of order and ids; and the snapshots without ids."""
    ends = Counter(
        (entry.attempt.event.status, entry.attempt.event.type, _end(entry))
        for entry in world.seen.endings
    )
    return ends, without_texts(world.baseline.values)


def refuse_difference(first: World, second: World, threads: str, remedy: str) -> NoReturn:
    """Refuse a body of which two runs differ.

    Args:
        first: The first run.
        second: Another one, with other ids.
        threads: Which threads of the app may be to blame, with a separator; empty: none.
        remedy: What to do.
    """
    error = second.error
    pairs = zip_longest(outline(first.seen), outline(second.seen), fillvalue="nothing")
    differences = (
        f"the body is not repeatable: step {number} was {before}, but with other ids it was "
        f"{after}."
        for number, (before, after) in enumerate(pairs, 1)
        if before != after
    )
    if error is not None:
        name = type(error).__name__
        problem = (
            f"the body is not repeatable: it passed once, then failed with other ids "
            f"({name}: {error})"
        )
    elif difference := next(differences, ""):
        problem = difference
    else:
        problem = (
            "the body is not repeatable: with other ids the snapshot differs in more than strings"
        )
        problem += "" if threads else ". Does it contain real time, or what an earlier world did?"
    lines = [problem + threads]
    if calls := dict.fromkeys(first.calls_of_threads + second.calls_of_threads):
        lines.append(f"Perhaps because of the app's threads: {listed(calls)}.")
    sides = timeline_diff(first.inside.story, second.inside.story)
    raise NotRepeatable("\n".join([*lines, *sides, remedy])) from error


def _end(entry: Ended) -> int | str | None:
    response = entry.response
    if how := kept_back(entry.attempt):
        return how
    return response.status if response.error is None else type(response.error).__name__
