"""Plays one business send in a fake: by its caller, and then by a scheduler."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Final

from ..fake.fake import ChatFake
from ..fake.inside import Inside
from ..http_api.routes import BALANCE_PATH
from .app_calls import AppCalls
from .deviations import Call
from .garbage import warnings_unheard

#: How often ``work()`` is called after a send, with so many minutes in between.
ROUNDS: Final = 20
_APART: Final = 60

#: If nothing was sent by then, ``work()`` is called every day, at most so often.
DAYS: Final = 31

#: How many minutes pass before the caller of ``send()`` calls again.
_AGAIN: Final = 10


class Sending:
    """One business send.

    Args:
        tests: An object with the user's methods, as of an :class:`.AppCalls`.
        fake: The fake, to which the app was connected.
        twice: Whether each call is made twice.
        remedy: Called once, after the app has tried to send, to end what made the send fail.
        sends: The calls that send.
        days: On how many days nothing is sent; None: find out.

    Attributes:
        app: Calls the app.
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
        twice: bool = False,
        remedy: Callable[[], object] | None = None,
        sends: Collection[Call] = (),
        days: int | None = None,
    ) -> None:
        may_fail = twice or remedy is not None
        self.app: AppCalls = AppCalls(tests, fake, twice=twice, may_fail=may_fail)
        self.days: int | None = days
        self.held_back: bool = False
        self._fake = fake
        self._inside = Inside(fake)
        self._remedy = remedy
        self._sends = sends
        calls = self._inside.calls
        self.earlier: Counter[Call | None] = Counter(Call.of(c.path, c.method) for c in calls)
        self._messages_before = len(self._inside.account.messages)

    async def play(self) -> None:
        """Send, and let the scheduler work; raise an error of ``send()`` if no fault is set up."""
        await self.app.send()
        await self.app.work()
        await self.continue_sending()

    async def continue_sending(self) -> None:
        """Let the caller send again if it was told of an error, and the scheduler work."""
        await self._end_trouble(may_wait=self.app.told is None)
        if self.app.told is not None:
            await self._inside.performed(self._fake.clock.advance(minutes=_AGAIN))
            await self.app.send()
        await self._work_for_hours()
        await self._end_trouble(may_wait=False)
        if self.held_back:
            await self._work_for_hours()
        if self.days is None:
            self.days = 0
            while self.app.works and not self._has_sent and self.days < DAYS:
                await self._work_after(days=1)
                self.days += 1
        else:
            await self.work_daily(self.days)
        if self.days:
            await self._work_for_hours()
        if self.app.has_restarted:
            with warnings_unheard():
                gc.collect()

    async def work_daily(self, days: int) -> None:
        """Let the scheduler work once a day."""
        for _ in range(days):
            await self._work_after(days=1)

    async def _work_for_hours(self) -> None:
        for _ in range(ROUNDS):
            await self._work_after(minutes=_APART)

    async def _work_after(self, **time: float) -> None:
        await self._inside.performed(self._fake.clock.advance(**time))
        await self.app.work()
        await self._end_trouble()

    async def _end_trouble(self, *, may_wait: bool = True) -> None:
        # An app may try to send later, but not if all it does is to ask for the balance. Other
        # calls, such as one for a token, meet no trouble.
        if self._remedy is None:
            return
        paths = [(call.path, call.method) for call in self._inside.calls[self.earlier.total() :]]
        has_tried = any(Call.of(*path) in self._sends for path in paths)
        self.held_back = not (has_tried or may_wait) and (BALANCE_PATH, "GET") in paths
        if has_tried or self.held_back:
            remedy, self._remedy = self._remedy, None
            await self._inside.performed(remedy())

    @property
    def _has_sent(self) -> bool:
        return len(self._inside.account.messages) > self._messages_before
