"""The fake's own loop, lent to what an app left on it while a test waits."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
import threading

import pytest

from pytest_chatfake.transport.client.portal import Portal

from ..unit.both_frameworks import SECONDS, hard_limit
from .target_support import closed_at_the_end

__all__ = ["hard_limit"]


@pytest.fixture
def portal():
    with closed_at_the_end(Portal()) as opened:
        yield opened[0]


async def nothing():
    return None


def waiting_for(portal, done):
    """Wait until a thread waits for the loop; then `done` is set."""

    async def pause():
        while not portal._loop._turn._waiters:
            await asyncio.sleep(0)
        done.set()

    return pause


def in_a_thread(function):
    errors = []

    def call():
        try:
            function()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()

    def join():
        thread.join(SECONDS)
        assert not thread.is_alive()
        assert [] == errors

    return join


def test_what_an_app_left_on_the_loop_goes_on_while_it_is_lent(portal):
    done = []

    async def leave():
        async def work():
            await asyncio.sleep(0)
            done.append(True)

        return asyncio.create_task(work())

    async def pause():
        await task

    task = portal.run(leave())
    assert [] == done
    assert portal.lend(pause)
    assert [True] == done


def test_without_a_loop_nothing_is_lent(portal):
    assert not portal.lend(nothing)
    portal.run(nothing())
    assert portal.lend(nothing)
    portal.close()
    assert not portal.lend(nothing)


def test_a_loop_that_runs_is_not_lent(portal):
    async def asks():
        return portal.lend(nothing)

    assert False is portal.run(asks())


def test_an_error_of_the_pause_comes_out_and_the_loop_is_given_back(portal):
    async def fails():
        raise KeyError("mine")

    portal.run(nothing())
    with pytest.raises(KeyError, match="mine"):
        portal.lend(fails)
    assert portal.lend(nothing)


@pytest.mark.parametrize("what", ["run", "close"])
def test_another_thread_waits_until_the_loop_is_given_back(portal, what):
    portal.run(nothing())
    lent = threading.Event()

    def use():
        assert lent.wait(SECONDS)
        portal.close() if what == "close" else portal.run(nothing())

    join = in_a_thread(use)
    waited = threading.Event()

    async def pause():
        lent.set()
        await waiting_for(portal, waited)()

    assert portal.lend(pause)
    join()
    assert waited.is_set()


def test_what_runs_on_a_lent_loop_is_refused_and_does_not_wait_for_itself(portal):
    portal.run(nothing())

    async def pause():
        with pytest.raises(RuntimeError, match="the fake's event loop waits for this code"):
            portal.run(nothing())
        with pytest.raises(RuntimeError, match="it can't be closed from here"):
            portal.close()
        return True

    assert portal.lend(pause)
