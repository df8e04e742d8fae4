"""Lets a fake call an app's ``send()`` and ``work()``, so that a call can crash or meet another.

Each call is an attempt of the fake, at an endpoint that only gets events of that name. So the
faults of webhooks work for it: after a crash, the app is made anew and the call is retried, and two
calls at the same time meet at a point.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import partial
from typing import Any, Final

from ..base.coroutines import run_at_once
from ..base.faults import BaseFault
from ..fake.details import note_error
from ..fake.fake import ChatFake
from ..fake.inside import Inside
from ..webhooks.attempts import Attempt
from .client_calls import POINTS, client_calls
from .meetings import away
from .ready_made import writes
from .search import CALLS
from .tripwires import set_tripwire

SEND, WORK = CALLS

#: More API calls than any client makes in one call of ``send()``.
_MOST_CALLS: Final = 100


_ENDLESS: Final = f"{{}} called the API more than {_MOST_CALLS} times, and would go on"


class EndlessRetry(BaseException):
    """Ends an app's code that calls the API again and again; no ``except Exception`` catches it."""


class AppCalls:
    """Calls an app's ``send()`` and ``work()``.

    Args:
        tests: An object with the user's methods: ``send()``, ``work()`` and ``restart()``.
        fake: The fake.
        twice: Whether each call is made twice, one after the other.
        may_fail: Whether an error of ``send()`` is expected, although no fault is set up.

    Attributes:
        works: Whether there is a ``work()``.
        told: The error of the last ``send()``; None: its caller was not told of any.
        swallowed: The last error of ``work()``, which a scheduler only logs.
        endless: Which call did not end by itself, as a sentence; empty: all did.
        is_doubled: Whether ``send()`` was called twice, although nothing was wrong.
        key_reads: How often the app's code asked for the account's key.
        has_restarted: Whether the app was made anew.
    """

    def __init__(self, tests: Any, fake: ChatFake, *, twice: bool, may_fail: bool) -> None:
        self.works: bool = writes(tests, "work")
        self.told: Exception | None = None
        self.swallowed: Exception | None = None
        self.endless: str = ""
        self.is_doubled: bool = twice
        self.key_reads: int = 0
        self.has_restarted: bool = False
        self._tests = tests
        self._fake = fake
        self._inside = Inside(fake)
        self._times = 2 if twice else 1
        self._may_fail = may_fail
        self._test_thread = threading.get_ident()
        self._lock = threading.Lock()
        self._running = 0
        self._is_stopped = False  # it crashed, and was not made anew yet
        self._api_calls = 0
        self._errors: dict[Attempt, BaseException] = {}
        for name in (SEND, *[WORK] * self.works):
            self._connect(name)

    def _connect(self, name: str) -> None:
        webhooks, call = self._fake.webhooks, partial(self._run_method, name)

        async def handle(_: object) -> None:
            await call()

        def serve(_: object, start_response: Callable[..., object]) -> list[bytes]:
            run_at_once(call())
            start_response("200 OK", [])
            return []

        def restart() -> Any:
            self._is_stopped = True
            return app

        is_async = self._inside.is_async
        app: Any = handle if is_async else serve
        how = {"handler" if is_async else "wsgi": app}
        endpoint = webhooks.connect(**how, restart=restart, retry_after=())
        endpoint.name = endpoint.label = f"{type(self._tests).__name__}.{name}"
        self._inside.reserve(endpoint, name)

    @contextmanager
    def limited(self) -> Generator[None]:
        """In a block, end a call that makes too many API calls."""
        with ExitStack() as stack:
            for function, name in client_calls().items():
                set_tripwire(function, partial(self._count, name), stack)
            yield

    async def restart(self) -> None:
        """Make the app anew."""
        self.has_restarted = True
        self._running, self._api_calls = self._running + 1, 0
        try:
            await awaited(self._tests.restart(self._fake))
        except EndlessRetry:
            self.endless = _ENDLESS.format("restart()")
        finally:
            self._running -= 1

    async def send(self) -> None:
        await self._call(SEND)

    async def work(self) -> None:
        if self.works:
            await self._call(WORK)

    async def _call(self, name: str) -> None:
        if self.endless:
            return
        for _ in range(self._times):
            before = len(self._inside.attempts)
            await self._inside.performed(self._fake.webhooks.emit_event(name, body=b""))
            await self._inside.performed(self._fake.settle())
            for attempt in self._inside.attempts[before:]:
                if attempt.event.type in CALLS and isinstance(attempt.error, TimeoutError):
                    self.endless = (
                        f"{attempt.event.type} did not return within "
                        f"{self._inside.settings.timeout:g} s of real time"
                    )
        while self._errors:
            note_error(*self._errors.popitem())

    async def _run_method(self, name: str) -> None:
        tests, fake, attempt = self._tests, self._fake, self._inside.attempt
        with self._lock:
            is_second = self._running > 0 or threading.get_ident() != self._test_thread
            self._running += 1
            self.is_doubled |= is_second and name == SEND
            is_new, self._is_stopped = is_second or self._is_stopped, False
            self._api_calls = 0
        error: Exception | None = None
        called = "restart()" if is_new else name
        try:
            if is_new:
                # Another process has an app of its own, and starts at another time.
                self.has_restarted = True
                self._inside.let_a_second_pass()
                tests = copy(tests) if is_second else tests
                with away():
                    await awaited(tests.restart(fake))
                called = name
            before = self._inside.key_reads
            try:
                await awaited(getattr(tests, name.removesuffix("()"))(fake))
            except Exception as raised:
                error = self._errors[attempt] = raised
            self.key_reads += self._inside.key_reads - before
        except EndlessRetry as endless:
            self._errors[attempt] = endless
            self.endless = _ENDLESS.format(called)
        finally:
            with self._lock:
                self._running -= 1
        if name == WORK:
            self.swallowed = error or self.swallowed
        elif error is None or self._may_fail or self._has_faults:
            self.told = error
        else:
            raise error

    @property
    def errors(self) -> list[str]:
        """What the last ``send()`` and ``work()`` raised, in words."""
        errors = {SEND: self.told, WORK: self.swallowed}
        return [
            f"{call} raised {type(error).__name__}: {error}"
            for call, error in errors.items()
            if error is not None
        ]

    @property
    def _has_faults(self) -> bool:
        return any(isinstance(record, BaseFault) for record in self._inside.records)

    def _count(self, name: str, kind: str) -> None:
        if (kind, name) in POINTS and kind == "before" and self._running:
            self._api_calls += 1
            if self._api_calls > _MOST_CALLS:
                raise EndlessRetry(f"more than {_MOST_CALLS} API calls")


async def awaited(result: Any) -> Any:
    """Return what a user's method returned, awaited if it is async."""
    return await result if inspect.isawaitable(result) else result
