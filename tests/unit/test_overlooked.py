"""What a test may have overlooked: failed attempts, queued events, unused results; and no news."""

import asyncio
import re
from contextlib import ExitStack

import pytest
import time_machine

from pytest_chatfake import (
    ChatFake,
    IllegalTransition,
    NotAwaited,
    UndeliveredWebhooks,
    UnusedFault,
)
from pytest_chatfake.base.current_test import running

from .api_clients import call_with_werkzeug
from .fakes import START, frozen_fake, own_lines, warnings_at_the_end


def failing_app(environ, start_response):
    start_response("500 No", [])
    return []


# -- strict ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [None, True])
def test_the_block_of_a_fake_ends_with_an_error_that_lists_all_warnings(strict):
    def scenario(fake):
        fake.webhooks.connect(wsgi=failing_app)
        fake.webhooks.emit_event("account.updated")
        fake.webhooks.lose(status="read")
        fake.send_text().after(60)

    expected = [*warnings_at_the_end(scenario), "With strict=False this is a warning."]
    with pytest.raises(UndeliveredWebhooks) as refused, frozen_fake(strict=strict) as fake:
        scenario(fake)
    assert len(expected) == 5
    without_id = re.sub(r" \(message \w+\)", "", "\n".join(expected))  # the timeline explains m1
    assert without_id == own_lines(str(refused.value))
    assert repr(fake).startswith("<ChatFake closed")


def test_where_pytest_shows_no_timeline_an_error_has_the_message_s_id(monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with (
        running(None),
        pytest.raises(UndeliveredWebhooks) as refused,
        frozen_fake(strict=True) as fake,
    ):
        fake.webhooks.connect(wsgi=failing_app)
        message = fake.send_text()

    assert f"  sent m1 (message {message.id}) (caused at " in str(refused.value)


def test_a_fake_that_is_closed_by_hand_raises_there_and_only_once():
    fake = ChatFake()
    fake.webhooks.lose()
    with pytest.raises(UnusedFault, match="1 unused fault"):
        fake.close()
    fake.close()


def test_a_fault_that_never_fired_has_an_error_of_its_own_if_it_is_alone():
    with pytest.raises(UnusedFault) as alone, frozen_fake() as fake:
        fake.webhooks.lose(status="read")
    with pytest.raises(UndeliveredWebhooks, match="1 unused fault"), frozen_fake() as fake:
        fake.webhooks.lose(status="read")
        fake.send_text().after(60)

    assert "1 unused fault; set up a fault before the verb, or remove it:" in str(alone.value)
    assert not isinstance(alone.value, UndeliveredWebhooks)


def test_a_look_covers_what_was_there_and_nothing_later():
    def scenario(fake):
        fake.webhooks.connect(wsgi=failing_app)
        message = fake.send_text()
        assert not fake.webhooks.attempts[0].ok
        message.deliver()

    (text,) = warnings_at_the_end(scenario)
    assert text.startswith("1 attempt failed")
    assert "delivered m1 (message " in text


def test_a_reset_makes_later_failures_news_again():
    def scenario(fake):
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text().deliver()
        assert len(fake.webhooks.attempts) == 2
        fake.reset()
        fake.send_text()

    (text,) = warnings_at_the_end(scenario)
    assert text.startswith("1 attempt failed")


# -- the queue -------------------------------------------------------------------------------------


def send_over_http(fake):
    """Let the fake's own route send a message: its event is queued then."""

    @fake.route("/send")
    def send(_):
        return {"id": fake.send_text().id}

    call_with_werkzeug(fake, "POST", "/send")


def test_what_is_queued_at_the_end_is_attempted_and_judged_like_the_rest():
    seen = []

    def scenario(fake):
        fake.webhooks.connect(handler=lambda request: seen.append(request.event.status))
        fake.webhooks.connect(wsgi=failing_app)
        send_over_http(fake)
        assert seen == []

    (text,) = warnings_at_the_end(scenario)
    assert seen == ["sent"]
    assert text.startswith("1 attempt failed")


def test_an_app_that_raises_at_the_end_ends_the_block_with_its_error():
    def app(_, __):
        raise LookupError("at the end")

    with pytest.raises(LookupError, match="at the end"), frozen_fake() as fake:
        fake.webhooks.connect(wsgi=app)
        send_over_http(fake)
    assert repr(fake).startswith("<ChatFake closed")


def test_what_is_queued_for_nobody_any_more_is_no_news():
    def scenario(fake):
        fake.webhooks.receiver()
        send_over_http(fake)
        fake.webhooks.disconnect()

    assert warnings_at_the_end(scenario, mode="async") == []


def test_in_async_mode_what_is_due_at_the_end_stays_due():
    with (
        time_machine.travel(START, tick=False) as traveller,
        ChatFake(mode="async", retry_after=[1]) as fake,
    ):
        fake.webhooks.connect(wsgi=failing_app)

        async def send():
            await fake.send_text()

        asyncio.run(send())
        traveller.shift(2)  # nobody performs the retry

    assert len(fake.webhooks.attempts) == 1


# -- calls whose result was never used -------------------------------------------------------------


async def no_lifespan(scope, receive, send):
    """An ASGI app that has no lifespan."""


#: Calls that do nothing until their result is used, and what to write instead, in both modes.
CALLS = {
    "expect_charge": (
        lambda fake: fake.expect_charge("0.99"),
        "`with chat_fake.expect_charge(...):`",
        "`with chat_fake.expect_charge(...):`",
    ),
    "paused": (
        lambda fake: fake.webhooks.paused(),
        "`with chat_fake.webhooks.paused():`",
        "`async with chat_fake.webhooks.paused():`",
    ),
    "concurrently": (
        lambda fake: fake.webhooks.concurrently(),
        "`with chat_fake.webhooks.concurrently():`",
        "`async with chat_fake.webhooks.concurrently():`",
    ),
    "lifespan": (
        lambda fake: fake.webhooks.lifespan(no_lifespan),
        "`with chat_fake.webhooks.lifespan(app):`",
        "`async with chat_fake.webhooks.lifespan(app):`",
    ),
    "route": (
        lambda fake: fake.route("/v2/messages"),
        "`@chat_fake.route(...)`",
        "`@chat_fake.route(...)`",
    ),
    "respond": (
        lambda fake: fake.webhooks.receiver().respond(503),
        "`respond(503)` before the verb, or remove it",
        "`respond(503)` before the verb, or remove it",
    ),
}


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_whose_result_is_not_used_is_listed_with_the_right_code(call, mode):
    written, in_sync, in_async = CALLS[call]
    (text,) = warnings_at_the_end(written, mode=mode)
    head, line = text.splitlines()
    place = f"test_overlooked.py:{written.__code__.co_firstlineno}"
    assert head == "1 call whose result was never used:"
    assert line == f"  write {in_sync if mode == 'sync' else in_async} at {place}"


@pytest.mark.parametrize("call", CALLS)
def test_a_reset_forgets_a_call_without_effect(call):
    def scenario(fake):
        CALLS[call][0](fake)
        fake.reset()

    assert warnings_at_the_end(scenario) == []


def respond_after_the_verb(fake):
    receiver = fake.webhooks.receiver()
    fake.send_text()
    receiver.respond(503)


def respond_after_another_response(fake):
    receiver = fake.webhooks.receiver()
    receiver.respond(503)
    fake.send_text()
    receiver.respond(404)


def respond_where_no_event_comes(fake):
    fake.webhooks.receiver(events=["account.updated"]).respond(503)
    fake.webhooks.receiver()
    fake.send_text()


@pytest.mark.parametrize(
    "scenario",
    [respond_after_the_verb, respond_after_another_response, respond_where_no_event_comes],
)
def test_a_response_that_no_webhook_gets_is_never_used(scenario):
    (text,) = warnings_at_the_end(scenario)
    assert "before the verb, or remove it at test_overlooked.py:" in text
    with (
        pytest.raises(UndeliveredWebhooks, match="1 call whose result was never used"),
        frozen_fake() as fake,
    ):
        scenario(fake)


def respond_to_fewer_than_told(fake):
    receiver = fake.webhooks.receiver()
    receiver.respond(503, times=3)
    receiver.respond(404)
    fake.send_text()


def respond_to_a_retry(fake):
    fake.webhooks.receiver().respond(503)
    fake.webhooks.lose()
    message = fake.send_text()
    fake.webhooks.redeliver(fake.events[0])
    assert message.status == "sent"


def respond_through_a_handler(fake):
    receiver = fake.webhooks.receiver(events=["account.updated"])
    receiver.respond(202)
    fake.webhooks.connect(handler=receiver)
    fake.send_text()


def enter_it_later(fake):
    block = fake.expect_charge("0.05")
    fake.send_text()
    with block:
        fake.messages[0].deliver()


def enter_it_elsewhere(fake):
    blocks = [fake.webhooks.lifespan(no_lifespan), fake.webhooks.paused()]
    with ExitStack() as stack:
        for block in blocks:
            stack.enter_context(block)


def enter_it_twice(fake):
    block = fake.expect_charge(0)
    with block:
        pass
    with block:
        pass


def fail_in_it(fake):
    with pytest.raises(AssertionError), fake.expect_charge("0.99"):
        fake.send_text().deliver()


def be_refused(fake):
    with (
        fake.webhooks.paused(),
        pytest.raises(RuntimeError, match="can't enter"),
        fake.webhooks.concurrently(),
    ):
        pass


def decorate_later(fake):
    add = fake.route("/v2/messages")
    add(lambda _: None)


def submit_and_wait(fake):
    fake.submit_text()


def schedule_with_the_first_handle(fake):
    later = fake.send_text().after(60)
    later.deliver()
    later.read()


@pytest.mark.parametrize(
    "use",
    [
        enter_it_later,
        enter_it_elsewhere,
        enter_it_twice,
        fail_in_it,
        be_refused,
        decorate_later,
        submit_and_wait,
        respond_to_fewer_than_told,
        respond_to_a_retry,
        respond_through_a_handler,
        schedule_with_the_first_handle,
        lambda fake: fake.send_endpoint(),
        lambda fake: fake.autopilot(),
    ],
)
def test_a_call_whose_result_is_used_or_need_not_be_is_no_news(use):
    assert warnings_at_the_end(use) == []


@pytest.mark.parametrize("call", ["paused", "concurrently", "lifespan"])
@pytest.mark.asyncio
async def test_a_block_that_is_entered_in_async_mode_is_no_news(call, fake):
    async with CALLS[call][0](fake):
        await fake.send_text()
    with pytest.raises(TypeError, match="in async mode"), CALLS[call][0](fake):
        pass


# -- checks and waits that are never awaited -------------------------------------------------------

#: What only its own ``await`` does; other awaits go past it.
OWN_AWAITS = {
    "wait_until": lambda fake: fake.wait_until(lambda: False),
    "wait_until without settling": lambda fake: fake.wait_until(lambda: False, settle=False),
    "assert_idempotent": lambda fake: fake.assert_idempotent(lambda: None),
    "assert_rejects_forgeries": lambda fake: fake.webhooks.assert_rejects_forgeries(),
}


@pytest.mark.parametrize("call", OWN_AWAITS)
@pytest.mark.asyncio
async def test_a_check_that_another_await_passes_by_was_never_performed(call):
    line = OWN_AWAITS[call].__code__.co_firstlineno
    told = rf"missing await at .* via test_overlooked.py:{line}: 1 step was never performed"
    with pytest.raises(NotAwaited, match=told), frozen_fake(mode="async", strict=False) as fake:
        fake.webhooks.receiver()
        await fake.send_text().deliver()
        OWN_AWAITS[call](fake)
        await fake.settle()


@pytest.mark.asyncio
async def test_all_that_was_never_performed_is_counted_once():
    with (
        pytest.raises(NotAwaited, match="3 steps were never performed"),
        frozen_fake(mode="async") as fake,
    ):
        fake.wait_until(lambda: False)
        await fake.settle()
        fake.send_text()
        fake.wait_until(lambda: False)


async def await_it_later(fake):
    check = fake.assert_idempotent(lambda: None)
    await fake.settle()
    await check


async def await_it_beside_others(fake):
    await asyncio.gather(fake.settle(), fake.wait_until(lambda: True), fake.settle())


async def await_it_until_it_fails(fake):
    with pytest.raises(AssertionError):
        await fake.wait_until(lambda: False, timeout=0.001)


async def await_it_until_it_is_cancelled(fake):
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(fake.wait_until(lambda: False), 0.001)


async def never_come_to_it(fake):
    await fake.send_text().fail()
    fake.messages[-1].deliver()
    fake.wait_until(lambda: True)
    with pytest.raises(IllegalTransition):
        await fake.settle()


@pytest.mark.parametrize(
    "use",
    [
        await_it_later,
        await_it_beside_others,
        await_it_until_it_fails,
        await_it_until_it_is_cancelled,
        never_come_to_it,
    ],
)
@pytest.mark.asyncio
async def test_a_check_that_was_awaited_or_never_reached_is_no_news(use, fake):
    fake.webhooks.receiver()
    await fake.send_text().deliver()
    await use(fake)


# -- what the test caused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("set_up", "told"),
    [
        (lambda webhooks: webhooks.lose(), ""),
        (lambda webhooks: webhooks.tamper(), ""),
        (lambda webhooks: webhooks.sign(lambda _: {"X-Signature": "wrong"}), ""),
        (lambda webhooks: webhooks.delay(60), "1 attempt failed"),
        (lambda webhooks: webhooks.duplicate(), "2 attempts failed"),
        (lambda webhooks: webhooks.reorder(), "1 attempt failed"),
        (lambda webhooks: webhooks.refuse(), "1 attempt failed"),
        (lambda webhooks: webhooks.lose_response(), "1 attempt failed"),
    ],
)
def test_only_a_failure_that_a_fault_caused_is_no_news(set_up, told):
    def scenario(fake):
        fake.webhooks.connect(wsgi=failing_app)
        set_up(fake.webhooks)
        fake.send_text()
        fake.clock.advance(60)

    texts = "".join(warnings_at_the_end(scenario))
    assert texts.partition(";")[0] == told


@pytest.mark.parametrize("config", [{}, {"strict": False}, {"mode": "async"}])
def test_an_error_of_the_block_is_not_covered_by_warnings_or_our_errors(config):
    with pytest.raises(KeyError, match="mine"), frozen_fake(**config) as fake:
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text()
        raise KeyError("mine")
