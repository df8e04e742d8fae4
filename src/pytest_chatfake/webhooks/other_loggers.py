"""Sees the exceptions that apps log with loguru or structlog, past Python's logging.

Neither library is imported here, because an app that logs with it has done so already; each class
gets the loaded module.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

#: Takes a level of Python's logging and an exception.
Note = Callable[[int, object], None]

_AS_ERRORS: Final = {"critical", "error", "exception", "fatal"}


class Loguru:
    """A sink of loguru's, from level WARNING on, so that no app's lazy debug message is built."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._sink: int | None = None
        self._logger: Any = None  # a test may take the module away

    def begin(self, loguru: Any) -> None:
        """Add the sink, unless it is there; an app may have removed all sinks."""
        logger = loguru.logger
        # To add a sink takes loguru 7 ms, and only its text says which ones there are.
        if f"(id={self._sink}," not in repr(logger):
            self._logger = logger
            self._sink = self._logger.add(
                self._see, level=logging.WARNING, format=_no_text, backtrace=False, diagnose=False
            )

    def end(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            with suppress(ValueError):  # an app has removed it
                self._logger.remove(sink)

    def _see(self, message: Any) -> None:
        if exception := message.record["exception"]:
            self._note(message.record["level"].no, exception.value)


class Structlog:
    """A processor in front of structlog's own.

    It is put into their list, because loggers keep the list; `structlog.testing.capture_logs()`
    does the same.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._lists: list[list[object]] = []

    def begin(self, structlog: Any) -> None:
        processors = structlog.get_config()["processors"]
        if isinstance(processors, list) and self._see not in processors:
            own = cast("list[object]", processors)
            self._lists.append(own)
            own.insert(0, self._see)

    def end(self) -> None:
        lists, self._lists = self._lists, []
        for processors in lists:
            with suppress(ValueError):  # the list has been changed since
                processors.remove(self._see)

    def _see(self, _: object, method: str, event: dict[str, Any]) -> dict[str, Any]:
        given = event.get("exc_info", method == "exception")
        error: Any = sys.exc_info() if given is True else given
        level = logging.ERROR if method in _AS_ERRORS else logging.WARNING
        self._note(level, cast("object", error[1]) if isinstance(error, tuple) else error)
        return event


def _no_text(_: object) -> str:
    return ""
