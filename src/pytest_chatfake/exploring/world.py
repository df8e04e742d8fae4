"""One world: a run of the body in a fresh fake with deviations, and its result."""

from __future__ import annotations

import inspect
import signal
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from time import monotonic_ns
from traceback import walk_tb
from types import FunctionType
from typing import Any, Literal, TypeAlias

from ..base.arguments import cited
from ..base.current_test import current
from ..base.errors import ChatFakeError, IllegalTransition
from ..base.faults import BaseFault
from ..engine.records import VerbRecord
from ..fake.details import (
    is_changed,
    meeting_place,
    outlast_barriers,
    post_of,
    recreates_app,
    shows_change,
    was_cut_short,
    was_made,
)
from ..fake.fake import ChatFake, service
from ..fake.inside import Inside
from ..report.entries import has_failed_itself
from .baseline import Baseline, Comparison
from .client_calls import client_calls
from .crash_watch import CrashWatch
from .deviations import MEETING, Deviation
from .early_webhooks import EarlyWebhooks
from .environment import Environment
from .meetings import Place
from .memories import MemoryWatch
from .patience import Patience
from .point_watch import PointWatch
from .search import WorldLog, possible_deviations
from .world_log import LogWriter, shown_call
from .world_observer import WorldObserver, watch_of

#: A body: a function that takes a fake.
Body = Callable[[ChatFake], Any]

#: What a world is run for: a ``"verdict"`` on its deviations; to see that a body does the same with
#: ``"other ids"``; to learn the snapshots after its ``"steps"``; as a control that ``"only waits"``
#: as long as with its deviations: time moves to the moments of duplicates without making them, and
#: what would wait for an API call waits for the next barrier; or ``"by hand"``, to do what a
#: printed test does: duplicates are made at the next barrier at the latest, and ready-made tests
#: leave out what they check beyond their snapshot.
Purpose: TypeAlias = Literal["verdict", "other ids", "steps", "only waits", "by hand"]


class World:
    """A run of the body with its own fake.

    Args:
        environment: The start of every world.
        baseline: The snapshots to compare with.
        deviations: The world's deviations.
        purpose: What it is run for.

    Attributes:
        baseline, deviations: As given.
        inside, seen, comparison: The fake, its observer, and what compares its snapshots, once the
            world was run.
        error: The body's error; None: it passed.
        body_ended: Whether the body had ended when something was raised.
        memories: The memories that the app used in the world as written; None in other worlds.
    """

    inside: Inside
    seen: WorldObserver
    comparison: Comparison

    def __init__(
        self,
        environment: Environment,
        baseline: Baseline,
        deviations: tuple[Deviation, ...],
        purpose: Purpose = "verdict",
    ) -> None:
        self.baseline = baseline
        self.deviations = deviations
        self.error: BaseException | None = None
        self.body_ended: bool = False
        self.memories: MemoryWatch | None = None
        self._environment = environment
        self._purpose = purpose
        self._is_written = False
        self._faults: list[BaseFault] = []
        self._failed_at = 0

    async def run(self, body: Body) -> None:
        """Run a body to the barrier at its end, and close the fake.

        Skips, interrupts and cancellations are raised again, because they aren't failures.
        """
        environment = self._environment
        environment.begin_world()
        environment.note("before the first attempt")
        seed = f"{environment.config.seed}{' again' * (self._purpose == 'other ids')}"
        fake = ChatFake(environment.config, seed=seed, api_key=environment.new_key())
        self.inside = Inside(fake)
        try:
            self._set_up(fake)  # its errors are none of the body's, so they are raised
            await self._run_to_the_end(body, fake)
            if self._is_written:
                environment.limits.note_lengths(self.seen.lengths)
        finally:
            if self.memories is not None:
                self.memories.end()
            for place in self._places.values():
                environment.ends.setdefault(place.point, set()).update(place.ends)
            current().before_forget(self.inside.story)
            self.inside.shut()
            environment.note("between worlds")

    def _set_up(self, fake: ChatFake) -> None:
        environment, traits = self._environment, [each.traits for each in self.deviations]
        self.comparison = Comparison(
            self.baseline,
            self.inside,
            compares=all(kind.compares for kind in traits),
            judges=all(kind.judges for kind in traits),
            learns_steps=self._purpose == "steps",
        )
        is_first = self.comparison.learning and self._purpose != "other ids"
        self._is_written = is_first and not self.deviations
        only_waits, by_hand = self._purpose == "only waits", self._purpose == "by hand"
        attend, points = None, environment.scope.crash_points
        if self._is_written:
            self.memories = MemoryWatch()
            self.memories.begin()
            if points is not None:
                attend = partial(self._watch, points)
        self.seen = WorldObserver(
            self.inside,
            self.comparison,
            environment.note,
            attend,
            self.memories,
            by_hand=by_hand,
        )
        # Simultaneous attempts have the same order even with other ids.
        self.inside.observe(self.seen, environment.config.seed or "")
        if only_waits:
            self.inside.leave_out_late_duplicates()
        self._faults = [
            deviation.set_up(fake, only_waits=only_waits) for deviation in self.deviations
        ]
        if not by_hand:
            for fault in self._faults:
                outlast_barriers(fault)
        for place in self._places.values():
            place.limits = environment.limits

    def _watch(self, points: Mapping[FunctionType, str]) -> PointWatch:
        # Made for each attempt, as the app may import its client late.
        scope = self._environment.scope
        calls = client_calls() if scope.calls_count else {}
        return PointWatch({**calls, **points}, listens=not MEETING.isdisjoint(scope.kinds))

    async def _run_to_the_end(self, body: Body, fake: ChatFake) -> None:
        try:
            with warnings.catch_warnings():
                if not self._is_written:  # in other worlds, a warning is no use
                    warnings.simplefilter("ignore")
                await self._run(body, fake)
                self._check()
                service.check()
        except BaseException as error:
            if not is_failure(error):
                raise
            self.error, self._failed_at = error, monotonic_ns()

    async def _run(self, body: Body, fake: ChatFake) -> None:
        is_async = self._environment.config.mode == "async"
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

    def log(self) -> WorldLog:
        """Return what the search needs to know about the world."""
        pairs = zip(self.deviations, self._faults, strict=True)
        fired = [deviation for deviation, fault in pairs if fault.fired]
        writer = LogWriter(self.seen, self._environment)
        places = self._places.items()
        held = {each: str(place.point) for each, place in places if place.has_held}
        met = frozenset(each for each, place in places if "met" in place.ends)
        return writer.log(fired, held=held, met=met, is_written=self._is_written)

    @cached_property
    def early(self) -> EarlyWebhooks:
        """What became of webhooks that should come before an API call's response."""
        return EarlyWebhooks(
            self.seen, self.error, self._failed_at, hit_another=self._has_delivered_another
        )

    @property
    def _has_delivered_another(self) -> bool:
        # A message was delivered before its response, and its own delivery never came.
        error = self.error
        is_refused = isinstance(error, IllegalTransition)
        is_through = not self.baseline.until and error and self.comparison.differs_by(error)
        return bool(is_refused or is_through) and self.inside.has_delivered_early

    @property
    def failed_before_barrier(self) -> bool:
        """Whether the body's own check failed before a barrier, and no app had raised an error."""
        raised = any(map(has_failed_itself, self.inside.attempts))
        return not (raised or self.body_ended or self.seen.settled)

    @property
    def keeps_memory(self) -> bool:
        """Whether an app crashed that its endpoint doesn't recreate."""
        return any(
            watch.stopped and not recreates_app(attempt.endpoint)
            for attempt in self.seen.attempts
            if (watch := watch_of(attempt))
        )

    @property
    def _places(self) -> dict[Deviation, Place]:
        # Where attempts meet, by the deviation that makes them meet.
        places = zip(self.deviations, map(meeting_place, self._faults), strict=False)
        return {deviation: place for deviation, place in places if isinstance(place, Place)}

    @property
    def has_deviated(self) -> bool:
        """Whether one of its deviations had happened when it ended."""
        return any(fault.fired for fault in self._faults)

    @property
    def may_vary(self) -> bool:
        """Whether it had threads, or a thread other than the test's acted, if only for a call."""
        return self.inside.had_threads or bool(self.calls_of_threads)

    @property
    def calls_of_threads(self) -> list[str]:
        """The verbs that the app's threads called, and where."""
        verbs = (record for record in self.inside.records if isinstance(record, VerbRecord))
        return [f"{verb.what} {verb.line.place}" for verb in verbs if verb.line.by_app]

    @property
    def unfired(self) -> dict[str, str]:
        """Why deviations changed nothing, or prove nothing, by kind."""
        why = {"webhooks_first": first} if (first := self.early.why_not_first) else {}
        is_late = any(each.traits.is_late for each in self.deviations)
        if is_late and (never := self.early.why_not_during):
            why["during_call"] = never
        for watch in self.seen.watches:
            if isinstance(watch, CrashWatch) and watch.swallower:
                why["crash"] = str(watch.swallower)
        posted = [each for each in self.seen.attempts if post_of(each).is_posted]
        for deviation in self.deviations:
            is_all = deviation.traits.concerns == "everything"
            changed = [each for each in posted if is_all or is_changed(each)]
            if changed and deviation.traits.unchanged and not any(map(shows_change, changed)):
                why[deviation.kind] = deviation.traits.unchanged
        return why

    def seed_of_ids_in(self, text: str) -> str:
        """Return the seed of the ids, if there are any in the text."""
        account = self.inside.account
        owners: list[Any] = [*account.messages, *self.inside.events, *account.conversations.all]
        seed = self._environment.config.seed
        return seed if seed and any(each.id in text for each in owners) else ""

    def require_chances(self, kinds: Sequence[str]) -> None:
        """Refuse a body in which nothing can deviate, because it would pass untested."""
        calls = (deviation.call for _, deviation in possible_deviations(self.log(), kinds, ()))
        if any(map(was_made, self.seen.attempts)) or any(calls):
            return
        problem, remedy = "caused no webhook", "Send a message in it"
        if not self.inside.endpoints:
            problem, remedy = "connected no app", "Connect it inside the body"
        raise ChatFakeError(
            f"nothing to explore: the body {problem}. {remedy}, or pass depth=0 to run it once."
        )

    def require_all_fired(self) -> None:
        """Refuse deviations that never happened, because they were found with another body."""
        for deviation, fault in zip(self.deviations, self._faults, strict=True):
            if was_cut_short(fault):
                problem = "fewer attempts follow before the next barrier"
            elif not fault.fired:
                problem = "that never happened"
            elif isinstance(place := meeting_place(fault), Place) and not place.ends:
                problem = "the app never came there"
            else:
                continue
            raise ChatFakeError(
                f"only= does not match this body: it asks for {deviation}, and {problem}. Remove "
                f"only= to explore again."
            )

    @property
    def call_in_process(self) -> str:
        """A call without a socket, whose lost response doesn't raise an HTTP client's error."""
        calls = (call for call in self.inside.calls if call.accepted and call.in_process)
        return next((shown_call(call, self.inside) for call in calls), "")


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
