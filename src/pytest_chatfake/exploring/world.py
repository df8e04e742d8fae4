"""One world: a run of the body in a fresh fake with deviations, and its result."""

from __future__ import annotations

import inspect
import itertools
import random
import re
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import cached_property, partial
from time import monotonic_ns
from traceback import walk_tb
from types import FunctionType
from typing import Any, Final

from ..base.arguments import cited
from ..base.current_test import current
from ..base.errors import ChatFakeError, ClosedError, IllegalTransition
from ..base.faults import BaseFault
from ..base.redaction import redacted_place
from ..base.tracebacks import related, text_of
from ..base.views import listed
from ..domain.ids import derived_key
from ..engine.process_time import Travel
from ..engine.records import VerbRecord
from ..fake.config import ChatFakeConfig
from ..fake.details import (
    call_before,
    has_webhooks_first,
    is_changed,
    is_given_up,
    kept_back,
    meeting_place,
    name_of,
    number_of,
    outlast_barriers,
    post_of,
    recreates_app,
    shaped_body,
    shows_change,
    target_of,
    was_cut_short,
    was_made,
)
from ..fake.fake import ChatFake, opened, service
from ..fake.inside import Inside
from ..fake.snapshots import named
from ..http_api.account_api import ApiRequest
from ..report.entries import has_failed_itself
from ..report.hints import logged_error
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from .baseline import Baseline, Comparison, without_texts
from .client_calls import client_calls
from .crash_watch import CrashWatch
from .deviations import KINDS, Call, Deviation
from .late_threads import Work
from .meetings import Place, Point
from .memories import MemoryWatch
from .patience import Patience
from .posted_fields import Posted, Way, ways_to_evolve
from .prompt_deliveries import prompt_deliveries
from .recorder import Barrier, Ended, Recorder
from .search import CALLS, CheckedOptions, LoggedAttempt, LoggedCall, WorldLog, possible_deviations

#: A body: a function that takes a fake.
Body = Callable[[ChatFake], Any]

#: What databases say if a transaction waits for a lock in vain.
_LOCKED: Final = re.compile("database (.* )?is locked|lock (wait )?timeout", re.IGNORECASE)

#: What sqlite3 says of a connection.
_OTHER_THREAD: Final = "created in a thread can only be used in that same thread"

_TOO_EARLY: Final = "the webhook can't be handled before the response"

_BLOCKED: Final = (
    "your app blocks its event loop while it {}, so no webhook can arrive before the response: "
    "await the call, or make it in asyncio.to_thread()"
)

#: Shared by all explorations in the process, because two may have the same seed.
_numbers: Final = itertools.count(1)


class Environment:
    """The start of every world: a configuration, a moment, the state of ``random``.

    The configuration has a seed, so that ids are the same in every world. Worlds begin at
    ``start``, unless time is already frozen.

    Attributes:
        config, scope: As given.
        ends: How meetings ended, by point.
        spent: Nanoseconds of real time, by what took them.
    """

    def __init__(self, config: ChatFakeConfig, start: datetime, scope: CheckedOptions) -> None:
        self.config = config
        self.scope = scope
        self.spent: Counter[str] = Counter()
        self._busy_with, self._since = "", monotonic_ns()
        self.ends: dict[Point, set[str]] = {}
        self._start = start
        self._is_open = False
        self._random = random.getstate()
        self._items: dict[tuple[bytes, int], int] = {}
        self._travel = Travel()
        self._opened = {*opened}  # in case an interrupt comes before freeze() has noted them

    def freeze(self) -> None:
        """Freeze the clocks of the process; each world then moves them itself."""
        self._opened = {*opened}  # before the first world
        self._is_open = True
        self._travel.begin_on_top(self._start)

    def restore(self) -> None:
        """Give the process back its clocks and ``random``, however the exploration ended.

        A second call is a no-op, because an interrupted loop may resume the call in a later test.
        """
        if not self._is_open:
            return
        with ExitStack() as stack:  # each step, even if one fails
            stack.callback(self._travel.end)
            stack.callback(random.setstate, self._random)
            # An interrupt leaves a world's fake open, and a body may leave its own fakes open.
            for fake in {*opened} - self._opened:
                stack.callback(Inside(fake).shut)
        self._is_open = False

    def begin_world(self) -> None:
        """Reset time and ``random`` to where every world begins."""
        if not self._is_open:
            raise ClosedError("the exploration has ended: its test was interrupted")
        self._travel.begin_again()
        random.setstate(self._random)

    def new_key(self) -> str:
        """Return a key that only this world has; its last characters, which are shown, never vary.

        So a thread of the app that outlives its world can't reach another world.
        """
        seed = f"{self.config.seed} explored"
        shown = derived_key(seed)[-4:]
        own = derived_key(f"{seed} {next(_numbers)}")
        return self.config.api_key or own[: -len(shown)] + shown

    def note(self, what: str) -> None:
        """Note what takes time from now on."""
        now = monotonic_ns()
        self.spent[self._busy_with] += now - self._since
        self._busy_with, self._since = what, now

    def item(self, event: Event, endpoint: int) -> int:
        """Return the number of an event at an endpoint, which is the same in every world."""
        return self._items.setdefault((event.body, endpoint), len(self._items) + 1)


class World:
    """A run of the body with its own fake.

    Args:
        environment: The start of every world.
        baseline: The snapshots to compare with.
        deviations: The world's deviations.
        other_ids: Whether its ids differ from those of other worlds.
        only_waits: Whether time only moves to the moments of duplicates, without making them.
        by_hand: Whether duplicates are made at the next barrier at the latest, as in a printed
            test.

    Attributes:
        baseline, deviations: As given.
        fake, inside, comparison: The fake, and what compares its snapshots, once the world was run.
        error: The body's error; None: it passed.
        body_ended: Whether the body had ended when something was raised.
        memories: The memories that the app used in the world as written; None in other worlds.
    """

    fake: ChatFake
    inside: Inside
    comparison: Comparison

    def __init__(
        self,
        environment: Environment,
        baseline: Baseline,
        deviations: tuple[Deviation, ...],
        *,
        other_ids: bool = False,
        only_waits: bool = False,
        by_hand: bool = False,
    ) -> None:
        self.baseline = baseline
        self.deviations = deviations
        self.error: BaseException | None = None
        self.body_ended: bool = False
        self.memories: MemoryWatch | None = None
        self._environment = environment
        self._other_ids = other_ids
        self._is_written = False
        self._only_waits = only_waits
        self._by_hand = by_hand
        self._faults: list[BaseFault] = []
        self._failed_at = 0

    async def run(self, body: Body) -> None:
        """Run a body to the barrier at its end, and close the fake.

        Skips, interrupts and cancellations are raised again, because they aren't failures.
        """
        self._environment.begin_world()
        self._environment.note("before the first attempt")
        environment = self._environment
        seed = f"{environment.config.seed}{' again' * self._other_ids}"
        self.fake = fake = ChatFake(environment.config, seed=seed, api_key=environment.new_key())
        self.inside = Inside(fake)
        try:
            self._set_up()
            with warnings.catch_warnings():
                if not self._is_written:  # in other worlds, a warning is no use
                    warnings.simplefilter("ignore")
                await self._run(body)
                self._check()
                service.check()
        except BaseException as error:
            if not is_failure(error):
                raise
            self.error, self._failed_at = error, monotonic_ns()
        finally:
            if self.memories is not None:
                self.memories.end()
            for place in self._places:
                self._environment.ends.setdefault(place.point, set()).update(place.ends)
            current().before_forget(self.inside.story)
            self.inside.shut()
            self._environment.note("between worlds")

    def _set_up(self) -> None:
        environment = self._environment
        judges = all(deviation.traits.judges for deviation in self.deviations)
        self.comparison = Comparison(
            self.baseline, self.inside, compares=self.compares, judges=judges
        )
        is_first = self.comparison.learning and not self._other_ids
        self._is_written = is_first and not self.deviations
        attend, points = None, environment.scope.crash_points
        if self._is_written:
            self.memories = MemoryWatch()
            self.memories.begin()
            if points is not None:
                attend = partial(self._watch, points)
        self._seen = Recorder(
            self.inside,
            self.comparison,
            environment.note,
            attend,
            self.memories,
            by_hand=self._by_hand,
        )
        # Simultaneous attempts have the same order even with other ids.
        self.inside.observe(self._seen, environment.config.seed or "")
        if self._only_waits:
            self.inside.leave_out_late_duplicates()
        self._faults = [
            deviation.set_up(self.fake, only_waits=self._only_waits)
            for deviation in self.deviations
        ]
        if not self._by_hand:
            for fault in self._faults:
                outlast_barriers(fault)
        for place in self._places:
            if "limit" in environment.ends.get(place.point, ()):
                place.shorten()

    def _watch(self, points: Mapping[FunctionType, str]) -> CrashWatch:
        # Made for each attempt, as the app may import its client late.
        scope = self._environment.scope
        calls = client_calls() if scope.calls_count else {}
        return CrashWatch(None, {**calls, **points}, listens="duplicate_at_once" in scope.kinds)

    async def _run(self, body: Body) -> None:
        fake, is_async = self.fake, self._environment.config.mode == "async"
        result: Any = body(fake)
        if is_async:
            await Patience(result, self.inside.records).run()
        else:
            _require_no_coroutine(result)
        self.inside.end_body()
        self.body_ended = True
        settled = fake.settle()
        if is_async:
            await settled

    def _check(self) -> None:
        if self._is_written:
            self.inside.checks.run()
        else:
            self.inside.checks.check_attempts()

    # The result

    @property
    def _ended(self) -> list[Ended]:
        return [entry for entry in self._seen.log if isinstance(entry, Ended)]

    @property
    def _attempts(self) -> list[Attempt]:
        return [entry.attempt for entry in self._ended]

    @property
    def _posted(self) -> list[Attempt]:
        return [attempt for attempt in self._attempts if post_of(attempt).is_posted]

    @property
    def failed_before_barrier(self) -> bool:
        """Whether the body's own check failed before a barrier, and no app had raised an error."""
        raised = any(map(has_failed_itself, self.inside.attempts))
        return not (raised or self.body_ended or self._seen.settled)

    @property
    def keeps_memory(self) -> bool:
        """Whether an app crashed that its endpoint doesn't recreate."""
        crashed = (
            attempt
            for attempt in self._attempts
            if (watch := self._watch_of(attempt)) and watch.stopped
        )
        return not all(recreates_app(attempt.endpoint) for attempt in crashed)

    @property
    def _watches(self) -> list[CrashWatch]:
        return [*filter(None, map(self._watch_of, self._attempts))]

    def _watch_of(self, attempt: Attempt) -> CrashWatch | None:
        attendant = post_of(attempt).attendant
        return attendant if isinstance(attendant, CrashWatch) else None

    @property
    def _places(self) -> list[Place]:
        places = map(meeting_place, self._faults)
        return [place for place in places if isinstance(place, Place)]

    @property
    def held(self) -> str:
        """Where an attempt was held for another one, in words; empty: nowhere."""
        for place in self._places:
            if "met" in place.ends:
                return f", and both attempts met {place.point}"
            if place.ends & {"left", "limit"}:
                return f", and one attempt was held {place.point}"
        return ""

    @property
    def has_deviated(self) -> bool:
        """Whether one of its deviations had happened when it ended."""
        return any(fault.fired for fault in self._faults)

    @property
    def compares(self) -> bool:
        """Whether a correct app has the same snapshot in it as in the world as written."""
        return all(deviation.traits.compares for deviation in self.deviations)

    @property
    def has_threads(self) -> bool:
        """Whether attempts were made in several threads at the same time, including the app's."""
        return self.inside.had_threads

    @property
    def may_vary(self) -> bool:
        """Whether it had threads, or a thread other than the test's acted, if only for a call."""
        return self.has_threads or bool(self.calls_of_threads)

    @property
    def gist(self) -> object:
        """What happened, regardless of order and ids; and the snapshots without ids."""
        ends = Counter(
            (entry.attempt.event.status, entry.attempt.event.type, _outcome(entry))
            for entry in self._ended
        )
        return ends, without_texts(self.baseline.values)

    @property
    def _first_calls(self) -> list[ApiRequest]:
        # Those whose webhooks should come before the response.
        kind = KINDS["webhooks_first"].verb
        return [call for call in self.inside.calls if any(m.kind == kind for m in call.marks)]

    @property
    def why_not_first(self) -> str:
        """Why no webhook came before its call's response; empty if one did, or none had to."""
        requests = self._first_calls
        if self._has_delivered_another:
            return (
                "the app's API calls sent its messages in another order than as written, so one "
                "was delivered too early that the scenario does not deliver. Let the scenario wait "
                "for each send"
            )
        if not requests or any(map(self.inside.has_webhooks_before, requests)):
            return ""
        if self.inside.is_blocked:
            return _BLOCKED.format("sends")
        return (
            "no webhook could arrive before the response: your app sends while it handles another "
            "webhook, or webhooks are paused. Let it send in the scenario itself"
        )

    @property
    def _has_delivered_another(self) -> bool:
        # A message was delivered before its response, and its own delivery never came.
        error = self.error
        is_refused = isinstance(error, IllegalTransition)
        is_through = not self.baseline.until and error and self.comparison.differs_by(error)
        return bool(is_refused or is_through) and self.inside.has_delivered_early

    @property
    def _made_during_calls(self) -> list[Attempt]:
        # Including those that have not ended.
        records = self.inside.records
        return [each for each in records if isinstance(each, Attempt) and call_before(each)]

    @property
    def unfired(self) -> dict[str, str]:
        """Why deviations changed nothing, or prove nothing, by kind."""
        why = {"webhooks_first": first} if (first := self.why_not_first) else {}
        if any(each.traits.is_late for each in self.deviations):
            if self.inside.is_blocked:
                why["during_call"] = _BLOCKED.format("calls the API")
            elif not self._made_during_calls:
                why["during_call"] = KINDS["during_call"].needs
        for watch in self._watches:
            if watch.swallower is not None:
                why["crash"] = str(watch.swallower)
        for deviation in self.deviations:
            is_all = deviation.traits.concerns == "everything"
            changed = [each for each in self._posted if is_all or is_changed(each)]
            if changed and deviation.traits.unchanged and not any(map(shows_change, changed)):
                why[deviation.kind] = deviation.traits.unchanged
        return why

    @property
    def why_too_early(self) -> str:
        """Why the app could not handle webhooks before a call's response; empty if it could."""
        first, during = self._first_calls, self._made_during_calls
        calls = first + [call for each in during if (call := call_before(each))]
        attempts = [attempt for call in first for attempt in self.inside.attempts_of(call)]
        attempts += during
        errors = [error for error in (self.error, *self.inside.errors) if error is not None]
        gave_up = any(map(_is_timeout, errors)) and (
            any(map(is_given_up, calls)) or any(map(self._is_held_up, attempts))
        )
        if any(_OTHER_THREAD in text for each in attempts for text in self._texts_of(each)):
            return f"{_TOO_EARLY}: your app's SQLite connection belongs to another thread"
        if not (gave_up or any(map(self._is_locked_out, attempts))):
            return ""
        why = f"your app holds a lock or a transaction while it {'sends' if first else 'calls'}"
        if not all(target_of(attempt.endpoint).in_process for attempt in attempts):
            why += ", or its server handles one request at a time (serve it in threads)"
        return f"{_TOO_EARLY}: {why}"

    def _is_held_up(self, attempt: Attempt) -> bool:
        # Some clients keep their connection. Then, was the attempt running when the body failed, or
        # had it only just ended? As the failure frees a lock, it ends a moment before.
        began, ended = self._seen.times.get(attempt, (0, None))
        return ended is None or self._failed_at - ended < ended - began

    def _is_locked_out(self, attempt: Attempt) -> bool:
        # A database may refuse a transaction, and then the app may cope with a retry.
        error = attempt.error
        is_refused = not attempt.ok and any(map(_LOCKED.search, self._texts_of(attempt)))
        return (is_refused and self.error is not None) or (error is not None and _is_timeout(error))

    def _texts_of(self, attempt: Attempt) -> list[str]:
        # Of the error that the app raised or logged.
        error = attempt.error
        errors = [] if error is None else [*related(error, hidden=True)]
        return [logged_error(attempt), *map(text_of, errors)]

    def seed_of_ids_in(self, text: str) -> str:
        """Return the seed of the ids, if there are any in the text."""
        account = self.inside.account
        owners: list[Any] = [*account.messages, *self.inside.events, *account.conversations.all]
        seed = self._environment.config.seed
        return seed if seed and any(each.id in text for each in owners) else ""

    def require_chances(self, kinds: Sequence[str]) -> None:
        """Refuse a body in which nothing can deviate, because it would pass untested."""
        calls = (deviation.call for _, deviation in possible_deviations(self.log(), kinds, ()))
        if any(map(was_made, self._attempts)) or any(calls):
            return
        problem, remedy = "caused no webhook", "Send a message in it"
        if not self.inside.endpoints:
            problem, remedy = "connected no app", "Connect it inside the body"
        raise ChatFakeError(
            f"nothing to explore: the body {problem}. {remedy}, or pass depth=0 to run it once."
        )

    @property
    def unreached_points(self) -> list[str]:
        """The crash points that no attempt reached."""
        reached = {point.name for watch in self._watches for point in watch.points}
        points = self._environment.scope.crash_points or {}
        return [name for name in points.values() if name not in reached]

    @property
    def stray_points(self) -> set[str]:
        """The crash points that were called in a thread or task of no known attempt."""
        return {name for watch in self._watches for name in watch.strays}

    @property
    def why_safe(self) -> str:
        """Which attempts can't crash without crash points, or only in part; empty if all can."""
        watches = self._watches
        waiting = not any(watch.has_point_in_thread for watch in watches)
        found = (line for each in watches for line in (*each.started, *[*each.awaited] * waiting))
        lines = list(dict.fromkeys(found))
        threads = f"worker threads weren't crashed ({listed(lines)})" if lines else ""
        safe = sum(not watch.points for watch in watches)
        scope = self._environment.scope
        if scope.crash_points or not safe or scope.calls_count:
            return threads
        among = "" if safe == len(watches) else f" in {safe} of {len(watches)} attempts"
        but = f", except for worker threads ({listed(lines)})" if lines else ""
        return (
            f"nowhere to crash{among}: your handler never awaits{but}. Name functions: "
            f"crash_points = [Session.commit]"
        )

    @property
    def has_app_in_process(self) -> bool:
        """Whether an attempt was watched for crashes."""
        return bool(self._watches)

    @property
    def call_in_process(self) -> str:
        """A call without a socket, whose lost response doesn't raise an HTTP client's error."""
        calls = (call for call in self.inside.calls if call.accepted and call.in_process)
        return next(map(self._shown, calls), "")

    def require_all_fired(self) -> None:
        """Refuse deviations that never happened, because they were found with another body."""
        for deviation, fault in zip(self.deviations, self._faults, strict=True):
            if was_cut_short(fault):
                problem = "fewer attempts follow before the next barrier"
            elif not fault.fired:
                problem = "that never happened"
            else:
                continue
            raise ChatFakeError(
                f"only= does not match this body: it asks for {deviation}, and {problem}. Remove "
                f"only= to explore again."
            )

    def log(self) -> WorldLog:
        """Return what the search needs to know about the world."""
        attempts = [
            None if isinstance(entry, Barrier) else self._logged(entry) for entry in self._seen.log
        ]
        attempted = {attempt.number for attempt in attempts if attempt is not None}
        pairs = zip(self.deviations, self._faults, strict=True)
        fired = [deviation for deviation, fault in pairs if fault.fired]
        return WorldLog(
            attempts,
            calls=list(self._calls()),
            unseen=frozenset(d for d in fired if d.is_unseen),
            moments=[
                entry.moments if isinstance(entry, Barrier) else (entry.attempt.moment,)
                for entry in self._seen.log
            ],
            waits=self._seen.waits,
            session=self.inside.settings.rules.conversation_length,
            waiting={
                number: self._waiting(number, event, endpoint)
                for (event, endpoint), number in self._seen.choices.items()
                if number not in attempted
            },
            errors=self._environment.scope.errors,
            held=self.held,
            has_routes=bool(self.inside.routes.shown()),
            posted=self._ways_to_evolve() if self._is_written else {},
        )

    def _ways_to_evolve(self) -> Mapping[str, tuple[Way, ...]]:
        shaped = {each.event: shaped_body(each) for each in self._attempts}
        posted = [
            Posted(body, event.body, event.status or "")
            for event, body in shaped.items()
            if body is not None
        ]
        return ways_to_evolve(posted) if posted else {}

    def _logged(self, entry: Ended) -> LoggedAttempt:
        attempt, watch = entry.attempt, self._watch_of(entry.attempt)
        logged = self._waiting(entry.choice, attempt.event, attempt.endpoint)
        return logged._replace(
            item=-logged.item if kept_back(attempt) else logged.item,
            round=post_of(attempt).round,
            is_retry=attempt.number > 1,
            points=() if watch is None else tuple(watch.points),
            calls=() if watch is None else tuple(watch.calls),
            crash=self._effect(attempt),
            call="" if (call := call_before(attempt)) is None else self._shown(call),
        )

    def _shown(self, call: ApiRequest) -> str:
        return named(f"{call.method} {call.path}", self.inside.account.messages)

    def _effect(self, attempt: Attempt) -> str:
        # What happened to the app during the attempt, and whether it had responded; empty: nothing.
        watch = self._watch_of(attempt)
        if watch is None or not watch.effect:
            return ""
        if watch.response is not None:
            return f"had responded and {watch.effect}"
        return f"responded with {attempt.status_code} although it " * attempt.ok + watch.effect

    def _waiting(self, choice: int, event: Event, endpoint: Endpoint) -> LoggedAttempt:
        is_call, place = event.type in CALLS, self._endpoints[endpoint]
        return LoggedAttempt(
            choice,
            self._environment.item(event, place),
            number_of(event),
            event.status or "",
            self._names.get(event, name_of(event)),  # for an event from before a reset
            redacted_place(endpoint.name) if len(self._endpoints) > 1 and not is_call else "",
            target_of(endpoint).overlaps,
            is_call=is_call,
            place=place,
        )

    def _calls(self) -> Iterator[LoggedCall]:
        delivered: dict[int, tuple[int, ...]] = {}
        for cause, devices in prompt_deliveries(self.inside):
            if devices != (known := delivered.setdefault(id(cause), devices)):
                # It sent several messages, of which each can be delivered at least that far.
                delivered[id(cause)] = min(devices[:1], known[:1])
        numbers: Counter[Call] = Counter()
        for request in self.inside.calls:
            call = Call.of(request.path, request.method)
            if request.accepted and call is not None:
                numbers[call] += 1
                yield LoggedCall(
                    numbers[call],
                    call,
                    not has_webhooks_first(request) and bool(self.inside.attempts_of(request)),
                    delivered.get(id(request), ()),
                    is_in_attempt=request in self._seen.called,
                )

    @property
    def accepted_errors(self) -> dict[str, str]:
        """The exceptions that the app logged, each with an event that it accepted; see Recorder."""
        return self._seen.accepted_errors()

    @property
    def late_threads(self) -> list[Work]:
        """The app's threads that may have written to a snapshot too late; see Recorder."""
        return [*self._seen.earlier_threads, *self._seen.late_threads]

    def outline(self) -> list[str]:
        """Return what happened, without ids, so that two runs of one body have the same outline.

        Barriers are left out, because the app's threads may call the API before or after one.
        """
        return [
            f"{name_of(entry.attempt.event)} at endpoint "
            f"{self._endpoints[entry.attempt.endpoint] + 1}: {_outcome(entry)}"
            for entry in self._ended
        ]

    @property
    def calls_of_threads(self) -> list[str]:
        """The verbs that the app's threads called, and where."""
        verbs = (record for record in self.inside.records if isinstance(record, VerbRecord))
        return [f"{verb.what} {verb.line.place}" for verb in verbs if verb.line.by_app]

    @cached_property
    def _names(self) -> dict[Event, str]:
        # A repeated name gets a number.
        names: dict[Event, str] = {}
        counts: Counter[str] = Counter()
        for event in self.inside.events:
            name = name_of(event)
            counts[name] += 1
            names[event] = name if counts[name] == 1 else f"{name} #{counts[name]}"
        return names

    @cached_property
    def _endpoints(self) -> dict[Endpoint, int]:
        return {endpoint: index for index, endpoint in enumerate(self.inside.endpoints)}


def _is_timeout(error: BaseException) -> bool:
    # Whichever HTTP client or database raised it, and whatever the app raised in its place.
    return any(
        "timed out" in text_of(one) or any("Timeout" in kind.__name__ for kind in type(one).__mro__)
        for one in related(error, hidden=True)
    )


def _outcome(entry: Ended) -> int | str | None:
    response = entry.response
    if how := kept_back(entry.attempt):
        return how
    return response.status if response.error is None else type(response.error).__name__


def is_failure(error: BaseException) -> bool:
    """Return whether an error is a failure, rather than a skip, an interrupt or a cancellation."""
    is_exception = isinstance(error, Exception) or type(error).__name__ == "Failed"  # pytest's own
    return is_exception and not is_skip(error) and not _is_of_an_alarm(error)


def _is_of_an_alarm(error: BaseException) -> bool:
    # pytest-timeout fails a test by raising from a signal handler.
    handler = signal.getsignal(signal.SIGALRM) if hasattr(signal, "SIGALRM") else None
    code = getattr(handler, "__code__", None)
    return any(frame.f_code is code for frame, _ in walk_tb(error.__traceback__))


def is_skip(error: BaseException) -> bool:
    """Return whether an error leaves the test without a result, like a skip or an xfail."""
    names = {kind.__name__ for kind in type(error).__mro__}
    is_outcome = "OutcomeException" in names and type(error).__name__ != "Failed"
    return is_outcome or "SkipTest" in names


def _require_no_coroutine(result: object) -> None:
    # It would never run, and the test would pass.
    if inspect.iscoroutine(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()  # or Python warns that it was never awaited
        raise TypeError(
            f"the body returned {cited(result)}, which would never run: write `async def` and "
            f"await the exploration, or call it in the body"
        )
