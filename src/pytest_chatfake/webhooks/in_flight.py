"""Makes an attempt, or several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from ..base.arguments import unexpected
from ..base.current_test import current
from ..base.scopes import Scopes
from ..transport.client.django_bridge import connections_kept, is_asgi_handler, run_bridged
from ..transport.client.loops import gather
from ..transport.client.portal import Portal
from ..transport.client.responses import Response
from .attempts import Attempt
from .logged_errors import ErrorLog
from .signing import sign
from .synthetic import evolved


async def make(
    attempts: Sequence[Attempt], scopes: Scopes, log: ErrorLog, portal: Portal, *, plain: bool
) -> None:
    """Make attempts that have begun, and note how each one ended at the app.

    Several attempts are made concurrently. ASGI apps and async functions run as tasks on one loop;
    URLs and WSGI apps are called in threads, which tasks wait for.

    Args:
        attempts: One attempt, or several that can overlap.
        scopes: Knows which code is part of an attempt.
        log: Notes what their apps log.
        portal: Runs the tasks if the caller is plain code.
        plain: Whether the caller is plain code, which can't await.
    """
    if len(attempts) == 1:
        await _make(attempts[0], scopes, log, plain=plain)
        return
    for attempt in attempts:
        attempt._flight.target = attempt._flight.target.clone()
    tasks = [partial(_make_as_task, attempt, scopes, log) for attempt in attempts]
    try:
        if not plain:
            await gather(tasks)
        elif any(is_asgi_handler(attempt._flight.target._app) for attempt in attempts):
            with connections_kept():
                run_bridged(gather, tasks)
        else:
            portal.run(gather(tasks))
    finally:
        for attempt in attempts:
            with suppress(RuntimeError):  # a call that doesn't return can't be ended
                attempt._flight.target.close()


async def _make(attempt: Attempt, scopes: Scopes, log: ErrorLog, *, plain: bool) -> None:
    flight = attempt._flight
    attendant = flight.attendant
    with current().around(attempt):
        try:
            scopes.begin(attempt)
            _write(attempt)
            if attendant is not None:
                attendant.begin(flight.target)
            flight.is_posted = True
            if flight.outcome is not None:
                return
            if plain:
                flight.outcome = flight.target.attempt(flight.request)
            else:
                flight.outcome = await flight.target.attempt_async(flight.request)
        except BaseException as error:
            flight.outcome = error
        finally:
            if attendant is not None:
                try:
                    if flight.outcome is not None:
                        flight.outcome = attendant.outcome_of(flight.outcome)
                finally:
                    attendant.end()  # last, when nothing holds the app's frames any more
            logged, outcome = log.take(attempt), flight.outcome
            if isinstance(outcome, Response) and (outcome.status or 0) >= 500:
                attempt._logged = logged
            scopes.open.discard(attempt)


async def _make_as_task(attempt: Attempt, scopes: Scopes, log: ErrorLog) -> None:
    await _make(attempt, scopes, log, plain=False)
    if type(attempt._flight.outcome).__name__ == "Cancelled":
        raise attempt._flight.outcome  # type: ignore[misc] # trio counts its own cancellations


def _write(attempt: Attempt) -> None:
    # The order matters, because tamper() changes the signed body.
    flight, event = attempt._flight, attempt.event
    request = flight.request
    for change in flight.unknown:
        request.body = event._seen(change(request.body), request.body)
    request.body = event._posted(request.body)
    if flight.is_evolved:
        request.body = evolved(request.body, everywhere=event._outbound is not None)
    signer = flight.signer or request.endpoint.signer
    if signer is not None:
        headers = sign(signer, request)
        request.headers = {**request.endpoint.headers, **headers}
        for fault in attempt._faults:
            fault._signed(attempt, headers)
    for change in flight.changes:
        request.body = _tampered(change, request.body)


def _tampered(change: Callable[[bytes], bytes], body: bytes) -> bytes:
    result: object = change(body)
    if not isinstance(result, bytes):
        raise TypeError(
            unexpected("what the tamper() function returned", "bytes such as body[:-1]", result)
        )
    return result
