"""The way from plain code into coroutines: a fake's loop for ASGI apps."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ...base.errors import ClosedError
from ...base.session_scope import of_the_session
from .private_loop import PrivateLoop

T = TypeVar("T")


class Portal:
    """A fake's access to its loop, which is its own or shared by the whole session.

    Its own loop ends with the fake, including tasks that an app has left on it. On a shared loop,
    such tasks go on.

    Attributes:
        app_states: The ``state`` of each app whose lifespan is running, by the ``id`` of the app.
    """

    def __init__(self) -> None:
        self.app_states: dict[int, dict[str, Any]] = {}
        shared = of_the_session(PrivateLoop)
        self._shares = shared is not None
        self._loop: PrivateLoop | None = shared or PrivateLoop()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result.

        Raises:
            BaseException: Whatever the coroutine raises, with its traceback.
            ClosedError: The portal is closed.
            RuntimeError: The loop is waiting for this very code.
        """
        if self._loop is None:
            coroutine.close()
            raise ClosedError("the fake is closed, and its event loop with it")
        return self._loop.run(coroutine, self)

    def run_idle(self, pause: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Let an app's remaining tasks on the loop run while ``pause`` runs.

        Returns:
            False if there is no loop, or it is in use.
        """
        return self._loop is not None and self._loop.run_idle(pause)

    def runs_here(self) -> bool:
        """Return whether the loop runs the caller, who then can't wait for it."""
        return self._loop is not None and self._loop.runs_here()

    def close(self) -> None:
        """Leave the loop; if it is the fake's own, close it and cancel its tasks.

        Raises:
            RuntimeError: A task does not end, or the loop is waiting for this very code.
        """
        if self._loop is not None and not self._shares:
            self._loop.close()
        self._loop = None
