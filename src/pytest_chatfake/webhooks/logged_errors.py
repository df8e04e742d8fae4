"""Notes the exceptions that apps log instead of raising them.

Flask and Django log an exception and respond with 500, so only the log knows what was raised. Other
apps log it and respond with 200, so only the log knows that something was raised at all. Bottle and
Falcon print it to ``wsgi.errors``. Tasks and threads may raise it after the response.

Theory of operation
-------------------
A fake watches logging from its first attempt until it is closed. A handler would miss loggers that
don't propagate, and be lost when an app configures logging while it handles an event. So the fake
puts a function around logging's factory of records, which sees every record and changes none, and
another one around ``threading.excepthook``. loguru and structlog may write past logging; see
``other_loggers``.

A record belongs to the attempt whose code logs it. A server in this process handles a webhook in a
thread or task of its own, which doesn't know the attempt. What it logs belongs to the attempt at a
URL, if that is the only attempt at this moment. Some servers respond before they log; see ``take``.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from weakref import ref

from ..base.calling_line import Line, is_users_file
from ..base.forks import new_lock
from ..base.tracebacks import LoggedError
from ..transport.client.loops import running_task
from .attempts import Attempt
from .core import Core
from .fake_state import FakeState
from .other_loggers import Loguru, Structlog

_HEAD: Final = "Traceback (most recent call last):"

#: A printed traceback: its frames, and the first line of its exception. The lines of an exception
#: group are indented, and have a bar in front.
_PRINTED: Final = re.compile(
    rf"^(?P<indent>[ |]*+).*{re.escape(_HEAD)}\n"
    r"(?P<frames>(?:(?P=indent)(?:\| )?[ ]{2}.*\n)*)"
    r"(?P=indent)(?:\| )?(?:[\w<>]+\.)*(?P<type>\w+)(?:: (?P<text>.*))?$",
    re.MULTILINE,
)
_FRAME: Final = re.compile(r'File "(.+)", line (\d+)')

#: The logs of fakes that are open and have made an attempt. Weak, because a fake may never be
#: closed. It is read without the lock, or a log record could wait for a thread that is gone after a
#: fork.
_watching: Final[list[ref[ErrorLog]]] = []
_lock: Final = new_lock()


class ErrorLog:
    """Notes exceptions that are logged by code of a fake's attempts, or of what they have started.

    Args:
        core: Knows which attempt the running code is part of, and keeps what was logged in the
            background.
    """

    def __init__(self, core: Core[FakeState]) -> None:
        self._core = core
        self._known: ref[ErrorLog] = ref(self)
        self._errors: dict[Attempt, list[tuple[int, LoggedError]]] = {}
        # After an attempt at a URL: the thread and the task that made it, and the attempt itself if
        # nothing explains a 500.
        self._maker: object = None
        self._unexplained: Attempt | None = None

    def begin(self) -> None:
        """Note exceptions from now on, also if an app has replaced a hook since the last time."""
        if self._known not in _watching:
            with _lock:  # or another log ends the hooks, because it takes itself for the last one
                _watching.append(self._known)
        for hook in _hooks:
            hook.begin()
        for name, library in _libraries.items():
            if module := sys.modules.get(name):
                library.begin(module)

    def end(self) -> None:
        """Note no more exceptions."""
        with _lock:
            _watching[:] = [log for log in _watching if log() not in (None, self)]
            if not _watching:
                for hook in _hooks:
                    hook.end()
                for library in _libraries.values():
                    library.end()

    def take(self, attempt: Attempt, status: int, printed: str) -> LoggedError | None:
        """Return the last exception that matters for an attempt's response, and forget them all.

        With a status of 500 or more, any exception may be the reason. An app that accepted the
        event may have handled it, unless it logged the exception as an error, or printed its
        traceback.

        If nothing explains a 500 from a URL, the next error that another thread or task logs does,
        because uvicorn logs an exception after it has responded.
        """
        logged = self._errors.pop(attempt, ())
        self._maker = self._unexplained = None
        if not attempt.endpoint._target.in_process:
            self._maker = threading.get_ident(), running_task()
        if 300 <= status < 500:
            return None
        least = logging.NOTSET if status >= 500 else logging.ERROR
        for level, error in reversed(logged):
            if level >= least:
                return error
        if self._maker and status >= 500:
            self._unexplained = attempt
        return printed_error(printed)

    def open_attempts(self) -> list[Attempt]:
        return [scope for scope in [*self._core.scopes.open] if isinstance(scope, Attempt)]

    def note(self, level: int, error: LoggedError, *, is_late: bool) -> bool:
        """Note an exception if the running code is part of an attempt, or was started by one.

        In a route or a callback, which are the test's own, it is not noted.

        Returns:
            Whether the code belongs to this fake.
        """
        scopes = self._core.scopes
        inside = scopes.current()[-1:]
        if not inside and not isinstance(scopes.started_by(), Attempt):
            return False
        if is_late or not inside:
            self._note_in_background(level, error)
        elif isinstance(inside[0], Attempt):
            self._errors.setdefault(inside[0], []).append((level, error))
        return True

    def note_of_others(self, level: int, error: LoggedError, *, is_late: bool) -> None:
        """Note an exception if code that knows no attempt may be a server's, or in the background.

        A scheduler's thread was there before the event, for example.
        """
        attempts, maker = self.open_attempts(), (threading.get_ident(), running_task())
        if is_late:
            self._note_in_background(level, error)
        elif attempts and not attempts[0].endpoint._target.in_process:
            self._errors.setdefault(attempts[0], []).append((level, error))
        elif not attempts and self._maker not in (None, maker) and level >= logging.ERROR:
            if self._unexplained is None:
                self._note_in_background(level, error)
            else:
                self._unexplained._logged, self._unexplained = error, None
        elif threading.current_thread() is not threading.main_thread():
            self._note_in_background(level, error)

    def _note_in_background(self, level: int, error: LoggedError) -> None:
        if level >= logging.ERROR:
            self._core.state.background.append(error)


class _Around:
    """Puts a function around another one for a time; they are called with the same arguments.

    Args:
        get, put: Return and set the function.
        note: Called with the result and the arguments after each call.
    """

    def __init__(
        self,
        get: Callable[[], Callable[..., Any]],
        put: Callable[[Callable[..., Any]], object],
        note: Callable[..., None],
    ) -> None:
        self._get = get
        self._put = put
        self._note = note
        self._before: Callable[..., Any] | None = None
        self._own: Callable[..., Any] | None = None

    def begin(self) -> None:
        before = self._get()
        if before is self._own:
            return

        # A new function each time: an app may have put its own around the last one.
        def around(*args: Any, **kwargs: Any) -> Any:
            result = before(*args, **kwargs)
            if self._own is around:
                self._note(result, *args)
            return result

        self._before, self._own = before, around
        self._put(around)

    def end(self) -> None:
        # If an app has put its own around ours, both stay, and ours does nothing.
        if self._before is not None and self._get() is self._own:
            self._put(self._before)
        self._before = self._own = None


def _note_record(record: logging.LogRecord, *_: object) -> None:
    # asyncio logs the exception of a task that nothing awaits when it deletes the task.
    level, is_late = record.levelno, record.name == "asyncio"
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if error is not None:
        _note(level, LoggedError.of(error), is_late=is_late)
        return
    given = record.args or ()
    for part in (record.msg, *(given if isinstance(given, tuple) else given.values())):
        if isinstance(part, BaseException):  # without its traceback, so it may be handled
            _note(min(level, logging.WARNING), LoggedError.of(part), is_late=is_late)
        elif isinstance(part, str) and (printed := printed_error(part)):
            _note(level, printed, is_late=is_late)


def _note_thread(_: None, thread: threading.ExceptHookArgs) -> None:
    if isinstance(thread.exc_value, Exception):
        _note(logging.ERROR, LoggedError.of(thread.exc_value), is_late=True)


def _note_other(level: int, error: object) -> None:
    if isinstance(error, BaseException):
        _note(level, LoggedError.of(error), is_late=False)


#: Both are meant to be replaced: logging's factory of records, and the hook of threads that raise.
_hooks: Final = (
    _Around(logging.getLogRecordFactory, logging.setLogRecordFactory, _note_record),
    _Around(lambda: threading.excepthook, partial(setattr, threading, "excepthook"), _note_thread),
)

#: What sees the records of other libraries, by the name of the module.
_libraries: Final[Mapping[str, Loguru | Structlog]] = {
    "loguru": Loguru(_note_other),
    "structlog": Structlog(_note_other),
}


def note_printed(error: Exception) -> None:
    """Note an exception whose traceback the running code prints."""
    _note(logging.ERROR, LoggedError.of(error), is_late=False)


def _note(level: int, error: LoggedError, *, is_late: bool) -> None:
    logs = [log for known in [*_watching] if (log := known()) is not None]
    noted = [log.note(level, error, is_late=is_late) for log in logs]
    if any(noted):  # each of them, because one fake's receiver may use another fake
        return
    busy = [log for log in logs for _ in log.open_attempts()]
    if len(candidates := busy or logs) == 1:
        candidates[0].note_of_others(level, error, is_late=is_late)


def printed_error(text: str) -> LoggedError | None:
    """Return the exception of the last traceback in a text, if there is one."""
    found = [*_PRINTED.finditer(text)] if _HEAD in text else []
    if not found:
        return None
    _, frames, kind, message = found[-1].groups()
    lines = [Line(file, int(number)) for file, number in _FRAME.findall(frames)]
    own = [str(line) for line in lines if is_users_file(line.file)]
    return LoggedError(kind, message or "", own[-1] if own else "")
