"""Code that calls the fake from the middle of an attempt, or of a response, waits for nobody."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from urllib.request import Request, urlopen

import pytest

from pytest_chatfake import ChatFake, NotAwaited

from .api_clients import call_with_werkzeug, send_call
from .both_frameworks import hard_limit  # noqa: F401 - a fixture
from .fakes import received_statuses

#: Real seconds that an attempt may take here: whoever waits for it meets the hard limit before.
LONG = 60.0

CALLS = {
    "settle": lambda fake: fake.settle(),
    "advance": lambda fake: fake.clock.advance(1),
    "assert_held": lambda fake: fake.assert_held("0.05"),
    "explain": lambda fake: fake.explain(fake.messages[0]),
}


@pytest.fixture
def fake(request):
    mode = "async" if request.node.get_closest_marker("asyncio") else "sync"
    with ChatFake(mode=mode, timeout=LONG) as fake:
        yield fake


@pytest.mark.asyncio
@pytest.mark.parametrize("call", CALLS)
async def test_an_async_receiver_does_not_wait_for_its_own_attempt(fake, call):
    async def receiver(_):
        performing = CALLS[call](fake)
        if call in {"settle", "advance"}:
            await performing

    fake.webhooks.connect(handler=receiver)
    await fake.send_text()
    assert [attempt.ok for attempt in fake.webhooks.attempts] == [True]


@pytest.mark.parametrize("call", CALLS)
def test_a_route_that_a_receiver_calls_does_not_wait_for_the_attempt(fake, call):
    @fake.route("/call")
    def respond(_):
        CALLS[call](fake)
        return {}

    def receiver(_):
        request = Request(fake.base_url + "/call", b"", {"X-API-Key": fake.api_key})
        with urlopen(request, timeout=2 * LONG):
            pass

    fake.webhooks.connect(handler=receiver)
    fake.send_text()

    assert [attempt.ok for attempt in fake.webhooks.attempts] == [True]


@pytest.mark.asyncio
async def test_a_task_that_a_receiver_started_awaits_its_own_chains_afterwards(fake):
    tasks = []
    over = asyncio.Event()

    async def reply():
        await over.wait()
        message = await fake.send_text("reply", to="b").deliver()
        assert message.status == "delivered"

    async def receiver(_):
        if not tasks:
            tasks.append(asyncio.create_task(reply()))

    fake.webhooks.connect(handler=receiver)
    await fake.send_text()
    over.set()
    await asyncio.gather(*tasks)
    statuses = [attempt.event.status for attempt in fake.webhooks.attempts]
    assert statuses == ["sent", "sent", "delivered"]


@pytest.mark.asyncio
async def test_a_verb_in_an_attempt_acts_at_once_before_pending_steps(fake):
    def receiver(request):
        if request.event.status == "sent":
            message.deliver()  # a delivery after the reading would be refused

    fake.webhooks.connect(handler=receiver)
    message = fake.send_text()
    await message.read()
    assert [event.status for event in message.events] == ["sent", "delivered", "read"]


@pytest.mark.asyncio
async def test_a_verb_in_an_attempt_waits_where_its_message_is_still_to_be_sent(fake):
    def receiver(request):
        if request.event.message_id == first.id and request.event.status == "sent":
            second.deliver()

    fake.webhooks.connect(handler=receiver)
    first = fake.send_text()
    second = fake.send_text()
    await fake.settle()
    assert [event.status for event in second.events] == ["sent", "delivered"]


def beside_an_attempt(act, *, steps=0):
    """Let a task act while an attempt of another one's chain is in flight; return the fake."""

    async def story():
        with ChatFake(mode="async", timeout=LONG, strict=False) as fake:
            began, acted = asyncio.Event(), asyncio.Event()

            async def receiver(_):
                began.set()
                await acted.wait()

            async def send():
                message = fake.send_text("first")
                for _ in range(steps):
                    message.deliver()
                await message

            async def beside():
                await began.wait()
                try:
                    await act(fake)
                finally:
                    acted.set()

            fake.webhooks.connect(handler=receiver)
            try:
                await asyncio.gather(send(), beside())
            finally:
                acted.set()
            return [message.body for message in fake.messages]

    return asyncio.run(story())


def test_an_assertion_beside_an_attempt_does_not_block_the_loop():
    async def act(fake):
        fake.assert_held("0.05")

    assert beside_an_attempt(act) == ["first"]


def test_a_forgotten_await_shows_while_an_attempt_of_another_task_runs():
    async def act(fake):
        message = fake.send_text("second")
        _ = message.status

    with pytest.raises(NotAwaited, match="missing await at"):
        beside_an_attempt(act)


def test_a_task_reads_while_the_steps_of_another_one_are_performed():
    async def act(fake):
        assert [message.body for message in fake.messages] == ["first"]

    assert beside_an_attempt(act, steps=3) == ["first"]


def test_a_thread_of_an_app_acts_at_once_while_an_attempt_is_in_flight():
    async def act(fake):
        thread = threading.Thread(target=fake.send_text, args=("second",))
        thread.start()
        thread.join()
        assert [message.body for message in fake.messages] == ["first", "second"]

    assert beside_an_attempt(act) == ["first", "second"]


# What is part of a response or an attempt, and what is not


def test_what_a_routes_thread_does_in_its_context_is_caused_by_the_request(fake):
    with ThreadPoolExecutor(1) as pool:
        receiver = fake.webhooks.receiver()

        @fake.route("/send")
        def send(_):
            pool.submit(copy_context().run, fake.send_text).result(10)
            assert received_statuses(receiver) == []

        call_with_werkzeug(fake, "POST", "/send")

        fake.settle()
        assert received_statuses(receiver) == ["sent"]
        assert [entry.cause for entry in fake.timeline if entry.kind == "verb"] == [1]


def test_what_goes_on_after_its_response_is_no_part_of_it(fake):
    contexts = []
    receiver = fake.webhooks.receiver()

    @fake.route("/send")
    def send(_):
        contexts.append(copy_context())

    call_with_werkzeug(fake, "POST", "/send")
    contexts[0].run(fake.send_text)

    assert received_statuses(receiver) == ["sent"]
    assert [entry.cause for entry in fake.timeline if entry.kind == "verb"] == [None]


def test_a_receiver_that_calls_the_api_causes_what_its_request_causes(fake):
    """The request is the innermost: the attempt has caused nothing by itself."""
    fake.send_endpoint()

    def receive(_):
        if len(fake.messages) == 1:
            send_call(fake)

    fake.webhooks.connect(handler=receive)
    fake.send_text()

    numbers = {entry.number: entry.kind for entry in fake.timeline}
    causes = [entry.cause for entry in fake.timeline if entry.kind == "verb"]
    assert [cause and numbers[cause] for cause in causes] == [None, "request"]
