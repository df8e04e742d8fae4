"""The fake's own loop: kept between calls, wherever they come from, and closed with all it has."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import signal
import threading
import traceback
import weakref

import anyio
import anyio.to_thread
import pytest
import sniffio
import trio

from pytest_chatfake.base.errors import ClosedError
from pytest_chatfake.transport.client import own_loop
from pytest_chatfake.transport.client.loops import new_event, running_framework
from pytest_chatfake.transport.client.portal import Portal

from ..unit.both_frameworks import BOTH, SECONDS, hard_limit, in_asyncio, in_trio
from .target_support import closed_at_the_end

__all__ = ["hard_limit"]


@pytest.fixture
def portal():
    with closed_at_the_end(Portal()) as opened:
        yield opened[0]


async def where():
    return asyncio.get_running_loop(), threading.get_ident()


def called_from_coroutine(portal, function, run=in_asyncio):
    """Call the portal in the middle of a coroutine, as sync mode in an async test does."""

    async def main():
        return portal.run(function())

    return run(main)


# Which framework runs


def test_in_plain_code_no_framework_runs():
    assert None is running_framework()


@BOTH
def test_in_a_coroutine_its_framework_runs(run):
    async def main():
        return running_framework(), type(new_event()).__module__.partition(".")[0]

    name = "trio" if run is in_trio else "asyncio"
    assert (name, name) == run(main)


def test_in_a_guest_of_asyncio_both_are_told_apart():
    async def guest():
        await trio.sleep(0)
        return running_framework()

    async def main():
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        trio.lowlevel.start_guest_run(
            guest,
            run_sync_soon_threadsafe=loop.call_soon_threadsafe,
            done_callback=over.set_result,
        )
        return running_framework(), (await over).unwrap(), running_framework()

    assert ("asyncio", "trio", "asyncio") == in_asyncio(main)


# Calls


def test_a_call_returns_what_the_coroutine_returns_and_runs_here(portal):
    loop, thread = portal.run(where())

    assert threading.get_ident() == thread
    assert (loop, thread) == portal.run(where())


def test_a_call_raises_what_the_coroutine_raises_with_its_traceback(portal):
    async def deep_in_the_app():
        raise LookupError("no such message")

    with pytest.raises(LookupError) as raised:
        portal.run(deep_in_the_app())
    assert "deep_in_the_app" == traceback.extract_tb(raised.value.__traceback__)[-1].name


def test_what_is_left_on_the_loop_goes_on_with_the_next_call(portal):
    log = []

    async def background():
        for number in range(10):
            log.append(number)
            await asyncio.sleep(0)

    async def start():
        return asyncio.create_task(background())

    async def finish(task):
        await task

    task = portal.run(start())
    assert 10 > len(log)
    portal.run(finish(task))
    assert list(range(10)) == log


def test_a_call_sees_the_context_of_its_caller(portal):
    tenant = contextvars.ContextVar("tenant", default="nobody")

    async def look():
        seen = tenant.get()
        tenant.set("someone else")
        return seen

    tenant.set("ada")
    assert "ada" == portal.run(look())
    assert "ada" == tenant.get()


@BOTH
def test_where_a_loop_runs_already_the_same_loop_runs_beside_it(portal, run):
    loop, here = portal.run(where())

    other_loop, there = called_from_coroutine(portal, where, run)

    assert loop is other_loop
    assert here != there
    assert (loop, here) == portal.run(where())
    assert (loop, there) == called_from_coroutine(portal, where, run)


@BOTH
def test_beside_another_loop_the_context_is_the_caller_s_and_asyncio_is_what_runs(portal, run):
    tenant = contextvars.ContextVar("tenant")

    async def look():
        await anyio.sleep(0)
        return tenant.get(), sniffio.current_async_library(), await anyio.to_thread.run_sync(int)

    async def main():
        tenant.set("ada")
        sniffio.current_async_library_cvar.set("trio" if run is in_trio else "asyncio")
        return portal.run(look())

    assert ("ada", "asyncio", 0) == run(main)


@BOTH
def test_errors_come_through_from_beside_another_loop(portal, run):
    async def fails():
        raise LookupError("no such message")

    with pytest.raises(LookupError, match="no such message"):
        called_from_coroutine(portal, fails, run)


def test_a_call_from_within_is_refused_instead_of_hanging(portal):
    async def calls_again():
        portal.run(where())

    with pytest.raises(RuntimeError, match="the fake's event loop waits for this code"):
        portal.run(calls_again())
    with pytest.raises(RuntimeError, match="the fake's event loop waits for this code"):
        called_from_coroutine(portal, calls_again)


# Interruptions


class Interrupted(BaseException):
    """Comes from outside, as Ctrl+C does."""


@pytest.fixture
def interrupt():
    """Interrupt the main thread soon: call it from what is to be interrupted."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("needs a timer signal")

    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("beside", [False, True])
def test_an_interruption_ends_the_coroutine_and_the_loop_can_be_used_again(
    portal, beside, interrupt
):
    ended = []

    async def hangs():
        try:
            interrupt()
            await asyncio.sleep(SECONDS)
        finally:
            ended.append(True)

    with pytest.raises(Interrupted):
        if beside:
            called_from_coroutine(portal, hangs)
        else:
            portal.run(hangs())
    assert [True] == ended
    assert portal.run(where())


@pytest.mark.parametrize("interruption", [Interrupted, KeyboardInterrupt])
def test_an_interruption_inside_the_app_s_code_comes_through(portal, interruption, caplog):
    async def interrupted():
        raise interruption

    with pytest.raises(interruption):
        portal.run(interrupted())
    portal.close()
    gc.collect()
    assert [] == caplog.records


def test_an_app_that_stops_its_loop_is_ended(portal):
    async def stops():
        asyncio.get_running_loop().stop()
        await asyncio.sleep(SECONDS)

    with pytest.raises(RuntimeError, match="Event loop stopped"):
        portal.run(stops())
    assert set() == asyncio.all_tasks(portal._loop._loop)


# The end


def test_closing_ends_tasks_generators_and_threads_and_closes_the_loop():
    before = set(threading.enumerate())
    portal = Portal()
    ended = []

    async def task():
        try:
            await asyncio.sleep(SECONDS)
        finally:
            ended.append("task")

    async def generator():
        try:
            yield
        finally:
            await asyncio.sleep(0)
            ended.append("generator")

    async def leave():
        kept.append(asyncio.create_task(task()))
        kept.append(generator())
        await anext(kept[-1])
        await asyncio.to_thread(int)
        await asyncio.sleep(0)
        return asyncio.get_running_loop()

    kept = []
    loop = portal.run(leave())
    portal.close()

    assert ["task", "generator"] == ended
    assert loop.is_closed()
    assert set(threading.enumerate()) <= before


@BOTH
def test_closing_works_beside_another_loop_too(run):
    before = set(threading.enumerate())
    portal = Portal()
    loop, _ = portal.run(where())

    async def main():
        portal.close()

    run(main)
    assert loop.is_closed()
    assert set(threading.enumerate()) <= before


def test_a_portal_that_was_never_used_has_nothing_to_close():
    portal = Portal()
    portal.close()

    assert None is portal._loop._loop


def test_closing_twice_is_fine_and_later_calls_are_refused(portal):
    portal.run(where())
    portal.close()
    portal.close()

    with pytest.raises(ClosedError, match="the fake is closed"):
        portal.run(where())


def test_closing_from_within_is_refused(portal):
    async def closes():
        portal.close()

    with pytest.raises(RuntimeError, match="it can't be closed from here"):
        portal.run(closes())
    assert portal.run(where())


def test_a_task_that_does_not_end_is_said_and_the_loop_is_closed_all_the_same(monkeypatch, caplog):
    monkeypatch.setattr(own_loop, "GRACE_SECONDS", 0.05)
    portal = Portal()

    async def stubborn():
        while not released:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(SECONDS)

    async def leave():
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        return task, asyncio.get_running_loop()

    released = False
    task, loop = portal.run(leave())
    with pytest.raises(RuntimeError, match=r"tasks that did not end .*stubborn"):
        portal.close()

    assert loop.is_closed()
    task._log_destroy_pending = False
    released = True


def test_a_portal_does_not_keep_what_its_calls_returned(portal):
    class Thing:
        pass

    async def make():
        return Thing()

    gone = weakref.ref(portal.run(make()))
    gone_too = weakref.ref(called_from_coroutine(portal, make))
    called_from_coroutine(portal, where)
    gc.collect()

    assert None is gone()
    assert None is gone_too()
