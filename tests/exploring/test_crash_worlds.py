"""Worlds in which the app crashes: at which points, and what is said where it has none."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from http.client import HTTPConnection
from logging.handlers import QueueListener
from queue import Queue

import pytest

from pytest_chatfake import ChatFakeError, explore
from pytest_chatfake.exploring.client_calls import client_calls
from pytest_chatfake.exploring.point_watch import PointWatch

from .test_crashes import place
from .test_exploration import notes


def save(times=1):
    """What an app calls that does not await."""


async def pause(times):
    for _ in range(times):
        await asyncio.sleep(0)


async def stream():
    await asyncio.sleep(0)
    yield 1
    await asyncio.sleep(0)


async def awaits(request):
    await asyncio.sleep(0)
    for _ in range(2):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    await asyncio.gather(pause(3), pause(3))
    async for _ in stream():
        pass


def calls(request):
    save()
    save()


def body_of(handler):
    def body(chat_fake):
        chat_fake.webhooks.connect(handler=handler)
        chat_fake.send_text()
        chat_fake.settle()

    return body


def test_each_line_is_a_point_whenever_it_was_another_one_before():
    # Of `awaits`: its first line, each of the loop's lines twice, gather(); and the line of pause()
    # in each of the two children; and both lines of the generator.
    exploration = explore(body_of(awaits), deviations=["crash"])

    assert exploration.worlds == 1 + 1 + 2 * 2 + 1 + 2 + 2
    assert exploration.complete


@pytest.mark.parametrize(
    ("kind", "points", "of_a_call"),
    [
        ("crash", [save], 2),
        ("crash", [f"{__name__}.save"], 2),
        ("crash", {save: OSError}, 2),
        ("error", [save], 1),
    ],
)
def test_each_call_of_a_crash_point_has_worlds_without_other_deviations(kind, points, of_a_call):
    def body(chat_fake):
        chat_fake.webhooks.connect(handler=calls, raise_exceptions=False)
        chat_fake.send_text()

    exploration = explore(body, deviations=[kind, "duplicate"], crash_points=points)

    assert exploration.worlds == 1 + 2 * of_a_call + 1
    assert exploration.complete


@pytest.mark.parametrize("restart", [None, lambda: calls])
def test_a_crash_that_leaves_the_memory_says_how_to_make_the_app_anew(restart):
    def body(chat_fake):
        chat_fake.webhooks.connect(handler=calls, restart=restart)
        chat_fake.send_text()
        chat_fake.settle()
        assert all(attempt.fault != "crash" for attempt in chat_fake.webhooks.attempts)

    hint = "Hint: the app kept its memory, which a real crash would wipe"
    found = notes(body, deviations=["crash"], crash_points=[save])
    assert (restart is None) == (hint in found)


async def saves(request):
    await asyncio.sleep(0)
    save()


def test_a_crash_point_is_as_it_was_after_attempts_at_the_same_time():
    def body(chat_fake):
        chat_fake.webhooks.connect(handler=saves)
        chat_fake.send_text()
        with chat_fake.webhooks.concurrently():
            chat_fake.send_text().deliver()

    code = save.__code__
    assert explore(body, deviations=["crash"], crash_points=[save]).worlds > 1
    assert save.__code__ is code


def test_a_coroutine_that_was_closed_before_its_watch_is_no_error():
    coroutine = pause(1)
    watched = PointWatch({})._watched(coroutine)
    watched.send(None)
    coroutine.close()

    watched.close()


def test_an_exploration_says_that_it_did_not_crash_an_app_without_awaits():
    exploration = explore(body_of(calls), deviations=["crash"])

    assert not exploration.complete
    assert str(exploration).endswith(
        "; crash: nowhere to crash: your handler never awaits. Name functions: crash_points = "
        "[Session.commit]"
    )


def started(request):
    thread = threading.Thread(target=save)
    thread.start()  # started
    thread.join()


async def awaited(request):
    await asyncio.to_thread(save)  # awaited


def mapped(request):
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: save(), [1]))  # mapped


async def run_in_a_pool(request):
    await asyncio.get_running_loop().run_in_executor(None, save)  # run_in_a_pool


def started_by_a_library(request):
    save()
    listener = QueueListener(Queue())
    listener.start()
    listener.stop()


def test_a_thread_that_a_library_starts_for_itself_is_not_named():
    exploration = explore(body_of(started_by_a_library), deviations=["crash"], crash_points=[save])
    assert exploration.complete


class Traced:
    """Stands in for a method, as in a tool that measures how long calls take."""

    def __init__(self, method):
        self.method = method

    def __get__(self, instance, owner):
        return self if instance is None else partial(self.method, instance)


@pytest.mark.parametrize(
    ("owner", "name"), [(ThreadPoolExecutor, "submit"), (asyncio.BaseEventLoop, "run_in_executor")]
)
def test_a_method_that_another_tool_has_replaced_hinders_no_crash(owner, name, monkeypatch):
    monkeypatch.setattr(owner, name, Traced(getattr(owner, name)))
    exploration = explore(body_of(calls), deviations=["crash"], crash_points=[save])
    assert exploration.worlds == 5


def test_a_client_that_another_tool_has_replaced_is_seen_nowhere(monkeypatch):
    name = "http.client.HTTPConnection.putrequest"
    assert name in client_calls().values()
    monkeypatch.setattr(HTTPConnection, "putrequest", Traced(HTTPConnection.putrequest))
    assert name not in client_calls().values()


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (started, "never awaits, except for worker threads"),
        (mapped, "never awaits, except for worker threads"),
        (awaited, "never awaits, except for worker threads"),
        (run_in_a_pool, "crash: worker threads weren't crashed"),
    ],
)
def test_an_exploration_names_the_lines_that_use_worker_threads(app, said):
    line = place(app.__name__, __file__)
    assert f"{said} ({line})" in str(explore(body_of(app), deviations=["crash"]))


def test_a_crash_point_in_a_thread_that_the_app_waits_for_is_tried():
    exploration = explore(body_of(awaited), deviations=["crash"], crash_points=[save])

    assert exploration.worlds == 3
    assert exploration.complete


def waited_for(request):
    with ThreadPoolExecutor() as pool:
        pool.submit(save).result()


def waited_for_in_context(request):
    with ThreadPoolExecutor() as pool:
        pool.submit(copy_context().run, save).result()


@pytest.mark.parametrize("kind", ["crash", "error"])
@pytest.mark.parametrize("app", [started, mapped, waited_for, run_in_a_pool])
def test_a_crash_point_that_only_a_thread_without_context_calls_is_named(app, kind):
    exploration = explore(body_of(app), deviations=[kind], crash_points=[save])

    assert not exploration.complete
    assert (
        f"{save.__module__}.save was only called in a task or thread without the context of your "
        f"handler: name a function that your handler calls itself, or submit "
        f"contextvars.copy_context().run to a pool"
    ) in str(exploration)


def test_a_point_that_is_never_called_is_refused_beside_one_in_a_thread():
    with pytest.raises(ChatFakeError, match=r"call .*calls; name"):
        explore(body_of(waited_for), deviations=["crash"], crash_points=[save, calls])


@pytest.mark.parametrize("kind", ["crash", "error"])
def test_a_crash_point_in_a_pool_with_the_context_is_tried(kind):
    exploration = explore(body_of(waited_for_in_context), deviations=[kind], crash_points=[save])
    assert exploration.worlds == {"crash": 3, "error": 2}[kind]


def never_asked_for_its_result(request):
    with ThreadPoolExecutor() as pool:
        pool.submit(copy_context().run, save)


def test_a_crash_that_only_ends_a_thread_is_no_fault_of_the_app():
    body = body_of(never_asked_for_its_result)
    exploration = explore(body, deviations=["crash"], crash_points=[save])
    assert "crash was not tried: the crash only ended a thread (" in str(exploration)


def at_a_url(chat_fake):
    @chat_fake.route("/hook", methods=["POST"])
    def hook(request):
        """Take the event."""

    chat_fake.webhooks.connect(f"{chat_fake.base_url}/hook")
    with chat_fake.webhooks.refuse(times=None):
        chat_fake.send_text()
    chat_fake.webhooks.disconnect()


def called_in_a_retry(chat_fake):
    chat_fake.webhooks.connect(
        handler=lambda request: save() if request.number == 2 else 503, retry_after=[60]
    )
    chat_fake.send_text()
    chat_fake.clock.advance(60)


@pytest.mark.parametrize(
    ("body", "options", "problem"),
    [
        (
            body_of(awaits),
            {"crash_points": [save]},
            "crash_points: before its response, no event made the app call .*save; name",
        ),
        (called_in_a_retry, {"crash_points": [save]}, "no event made the app call .*save; name"),
        (at_a_url, {}, "crash: expected an in-process app"),
        (
            at_a_url,
            {"deviations": ["error"], "crash_points": [save]},
            "error: expected an in-process app",
        ),
        (body_of(calls), {"only": ["webhooks.crash(before='json.loads')"]}, "that never happened"),
        (body_of(calls), {"only": ["webhooks.crash(start=1)"]}, "unknown deviation"),
        (body_of(calls), {"only": ["webhooks.crash(before='no.such')"]}, "unknown deviation"),
        (body_of(calls), {"crash_points": [lambda: 0]}, "crash_points: expected a function"),
        (body_of(calls), {"crash_points": [body_of(calls)]}, "local to a function. Move it out"),
        (body_of(calls), {"crash_points": [len]}, "crash_points: .* written in Python"),
        (body_of(calls), {"crash_points": save}, "crash_points: expected a list"),
        (body_of(calls), {"crash_points": [save], "deviations": ["lose"]}, "needs 'crash'"),
    ],
)
def test_what_cannot_be_crashed_is_refused(body, options, problem):
    with pytest.raises((ChatFakeError, TypeError, ValueError), match=problem):
        explore(body, **{"deviations": ["crash"]} | options)


def test_an_app_that_is_written_in_the_body_has_no_line_to_paste():
    def body(chat_fake):
        taken = []

        async def app(request):
            if request.id not in taken:
                taken.append(request.id)
                await asyncio.sleep(0)
                taken.append("the end")

        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text()
        chat_fake.settle()
        assert "the end" in taken

    reason = "no test to paste: the app crashed at a line of the body, whose"
    assert reason in notes(body, deviations=["crash"])
