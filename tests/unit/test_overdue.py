"""Attempts in process that take too long: late, whatever comes of them, and not for ever."""

import asyncio
import threading
from datetime import timedelta

import anyio
import freezegun
import pytest
import trio
from werkzeug import Response

from pytest_chatfake import ChatFake, UndeliveredWebhooks
from pytest_chatfake.transport.client import watchdog as watchdog_module
from pytest_chatfake.transport.client.cancellable import Cancellable, CancelledExternally
from pytest_chatfake.transport.client.loops import new_event
from pytest_chatfake.webhooks import overdue

from .asgi_apps import respond
from .both_frameworks import BOTH, MODES, SECONDS, hard_limit, in_trio, perform  # noqa: F401
from .hanging import connected_in_any_time, counted_while_hanging, hang, hanging  # noqa: F401

#: Real seconds of an attempt that is to take too long.
SHORT = 0.01
LATE = "TimeoutError: no complete response within 0.01 s"
CAME_LATE = f"{LATE}, then status 204"


def a_fake(mode, timeout=SHORT, **config):
    own = "sync" if mode == "sync" else "async"
    return ChatFake(mode=own, seed="overdue", timeout=timeout, **config)


async def hangs(scope, receive, send):
    await hang()


async def works(scope, receive, send):
    await respond(send, 204)


def outcomes(fake):
    return [attempt.outcome for attempt in fake.webhooks.attempts]


def ended(mode, *targets, **config):
    """How the attempts at these targets end, for one message that is sent."""
    with a_fake(mode, **config) as fake:
        for target in targets:
            fake.webhooks.connect(**target)
        perform(mode, fake.send_text)
        return outcomes(fake)


class Words:
    """What is said on the terminal; who hangs can wait for it."""

    def __init__(self):
        self.said = []
        self.word = threading.Event()

    def __call__(self, text):
        self.said.append(text)
        self.word.set()

    def wait(self):
        with hanging():
            assert self.word.wait(SECONDS)
        self.word.clear()


@pytest.fixture
def words(monkeypatch):
    words = Words()
    monkeypatch.setattr(overdue, "say", words)
    return words


@pytest.fixture
def asked(monkeypatch):
    """Counts how often it is asked whether somebody debugs, and says yes."""
    asked = threading.Semaphore(0)
    monkeypatch.setattr(watchdog_module, "is_debugging", lambda: asked.release() or True)
    return asked


# -- what can be ended -----------------------------------------------------------------------------


@MODES
def test_an_asgi_request_that_does_not_end_is_recorded_as_timed_out(mode):
    with a_fake(mode) as fake:
        fake.webhooks.connect(asgi=hangs)
        fake.webhooks.connect(asgi=works)
        message = perform(mode, lambda: fake.send_text().deliver())

        assert outcomes(fake) == [LATE, "status 204"] * 2
        assert message.status == "delivered"
        late = fake.webhooks.attempts[0]
        assert (late.status_code, late.late, late.body, late.ok) == (None, None, b"", False)


@MODES
def test_time_that_stands_still_ends_an_app_and_an_async_handler_anyway(mode):
    with freezegun.freeze_time("2026-01-01"):
        assert ended(mode, {"asgi": hangs}, {"handler": lambda _: hang()}) == [LATE, LATE]


@MODES
def test_whatever_an_app_does_when_it_is_cancelled_the_attempt_timed_out(mode):
    async def responds(scope, receive, send):
        try:
            await hang()
        except asyncio.CancelledError:
            await respond(send, 204)

    async def raises(scope, receive, send):
        try:
            await hang()
        finally:
            raise KeyError("in its clean-up")

    handled = LATE if mode == "trio" else CAME_LATE
    assert ended(mode, {"asgi": responds}, {"asgi": raises}) == [handled, LATE]


def test_a_request_is_cancelled_and_the_apps_lifespan_is_not():
    log = []

    async def app(scope, receive, send):
        if scope["type"] == "http":
            await hang()
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        log.append("shut down")
        await send({"type": "lifespan.shutdown.complete"})

    with a_fake("sync") as fake:
        with fake.webhooks.lifespan(app):
            fake.webhooks.connect(asgi=app)
            fake.send_text()
            assert outcomes(fake) == [LATE]
            assert log == []
    assert log == ["shut down"]


def test_a_timeout_of_the_apps_own_comes_back_as_it_is():
    async def app(scope, receive, send):
        raise TimeoutError("the database's")

    with pytest.raises(TimeoutError, match="the database's"):
        ended("sync", {"asgi": app}, timeout=SECONDS)


def test_a_request_that_timed_out_unseen_is_told_at_the_end():
    with pytest.raises(UndeliveredWebhooks, match=LATE), a_fake("sync") as fake:
        fake.webhooks.connect(asgi=hangs)
        fake.send_text()


@BOTH
def test_the_tests_own_cancellation_is_the_tests(run):
    async def main():
        async def app(scope, receive, send):
            of_test.cancel()
            await new_event().wait()

        with a_fake("async", timeout=SECONDS) as fake:
            fake.webhooks.connect(asgi=app)
            with anyio.CancelScope() as of_test:
                await fake.send_text()
            assert of_test.cancelled_caught
            assert [attempt.ok for attempt in fake.webhooks.attempts] == [False]

    run(main)


@MODES
def test_a_late_response_leaves_what_the_app_did_done(mode):
    received = []

    async def slow(scope, receive, send):
        with hanging():
            received.extend([(await receive())["type"], (await receive())["type"]])
        await respond(send, 204)

    assert ended(mode, {"asgi": slow}) == [CAME_LATE]
    assert received == ["http.request", "http.disconnect"]


def test_an_exception_that_comes_late_comes_back_in_the_test():
    async def breaks(scope, receive, send):
        with hanging():
            await receive()
            await receive()
        raise KeyError("after its time")

    with pytest.raises(KeyError, match="after its time"):
        ended("sync", {"asgi": breaks})
    assert ended("sync", {"asgi": breaks, "raise_exceptions": False}) == [LATE]


@MODES
def test_work_after_the_response_makes_no_attempt_late_and_its_end_is_told(mode, words):
    async def goes_on(scope, receive, send):
        await respond(send, 204)
        await hang()

    assert ended(mode, {"asgi": goes_on}) == ["status 204"]
    (line,) = words.said
    assert line.startswith("work after the response was cancelled after 0.02 s: goes_on ")


@MODES
def test_nothing_is_cancelled_while_somebody_debugs(mode, asked, words):
    async def app(scope, receive, send):
        with hanging():
            while asked._value < 3:
                await (trio.sleep(0) if mode == "trio" else asyncio.sleep(0))
        await respond(send, 204)

    assert ended(mode, {"asgi": app}) == ["status 204"]
    assert words.said == []


@pytest.mark.usefixtures("connected_in_any_time")
def test_a_server_is_waited_for_while_somebody_debugs_it(asked):
    def debugged(request):
        with hanging():
            for _ in range(3):
                assert asked.acquire(timeout=SECONDS)
        return Response(status=204)

    with a_fake("sync") as fake:
        fake.http.expect_request("/hooks/chat").respond_with_handler(debugged)
        fake.webhooks.connect(f"{fake.base_url}/hooks/chat")
        fake.send_text()
        assert outcomes(fake) == ["status 204"]


@pytest.mark.parametrize("timeout", [None, 10**9])
def test_without_a_timeout_it_waits(timeout, monkeypatch):
    looks = threading.Semaphore(0)
    look = watchdog_module._look
    monkeypatch.setattr(watchdog_module, "_look", lambda *seen: looks.release() or look(*seen))

    async def app(scope, receive, send):
        while looks._value < 3:
            await asyncio.sleep(0)
        await respond(send, 204)

    with a_fake("sync", timeout=timeout) as fake:
        fake.webhooks.connect(asgi=app)
        fake.webhooks.connect(f"{fake.base_url}/nowhere")  # a socket takes no infinite time
        fake.send_text()
        assert outcomes(fake) == ["status 204", "status 401"]


# -- what can't be ended ---------------------------------------------------------------------------


@MODES
def test_a_wsgi_app_is_waited_for_with_one_line_on_the_terminal(mode, words):
    def slow_app(environ, start_response):
        words.wait()
        start_response("204 No Content", [])
        return []

    with a_fake(mode) as fake:
        fake.webhooks.connect(wsgi=slow_app, path="/hooks/chat")

        message = perform(mode, lambda: fake.send_text().deliver())
        assert outcomes(fake) == [CAME_LATE] * 2
        assert [
            f"webhook handler still running after {SHORT:g} s: slow_app /hooks/chat, "
            f"{event.status} m1 (message {message.id}) (from {event.line})"
            for event in message.events
        ] == words.said
        assert str(message.events[0].line).startswith("test_overdue.py:")


@MODES
def test_a_plain_function_is_waited_for_with_a_line(mode, words):
    with a_fake(mode) as fake:
        fake.webhooks.connect(handler=lambda _: words.wait(), events="*")
        perform(mode, lambda: fake.webhooks.emit_event("chat.order.placed"))
        assert outcomes(fake) == [f"{LATE}, then status 200"]
    (line,) = words.said
    assert "0.01 s: <lambda>(), chat.order.placed (from test_overdue.py:" in line


async def survives(words):
    with hanging():
        try:
            await hang()
        except asyncio.CancelledError:
            while not words.word.is_set():
                await asyncio.sleep(0)


async def blocks(words):
    words.wait()


@pytest.mark.parametrize("work", [survives, blocks])
def test_an_app_that_can_not_be_cancelled_is_waited_for_with_a_line(words, monkeypatch, work):
    monkeypatch.setattr(overdue, "GRACE_SECONDS", SHORT)

    async def app(scope, receive, send):
        await work(words)
        await respond(send, 204)

    assert ended("sync", {"asgi": app}) == [CAME_LATE]
    (line,) = words.said
    assert "0.02 s: app /, sent m1 (message " in line


# -- retries ---------------------------------------------------------------------------------------


def test_a_retry_counts_from_the_moment_at_which_the_time_was_up(words):
    with a_fake("sync", retry_after=[60]) as fake:
        fake.clock.advance(0)  # time is frozen from now on: the time was up now
        fake.webhooks.connect(handler=lambda _: words.wait())
        fake.send_text()
        assert fake.clock.next_due == fake.clock.now + timedelta(seconds=60)


def test_a_retry_that_is_due_at_a_late_response_comes_only_after_it(words):
    begun = []

    def handler(request):
        begun.append(request.number)
        if request.number == 1:
            words.wait()
            fake.clock.advance(60)
        begun.append(-request.number)

    with a_fake("sync", retry_after=[10]) as fake:
        fake.webhooks.connect(handler=handler)
        fake.send_text()
        assert [f"{LATE}, then status 200", "status 200"] == outcomes(fake)
        assert begun == [1, -1, 2, -2]


def test_a_retry_counts_from_the_timeout_and_not_from_a_late_response(words):
    def handler(_):
        words.wait()
        fake.clock.advance(60)

    with a_fake("sync", retry_after=[120]) as fake:
        fake.clock.advance(0)  # time is frozen from now on
        began = fake.clock.now
        fake.webhooks.connect(handler=handler)
        fake.send_text()
        assert fake.clock.next_due == began + timedelta(seconds=120 + SHORT)


# -- what is awaited -------------------------------------------------------------------------------


@BOTH
def test_only_what_is_awaited_now_and_under_its_own_key_is_ended(run):
    cancellable = Cancellable()
    why = TimeoutError("late")

    async def ends(key):
        return cancellable.cancel(key, why)

    async def main():
        before = cancellable.cancel("a", why)
        other = await cancellable.run("a", ends("b"))
        return [before, other, cancellable.cancel("a", why)]

    assert run(main) == [False, False, False]


@BOTH
def test_what_is_ended_in_its_last_moment_leaves_the_next_one_alone(run):
    cancellable = Cancellable()

    async def first():
        assert cancellable.cancel("first", TimeoutError("of the first"))
        return "done"

    async def second():
        await (trio.sleep(0.01) if run is in_trio else asyncio.sleep(0.01))
        return "done, too"

    async def main():
        return [await cancellable.run("first", first()), await cancellable.run("second", second())]

    assert run(main) == ["done", "done, too"]


@BOTH
def test_what_has_ended_says_why_and_from_what_it_came(run):
    cancellable = Cancellable()
    why, error = TimeoutError("late"), KeyError("in its clean-up")

    async def hangs():
        assert cancellable.cancel("it", why)
        try:
            await new_event().wait()
        finally:
            raise error

    async def main():
        with pytest.raises(CancelledExternally, match="late") as ended:
            await cancellable.run("it", hangs())
        assert why is ended.value.why
        assert error is ended.value.__cause__

    run(main)
