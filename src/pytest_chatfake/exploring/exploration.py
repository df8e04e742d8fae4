"""An exploration: a body is run in one world after another, until one fails or all have passed."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from types import CodeType
from typing import Any, Final, NamedTuple

from ..base.calling_line import watching
from ..base.errors import NotAwaited, NotRepeatable
from ..base.views import counted
from .moves import Move
from .search import Search
from .telling import Pasted, pasted, sentence
from .world import Surroundings, World, refuse_idle, run, run_async

#: For how many real seconds nothing is said of the progress, and how often after that.
_QUIET: Final = 2.0
_EVERY: Final = 0.2

_THREADS: Final = (
    "Attempts were made at the same time in threads. What threads do is not the same every time: "
    "this world may pass when it is run again."
)

#: Takes the text of a progress line; an empty one at the end.
Progress = Callable[[str], None]


class Plan(NamedTuple):
    """What an exploration tries.

    Attributes:
        kinds: What may deviate.
        limit: How many worlds are tried at most.
        depth: How many deviations a world has at most.
        seconds: After how many real seconds no more worlds are begun; None: as long as it takes.
        only: The one world to try; None: all.
    """

    kinds: tuple[str, ...]
    limit: int
    depth: int
    seconds: float | None
    only: tuple[Move, ...] | None


class Exploration:
    """What an exploration did.

    In an async test, ``await`` it: it does nothing before.
    """

    def __init__(
        self, body: Callable[..., Any], plan: Plan, surroundings: Surroundings, progress: Progress
    ) -> None:
        self._worlds_tried = 0
        self._complete = False
        self._body = body
        self._is_loose = False  # and no fixture looks after it
        self._is_async = inspect.iscoroutinefunction(body)
        self._code: CodeType | None = getattr(inspect.unwrap(body), "__code__", None)
        self._plan = plan
        self._surroundings = surroundings
        self._progress = progress
        self._search = Search(plan.kinds, plan.depth, plan.limit)
        self._began = 0.0
        self._dropped = 0
        self._text = "not run yet"
        self._awaited = False
        self._test: Pasted | None = None  # the one that is to be printed, while it is run

    def __repr__(self) -> str:
        return f"<Exploration: {self._text}>"

    def __str__(self) -> str:
        return self._text

    @property
    def worlds(self) -> int:
        """How many different worlds were tried, the body as written among them.

        Raises:
            NotAwaited: The body is async, and the exploration was never awaited.
        """
        self._refuse_unawaited()
        return self._worlds_tried

    @property
    def complete(self) -> bool:
        """Whether these were all, up to the depth.

        Raises:
            NotAwaited: The body is async, and the exploration was never awaited.
        """
        self._refuse_unawaited()
        return self._complete

    def _refuse_unawaited(self) -> None:
        if self._is_async and not self._awaited:
            name = name_of(self._body)
            raise NotAwaited(
                f"the exploration of {name}() was never awaited: write "
                f"`await chat_explore({name})` in an `async def` test, or `await {name}` below "
                f"`@chat_explore`. No world is run before that"
            )

    def __del__(self) -> None:
        """Say what Python says of a coroutine that nobody awaited, where no fixture says it."""
        if self._is_loose and self._is_async and not self._awaited:
            text = f"the exploration of {name_of(self._body)}() was never awaited"
            warnings.warn(text, RuntimeWarning, stacklevel=1, source=self)

    def __await__(self) -> Generator[Any, Any, Exploration]:
        if not self._is_async:
            name = name_of(self._body)
            raise TypeError(
                f"there is nothing to await: {name}() is a plain function, and was explored when "
                f"chat_explore was called. Leave `await` out, or write `async def {name}`"
            )
        yield from self._run_async().__await__()
        return self

    def _run(self) -> Exploration:
        """Try the worlds of a plain body."""
        with self._surroundings.frozen(), watching(self._code):
            for world in self._worlds():
                run(self._body if self._test is None else self._test.function, world)
        return self

    async def _run_async(self) -> None:
        self._awaited = True
        with self._surroundings.frozen(), watching(self._code):
            for world in self._worlds():
                await run_async(self._body if self._test is None else self._test.function, world)

    def _worlds(self) -> Generator[World]:
        """Give the worlds to run, and judge each when it has run."""
        plan, search = self._plan, self._search
        self._began = time.monotonic()
        if plan.only is not None:
            yield from self._only(plan.only)
            return
        said = self._began + _QUIET
        for moves in search.worlds_to_try():
            now = time.monotonic()
            if plan.seconds is not None and moves and now - self._began >= plan.seconds:
                search.cut = f"seconds={plan.seconds:g}"
                break
            if now >= said:
                said = now + _EVERY
                worlds = counted(search.worlds, "world")
                self._progress(f"chat_explore: {worlds}, {now - self._began:.0f} s")
            world = World(self._surroundings, moves)
            yield world
            if moves and world.timed_out_race():
                self._dropped += 1
                search.races = False
                world.close()
                continue
            if world.error is not None:
                self._text = f"failed in world {search.worlds + 1}"
                if moves:
                    yield from self._found(world)
                world.close()
                self._progress("")
                raise world.error
            if not moves and plan.depth:
                refuse_idle(world)
            search.tried(world.log())
            outline = None if moves else world.outline()
            world.close()
            if outline is not None:
                yield from self._repeated(outline)
        self._progress("")
        self._worlds_tried = search.worlds
        self._complete = not search.cut
        self._text = self._summary()

    def _only(self, moves: tuple[Move, ...]) -> Generator[World]:
        written = World(self._surroundings)
        yield written
        if written.error is None:
            refuse_idle(written)
        written.close()
        if written.error is not None:
            raise written.error
        world = World(self._surroundings, moves)
        yield world
        if world.error is not None:
            self._text = f"failed in the world {[move.verb for move in moves]}"
            yield from self._found(world)
            raise world.error
        world.refuse_misfits()
        world.close()
        self._worlds_tried = 1
        self._text = f"1 world, only {[move.verb for move in moves]}"

    def _repeated(self, first: list[tuple[object, ...]]) -> Generator[World]:
        """Run the body as written once more, with other ids, and refuse what differs.

        Raises:
            NotRepeatable: Something does.
        """
        seed = self._surroundings.config.seed
        world = World(self._surroundings, seed=f"{seed} again")
        yield world
        world.close()
        remedy = (
            "Every world needs an app of its own: create it inside the body. What the body does "
            "must not depend on chance, real time, or on what an earlier run has left behind."
        )
        if world.error is not None:
            raise NotRepeatable(
                f"the body passed, and failed when it ran again with other ids: "
                f"{type(world.error).__name__}: {world.error}\n{remedy}"
            ) from world.error
        second = world.outline()
        if first != second:
            place = 0
            while place < min(len(first), len(second)) and first[place] == second[place]:
                place += 1
            raise NotRepeatable(
                f"the body did something else when it ran again with other ids. "
                f"At number {place + 1} it had {_told(first, place)}, and then "
                f"{_told(second, place)}.\n{remedy}"
            )

    def _found(self, world: World) -> Generator[World]:
        """Add to an error what was found, with a test that was run."""
        error = world.error
        assert error is not None
        log = world.log()
        head = "chat_explore: the body fails in this world"
        if self._plan.only is None:
            self._worlds_tried = self._search.worlds + 1
            head = (
                f"chat_explore: the body as written passes, and fails in world {self._worlds_tried}"
            )
        notes = [f"{head}:", *(f"  {sentence(move, log)}" for move in world.moves)]
        if world.is_hasty:
            notes.append("  There was no settle() before this assertion.")
        error.add_note("\n".join(notes))
        error.add_note(f"What happened in it:\n{world.fake.timeline}")
        test = pasted(self._body, world.moves, settles=world.over)
        world.close()
        if isinstance(test, Pasted):
            control = World(self._surroundings, alone=True)
            control._order.log = control._log
            self._test = test
            yield control
            self._test = None
            alike = type(control.error) is type(error) and control.log().key == log.key
            control.close()
            if world.has_threads:
                error.add_note(_THREADS)
            if alike:
                error.add_note(
                    f"As a test of its own (it was run, and fails alike):\n\n{test.text}\n"
                )
            else:
                test = "on its own, with these lines, the body does not fail alike"
        if isinstance(test, str):
            error.add_note(f"There is no test to paste: {test}.")
        only = ", ".join(repr(move.verb) for move in world.moves)
        error.add_note(f"This world alone: chat_explore(only=[{only}])")

    def _summary(self) -> str:
        search, depth = self._search, self._plan.depth
        tried, worlds = self._worlds_tried, counted(self._worlds_tried, "world")
        if search.cut:
            text = f"{tried:,} of at least {search.at_least():,} worlds, cut by {search.cut}"
        elif not depth:
            text = f"{worlds}: the body as written"
        else:
            text = f"{worlds}, all with up to {counted(depth, 'deviation')}"
        if self._dropped:
            text += (
                "; no call was answered last: a webhook timed out before the answer, so the server "
                "seems to answer one call at a time"
            )
        return text


def name_of(body: Callable[..., Any]) -> str:
    """Return what a text calls a body."""
    return getattr(body, "__name__", type(body).__name__)


def _told(outline: Sequence[tuple[object, ...]], place: int) -> str:
    if place >= len(outline):
        return "nothing more"
    if outline[place] == ("barrier",):
        return "a barrier"
    number, what, endpoint, outcome = outline[place]
    return f"an attempt at {what} of m{number} at endpoint {endpoint}, which ended with {outcome}"
