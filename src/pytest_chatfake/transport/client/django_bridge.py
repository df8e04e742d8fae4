"""Django in sync mode: its code runs in the test's thread, on the test's database connections.

Nothing here is the first to import Django: whoever has a Django app has imported it.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from contextlib import AbstractContextManager

__all__ = ["connections_kept", "is_asgi_handler", "run_bridged"]

T = TypeVar("T")


def is_asgi_handler(app: object) -> bool:
    """Whether the app is what ``get_asgi_application()`` returns."""
    module = sys.modules.get("django.core.handlers.asgi")
    return module is not None and isinstance(app, module.ASGIHandler)


def run_bridged(function: Callable[..., Coroutine[Any, Any, T]], *args: object) -> T:
    """Run a coroutine function through asgiref, so that Django's sync code runs in this thread.

    Django hands its sync code, the ORM above all, to the thread that waits for the coroutine. On a
    loop in this thread there is none such, and the code would run beside the test's transaction.
    """
    from asgiref.sync import async_to_sync  # noqa: PLC0415 - Django brings it

    with _no_running_loop():
        result: T = async_to_sync(function)(*args)
    return result


def connections_kept() -> AbstractContextManager[None]:
    """Keep Django from closing this thread's database connections around a request.

    At both ends of a request it closes connections in the middle of a transaction, which for a
    server is a sane thing to do. Here the transaction is the test's. Django's own test client
    does the same.
    """
    db = sys.modules.get("django.db")
    return _NOTHING if db is None else _kept(db)


#: What is to be done where Django is not in use.
_NOTHING = nullcontext()


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


@contextmanager
def _no_running_loop() -> Generator[None]:
    """Hide the loop that runs in this thread, if one does, while plain code waits for another.

    asgiref and Django refuse to work where a loop runs. Here that is right only in name: this
    thread's loop stands still until the plain code inside it returns (Playwright's sync API).
    """
    import asyncio  # noqa: PLC0415 - asgiref has it

    loop: Any = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
