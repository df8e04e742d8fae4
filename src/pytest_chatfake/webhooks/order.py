"""Deviations: attempts that come late, again, unheard or not at all, counted where they are made.

An :class:`AttemptOrder` is asked by the outbox before each attempt, and told after it. It chooses
once for each event and endpoint, at the first attempt; what is made again is no new choice.

*Late* attempts wait until so many others were made. *Repeats* of a duplicate do the same. What the
service takes for failed (a lost answer, a refusal, an answer that is not 2xx) waits for the next
*barrier*: ``settle()``, an assertion, a move of time. There everything that waits is let go
without moving time: late attempts, then what has failed. Only the repeats of duplicates may cross a
barrier, until enough attempts have followed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from ..base.marks import Mark
from ..base.triggers import Triggers
from ..transport.client.answers import Answer
from .dispatch import Dispatch
from .endpoints import Endpoint
from .events import Event
from .faults import Fault, FaultKind

#: What becomes of an attempt that is about to be made.
Turn: TypeAlias = Literal["now", "later", "refused"]


class Choice(NamedTuple):
    """What is to become of an attempt.

    Attributes:
        kind: How it deviates.
        steps: After how many other attempts it comes, or comes again; of a delay: nanoseconds.
        again: Whether it is made again, if it is refused.
        mark: What is done to it, and the line that asked for it.
        by_chance: Whether nobody misses it if it never comes again.
    """

    kind: FaultKind
    steps: int
    again: bool
    mark: Mark
    by_chance: bool = False


class Deviation(Fault):
    """Something that goes wrong with attempts, counted where they are made.

    Each event counts once for each endpoint.

    Args:
        kind: What goes wrong.
        steps: After how many other attempts it is made, or made again.
        again: Whether a refused attempt is made again.
        **where: As for a :class:`Fault`.
    """

    def __init__(self, kind: FaultKind, steps: int = 0, *, again: bool = True, **where: object):
        super().__init__(kind, **where)  # type: ignore[arg-type]
        self._steps = steps
        self._again = again

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        own = {"late": f"by={self._steps}", "duplicate": f"after={self._steps}"}.get(self.kind)
        if not self._again:
            own = "again=False"
        kind, _, rest = super().description.partition("(")
        return f"{kind}({', '.join(filter(None, [own, rest.removesuffix(')')]))})"

    @property
    def mark(self) -> Mark:
        """What it does to an attempt, and the line that set it up."""
        return Mark(_MARKS.get(self.kind, self.kind) if self._again else "lost", self.line)

    def _fires(self, event: Event, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:  # noqa: ARG002 - it asks for neither
        """Do nothing where events are emitted."""
        return ()

    def _choice(self, event: Event, endpoint: Endpoint, *, taken: bool) -> Choice | None:
        """Count an attempt, and return what is to become of it.

        Args:
            event: What is attempted.
            endpoint: Where.
            taken: Whether another deviation has it already: it is counted, and no more.
        """
        if not (self._concerned(event, (endpoint,)) and self._should_fire()) or taken:
            return None
        self._fire()
        self._hit.append(event._index)
        return Choice(self.kind, self._steps, self._again, self.mark)


_MARKS: Final = {
    "late": "late",
    "duplicate": "duplicate",
    "lose_answer": "answer lost",
    "fail": "refused",
}

#: How an attempt ends that is refused.
REFUSED: Final = Answer(
    None, b"", ConnectionRefusedError("refused before it reached the app: fail()")
)
_LOST: Final = "the app has answered, and the answer was lost: lose_answer()"


class Made(NamedTuple):
    """An attempt, as the log of an order keeps it.

    Attributes:
        chance: The number of its choice: which event and endpoint, in the order of first attempts.
        event: The event.
        endpoint: Where it went.
        outcome: The status or the error with which it ended at the app, or ``"refused"``.
    """

    chance: int
    event: Event
    endpoint: Endpoint
    outcome: int | str | None


class Barrier(NamedTuple):
    """A place that no first attempt waits past."""


Log: TypeAlias = "list[Made | Barrier]"


class _Waiting(NamedTuple):
    """An attempt that waits.

    Attributes:
        until: How many attempts must have been made by then.
        dispatch: What is attempted then.
        first: Whether it is a first attempt, which never waits past a barrier.
        missed: Whether it is missed if it never comes.
    """

    until: int
    dispatch: Dispatch
    first: bool
    missed: bool = True


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
    """

    def __init__(self, outbox: Ordered, log: Log | None = None) -> None:
        self.deviates: bool = log is None
        self.log = log
        self.settled: bool = False
        self._outbox = outbox
        self.forget()

    def forget(self) -> None:
        """Begin as new; the log goes on."""
        self.made: int = 0
        self._waiting: list[_Waiting] = []
        self._pending: list[Dispatch] = []
        self._chances: dict[tuple[int, Endpoint], int] = {}
        self._choices: dict[tuple[int, Endpoint], Choice] = {}

    @property
    def held(self) -> list[Event]:
        """The events whose attempts wait, and are missed."""
        waiting = [one.dispatch for one in self._waiting if one.missed]
        return [dispatch.event for dispatch in (*waiting, *self._pending)]

    # Asked by the outbox

    def turn(self, dispatch: Dispatch, endpoint: Endpoint) -> Turn:
        """Choose what becomes of an attempt that is about to be made."""
        key = (dispatch.event._index, endpoint)
        if key in self._chances:
            return "now"
        self._chances[key] = len(self._chances) + 1
        choice: Choice | None = None
        for fault in self._outbox.faults.active:
            if isinstance(fault, Deviation):
                taken = choice is not None
                choice = fault._choice(dispatch.event, endpoint, taken=taken) or choice
        if choice is None:
            return "now"
        alone = _marked(replace(dispatch, endpoints=(endpoint,)), choice)
        if choice.kind == "late":
            self._waiting.append(_Waiting(self.made + choice.steps, alone, first=True))
            return "later"
        if choice.kind == "delay":
            self._outbox.plan(alone, choice.steps)
            return "later"
        if choice.kind == "duplicate":
            until, missed = self.made + 1 + choice.steps, not choice.by_chance
            self._waiting.append(_Waiting(until, alone, first=False, missed=missed))
            return "now"
        self._choices[key] = choice
        return "now" if choice.kind == "lose_answer" else "refused"

    def answered(
        self, dispatch: Dispatch, endpoint: Endpoint, answer: Answer
    ) -> tuple[Dispatch, Answer]:
        """Count an attempt; return it as it is to be recorded, and what the service hears of it."""
        self.made += 1
        key = (dispatch.event._index, endpoint)
        choice = self._choices.get(key) if dispatch.number == 1 else None
        if self.log is not None:
            self._keep(dispatch, endpoint, answer, choice)
        if choice is None:
            return dispatch, answer
        marked = _marked(replace(dispatch, endpoints=(endpoint,)), choice)
        app_failed = answer.error is not None and choice.kind == "lose_answer"
        if choice.kind == "lose_answer" and not app_failed:
            answer = Answer(None, b"", TimeoutError(_LOST))
        return marked, answer

    def _keep(
        self, dispatch: Dispatch, endpoint: Endpoint, answer: Answer, choice: Choice | None
    ) -> None:
        assert self.log is not None
        outcome: int | str | None = answer.status
        if choice is not None and choice.kind != "lose_answer":
            outcome = "refused"
        elif answer.error is not None:
            outcome = type(answer.error).__name__
        key = (dispatch.event._index, endpoint)
        self.log.append(Made(self._chances.get(key, 0), dispatch.event, endpoint, outcome))

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
            again = choice.again and (again or number == 1)
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
        if self.log and not isinstance(self.log[-1], Barrier):
            self.log.append(Barrier())

    def _let_go(self) -> list[Dispatch]:
        """Take out what waits no longer: late attempts; if there are none, what has failed."""
        late = [one.dispatch for one in self._waiting if one.first]
        if late:
            self._waiting = [one for one in self._waiting if not one.first]
            return late
        pending, self._pending = self._pending, []
        return pending

    def finish(self) -> None:
        """Let no repeat wait for more attempts: the last ones were made."""
        self._waiting = [one._replace(first=True) for one in self._waiting]


class Ordered(Protocol):
    """The outbox: what an order is part of."""

    faults: Triggers[Fault]
    order: AttemptOrder | None
    queue: deque[Dispatch]

    def plan(self, dispatch: Dispatch, delay: int) -> None:
        """Attempt something later, by so much on the clock."""
        ...


def deviate(outbox: Ordered) -> None:
    """Let attempts come in another order than that of the queue, from now on."""
    outbox.order = outbox.order or AttemptOrder(outbox)
    outbox.order.deviates = True


def at_barriers(
    outbox: Ordered, step: Callable[[], Iterator[None]], is_due: Callable[[], bool]
) -> Callable[[], Iterator[None]]:
    """Return a step in which what waits is let go: before it, and before time goes on.

    Args:
        outbox: Where attempts are queued.
        step: The step; where it yields, attempts are made.
        is_due: Tells whether more happens at this very moment.
    """
    order = outbox.order
    if order is None:
        return step

    def run() -> Iterator[None]:
        yield from order.letting_go()
        for _ in step():
            yield
            if not is_due():
                yield from order.letting_go()

    return run


def _marked(dispatch: Dispatch, choice: Choice) -> Dispatch:
    overrides = dispatch.overrides
    return replace(
        dispatch,
        overrides=overrides._replace(fault=choice.kind, marks=(*overrides.marks, choice.mark)),
    )
