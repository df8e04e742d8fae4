"""Django in sync mode: its code runs in the test's thread, on the test's database connections.

This module doesn't import Django itself, because an app that uses Django has done so already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

T = TypeVar("T")

_NOTHING_TO_KEEP = nullcontext()


def is_asgi_handler(app: object) -> bool:
    """Return whether an app comes from Django's ``get_asgi_application()``."""
    module = sys.modules.get("django.core.handlers.asgi")
    return module is not None and isinstance(app, module.ASGIHandler)


def run_bridged(function: Callable[..., Coroutine[Any, Any, T]], *args: object) -> T:
    """Run a coroutine function through asgiref, so that Django's sync code runs in this thread.

    Django passes its sync code (above all the ORM) to the thread that waits for the coroutine. On a
    loop in this thread, no thread would wait, so the code would run in another thread, outside the
    test's transaction.
    """
    import asyncio  # noqa: PLC0415 - asgiref imports it anyway

    from asgiref.sync import async_to_sync  # noqa: PLC0415 - Django brings it

    # asgiref and Django refuse to work while a loop runs in this thread. Playwright's sync API has
    # such a loop, but it stands still until our plain code returns.
    loop: Any = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        result: T = async_to_sync(function)(*args)
    finally:
        asyncio._set_running_loop(loop)
    return result


def has_broken_transaction() -> bool:
    """Return whether this thread's transaction is broken: Django refuses all but a rollback."""
    return any(
        connection.in_atomic_block and connection.needs_rollback
        for connection in open_connections()
    )


def open_connections() -> list[Any]:
    """Return this thread's database connections."""
    db = sys.modules.get("django.db")
    # Other packages, such as sentry-sdk, import Django if it is installed, without any settings.
    if db is None or not sys.modules["django.conf"].settings.configured:
        return []
    return list(db.connections.all(initialized_only=True))


def has_waiting_callbacks() -> bool:
    """Return whether callbacks wait for the commit of this thread's transaction."""
    return any(connection.run_on_commit for connection in open_connections())


def drop_connection(connection: Any) -> None:
    """Close a database connection, and leave its transaction behind, as if its process had died."""
    connection.in_atomic_block = connection.needs_rollback = False
    connection.savepoint_ids, connection.atomic_blocks = [], []
    connection.run_on_commit = []
    try:
        if connection.connection is not None:  # Django keeps one to a database in memory
            connection.rollback()
            connection.set_autocommit(connection.settings_dict["AUTOCOMMIT"])
    finally:
        connection.close()


def connections_kept() -> AbstractContextManager[None]:
    """Keep Django from closing this thread's database connections around a request.

    Django closes connections at both ends of a request, which suits a server. But here, they belong
    to the test's own transaction. Django's test client keeps them in the same way.
    """
    db = sys.modules.get("django.db")
    return _NOTHING_TO_KEEP if db is None else _kept(db)


@contextmanager
def _kept(db: Any) -> Generator[None]:
    core = sys.modules["django.core.signals"]  # imported by django.db
    signals = [
        signal
        for signal in (core.request_started, core.request_finished)
        if signal.disconnect(db.close_old_connections)
    ]
    try:
        yield
    finally:
        for signal in signals:
            signal.connect(db.close_old_connections)
