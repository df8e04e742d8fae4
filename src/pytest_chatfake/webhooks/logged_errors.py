"""Notes the exceptions that in-process apps log and turn into a response.

Flask and Django log an exception and respond with 500, so only the log knows what was raised. Other
apps log it and respond with 200, so only the log knows that something was raised at all.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from ..base.calling_line import users_place
from ..base.history import Record
from ..base.scopes import Scope, Scopes
from ..base.tracebacks import text_of


class LoggedError(NamedTuple):
    """An exception that an app has logged.

    Attributes:
        type: The name of its class.
        text: Its message.
        place: The last line of the user's code in its traceback, such as ``app.py:41``; or empty.
    """

    type: str
    text: str
    place: str


class ErrorLog(logging.Handler):
    """Notes exceptions that are logged by code inside a fake's attempts.

    It is a handler of the root logger for a block, but only next to other handlers: as the only
    one, it would keep logs away from stderr.

    Args:
        scopes: Knows which attempt the running code is part of.

    Attributes:
        errors: The exceptions of each attempt, with the levels at which they were logged.
    """

    def __init__(self, scopes: Scopes) -> None:
        super().__init__()
        self._scopes = scopes
        self.errors: dict[Scope, list[tuple[int, BaseException]]] = {}

    def begin(self) -> None:
        """Note exceptions from now on."""
        handlers = logging.root.handlers
        if handlers:
            # The lowest level of all handlers, because frameworks check for a handler with their
            # level.
            self.setLevel(min([handler.level for handler in handlers]))
            logging.root.addHandler(self)

    def end(self) -> None:
        """Note no more exceptions."""
        if self in logging.root.handlers:
            logging.root.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Note a log record's exception, if an attempt's code logs it."""
        error = record.exc_info and record.exc_info[1]
        if error:
            for scope in self._scopes.current()[-1:]:
                self.errors.setdefault(scope, []).append((record.levelno, error))

    def take(self, attempt: Record, status: int) -> LoggedError | None:
        """Return the last exception that matters for an attempt's response, and forget them all.

        With a status of 500 or more, any exception may be the reason. An app that accepted the
        event may have handled it, unless it logged the exception as an error.
        """
        # Their tracebacks keep the app's variables.
        logged = self.errors.pop(attempt, None)
        if logged is None or 300 <= status < 500:
            return None
        least = logging.NOTSET if status >= 500 else logging.ERROR
        for level, error in reversed(logged):
            if level >= least:
                return LoggedError(type(error).__name__, text_of(error), users_place(error))
        return None
