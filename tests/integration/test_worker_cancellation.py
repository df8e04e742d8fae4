"""A call that has begun is finished, whatever is cancelled; the cancellation is not forgotten."""

import asyncio
import threading

import anyio
import pytest
from freezegun import freeze_time

from ..unit.both_frameworks import BOTH, SECONDS, hard_limit, in_asyncio  # noqa: F401
from .target_support import working


def once(*cancel):
    """A call that returns its argument once the loop that waits for it has cancelled it."""
    token = anyio.lowlevel.current_token()

    def call(value):
        for function in cancel:
            anyio.from_thread.run_sync(function, token=token)
        return value

    return call


def now_is_over(timeout):
    return lambda: timeout.reschedule(0)


def test_in_asyncio_an_earlier_cancellation_stops_the_call_from_beginning(worker):
    made = []

    async def main():
        asyncio.current_task().cancel()
        with pytest.raises(asyncio.CancelledError):
            await worker.call_async(made.append, 1)
        asyncio.current_task().uncancel()

    in_asyncio(main)
    assert made == []


@BOTH
def test_a_scope_of_anyio_cancels_in_the_same_way(run, worker):
    log = []

    async def main():
        with anyio.CancelScope() as scope:
            log.append(await worker.call_async(once(scope.cancel), "response"))
            await anyio.lowlevel.checkpoint()
            log.append("never reached")
        assert scope.cancelled_caught
        await anyio.lowlevel.checkpoint()
        log.append("after")

    run(main)
    assert log == ["response", "after"]


@BOTH
def test_a_cancellation_does_not_outlive_the_block_that_asked_for_it(run, worker):
    async def main():
        with anyio.CancelScope() as scope:
            assert await worker.call_async(once(scope.cancel), "response") == "response"
        await anyio.sleep(0.01)
        return "after"

    assert run(main) == "after"


def test_an_asyncio_timeout_that_ends_with_the_call_does_not_strike_later(worker):
    async def main():
        async with asyncio.timeout(None) as timeout:
            assert await worker.call_async(once(now_is_over(timeout)), "response") == "response"
        await asyncio.sleep(0.01)
        assert asyncio.current_task().cancelling() == 0

    in_asyncio(main)


def test_a_task_cancelled_while_it_calls_is_cancelled_where_it_waits_next(worker):
    async def calls_twice():
        await worker.call_async(once(lambda: task.cancel("enough")), "response")
        await worker.call_async(made.append, 1)

    async def main():
        nonlocal task
        task = asyncio.create_task(calls_twice())
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await task
        assert task.cancelled()

    made, task = [], None
    in_asyncio(main)
    assert made == []


@BOTH
def test_an_error_of_a_call_that_was_cancelled_meanwhile_is_not_lost(run, worker):
    def fails(cancelled):
        cancelled(None)
        raise LookupError("no such message")

    async def main():
        with anyio.CancelScope() as scope:
            with pytest.raises(LookupError):
                await worker.call_async(fails, once(scope.cancel))
            return "seen"

    assert run(main) == "seen"


@BOTH
def test_a_call_that_hangs_holds_a_cancellation_for_a_while_only(run):
    release = threading.Event()

    async def main():
        with anyio.CancelScope() as scope:
            cancelled = once(scope.cancel)
            await worker.call_async(lambda: cancelled(None) or release.wait(SECONDS))
        release.set()
        return scope.cancelled_caught

    with working(grace=0.05) as worker:
        assert run(main)


def test_freezegun_stops_no_grace():
    release = threading.Event()

    async def main():
        task = asyncio.create_task(worker.call_async(release.wait, SECONDS))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        release.set()

    with working(grace=0.05) as worker, freeze_time():
        asyncio.run(main())
