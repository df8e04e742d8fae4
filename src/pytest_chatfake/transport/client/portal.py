"""From plain code into coroutines: a fake's side of the loop that it runs ASGI apps on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ...base.errors import ClosedError
from ...base.session_scope import of_the_session
from .private_loop import PrivateLoop

T = TypeVar("T")


class Portal:
    """One fake's way to its loop: a loop of its own, or the one that its session of pytest shares.

    A loop of its own ends with the fake, and with it all that an app has left there. A shared one
    goes on, with all that an app has left there.

    Attributes:
        app_states: What lifespans that run now gave to their apps, by the ``id`` of the app.
    """

    def __init__(self) -> None:
        self.app_states: dict[int, dict[str, Any]] = {}
        shared = of_the_session(PrivateLoop)
        self._shares = shared is not None
        self._loop: PrivateLoop | None = shared or PrivateLoop()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine to its end and return what it returns.

        Raises:
            BaseException: Whatever leaves the coroutine, with its traceback.
            ClosedError: The portal is closed.
            RuntimeError: The loop waits for this very code.
        """
        if self._loop is None:
            coroutine.close()
            raise ClosedError("the fake is closed, and its event loop with it")
        return self._loop.run(coroutine, self)

    def run_idle(self, pause: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Let what an app left on the loop go on for as long as ``pause`` takes.

        Returns:
            Whether it did: not where there is no loop, or it is used.
        """
        return self._loop is not None and self._loop.run_idle(pause)

    def close(self) -> None:
        """Leave the loop; one's own is closed, with all that is on it.

        Raises:
            RuntimeError: A task does not end, or the loop waits for this very code.
        """
        if self._loop is not None and not self._shares:
            self._loop.close()
        self._loop = None
