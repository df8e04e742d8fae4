"""What an attempt's code holds in this process: locks, and transactions on database connections.

The death of a process ends them. A simulated crash is an exception, so it ends what a ``with``
block or a ``finally`` would end. But code that is called between ``acquire()`` and ``try``, say, or
on a connection that the app keeps for later, leaves them open, and then the next attempt would wait
for them, or commit what was never committed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from threading import Lock, RLock
from types import FrameType
from typing import Any, Final

from ..base.calling_line import is_ours
from ..transport.client.django_bridge import drop_connection, open_connections
from .database_calls import METHODS, called_name, used_connection

#: The types of locks that are written in C, and where those that are written in Python come from.
#: Others, such as a lock in redis, may outlive a process.
_LOCKS: Final = (type(Lock()), type(RLock()))
_MODULES: Final = ("threading", "asyncio.locks")


class Holdings:
    """Notes what an attempt's code holds in the current thread.

    A profile function sees the calls. If there is one already, nothing is noted.

    Args:
        is_own: Returns whether the attempt's code is running.
        crash: Returns what ends the attempt's code; None: nothing yet.

    Attributes:
        has_failed: Whether code that cleans up has raised an error in place of the crash, such as
            a ``close()`` in a ``finally``.
    """

    def __init__(
        self, is_own: Callable[[], bool], crash: Callable[[], BaseException | None]
    ) -> None:
        self.has_failed: bool = False
        self._is_own = is_own
        self._crash = crash
        self._locks: list[Any] = []
        self._used: dict[int, Any] = {}  # connections and sessions that may be in a transaction
        self._in_use: dict[int, Any] = {}  # connections that were in one before
        self._of_the_test: list[Any] = []  # Django's, if the test has begun a transaction

    def note(self, stack: ExitStack) -> None:
        """Begin, until a stack is closed."""
        self._of_the_test = [each for each in open_connections() if each.in_atomic_block]
        for module, name, begins, listener in (
            ("sqlalchemy.engine", "Engine", "begin", self._note_used),
            ("sqlalchemy.orm", "Session", "after_transaction_create", self._note_session),
            ("sqlalchemy.orm", "Session", "before_commit", self._note_used),
        ):
            if module in sys.modules:
                event = sys.modules["sqlalchemy.event"]
                listening = getattr(sys.modules[module], name), begins, listener
                stack.callback(_stop_listening, event, *listening)
                event.listen(*listening)
        if sys.getprofile() is None:
            stack.callback(sys.setprofile, None)
            sys.setprofile(self._see)

    async def let_go_on_loop(self) -> None:
        """Roll back the transactions that are awaited."""
        in_greenlet: Any = None
        if "sqlalchemy.ext.asyncio" in sys.modules:
            in_greenlet = sys.modules["sqlalchemy.util"].greenlet_spawn
        for key, used in list(self._used.items()):
            rollback = used.rollback
            if not inspect.iscoroutinefunction(rollback):
                if in_greenlet is None:
                    continue
                rollback = partial(in_greenlet, rollback)
            del self._used[key]
            with suppress(Exception):
                await rollback()

    def let_go(self) -> None:
        """Release the locks, and roll the other transactions back."""
        locks, self._locks = self._locks, []
        used, self._used = self._used, {}
        self._in_use.clear()
        of_django = [each for each in open_connections() if each not in self._of_the_test]
        for end in [
            *(lock.release for lock in reversed(locks)),
            *(each.rollback for each in used.values()),
            *(partial(drop_connection, connection) for connection in of_django),
            *(module.manager.abort for module in _modules("transaction")),  # as ZODB uses it
        ]:
            with suppress(Exception):  # it was released or closed by something else
                end()

    def _see(self, frame: FrameType, event: str, arg: Any) -> None:
        if (crash := self._crash()) is not None and (error := sys.exception()) is not None:
            # Whatever catches the crash itself may handle other errors meanwhile.
            self.has_failed = error is not crash and (self.has_failed or _follows(error, crash))
        name, is_call = called_name(frame, event, arg), event in {"call", "c_call"}
        if name == "release" and is_call:
            self._forget(_lock_of(frame, event, arg))
        elif name == "acquire":
            lock = _lock_of(frame, event, arg)
            if _acquires(lock, frame, event, arg) and self._is_own():
                self._locks.append(lock)
        elif name in METHODS and is_call and self._is_own():
            with suppress(Exception):  # an attribute of a closed connection may raise
                self._note_connection(used_connection(frame, event, arg))

    def _note_connection(self, connection: Any) -> None:
        if id(connection) not in {*self._used, *self._in_use, id(None)}:
            known = self._in_use if _is_in_transaction(connection) else self._used
            known[id(connection)] = connection

    def _note_session(self, session: Any, transaction: Any) -> None:
        # A session that the app keeps would flush in a later attempt what it still has to write.
        if transaction.parent is None:
            self._note_used(session)

    def _note_used(self, begun: Any) -> None:
        # A connection of SQLAlchemy that the app keeps would begin no transaction inside another.
        if self._is_own():
            self._used[id(begun)] = begun

    def _forget(self, lock: object) -> None:
        # Once, because some locks can be acquired several times.
        index = next((index for index, one in enumerate(self._locks) if one is lock), None)
        if index is not None:
            del self._locks[index]


def _modules(name: str) -> list[Any]:
    return [module] if hasattr(module := sys.modules.get(name), "manager") else []


def _follows(error: BaseException | None, crash: BaseException) -> bool:
    # Whether a crash was being handled when an error was raised.
    while error is not None and error is not crash:
        error = error.__context__
    return error is crash


def _lock_of(frame: FrameType, event: str, arg: Any) -> Any:
    is_c = event.startswith("c_")
    return getattr(arg, "__self__", None) if is_c else frame.f_locals.get("self")


def _acquires(lock: Any, frame: FrameType, event: str, arg: Any) -> bool:
    if event == "c_call":  # if another thread has the lock, it may not get it
        return isinstance(lock, _LOCKS) and not (_is_locked(lock) or is_ours(frame))
    return event == "return" and arg is True and frame.f_globals.get("__name__") in _MODULES


def _stop_listening(event: Any, *listener: Any) -> None:
    if event.contains(*listener):
        event.remove(*listener)


def _is_locked(lock: Any) -> bool:
    # An RLock's owner can acquire it again.
    return isinstance(lock, _LOCKS[0]) and bool(lock.locked())


def _is_in_transaction(connection: Any) -> bool:
    # In sqlite3, SQLAlchemy and psycopg; PEP 249 has no such attribute.
    status = getattr(getattr(connection, "info", None), "transaction_status", 0)
    found = getattr(connection, "in_transaction", status)
    if getattr(connection, "autocommit", None) is False and found is True:
        return False  # in sqlite3, it then always is in one, so this says nothing
    return bool(found() if callable(found) else found)
