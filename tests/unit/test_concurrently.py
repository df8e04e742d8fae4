"""Attempts at the same time: as tasks of one loop, and in threads."""

import asyncio
import json
import threading
from functools import partial
from unittest.mock import Mock

import anyio
import anyio.lowlevel
import pytest

from pytest_chatfake import ChatFakeError, ClosedError
from pytest_chatfake.fake.inside import Inside

from ..integration.raw_server import OK, serving
from .asgi_apps import respond
from .both_frameworks import BOTH, hard_limit  # noqa: F401
from .fakes import at, frozen_fake, stages, trail, unchanged, warnings_at_the_end


class Meeting:
    """An ASGI app in which attempts wait for each other: alone, one goes on after some turns."""

    def __init__(self):
        self.log = []
        self.inside = 0
        self.most = 0

    async def __call__(self, scope, receive, send):
        message = json.loads((await receive())["body"])["chatMessage"]
        self.log.append(f"in {message['status']}")
        self.inside += 1
        self.most = max(self.most, self.inside)
        await _some_turns()
        self.inside -= 1
        self.log.append(f"out {message['status']}")
        await respond(send, 204)


async def accepting(request):
    """A handler that accepts every event."""


async def _some_turns():
    for _ in range(3):
        await anyio.lowlevel.checkpoint()


async def in_a_block(fake, chain):
    """Write a chain inside a block, in the fake's mode."""
    if fake.config.mode == "sync":
        with fake.webhooks.concurrently():
            chain()
    else:
        async with fake.webhooks.concurrently():
            await chain()


# -- the block -------------------------------------------------------------------------------------


def test_what_is_emitted_in_the_block_is_attempted_at_its_end_all_at_once(play):
    async def scenario(fake, do):
        app = Meeting()
        fake.webhooks.connect(asgi=app)

        def chain():
            return fake.send_text().deliver().read()

        await in_a_block(fake, chain)
        assert app.log[:3] == ["in sent", "in delivered", "in read"]
        assert app.most == 3
        assert trail(fake) == "sent 204, delivered 204, read 204"
        assert {"at the same time"} == {m.text for one in fake.webhooks.attempts for m in one.marks}

    play(scenario)


def test_a_wsgi_app_is_called_in_several_threads(play):
    async def scenario(fake, do):
        seen = []
        both = threading.Barrier(2, timeout=60)

        def app(environ, start):
            both.wait()  # no thread alone gets past it
            seen.append(environ["wsgi.multithread"])
            start("204 No Content", [])
            return []

        fake.webhooks.connect(wsgi=app)
        await in_a_block(fake, lambda: fake.send_text().deliver())
        assert seen == [True, True]

    play(scenario)


def test_the_threads_of_a_block_end_with_it(fake):
    def app(environ, start):
        start("204 No Content", [])
        return []

    fake.webhooks.connect(wsgi=app)
    before = {*threading.enumerate()}
    send_in_a_block(fake)
    assert "chatfake-wsgi" not in {one.name for one in {*threading.enumerate()} - before}


def test_async_functions_overlap_and_plain_ones_come_before_one_by_one(play):
    async def scenario(fake, do):
        log = []

        async def awaited(request):
            log.append(f"in {request.event.status}")
            await asyncio.sleep(0)
            log.append(f"out {request.event.status}")

        fake.webhooks.connect(handler=awaited)
        fake.webhooks.connect(handler=lambda request: log.append(f"plain {request.event.status}"))
        await in_a_block(fake, lambda: fake.send_text().deliver())
        tasks = ["in sent", "in delivered", "out sent", "out delivered"]
        assert ["plain sent", "plain delivered", *tasks] == log

    play(scenario)


def test_a_block_with_one_event_or_none_is_as_no_block(fake):
    fake.webhooks.connect(handler=accepting)
    fake.webhooks.receiver()
    with fake.webhooks.concurrently():
        pass
    with fake.webhooks.concurrently() as block:
        fake.send_text()
        assert repr(block) == "<Concurrent with 1 event>"
    assert [one.marks for one in fake.webhooks.attempts] == [(), ()]


def send_in_a_block(fake):
    with fake.webhooks.concurrently():
        return fake.send_text().deliver()


@pytest.mark.parametrize("refused", [(503, 200), (200, 503), (503, 503)])
def test_what_is_refused_of_two_is_retried_before_the_next_event(fake, refused):
    statuses = iter(refused)

    async def app(request):
        return next(statuses, 200)

    fake.webhooks.connect(handler=app)
    fake.webhooks.concurrently(by=0)
    fake.send_text().deliver()
    first, second = refused
    codes = [attempt.status_code for attempt in fake.webhooks.attempts]
    assert codes == [first, second, 200, 200]


def test_two_attempts_that_can_not_be_signed_are_not_retried(fake):
    def signer(_):
        raise LookupError("no secret")

    fake.webhooks.connect(handler=accepting, signer=signer)
    fake.webhooks.concurrently(by=0)
    with pytest.raises(LookupError, match="no secret"):
        fake.send_text()
    fake.settle()
    assert trail(fake) == "sent LookupError, sent concurrently LookupError"


def test_a_retry_that_is_refused_as_well_is_one_of_the_endpoint_s(fake):
    statuses = iter([503, 200, 503])

    async def app(request):
        return next(statuses, 200)

    fake.webhooks.connect(handler=app, retry_after=[60])
    fake.webhooks.concurrently(by=0)
    fake.send_text().deliver()
    fake.settle()
    codes = [attempt.status_code for attempt in fake.webhooks.attempts]
    assert codes == [503, 200, 503, 200, 200]


def test_a_block_leaves_retries_on_the_clock_and_leaves_out_who_went_away(fake):
    responses = iter([500, 500])

    async def responding(_):
        return next(responses, 200)

    fake.webhooks.connect(handler=responding, retry_after=[60])
    gone = fake.webhooks.receiver()
    with fake.webhooks.concurrently():
        fake.send_text().deliver()
        gone.endpoint.disconnect()

    assert stages(fake) == "sent 500, delivered 500 |  | sent #2 +60, delivered #2 +60"
    assert len(gone.requests) == 0


@pytest.mark.parametrize("outer", ["concurrently", "paused"])
@pytest.mark.parametrize("inner", ["concurrently", "paused"])
def test_blocks_are_not_nested(fake, outer, inner):
    with getattr(fake.webhooks, outer)():
        with pytest.raises(RuntimeError, match=rf"^can't enter {inner}\(\): .* Leave its block"):
            getattr(fake.webhooks, inner)().__enter__()


@pytest.mark.parametrize("start", [2, 3])
def test_a_batch_counts_for_the_faults_and_none_of_them_changes_it(fake, start):
    fake.webhooks.connect(asgi=Meeting())
    fake.webhooks.refuse(start=start)
    send_in_a_block(fake)
    fake.send_text()

    assert stages(fake) == (
        "sent 204, delivered 204, sent refuse ConnectionRefusedError | sent #2 204"
    )


def test_a_batch_is_not_joined_by_what_waits_to_overlap(fake):
    fake.webhooks.connect(handler=accepting)
    fake.webhooks.concurrently(by=1)
    message = fake.send_text()
    with fake.webhooks.concurrently():
        message.deliver().read()
    assert stages(fake) == "delivered, read | sent concurrently"


def test_a_batch_is_not_joined_by_a_repeat_that_waits_for_another(fake):
    fake.webhooks.connect(handler=accepting)
    fake.webhooks.duplicate(after=1)
    with fake.webhooks.concurrently():
        message = fake.send_text()
        message.deliver()
    message.read()
    assert trail(fake) == "sent, delivered, sent duplicate, read"


def test_an_explored_block_overlaps_though_another_app_calls_wait_until(fake):
    Inside(fake).observe(Mock(attend=None), "")
    app = Meeting()
    fake.webhooks.connect(handler=lambda _: fake.wait_until(lambda: 200))
    fake.webhooks.connect(asgi=app)
    with fake.webhooks.concurrently():
        fake.send_text().deliver()
    assert app.most == 2


# -- the fault -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "start", "expected"),
    [
        (0, 1, "in sent, in sent, out sent, out sent, in delivered"),
        (1, 1, "in sent, in delivered, out sent, out delivered, in read"),
        (2, 1, "in delivered, out delivered, in sent, in read, out sent, out read"),
        (1, 2, "in sent, out sent, in delivered, in read, out delivered"),
        (1, 3, "in sent, out sent, in delivered, out delivered, in read, out read"),
        (9, 2, "in sent, out sent, in read, out read, in delivered, out delivered"),
    ],
)
def test_an_attempt_waits_for_so_many_and_is_made_with_the_last(fake, by, start, expected):
    app = Meeting()
    fake.webhooks.connect(asgi=app)
    fake.webhooks.concurrently(by=by, start=start)
    fake.send_text().deliver().read()
    fake.settle()
    assert ", ".join(app.log)[: len(expected)] == expected
    assert trail(fake).count("concurrently") == 1
    assert len(fake.webhooks.attempts) == 3 + (by == 0)


def test_an_attempt_that_waits_for_another_is_still_duplicated(fake):
    fake.webhooks.connect(handler=accepting)
    fake.webhooks.duplicate()
    fake.webhooks.concurrently(by=1)
    fake.send_text().deliver()
    fake.settle()
    assert trail(fake) == "sent concurrently, delivered, sent duplicate"


def test_of_a_lost_event_no_two_attempts_are_made_at_the_same_time(fake):
    fake.webhooks.connect(handler=accepting)
    fake.webhooks.lose()
    fake.webhooks.concurrently(by=0, times=None)
    fake.send_text().deliver()
    assert trail(fake) == "sent lose not posted, delivered, delivered concurrently"


def test_what_waits_to_overlap_is_released_after_what_is_reordered(fake):
    fake.webhooks.connect(handler=accepting)
    fake.webhooks.concurrently(by=9)
    fake.webhooks.reorder(by=9, start=2)
    fake.send_text().deliver()
    fake.settle()
    assert trail(fake) == "delivered reorder, sent concurrently"


def test_one_whose_endpoint_went_away_meanwhile_is_waited_for_no_more(fake):
    gone, stays = [fake.webhooks.connect(handler=accepting) for _ in range(2)]
    fake.webhooks.concurrently(by=2, endpoint=gone)
    message = fake.send_text()
    gone.disconnect()
    message.deliver()
    assert trail(fake) == "sent, delivered"
    assert {(one.endpoint, one.marks) for one in fake.webhooks.attempts} == {(stays, ())}


# -- which endpoints can overlap -------------------------------------------------------------------


@pytest.fixture
def connect(fake):
    """Connect an endpoint that responds once two attempts are there, if they can overlap."""
    threads, tasks = threading.Barrier(2, timeout=60), asyncio.Barrier(2)

    def wsgi(environ, start):
        threads.wait()
        start("204 No Content", [])
        return []

    async def asgi(scope, receive, send):
        await tasks.wait()
        await respond(send, 204)

    async def function(request):
        await tasks.wait()

    def script(conversation):
        while conversation.read():
            threads.wait()
            conversation.send(OK)

    with serving(script) as server:
        hooks = fake.webhooks
        yield {
            "URL": partial(hooks.connect, server.url),
            "WSGI app": partial(hooks.connect, wsgi=wsgi),
            "ASGI app": partial(hooks.connect, asgi=asgi),
            "async function": partial(hooks.connect, handler=function),
            "function": partial(hooks.connect, handler=lambda request: None),
            "receiver": lambda: hooks.receiver().endpoint,
        }


OVERLAP = ["URL", "WSGI app", "ASGI app", "async function"]
PLAIN = ["function", "receiver"]


def race(fake, by):
    """Have two attempts made at the same time, by a block (None) or by a fault."""
    if by is None:
        send_in_a_block(fake)
        return
    fake.webhooks.concurrently(by=by)
    message = fake.send_text()
    if by:
        message.deliver()


@pytest.mark.parametrize("by", [None, 0, 1])
@pytest.mark.parametrize("kind", OVERLAP)
@pytest.mark.parametrize(("before", "after"), [([], []), (PLAIN, []), ([], PLAIN)])
def test_two_attempts_at_an_app_overlap_and_only_they_are_said_to_once(
    fake, connect, before, kind, after, by
):
    endpoints = {each: connect[each]() for each in [*before, kind, *after]}
    race(fake, by)

    second = "sent" if by == 0 else "delivered"
    said = [
        (one.endpoint, one.event.status, mark.text)
        for one in fake.webhooks.attempts
        for mark in one.marks
    ]
    assert said == [(endpoints[kind], status, "at the same time") for status in ("sent", second)]


@pytest.mark.parametrize("kinds", [*([kind] for kind in PLAIN), PLAIN])
def test_a_block_is_refused_if_nothing_can_overlap(fake, connect, kinds):
    for kind in kinds:
        connect[kind]()
    refused = r"^webhooks\.concurrently\(\): expected .*, got none \(a plain function handles one"
    with unchanged(fake), pytest.raises(ChatFakeError, match=refused):
        race(fake, None)


@pytest.mark.parametrize("by", [0, 1])
def test_a_fault_does_not_fire_at_plain_functions_and_says_why(by):
    trails = []

    def scenario(fake):
        fake.webhooks.receiver()
        race(fake, by)
        trails.append(trail(fake))

    (text,) = warnings_at_the_end(scenario)
    assert "1 unused fault" in text
    assert "(a plain function handles one event at a time: connect your app as wsgi=" in text
    assert trails == ["sent, delivered" if by else "sent"]


def test_a_block_whose_events_no_app_listens_for_is_refused_at_its_end(play):
    async def scenario(fake, do):
        fake.webhooks.connect(handler=accepting, events=["of.another.type"])
        fake.webhooks.receiver()
        with pytest.raises(ChatFakeError, match=r"^webhooks\.concurrently\(\): expected"):
            await in_a_block(fake, lambda: fake.send_text().deliver())
        assert trail(fake) == "sent, delivered"
        assert not any(one.marks for one in fake.webhooks.attempts)

    play(scenario)


@pytest.mark.parametrize(
    ("set_up", "expected"),
    [
        (lambda w: w.concurrently(by=2), []),
        (lambda w: [w.concurrently(by=1), w.lose(start=2)], ["lost"]),
    ],
)
def test_an_attempt_that_is_made_alone_is_not_said_to_overlap(fake, set_up, expected):
    fake.webhooks.connect(handler=accepting)
    set_up(fake.webhooks)
    fake.send_text().deliver()
    fake.settle()
    assert [mark.text for one in fake.webhooks.attempts for mark in one.marks] == expected


# -- how a batch ends ------------------------------------------------------------------------------


def test_an_error_of_each_app_is_recorded_and_the_first_comes_out(fake):
    async def failing(request):
        await asyncio.sleep(0)
        raise LookupError(request.event.status)

    fake.webhooks.connect(handler=failing)
    with pytest.raises(LookupError, match="sent"):
        send_in_a_block(fake)
    assert [str(one.error) for one in fake.webhooks.attempts] == ["sent", "delivered"]


def test_a_barrier_inside_an_attempt_leaves_the_others_to_be_recorded(play):
    async def scenario(fake, do):
        async def settling(_):
            await do(fake.settle())

        fake.webhooks.connect(handler=settling)
        await in_a_block(fake, lambda: fake.send_text().deliver())
        assert trail(fake) == "sent, delivered"

    play(scenario)


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        ("sent", "sent LookupError, delivered 204, read 204"),
        ("delivered", "sent 204, delivered LookupError, read 204"),
    ],
)
def test_an_attempt_that_can_not_be_signed_leaves_the_others_of_a_batch(fake, failing, expected):
    def signer(request):
        if request.event.status == failing:
            raise LookupError("no secret")
        return {}

    app = Meeting()
    fake.webhooks.connect(asgi=app, signer=signer)
    with pytest.raises(LookupError, match="no secret"), fake.webhooks.concurrently():
        fake.send_text().deliver().read()
    assert (app.most, trail(fake)) == (2, expected)


def test_a_cancellation_before_a_batch_lets_none_begin():
    called = []

    async def handler(request):
        called.append(request.event.status)

    async def cancelled():
        async with fake.webhooks.concurrently():
            await fake.send_text().deliver()
            asyncio.current_task().cancel()

    with frozen_fake(mode="async") as fake:
        fake.webhooks.connect(handler=handler)
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(cancelled())
        assert (called, trail(fake)) == ([], "sent InterruptedError, delivered InterruptedError")


@BOTH
@pytest.mark.parametrize(("raises", "own"), [(False, ""), (True, " LookupError")])
def test_an_interrupt_comes_out_when_all_are_recorded(run, raises, own):
    async def handler(request):
        await _some_turns()
        if request.event.status == "delivered":
            pytest.fail("not that")
        if raises:
            raise LookupError("mine")

    async def main():
        with frozen_fake(mode="async") as fake:
            fake.webhooks.connect(handler=handler)
            with pytest.raises(pytest.fail.Exception, match="not that"):
                await in_a_block(fake, lambda: fake.send_text().deliver())
            assert trail(fake) == f"sent{own}, delivered Failed"

    run(main)


@BOTH
def test_a_cancellation_ends_all_of_them_and_the_fake_goes_on(run):
    ended = []

    async def hanging(request):
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(request.event.status)

    async def main():
        with frozen_fake(mode="async") as fake:
            fake.webhooks.connect(handler=hanging)
            async with anyio.create_task_group() as group:
                group.start_soon(in_a_block, fake, lambda: fake.send_text().deliver())
                await anyio.wait_all_tasks_blocked()
                group.cancel_scope.cancel()
            await fake.settle()
            assert [one.ok for one in fake.webhooks.attempts] == [False, False]

    run(main)
    assert set(ended) == {"sent", "delivered"}


def test_a_batch_that_cannot_be_made_says_why_of_each(fake):
    async def awaited(_):
        """Nobody gets here."""

    fake.webhooks.connect(handler=awaited)
    fake._portal.close()
    with pytest.raises(ClosedError):
        send_in_a_block(fake)
    assert trail(fake) == "sent ClosedError, delivered ClosedError"


def test_a_lost_attempt_stays_lost_if_the_others_cannot_be_made(fake):
    fake.webhooks.connect(handler=accepting)
    fake.webhooks.concurrently(by=1)
    fake.webhooks.lose(start=2)
    message = fake.send_text()
    fake._portal.close()
    with pytest.raises(ClosedError):
        message.deliver()
    assert [type(one.error) for one in fake.webhooks.attempts] == [ClosedError, type(None)]


def test_what_hangs_is_ended_when_its_time_is_up():
    async def hanging(_):
        await asyncio.Event().wait()

    with frozen_fake(timeout=0.1) as fake:
        fake.webhooks.connect(handler=hanging, raise_exceptions=False)
        send_in_a_block(fake)
        assert trail(fake) == "sent TimeoutError, delivered TimeoutError"


def test_what_each_app_causes_has_its_own_cause_in_the_timeline(fake):
    async def responding(request):
        await asyncio.sleep(0)
        if request.event.message_id == fake.messages[0].id:
            fake.send_text(f"after {request.event.status}")

    fake.webhooks.connect(handler=responding)
    send_in_a_block(fake)
    causes = {
        one.text: fake.timeline[one.cause - 1].text
        for one in fake.timeline
        if one.kind == "verb" and one.cause
    }

    assert "sent m1" in causes["send_text() m2"]
    assert "delivered m1" in causes["send_text() m3"]


def test_the_timeline_shows_each_of_those_that_are_being_made(fake):
    texts = []

    async def looking(request):
        texts.append(str(fake.timeline))

    fake.webhooks.connect(handler=looking)
    send_in_a_block(fake)
    for status in ("sent", "delivered"):
        assert f"{status} m1 -> looking(): no response yet" in texts[0]


# -- a pause ---------------------------------------------------------------------------------------


def test_a_repeat_comes_when_so_much_time_has_passed_and_settle_moves_it(play):
    async def scenario(fake, do):
        fake.webhooks.receiver()
        fake.webhooks.duplicate(pause=86_400)
        fake.webhooks.duplicate(pause=60.5, start=2)
        await do(fake.send_text().deliver().read())
        assert trail(fake) == "sent, delivered, read"
        await do(fake.settle())
        await do(fake.settle())
        repeats = "delivered duplicate +60.5, sent duplicate +86400"
        assert trail(fake) == f"sent, delivered, read, {repeats}"
        assert fake.clock.now == at(days=1)
        assert "duplicate(pause=60.5" in str(fake.timeline)

    play(scenario)


def test_a_settle_inside_a_receiver_moves_no_time(fake):
    fake.webhooks.connect(handler=lambda _: fake.settle() and None)
    fake.webhooks.duplicate(pause=60)
    fake.send_text()
    assert stages(fake) == "sent | sent duplicate +60"


def test_a_disabled_endpoint_gets_no_attempt_that_was_to_be_simultaneous(fake):
    async def refuse(_):
        return 500

    async def accept(_):
        return 200

    refusing = fake.webhooks.connect(handler=refuse, disable_after=1)
    fake.webhooks.connect(handler=accept)
    fake.webhooks.concurrently(by=3, endpoint=refusing)
    fake.send_text().deliver()
    fake.settle()

    ends = [each.status_code for each in fake.webhooks.attempts if each.endpoint is refusing]
    assert ends == [500, None]


def test_an_endpoint_stays_disabled_though_it_accepts_an_event_at_the_same_time(fake):
    async def app(request):
        return 500 if request.event.status == "sent" else 200

    endpoint = fake.webhooks.connect(handler=app, disable_after=1)
    send_in_a_block(fake)

    assert trail(fake) == "sent 500, delivered"
    assert endpoint.disabled
