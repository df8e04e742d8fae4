"""Blocks that hold events back, and release them in any order or all at the same time."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Self, overload

from ..base.arguments import check_choice, check_list, check_seed, unexpected
from ..base.calling_line import Line, calling_line
from ..base.errors import ChatFakeError, leaves_at_once
from ..base.marks import Mark
from ..base.views import counted
from ..engine.engine import Engine
from ..engine.performer import Pending
from ..webhooks.attempts import Attempt
from ..webhooks.decisions import Together
from ..webhooks.endpoints import Endpoint, are_one_by_one
from ..webhooks.events import Event
from ..webhooks.faults import ONE_AT_A_TIME, Concurrently

_ORDERS = ("emitted", "reversed", "shuffled")


class HeldBack:
    """Base of the blocks that hold events back, until the end of the block at the latest."""

    _name = "paused()"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._entered = False
        engine.expect_entry(self, self._name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} with {counted(len(self._held), 'event')}>"

    @property
    def _held(self) -> list[list[Attempt]]:
        # The attempts of each event.
        return self._engine.outbox.queue.held(self)

    def _release(self, attempts: Sequence[Attempt], line: Line) -> None:
        self._engine.outbox.queue.let_go(attempts, mark=Mark("paused", "held back", line))

    def _pausing(self, line: Line) -> Iterator[None]:
        core = self._engine.core
        yield  # events that were queued before are attempted first
        if core.block is not None:
            raise RuntimeError(
                f"can't enter {self._name}: paused() or concurrently() holds events back already. "
                f"Leave its block first"
            )
        self._engine.note(self._name, line)
        self._entered = True
        core.block = self

    def _resuming(self, line: Line) -> Iterator[None]:
        self._resume(line)
        yield

    def _resume(self, line: Line) -> None:
        core = self._engine.core
        with core.lock:
            if core.block is self:
                core.block = None
            self._release([*chain.from_iterable(self._held)], line)

    def __enter__(self) -> Self:
        self._engine.enter(self, "sync")
        self._engine.step(self._name, partial(self._pausing, calling_line()))
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        line = calling_line()
        if leaves_at_once(error):
            self._resume(line)
        else:
            self._engine.step("release()", partial(self._resuming, line))

    async def __aenter__(self) -> Self:
        self._engine.enter(self, "async")
        await self._engine.step(self._name, partial(self._pausing, calling_line()))
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        line = calling_line()
        try:
            if not leaves_at_once(error):
                await self._engine.step("release()", partial(self._resuming, line))
        finally:
            self._resume(line)  # even if an earlier step was refused, so that this one is dropped


class Concurrent(HeldBack):
    """A ``with fake.webhooks.concurrently():`` block: its end attempts all its events at once."""

    _name = "concurrently()"

    def _resuming(self, line: Line) -> Iterator[None]:
        endpoints = [attempt.endpoint for attempt in chain.from_iterable(self._held)]
        yield from super()._resuming(line)
        refuse_one_by_one(endpoints)

    def _release(self, attempts: Sequence[Attempt], line: Line) -> None:
        together = Together(Mark(Concurrently._kind, Concurrently._text, line))
        # Plain functions come first.
        attempts = sorted(attempts, key=lambda attempt: attempt.endpoint._target.overlaps)
        self._engine.outbox.queue.let_go(attempts, together=together)


def refuse_one_by_one(endpoints: Iterable[Endpoint]) -> None:
    """Refuse a ``concurrently()`` block whose events nothing can handle at the same time."""
    if are_one_by_one(endpoints):
        raise ChatFakeError(
            f"webhooks.concurrently(): expected an endpoint that can handle several events at the "
            f"same time, got none ({ONE_AT_A_TIME})"
        )


class Paused(HeldBack):
    """The queue of a ``with fake.webhooks.paused() as queue:`` block.

    The queue is a sequence of the events that are held back, in the order in which they were
    emitted. Each event is listed once, even if several endpoints wait for it. Faults still apply
    when the events are posted::

        with chat_fake.webhooks.paused() as queue:
            message = chat_fake.send_text("Hello").deliver().read()
            queue.release([2, 0, 1])
        assert app.status_of(message.id) == "read"
    """

    # As a sequence

    def __len__(self) -> int:
        self._engine.ensure_readable()
        return len(self._held)

    def __iter__(self) -> Iterator[Event]:
        return iter(self[:])

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        self._engine.ensure_readable()
        if isinstance(index, slice):
            return [attempts[0].event for attempts in self._held[index]]
        return self._held[index][0].event

    # Releasing

    def release(
        self, order: str | Sequence[int] = "emitted", seed: int | str | None = None
    ) -> Pending[None]:
        """Post the events that have been held back so far; later events are held back again.

        Args:
            order: ``"emitted"``, ``"reversed"``, ``"shuffled"``, or indices into the queue: only
                those events are posted, in that order.
            seed: The seed of ``"shuffled"``, by default the fake's own. The same seed and number of
                events always give the same order.

        Raises:
            ValueError: The order is unknown, or an index is given twice.
            IndexError: An index is past the end of the queue.
        """
        order = self._checked(order)
        if seed is not None:
            check_seed(seed)
        if not self._entered:
            raise RuntimeError("nothing is held back: write `with webhooks.paused() as queue:`")

        line = calling_line()

        def run() -> Iterator[None]:
            # Without the lock, because it may call the test's functions.
            now = self._engine.catch_up()
            with self._engine.core.lock:
                held = self._held
                indices = self._indices(len(held), order, seed)
                self._engine.executor.note("release()", line, None, now)
                self._release([*chain.from_iterable(held[index] for index in indices)], line)
            yield

        return self._engine.step("release()", run)

    def _checked(self, order: str | Iterable[Any]) -> str | list[int]:
        if isinstance(order, str):
            return check_choice(order, "order", _ORDERS)
        indices = check_list(order, "order", "indices, or one of " + ", ".join(map(repr, _ORDERS)))
        if not all(isinstance(i, int) and not isinstance(i, bool) for i in indices):
            raise TypeError(unexpected("order", "a list of ints", order))
        if len(set(indices)) != len(indices):
            raise ValueError(unexpected("order", "each index once", order))
        return indices

    def _indices(self, count: int, order: str | list[int], seed: int | str | None) -> list[int]:
        everything = list(range(count))
        if order == "reversed":
            everything.reverse()
        elif order == "shuffled":
            random.Random(self._engine.seed if seed is None else seed).shuffle(everything)  # noqa: S311 - repeatable, not secret
        elif not isinstance(order, str):
            wrong = [index for index in order if not 0 <= index < len(everything)]
            if wrong:
                raise IndexError(
                    f"order: there is no event {wrong[0]} in the queue, which holds "
                    f"{len(everything)}, counted from 0"
                )
            return order
        return everything
