"""One world: a fresh fake in which a body runs, with what deviates, and what came of it."""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..base.arguments import cited
from ..base.errors import ChatFakeError, NotAwaited, UndeliveredWebhooks
from ..base.notes import REQUEST
from ..base.triggers import Trigger
from ..base.views import counted
from ..engine.process_time import Journey
from ..fake.config import ChatFakeConfig
from ..fake.fake import ChatFake, service
from ..fake.snapshots import Baseline
from ..report import watching
from ..webhooks.attempts import Attempt
from ..webhooks.deviation import Deviation
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from ..webhooks.fault_kinds import effect_of
from ..webhooks.order import AttemptOrder, Made
from .moves import Move
from .search import Log, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..webhooks.order import Log as MadeLog


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
        self._baseline = Baseline()
        self._items: dict[tuple[bytes, int], int] = {}
        self._journey = Journey()

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Let time stand still in a block, wherever worlds move it to.

        Raises:
            ClockError: freezegun is active, or the body has left a traveller of its own.
        """
        self._journey.begin_on_top(self._start)
        try:
            yield
        finally:
            random.setstate(self._random)
            self._journey.end()

    def begin(self) -> None:
        """Set time and ``random`` back to where every world begins."""
        self._journey.begin_again()
        random.setstate(self._random)

    def kept(self, moves: Sequence[Move]) -> Baseline:
        """Return what the snapshots of a world are compared with: those of the first."""
        self._baseline.begin(learning=not moves)
        return self._baseline

    def item(self, event: Event, endpoint: int) -> int:
        """Return a number for what is attempted where, the same in every world."""
        return self._items.setdefault((event.body, endpoint), len(self._items) + 1)


class World:
    """A run of the body in a fake of its own.

    Args:
        surroundings: What it begins with.
        moves: What deviates.
        seed: What ids are derived from, if they are to differ.
        alone: Whether it is compared with no other.

    Attributes:
        fake: The fake.
        moves: As given.
        error: What the body raised; None: it passed.
        over: Whether the body had ended when something was raised.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        moves: Sequence[Move] = (),
        *,
        seed: str | None = None,
        alone: bool = False,
    ) -> None:
        self._surroundings = surroundings
        surroundings.begin()
        config = surroundings.config
        self._warns = not moves and seed is None and not alone
        self.moves: tuple[Move, ...] = tuple(moves)
        self.error: BaseException | None = None
        self.over: bool = False
        self.fake: ChatFake = ChatFake(config if seed is None else config.replace(seed=seed))
        if seed is not None and config.seed is not None:  # other ids, and the same chance
            self.fake._engine.chance = config.seed
        if not alone:
            self.fake._baseline = surroundings.kept(moves) if seed is None else Baseline()
        watching.dismiss(self.fake._story)  # a finding tells it
        outbox = self.fake._engine.outbox
        self._log: MadeLog = []
        self._order = outbox.order = AttemptOrder(outbox, self._log)
        self._order.deviates = bool(moves)
        self._set_up: list[Trigger] = [move.apply(self.fake) for move in self.moves]

    @contextmanager
    def running(self) -> Generator[ChatFake]:
        """Catch what fails in a block that runs the body, and close the fake.

        What is no failure passes: a skip, an interrupt, a cancellation.
        """
        with warnings.catch_warnings():
            if not self._warns:
                warnings.simplefilter("ignore")
            try:
                yield self.fake
                self._check()
                service.check()
            except BaseException as error:
                if not is_failure(error):
                    self.close()
                    raise
                self.error = error
        self.fake._engine.outbox.endpoints.close()

    @property
    def is_hasty(self) -> bool:
        """Whether a body's own check failed before it had come to a barrier."""
        own = all(one.error is not self.error for one in self.fake._engine.outbox.attempts)
        return own and not self.over and not self._order.settled

    def end(self) -> None:
        """Note that the body has ended: no repeat waits for more attempts.

        Raises:
            NotAwaited: Steps were never awaited.
        """
        plan = self.fake._engine.plan
        if plan:
            text = plan.complaint()
            plan.drop()
            raise NotAwaited(text)
        self.over = True
        self._order.finish()

    def close(self) -> None:
        """Close the fake, after whoever counts what was tried has looked at it."""
        watching.left(self.fake._story)
        self.fake._shut()

    def _check(self) -> None:
        """Raise what the body left behind; in a world that deviates, warnings count for nothing."""
        engine = self.fake._engine
        if self._warns:
            self.fake._checks.run()
            return
        engine.raise_errors()
        if self._surroundings.config.strict:
            refuse_failed(self.fake)

    def refuse_misfits(self) -> None:
        """Refuse moves that came to nothing: they were found with another body.

        Raises:
            ChatFakeError: There are some.
        """
        made = {one.chance for one in self._log if isinstance(one, Made)}
        for move, fault in zip(self.moves, self._set_up, strict=True):
            short = isinstance(fault, Deviation) and fault._is_short
            if fault.fired and not short:
                continue
            self.close()
            what = "was no such call"
            if short:
                what = "was a barrier before so many others were made"
            elif move.of_attempts:
                were = "was" if len(made) == 1 else "were"
                what = f"{were} only {counted(len(made), 'attempt')}"
            raise ChatFakeError(
                f"only= has {move.verb!r}, which came to nothing, for there {what}: the body "
                f"is not the one that it was found with. Leave only= out, to try every world anew"
            )

    def log(self) -> Log:
        """Return what happened, as far as the search needs it."""
        engine, api = self.fake._engine, self.fake.api
        places = {endpoint: n for n, endpoint in enumerate(engine.outbox.endpoints.ever)}
        overlaps = {endpoint: endpoint._target.overlaps for endpoint in places}
        steps: list[Step | None] = []
        for one in self._log:
            if isinstance(one, Made):
                place = places[one.endpoint]
                item = self._surroundings.item(one.event, place)
                item = -item if one.outcome in {"refused", "dropped"} else item
                number = one.event._log._numbers[one.event._index]
                what = one.event.status or one.event.type
                at = one.endpoint._shown if len(places) > 1 else ""
                own = overlaps[one.endpoint]
                steps.append(Step(one.chance, item, number, what, at, own, one.round))
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
            if fault._kind == "webhooks_first" and fault.fired
        )
        paused = tuple(
            (fault._start, fault._pause)
            for fault in engine.outbox.faults.ever
            if isinstance(fault, Deviation) and fault._pause and fault.fired
        )
        moments = [(one.moment,) if isinstance(one, Made) else one.moments for one in self._log]
        session = engine.settings.rules.conversation_length
        return Log(steps, calls, raced, paused, moments, session)

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

    @property
    def has_threads(self) -> bool:
        """Whether attempts were made in threads at the same time."""
        return self._order.has_threads

    def timed_out_race(self) -> bool:
        """Whether a call was answered after webhooks that its caller could not take meanwhile."""
        if all(move.of_attempts for move in self.moves):
            return False
        timeouts = {"TimeoutError", "timeout"}
        outcomes = {one.outcome for one in self._log if isinstance(one, Made)}
        errors = [self.error, *self.fake._engine.errors]
        return bool(outcomes & timeouts) or any(isinstance(one, TimeoutError) for one in errors)


def refuse_idle(world: World) -> None:
    """Refuse a body in which nothing can deviate, because nothing was attempted.

    Raises:
        ChatFakeError: It is such a body.
    """
    if any(isinstance(one, Made) and one.outcome != "dropped" for one in world._log):
        return
    world.close()
    text = "the body sent no event to the app, so there is nothing to try: send something in it, "
    text += "as in chat_fake.send_text().deliver()"
    if not world.fake._engine.outbox.endpoints.ever:
        text = "the body connected no app, so there is nothing to try: connect it inside the body, "
        text += "as in chat_fake.webhooks.connect(wsgi=app, path='/hooks/chat')"
    raise ChatFakeError(f"{text}. A body that rightly has none is run as written by depth=0")


def refuse_failed(fake: ChatFake) -> None:
    """Raise failed attempts that an app has had; what a deviation did to one is not the app's.

    Raises:
        UndeliveredWebhooks: There are some.
    """
    attempts = fake._engine.outbox.attempts
    last: dict[tuple[Event, Endpoint], Attempt] = {}
    for place, one in enumerate(attempts):
        is_news = place >= attempts.seen and place not in attempts.surfaced
        if is_news and not effect_of(one.fault).fails:
            last[one.event, one.endpoint] = one
    # A handler's answer is the test's own.
    failed = [
        one for one in last.values() if not one.ok and (one.error or not one.endpoint._scripted)
    ]
    if failed:
        lines = [f"{one.event._subject} at {one.endpoint._shown}: {one.outcome}" for one in failed]
        raise UndeliveredWebhooks("\n  ".join(["attempts failed:", *lines]))


def is_failure(error: BaseException) -> bool:
    """Return whether an error says that something is wrong: no skip, interrupt or cancellation."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "OutcomeException" in names:  # pytest's own, which says that it is of the builtins
        return type(error).__name__ == "Failed"
    return isinstance(error, Exception) and "SkipTest" not in names


def refuse_unrun(result: object) -> None:
    """Refuse what a plain body returned, if nobody would run it: a coroutine, or a generator.

    Raises:
        TypeError: It is one.
    """
    if inspect.iscoroutine(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()  # or Python warns that nobody awaited it
        raise TypeError(
            f"the body returned {cited(result)}, which nobody runs: write `async def` and await "
            f"the exploration, or call it in the body"
        )


def run(body: Callable[[ChatFake], Any], world: World) -> None:
    """Run a body in a world, to the barrier at its end."""
    with world.running() as fake:
        refuse_unrun(body(fake))
        world.end()
        fake.settle()


async def run_async(body: Callable[[ChatFake], Any], world: World) -> None:
    """The same with a body that is awaited."""
    with world.running() as fake:
        await body(fake)
        world.end()
        await fake.settle()
