"""Crash coverage: where a scenario's attempts can crash, and where they can't."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.errors import ChatFakeError
from ..base.views import listed
from .point_watch import PointWatch
from .search import CheckedOptions


def why_missed(watches: Sequence[PointWatch], scope: CheckedOptions) -> str:
    """Say why some crash points were not reached; empty if all were.

    Args:
        watches: What watched the attempts of a world.
        scope: The exploration's options, which name crash points.

    Raises:
        ChatFakeError: One of them must not be missed.
    """
    reached = {point.name for watch in watches for point in watch.points}
    strays = {name for watch in watches for name in watch.strays}
    missed = [n for n in (scope.crash_points or {}).values() if n not in reached]
    calls, reasons = scope.calls_count, list[str]()
    if unreached := [name for name in missed if name not in strays]:
        never = "the app never called"
        caller = never if calls else "before its response, no event made the app call"
        problem = f"{caller} {listed(unreached)}"
        if not scope.may_miss_points:
            meanwhile = "in send() or work()" if calls else "while it handles an event"
            raise ChatFakeError(
                f"crash_points: {problem}; name a function that it calls {meanwhile}"
            )
        reasons.append(
            f"{problem}, which the base class names in its crash_points: write crash_points = "
            f"[...] in this class as well"
        )
    if lost := [name for name in missed if name in strays]:
        caller = "send() or work()" if calls else "your handler"
        reasons.append(
            f"{listed(lost)} was only called in a task or thread without the context of {caller}: "
            f"name a function that {caller} calls itself, or submit "
            f"contextvars.copy_context().run to a pool"
        )
    return "; ".join(reasons)


def why_safe(watches: Sequence[PointWatch], scope: CheckedOptions) -> str:
    """Say which attempts can't crash without crash points, or only in part; empty: all can."""
    waiting = not any(watch.has_point_in_thread for watch in watches)
    found = (line for each in watches for line in (*each.started, *[*each.awaited] * waiting))
    lines = list(dict.fromkeys(found))
    safe = sum(not watch.points for watch in watches)
    if scope.crash_points or not safe or scope.calls_count:
        return f"worker threads weren't crashed ({listed(lines)})" if lines else ""
    among = "" if safe == len(watches) else f" in {safe} of {len(watches)} attempts"
    but = f", except for worker threads ({listed(lines)})" if lines else ""
    return (
        f"nowhere to crash{among}: your handler never awaits{but}. Name functions: "
        f"crash_points = [Session.commit]"
    )
