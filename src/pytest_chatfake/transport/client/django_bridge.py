"""Django in sync mode: its code runs in the test's thread, on the test's database connections.

Nothing here is the first to import Django: an app that uses Django has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, TypeVar

T = TypeVar("T")

_NOTHING_TO_KEEP: Final = nullcontext()


def is_asgi_handler(app: object) -> bool:
    """Whether the app is what ``get_asgi_application()`` returns."""
    module = sys.modules.get("django.core.handlers.asgi")
    return module is not None and isinstance(app, module.ASGIHandler)


def run_bridged(function: Callable[..., Coroutine[Any, Any, T]], *args: object) -> T:
    """Run a coroutine function through asgiref, so that Django's sync code runs in this thread.

    Django hands its sync code, the ORM above all, to the thread that waits for the coroutine. On a
    loop in this thread nobody waits, and the code would run beside the test's transaction.
    """
    import asyncio  # noqa: PLC0415 - asgiref has it

    from asgiref.sync import async_to_sync  # noqa: PLC0415 - Django brings it

    # asgiref and Django refuse to work where a loop runs. Here that is right only in name: this
    # thread's loop stands still until the plain code inside it returns (Playwright's sync API).
    loop: Any = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        result: T = async_to_sync(function)(*args)
    finally:
        asyncio._set_running_loop(loop)
    return result


def has_broken_transaction() -> bool:
    """Whether a transaction of this thread must be rolled back before anything else is done."""
    db = sys.modules.get("django.db")
    return db is not None and any(
        connection.in_atomic_block and connection.needs_rollback
        for connection in db.connections.all(initialized_only=True)
    )


def connections_kept() -> AbstractContextManager[None]:
    """Keep Django from closing this thread's database connections around a request.

    At both ends of a request it closes connections in the middle of a transaction, which for a
    server is a sane thing to do. Here the transaction is the test's. Django's own test client
    does the same.
    """
    db = sys.modules.get("django.db")
    return _NOTHING_TO_KEEP if db is None else _kept(db)


@contextmanager
def _kept(db: Any) -> Generator[None]:
    core = sys.modules["django.core.signals"]  # django.db imports it
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
