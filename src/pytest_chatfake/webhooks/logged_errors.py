"""What an app in process logs of an exception that it turns into a response.

Flask and Django respond with 500, and log what was raised. Only the log knows it then.
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
        text: What it says.
        place: The last line of the user's in its traceback, as ``app.py:41``; or empty.
    """

    type: str
    text: str
    place: str


class ErrorLog(logging.Handler):
    """Notes what is logged with an exception while an attempt is made, by the code that it calls.

    It belongs to the root logger for that time, if that has other handlers: so a log that nobody
    collects goes to stderr as without it.

    Args:
        scopes: Where the attempt's receiver counts as part of the fake.
        record: The attempt's record.
    """

    def __init__(self, scopes: Scopes, record: Record) -> None:
        levels = [handler.level for handler in logging.root.handlers]
        super().__init__(min(levels, default=logging.CRITICAL))  # frameworks look for the lowest
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
        """Note the exception of a record, if the attempt's receiver logs it."""
        if record.exc_info and self._scopes.current()[-1:] == [self._record]:
            self._error = record.exc_info[1] or self._error

    def error(self) -> LoggedError | None:
        """Return the last exception that was logged; None: there was none."""
        error = self._error
        if error is None:
            return None
        return LoggedError(type(error).__name__, text_of(error), users_place(error))
