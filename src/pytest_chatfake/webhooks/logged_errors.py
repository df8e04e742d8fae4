"""What an app in process logs about an exception that it turns into a response.

Flask and Django log the exception and respond with 500: then only the log knows what was raised.
"""

from __future__ import annotations

import logging
from typing import NamedTuple, Self

from ..base.calling_line import users_place
from ..base.history import Record
from ..base.scopes import Scopes
from ..base.tracebacks import text_of


class LoggedError(NamedTuple):
    """An exception that an app has logged.

    Attributes:
        type: The name of its class.
        text: Its text.
        place: The last line of the user's code in its traceback, as ``app.py:41``; or empty.
    """

    type: str
    text: str
    place: str


class ErrorLog(logging.Handler):
    """Notes the exceptions that the code inside an attempt logs.

    It is a handler of the root logger during the attempt, but only beside others: as the only one
    it would keep logs from stderr.

    Args:
        scopes: Knows which code is part of the attempt.
        record: The attempt.
    """

    def __init__(self, scopes: Scopes, record: Record) -> None:
        levels = [handler.level for handler in logging.root.handlers]
        # The lowest level of all handlers, because frameworks look for that one.
        super().__init__(min(levels, default=logging.CRITICAL))
        self._scopes = scopes
        self._record = record
        self._is_used = bool(levels)
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        if self._is_used:
            logging.root.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.root.removeHandler(self)
        self._error = None  # its traceback keeps the app's variables

    def emit(self, record: logging.LogRecord) -> None:
        """Note the exception of a log record, if code of this attempt logs it."""
        if record.exc_info and self._scopes.current()[-1:] == [self._record]:
            self._error = record.exc_info[1] or self._error

    def error(self) -> LoggedError | None:
        """Return the last exception that was logged, if any."""
        error = self._error
        if error is None:
            return None
        return LoggedError(type(error).__name__, text_of(error), users_place(error))
