"""Runs verbs in plain code, asyncio and trio, each under a hard limit. No test hangs."""

import asyncio
import signal

import pytest
import trio

SECONDS = 60.0
"""Before a test gives up on a coroutine."""


def in_asyncio(function):
    async def main():
        async with asyncio.timeout(SECONDS):
            result = await function()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert set() == others, "a task was left behind"
        return result

    return asyncio.run(main())


def in_trio(function):
    async def main():
        with trio.fail_after(SECONDS):
            return await function()

    return trio.run(main)


@pytest.fixture(autouse=True)
def hard_limit():
    """End a test that hangs in plain code; for the modules that take it into their namespace."""

    def give_up(*_):
        raise TimeoutError(f"the test did not end within {3 * SECONDS:g} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 3 * SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


BOTH = pytest.mark.parametrize("run", [in_asyncio, in_trio], ids=["asyncio", "trio"])

MODES = pytest.mark.parametrize("mode", ["sync", "asyncio", "trio"])


def perform(mode, verb):
    """Call a verb, and where the mode is a framework, await what it returns there."""

    async def main():
        return await verb()

    if mode == "sync":
        return verb()
    return in_asyncio(main) if mode == "asyncio" else in_trio(main)
