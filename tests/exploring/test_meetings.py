"""Two attempts of an event that meet at a point inside the app."""

import asyncio
import gc
import sqlite3
import sys
import threading
from contextlib import closing, suppress
from types import ModuleType

import pytest
import trio
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from pytest_chatfake import ChatFakeError, explore

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


@THREADS
@pytest.mark.parametrize("nth", [2, None])
def test_threads_meet_before_a_database_call_in_c(threaded, nth, tmp_path):
    file = tmp_path / "database"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE charges (id)")

    def work():
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            if connection.execute("SELECT * FROM charges").fetchone() is None:
                connection.execute("INSERT INTO charges VALUES (1)")

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


def test_an_attempt_that_is_refused_lets_the_other_one_go_on():
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
        fault._meet.limits.most = 10.0
        fake.send_text()
        codes = [attempt.status_code for attempt in fake.webhooks.attempts]
    assert (sorted(codes), fault._meet.ends) == ([204, 204, 503], {"left"})


def test_a_plain_function_on_the_loop_is_not_held():
    async def app(request):
        check_then_insert()
        await asyncio.sleep(0)

    posted({"handler": app}, before=insert)
    assert rows == ["charge"]


# -- what is refused -------------------------------------------------------------------------------


def test_a_url_has_no_points(fake):
    fake.webhooks.connect("http://127.0.0.1:9/hooks")
    fake.webhooks.concurrently(by=0, before=insert)
    with pytest.raises(ChatFakeError, match=r"concurrently\(\) needs an in-process app"):
        fake.send_text()
