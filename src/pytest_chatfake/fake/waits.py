"""``wait_until()``: waits for an app that works in the background.

Theory of operation
-------------------
*Looks.* A wait calls the predicate repeatedly, until it is true or the time is up. Each call is a
look. Before each look, the fake settles (unless ``settle=False``), to attempt events that the app
has caused over HTTP meanwhile. Between two looks, no lock is held, no step is pending, and nothing
is attempted, so other threads and tasks can call verbs.

*Observers.* If a test body is run several times, it has to do the same each time, but it is chance
whether a thread of the app commits before or after such an attempt. So in an observed fake, a wait
only makes the attempts that were held back, before the first look. Events that the app has caused
stay queued until the body settles.

*Real time.* The process's :class:`.Watchdog` ends a wait at its limit. A pause waits for a lock; in
async mode, a thread does this and wakes the loop. So a wait ends even under freezegun, which stops
the clocks and therefore asyncio's timers.

*Background tasks* of an app run during the pauses: in async mode on the test's loop, in sync mode
on the fake's loop, which only runs during pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event
from typing import Any, Self, TypeGuard

from ..base.arguments import check_takes, cited
from ..base.calling_line import Line
from ..base.coroutines import run_at_once
from ..base.terminal import say
from ..base.tracebacks import text_of
from ..engine.engine import Engine
from ..engine.performer import Pending
from ..transport.client.cancellable import Cancellable, CancelledExternally
from ..transport.client.portal import Portal
from ..transport.client.watchdog import watchdog
from ..transport.client.worker import Worker
from ..webhooks.events import events_are

#: Real seconds: each pause is twice as long as the previous one, up to the longest.
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05


def check_predicate(predicate: object) -> None:
    if _is_coroutine(predicate):
        predicate.close()  # or Python warns that it was never awaited
    check_takes(predicate, "predicate", "lambda: app.is_done()")


def _is_coroutine(value: object) -> TypeGuard[Coroutine[Any, Any, Any]]:
    # Not any awaitable: a message can be awaited as well, but counts as a true value.
    return isinstance(value, Coroutine)


def wait_until(
    engine: Engine, portal: Portal, predicate: Callable[[], Any], limit: float, *, settle: bool
) -> Any:
    """Wait as :meth:`.ChatFake.wait_until` does, for at most ``limit`` real seconds."""
    first: Callable[[], Iterator[None]] | None = engine.due_runner.run_due if settle else None
    is_explored = engine.drain.observer is not None
    if is_explored:
        first, settle = engine.drain.barrier, False
    wait = Wait(engine, portal, predicate, limit, settles=settle)

    def apart() -> AbstractContextManager[None]:
        return engine.state.queue.holding_ready() if is_explored else nullcontext()

    async def wait_async() -> Any:
        if first is None:
            engine.plan.drop_chain(wait_async)  # performing the wait's step would attempt the queue
        else:
            with apart():
                await begun
        return await waited()

    async def waited() -> Any:
        with wait:
            while not await wait.look():
                await wait.pause()
                if settle:
                    await engine.performed(engine.settle())
        return wait.value

    with apart():
        begun = engine.step("wait_until()", first or (lambda: iter(())), wait_async)
    if engine.mode == "async":
        return Pending(engine.performer, wait_async)
    return run_at_once(waited())


async def pause(engine: Engine, portal: Portal, seconds: float) -> None:
    """Let real time pass, even if the clocks stand still, and let an app's background tasks run."""
    worker, never = Worker("chatfake-pause"), Event()

    async def pause_async() -> None:
        await worker.call_async(never.wait, seconds)

    try:
        if engine.mode == "async":
            await pause_async()
        elif not portal.run_idle(pause_async):
            never.wait(seconds)
    finally:
        worker.close()


class Wait:
    """A predicate, its last result, and the time limit.

    Attributes:
        value: What the predicate returned last.
        current: The object that the watchdog compares, so it must stay the same.
        limit: Real seconds.
    """

    def __init__(
        self,
        engine: Engine,
        portal: Portal,
        predicate: Callable[[], Any],
        limit: float,
        *,
        settles: bool,
    ) -> None:
        self._engine = engine
        self._is_async = engine.mode == "async"
        self._portal = portal
        self._predicate = predicate
        self._settles = settles
        self.value: Any = None
        self.current: object | None = self
        self.limit = limit
        self._error: Exception | None = None
        self._looks = 0
        self._over = Event()
        self._pause = _FIRST_PAUSE
        self._worker = Worker("chatfake-wait")
        self._looking = False
        self._awaited = Cancellable()

    def __enter__(self) -> Self:
        watchdog.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        watchdog.remove(self)
        self._over.set()
        self._worker.close()
        self._error = None  # its traceback refers to this wait, a cycle

    def on_timeout(self, current: object) -> None:
        """End the wait after the next look; called by the watchdog when the time is up."""
        self._over.set()
        if self._looking and not self._awaited.cancel(current, TimeoutError("it did not finish")):
            say(f"still waiting for {self._what()}")

    async def look(self) -> bool:
        """Return whether the predicate is true now."""
        with self._look():
            found = self._predicate()
            if _is_coroutine(found):
                awaited = self._awaited.run(self, found)
                found = await awaited if self._is_async else self._portal.run(awaited)
            self.value = found
        return bool(self.value)

    @contextmanager
    def _look(self) -> Generator[None]:
        # Keeps a look's error; fails if this was the last look and the predicate was not true.
        is_last, self._looking = self._over.is_set(), True
        self.value = self._error = None
        try:
            yield
        except (LookupError, AssertionError) as error:
            self._error = error
        except CancelledExternally as late:
            is_last, self._error = True, late.why
        finally:
            self._looking = False
        self._looks += 1
        if is_last and not self.value:
            raise AssertionError(self._failure()) from self._error

    async def pause(self) -> None:
        """Let real time pass, and run background tasks on the test's loop, or on the fake's."""
        if self._is_async:
            await self._pause_async()
        elif not self._portal.run_idle(self._pause_async):
            self._sleep()

    async def _pause_async(self) -> None:
        await self._worker.call_async(self._sleep)

    def _sleep(self) -> None:
        self._over.wait(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _name(self) -> str:
        name: str = getattr(self._predicate, "__name__", type(self._predicate).__name__)
        return "the lambda" if name == "<lambda>" else f"{name}()"

    def _what(self) -> str:
        code = getattr(self._predicate, "__code__", None)
        if code is None:
            return self._name()
        return f"{self._name()} at {Line(code.co_filename, code.co_firstlineno)}"

    def _failure(self) -> str:
        if self._error is not None:
            seen = f"raised {type(self._error).__name__}: {text_of(self._error)}"
        else:
            seen = f"returned {cited(self.value)}"
            if self.value is None and self._name() != "the lambda":
                seen += " (a function that only asserts must return True at the end)"
        text = (
            f"{self._what()} was not true within {self.limit:g} s: its last call (of "
            f"{self._looks}) {seen}"
        )
        if not self._settles and (left := self._engine.state.queue.ready):
            events = list(dict.fromkeys(attempt.event for attempt in left))
            text += (
                f"\nHint: {events_are(events)} queued, and this wait posts nothing. Wait "
                f"for what the app stores, then call settle()"
            )
        return text
