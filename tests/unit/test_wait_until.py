"""Waiting for an app that works in the background: real time, many looks, and nobody held up."""

import asyncio
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import anyio
import freezegun
import pytest
import time_machine

from pytest_chatfake import ChatFake, ChatFakeError, ClosedError, NotAwaited
from pytest_chatfake.fake import waits
from pytest_chatfake.transport.client.loops import gather, new_event

from .api_clients import send_call
from .both_frameworks import BOTH, MODES, SECONDS, hard_limit, in_asyncio, perform  # noqa: F401
from .fakes import START, received_statuses

#: Real seconds after which a wait gives up that waits in vain.
SHORT = 0.01

SETTLES = pytest.mark.parametrize("settle", [True, False])


@pytest.fixture
def mode():
    """Plain code; or where a test is marked so, plain code and both frameworks."""
    return "sync"


@pytest.fixture
def fake(mode):
    with a_fake(mode) as fake:
        yield fake


@pytest.fixture
def wait(fake, mode):
    """Wait in plain code, or in a loop of asyncio or trio."""

    def wait(predicate, timeout=SECONDS, **settle):
        return perform(mode, lambda: fake.wait_until(predicate, timeout=timeout, **settle))

    return wait


@pytest.fixture
def wait_in_vain(wait):
    def wait_in_vain(predicate):
        with pytest.raises(AssertionError) as failure:
            wait(predicate, SHORT)
        return failure.value

    return wait_in_vain


def a_fake(mode, **config):
    return ChatFake(mode="sync" if mode == "sync" else "async", seed="wait", **config)


@MODES
def test_wait_until_waits_for_something_true_and_returns_it(wait):
    seen = [None, 0, [], "", False, LookupError("none"), AssertionError("not yet"), "it"]
    looks = Mock(side_effect=seen)
    assert wait(looks) == "it"
    assert looks.call_count == len(seen)


@MODES
@SETTLES
def test_a_wait_attempts_webhooks_unless_it_is_told_not_to(fake, wait, settle):
    received = []
    fake.webhooks.connect(handler=received.append)
    fake.send_endpoint("/v2/messages")
    seen = []

    def look():
        seen.append(len(received))
        send_call(fake)
        return len(seen) == 3

    wait(look, settle=settle)
    assert len(fake.messages) == 3  # and no step is left
    assert seen == ([0, 1, 2] if settle else [0, 0, 0])
    wait(lambda: len(received) == 3)


@MODES
def test_any_other_error_comes_out_at_once_and_the_fake_can_be_used(wait):
    with pytest.raises(ValueError, match="broken"):
        wait(Mock(side_effect=[None, ValueError("broken")]))
    assert wait(lambda: "it") == "it"


@MODES
def test_a_predicate_may_be_a_coroutine_function(wait):
    looks = Mock(side_effect=[None, LookupError("none"), "it"])

    async def predicate():
        await anyio.sleep(0)
        return looks()

    assert wait(predicate) == "it"


def test_a_message_that_is_found_is_no_coroutine_to_run(fake, wait):
    message = fake.send_text()
    assert wait(lambda: fake.find_message(to=message.to)) == message


# -- in vain ---------------------------------------------------------------------------------------


@MODES
def test_a_failure_shows_the_last_value(wait_in_vain):
    failure = wait_in_vain(lambda: 0)
    line = test_a_failure_shows_the_last_value.__code__.co_firstlineno + 2
    assert re.fullmatch(
        rf"the lambda at test_wait_until\.py:{line} was not true within 0\.01 s: its last "
        r"call \(of \d+\) returned 0",
        str(failure),
    )
    assert failure.__cause__ is None


@MODES
def test_a_failure_shows_the_last_error_and_comes_from_it(wait_in_vain):
    error = KeyError("order-17")
    failure = wait_in_vain(Mock(side_effect=error))
    assert str(failure).endswith(") raised KeyError: 'order-17'")
    assert failure.__cause__ is error


def test_a_failure_shows_an_error_whose_text_can_not_be_read(wait_in_vain):
    class Silent(LookupError):
        def __str__(self):
            raise RuntimeError

    def look():
        raise Silent

    assert "raised Silent: " in str(wait_in_vain(look))


def test_a_function_that_only_asserts_is_told_what_it_lacks(wait_in_vain):
    def done():
        assert True

    hint = "returned None (a function that only asserts must return True at the end)"
    assert str(wait_in_vain(done)).endswith(hint)
    assert str(wait_in_vain(lambda: None)).endswith("returned None")


def test_a_callable_without_a_line_is_named_by_class_and_a_long_value_cut(wait_in_vain):
    class Predicate:
        def __call__(self):
            return self

        def __bool__(self):
            return False

        def __repr__(self):
            return "x" * 1000

    text = str(wait_in_vain(Predicate()))
    assert text.startswith("Predicate() was not true")
    assert text.endswith("returned " + "x" * 197 + "...")


@MODES
def test_what_came_true_while_the_time_ran_out_counts(wait, monkeypatch):
    """The fake settles after the last pause, and looks once more."""
    seen = []
    over = threading.Event()
    monkeypatch.setattr(waits, "say", lambda _: over.set())

    def predicate():
        seen.append(1)
        assert over.wait(SECONDS)  # the next look is the last one
        return len(seen) == 2

    assert wait(predicate, SHORT) is True


@MODES
def test_a_look_that_does_not_end_is_cancelled_when_the_time_is_up(wait_in_vain):
    async def hangs():
        await new_event().wait()

    end = "its last call (of 1) raised TimeoutError: it did not finish"
    assert str(wait_in_vain(hangs)).endswith(end)


@MODES
def test_a_plain_look_without_end_is_waited_for_and_said_on_the_terminal(wait, monkeypatch):
    said = []
    word = threading.Event()

    def hangs():
        assert word.wait(SECONDS)
        return "it"

    monkeypatch.setattr(waits, "say", lambda text: said.append(text) or word.set())
    assert wait(hangs, SHORT) == "it"
    line = hangs.__code__.co_firstlineno
    assert said == [f"still waiting for hangs() at test_wait_until.py:{line}"]


# -- time ------------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize(
    "frozen",
    [time_machine.travel(START, tick=False), freezegun.freeze_time("2026-01-01T12:00:00Z")],
    ids=["time_machine", "freezegun"],
)
def test_real_time_passes_where_time_stands_and_the_fakes_clock_stays(
    fake, wait, wait_in_vain, frozen
):
    with frozen:
        before = fake.clock.now
        assert wait(Mock(side_effect=[None, None, "it"])) == "it"
        wait_in_vain(lambda: None)
        assert fake.clock.now == before


@MODES
def test_what_is_due_now_is_run_and_what_is_due_later_is_not(mode):
    with time_machine.travel(START, tick=False) as traveller, a_fake(mode) as fake:
        receiver = fake.webhooks.receiver()
        fake.webhooks.delay(10, times=None)
        perform(mode, fake.send_text)

        def predicate():
            looks.append(received_statuses(receiver))
            if len(looks) == 1:
                traveller.shift(10)  # somebody else moves time
            return looks[-1]

        looks = []
        perform(mode, lambda: fake.wait_until(predicate, timeout=SECONDS))
        assert looks == [[], ["sent"]]


# -- the fake meanwhile ----------------------------------------------------------------------------


@MODES
def test_what_a_receiver_raises_meanwhile_comes_out(fake, wait):
    fake.webhooks.connect(handler=lambda _: 1 / 0)
    fake.send_endpoint()
    with pytest.raises(ZeroDivisionError):
        wait(lambda: send_call(fake) and None)


def test_verbs_of_another_thread_go_on_while_the_test_waits(fake, wait):
    receiver = fake.webhooks.receiver()
    waiting = threading.Event()

    def work():
        assert waiting.wait(SECONDS)
        fake.send_text().deliver().read()

    with ThreadPoolExecutor(1) as pool:
        worked = pool.submit(work)
        wait(lambda: waiting.set() or fake.messages[0].status == "read")
        worked.result(SECONDS)
    fake.settle()
    assert received_statuses(receiver) == ["sent", "delivered", "read"]


@BOTH
def test_chains_of_another_task_go_on_while_the_test_waits(run):
    with a_fake("async") as fake:
        receiver = fake.webhooks.receiver()

        async def work():
            await fake.send_text().deliver().read()

        async def look():
            await fake.wait_until(lambda: fake.messages[0].status == "read", timeout=SECONDS)

        run(lambda: gather([look, work]))
        assert received_statuses(receiver) == ["sent", "delivered", "read"]


@BOTH
def test_chains_that_were_laid_before_are_performed_first(run):
    async def main():
        with a_fake("async") as fake:
            message = fake.send_text().deliver()
            return await fake.wait_until(lambda: [one.status for one in message.events])

    assert run(main) == ["sent", "delivered"]


@SETTLES
def test_a_wait_that_is_never_awaited_is_complained_about(settle):
    with pytest.raises(NotAwaited, match=r"missing await at test_wait_until\.py:\d+: 1 step was"):
        with a_fake("async") as fake:
            fake.wait_until(lambda: True, settle=settle)


def test_a_receiver_may_wait_for_a_thread_of_its_app(fake, wait):
    done = []

    def receive(request):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(done.append, request.event.status)
            wait(lambda: request.event.status in done)

    fake.webhooks.connect(handler=receive)
    fake.send_text().deliver()
    assert done == ["sent", "delivered"]


def test_in_sync_mode_a_task_that_the_app_left_on_the_fakes_loop_goes_on(fake, wait):
    done = []
    tasks = []

    async def work():
        for _ in range(3):
            await asyncio.sleep(0)
        done.append("it")

    async def receive(_):
        tasks.append(asyncio.create_task(work()))

    fake.webhooks.connect(handler=receive)
    fake.send_text()
    assert done == []
    assert wait(lambda: done) == ["it"]


# -- the end ---------------------------------------------------------------------------------------


def test_a_cancelled_wait_ends_in_asyncio():
    async def main():
        with a_fake("async") as fake:
            looked = asyncio.Event()
            task = asyncio.ensure_future(fake.wait_until(looked.set, timeout=SECONDS))
            await looked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await fake.send_text()

    in_asyncio(main)
    assert [one for one in threading.enumerate() if one.name == "chatfake-wait"] == []


def test_a_coroutine_in_place_of_its_function_is_refused_without_a_warning(fake):
    async def done():
        return True

    with pytest.raises(TypeError, match="got <coroutine object"):
        fake.wait_until(done())


@SETTLES
def test_a_closed_fake_and_a_price_function_can_not_wait(settle):
    def price(_):
        fake.wait_until(lambda: True, settle=settle)
        return "1"

    fake = a_fake("sync", price=price)
    with pytest.raises(ChatFakeError, match=r"wait_until\(\) from"):
        fake.send_text()
    fake.close()
    with pytest.raises(ClosedError):
        fake.wait_until(lambda: True, settle=settle)
