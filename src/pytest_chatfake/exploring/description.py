"""The deviations of a world, as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..base.views import listed, ordinal
from ..report.timeline_text import length
from ..webhooks.events import named
from .deviations import KINDS, STATUS, Call, Deviation
from .search import LoggedAttempt, WorldLog

#: How many events a sentence names; of more, it names fewer, and counts the rest.
_NAMED = 3


def describe(deviation: Deviation, log: WorldLog) -> str:
    """Return the sentence about a deviation in a world."""
    kind, start = deviation.kind, deviation.start
    if deviation.call is not None:
        return _describe_call(deviation, deviation.call, log)
    if field := dict(deviation.more).get("unknown"):
        return f"every {field} had an unknown value"
    if KINDS[kind].concerns == "everything":
        return "every event had unknown fields"
    attempts = [attempt for attempt in log.attempts if attempt is not None]
    if kind == "read_at_once":
        dropped = [each for each in attempts if each.what.startswith("delivered")][start - 1 :]
        read = [_title(each._replace(what="read")) for each in dropped]
        return f"{(*read, '`read`')[0]} came at once, without `delivered`"
    indexes = [index for index, attempt in enumerate(attempts) if attempt.number == start]
    first, second = (*indexes, len(attempts), len(attempts))[:2]
    subject = attempts[first] if indexes else log.waiting.get(start)
    if subject is None:
        return f"attempt {start} was never made"
    event = _title(subject) + (f" at {subject.endpoint}" if subject.endpoint else "")
    overtaking = [attempt for attempt in attempts[:first] if attempt.number > start]
    if kind == "reorder" and overtaking:
        return f"{_titles(overtaking)} {_were(overtaking)} attempted before {event}"
    if not indexes:
        return f"{event} was not attempted before the body failed"
    if KINDS[kind].verb == "webhooks.concurrently":
        beside = [attempt for attempt in attempts if attempt.round == subject.round != 0]
        return _describe_round(beside, subject)
    is_again = len(indexes) > 1
    between = attempts[first + 1 : second] if is_again else []
    after = f" after {_titles(between)}" if between else ""
    return KINDS[kind].sentence.format(
        event=event,
        after=after,
        second_time=", the second time" * bool(after),
        again=f", which was attempted again{after}" * is_again,
        later=length(deviation.extent),
        crash=subject.crash,
    )


def _describe_call(deviation: Deviation, call: Call, log: WorldLog) -> str:
    """Return the sentence about a call of the app's."""
    kind, number = deviation.kind, deviation.start
    subject = f"the {ordinal(number)} {call.method} {call.path}"
    calls = [(logged.number, logged.call) for logged in log.calls]
    if (number, call) not in calls:
        return f"{subject} was never made"
    if kind == "webhooks_first":
        more = " and `delivered`" if "delivered" in dict(deviation.more) else ""
        return f"the webhooks of {subject}{more} came before its response"
    if kind == "api.fail":
        return f"{subject} was refused with {STATUS}"
    if "status" in dict(deviation.more):
        return f"the response to {subject} said {STATUS}, and the call had taken effect"
    lost = f"the response to {subject} was lost"
    came_again = ((number, call), (number + 1, call)) in pairwise(calls)
    if came_again and call.method not in {"POST", "PATCH"}:
        lost += (
            f", and the next call was the same: some clients repeat a {call.method} by themselves"
        )
    return lost


def _describe_round(attempts: Sequence[LoggedAttempt], subject: LoggedAttempt) -> str:
    """Return the sentence about attempts that were made at the same time; none: it is late."""
    if not attempts:
        return f"{_title(subject)} was attempted late"
    endpoints = dict.fromkeys(attempt.endpoint for attempt in attempts if attempt.endpoint)
    at = f" at {listed(endpoints)}" if endpoints else ""
    twice = " twice" if len({*map(_title, attempts)}) == 1 and len(endpoints) < 2 else ""
    return f"{_titles(attempts)} {_were(attempts)} attempted{twice} at the same time{at}"


def _title(attempt: LoggedAttempt) -> str:
    return named(attempt.what, attempt.message)


def _titles(attempts: Sequence[LoggedAttempt]) -> str:
    """Name events, each once."""
    titles = list(dict.fromkeys(map(_title, attempts)))
    if len(titles) > _NAMED:
        titles = [*titles[: _NAMED - 1], f"{len(titles) - _NAMED + 1} more"]
    return listed(titles)


def _were(attempts: Sequence[LoggedAttempt]) -> str:
    return "was" if len({*map(_title, attempts)}) == 1 else "were"
