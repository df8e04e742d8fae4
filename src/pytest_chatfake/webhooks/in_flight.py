"""Attempts that are being made: one, or several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import TypeAlias

from ..base.arguments import unexpected
from ..base.scopes import Scopes
from ..transport.client.asgi import AsgiTarget
from ..transport.client.crash_watch import CrashWatch
from ..transport.client.django_bridge import connections_kept, is_asgi_handler, run_bridged
from ..transport.client.loops import gather
from ..transport.client.portal import Portal
from ..transport.client.responses import Response
from ..transport.client.targets import Target
from .attempts import Attempt
from .endpoints import WebhookRequest
from .logged_errors import ErrorLog
from .signing import flaw_of, sign
from .synthetic import evolved

Outcome: TypeAlias = "Response | BaseException"

#: Returns a block around each attempt that is made. Mutants replace it, to change what the app
#: receives; if the block gives the attempt an outcome, it is not made.
falsify: Callable[[InFlight], AbstractContextManager[object]] = nullcontext


@dataclass(slots=True, eq=False)
class InFlight:
    """An attempt that is being made.

    Attributes:
        request: What is posted, and where.
        record: The attempt.
        scopes: Where its receiver counts as part of the fake.
        ordinal: How many attempts of the fake have begun, this one included.
        target: How it gets there.
        batch: The number of the batch in which it is made at the same time as others; 0: none.
        outcome: How it ended; None: not yet.
        watch: Crashes the app, or notes where it could crash; None: neither.
        posted: Whether the test's signer and its function for ``tamper()`` raised no error.
        is_late: Whether its time was up before its response was complete.
        response: The app's response, before a fault has changed it.
        choice: The number of its choice in the :class:`.Ordering`.
    """

    request: WebhookRequest
    record: Attempt
    scopes: Scopes
    ordinal: int
    target: Target
    batch: int = 0
    outcome: Outcome | None = None
    watch: CrashWatch | None = None
    posted: bool = False
    is_late: bool = False
    response: Response | None = None
    choice: int = 0

    @property
    def is_broken_off(self) -> bool:
        """Whether it was cancelled or interrupted."""
        return isinstance(self.outcome, BaseException) and not isinstance(self.outcome, Exception)

    async def make(self, *, plain: bool) -> None:
        """Make it, and keep how it ended."""
        watch = self.watch
        with falsify(self), ErrorLog(self.scopes, self.record) as log:
            try:
                self.scopes.begin(self.record)
                self._write()
                if watch is not None:
                    watch.begin()
                self.posted = True
                if self.outcome is not None:
                    return
                if plain:
                    self.outcome = self.target.attempt(self.request)
                else:
                    self.outcome = await self.target.attempt_async(self.request)
            except BaseException as error:
                self.outcome = error
            finally:
                if watch is not None and self.outcome is not None:
                    try:
                        self.outcome = watch.outcome_of(self.outcome)
                    finally:
                        watch.end()
                if isinstance(self.outcome, Response) and (self.outcome.status or 0) >= 500:
                    self.record._logged = log.error()
                self.scopes.open.discard(self.record)

    def _write(self) -> None:
        """Write the request's body and sign it; then tamper with it, if a fault says so."""
        request, record, event = self.request, self.record, self.record.event
        if record._known is not None:
            request.body = event._seen(record._body, record._known)
        request.body = event._posted(request.body)
        if record._is_evolved:
            request.body = evolved(request.body, everywhere=event._outbound is not None)
        signer = record._signer or request.endpoint.signer
        if signer is not None:
            headers = sign(signer, request)
            request.headers = {**request.endpoint.headers, **headers}
            if record._signer is not None:
                flaw = flaw_of(record._signer, request.endpoint.signer, headers)
                record._name_mark("sign", flaw)
        if record._change is not None:
            request.body = _tampered(record._change, request.body)

    async def make_as_task(self) -> None:
        """Make it in a task of its own."""
        await self.make(plain=False)
        if type(self.outcome).__name__ == "Cancelled":
            raise self.outcome  # type: ignore[misc] # trio counts its own cancellations


def _tampered(change: Callable[[bytes], bytes], body: bytes) -> bytes:
    """Return a body as a function of the test changes it."""
    result: object = change(body)
    if not isinstance(result, bytes):
        raise TypeError(
            unexpected("what the function of tamper() returned", "bytes such as body[:-1]", result)
        )
    return result


async def make_batch(batch: Sequence[InFlight], portal: Portal, *, plain: bool) -> None:
    """Make attempts at the same time, and keep how each ended.

    ASGI apps and async functions are tasks of one loop. URLs and WSGI apps are called in threads,
    for which tasks wait. Plain functions have the test's thread, so they are called before, one
    after another.
    """
    for attempt in batch:
        if not attempt.target.overlaps:
            await attempt.make(plain=plain)
            if attempt.is_broken_off:
                return
    others = [attempt for attempt in batch if attempt.target.overlaps]
    for attempt in others:
        attempt.target = attempt.target.clone()
    tasks = [attempt.make_as_task for attempt in others]
    try:
        if not plain:
            await gather(tasks)
        elif any(_is_django(attempt.target) for attempt in others):
            with connections_kept():
                run_bridged(gather, tasks)
        elif others:
            portal.run(gather(tasks))
    finally:
        for attempt in others:
            with suppress(RuntimeError):  # a call that does not return can't be ended
                attempt.target.close()


def _is_django(target: Target) -> bool:
    return isinstance(target, AsgiTarget) and is_asgi_handler(target._app)
