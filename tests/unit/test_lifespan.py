"""An app's lifespan around a block, in asyncio, in trio, and from plain code."""

import asyncio
import traceback
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import anyio.lowlevel
import pytest
import trio

from pytest_chatfake.transport.client.asgi import AsgiTarget
from pytest_chatfake.transport.client.lifespan import Lifespan
from pytest_chatfake.transport.client.portal import Portal
from pytest_chatfake.transport.client.responses import Response

from .asgi_apps import respond
from .both_frameworks import BOTH, hard_limit, in_asyncio, in_trio  # noqa: F401

REQUEST = SimpleNamespace(body=b"{}", headers={})


def in_plain_code(function):
    """Drive a coroutine function that awaits nothing but `both.lifespan` and `both.attempt`."""
    coroutine = function()
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    return stopped.value.value


THREE = pytest.mark.parametrize(
    "run", [in_asyncio, in_trio, in_plain_code], ids=["asyncio", "trio", "plain"]
)


@pytest.fixture
def portal():
    portal = Portal()
    yield portal
    portal.close()


@pytest.fixture
def both(portal, run):
    """The same steps in plain code and in coroutines."""

    @asynccontextmanager
    async def lifespan(app):
        if run is in_plain_code:
            with Lifespan(app, portal=portal):
                yield
        else:
            async with Lifespan(app, portal=portal):
                yield

    async def live(app, block=list):
        async with lifespan(app):
            return block()

    async def attempt(app):
        target = AsgiTarget(app, path="/", portal=portal)
        if run is in_plain_code:
            return target.attempt(REQUEST)
        return await target.attempt_async(REQUEST)

    return SimpleNamespace(lifespan=lifespan, live=live, attempt=attempt)


class App:
    """An app with a lifespan, which remembers what happened."""

    def __init__(self, startup=None, shutdown=None, *, more=False):
        self.log = []
        self.startup, self.shutdown, self.more = startup, shutdown, more

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await self.lifespan(scope, receive, send)
        else:
            self.log.append(dict(scope.get("state", {"none": True})))
            await receive()
            await respond(send)

    async def lifespan(self, scope, receive, send):
        assert await receive() == {"type": "lifespan.startup"}
        self.log.append("startup")
        scope["state"]["pool"] = "open"
        if isinstance(self.startup, BaseException):
            raise self.startup
        await send(self.startup or {"type": "lifespan.startup.complete"})
        if not self.startup:
            assert await receive() == {"type": "lifespan.shutdown"}
            self.log.append("shutdown")
            if isinstance(self.shutdown, Exception):
                raise self.shutdown
            await send(self.shutdown or {"type": "lifespan.shutdown.complete"})
        while self.more:
            try:
                await receive()
            finally:
                self.log.append("ended")


@THREE
def test_requests_get_the_state_while_the_lifespan_runs(run, both):
    app = App()

    async def main():
        await both.attempt(app)
        async with both.lifespan(app):
            assert Response(200) == await both.attempt(app)
            await both.attempt(app)
        await both.attempt(app)

    run(main)
    none, state = {"none": True}, {"pool": "open"}
    assert [none, "startup", state, state, "shutdown", none] == app.log


def test_an_app_inside_middleware_gets_the_state_of_its_lifespan(portal):
    app = App()

    async def middleware(scope, receive, send):
        await app(scope, receive, send)

    target = AsgiTarget(middleware, path="/", portal=portal)
    with Lifespan(app, portal=portal):
        target.attempt(REQUEST)
    target.attempt(REQUEST)

    assert app.log == ["startup", {"pool": "open"}, "shutdown", {"none": True}]


def test_an_app_without_a_lifespan_gets_no_state_of_another_one(portal):
    app, other = App(), App()

    async def alone(scope, receive, send):
        await app(scope, receive, send)

    with Lifespan(other, portal=portal):
        AsgiTarget(alone, path="/", portal=portal).attempt(REQUEST)

    assert app.log == [{"none": True}]


class Proxy:
    """Loads what it stands for as soon as anybody looks at it."""

    @property
    def __class__(self):
        raise AssertionError

    __dict__ = __class__

    def __call__(self):
        pass


TASK = Proxy()


def test_nothing_is_loaded_to_find_an_app_inside_another_one(portal):
    app, other = App(), App()

    async def calls_a_task(scope, receive, send):
        assert callable(TASK)
        await app(scope, receive, send)

    with Lifespan(other, portal=portal):
        AsgiTarget(calls_a_task, path="/", portal=portal).attempt(REQUEST)

    assert app.log == [{"none": True}]


@THREE
def test_a_lifespan_can_run_again_but_not_twice_at_once(run, both):
    app = App()

    async def main():
        async with both.lifespan(app):
            with pytest.raises(RuntimeError, match="the app's lifespan is running already"):
                await both.live(app)
        await both.live(app)

    run(main)
    assert app.log == ["startup", "shutdown"] * 2


async def raises(scope, receive, send):
    assert scope["type"] == "http"


async def returns(scope, receive, send):
    if scope["type"] != "http":
        return


@THREE
@pytest.mark.parametrize("app", [raises, returns])
def test_an_app_that_knows_no_lifespan_is_left_alone(run, both, app):
    assert run(lambda: both.live(app, lambda: "block")) == "block"


def failed(phase, message):
    return {"type": f"lifespan.{phase}.failed", "message": message}


@THREE
@pytest.mark.parametrize(
    ("options", "error", "message", "log"),
    [
        ({"startup": OSError("no database")}, OSError, "no database", ["startup"]),
        (
            {"startup": failed("startup", "no database")},
            RuntimeError,
            "the ASGI app's startup failed: no database",
            ["startup"],
        ),
        (
            {"startup": failed("startup", ""), "more": True},
            RuntimeError,
            "the ASGI app's startup failed: it gave no reason",
            ["startup", "ended"],
        ),
        ({"shutdown": OSError("stuck")}, OSError, "stuck", ["startup", "block", "shutdown"]),
        (
            {"shutdown": failed("shutdown", "still busy")},
            RuntimeError,
            "the ASGI app's shutdown failed: still busy",
            ["startup", "block", "shutdown"],
        ),
        (
            {"startup": {"type": "http.response.start"}},
            RuntimeError,
            "ASGI app: expected 'lifespan.startup...', got 'http.response.start'",
            ["startup"],
        ),
    ],
)
def test_what_fails_in_the_app_surfaces(run, both, options, error, message, log):
    app = App(**options)
    with pytest.raises(error) as raised:
        run(lambda: both.live(app, lambda: app.log.append("block")))
    assert message == str(raised.value)
    assert log == app.log
    assert "lifespan" in [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]


@BOTH
def test_an_app_may_clean_up_after_it_said_that_its_startup_failed(run, both):
    cleaned = []

    async def app(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})
        await anyio.sleep(0.01)
        cleaned.append(True)

    with pytest.raises(RuntimeError, match="no database"):
        run(lambda: both.live(app))
    assert cleaned == [True]


@THREE
def test_an_app_that_asks_for_more_after_its_shutdown_is_ended(run, both):
    app = App(more=True)
    run(lambda: both.live(app))
    assert app.log == ["startup", "shutdown", "ended"]


@BOTH
def test_an_app_that_does_not_return_after_its_shutdown_is_ended(run, both):
    async def app(scope, receive, send):
        for phase in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{phase}.complete"})
        await anyio.sleep_forever()

    run(lambda: both.live(app))


@BOTH
def test_a_lifespan_that_dies_in_the_middle_surfaces_at_the_end(run, both):
    async def app(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await anyio.lowlevel.checkpoint()
        raise OSError("the connection pool is gone")

    async def main():
        async with both.lifespan(app):
            await anyio.sleep(0.01)

    with pytest.raises(OSError, match="the connection pool is gone"):
        run(main)


@THREE
def test_the_block_s_own_error_comes_out_as_it_is_after_the_shutdown(run, both):
    app = App()

    with pytest.raises(LookupError) as raised:
        run(lambda: both.live(app, {}.popitem))
    assert raised.value.__context__ is None
    assert app.log == ["startup", "shutdown"]


@BOTH
@pytest.mark.parametrize("where", ["startup", "block", "shutdown"])
def test_a_cancellation_anywhere_leaves_nothing_behind(run, where, portal):
    ended = []

    async def sleep_in(place):
        if place == where:
            await anyio.sleep(100)

    async def app(scope, receive, send):
        try:
            await receive()
            await sleep_in("startup")
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await sleep_in("shutdown")
            await send({"type": "lifespan.shutdown.complete"})
        finally:
            ended.append(True)

    async def body():
        async with Lifespan(app, portal=portal):
            await sleep_in("block")

    async def main():
        if run is in_trio:
            with trio.move_on_after(0.01) as scope:
                await body()
            assert scope.cancelled_caught
        else:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await body()

    run(main)
    assert ended == [True]
    assert portal.app_states == {}


def test_in_asyncio_an_interrupt_of_the_startup_comes_out_before_the_block(portal):
    app = App(pytest.fail.Exception("not that"))

    async def main():
        async with Lifespan(app, portal=portal):
            app.log.append("block")

    with pytest.raises(pytest.fail.Exception, match="not that"):
        in_asyncio(main)
    assert app.log == ["startup"]


def test_in_asyncio_a_fixture_may_start_and_stop_it_in_different_tasks(portal):
    app = App()

    async def main():
        lifespan = Lifespan(app, portal=portal)
        await asyncio.create_task(lifespan.__aenter__())
        await asyncio.create_task(lifespan.__aexit__(None, None, None))

    in_asyncio(main)
    assert app.log == ["startup", "shutdown"]
