"""Apps that crash in the middle of an attempt, which is then made again."""

import asyncio
import functools
import gc
import json
import sqlite3
import subprocess
import sys
import sysconfig
import types
from contextlib import closing, suppress
from pathlib import Path

import pytest
import trio
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.cors import CORSMiddleware

from pytest_chatfake import ChatFakeError, explore
from pytest_chatfake.exploring.crash_watch import CrashWatch
from pytest_chatfake.exploring.garbage import old_objects
from pytest_chatfake.exploring.point_watch import CrashPoint, _current
from pytest_chatfake.exploring.swallowers import _library_of
from pytest_chatfake.transport.client.cancellable import around
from pytest_chatfake.transport.client.portal import Portal
from pytest_chatfake.transport.client.targets import HandlerTarget

from ..unit.asgi_apps import respond
from ..unit.both_frameworks import MODES, hard_limit, perform  # noqa: F401
from ..unit.fakes import frozen_fake, warnings_at_the_end
from ..unit.test_interrupts import Interrupted, Interruption

#: What the apps of this module have done.
done = []


@pytest.fixture(autouse=True)
def nothing_done():
    done.clear()


def place(mark, file=__file__):
    """The line of a file that ends with a comment, as ``crash(line=...)`` takes it."""
    lines = Path(file).read_text().splitlines()
    (number,) = [at for at, line in enumerate(lines, 1) if line.endswith(f"  # {mark}")]
    return f"{Path(file).name}:{number}"


def attempted(verb, app, mode="sync", *, how="handler", **arguments):
    """Connect an app to which this happens at its first event; return its attempts."""
    with frozen_fake(mode="sync" if mode == "sync" else "async") as fake:
        fake.webhooks.connect(**{how: app}, raise_exceptions=verb == "error")
        fault = getattr(fake.webhooks, verb)(**arguments)
        perform(mode, fake.send_text)
        perform(mode, fake.settle)
        assert fault.fired == 1
        assert fake.webhooks.attempts[0].fault == verb
        return list(fake.webhooks.attempts)


def crashed(app, mode="sync", *, how="handler", **crash):
    """Connect an app that crashes at its first event; return how its attempts have ended."""
    return [one.outcome for one in attempted("crash", app, mode, how=how, **crash)]


def reached():
    """A point of an app."""


@pytest.mark.parametrize("verb", ["crash", "error"])
def test_an_attempt_that_a_fault_ended_is_no_news_if_it_is_not_repeated(verb):
    def scenario(fake):
        endpoint = fake.webhooks.connect(handler=lambda _: reached(), raise_exceptions=False)
        getattr(fake.webhooks, verb)(before=f"{__name__}.reached")
        fake.send_text()
        endpoint.disconnect()

    assert warnings_at_the_end(scenario) == []


async def pause():
    """Suspend twice, in either framework."""
    for _ in range(2):
        await sleep()  # pause


def sleep():
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return asyncio.sleep(0)
    return trio.lowlevel.checkpoint()


@MODES
@pytest.mark.parametrize(("nth", "steps"), [(1, "first"), (4, "first second")])
def test_an_awaiting_app_crashes_at_a_suspension_and_has_the_event_again(mode, nth, steps):
    async def app(request):
        try:
            done.append("first")
            await pause()
            done.append("second")
            await pause()
            done.append("third")
        finally:
            done.append("clean")

    outcomes = crashed(app, mode, line=place("pause"), nth=nth)

    assert [f"crashed at {place('pause')}", "status 200"] == outcomes
    assert [*steps.split(), "clean", "first", "second", "third", "clean"] == done


async def child(name):
    try:
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # child
        done.append(f"{name} went on")
    finally:
        asyncio.get_running_loop().create_task(born_in_clean_up(name))


async def born_in_clean_up(name):
    await asyncio.sleep(0)
    done.append(name)


async def with_children(request):
    if not done:
        async with asyncio.TaskGroup() as group:
            group.create_task(child("in a group"))
            await asyncio.shield(child("shielded"))


@pytest.mark.parametrize("mode", ["sync", "asyncio"])
@pytest.mark.parametrize("crash", [{"line": place("child")}, {"after": asyncio.sleep}])
def test_all_tasks_born_in_the_attempt_end_and_their_clean_up_is_awaited(mode, crash):
    assert crashed(with_children, mode, **crash)[1] == "status 200"
    assert sorted(done) == ["in a group", "shielded"]


@pytest.mark.parametrize("crash", [{"line": place("pause")}, {"before": pause}])
def test_a_task_that_has_not_begun_never_does(crash):
    async def app(request):
        if not done:
            done.append("app")
            asyncio.get_running_loop().create_task(child("task"))
            await pause()

    crashed(app, **crash)
    gc.collect()  # where nobody awaits a coroutine, Python says so
    assert done == ["app"]


@pytest.mark.parametrize("crash", [{"line": place("pause"), "nth": 2}, {"after": pause}])
def test_the_children_of_a_nursery_end_with_it(crash):
    async def child():
        try:
            await trio.sleep_forever()
        finally:
            done.append("clean")

    async def app(request):
        if not done:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(child)
                await pause()

    assert crashed(app, "trio", **crash)[1] == "status 200"
    assert done == ["clean"]


async def responding(scope, receive, send):
    await respond(send, 202, b"taken")
    await asyncio.sleep(0)  # background
    await pause()


@pytest.mark.parametrize("crash", [{"line": place("background")}, {"before": pause}])
def test_after_a_complete_response_nothing_is_attempted_again(crash):
    (outcome,) = crashed(responding, how="asgi", **crash)
    assert outcome.startswith("status 202, then crashed ")


def test_a_response_that_is_being_closed_was_sent():
    class Accepted(list):
        close = staticmethod(commit)

    def app(environ, start_response):
        start_response("202 Accepted", [])
        return Accepted()

    (outcome,) = crashed(app, how="wsgi", before=commit)
    assert outcome.startswith("status 202, then crashed ")


def test_what_awaits_a_thread_is_no_point_because_it_cannot_be_ended():
    async def app(request):
        await asyncio.to_thread(done.append, "thread")  # thread

    with pytest.raises(AssertionError, match="0 == 1"):
        crashed(app, line=place("thread"))


# Calls


def commit(text="done", *, more=""):
    done.append(text + more)


def closed_over():
    text = "closed over"

    def traced(function):
        return functools.wraps(function)(functools.partial(function))

    return traced(lambda: commit(text))


class Session:
    def __init__(self, text):
        self.text = text

    def commit(self):
        commit(self.text)


class Child(Session):
    def commit(self):
        super().commit()


alias, closure, session = commit, closed_over(), Session("session")

CALLS = {
    "an alias": (commit, alias),
    "its name": (f"{__name__}.commit", lambda: commit("named", more="!")),
    "a decorated closure": (closure, closure),
    "a bound method": (session.commit, lambda: Session("other").commit()),
    "a method that calls super()": (Child.commit, Child("child").commit),
}


@pytest.mark.parametrize("way", CALLS)
@pytest.mark.parametrize("kind", ["before", "after"])
def test_an_app_crashes_at_a_call_of_a_function_by_whatever_name(way, kind):
    point, call = CALLS[way]
    call()
    first, again = crashed(lambda request: call(), **{kind: point})  # call

    assert first.startswith(f"crashed {kind} ")
    assert again == "status 200"
    assert done == done[:1] * (2 + (kind == "after"))


def test_the_calling_line_of_the_app_is_named_and_an_awaited_call_is_one():
    async def app(request):
        await pause()
        done.append("between")
        await pause()  # second call

    outcomes = crashed(app, after=pause, nth=2)
    assert f"crashed after pause ({place('second call')})" == outcomes[0]
    assert done == ["between", "between"]


def test_a_function_is_its_own_again_whatever_ends_the_attempt(fake):
    code = commit.__code__

    def app(request):
        assert code is not commit.__code__
        raise KeyboardInterrupt

    with fake.webhooks.crash(before=commit):
        fake.webhooks.connect(handler=app)
        with pytest.raises(KeyboardInterrupt):
            fake.send_text()
        assert code is commit.__code__


def test_a_loop_has_its_own_task_factory_again_and_it_makes_the_tasks():
    made = []

    def factory(loop, coroutine, **options):
        made.append(coroutine)
        return asyncio.Task(coroutine, loop=loop, **options)

    async def verbs(fake):
        loop = asyncio.get_running_loop()
        loop.set_task_factory(factory)
        await fake.send_text()
        assert factory is loop.get_task_factory()
        await fake.settle()

    with frozen_fake(mode="async") as fake:
        fake.webhooks.connect(handler=with_children)
        fake.webhooks.crash(line=place("child"))
        asyncio.run(verbs(fake))
    assert len(made) >= 2


def test_an_interrupt_anywhere_leaves_the_function_of_a_crash_as_it_was():
    def save():
        """Is called by an app."""

    target = HandlerTarget(save, portal=Portal())
    before = save.__code__, None, None, gc.get_freeze_count()
    number, came = 1, True
    while came:
        watch = CrashWatch(CrashPoint("before", "save"), {save: "save"})
        interruption = Interruption(number)
        with suppress(Interrupted), interruption:
            watch.begin(target)
        came = interruption.came
        watch.end()
        now = save.__code__, _current.get(), around.get(), gc.get_freeze_count()
        assert before == now, number
        number += 1
    assert number > 20


# Afterwards


@pytest.mark.parametrize(("restarts", "expected"), [(False, "1 2"), (True, "1 1")])
def test_the_memory_of_an_app_survives_unless_it_is_made_anew(restarts, expected, fake):
    def make():
        memory = []

        def app(request):
            memory.append("event")
            commit(str(len(memory)))

        return app

    fake.webhooks.connect(handler=make(), restart=make if restarts else None)
    fake.webhooks.crash(after=commit)
    fake.send_text()
    fake.settle()
    assert expected.split() == done


def test_an_app_is_not_made_anew_after_a_mere_error(fake):
    made = []
    fake.webhooks.connect(handler=commits, restart=lambda: made.append("anew") or commits)
    fake.webhooks.error(before=commit)
    fake.send_text()
    fake.settle()
    assert made == []


def test_a_transaction_in_a_circle_of_references_is_dropped(tmp_path):
    def app(request):
        circle = [sqlite3.connect(tmp_path / "db", timeout=0)]
        circle.append(circle)
        circle[0].execute("INSERT INTO rows VALUES (1)")
        commit()
        circle[0].commit()

    frozen = gc.get_freeze_count()  # some Pythons begin with a few objects
    with closing(sqlite3.connect(tmp_path / "db")) as rows:
        rows.execute("CREATE TABLE rows (id)")
        gc.disable()
        try:
            crashed(app, before=commit)
        finally:
            gc.enable()
        assert rows.execute("SELECT * FROM rows").fetchall() == [(1,)]
    assert frozen == gc.get_freeze_count()


def test_what_somebody_else_has_frozen_stays_frozen_and_is_counted_once(monkeypatch):
    counted, count = [], gc.get_freeze_count

    def walk():
        counted.append(count())
        return counted[-1]

    monkeypatch.setattr(old_objects, "_others_freeze", False)
    gc.freeze()
    try:
        monkeypatch.setattr(gc, "get_freeze_count", walk)
        for _ in range(3):
            crashed(lambda request: commit(), before=commit)
        assert count()
    finally:
        gc.unfreeze()
    assert len(counted) == 1


def test_an_attempt_that_waits_for_what_a_crash_has_left_says_so():
    async def app(request):
        if done:
            await asyncio.Event().wait()
        commit()

    with frozen_fake(timeout=0.2) as fake:
        fake.webhooks.connect(handler=app, raise_exceptions=False)
        fake.webhooks.crash(after=commit)
        fake.send_text()
        fake.settle()
        assert "; the app had crashed after commit (" in fake.webhooks.attempts[1].outcome


@pytest.mark.parametrize("verb", ["crash", "error"])
def test_an_attempt_that_does_not_come_so_far_is_not_marked(fake, verb):
    def app(request):
        if request.event.status != "delivered":
            commit()

    fake.webhooks.connect(handler=app)
    fault = getattr(fake.webhooks, verb)(before=commit, start=2, times=2)
    fake.send_text().deliver().read()
    fake.settle()
    attempts = [(one.event.status, one.fault) for one in fake.webhooks.attempts]
    assert attempts == [("sent", None), ("delivered", None), ("read", verb), ("read", None)]
    assert fault.fired == 1


# Explorations


def explored(app):
    """Explore the crashes of an app that has one event; return how many worlds there are."""

    def world(fake):
        fake.webhooks.connect(handler=app)
        fake.send_text()

    return explore(world, deviations=["crash"]).worlds


def test_two_lines_that_await_the_same_helper_are_two_points():
    async def app(request):
        await pause()
        await pause()

    assert explored(app) == 3


def test_a_finding_says_that_the_app_had_responded():
    def world(fake):
        fake.webhooks.connect(asgi=responding)
        fake.send_text()
        assert fake.webhooks.attempts[0].error is None

    found = f"the app had responded and crashed at {place('background')} while it handled sent m1"
    with pytest.raises(AssertionError, match=found):
        explore(world, deviations=["crash"])


def test_a_task_that_goes_on_after_its_attempt_has_no_point_there():
    async def app(request):
        done.append("app")
        tasks.append(asyncio.create_task(pause()))
        await sleep()

    tasks = []
    assert explored(app) == 3


# Refusals


async def stubborn(scope, receive, send):
    try:
        await pause()  # stubborn
    except BaseException:
        done.append("caught")
    await respond(send)


async def deaf(request):
    try:
        await pause()  # deaf
    except asyncio.CancelledError:
        done.append("caught")


def bare(request):
    try:
        commit()  # bare
    except:  # noqa: E722
        done.append("caught")


@pytest.mark.parametrize(
    ("how", "app", "crash", "around"),
    [("asgi", stubborn, {"line": place("pause")}, "stubborn"),
     ("asgi", stubborn, {"before": pause}, "stubborn"),
     ("handler", deaf, {"line": place("pause")}, "deaf"),
     ("handler", bare, {"before": commit}, "bare")],
)  # fmt: skip
def test_an_app_that_goes_on_after_its_crash_is_named(how, app, crash, around):
    swallowed = rf"the app went on after it crashed .*: a `try` around {place(around)} swallowed"
    with pytest.raises(ChatFakeError, match=swallowed):
        crashed(app, how=how, **crash)
    assert done == ["caught"]


LIBRARY = """
def call(function):
    try:
        return function()
    except:
        return None

async def wait(function):
    try:
        return await function()
    except BaseException:
        return None
"""


def test_what_swallows_a_cancellation_of_trio_is_named():
    async def app(request):
        try:
            await pause()  # in trio
        except trio.Cancelled:
            done.append("caught")

    with pytest.raises(ChatFakeError, match=f"around {place('in trio')} swallowed"):
        crashed(app, "trio", line=place("pause"))


@pytest.fixture
def library(tmp_path):
    """A library that catches everything."""
    made = {"__name__": "library.guard"}
    path = Path(sysconfig.get_path("purelib"), "library", "guard.py")
    exec(compile(LIBRARY, path, "exec"), made)
    return types.SimpleNamespace(**made)


def test_a_library_that_swallows_a_crash_is_named_with_its_line(library):
    named = r"^the app crashed .*, but library catches BaseException itself \(library/guard.py:4\)"
    with pytest.raises(ChatFakeError, match=named):
        crashed(lambda _: library.call(commit), before=commit)


def test_a_library_has_the_name_under_which_it_is_installed():
    assert [_library_of("attr"), _library_of("threading")] == ["attrs", "threading"]


def test_a_library_that_swallows_a_cancellation_is_named(library):
    async def app(request):
        await library.wait(pause)

    with pytest.raises(ChatFakeError, match=r"library catches BaseException .*guard.py:10\)"):
        crashed(app, line=place("pause"))


def test_a_crash_that_a_library_swallows_is_not_tried_and_others_are(library):
    def guarded(request):
        library.call(commit)

    def world(fake):
        fake.webhooks.connect(handler=guarded)
        fake.webhooks.connect(handler=lambda _: commit())
        fake.send_text()
        fake.settle()

    exploration = explore(world, deviations=["crash"], crash_points=[commit])

    assert exploration.worlds == 3
    assert not exploration.complete
    assert "crash: library catches BaseException itself (library/guard.py:4)" in str(exploration)


@pytest.mark.parametrize(
    ("verb", "arguments"), [("crash", {"line": "app.py:1"}), ("error", {"before": commit})]
)
def test_an_app_at_a_url_cannot_crash(fake, verb, arguments):
    fake.webhooks.connect("http://127.0.0.1:9/")
    needs = pytest.raises(ChatFakeError, match=rf"^{verb}\(\) needs an in-process app.*is a URL")
    with getattr(fake.webhooks, verb)(**arguments), needs:
        fake.send_text()
    fake.reset()
    with pytest.raises(TypeError, match="restart"):
        fake.webhooks.connect("http://127.0.0.1:9/", restart=lambda: commit)


def commits(request):
    commit()


@pytest.mark.parametrize(
    ("app", "point"), [({"handler": commits}, commit), ({"asgi": responding}, pause)]
)
def test_what_restart_returns_has_to_be_an_app_after_a_response_too(fake, app, point):
    fake.webhooks.connect(**app, restart=lambda: 3)
    fake.webhooks.crash(before=point)
    with pytest.raises(TypeError, match="what restart= returned"):
        fake.send_text()
    fake.webhooks.disconnect()


class Starts:
    """An app that needs what its start-up makes."""

    def __init__(self):
        self.pool = None

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            self.pool = (await receive())["type"]
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await pause()
            await respond(send, 500 if self.pool is None else 204, b"")


@MODES
def test_a_new_app_whose_start_up_was_run_too_takes_over(mode):
    async def in_async_mode():
        async with fake.webhooks.lifespan(first), fake.webhooks.lifespan(second):
            await fake.send_text()
            await fake.settle()

    def in_sync_mode():
        with fake.webhooks.lifespan(first), fake.webhooks.lifespan(second):
            fake.send_text()
            fake.settle()

    first, second = Starts(), Starts()
    with frozen_fake(mode="sync" if mode == "sync" else "async") as fake:
        fake.webhooks.connect(asgi=first, restart=lambda: second)
        fake.webhooks.crash(before=pause)
        perform(mode, in_sync_mode if mode == "sync" else in_async_mode)
        assert [one.status_code for one in fake.webhooks.attempts] == [None, 204]


class Middleware:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, send)


class Slotted:
    __slots__ = ("__call__", "app")  # as in sentry-sdk

    def __init__(self, app):
        self.app = app
        self.__call__ = self.run

    async def run(self, scope, receive, send):
        await self.app(scope, receive, send)


def a_closure(app):
    async def call(scope, receive, send):
        await app(scope, receive, send)

    return call


WRAPPERS = [
    lambda app: app,
    Middleware,
    a_closure,
    Slotted,
    lambda app: functools.partial(app.__call__),
    lambda app: Middleware(a_closure(Middleware(app))),
    lambda app: functools.partial(Middleware.__call__, Middleware(app)),
    lambda app: CORSMiddleware(app, allow_origins=["*"]),
    lambda app: BaseHTTPMiddleware(app, dispatch=lambda request, call_next: call_next(request)),
]


@pytest.mark.parametrize("wrapped", WRAPPERS)
def test_a_new_app_whose_start_up_was_not_run_is_refused(fake, wrapped):
    app = Starts()
    with fake.webhooks.lifespan(app):
        fake.webhooks.connect(asgi=wrapped(app), restart=lambda: wrapped(Starts()))
        fake.webhooks.crash(before=pause)
        with pytest.raises(ChatFakeError, match=r"enter chat_fake.webhooks.lifespan\(new_app\)"):
            fake.send_text()
    fake.webhooks.disconnect()


def hidden(app):
    apps = {"app": app}

    async def call(scope, receive, send):
        await apps["app"](scope, receive, send)

    return call


@pytest.mark.parametrize(
    "wrapped_again", [Middleware, lambda app: Middleware(Middleware(app)), hidden]
)
@pytest.mark.parametrize("wrapped", WRAPPERS)
def test_a_new_app_in_a_wrapper_takes_over_if_it_was_started(fake, wrapped, wrapped_again):
    first, second = Starts(), Starts()
    with fake.webhooks.lifespan(first), fake.webhooks.lifespan(second):
        fake.webhooks.connect(asgi=wrapped(first), restart=lambda: wrapped_again(second))
        fake.webhooks.crash(before=pause)
        fake.send_text()
        fake.settle()

    assert [one.status_code for one in fake.webhooks.attempts] == [None, 204]


WITHOUT_SETTINGS = """
import django.db
from pytest_chatfake import ChatFake

def save():
    pass

with ChatFake() as fake:
    fake.webhooks.connect(handler=lambda _: save(), restart=lambda: lambda _: None)
    fake.webhooks.crash(before=save)
    fake.send_text()
"""


def test_django_without_settings_hinders_no_crash():
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_SETTINGS],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stderr == ""


def test_a_crash_must_not_break_a_transaction_django_shares_with_the_test():
    result = subprocess.run(
        [sys.executable, "-W", "error", Path(__file__).with_name("django_crash.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stderr == ""
    alone, shared, points = json.loads(result.stdout)
    assert alone == [None, 200]
    assert "Use Django's TransactionTestCase" in shared
    assert points == [[[None, 200], [False, True, []]]] * 4
