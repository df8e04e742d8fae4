"""Apps that crash in the middle of an attempt, which is then made again."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
import functools
import gc
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from pytest_chatfake import ChatFake, ChatFakeError, UndeliveredWebhooks

from .both_frameworks import MODES, hard_limit, perform
from .fakes import attempt_rows, frozen_fake, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

assert hard_limit

#: What the apps of this module have done.
done: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


def place(mark: str) -> str:
    """The line of this file that ends with a comment, as ``crash(line=...)`` takes it."""
    lines = Path(__file__).read_text().splitlines()
    (number,) = [at for at, line in enumerate(lines, 1) if line.endswith(f"  # {mark}")]
    return f"{Path(__file__).name}:{number}"


def crashed(app: Any, mode: str = "sync", **crash: Any) -> list[str]:
    """Connect an app that crashes at its first event; return how its attempts have ended."""

    async def verbs(fake: ChatFake) -> None:
        await fake.send_text()
        await fake.settle()

    with frozen_fake(mode="sync" if mode == "sync" else "async") as fake:
        connect = {"asgi": app} if app is background or app is stubborn else {"handler": app}
        fake.webhooks.connect(**connect)
        fault = fake.webhooks.crash(**crash)
        if mode == "sync":
            fake.send_text()
            fake.settle()
        else:
            perform(mode, functools.partial(verbs, fake))
        assert 1 == fault.fired
        assert "crash" == fake.webhooks.attempts[0].fault
        return [one.outcome for one in fake.webhooks.attempts]


async def pause() -> None:
    """Suspend twice, in either framework."""
    for _ in range(2):
        await (trio.lowlevel.checkpoint() if in_trio() else asyncio.sleep(0))  # pause


def in_trio() -> bool:
    try:
        return bool(trio.lowlevel.current_task())
    except RuntimeError:
        return False


async def two_steps(request: object) -> None:
    try:
        done.append("first")
        await pause()
        done.append("second")
        await pause()
        done.append("third")
    finally:
        done.append("clean")


@MODES
@pytest.mark.parametrize(
    ("nth", "steps"), [(1, "first"), (2, "first"), (3, "first second"), (4, "first second")]
)
def test_an_app_that_awaits_crashes_at_a_suspension_and_has_the_event_again(
    mode: str, nth: int, steps: str
) -> None:
    outcomes = crashed(two_steps, mode, line=place("pause"), nth=nth)

    assert [f"crashed at {place('pause')}", "status 200"] == outcomes
    assert [*steps.split(), "clean", "first", "second", "third", "clean"] == done


async def child(name: str) -> None:
    try:
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # child
        done.append(f"{name} went on")
    finally:
        done.append(f"{name} cleans")
        asyncio.get_running_loop().create_task(born_in_clean_up(name))


async def born_in_clean_up(name: str) -> None:
    await asyncio.sleep(0)
    done.append(f"{name} is clean")


async def with_children(request: object) -> None:
    if "a cleans" in done:
        return
    async with asyncio.TaskGroup() as group:
        group.create_task(child("a"))
        await asyncio.shield(child("b"))


@pytest.mark.parametrize("mode", ["sync", "asyncio"])
def test_all_tasks_that_were_born_in_the_attempt_end_and_their_clean_up_is_waited_for(
    mode: str,
) -> None:
    outcomes = crashed(with_children, mode, line=place("child"))

    assert [f"crashed at {place('child')}", "status 200"] == outcomes
    assert ["a cleans", "a is clean", "b cleans", "b is clean"] == sorted(done)


async def with_a_nursery(request: object) -> None:
    async def child() -> None:
        try:
            await trio.sleep_forever()
        finally:
            done.append("child cleans")

    if not done:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
            await pause()


@pytest.mark.parametrize("crash", [{"line": place("pause"), "nth": 2}, {"after": pause}])
def test_the_children_of_a_nursery_end_with_it(crash: Any) -> None:
    assert "status 200" == crashed(with_a_nursery, "trio", **crash)[1]
    assert ["child cleans"] == done


async def behind_a_group(request: object) -> None:
    if done:
        return
    async with asyncio.TaskGroup() as group:
        group.create_task(child("a"))
        group.create_task(two_steps(request))


def test_a_crash_in_a_child_ends_all_others() -> None:
    assert 2 == len(crashed(behind_a_group, before=pause))
    assert ["a cleans", "a is clean", "clean", "first"] == sorted(done)


async def background(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 202, "headers": []})
    await send({"type": "http.response.body", "body": b"taken"})
    await asyncio.sleep(0)  # background
    done.append("background")


@pytest.mark.parametrize("crash", [{"line": place("background")}, {"before": asyncio.sleep}])
def test_after_a_complete_response_nothing_is_attempted_again(crash: Any) -> None:
    (outcome,) = crashed(background, **crash)
    assert outcome.startswith("status 202, then crashed ")
    assert [] == done


def test_what_awaits_a_thread_is_no_point_because_it_cannot_be_ended() -> None:
    async def app(request: object) -> None:
        await asyncio.to_thread(done.append, "thread")  # thread

    with pytest.raises(AssertionError):
        crashed(app, line=place("thread"))


# Calls


def commit(text: str = "done", *, more: str = "") -> str:
    done.append(text + more)
    return text


alias = commit


def closed_over() -> Callable[[], str]:
    text = "closed over"

    def traced(function: Callable[[], str]) -> Callable[[], str]:
        return functools.wraps(function)(functools.partial(function))

    @traced
    def commit_it() -> str:
        return commit(text)

    return commit_it


class Session:
    def __init__(self, text: str) -> None:
        self.text = text

    def commit(self) -> str:
        return commit(self.text)

    @classmethod
    def begin(cls) -> str:
        return cls("class").commit()

    async def awaited(self) -> str:
        await asyncio.sleep(0)
        return self.commit()


class Child(Session):
    def __init__(self, text: str) -> None:
        super().__init__(f"{text}'s child")


session = Session("session")
closure = closed_over()

CALLS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "an alias": (commit, alias),
    "its name": (f"{__name__}.commit", lambda: commit("named", more="!")),
    "a decorated closure": (closure, closure),
    "a method": (Session.commit, session.commit),
    "a bound method": (session.commit, lambda: Session("other").commit()),
    "a class method": (Session.begin, Session.begin),
    "a method that calls super()": (Child.__init__, lambda: Child("it").commit()),
}


@pytest.mark.parametrize("way", CALLS)
@pytest.mark.parametrize("kind", ["before", "after"])
def test_an_app_crashes_at_a_call_of_a_function_by_whatever_name(way: str, kind: str) -> None:
    point, call = CALLS[way]
    call()
    expected, done[:] = [*done], []
    outcomes = crashed(lambda request: call() and None, **{kind: point})

    assert outcomes[0].startswith(f"crashed {kind} ")
    assert "status 200" == outcomes[1]
    assert expected == done[-1:]
    assert (kind == "after" and way != "a method that calls super()") is (2 == len(done))


def test_an_awaited_function_has_returned_when_it_was_awaited() -> None:
    async def app(request: object) -> None:
        await session.awaited()
        await session.awaited()  # second call

    outcomes = crashed(app, after=Session.awaited, nth=2)
    assert f"crashed after Session.awaited ({place('second call')})" == outcomes[0]
    assert 4 == len(done)


def test_a_function_is_its_own_again_whatever_ends_the_attempt() -> None:
    code = commit.__code__

    def app(request: object) -> None:
        assert code is not commit.__code__
        raise KeyboardInterrupt

    with frozen_fake() as fake, fake.webhooks.crash(before=commit):
        fake.webhooks.connect(handler=app)
        with pytest.raises(KeyboardInterrupt):
            fake.send_text()
        assert code is commit.__code__
        fake.webhooks._outbox.faults.clear()


def test_a_loop_has_its_own_task_factory_again_and_it_makes_the_tasks() -> None:
    made: list[Any] = []

    def factory(loop: Any, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(coroutine)
        return asyncio.Task(coroutine, loop=loop, **options)

    async def verbs(fake: ChatFake) -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(factory)
        await fake.send_text()
        assert factory is loop.get_task_factory()
        await fake.settle()

    with frozen_fake(mode="async") as fake:
        fake.webhooks.connect(handler=with_children)
        fake.webhooks.crash(line=place("child"))
        asyncio.run(verbs(fake))
    assert 2 <= len(made)


# Afterwards


def test_an_app_that_is_made_anew_forgets_and_another_one_does_not() -> None:
    def make() -> Callable[[object], None]:
        memory: list[str] = []

        def app(request: object) -> None:
            memory.append("event")
            done.append(f"{len(memory)}")
            commit()

        return app

    for restart, expected in ((None, ["1", "2"]), (make, ["1", "1"])):
        done.clear()
        with frozen_fake() as fake:
            fake.webhooks.connect(handler=make(), restart=restart)
            fake.webhooks.crash(before=commit)
            fake.send_text()
            fake.settle()
        assert [*expected, "done"] == done


def test_a_transaction_in_a_circle_of_references_is_dropped(tmp_path: Path) -> None:
    def app(request: object) -> None:
        connection = sqlite3.connect(tmp_path / "db", timeout=0)
        circle: list[Any] = [connection]
        circle.append(circle)
        connection.execute("INSERT INTO rows VALUES (1)")
        commit()
        connection.commit()

    with closing(sqlite3.connect(tmp_path / "db")) as rows:
        rows.execute("CREATE TABLE rows (id)")
        gc.disable()
        try:
            crashed(app, before=commit)
        finally:
            gc.enable()
        assert [(1,)] == rows.execute("SELECT * FROM rows").fetchall()
    assert 0 == gc.get_freeze_count()


def test_an_attempt_that_waits_for_what_a_crash_has_left_says_so() -> None:
    async def app(request: object) -> None:
        if done:
            await asyncio.Event().wait()
        commit()

    with frozen_fake(timeout=0.2) as fake:
        fake.webhooks.connect(handler=app, raise_exceptions=False)
        fake.webhooks.crash(after=commit)
        fake.send_text()
        fake.settle()
        assert "; the app had crashed after commit (" in fake.webhooks.attempts[1].outcome


def test_an_attempt_that_does_not_come_so_far_is_not_marked() -> None:
    def app(request: Any) -> None:
        if request.event.status != "delivered":
            commit()

    with frozen_fake() as fake:
        fake.webhooks.connect(handler=app)
        fault = fake.webhooks.crash(before=commit, start=2, times=2)
        fake.send_text().deliver().read()
        fake.settle()
        assert [
            ("sent", 1, None, 200),
            ("delivered", 1, None, 200),
            ("read", 1, "crash", None),
            ("read", 2, None, 200),
        ] == attempt_rows(fake)
        assert 1 == fault.fired


# Refusals


async def stubborn(scope: Any, receive: Any, send: Any) -> None:
    try:
        await asyncio.sleep(0)  # stubborn
    except BaseException:
        done.append("caught")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def deaf(request: object) -> None:
    try:
        await asyncio.sleep(0)  # deaf
    except asyncio.CancelledError:
        done.append("caught")


def bare(request: object) -> None:
    try:
        commit()
    except:  # noqa: E722
        done.append("caught")


@pytest.mark.parametrize(
    ("app", "crash"),
    [(stubborn, {"line": place("stubborn")}), (deaf, {"line": place("deaf")}),
     (bare, {"before": commit}), (stubborn, {"before": asyncio.sleep})],
)  # fmt: skip
def test_an_app_that_goes_on_after_its_crash_is_named(app: Any, crash: Any) -> None:
    with pytest.raises(ChatFakeError, match="the app went on after it had crashed "):
        crashed(app, **crash)
    assert ["caught"] == done


def test_an_app_at_a_url_cannot_crash(fake: ChatFake) -> None:
    fake.webhooks.connect("http://127.0.0.1:9/")
    with fake.webhooks.crash(line="app.py:1"), pytest.raises(ChatFakeError, match="is a URL"):
        fake.send_text()
    fake.webhooks._outbox.faults.clear()
    with pytest.raises(TypeError, match="restart"):
        fake.webhooks.connect("http://127.0.0.1:9/", restart=lambda: two_steps)


def generator() -> Any:
    yield


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({}, TypeError, "exactly one"),
        ({"line": "a.py:1", "after": commit}, TypeError, "exactly one"),
        ({"line": "app.py"}, ValueError, "line"),
        ({"line": "shop/app.py:3"}, ValueError, "line"),
        ({"line": 41}, TypeError, "line"),
        ({"after": len}, TypeError, "after"),
        ({"after": sqlite3.Connection.commit}, TypeError, "after"),
        ({"before": Session}, TypeError, "before: .* Name a method"),
        ({"before": "no.such.module"}, ValueError, "before"),
        ({"before": generator}, ValueError, "without yield"),
        ({"before": 3}, TypeError, "before"),
        ({"before": commit, "nth": 0}, ValueError, "nth"),
    ],
)
def test_what_cannot_crash_is_refused(
    fake: ChatFake, arguments: Any, error: type[Exception], named: str
) -> None:
    with unchanged(fake), pytest.raises(error, match=named):
        fake.webhooks.crash(**arguments)


def test_what_restart_returns_has_to_be_an_app(fake: ChatFake) -> None:
    fake.webhooks.connect(handler=lambda request: commit() and None, restart=lambda: 3)  # type: ignore[arg-type,return-value]
    fake.webhooks.crash(before=commit)
    with pytest.raises(TypeError, match="what restart= returned"):
        fake.send_text()
    fake.webhooks.disconnect()


def test_a_crash_that_is_never_reached_is_unused() -> None:
    with pytest.raises(UndeliveredWebhooks, match=r"crash\(before='.*commit', nth=2\)"):
        with frozen_fake() as fake:
            fake.webhooks.connect(handler=lambda request: None)
            fake.webhooks.crash(before=commit, nth=2)
            fake.send_text()
