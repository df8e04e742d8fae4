"""From plain code into coroutines: a fake's side of the loop that it runs ASGI apps on."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from ...base.errors import ClosedError
from ...base.sharing import of_the_session
from . import closed_loops
from .own_loop import OwnLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from .answers import Answer

T = TypeVar("T")


class Portal:
    """One fake's way to its loop: a loop of its own, or the one that its session of pytest shares.

    A loop of its own ends with the fake, and with it all that an app has left there. A shared one
    goes on; only the lifespans that were begun here, and not left, end with the fake.

    Attributes:
        app_states: What lifespans that run now gave to their apps, by the ``id`` of the app.
        lifespans: What ends those of them that run on the portal's loop, without a shutdown.
    """

    def __init__(self) -> None:
        self.app_states: dict[int, dict[str, Any]] = {}
        self.lifespans: dict[int, Callable[[], Coroutine[Any, Any, None]]] = {}
        shared = of_the_session(OwnLoop)
        self._shares = shared is not None
        self._loop = OwnLoop() if shared is None else shared
        self._closed = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine to its end and return what it returns.

        Raises:
            BaseException: Whatever leaves the coroutine, with its traceback.
            ClosedError: The portal is closed.
            RuntimeError: The loop runs already for this fake, or this was called from within.
        """
        if self._closed:
            coroutine.close()
            raise ClosedError("the fake is closed, and its event loop with it")
        before = closed_loops.uses()
        try:
            return self._loop.run(coroutine, self)
        except BaseException as error:
            closed_loops.explain(error, before)
            raise

    def attempt(self, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
        """Run an attempt; its answer remarks if the app has used a loop that is closed."""
        before = closed_loops.uses()
        answer = self.run(coroutine)
        if before == closed_loops.uses():
            return answer
        return answer._replace(remark=closed_loops.FOUND)

    def lend(self, pause: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Let what an app left on the loop go on for as long as ``pause`` takes.

        Whoever calls `run` meanwhile waits for that. Where there is no loop, or it runs already,
        nothing happens.

        Returns:
            Whether the loop has run.
        """
        return not self._closed and self._loop.lend(pause, self)

    def _end(self, lifespan: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.run(lifespan())

    def close(self) -> None:
        """Leave the loop; one's own is closed, with all that is on it.

        Raises:
            RuntimeError: A task does not end, or the loop runs this very code.
        """
        if self._closed:
            return
        if self._shares:
            with ExitStack() as stack:  # each of them, whatever the others do
                stack.callback(setattr, self, "_closed", True)
                for end in self.lifespans.values():
                    stack.callback(self._end, end)
            self.lifespans.clear()
        else:
            self._loop.close()
            self._closed = True
