"""One world: a fresh fake in which a body runs, with what deviates, and what came of it."""

from __future__ import annotations

import random
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import ChatFakeError, ClockError, NotAwaited, UndeliveredWebhooks
from ..base.notes import REQUEST
from ..fake.config import ChatFakeConfig
from ..fake.fake import ChatFake, service
from ..report import watching
from ..report.teardown import overlooked
from ..webhooks.events import Event
from ..webhooks.order import AttemptOrder, Barrier, Made
from .moves import Move
from .search import Log, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from time_machine import Traveller

    from ..webhooks.order import Log as MadeLog

# Not UTC: an aware datetime in UTC makes time-machine set the process's TZ.
_NEUTRAL: Final = timezone(timedelta(hours=1))


class Surroundings:
    """What every world begins with: a configuration, a moment, the state of ``random``.

    Args:
        config: With a seed and a key, so that ids are the same in every world.
        start: When worlds begin, if time does not stand still already.
    """

    def __init__(self, config: ChatFakeConfig, start: datetime) -> None:
        self.config = config
        self._start = start
        self._random = random.getstate()
        self._items: dict[tuple[bytes, int], int] = {}
        self.traveller: Traveller | None = None

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Let time stand still in a block, wherever worlds move it to.

        Raises:
            ClockError: freezegun is active, or the body left a traveller of its own.
        """
        import time_machine  # noqa: PLC0415 - costs more than what never freezes time

        start = self._start
        if time_machine.traveller_stack:
            start = datetime.now(_NEUTRAL)
        travel = time_machine.travel(start.astimezone(_NEUTRAL), tick=False)
        self._start = start
        try:
            self.traveller = travel.start()
        except RuntimeError:
            raise ClockError(
                "freezegun is active, and an exploration begins at the same moment again and "
                "again: freeze time inside the body"
            ) from None
        try:
            yield
        finally:
            mine = time_machine.traveller_stack[-1:] == [self.traveller]
            if mine:
                travel.stop()
            random.setstate(self._random)
        if not mine:
            raise ClockError("the body left time travelling: end what it began")

    def begin(self) -> None:
        """Set time and ``random`` back to where every world begins."""
        assert self.traveller is not None
        self.traveller.move_to(self._start.astimezone(_NEUTRAL))
        random.setstate(self._random)

    def item(self, event: Event, endpoint: int) -> int:
        """Return a number for what is attempted where, the same in every world."""
        return self._items.setdefault((event.body, endpoint), len(self._items) + 1)


class World:
    """A run of the body in a fake of its own.

    Args:
        surroundings: What it begins with.
        moves: What deviates.
        seed: What ids are derived from, if they are to differ.

    Attributes:
        fake: The fake.
        moves: As given.
        error: What the body raised; None: it passed.
        over: Whether the body had ended when something was raised.
    """

    def __init__(
        self, surroundings: Surroundings, moves: Sequence[Move] = (), seed: str | None = None
    ) -> None:
        self._surroundings = surroundings
        surroundings.begin()
        config = surroundings.config
        self.moves = tuple(moves)
        self.error: BaseException | None = None
        self.over = False
        self.fake = ChatFake(config if seed is None else config.replace(seed=seed))
        watching.dismiss(self.fake._story)  # a finding tells it
        outbox = self.fake._engine.outbox
        self._log: MadeLog = []
        self._order = outbox.order = AttemptOrder(outbox.faults, self._log)
        self._order.deviates = bool(moves)
        for move in self.moves:
            move.apply(self.fake)

    @contextmanager
    def running(self) -> Generator[ChatFake]:
        """Catch what fails in a block that runs the body, and close the fake.

        What is no failure passes: a skip, an interrupt, a cancellation.
        """
        with warnings.catch_warnings():
            if self.moves:
                warnings.simplefilter("ignore")
            try:
                yield self.fake
                self._check()
                service.check()
            except BaseException as error:
                if not is_failure(error):
                    self.fake._shut()
                    raise
                self.error = error
        self.fake._engine.outbox.endpoints.close()

    @property
    def settled(self) -> bool:
        """Whether the body has come to a barrier."""
        return any(isinstance(one, Barrier) for one in self._log)

    def end(self) -> None:
        """Note that the body has ended: no repeat waits for more attempts."""
        self.over = True
        self._order.finish()

    def close(self) -> None:
        """Close the fake."""
        self.fake._shut()

    def _check(self) -> None:
        """Raise what the body left behind; in a world that deviates, warnings count for nothing."""
        engine = self.fake._engine
        if not self.moves:
            self.fake._checks.run()
            return
        if engine.plan:
            raise NotAwaited(engine.plan.complaint())
        engine.raise_errors()
        failed = list(overlooked(engine.outbox)) if self._surroundings.config.strict else []
        if failed:
            lines = [
                f"{one.event._subject} at {one.endpoint._shown}: {one.outcome}" for one in failed
            ]
            raise UndeliveredWebhooks("\n  ".join([f"{len(failed)} attempts failed:", *lines]))

    def log(self) -> Log:
        """Return what happened, as far as the search needs it."""
        engine, api = self.fake._engine, self.fake.api
        places = {endpoint: n for n, endpoint in enumerate(engine.outbox.endpoints.ever)}
        steps: list[Step | None] = []
        for one in self._log:
            if isinstance(one, Made):
                place = places[one.endpoint]
                item = self._surroundings.item(one.event, place)
                item = -item if one.outcome == "refused" else item
                number = one.event._log._numbers[one.event._index]
                what = one.event.status or one.event.type
                at = one.endpoint._shown if len(places) > 1 else ""
                steps.append(Step(one.chance, item, number, what, at))
            else:
                steps.append(None)
        causes = {place for kind, place in engine.journal.causes.values() if kind == REQUEST}
        calls = tuple(
            number
            for number, (place, first) in enumerate(api._calls, 1)
            if place in causes and not first
        )
        raced = tuple(
            fault._start
            for fault in api._faults.ever
            if fault._kind == "answer_last" and fault.fired
        )
        return Log(steps, calls, raced)

    def outline(self) -> list[tuple[object, ...]]:
        """Return what happened without ids: the same in two runs of one body."""
        places = {endpoint: n for n, endpoint in enumerate(self.fake._engine.outbox.endpoints.ever)}
        return [
            (
                one.event._log._numbers[one.event._index],
                one.event.status or one.event.type,
                places[one.endpoint],
                one.outcome,
            )
            if isinstance(one, Made)
            else ("barrier",)
            for one in self._log
        ]

    def timed_out_race(self) -> bool:
        """Whether a call was answered after webhooks that its caller could not take meanwhile."""
        if all(move.of_attempts for move in self.moves):
            return False
        timeouts = {"TimeoutError", "timeout"}
        outcomes = {one.outcome for one in self._log if isinstance(one, Made)}
        errors = [self.error, *self.fake._engine.errors]
        return bool(outcomes & timeouts) or any(isinstance(one, TimeoutError) for one in errors)


def is_failure(error: BaseException) -> bool:
    """Return whether an error says that something is wrong: no skip, interrupt or cancellation."""
    kind = type(error)
    if kind.__module__ == "_pytest.outcomes":
        return kind.__name__ == "Failed"
    return isinstance(error, Exception) and kind.__name__ != "SkipTest"


def run(body: Callable[[ChatFake], Any], world: World) -> None:
    """Run a body in a world, to the barrier at its end."""
    with world.running() as fake:
        body(fake)
        world.end()
        fake.settle()


async def run_async(body: Callable[[ChatFake], Any], world: World) -> None:
    """The same with a body that is awaited."""
    with world.running() as fake:
        await body(fake)
        world.end()
        await fake.settle()


class NotRepeatable(ChatFakeError):  # noqa: N818 - reads as the fact it states
    """A body does not do the same twice, so nothing can be learned from its worlds."""
