"""A thread for calls that block, awaited in asyncio and in trio: nothing is lost or left behind."""

import contextvars
import threading
import traceback

import anyio
import pytest
import sniffio

from pytest_chatfake.transport.client.worker import Worker

from ..unit.both_frameworks import BOTH, SECONDS, hard_limit, in_trio  # noqa: F401

# Calls


@BOTH
def test_a_call_raises_what_the_function_raises_with_its_traceback(run, worker):
    def deep_in_the_function():
        raise LookupError("no such message")

    with pytest.raises(LookupError) as raised:
        run(lambda: worker.call_async(deep_in_the_function))
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "deep_in_the_function"


@BOTH
def test_all_calls_are_made_in_one_other_thread(run, worker):
    async def main():
        return {await worker.call_async(threading.get_ident) for _ in range(5)}

    idents = run(main)
    assert len(idents) == 1
    assert threading.get_ident() not in idents


@BOTH
def test_the_loop_goes_on_while_a_call_blocks(run, worker):
    reached = threading.Event()

    async def main():
        async with anyio.create_task_group() as group:
            group.start_soon(from_the_loop)
            return await worker.call_async(reached.wait, SECONDS)

    async def from_the_loop():
        await anyio.sleep(0.01)
        reached.set()

    assert run(main)


@BOTH
def test_a_call_sees_the_context_of_its_caller_but_not_the_loop(run, worker):
    tenant = contextvars.ContextVar("tenant")

    def look():
        with pytest.raises(sniffio.AsyncLibraryNotFoundError):
            sniffio.current_async_library()
        return tenant.get()

    async def main():
        tenant.set("ada")
        sniffio.current_async_library_cvar.set("trio" if run is in_trio else "asyncio")
        return await worker.call_async(look)

    assert run(main) == "ada"


def test_plain_code_can_wait_for_a_call_too(worker):
    assert worker.call(sum, (2, 3)) == 5
    with pytest.raises(ZeroDivisionError):
        worker.call(divmod, 1, 0)


# The end


def test_a_call_that_never_returns_is_said_when_the_worker_is_closed():
    release = threading.Event()
    worker = Worker("chatfake-test", grace=0.05)
    began = threading.Event()
    waiting = threading.Thread(
        target=worker.call, args=(lambda: (began.set(), release.wait(SECONDS)),)
    )
    waiting.start()
    assert began.wait(SECONDS)

    with pytest.raises(RuntimeError, match=r"chatfake-test: a call did not return within 0\.05 s"):
        worker.close()
    release.set()
    waiting.join(SECONDS)
