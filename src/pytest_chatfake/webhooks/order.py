"""Deviations: attempts that come late, again, unheard or not at all, counted where they are made.

An :class:`AttemptOrder` is asked by the outbox before each attempt, and told after it. It chooses
once for each event and endpoint, at the first attempt; what is made again is no new choice.

*Late* attempts wait until so many others were made. *Repeats* of a duplicate do the same. What the
service takes for failed (a lost answer, a refusal, an answer that is not 2xx) waits for the next
*barrier*: ``settle()``, an assertion, a move of time. There everything that waits is let go
without moving time: late attempts, then what has failed. Only the repeats of duplicates may cross a
barrier, until enough attempts have followed; or until time has passed, and ``settle()`` moves it.

What is to be attempted *together* with others waits for the last of them; see
:mod:`.together`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.triggers import Triggers
from ..transport.client.answers import Answer
from ..transport.client.portal import Portal
from .deviation import Choice, Deviation
from .dispatch import Dispatch, Group
from .endpoints import Endpoint, WebhookRequest
from .events import Event
from .faults import Fault
from .together import Drainer, Round

#: What becomes of an attempt that is about to be made.
Turn: TypeAlias = Literal["now", "later", "refused", "dropped"]


#: How an attempt ends that is refused.
REFUSED: Final = Answer(
    None, b"", ConnectionRefusedError("refused before it reached the app: refuse()")
)
#: And one that is never made.
DROPPED: Final = Answer(None)
_LOST: Final = "the app has answered, and the response was lost: lose_response()"


class Made(NamedTuple):
    """An attempt, as the log of an order keeps it.

    Attributes:
        chance: The number of its choice: which event and endpoint, in the order of first attempts.
        event: The event.
        endpoint: Where it went.
        outcome: The status or the error with which it ended at the app; or ``"refused"``,
            ``"dropped"``.
        moment: When it was made, in nanoseconds.
        round: The number of the round in which it was made at the same time as others; 0: none.
    """

    chance: int
    event: Event
    endpoint: Endpoint
    outcome: int | str | None
    moment: int
    round: int


class Barrier(NamedTuple):
    """A place that no first attempt waits past.

    Attributes:
        moments: When there was one, in nanoseconds, as long as no attempt came in between.
    """

    moments: tuple[int, ...]


Log: TypeAlias = "list[Made | Barrier]"


class _Waiting(NamedTuple):
    """An attempt that waits.

    Attributes:
        until: How many attempts must have been made by then.
        dispatch: What is attempted then.
        first: Whether it is a first attempt, which never waits past a barrier.
        missed: Whether it is missed if it never comes.
        fault: What lets it wait.
        group: What it waits for, in place of a number.
    """

    until: int
    dispatch: Dispatch
    first: bool
    missed: bool = True
    fault: Deviation | None = None
    group: Group | None = None


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


class AttemptOrder:
    """Keeps what waits, and says which attempt comes next.

    Args:
        outbox: What it orders; the deviations are among its faults.
        log: Where attempts and barriers are kept; None: nowhere.

    Attributes:
        deviates: Whether something may come in another order than the service's own.
        log: As given.
        made: How many attempts were made.
        settled: Whether there was a barrier.
        round: The round that is being made, or is to be recorded; None: none.
        portal: Runs what is awaited in a round, in sync mode.
        has_threads: Whether there was a round with threads.
    """

    portal: Portal

    def __init__(self, outbox: Ordered, log: Log | None = None) -> None:
        self.deviates: bool = log is None
        self.log = log
        self.settled: bool = False
        self.has_threads: bool = False
        self._rounds = 0
        self._outbox = outbox
        self.forget()

    def forget(self) -> None:
        """Begin as new; the log goes on."""
        self.made: int = 0
        self._waiting: list[_Waiting] = []
        self._pending: list[Dispatch] = []
        self._pauses: list[Pause] = []
        self._for_company: list[_Waiting] = []
        self._company: list[Dispatch] = []  # of the attempt that is about to be made
        self.round: Round | None = None
        self._in_round = 0  # how many attempts of it are to be recorded
        self._mark: Mark | None = None  # theirs
        self._chances: dict[tuple[int, Endpoint], int] = {}
        self._choices: dict[tuple[int, Endpoint], Choice] = {}

    @property
    def held(self) -> list[Event]:
        """The events whose attempts wait, and are missed."""
        waiting = [one.dispatch for one in self._waiting if one.missed]
        waiting += [one.dispatch for one in self._for_company]
        paused = [one.event for one in self._to_end()]
        return [dispatch.event for dispatch in (*waiting, *self._pending)] + paused

    # Asked by the outbox

    def turn(self, dispatch: Dispatch, endpoint: Endpoint) -> Turn:
        """Choose what becomes of an attempt that is about to be made."""
        key = (dispatch.event._index, endpoint)
        choice: Choice | None = None
        if key not in self._chances and dispatch.number == 1:
            choice = self._choice(dispatch, endpoint, key)
        elif dispatch.overrides.fault == "duplicate" and self._is_dropped(key):
            return "dropped"
        if (group := dispatch.group) is not None:
            return self._join(group, replace(dispatch, endpoints=(endpoint,), group=None))
        if choice is None:
            return self._now(dispatch, endpoint)
        fault = choice.fault
        alone = _marked(replace(dispatch, endpoints=(endpoint,)), choice)
        if choice.kind == "reorder":
            until = self.made + choice.steps
            self._waiting.append(_Waiting(until, alone, first=True, fault=fault))
            return "later"
        if choice.kind == "concurrently" and choice.steps:
            until = self.made + choice.steps - 1
            self._for_company.append(_Waiting(until, alone, first=True, fault=fault))
            return "later"
        if choice.kind == "concurrently":
            self._company.append(alone)
            return "now"
        if choice.kind == "delay":
            self._outbox.plan(alone, choice.steps)
            return "later"
        if choice.pause and fault is not None:
            due = self._outbox._now() + choice.pause
            self._outbox.plan(alone, choice.pause)
            self._pauses.append(Pause(due, dispatch.event, endpoint, fault.description, fault.line))
            return self._now(dispatch, endpoint)
        if choice.kind == "duplicate":
            until, missed = self.made + 1 + choice.steps, not choice.by_chance
            self._waiting.append(_Waiting(until, alone, first=False, missed=missed, fault=fault))
            return self._now(dispatch, endpoint)
        self._choices[key] = choice
        if choice.kind == "drop":
            return "dropped"
        return "refused" if choice.kind == "refuse" else self._now(dispatch, endpoint)

    def _is_dropped(self, key: tuple[int, Endpoint]) -> bool:
        choice = self._choices.get(key)
        return choice is not None and choice.kind == "drop"

    def _choice(
        self, dispatch: Dispatch, endpoint: Endpoint, key: tuple[int, Endpoint]
    ) -> Choice | None:
        """Count a first attempt, and choose how it deviates; one of a group does not."""
        self._chances[key] = len(self._chances) + 1
        choice: Choice | None = None
        for fault in self._outbox.faults.active:
            if isinstance(fault, Deviation):
                taken = choice is not None or dispatch.group is not None
                choice = fault._choice(dispatch.event, endpoint, taken=taken) or choice
        return choice

    def _join(self, group: Group, alone: Dispatch) -> Turn:
        """Let an attempt wait for its group, or make it with all of them if it is the last one."""
        group.left -= 1
        if group.left:
            self._for_company.append(_Waiting(0, alone, first=True, group=group))
            return "later"
        return self._now(alone, alone.endpoints[0], group)

    def _now(self, dispatch: Dispatch, endpoint: Endpoint, group: Group | None = None) -> Turn:
        """Let an attempt be made: with those that wait for it, after the first of them."""
        due = [one for one in self._for_company if one.group is group and one.until <= self.made]
        self._for_company = [one for one in self._for_company if one not in due]
        due = [one for one in due if one.dispatch.endpoints[0].connected]
        if not due:
            return "now"
        first, *others = (one.dispatch for one in due)
        self._company += [*others, replace(dispatch, endpoints=(endpoint,))]
        self._outbox._put_first(first)
        return "later"

    def begin(self, request: WebhookRequest | None) -> None:
        """Let the attempts that were waiting for this one be made at the same time.

        Args:
            request: Its request; None: it can't be made, and the next one of them takes its place.
        """
        if self._company and request is None:
            self._outbox._put_first(self._company.pop(0))
        elif self._company and request is not None:
            others, self._company = self._company, []
            self._rounds += 1
            self._in_round = 1 + len(others)
            everything = [self._outbox._dispatch, *others]
            marks = [mark for one in everything if one for mark in one.overrides.marks]
            self._mark = next((mark for mark in marks if mark.kind == "concurrently"), None)
            self.round = Round(self._outbox, request, others, self.portal)
            self.has_threads = self.has_threads or self.round.has_threads

    def end_round(self) -> None:
        """Record what was made at the same time as the last attempt."""
        made, self.round = self.round, None
        if made is not None:
            made.record()

    def answered(
        self, dispatch: Dispatch, endpoint: Endpoint, answer: Answer
    ) -> tuple[Dispatch, Answer]:
        """Count an attempt; return it as it is to be recorded, and what the service hears of it."""
        self.made += 1
        key = (dispatch.event._index, endpoint)
        choice = self._choices.get(key) if dispatch.number == 1 else None
        if self.log is not None:
            self._keep(dispatch, endpoint, answer, choice)
        if self._in_round:
            self._in_round -= 1
            if self._mark is not None and self._mark not in dispatch.overrides.marks:
                dispatch = replace(dispatch)
                dispatch.mark(self._mark)
        if choice is None:
            return dispatch, answer
        marked = _marked(replace(dispatch, endpoints=(endpoint,)), choice)
        app_failed = answer.error is not None and choice.kind == "lose_response"
        if choice.kind == "lose_response" and not app_failed:
            answer = Answer(None, b"", TimeoutError(_LOST))
        return marked, answer

    def _keep(
        self, dispatch: Dispatch, endpoint: Endpoint, answer: Answer, choice: Choice | None
    ) -> None:
        assert self.log is not None
        outcome: int | str | None = answer.status
        if choice is not None and choice.kind != "lose_response":
            outcome = "dropped" if choice.kind == "drop" else "refused"
        elif answer.error is not None:
            outcome = type(answer.error).__name__
        key = (dispatch.event._index, endpoint)
        chance, number = self._chances.get(key, 0), self._rounds if self._in_round else 0
        moment = self._outbox._moment
        self.log.append(Made(chance, dispatch.event, endpoint, outcome, moment, number))

    def ready(self) -> Dispatch | None:
        """Take out the attempt that has waited for as many others as it was to wait for."""
        for place, one in enumerate(self._waiting):
            if one.until <= self.made:
                del self._waiting[place]
                return one.dispatch
        return None

    def failed(self, made: Dispatch, endpoint: Endpoint) -> None:
        """Keep the repeat of a failed attempt until the next barrier, if it is made again."""
        number = made.number
        again = number <= len(endpoint._retries)
        choice = self._choices.get((made.event._index, endpoint))
        if choice is not None:
            again = again or number == 1
        if again:
            self._pending.append(Dispatch(made.event, (endpoint,), made.depth, number + 1))

    # Barriers

    def letting_go(self) -> Iterator[None]:
        """A step: let go of what waits, after what is queued was attempted."""
        self.settled = True
        yield
        while released := self._let_go():
            self._outbox.queue.extend(released)
            yield
        if self.log:
            last, now = self.log[-1], self._outbox._now()
            if not isinstance(last, Barrier):
                self.log.append(Barrier((now,)))
            elif last.moments[-1] != now:
                self.log[-1] = Barrier((*last.moments, now))

    def _let_go(self) -> list[Dispatch]:
        """Take out what waits no longer: late attempts; if there are none, what has failed."""
        late = [one for one in self._waiting if one.first] + self._for_company
        company, self._company = self._company, []
        if late or company:
            for one in late:
                alone = one.until > self.made or one in self._for_company
                if one.fault is not None and alone:
                    one.fault._is_short = True
            self._waiting = [one for one in self._waiting if not one.first]
            self._for_company = []
            return [*company, *(one.dispatch for one in late)]
        pending, self._pending = self._pending, []
        return pending

    def finish(self) -> None:
        """Let no repeat wait for more attempts: the last ones were made."""
        self._waiting = [one._replace(first=True) for one in self._waiting]

    # Pauses

    def next_pause(self) -> Pause | None:
        """Return the pause that ends next; None if there is none."""
        self._pauses = self._to_end()
        return min(self._pauses, key=lambda one: one.due, default=None)

    def _to_end(self) -> list[Pause]:
        """Return the pauses that go on, at endpoints that are connected still."""
        now = self._outbox._now()
        return [one for one in self._pauses if one.due > now and one.endpoint.connected]


class Ordered(Drainer, Protocol):
    """The outbox: what an order is part of."""

    faults: Triggers[Fault]
    order: AttemptOrder | None
    queue: deque[Dispatch]
    _now: Callable[[], int]

    def plan(self, dispatch: Dispatch, delay: int) -> None:
        """Attempt something later, by so much on the clock."""
        ...

    def _put_first(self, dispatch: Dispatch) -> None: ...


def _marked(dispatch: Dispatch, choice: Choice) -> Dispatch:
    overrides = dispatch.overrides
    return replace(
        dispatch,
        overrides=overrides._replace(fault=choice.kind, marks=(*overrides.marks, choice.mark)),
    )
