"""Ctrl-C, or a test's timeout, at any point: the fake is closed, and the process is as it was."""

import asyncio
import gc
import sys
import threading
from contextlib import suppress

import pytest
import time_machine

from pytest_chatfake import ChatFake, ClosedError
from pytest_chatfake.fake.fake import opened, service
from pytest_chatfake.fake.inside import Inside
from pytest_chatfake.transport.client.watchdog import watchdog

from .api_clients import send_call
from .fakes import section
from .middles import PACKAGE, POINTS

#: Up to 3.13, Python looks at no signal between a lock's own `__enter__` or `__exit__` and the
#: block. Since 3.14 it does, and so it may leave any lock taken that anybody's `with` takes.
HANDS = frozenset({"__enter__", "__exit__"} if sys.version_info >= (3, 14) else ())


class Interrupted(BaseException):
    """What the handler of a signal raises."""


class Interruption:
    """Raises at the n-th point of the package's own code that a block comes to.

    Not in what the garbage collector happens to end there: whatever is raised in it reaches nobody.

    Args:
        number: Which point, counted from 1.
    """

    def __init__(self, number):
        self._left = number
        self.came = False

    def __enter__(self):
        gc.disable()
        sys.setprofile(self._profile)

    def __exit__(self, *_):
        sys.setprofile(None)
        gc.enable()
        service.clear()  # of the error, which the server keeps for the test that runs

    def _profile(self, frame, event, argument):
        if event not in POINTS or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        if event == "c_return" and argument.__name__ in HANDS:
            return
        self._left -= 1
        if self._left == 0:
            sys.setprofile(None)
            self.came = True
            raise Interrupted


def is_done_elsewhere(act):
    """Whether another thread can do something, which takes a lock."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(60)
    return not thread.is_alive()


def use_service():
    service.hold()
    service.release()


class Process:
    """What belongs to the process, and has to be as it was."""

    def __init__(self):
        self._before = self._state()

    def is_whole(self):
        return self._before == self._state() and is_done_elsewhere(use_service)

    def _state(self):
        return (
            *(list(service._accounts.values()), service._users, set(opened)),
            *(list(watchdog._watched), list(time_machine.traveller_stack)),
        )


VERBS = {
    "send_text, priced": lambda fake, _: fake.send_text(price=lambda _: 2),
    "deliver": lambda _, message: message.deliver(devices=2),
    "advance": lambda fake, _: fake.clock.advance(days=31),
    "settle": lambda fake, _: fake.settle(),
    "reset": lambda fake, _: fake.reset(),
    "top_up": lambda fake, _: fake.top_up(1),
    "comes_online": lambda fake, _: fake.recipient("+0").comes_online(),
    "a call of the API": lambda fake, _: send_call(fake),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::pytest.PytestWarning")
@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt_at_any_point_of_a_verb_leaves_the_process_whole(verb):
    number, came, closed = 1, True, 0
    while came:
        process, interruption = Process(), Interruption(number)
        with ChatFake(seed="interrupted") as fake:
            receiver = fake.webhooks.receiver()
            message = fake.send_text(to="+0")
            if verb == "a call of the API":
                fake.send_endpoint()
            if verb == "comes_online":
                fake.recipient("+0", online=False, chat_open=False)
            if verb == "settle":  # something is due, and something is queued
                receiver.respond(500)
                fake.webhooks.duplicate()
            try:
                with interruption:
                    VERBS[verb](fake, message)
            except Interrupted:
                pass
            came = interruption.came
            assert is_done_elsewhere(lambda fake=fake: fake.clock.next_due), number
            _ = section(fake), str(fake.timeline), list(fake.timeline)
            with suppress(Interrupted):  # what came in a route comes back here
                _ = fake.webhooks.attempts
                _ = [fake.explain(message) for message in fake.messages]
            try:
                fake.top_up(1)
            except ClosedError:
                closed += 1
            Inside(fake).shut()  # nothing is checked at its end
        assert process.is_whole(), number
        number += 1 + number // 60  # each of the first points, then fewer and fewer
    assert 10 < closed < number


@pytest.mark.parametrize("raises", [True, False])
def test_an_interrupt_in_a_receiver_closes_the_fake_and_is_always_raised(raises):
    def interrupted(_):
        raise KeyboardInterrupt

    with ChatFake() as fake:
        fake.webhooks.connect(handler=interrupted, raise_exceptions=raises)
        with pytest.raises(KeyboardInterrupt):
            fake.send_text()
        with pytest.raises(ClosedError, match="closed, because KeyboardInterrupt interrupted it"):
            fake.send_text()
        assert [type(one.error).__name__ for one in fake.webhooks.attempts] == ["KeyboardInterrupt"]
        fake.close()


def test_an_interrupt_of_an_awaited_chain_closes_the_fake():
    async def interrupted(_):
        pytest.fail("a test's timeout, say")

    async def main():
        with ChatFake(mode="async") as fake:
            fake.webhooks.connect(handler=interrupted)
            with pytest.raises(pytest.fail.Exception):
                await fake.send_text()
            with pytest.raises(ClosedError, match="closed, because Failed interrupted it"):
                await fake.settle()

    asyncio.run(main())


async def failing_in_its_shutdown(scope, receive, send):
    """An ASGI app that says that it could not shut down."""
    for response in ("startup.complete", "shutdown.failed"):
        await receive()
        await send({"type": f"lifespan.{response}"})


#: Blocks, each of which ends with a call of ours.
BLOCKS = {
    "paused": lambda fake: fake.webhooks.paused(),
    "concurrently": lambda fake: fake.webhooks.concurrently(),
    "lifespan": lambda fake: fake.webhooks.lifespan(failing_in_its_shutdown),
    "fault": lambda fake: fake.webhooks.duplicate(),
    "fault of the API": lambda fake: fake.api.fail(),
    "expect_charge": lambda fake: fake.expect_charge(9),
    "autopilot": lambda fake: fake.autopilot(),
    "fake": lambda fake: fake,
}


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_an_interrupt_leaves_each_block_as_it_is(block, is_closed):
    def failing(_):
        raise LookupError("not that")

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ChatFake() as fake, BLOCKS[block](fake):
        if block in {"paused", "concurrently"}:
            fake.webhooks.connect(handler=failing)
            fake.send_text()  # is not attempted at the end of the block
        if is_closed:
            fake.send_text(price=interrupted)
        raise KeyboardInterrupt
    assert not fake.webhooks.attempts


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize("block", ["paused", "concurrently", "lifespan"])
def test_an_interrupt_leaves_each_awaited_block_as_it_is(block, is_closed):
    def interrupted(_):
        raise KeyboardInterrupt

    async def main():
        async with BLOCKS[block](fake):
            await fake.send_text(price=interrupted if is_closed else 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ChatFake(mode="async") as fake:
        asyncio.run(main())


def test_events_are_attempted_by_the_next_call_after_an_interrupted_block(fake):
    seen = []
    fake.webhooks.connect(handler=lambda request: seen.append(request.event.status))
    with pytest.raises(KeyboardInterrupt), fake.webhooks.paused():
        fake.send_text()
        raise KeyboardInterrupt
    assert seen == []
    fake.settle()
    assert seen == ["sent"]
