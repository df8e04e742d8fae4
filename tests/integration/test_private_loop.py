"""The private loop: kept between calls, wherever they come from; a fake's own, or a session's."""

import asyncio
import contextlib
import contextvars
import gc
import threading
import weakref
from contextlib import nullcontext

import anyio
import anyio.to_thread
import pytest
import sniffio
import trio
from freezegun import freeze_time

from pytest_chatfake import ChatFake
from pytest_chatfake.base import session_scope
from pytest_chatfake.base.errors import ClosedError
from pytest_chatfake.transport.client import private_loop
from pytest_chatfake.transport.client.loops import running_framework
from pytest_chatfake.transport.client.portal import Portal

from ..unit.asgi_apps import respond
from ..unit.both_frameworks import BOTH, SECONDS, hard_limit, in_asyncio, in_trio  # noqa: F401
from .target_support import Interrupted

IN_USE = "the fake's event loop is waiting for this code to return: it can't be used now"


@pytest.fixture
def session():
    """A session that shares its loop."""
    end = session_scope.begin(shares=True)
    yield
    end()


async def where():
    return asyncio.get_running_loop(), threading.get_ident()


def called_from_coroutine(portal, function, run=in_asyncio):
    """Call the portal in the middle of a coroutine, as sync mode in an async test does."""

    async def main():
        return portal.run(function())

    return run(main)


# Which framework runs


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

    assert in_asyncio(main) == ("asyncio", "trio", "asyncio")


# Calls


def test_a_call_runs_here_in_a_copy_of_its_caller_s_context(portal):
    tenant = contextvars.ContextVar("tenant", default="nobody")

    async def look():
        seen = tenant.get()
        tenant.set("someone else")
        return seen, threading.get_ident()

    tenant.set("ada")
    assert ("ada", threading.get_ident()) == portal.run(look())
    assert tenant.get() == "ada"


@BOTH
def test_where_a_loop_runs_already_the_same_loop_runs_beside_it(portal, run):
    loop, here = portal.run(where())

    other_loop, there = called_from_coroutine(portal, where, run)

    assert loop is other_loop
    assert here != there
    assert (loop, here) == portal.run(where())
    assert (loop, there) == called_from_coroutine(portal, where, run)


@BOTH
def test_beside_another_loop_asyncio_runs_in_the_context_of_the_caller(portal, run):
    tenant = contextvars.ContextVar("tenant")

    async def look():
        await anyio.sleep(0)
        return tenant.get(), sniffio.current_async_library(), await anyio.to_thread.run_sync(int)

    async def main():
        tenant.set("ada")
        sniffio.current_async_library_cvar.set("trio" if run is in_trio else "asyncio")
        return portal.run(look())

    assert run(main) == ("ada", "asyncio", 0)


def test_a_call_or_a_close_from_within_is_refused_instead_of_hanging(portal):
    async def calls():
        with pytest.raises(RuntimeError, match=IN_USE):
            portal.run(where())
        with pytest.raises(RuntimeError, match=IN_USE):
            portal.close()

    portal.run(calls())
    called_from_coroutine(portal, calls)
    assert portal.run(where())


def test_a_call_of_another_fake_from_within_is_refused_too(session):
    portal, other = Portal(), Portal()

    async def calls():
        with pytest.raises(RuntimeError, match=IN_USE):
            other.run(where())

    portal.run(calls())
    called_from_coroutine(portal, calls)
    assert portal.run(where())


def test_a_portal_does_not_keep_what_its_calls_returned(portal):
    async def make():
        return type("Thing", (), {})()

    gone = weakref.ref(portal.run(make()))
    gone_too = weakref.ref(called_from_coroutine(portal, make))
    called_from_coroutine(portal, where)
    gc.collect()

    assert (gone(), gone_too()) == (None, None)


# Interruptions


@pytest.mark.parametrize(
    "call", [lambda portal, function: portal.run(function()), called_from_coroutine]
)
def test_an_interruption_ends_the_coroutine_and_the_loop_can_be_used_again(portal, call, interrupt):
    ended = []

    async def hangs():
        try:
            interrupt()
            await asyncio.sleep(SECONDS)
        finally:
            ended.append(True)

    with pytest.raises(Interrupted):
        call(portal, hangs)
    assert ended == [True]
    assert portal.run(where())


@pytest.mark.parametrize("interruption", [Interrupted, KeyboardInterrupt])
def test_an_interruption_inside_the_app_s_code_comes_through(portal, interruption, caplog):
    async def interrupted():
        raise interruption

    with pytest.raises(interruption):
        portal.run(interrupted())
    portal.close()
    gc.collect()
    assert caplog.records == []


def test_an_app_that_stops_or_closes_the_loop_spoils_it_for_nobody(portal):
    async def stops():
        asyncio.get_running_loop().stop()
        await asyncio.sleep(SECONDS)

    with pytest.raises(RuntimeError, match="Event loop stopped"):
        portal.run(stops())
    loop, _ = portal.run(where())
    assert set() == asyncio.all_tasks(loop)
    loop.close()
    assert not portal.run(where())[0].is_closed()


def test_a_loop_that_an_app_has_closed_has_no_tasks_left_to_run():
    with contextlib.closing(private_loop.PrivateLoop()) as private:
        loop, _ = private.run(where(), None)
        loop.close()
        assert not private.run_idle(lambda: asyncio.sleep(0))


# Pauses


def test_what_an_app_left_on_the_loop_goes_on_in_a_pause(portal):
    async def leave():
        return asyncio.create_task(asyncio.sleep(0, "done"))

    task = portal.run(leave())

    async def pause():
        await task

    assert portal.run_idle(pause)
    assert task.result() == "done"


def test_there_is_no_pause_without_a_loop_or_on_one_that_runs(portal):
    async def asks():
        return portal.run_idle(where)

    assert not portal.run_idle(where)
    assert not portal.run(asks())
    portal.close()
    assert not portal.run_idle(where)


def test_an_error_of_a_pause_comes_out_and_the_loop_is_free_again(portal):
    async def fails():
        raise KeyError("mine")

    portal.run(where())
    with pytest.raises(KeyError, match="mine"):
        portal.run_idle(fails)
    assert portal.run_idle(where)


# The end


@pytest.mark.parametrize("beside", [False, True])
def test_closing_ends_tasks_generators_and_threads_and_closes_the_loop(beside):
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
        return asyncio.get_running_loop()

    async def close():
        portal.close()

    kept = []
    loop = portal.run(leave())
    in_trio(close) if beside else portal.close()

    assert ended == ["task", "generator"]
    assert loop.is_closed()
    assert set(threading.enumerate()) <= before


def test_a_call_after_the_end_is_refused(portal):
    portal.close()
    with pytest.raises(ClosedError, match="the fake is closed"):
        portal.run(where())


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("clock", [nullcontext, freeze_time])
def test_a_task_that_does_not_end_is_named_and_the_loop_is_closed_anyway(
    monkeypatch, shares, clock
):
    said = []
    monkeypatch.setattr(private_loop, "GRACE_SECONDS", 0.01)
    monkeypatch.setattr(session_scope, "say", said.append)
    end = session_scope.begin(shares=shares)
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
    with clock():
        try:
            portal.close()
        except RuntimeError as error:
            said.append(str(error))
        end()

    assert len(said) == 1
    assert said[0].startswith("the app left tasks that ignore cancellation: {<Task")
    assert loop.is_closed()
    task._log_destroy_pending = False
    released = True


# Who shares


@pytest.mark.parametrize("shares", [True, False, None])
def test_the_fakes_of_a_session_share_a_loop_if_it_says_so(shares):
    async def app(scope, receive, send):
        loops.append(asyncio.get_running_loop())
        await respond(send, 204)

    loops = []
    end = session_scope.begin(shares=shares) if shares is not None else None
    with ChatFake() as fake, ChatFake() as other:
        for one in (fake, other, fake):
            one.webhooks.connect(asgi=app)
            one.send_text()
    assert bool(shares) is not loops[0].is_closed()
    if end is not None:
        end()

    assert (1 if shares else 2) == len(set(loops))
    assert all(loop.is_closed() for loop in loops)


def test_a_session_inside_another_one_has_a_loop_of_its_own(session):
    outer, other = Portal(), Portal()
    end = session_scope.begin(shares=True)
    inner, _ = Portal().run(where())
    end()

    assert inner.is_closed()
    assert outer.run(where()) == other.run(where()) == Portal().run(where())


def test_a_fake_that_is_closed_leaves_the_shared_loop_to_the_others(session):
    first, second = Portal(), Portal()
    loop = first.run(where())

    async def close():
        first.close()

    second.run(close())
    with pytest.raises(ClosedError, match="the fake is closed"):
        first.run(where())
    assert not first.run_idle(where)
    assert loop == second.run(where())


# Whose turn it is


@pytest.mark.parametrize("what", ["run", "pause"])
def test_another_fake_in_another_thread_waits_for_its_turn(session, what):
    first, second = Portal(), Portal()
    order = []

    def waits():
        second.run(asyncio.sleep(0))
        order.append("second")

    thread = threading.Thread(target=waits, daemon=True)

    async def works():
        thread.start()
        await asyncio.sleep(0.05)
        order.append("first")

    first.run(where())
    first.run(works()) if what == "run" else first.run_idle(works)
    thread.join(SECONDS)

    assert not thread.is_alive()
    assert order == ["first", "second"]


@pytest.mark.parametrize("same", [True, False])
def test_a_thread_that_the_loop_waits_for_is_refused_at_last(session, monkeypatch, same):
    monkeypatch.setattr(private_loop, "TURN_SECONDS", 0.01)
    first = Portal()
    second = first if same else Portal()

    async def asks():
        await asyncio.to_thread(lambda: second.run(where()))

    sentence = IN_USE if same else "another fake has used the shared loop for 0.01 s"
    with pytest.raises(RuntimeError, match=sentence):
        first.run(asks())
    assert first.run(where()) == second.run(where())


def test_what_an_interrupt_left_taken_stops_no_later_fake(session, monkeypatch):
    monkeypatch.setattr(private_loop, "TURN_SECONDS", 0.01)
    first, second = Portal(), Portal()
    loop = first.run(where())
    first._loop._lock.acquire()  # and the interrupt comes before anybody can give it back
    assert loop == second.run(where())
