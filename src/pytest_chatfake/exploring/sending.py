"""Lets a fake call an app's ``send()`` and ``work()``, so that a call can crash or meet another.

Each call is an attempt of the fake, at an endpoint that only gets events of that name. So the
faults of webhooks work for it: after a crash, the app is made anew and the call is retried, and two
calls at the same time meet at a point.
"""

from __future__ import annotations

import gc
import inspect
import threading
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import ExitStack
from copy import copy
from functools import partial
from typing import Any, Final

from ..base.coroutines import run_at_once
from ..base.faults import BaseFault
from ..fake.details import note_error
from ..fake.fake import ChatFake
from ..fake.inside import Inside
from ..http_api.routes import BALANCE_PATH
from ..webhooks.attempts import Attempt
from .client_calls import POINTS, client_calls
from .deviations import Call
from .garbage import warnings_unheard
from .meetings import away
from .search import CALLS
from .tripwires import set_tripwire

SEND, WORK = CALLS

#: How often ``work()`` is called after a send, with so many minutes in between.
ROUNDS: Final = 20
_APART: Final = 60

#: If nothing was sent by then, ``work()`` is called every day, at most so often.
DAYS: Final = 31

#: How many minutes pass before the caller of ``send()`` calls again.
_AGAIN: Final = 10

#: More API calls than any client makes in one call of ``send()``.
_MOST_CALLS: Final = 100


class EndlessRetry(BaseException):
    """Ends an app's code that calls the API again and again; no ``except Exception`` catches it."""


class Sending:
    """Plays one business send in a fake: by its caller, and then by a scheduler.

    Args:
        tests: An object with the user's methods: ``send()``, ``work()`` and ``restart()``.
        fake: The fake.
        works: Whether there is a ``work()``.
        twice: Whether each call is made twice, one after the other.
        remedy: Called once, after the app has tried to send, to end what made the send fail.
        sends: The calls that send.
        days: On how many days nothing is sent; None: find out.

    Attributes:
        told: The error of the last ``send()``; None: its caller was not told of any.
        swallowed: The last error of ``work()``, which a scheduler only logs.
        endless: Which call did not end by itself, as a sentence; empty: all did.
        is_doubled: Whether ``send()`` was called twice, although nothing was wrong.
        key_reads: How often the app's code asked for the account's key.
        days: On how many days nothing was sent.
        earlier: The calls of the API before the send, such as those of ``connect()``.
        held_back: Whether the app asked for the balance and did not try to send, so that the
            remedy was called for that reason.
    """

    def __init__(
        self,
        tests: Any,
        fake: ChatFake,
        *,
        works: bool,
        twice: bool = False,
        remedy: Callable[[], object] | None = None,
        sends: Collection[Call] = (),
        days: int | None = None,
    ) -> None:
        self.days: int | None = days
        self.told: Exception | None = None
        self.swallowed: Exception | None = None
        self.endless: str = ""
        self.is_doubled: bool = twice
        self.held_back: bool = False
        self.key_reads: int = 0
        self._tests = tests
        self._fake = fake
        self._inside = Inside(fake)
        self._twice = twice
        self._remedy = remedy
        self._is_remedied = False
        self._sends = sends
        calls = self._inside.calls
        self.earlier: Counter[Call | None] = Counter(Call.of(c.path, c.method) for c in calls)
        self._messages_before = len(self._inside.account.messages)
        self._names: list[str] = [SEND, *[WORK] * works]
        self._test_thread = threading.get_ident()
        self._lock = threading.Lock()
        self._running = 0
        self._has_restarted = False
        self._is_stopped = False  # it crashed, and was not made anew yet
        self._calls = 0
        self._errors: dict[Attempt, BaseException] = {}
        for name in self._names:
            self._connect(name)

    def _connect(self, name: str) -> None:
        webhooks, call = self._fake.webhooks, partial(self._called, name)
        app: Any

        async def handle(_: object) -> None:
            await call()

        def serve(_: object, start_response: Callable[..., object]) -> list[bytes]:
            run_at_once(call())
            start_response("200 OK", [])
            return []

        def restart() -> Any:
            self._is_stopped = True
            return app

        if self._inside.is_async:
            app = handle
            endpoint = webhooks.connect(handler=app, restart=restart, retry_after=())
        else:
            app = serve
            endpoint = webhooks.connect(wsgi=app, restart=restart, retry_after=())
        endpoint.name = endpoint.label = f"{type(self._tests).__name__}.{name}"
        self._inside.reserve(endpoint, name)

    async def play(self) -> None:
        """Send, and let the scheduler work; raise an error of ``send()`` if no fault is set up."""
        with ExitStack() as stack:
            for function, name in client_calls().items():  # or a call might go on for ever
                set_tripwire(function, partial(self._count, name), stack)
            await self._call(SEND)
            await self._call(WORK)
            await self.continue_sending()

    async def continue_sending(self) -> None:
        """Let the caller send again if it was told of an error, and the scheduler work."""
        await self._end_trouble(may_wait=self.told is None)
        if self.told is not None:
            await self._inside.performed(self._fake.clock.advance(minutes=_AGAIN))
            await self._call(SEND)
        await self._work_for_hours()
        await self._end_trouble(may_wait=False)
        if self.held_back:
            await self._work_for_hours()
        if self.days is None:
            self.days = 0
            while WORK in self._names and not self._has_sent and self.days < DAYS:
                await self._work_after(days=1)
                self.days += 1
        else:
            for _ in range(self.days):
                await self._work_after(days=1)
        if self.days:
            await self._work_for_hours()
        if self._has_restarted:
            with warnings_unheard():
                gc.collect()

    async def _work_for_hours(self) -> None:
        for _ in range(ROUNDS):
            await self._work_after(minutes=_APART)

    async def _work_after(self, **time: float) -> None:
        await self._inside.performed(self._fake.clock.advance(**time))
        await self._call(WORK)
        await self._end_trouble()

    async def _end_trouble(self, *, may_wait: bool = True) -> None:
        # An app may try to send later, but not if all it does is to ask for the balance. Other
        # calls, such as one for a token, meet no trouble.
        if self._remedy is None or self._is_remedied:
            return
        paths = [(call.path, call.method) for call in self._inside.calls[self.earlier.total() :]]
        has_tried = any(Call.of(*path) in self._sends for path in paths)
        self.held_back = not (has_tried or may_wait) and (BALANCE_PATH, "GET") in paths
        if has_tried or self.held_back:
            self._is_remedied = True
            await self._inside.performed(self._remedy())

    async def make_anew(self) -> None:
        """Restart the app."""
        self._has_restarted = True
        await awaited(self._tests.restart(self._fake))

    async def _call(self, name: str) -> None:
        if name not in self._names or self.endless:
            return
        for _ in range(1 + self._twice):
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

    async def _called(self, name: str) -> None:
        tests, fake, attempt = self._tests, self._fake, self._inside.attempt
        with self._lock:
            is_second = self._running > 0 or threading.get_ident() != self._test_thread
            self._running += 1
            self.is_doubled |= is_second and name == SEND
            is_new, self._is_stopped = is_second or self._is_stopped, False
            self._calls = 0
        try:
            if is_new:
                # Another process has an app of its own, and starts at another time.
                self._has_restarted = True
                self._inside.let_a_second_pass()
                tests = copy(tests) if is_second else tests
                with away():
                    await awaited(tests.restart(fake))
            before = self._inside.key_reads
            error: Exception | None = None
            try:
                await awaited(getattr(tests, name.removesuffix("()"))(fake))
            except Exception as raised:
                error = self._errors[attempt] = raised
            except EndlessRetry as endless:
                self._errors[attempt] = endless
                self.endless = (
                    f"{name} called the API more than {_MOST_CALLS} times, and would go on"
                )
            self.key_reads += self._inside.key_reads - before
        finally:
            with self._lock:
                self._running -= 1
        if name == WORK:
            self.swallowed = error or self.swallowed
        elif error is None or self._has_faults or self._remedy or self._twice:
            self.told = error
        else:
            raise error

    @property
    def _has_sent(self) -> bool:
        return len(self._inside.account.messages) > self._messages_before

    @property
    def _has_faults(self) -> bool:
        return any(isinstance(record, BaseFault) for record in self._inside.records)

    def _count(self, name: str, kind: str) -> None:
        if (kind, name) in POINTS and kind == "before" and self._running:
            self._calls += 1
            if self._calls > _MOST_CALLS:
                raise EndlessRetry(f"more than {_MOST_CALLS} API calls")


async def awaited(result: Any) -> Any:
    """Return what a user's method returned, awaited if it is async."""
    return await result if inspect.isawaitable(result) else result


async def performed(fake: ChatFake, step: object) -> None:
    await Inside(fake).performed(step)
