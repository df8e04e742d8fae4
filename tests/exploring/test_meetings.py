"""Two attempts, of one event or of two, that meet at a point inside the app."""

import asyncio
import gc
import json
import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress
from types import ModuleType, SimpleNamespace

import pytest
import trio
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from pytest_chatfake import ChatFakeError, explore
from pytest_chatfake.exploring import meetings
from pytest_chatfake.exploring.description import describe
from pytest_chatfake.exploring.deviations import Deviation
from pytest_chatfake.exploring.meetings import Limits, Point
from pytest_chatfake.exploring.search import RACES, CheckedOptions, LoggedAttempt, Search, WorldLog
from pytest_chatfake.exploring.trials import Trials

from ..unit.both_frameworks import MODES, hard_limit, perform  # noqa: F401
from ..unit.fakes import frozen_fake
from .test_crashes import place

#: What the apps of this module have inserted.
rows = []


@pytest.fixture(autouse=True)
def no_rows():
    rows.clear()


def insert(row):
    rows.append(row)


def check_then_insert():
    if not rows:
        insert("charge")


async def insert_async(row):
    rows.append(row)


def turn():
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return asyncio.sleep(0)
    return trio.lowlevel.checkpoint()


def wsgi(work):
    def app(environ, start):
        work()
        start("204 No Content", [])
        return []

    return {"wsgi": app}


def in_the_pool(work):
    app = FastAPI()

    @app.post("/")
    def receive():
        work()

    return {"asgi": app}


def in_a_thread(work):
    async def app(request):
        await asyncio.to_thread(work)

    return {"handler": app}


def in_an_executor(work):
    async def app(request):
        await asyncio.get_running_loop().run_in_executor(None, work)

    return {"handler": app}


def in_a_thread_of_starlette(work):
    async def app(request):
        await run_in_threadpool(work)

    return {"handler": app}


THREADS = pytest.mark.parametrize(
    "threaded", [wsgi, in_the_pool, in_a_thread, in_an_executor, in_a_thread_of_starlette]
)


def posted(connected, mode="sync", *, timeout=5, **point):
    """Post an event twice, and return how the attempts ended."""
    with frozen_fake(mode="sync" if mode == "sync" else "async", timeout=timeout) as fake:
        fake.webhooks.connect(**connected)
        fake.webhooks.concurrently(by=0, **point)
        perform(mode, fake.send_text)
        perform(mode, fake.settle)
        return [attempt.outcome for attempt in fake.webhooks.attempts]


# -- where they meet -------------------------------------------------------------------------------


@THREADS
def test_threads_meet_before_a_function_and_so_both_insert(threaded):
    posted(threaded(check_then_insert), before=insert)
    assert rows == ["charge", "charge"]


@THREADS
def test_threads_meet_after_a_function(threaded):
    seen = []

    def work():
        insert("row")
        seen.append(len(rows))

    posted(threaded(work), after=insert)
    assert seen == [2, 2]


def charging_in(file):
    """Make a database; return what charges there once, but looks for a charge before."""
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE charges (id)")

    def work():
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            if connection.execute("SELECT * FROM charges").fetchone() is None:
                connection.execute("INSERT INTO charges VALUES (1)")

    return work


@THREADS
@pytest.mark.parametrize("nth", [2, None])
def test_threads_meet_before_a_database_call_in_c(threaded, nth, tmp_path):
    file = tmp_path / "database"
    work = charging_in(file)

    posted(threaded(work), before="sqlite3.Connection.execute", nth=nth)
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT count(*) FROM charges").fetchone() == (2,)


REDIS = """
class Redis:
    def __init__(self):
        self.data = set()
    def execute_command(self, name, value):
        if name == "SADD":
            self.data.add((value, len(self.data)))
        return value in dict(self.data)
"""


def test_an_exploration_lets_two_attempts_meet_before_commands_of_redis(monkeypatch):
    client = ModuleType("redis.client")
    monkeypatch.setitem(sys.modules, "redis.client", client)
    exec(REDIS, vars(client))

    def world(fake):
        redis = client.Redis()

        def work():
            if not redis.execute_command("SISMEMBER", "evt_1"):
                redis.execute_command("SADD", "evt_1")

        fake.webhooks.connect(**wsgi(work), path="/")
        fake.send_text()
        fake.settle()
        assert len(redis.data) == 1

    with pytest.raises(
        AssertionError, match=r"both attempts met before each Redis\.execute_command"
    ):
        explore(world, deviations=["duplicate_at_once"])


@pytest.mark.parametrize(
    ("kind", "at"),
    [
        ("duplicate_at_once", "both attempts met before each sqlite3.Connection.execute"),
        ("two_events_at_once", "delivered m1 was held before the 2nd sqlite3.Connection.execute"),
    ],
)
def test_an_await_hides_no_database_call_in_a_thread(kind, at, tmp_path_factory):
    def world(fake):
        file = tmp_path_factory.mktemp("world") / "database"
        work = charging_in(file)

        async def app(request):
            await asyncio.sleep(0)
            if request.event.status != "sent":
                await asyncio.to_thread(work)

        fake.webhooks.connect(handler=app)
        fake.send_text().deliver().read()
        fake.settle()
        with closing(sqlite3.connect(file)) as database:
            assert database.execute("SELECT count(*) FROM charges").fetchone() == (1,)

    with pytest.raises(AssertionError) as caught:
        explore(world, deviations=[kind])
    assert at in "\n".join(caught.value.__notes__)


@MODES
def test_async_attempts_meet_at_a_line(mode):
    async def app(request):
        is_new = not rows
        await turn()  # line
        if is_new:
            insert("charge")

    posted({"handler": app}, mode, line=place("line", __file__))
    assert rows == ["charge", "charge"]


@MODES
def test_async_attempts_meet_at_a_later_time_of_a_line(mode):
    seen = []

    async def app(request):
        for number in range(3):
            insert(number)
            await turn()  # again
        seen.append(rows.count(1))

    posted({"handler": app}, mode, line=place("again", __file__), nth=2)
    assert seen == [2, 2]


@MODES
def test_async_attempts_meet_before_an_async_function(mode):
    async def app(request):
        if not rows:
            await insert_async("charge")

    posted({"handler": app}, mode, before=insert_async)
    assert rows == ["charge", "charge"]


def test_attempts_meet_in_a_task_that_the_app_begins():
    async def child():
        is_new = not rows
        await asyncio.sleep(0)  # child
        if is_new:
            insert("charge")

    async def app(request):
        async with asyncio.TaskGroup() as group:
            group.create_task(child())

    posted({"handler": app}, line=place("child", __file__))
    assert rows == ["charge", "charge"]


def test_a_failed_await_at_the_line_leaves_nothing_unawaited():
    async def app(request):
        connected = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(connected.set_exception, OSError())
        with suppress(OSError):
            await connected  # refused
        insert("charge")

    posted({"handler": app}, line=place("refused", __file__))
    gc.collect()
    assert rows == ["charge", "charge"]


# -- two different events --------------------------------------------------------------------------


def overtaken(connected, mode="sync", *, held="earlier", by=1, **point):
    """Post `sent` and `delivered` at the same time; one of them is held."""
    with frozen_fake(mode="sync" if mode == "sync" else "async") as fake:
        fake.webhooks.connect(**connected)
        fake.webhooks.concurrently(by=by, held=held, **point)
        perform(mode, lambda: fake.send_text().deliver())
        perform(mode, fake.settle)
        return [attempt.outcome for attempt in fake.webhooks.attempts]


def read_then_write(status):
    known = len(rows)
    insert((status, known))


@pytest.mark.parametrize("connect", ["wsgi", "pool", "thread"])
@pytest.mark.parametrize(("held", "other"), [("earlier", "delivered"), ("later", "sent")])
def test_one_event_is_held_and_the_other_one_begins_and_ends_meanwhile(connect, held, other):
    def work(body):
        read_then_write(json.loads(body)["chatMessage"]["status"])

    def plain(environ, start):
        work(environ["wsgi.input"].read())
        start("204 No Content", [])
        return []

    async def in_thread(request):
        await asyncio.to_thread(work, request.body)

    app = FastAPI()

    @app.post("/")
    def receive(event: dict):
        read_then_write(event["chatMessage"]["status"])

    ways = {"wsgi": {"wsgi": plain}, "pool": {"asgi": app}, "thread": {"handler": in_thread}}
    overtaken(ways[connect], held=held, before=insert)
    (stale,) = {"sent", "delivered"} - {other}
    assert rows == [(other, 0), (stale, 0)]


@MODES
@pytest.mark.parametrize(("held", "other"), [("earlier", "delivered"), ("later", "sent")])
def test_one_async_event_is_held_at_a_line_of_its_own_code(mode, held, other):
    async def app(request):
        known = len(rows)
        if request.event.status == "sent":
            await turn()  # sent's
        else:
            await turn()  # delivered's
        insert((request.event.status, known))

    (stale,) = {"sent", "delivered"} - {other}
    overtaken({"handler": app}, mode, held=held, line=place(f"{stale}'s", __file__))
    assert rows == [(other, 0), (stale, 0)]


def test_an_event_is_held_at_a_later_time_only():
    async def app(request):
        for _ in range(2):
            known = len(rows)
            await asyncio.sleep(0)  # twice
            insert((request.event.status, known))

    overtaken({"handler": app}, line=place("twice", __file__), nth=2)
    assert rows == [("sent", 0), ("delivered", 1), ("delivered", 2), ("sent", 1)]


def test_events_that_never_come_to_the_point_are_handled_one_after_the_other():
    async def app(request):
        known = len(rows)
        await asyncio.sleep(0)
        insert((request.event.status, known))

    overtaken({"handler": app}, before=check_then_insert)
    assert rows == [("sent", 0), ("delivered", 1)]


def test_a_lock_ends_the_hold_of_two_events_by_its_limit():
    lock = threading.Lock()

    def work():
        with lock:
            read_then_write("")

    overtaken(wsgi(work), before=insert)
    assert rows == [("", 0), ("", 1)]


@pytest.mark.parametrize("held", ["earlier", "later"])
def test_an_event_that_is_refused_for_another_one_is_retried_before_anything_else(held):
    lock = threading.Lock()

    def work(environ, start):
        if lock.acquire(blocking=False):
            insert(json.loads(environ["wsgi.input"].read())["chatMessage"]["status"])
            lock.release()
            start("204 No Content", [])
        else:
            start("503 Busy", [])
        return []

    ends = overtaken({"wsgi": work}, held=held, before=insert)
    assert sorted(ends) == ["status 204", "status 204", "status 503"]
    assert sorted(rows) == ["delivered", "sent"]


def test_an_exploration_blames_the_order_and_goes_on_with_other_kinds():
    def world(fake):
        status = []

        async def app(request):
            await asyncio.sleep(0)
            status[:] = [request.event.status]

        fake.webhooks.connect(handler=app)
        fake.send_text().deliver()
        fake.settle()
        assert status == ["delivered"]

    with pytest.raises(AssertionError) as caught:
        explore(world, deviations=["two_events_at_once", "duplicate"])
    notes = "\n".join(caught.value.__notes__)
    assert "fails in world 4: delivered m1 arrived before sent m1" in notes
    assert notes.count("also: ") == notes.count("also: duplicate (world 5)") == 1


def test_races_that_share_an_event_have_a_world_each_though_it_is_retried():
    def attempt(number, status, is_retry=False):
        points = (("line", "app.py:9", 1),)
        return LoggedAttempt(
            number, number, 1, status, status, "", True, points=points, is_retry=is_retry
        )

    first = [attempt(1, "sent"), attempt(2, "delivered"), attempt(3, "read")]
    search = Search(CheckedOptions(kinds=RACES, depth=1))
    search.add(WorldLog([*first, None, attempt(2, "delivered", is_retry=True)], moments=[()] * 5))
    assert [[race.start for race in races] for races in search.worlds_to_try()] == [[1], [2], [2]]


def test_each_race_of_a_world_is_described_with_its_own_point():
    def attempt(number, name, round):
        return LoggedAttempt(number, number, 1, name, name, "", True, round)

    first = Deviation("two_events_at_once", 1, 1, (("before", "m.save"),))
    second = Deviation("two_events_at_once", 3, 1, (("line", "b.py:2"), ("held", "later")))
    cut_short = Deviation("two_events_at_once", 5, 1, (("line", "c.py:3"),))
    rounds = [("a", 1), ("b", 1), ("c", 2), ("d", 2), ("e", 0)]
    log = WorldLog(
        [attempt(number, *each) for number, each in enumerate(rounds, 1)],
        held={first: "before m.save", second: "at b.py:2", cut_short: "at c.py:3"},
    )
    assert [describe(each, log) for each in (first, second, cut_short)] == [
        "a and b arrived at the same time, and a was held before m.save",
        "c and d arrived at the same time, and d was held at b.py:2",
        "e arrived late",
    ]


@pytest.mark.parametrize(("errors", "is_blamed"), [([1, 0], False), ([1, 1, 1], True)])
def test_another_order_is_only_blamed_if_it_fails_each_time(monkeypatch, errors, is_blamed):
    left = [AssertionError() if error else None for error in errors]

    async def run(self, deviations, baseline):
        return SimpleNamespace(
            error=left.pop(0), deviations=deviations, baseline=baseline, may_vary=True
        )

    monkeypatch.setattr(Trials, "run", run)
    race = Deviation("two_events_at_once", 1, 1, (("line", "app.py:1"),))
    trials = Trials(None, None)
    in_turn = asyncio.run(trials.run_in_turn(SimpleNamespace(deviations=(race,), baseline=None)))
    assert (in_turn is not None, left) == (is_blamed, [])


def test_an_event_whose_partner_is_lost_is_not_held():
    with frozen_fake() as fake:
        fake.webhooks.connect(**wsgi(check_then_insert))
        fake.webhooks.concurrently(by=1, before=insert)
        fake.webhooks.lose(start=2)
        fake.send_text().deliver()
        fake.settle()
        assert [attempt.outcome for attempt in fake.webhooks.attempts] == [
            "status 204",
            "not posted",
        ]


def test_a_cancellation_leaves_nothing_unawaited_that_has_not_begun():
    async def main():
        task = asyncio.current_task()

        async def app(request):
            rows.append(request.event.status)
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)

        fake.webhooks.connect(handler=app)
        fake.webhooks.concurrently(by=1, before=insert)
        await fake.send_text().deliver()

    with frozen_fake(mode="async") as fake:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(main())
    gc.collect()
    assert rows == ["sent"]


# -- what ends a hold ------------------------------------------------------------------------------


@THREADS
def test_a_lock_ends_the_hold_by_its_limit(threaded):
    lock = threading.Lock()

    def work():
        with lock:
            check_then_insert()

    posted(threaded(work), before=insert)
    assert rows == ["charge"]


def test_a_lock_of_async_code_does_so_as_well():
    lock = asyncio.Lock()

    async def app(request):
        async with lock:
            if not rows:
                await asyncio.sleep(0)  # locked
                insert("charge")

    posted({"handler": app}, line=place("locked", __file__))
    assert rows == ["charge"]


def test_a_hold_is_shorter_than_the_timeout_of_the_fake():
    lock = threading.Lock()

    def work():
        with lock:
            for _ in range(200):
                insert("row")

    ends = posted(wsgi(work), timeout=1.5, before=insert, nth=None)
    assert ends == ["status 204", "status 204"]


def test_an_attempt_that_is_refused_lets_the_other_one_go_on(monkeypatch):
    monkeypatch.setattr(meetings, "_LIMIT", 10.0)
    lock = threading.Lock()

    def app(environ, start):
        if not lock.acquire(blocking=False):
            start("503 Busy", [])
            return []
        insert("charge")
        lock.release()
        start("204 No Content", [])
        return []

    with frozen_fake(timeout=60) as fake:
        fake.webhooks.connect(wsgi=app)
        fault = fake.webhooks.concurrently(by=0, before=insert)
        fake.send_text()
        codes = [attempt.status_code for attempt in fake.webhooks.attempts]
    assert (sorted(codes), fault._meet.ends) == ([204, 204, 503], {"left"})


def test_a_hold_lasts_for_as_long_as_the_slowest_attempt_needs():
    limits = Limits()
    limits.note_lengths([10**6, 10**6, 10**9])
    assert limits.of(Point("line", "app.py:1")) == 3


def test_a_test_holds_one_of_two_events_for_a_slow_app():
    async def app(request):
        if request.event.status == "sent":
            await asyncio.sleep(0)  # first
        else:
            await asyncio.to_thread(time.sleep, 0.4)
        rows.append(request.event.status)

    overtaken({"handler": app}, line=place("first", __file__))
    assert rows == ["delivered", "sent"]


def test_a_plain_function_on_the_loop_is_not_held():
    async def app(request):
        check_then_insert()
        await asyncio.sleep(0)

    posted({"handler": app}, before=insert)
    assert rows == ["charge"]


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [0, 1])
def test_a_url_has_no_points(fake, by):
    fake.webhooks.connect("http://127.0.0.1:9/hooks")
    fake.webhooks.concurrently(by=by, before=insert)
    with pytest.raises(ChatFakeError, match=r"concurrently\(\) needs an in-process app"):
        fake.send_text().deliver()
