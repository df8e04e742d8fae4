"""What a crashed attempt held in this process ends with it, as it would with its own process."""

import asyncio
import sqlite3
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import ContextVar, copy_context
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from pytest_chatfake import ChatFakeError

from ..unit.fakes import frozen_fake
from .test_crashes import crashed, place

#: What has happened to a block.
done = []


@pytest.fixture(autouse=True)
def nothing_done():
    done.clear()


class Block:
    """A block that says how it was left."""

    leaves_with = None

    def __enter__(self):
        done.append("enter")

    def __exit__(self, kind, error, trace):
        done.append("exit" if kind is None else kind.__name__)
        return self.leaves_with and self.leaves_with()


class AsyncBlock:
    async def __aenter__(self):
        await asyncio.sleep(0)
        done.append("enter")

    async def __aexit__(self, kind, error, trace):
        await asyncio.sleep(0)
        done.append("exit" if kind is None else kind.__name__)


class LargerBlock(Block):
    def __enter__(self):
        super().__enter__()

    def __exit__(self, kind, error, trace):
        done.append("never, because it was not entered as a whole")


def in_block(request):
    with Block():
        pass


def in_larger_block(request):
    block = LargerBlock()
    if done:  # the retry
        return
    block.__enter__()


async def in_async_block(request):
    async with AsyncBlock():
        pass


@pytest.mark.parametrize(
    ("app", "crash"),
    [
        (in_block, {"before": Block.__exit__}),
        (in_block, {"after": Block.__enter__}),
        (in_async_block, {"before": AsyncBlock.__aexit__}),
        (in_async_block, {"after": AsyncBlock.__aenter__}),
    ],
)
def test_a_block_is_left_for_a_crash_just_inside_it(app, crash):
    assert crashed(app, **crash)[1] == "status 200"
    assert done == ["enter", "SimulatedCrash", "enter", "exit"]


@pytest.mark.parametrize("crash", [{"before": Block.__enter__}, {"after": Block.__exit__}])
def test_a_block_is_not_left_for_a_crash_outside_it(crash):
    crashed(in_block, **crash)
    assert "SimulatedCrash" not in done


def test_only_the_part_of_a_block_that_was_entered_is_left():
    crashed(in_larger_block, after=Block.__enter__)
    assert done == ["enter", "SimulatedCrash"]


def fail():
    raise OSError("can't be left")


@pytest.mark.parametrize("leaves_with", [fail, lambda: True])
@pytest.mark.parametrize("crash", [{"before": Block.__exit__}, {"after": Block.__enter__}])
def test_an_exit_that_fails_or_swallows_errors_hides_no_crash(leaves_with, crash, monkeypatch):
    monkeypatch.setattr(
        Block, "leaves_with", lambda _: done == ["enter", "SimulatedCrash"] and leaves_with()
    )

    assert crashed(in_block, **crash)[0].startswith("crashed ")


# Clean-up that fails


def fails_to_clean_up(request):
    done.append("began")
    try:
        point()
        done.append("ended")
    finally:
        if done[-1] != "ended":
            fail()


async def fails_to_clean_up_on_a_loop(request):
    done.append("began")
    try:
        await asyncio.sleep(0)  # awaits
        done.append("ended")
    finally:
        if done[-1] != "ended":
            fail()


def served(request):
    """Respond to an error, as a framework does."""
    try:
        return fails_to_clean_up(request)
    except OSError:
        return failed()


async def served_on_a_loop(request):
    try:
        return await fails_to_clean_up_on_a_loop(request)
    except OSError:
        return failed()


def failed():
    return 500


@pytest.mark.parametrize(
    ("app", "crash"),
    [
        (served, {"before": f"{__name__}.point"}),
        (served_on_a_loop, {"line": place("awaits", __file__)}),
    ],
)
def test_clean_up_that_fails_swallows_no_crash(app, crash):
    first, second = crashed(app, **crash)

    assert first.startswith("crashed ")
    assert (second, done) == ("status 200", ["began", "began", "ended"])


def test_an_error_that_is_handled_meanwhile_excuses_nobody():
    def deaf(request):
        try:
            point()
        except BaseException:
            try:
                fail()
            except OSError:
                failed()
            return failed()
        return 200

    with pytest.raises(ChatFakeError, match="swallowed the crash"):
        crashed(deaf, before=point)


def test_the_transaction_of_zodb_is_aborted(monkeypatch):
    manager = SimpleNamespace(abort=lambda: done.append("aborted"))
    monkeypatch.setitem(sys.modules, "transaction", SimpleNamespace(manager=manager))

    crashed(lambda _: point(), before=point)

    assert done == ["aborted"]


# What belongs to a task


kept = ContextVar("kept", default="nothing")


async def keeps_something_for_its_task(request):
    done.append((kept.get(), asyncio.current_task() in done))
    kept.set("a transaction")
    done.append(asyncio.current_task())
    await asyncio.sleep(0)  # in its task


def test_what_a_library_keeps_for_a_task_ends_with_the_crash():
    async def scenario():
        with frozen_fake(mode="async") as fake:
            fake.webhooks.connect(handler=keeps_something_for_its_task, raise_exceptions=False)
            fake.webhooks.crash(line=place("in its task", __file__))
            await fake.send_text()
            await fake.settle()

    asyncio.run(scenario())
    assert done[::2] == [("nothing", False), ("nothing", False)]


# Locks


def point():
    """Where an app crashes."""


LOCKS = {
    "lock": threading.Lock,
    "rlock": threading.RLock,
    "semaphore": threading.Semaphore,
    "asyncio lock": asyncio.Lock,
    "asyncio semaphore": asyncio.Semaphore,
}


def taken(lock):
    """Take a lock if it is free; return whether it was."""
    if isinstance(lock, asyncio.Lock | asyncio.Semaphore):
        return not lock.locked()
    return lock.acquire(blocking=False)


@pytest.mark.parametrize("make", LOCKS.values(), ids=LOCKS)
def test_a_lock_that_was_acquired_by_hand_is_free_again(make):
    lock = make()

    async def app_async(request):
        if not done:
            done.append("acquired")
            await lock.acquire()
            point()

    def app(request):
        if not done:
            done.append("acquired")
            lock.acquire()
            point()

    crashed(app_async if make.__module__ == "asyncio.locks" else app, before=point)
    in_a_thread = []
    thread = threading.Thread(target=lambda: in_a_thread.append(taken(lock)))
    thread.start()
    thread.join(5)

    assert in_a_thread == [True]


def test_a_lock_of_somebody_else_stays_locked():
    lock = threading.Lock()

    def app(request):
        lock.acquire(blocking=False)
        point()

    with lock:
        crashed(app, before=point)
        assert lock.locked()


# Connections


@pytest.fixture
def file(tmp_path):
    with closing(sqlite3.connect(tmp_path / "db")) as rows:
        rows.execute("CREATE TABLE rows (id)")
    return tmp_path / "db"


@pytest.fixture
def engine(file):
    engine = sa.create_engine(f"sqlite:///{file}", connect_args={"timeout": 0})
    yield engine
    engine.dispose()


def rows_in(file):
    with closing(sqlite3.connect(file, timeout=0)) as rows:
        return rows.execute("SELECT id FROM rows").fetchall()


def assert_rolled_back(file, app, before=point):
    """Crash an app before it commits its row; its retry has to add it, and alone."""
    assert crashed(app, before=before)[1] == "status 200"
    assert rows_in(file) == [(1,)]


ALWAYS_IN_A_TRANSACTION = pytest.param(
    {"autocommit": False},
    marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="new in Python 3.12"),
)


@pytest.mark.parametrize("options", [{}, ALWAYS_IN_A_TRANSACTION])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_connection_that_the_app_keeps_is_rolled_back(file, is_async, options):
    with closing(sqlite3.connect(file, **options)) as kept:

        def app(request):
            kept.execute("INSERT INTO rows VALUES (1)")
            point()
            kept.commit()

        async def app_async(request):
            app(request)

        assert_rolled_back(file, app_async if is_async else app)


def test_a_connection_in_a_thread_is_rolled_back_there(file):
    kept = []

    def write():
        kept.append(sqlite3.connect(file, timeout=0))
        kept[-1].execute("INSERT INTO rows VALUES (1)")
        point()
        kept[-1].commit()

    async def app(request):
        await asyncio.to_thread(write)

    assert_rolled_back(file, app)


def test_a_connection_in_a_pool_is_rolled_back_if_it_has_the_context(file):
    kept = []

    def write():
        kept[:] = kept or [sqlite3.connect(file)]
        kept[0].execute("INSERT INTO rows VALUES (1)")
        point()
        kept[0].commit()

    with ThreadPoolExecutor(1) as pool:

        def app(request):
            pool.submit(copy_context().run, write).result()

        assert_rolled_back(file, app)
        pool.submit(kept[0].close).result()


def test_a_connection_whose_rollback_is_awaited_is_rolled_back_on_its_loop(file):
    aiosqlite = pytest.importorskip("aiosqlite")
    kept = []

    async def app(request):
        kept.append(connection := await aiosqlite.connect(file, timeout=0))
        await connection.execute("INSERT INTO rows VALUES (1)")
        point()
        await connection.commit()
        for each in kept:
            await each.close()

    assert_rolled_back(file, app)


class Base(orm.DeclarativeBase):
    pass


class Row(Base):
    __tablename__ = "rows"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)


def app_with(session):
    """An app that adds a row once, in a session that it keeps."""

    def app(request):
        if session.get(Row, 1) is None:
            session.add(Row(id=1))
            session.commit()

    return app


def test_a_session_that_the_app_keeps_forgets_what_it_has_not_committed(file, engine):
    with orm.Session(engine) as kept:
        assert_rolled_back(file, app_with(kept), before=orm.Session.commit)


def test_a_connection_of_sqlalchemy_that_the_app_keeps_begins_anew(file, engine):
    with engine.connect() as kept:

        def app(request):
            transaction = kept.begin()
            kept.execute(sa.insert(Row).values(id=1))
            point()
            transaction.commit()

        assert_rolled_back(file, app)


def test_an_awaited_connection_of_sqlalchemy_begins_anew(file):
    asyncio_of_sqlalchemy = pytest.importorskip("sqlalchemy.ext.asyncio")
    pytest.importorskip("aiosqlite")
    engine = asyncio_of_sqlalchemy.create_async_engine(
        f"sqlite+aiosqlite:///{file}", connect_args={"timeout": 0}
    )
    kept = []

    async def app(request):
        if not kept:
            kept.append(await engine.connect())
        transaction = await kept[0].begin()
        await kept[0].execute(sa.insert(Row).values(id=1))
        point()
        await transaction.commit()
        await kept[0].close()
        await engine.dispose()

    assert_rolled_back(file, app)


def test_a_session_that_the_test_has_read_is_rolled_back_in_its_commit(file, engine):
    with orm.Session(engine) as kept:
        kept.get(Row, 1)
        assert_rolled_back(file, app_with(kept), before=sa.engine.Transaction.commit)


def test_a_session_that_the_test_has_begun_goes_on(file, engine):
    with orm.Session(engine) as shared:
        shared.add(Row(id=1))
        shared.flush()
        crashed(lambda _: shared.get(Row, 2) or point(), before=point)
        shared.commit()

    assert rows_in(file) == [(1,)]


def test_a_transaction_that_the_test_has_begun_goes_on(file):
    with closing(sqlite3.connect(file)) as shared:

        def app(request):
            shared.execute("INSERT INTO rows VALUES (1)")
            point()

        shared.execute("INSERT INTO rows VALUES (0)")
        crashed(app, before=point)
        assert shared.in_transaction


def test_what_a_crash_leaves_open_is_not_warned_about(tmp_path):
    def app(request):
        log = open(tmp_path / "log", "a")  # noqa: SIM115 - closed below, unless it crashes
        point()
        log.close()

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        crashed(app, before=point)
    assert heard == []


def test_a_profiler_goes_on_and_an_attempt_leaves_none():
    profilers = []

    def profile(*_):
        """See nothing."""

    def app(request):
        profilers.append(sys.getprofile())
        point()

    crashed(app, before=point)
    sys.setprofile(profile)
    try:
        crashed(app, before=point)
    finally:
        sys.setprofile(None)
    assert profilers[2:] == [profile, profile]
    assert sys.getprofile() is None


def test_a_connection_that_can_not_say_how_it_is_breaks_no_app(fake):
    class Odd:
        async def rollback(self):
            """Roll nothing back."""

        @property
        def in_transaction(self):
            raise OSError("closed")

        async def execute(self):
            point()

    async def app(request):
        await Odd().execute()

    fake.webhooks.connect(handler=app)
    fake.webhooks.crash(after=point)
    fake.send_text()
    fake.settle()
    assert fake.webhooks.attempts[1].ok
