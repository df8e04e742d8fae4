"""The code of an app that awaits in one attempt, and its end in a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio

    from ..transport.client.cancellable import Cancellable

#: The real seconds that tasks get to clean up after a crash.
_CLEAN_UP_SECONDS: Final = 0.5


class RunningCode:
    """What awaits in an attempt: the app's own code, and the tasks that it has begun.

    Attributes:
        main: Awaits the app's own code; None: it has not begun, or has ended.
        tasks: The tasks.
    """

    def __init__(self) -> None:
        self.main: Cancellable | None = None
        self.tasks: list[asyncio.Task[Any]] = []
        self._doomed: list[asyncio.Task[Any]] = []
        self._why: ConnectionResetError | None = None

    def doom(self, why: ConnectionResetError) -> None:
        """Note that all of it has to end now; what begins later may clean up."""
        self._doomed, self._why = [*self.tasks], why

    def end(self) -> None:
        """Cancel what is doomed."""
        if self.main is not None and self._why is not None:
            self.main.cancel_here(self._why)
        for task in self._doomed:
            task.cancel()

    async def wait(self) -> None:
        """Wait until the tasks have cleaned up."""
        import asyncio  # noqa: PLC0415 - running, so imported

        for _ in range(2 if self.tasks else 0):  # because tasks may start others to clean up
            await asyncio.wait(self.tasks, timeout=_CLEAN_UP_SECONDS)

    def forget(self) -> None:
        self.tasks.clear()
        self._doomed.clear()
