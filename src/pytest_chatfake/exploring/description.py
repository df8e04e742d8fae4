"""Describes a world's deviations in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..base.views import listed, ordinal
from ..report.timeline_text import length
from ..webhooks.events import event_name
from ..webhooks.faults import Concurrently, Reorder
from .deviations import Call, Deviation
from .search import LoggedAttempt, WorldLog

#: A sentence names at most this many events; if there are more, it names fewer and counts the rest.
_NAMED = 3


def describe(deviation: Deviation, log: WorldLog) -> str:
    """Return the sentence about one of a world's deviations."""
    kind, start = deviation.traits, deviation.start
    if deviation.call is not None:
        return _describe_call(deviation, deviation.call, log)
    if kind.concerns == "everything":
        return kind.sentence.format_map(dict(deviation.more))
    attempts = [attempt for attempt in log.attempts if attempt is not None]
    if deviation.kind == "read_at_once":
        deliveries = [each.message for each in attempts if each.status == "delivered"]
        message = deliveries[start - 1] if start <= len(deliveries) else 0
        read, delivered = (event_name(status, message) for status in ("read", "delivered"))
        return f"{read} arrived without {delivered}"
    indexes = [index for index, attempt in enumerate(attempts) if attempt.number == start]
    first = indexes[0] if indexes else len(attempts)
    subject = attempts[first] if indexes else log.waiting.get(start)
    if subject is None:
        return f"attempt {start} was never made"
    event = subject.name + (f" at {subject.endpoint}" if subject.endpoint else "")
    overtaking = [attempt for attempt in attempts[:first] if attempt.number > start]
    if kind.fault is Reorder and overtaking:
        return f"{_names(overtaking)} arrived before {event}"
    if not indexes:
        return f"{event} had not arrived when the body failed"
    if kind.fault is Concurrently:
        beside = [attempt for attempt in attempts if attempt.round == subject.round != 0]
        return _describe_round(beside, subject) + _describe_hold(deviation, beside, subject, log)
    is_again = len(indexes) > 1
    between = attempts[first + 1 : indexes[1]] if is_again else []
    after = f" after {_names(between)}" if between else ""
    if subject.is_call:
        return f"the app {subject.crash} in {event}" + ", which was called again" * is_again
    return kind.sentence.format(
        event=event,
        after=after,
        again=f", which was retried{after}" * is_again,
        later=length(deviation.extent),
        crash=subject.crash,
        call=f"your app's {subject.call}",
    )


def _describe_call(deviation: Deviation, call: Call, log: WorldLog) -> str:
    number = deviation.start
    subject = f"the {ordinal(number)} {call.method} {call.path}"
    calls = [(logged.number, logged.call) for logged in log.calls]
    if (number, call) not in calls:
        return f"{subject} was never made"
    more = dict(deviation.more)
    if sentence := deviation.traits.sentence:
        delivered = " and `delivered`" * ("delivered" in more)
        return sentence.format(call=subject, status=more.get("status"), delivered=delivered)
    if "status" in more:
        return f"the response to {subject} said {more['status']}, although the call took effect"
    if "reset" in more:
        return f"the connection of {subject} was reset after the call took effect"
    lost = f"the response to {subject} was lost"
    came_again = ((number, call), (number + 1, call)) in pairwise(calls)
    if came_again and call.method not in {"POST", "PATCH"}:
        lost += f", and the next call was identical: some clients retry {call.method} by themselves"
    return lost


def _describe_round(attempts: Sequence[LoggedAttempt], subject: LoggedAttempt) -> str:
    if not attempts:
        return f"{subject.name} arrived late"
    endpoints = dict.fromkeys(attempt.endpoint for attempt in attempts if attempt.endpoint)
    at = f" at {listed(endpoints)}" if endpoints else ""
    is_one = len({attempt.name for attempt in attempts}) == 1
    twice = " twice" * (is_one and len(endpoints) < 2)
    does = "ran" if subject.is_call else "arrived"
    return f"{_names(attempts)} {does}{twice} at the same time{at}"


def _describe_hold(
    deviation: Deviation, beside: Sequence[LoggedAttempt], subject: LoggedAttempt, log: WorldLog
) -> str:
    if deviation not in log.held or not beside:
        return ""
    if deviation in log.met:
        return f", and both attempts met {log.held[deviation]}"
    held = "one attempt"
    if deviation.extent:  # of two different events
        is_later = dict(deviation.more).get("held") == "later"
        held = next((each.name for each in beside if (each is not subject) == is_later), held)
    return f", and {held} was held {log.held[deviation]}"


def _names(attempts: Sequence[LoggedAttempt]) -> str:
    names = list(dict.fromkeys(attempt.name for attempt in attempts))
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
    return listed(names)
