"""Another order of attempts than that of the queue, and attempts that come again or not at all.

The drain asks an :class:`Ordering` before each attempt, and tells it of each that has ended. The
faults choose once for each event and endpoint, at the first attempt; an attempt that is made again
is no new choice. What waits because of that, and for how long, the :class:`.Backlog` knows.

A *barrier* is where a test looks: ``settle()``, an assertion, a move of time. All that waits is
flushed there without moving time. Two repeats may wait past it: the one that was told to
(``past_barriers=True``), and the one that waits for time, which ``settle()`` makes after it has
moved the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Final, NamedTuple, TypeAlias

from ..base.calling_line import Line
from ..domain.ids import other_id
from ..transport.client.crash_watch import CrashWatch
from ..transport.client.responses import Response
from .attempt_faults import AttemptFault, Choice, CrashFault
from .backlog import Backlog
from .dispatch import Dispatch, Ready
from .endpoints import Endpoint
from .events import Event
from .fault_kinds import effect_of
from .in_flight import InFlight
from .outbox import Outbox

#: How an attempt ends that is refused, or dropped: neither is made.
REFUSED: Final = Response(
    None, b"", ConnectionRefusedError("refused before it reached the app: refuse()")
)
DROPPED: Final = Response(None)

_LOST: Final = "the app's response was lost: lose_response()"

_Key: TypeAlias = tuple[int, Endpoint]  # the event's place, and where it goes


class Made(NamedTuple):
    """An attempt, as the log of an ordering keeps it.

    Attributes:
        chance: The number of its choice: which event and endpoint, in the order of first attempts.
        event: The event.
        endpoint: Where it went.
        outcome: The status or the error with which it ended at the app; or ``"refused"``,
            ``"dropped"``.
        moment: When it was made, in nanoseconds.
        batch: The number of the batch in which it was made at the same time as others; 0: none.
        watch: What has watched it for crashes; None: nobody asked for that.
    """

    chance: int
    event: Event
    endpoint: Endpoint
    outcome: int | str | None
    moment: int
    batch: int
    watch: CrashWatch | None = None


class Barrier(NamedTuple):
    """A place where what waits is attempted.

    Attributes:
        moments: When there was one, in nanoseconds, as long as no attempt came in between.
    """

    moments: tuple[int, ...]


Log: TypeAlias = "list[Made | Barrier]"


class Pause(NamedTuple):
    """A repeat that comes after time was moved.

    Attributes:
        due: When, in nanoseconds.
        event: What comes again.
        endpoint: Where it goes.
        what: What asked for it, as a test would write it.
        line: Where.
    """

    due: int
    event: Event
    endpoint: Endpoint
    what: str
    line: Line


class Ordering:
    """Decides which attempt comes next.

    Attributes:
        retries_at_barriers: Whether what has failed comes again at a barrier, and not by the clock.
        log: As given.
        settled: Whether there was a barrier.
        crash_points: Calls of which functions the log names, and all lines that suspend; None:
            it names neither.
    """

    def __init__(
        self, outbox: Outbox, log: Log | None = None, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self.retries_at_barriers: bool = False
        self.log = log
        self.settled: bool = False
        self.crash_points: Mapping[FunctionType, str] | None = None
        self._outbox = outbox
        self._note = note  # takes what happens from now on
        self.clear()

    def clear(self) -> None:
        """Forget all choices and waiting attempts; the log goes on."""
        self._backlog: Backlog[Dispatch] = Backlog()
        self._pauses: list[Pause] = []
        self._chances: dict[_Key, int] = {}
        self._choices: dict[_Key, Choice] = {}  # of those that are refused, dropped or lost
        self._delays: dict[_Key, Choice] = {}

    @property
    def held(self) -> list[Event]:
        """The events whose attempts wait."""
        waiting = [dispatch.event for dispatch in self._backlog.items]
        return waiting + [one.event for one in self._open_pauses()]

    # Before an attempt

    def decide(
        self, dispatch: Dispatch, endpoint: Endpoint, *, in_batch: bool = False
    ) -> Sequence[Ready]:
        """Return the attempts to make now in place of the queue's next one; none, if it waits.

        An attempt that a test has put into a batch is counted, and stays there.
        """
        self._note("in attempts")
        key = (dispatch.event._index, endpoint)
        choice: Choice | None = None
        if key not in self._chances and dispatch.is_new:
            self._chances[key] = len(self._chances) + 1
            choice = self._choose(dispatch.event, endpoint, taken=in_batch)
        elif dispatch.has_mark("duplicate"):  # it shares the fate of the first attempt
            if self._is_dropped(key):
                return [Ready(dispatch, endpoint, DROPPED)]
            choice = None if dispatch.has_mark("delay") else self._delays.get(key)
        if in_batch:
            return [Ready(dispatch, endpoint)]
        if choice is None:
            return self._with_peers(dispatch, endpoint)
        return self._deviate(choice, key, dispatch, endpoint)

    def _choose(self, event: Event, endpoint: Endpoint, *, taken: bool) -> Choice | None:
        """Let each fault count a first attempt; the last one that fires has it."""
        choice: Choice | None = None
        for fault in self._outbox.faults.active:
            if isinstance(fault, AttemptFault):
                choice = fault._choice(event, endpoint, taken=taken or choice is not None) or choice
        return choice

    def _deviate(
        self, choice: Choice, key: _Key, dispatch: Dispatch, endpoint: Endpoint
    ) -> Sequence[Ready]:
        """Apply the choice of a fault."""
        fault, steps = choice.fault, choice.steps
        alone = _marked(replace(dispatch, endpoints=(endpoint,)), choice)
        if choice.new_id:
            alone.content = alone.posted.under_id(other_id(alone.posted.id))
        if choice.kind == "concurrently" and not steps:
            return _batched([Ready(dispatch, endpoint), Ready(alone, endpoint)])
        if choice.kind == "delay":
            self._outbox.plan(alone, choice.pause)
            self._delays[key] = choice
            return []
        if choice.pause and fault is not None:
            due = self._outbox.now() + choice.pause
            self._outbox.plan(alone, choice.pause)
            self._pauses.append(Pause(due, dispatch.event, endpoint, fault.description, fault.line))
        elif not self._backlog.take(choice.kind, steps, alone, fault, choice.past_barriers):
            return []
        if effect_of(choice.kind).fails:
            self._choices[key] = choice
        if choice.kind == "drop":
            return [Ready(dispatch, endpoint, DROPPED)]
        if choice.kind == "refuse":
            return [Ready(dispatch, endpoint, REFUSED)]
        return self._with_peers(dispatch, endpoint)

    def _is_dropped(self, key: _Key) -> bool:
        choice = self._choices.get(key)
        return choice is not None and choice.kind == "drop"

    def _with_peers(self, dispatch: Dispatch, endpoint: Endpoint) -> Sequence[Ready]:
        """Return an attempt after the peers that have waited for it, as one batch."""
        ready = [Ready(peer, peer.endpoints[0]) for peer in self._backlog.take_peers()]
        ready = [one for one in ready if one.endpoint.connected]
        return _batched([*ready, Ready(dispatch, endpoint)])

    def watch(self, dispatch: Dispatch, endpoint: Endpoint) -> CrashWatch | None:
        """Return what watches an attempt for crashes; None: nobody asks for one."""
        choice = self._choices.get((dispatch.event._index, endpoint)) if dispatch.is_new else None
        fault, target = choice and choice.fault, endpoint._target
        if isinstance(fault, CrashFault):
            return CrashWatch(fault.point, fault.functions, target.response_so_far)
        if self.crash_points is None or not (dispatch.is_new and target.in_process):
            return None
        return CrashWatch(None, self.crash_points, target.response_so_far)

    # After an attempt

    def count(self, attempt: InFlight, answer: Response) -> tuple[Dispatch, Response]:
        """Count an attempt; return it as it is recorded, and the response that the service gets."""
        self._note("between and after attempts")
        dispatch, endpoint = attempt.dispatch, attempt.endpoint
        key = (dispatch.event._index, endpoint)
        choice = self._choices.get(key) if dispatch.is_new else None
        watch = attempt.watch
        fault = choice and choice.fault
        if isinstance(fault, CrashFault) and (watch is None or watch.error is None):
            fault.fired -= 1  # the app never came to that point
            del self._choices[key]
            choice = None
        if self.log is not None:
            self.log.append(
                Made(
                    self._chances.get(key, 0),
                    dispatch.event,
                    endpoint,
                    _outcome(answer, choice),
                    attempt.moment,
                    attempt.batch,
                    watch,
                )
            )
        if (overtaken := self._backlog.count()) is not None:
            self._outbox.queue.appendleft(overtaken)
        if choice is None:
            return dispatch, answer
        if choice.kind == "lose_response" and answer.error is None:
            answer = Response(None, b"", TimeoutError(_LOST))
        return _marked(replace(dispatch, endpoints=(endpoint,)), choice), answer

    def keep_failed(self, dispatch: Dispatch, endpoint: Endpoint) -> None:
        """Keep the repeat of a failed attempt until the next barrier, if it is made again."""
        again = dispatch.number <= len(endpoint._retries)
        if again or (dispatch.is_new and (dispatch.event._index, endpoint) in self._choices):
            self._backlog.keep_failed(dispatch.again(endpoint))

    # Barriers

    def with_barriers(
        self,
        step: Callable[[], Iterator[None]],
        is_due: Callable[[], bool],
        end_pause: Callable[[Pause], Iterator[None]] | None = None,
    ) -> Iterator[None]:
        """Perform a step with barriers: before it, and before time goes on."""

        def flushing(steps: Iterator[None]) -> Iterator[None]:
            for _ in steps:
                yield
                if not is_due():
                    yield from self.flush()

        yield from self.flush()
        yield from flushing(step())
        while end_pause is not None and (pause := self._next_pause()) is not None:
            yield from flushing(end_pause(pause))
            yield from self.flush()

    def flush(self) -> Iterator[None]:
        """A step: attempt what is queued, then what waits."""
        self.settled = True
        yield
        while released := self._backlog.release():
            self._outbox.queue.extend(released)
            yield
        if self.log:
            last, now = self.log[-1], self._outbox.now()
            if not isinstance(last, Barrier):
                self.log.append(Barrier((now,)))
            elif last.moments[-1] != now:
                self.log[-1] = Barrier((*last.moments, now))

    def finish(self) -> None:
        """Flush all repeats at the next barrier, after the test's last attempt."""
        self._backlog.finish()

    # Pauses

    def _next_pause(self) -> Pause | None:
        """Return the pause that ends next; None if there is none."""
        self._pauses = self._open_pauses()
        return min(self._pauses, key=lambda one: one.due, default=None)

    def _open_pauses(self) -> list[Pause]:
        """Return the pauses that go on, at endpoints that are still connected."""
        now = self._outbox.now()
        return [
            one
            for one in self._pauses
            if one.due > now and one.endpoint.connected and not one.endpoint.disabled
        ]


def _batched(ready: list[Ready]) -> list[Ready]:
    """Give all attempts of a batch the mark of the fault that has asked for it."""
    asked = [one.dispatch.overrides for one in ready]
    mark = next((one.marks[-1] for one in asked if one.fault == "concurrently"), None)
    if mark is None or len(ready) == 1:
        return ready
    marked: list[Ready] = []
    for one in ready:
        dispatch = replace(one.dispatch, endpoints=(one.endpoint,))
        if dispatch.overrides.fault != "concurrently":
            dispatch.mark(mark)
        marked.append(Ready(dispatch, one.endpoint))
    return marked


def _outcome(answer: Response, choice: Choice | None) -> int | str | None:
    """Return how an attempt ended, for the log."""
    if choice is not None and not effect_of(choice.kind).reaches_app:
        return "dropped" if choice.kind == "drop" else "refused"
    return answer.status if answer.error is None else type(answer.error).__name__


def _marked(dispatch: Dispatch, choice: Choice) -> Dispatch:
    dispatch.overrides = dispatch.overrides._replace(
        fault=choice.kind, marks=(*dispatch.overrides.marks, choice.mark)
    )
    return dispatch
