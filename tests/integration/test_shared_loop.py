"""The loop that the fakes of a session share: whose turn it is, and what still ends with a fake."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
import contextlib
import threading
import urllib.request

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.base import sharing
from pytest_chatfake.base.errors import ClosedError
from pytest_chatfake.transport.client import closed_loops, own_loop
from pytest_chatfake.transport.client.own_loop import OwnLoop
from pytest_chatfake.transport.client.portal import Portal

from ..unit.both_frameworks import SECONDS, hard_limit

__all__ = ["hard_limit"]


@pytest.fixture
def session():
    """What ends a session that shares its loop; the fixture itself ends it at the latest."""
    ends = [sharing.begin(shares=True)]

    def end():
        while ends:
            ends.pop()()

    yield end
    end()


@pytest.fixture
def answering():
    """An app that answers, and remembers on which loops it ran, and how its lifespan ended."""
    return App()


class App:
    def __init__(self):
        self.loops = []
        self.log = []

    async def __call__(self, scope, receive, send):
        self.loops.append(asyncio.get_running_loop())
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 204})
            await send({"type": "http.response.body"})
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        try:
            await receive()
        except asyncio.CancelledError:
            self.log.append("cancelled")
            raise
        self.log.append("shut down")
        await send({"type": "lifespan.shutdown.complete"})


class Interrupted(BaseException):
    """More than an app may raise."""


async def where():
    return asyncio.get_running_loop()


# Who shares


def test_without_a_session_each_fake_has_a_loop_of_its_own(answering):
    for _ in range(2):
        with ChatFake() as fake:
            fake.webhooks.connect(asgi=answering)
            fake.send_text()

    assert 2 == len(set(answering.loops))
    assert all(loop.is_closed() for loop in answering.loops)


@pytest.mark.parametrize("shares", [True, False])
def test_the_fakes_of_a_session_share_a_loop_if_it_says_so(answering, shares):
    end = sharing.begin(shares=shares)
    try:
        with ChatFake() as fake, ChatFake() as other:
            for one in (fake, other, fake):
                one.webhooks.connect(asgi=answering)
                one.send_text()
        assert shares is not answering.loops[0].is_closed()
    finally:
        end()

    assert (1 if shares else 2) == len(set(answering.loops))
    assert all(loop.is_closed() for loop in answering.loops)


def test_a_session_inside_another_one_is_on_its_own(session):
    outer, other = Portal(), Portal()
    end = sharing.begin(shares=True)
    inner = Portal()
    end()

    assert outer.run(where()) is other.run(where()) is Portal().run(where())
    with pytest.raises(ClosedError):
        inner.run(where())


def test_a_loop_of_which_nobody_made_use_ends_too(session):
    Portal().close()
    session()


def test_what_goes_wrong_at_the_end_of_a_session_is_said_on_the_terminal(monkeypatch):
    said = []
    monkeypatch.setattr(sharing, "say", said.append)
    monkeypatch.setattr(own_loop, "GRACE_SECONDS", 0.01)
    end = sharing.begin(shares=True)

    async def stubborn():
        while not released:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(SECONDS)

    async def leave():
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        return task

    released = False
    task = Portal().run(leave())
    end()

    assert 1 == len(said)
    assert said[0].startswith("the app left tasks that did not end when they were cancelled: ")
    task._log_destroy_pending = False
    released = True


# What ends with a fake


def test_a_lifespan_that_was_not_left_ends_with_its_fake_and_without_a_shutdown(session, answering):
    other = App()
    with ChatFake() as first, ChatFake() as second:
        first.webhooks.lifespan(answering).__enter__()
        second.webhooks.lifespan(other).__enter__()
        first.close()

        assert ["cancelled"] == answering.log
        assert [] == other.log
        assert 1 == len(set(answering.loops + other.loops))
    assert ["cancelled"] == other.log


def test_a_lifespan_that_was_left_is_shut_down_and_no_more(session, answering):
    with ChatFake() as fake:
        with fake.webhooks.lifespan(answering):
            assert [] == answering.log
        with fake.webhooks.lifespan(answering):
            pass
        assert {} == fake._portal.lifespans
    assert ["shut down", "shut down"] == answering.log


def test_the_end_of_one_lifespan_that_fails_does_not_spare_the_others(session, answering):
    async def fails(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        try:
            await receive()
        finally:
            raise Interrupted

    with pytest.raises(Interrupted), ChatFake() as fake:
        fake.webhooks.lifespan(answering).__enter__()
        fake.webhooks.lifespan(fails).__enter__()
    assert ["cancelled"] == answering.log


def test_a_fake_that_is_closed_runs_nothing_more_and_the_others_do(session):
    first, second = Portal(), Portal()
    loop = first.run(where())
    first.close()
    first.close()

    with pytest.raises(ClosedError, match="the fake is closed"):
        first.run(where())
    assert not first.lend(where)
    assert loop is second.run(where())


def test_a_loop_that_somebody_closed_is_replaced_by_another(session):
    portal = Portal()
    portal.run(where()).close()

    loop = portal.run(where())
    assert not loop.is_closed()
    session()
    assert loop.is_closed()


def test_a_loop_that_somebody_closed_is_not_closed_again():
    portal = Portal()
    portal.run(where()).close()
    portal.close()


# Whose turn it is


def beside(session_portal, works, function):
    """Run `function` in a thread while `works` runs on the loop; return what it returned."""
    results = []

    def call():
        try:
            results.append(function())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=call, daemon=True)

    async def first():
        thread.start()
        await works()

    session_portal.run(first())
    thread.join(SECONDS)
    assert not thread.is_alive()
    return results[0]


def test_what_another_fake_runs_in_another_thread_may_be_what_the_loop_waits_for(session):
    first, second = Portal(), Portal()
    done = asyncio.Event()

    async def follows():
        done.set()
        return await where()

    loop = beside(first, done.wait, lambda: second.run(follows()))
    assert loop is first.run(where())


def test_what_another_fake_runs_goes_on_when_the_loop_is_no_longer_needed_by_the_first(session):
    first, second = Portal(), Portal()
    begun, over = asyncio.Event(), []

    async def follows():
        begun.set()
        while not over:
            await asyncio.sleep(0)
        return "done"

    async def works():
        await begun.wait()
        asyncio.get_running_loop().call_later(0.01, over.append, True)

    assert "done" == beside(first, works, lambda: second.run(follows()))


def test_what_another_fake_has_run_comes_back_at_once(session):
    first, second = Portal(), Portal()
    loop = first.run(where())
    back = asyncio.Event()

    def calls():
        result = second.run(where())
        loop.call_soon_threadsafe(back.set)
        return result

    assert loop is beside(first, back.wait, calls)


def test_whoever_goes_on_with_the_loop_has_it_to_himself(session):
    first, second, third = Portal(), Portal(), Portal()
    begun, over = asyncio.Event(), []

    async def follows():
        begun.set()
        while not over:
            await asyncio.sleep(0)

    thread = threading.Thread(target=lambda: second.run(follows()), daemon=True)

    async def works():
        thread.start()
        await begun.wait()

    first.run(works())
    while first._loop._user is not second:
        pass
    assert first.run(where()) is third.run(where())
    over.append(True)
    thread.join(SECONDS)
    assert not thread.is_alive()


@pytest.mark.parametrize("late", [False, True])
def test_an_error_of_what_another_fake_runs_is_its_own(session, late):
    first, second = Portal(), Portal()
    begun = asyncio.Event()

    async def fails():
        begun.set()
        for _ in range(9 * late):
            await asyncio.sleep(0)
        raise LookupError("mine")

    error = beside(first, begun.wait, lambda: second.run(fails()))
    assert isinstance(error, LookupError)
    assert first.run(where()) is second.run(where())


def test_in_the_same_fake_another_thread_is_refused_as_ever(session):
    portal = Portal()
    refused = asyncio.Event()

    def calls():
        try:
            return portal.run(where())
        finally:
            loop.call_soon_threadsafe(refused.set)

    loop = portal.run(where())
    error = beside(portal, refused.wait, calls)
    assert isinstance(error, RuntimeError)
    assert "the fake's event loop waits for this code: it can't run more now" == str(error)


def test_an_interrupt_while_another_one_s_loop_is_waited_for_ends_the_call(session, monkeypatch):
    first, second = Portal(), Portal()
    ended, cancelled = asyncio.Event(), []

    def interrupted(_):
        raise Interrupted

    async def hangs():
        try:
            await asyncio.sleep(SECONDS)
        except asyncio.CancelledError:
            cancelled.append(True)
        finally:
            ended.set()

    def calls():
        monkeypatch.setattr(first._loop._turn, "wait_for", interrupted)
        return second.run(hangs())

    async def works():
        await asyncio.wait([asyncio.ensure_future(ended.wait())])

    assert isinstance(beside(first, works, calls), Interrupted)
    assert [True] == cancelled


def test_two_fakes_of_a_session_whose_apps_call_each_other(session):
    with ChatFake() as shop, ChatFake() as bank:
        bank.send_endpoint("/v2/messages", webhooks_first=True)
        seen = []

        async def take(request):
            seen.append(request.event.status)

        async def ask(request):
            answer = await asyncio.to_thread(call, bank)
            seen.append(answer)

        bank.webhooks.connect(handler=take)
        shop.webhooks.connect(handler=ask)
        shop.send_text()

    assert ["sent", 200] == seen


def call(fake):
    request = urllib.request.Request(
        fake.base_url + "/v2/messages",
        data=b'{"to": "+1", "type": "text", "text": {"body": "Hello"}}',
        headers={"X-API-Key": fake.api_key, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return answer.status


def test_on_the_loop_itself_another_fake_is_refused_instead_of_hanging(session):
    first, second = Portal(), Portal()

    async def calls():
        return second.run(where())

    with pytest.raises(RuntimeError, match="the fake's event loop waits for this code"):
        first.run(calls())
    assert second.run(where())


def test_a_fake_can_be_closed_on_the_loop_that_it_shares(session):
    first, second = Portal(), Portal()

    async def closes():
        second.close()

    first.run(closes())
    with pytest.raises(ClosedError):
        second.run(where())


# Closed loops


def closed_loop():
    loop = OwnLoop()
    closed = loop.run(where(), None)
    loop.close()
    return closed


def test_whoever_uses_a_closed_loop_is_noted_and_gets_the_same_as_ever():
    loop = closed_loop()
    before = closed_loops.uses()

    assert isinstance(loop.create_future(), asyncio.Future)
    with pytest.raises(RuntimeError, match="Event loop is closed"):
        loop.call_soon(print, context=None)
    assert before + 2 == closed_loops.uses()


def test_whoever_asks_whether_a_loop_is_closed_is_not_noted():
    loop = closed_loop()
    before = closed_loops.uses()

    assert loop.is_closed()
    assert before == closed_loops.uses()


def test_a_loop_of_another_kind_is_watched_as_far_as_it_goes():
    class Loop:
        __slots__ = ("__weakref__",)

        def call_soon(self):
            return "as ever"

    loop = Loop()
    closed_loops.watch(loop)
    assert "as ever" == loop.call_soon()


def test_an_answer_remarks_that_the_app_has_used_a_closed_loop():
    loop = closed_loop()

    async def handler(request):
        if request.event.status == "delivered":
            loop.create_future()

    with ChatFake() as fake:
        fake.webhooks.connect(handler=handler)
        fake.send_text().deliver(devices=2)
        sent, delivered, _ = fake.webhooks.attempts
        text = fake._story.section()

    assert (200, "") == (sent.status_code, sent._remark)
    assert (200, closed_loops.FOUND) == (delivered.status_code, delivered._remark)
    assert 1 == text.count(closed_loops.FOUND)


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("<Queue> is bound to a different event loop", True),
        ("Task got Future attached to a different loop", True),
        ("no such loop", False),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_an_error_that_tells_of_another_loop_is_explained(text, noted, wrapped):
    closed_loop()

    async def handler(request):
        try:
            raise RuntimeError(text)
        except RuntimeError as error:
            if wrapped:
                raise LookupError("mine") from error
            raise

    with ChatFake() as fake:
        fake.webhooks.connect(handler=handler)
        with pytest.raises((RuntimeError, LookupError)) as raised:
            fake.send_text()
        attempt = fake.webhooks.attempts[0]

    assert noted is (closed_loops.ANOTHER in raised.value.__notes__)
    assert (closed_loops.ANOTHER if noted else "") == attempt._remark


def test_an_error_is_explained_once_and_only_where_a_loop_was_closed(monkeypatch):
    error = RuntimeError("attached to a different loop")
    monkeypatch.setattr(closed_loops._Seen, "closed", 0)
    closed_loops.explain(error, closed_loops.uses())
    assert "" == closed_loops.remark_of(error)

    closed_loop()
    closed_loops.explain(error, closed_loops.uses())
    closed_loops.explain(error, closed_loops.uses() - 1)
    assert [closed_loops.ANOTHER] == error.__notes__


def test_a_circle_of_causes_comes_to_an_end():
    closed_loop()
    error, other = ValueError("one"), ValueError("other")
    error.__context__, other.__context__ = other, error
    closed_loops.explain(error, closed_loops.uses())
    assert not hasattr(error, "__notes__")


def test_an_error_whose_text_cannot_be_had_comes_back_as_it_is():
    class Mute(RuntimeError):
        def __str__(self):
            raise ValueError("no text")

    async def handler(_request):
        raise Mute

    closed_loop()
    with ChatFake() as fake:
        fake.webhooks.connect(handler=handler)
        with pytest.raises(Mute):
            fake.send_text()
