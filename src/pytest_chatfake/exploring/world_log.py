"""Writes the log of a world, for the search and for sentences about deviations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..base.redaction import redacted_place
from ..fake.details import (
    call_before,
    has_webhooks_first,
    kept_back,
    name_of,
    number_of,
    post_of,
    shaped_body,
    target_of,
)
from ..fake.inside import Inside
from ..fake.snapshots import named
from ..http_api.account_api import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from .deviations import Call, Deviation
from .environment import Environment
from .posted_fields import Posted, Way, ways_to_evolve
from .prompt_deliveries import prompt_deliveries
from .search import CALLS, LoggedAttempt, LoggedCall, WorldLog
from .world_observer import Barrier, Ended, WorldObserver, watch_of


class LogWriter:
    """Writes the log of a world.

    Args:
        seen: The world's observer.
        environment: Numbers the events, in all worlds alike.
    """

    def __init__(self, seen: WorldObserver, environment: Environment) -> None:
        self._seen = seen
        self._inside = seen.inside
        self._environment = environment
        endpoints = self._inside.endpoints
        self._numbers: dict[Endpoint, int] = {each: n for n, each in enumerate(endpoints)}
        self._names: dict[Event, str] = {}
        counts: Counter[str] = Counter()
        for event in self._inside.events:
            name = name_of(event)
            counts[name] += 1
            self._names[event] = name if counts[name] == 1 else f"{name} #{counts[name]}"

    def log(
        self,
        fired: Sequence[Deviation],
        *,
        held: Mapping[Deviation, str],
        met: frozenset[Deviation],
        is_written: bool,
    ) -> WorldLog:
        """Return the log.

        Args:
            fired: The deviations that happened.
            held: Where deviations held an attempt for another one, in words.
            met: For which of them the other one came there as well.
            is_written: Whether it is the world as written.
        """
        inside, log = self._inside, self._seen.log
        attempts = [None if isinstance(each, Barrier) else self._attempt(each) for each in log]
        attempted = {attempt.number for attempt in attempts if attempt is not None}
        return WorldLog(
            attempts,
            calls=list(self._calls()),
            unseen=frozenset(deviation for deviation in fired if deviation.is_unseen),
            moments=[
                each.moments if isinstance(each, Barrier) else (each.attempt.moment,)
                for each in log
            ],
            waits=self._seen.waits,
            session=inside.settings.rules.conversation_length,
            waiting={
                number: self._waiting(number, event, endpoint)
                for (event, endpoint), number in self._seen.choices.items()
                if number not in attempted
            },
            errors=self._environment.scope.errors,
            held=held,
            met=met,
            has_routes=bool(inside.routes.shown()),
            posted=self._ways_to_evolve() if is_written else {},
        )

    def _attempt(self, entry: Ended) -> LoggedAttempt:
        attempt, watch = entry.attempt, watch_of(entry.attempt)
        logged = self._waiting(entry.choice, attempt.event, attempt.endpoint)
        return logged._replace(
            item=-logged.item if kept_back(attempt) else logged.item,
            round=post_of(attempt).batch,
            is_retry=attempt.number > 1,
            points=() if watch is None else tuple(watch.points),
            calls={} if watch is None else {**watch.calls},
            crash=_effect(attempt),
            call="" if (call := call_before(attempt)) is None else shown_call(call, self._inside),
        )

    def _waiting(self, choice: int, event: Event, endpoint: Endpoint) -> LoggedAttempt:
        is_call, at = event.type in CALLS, self._numbers[endpoint]
        return LoggedAttempt(
            choice,
            self._environment.item(event, at),
            number_of(event),
            event.status or "",
            self._names.get(event, name_of(event)),  # for an event from before a reset
            redacted_place(endpoint.name) if len(self._numbers) > 1 and not is_call else "",
            target_of(endpoint).overlaps,
            is_call=is_call,
            at=at,
        )

    def _calls(self) -> Iterator[LoggedCall]:
        delivered: dict[int, tuple[int, ...]] = {}
        for cause, devices in prompt_deliveries(self._inside):
            if devices != (known := delivered.setdefault(id(cause), devices)):
                # It sent several messages, of which each can be delivered at least that far.
                delivered[id(cause)] = min(devices[:1], known[:1])
        numbers: Counter[Call] = Counter()
        for request in self._inside.calls:
            call = Call.of(request.path, request.method)
            if request.accepted and call is not None:
                numbers[call] += 1
                yield LoggedCall(
                    numbers[call],
                    call,
                    not has_webhooks_first(request) and bool(self._inside.attempts_of(request)),
                    delivered.get(id(request), ()),
                    is_in_attempt=request in self._seen.callers,
                )

    def _ways_to_evolve(self) -> Mapping[str, tuple[Way, ...]]:
        shaped = {each.event: shaped_body(each) for each in self._seen.attempts}
        posted = [
            Posted(body, event.body, event.status or "")
            for event, body in shaped.items()
            if body is not None
        ]
        return ways_to_evolve(posted) if posted else {}


def shown_call(call: ApiRequest, inside: Inside) -> str:
    """Return a call's method and path, with names for the ids of messages."""
    return named(f"{call.method} {call.path}", inside.account.messages)


def _effect(attempt: Attempt) -> str:
    # What happened to the app during the attempt, and whether it had responded; empty: nothing.
    watch = watch_of(attempt)
    if watch is None or not watch.effect:
        return ""
    if watch.response is not None:
        return f"had responded and {watch.effect}"
    return f"responded with {attempt.status_code} although it " * attempt.ok + watch.effect
