"""How long the loop lasts on which plain tests run ASGI apps: as a fake, or as the session."""

import pytest

from ..forked_pytest import run_pytest

#: An app with a client in its module, and a queue.
APP = """
    import asyncio
    import httpx
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    client = httpx.AsyncClient(verify=False)  # certificates take longest to load
    queue = asyncio.Queue()
    asked = []

    async def ask(request):
        asked.append(await client.get(request.headers["x-balance"]))
        return Response(status_code=204)

    async def look_into_the_queue(request):
        waiting = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        if not waiting.cancelled():
            raise waiting.exception()
        return Response(status_code=204)

    app = Starlette(routes=[
        Route("/ask", ask, methods=["POST"]),
        Route("/queue", look_into_the_queue, methods=["POST"]),
    ])
"""
TESTS = """
    import pytest
    import app

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(chat_fake, chat_fake_url, number):
        balance = {{"X-Balance": chat_fake_url + "/v2/balance"}}
        chat_fake.webhooks.connect(asgi=app.app, path="/{path}", headers=balance)
        chat_fake.send_text()
        assert app.queue.empty() and len(app.asked) == ({path!r} != "queue" and number)
"""
HINT = (
    "E *The app uses a client or a lock from an earlier test's event loop. Create it in the app's "
    "lifespan, or set chat_fake_loop_scope = session in pytest's ini file."
)

#: An app that leaves a task running, which notes in a file when it is cancelled.
BACKGROUND = """
    import asyncio
    from pathlib import Path

    tasks = set()

    async def go_on(place):
        try:
            await asyncio.sleep(1000)
        finally:
            with open(place, "a") as notes:
                notes.write("cancelled\\n")

    async def app(scope, receive, send):
        tasks.add(asyncio.ensure_future(go_on("notes")))
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})
"""


@pytest.fixture(autouse=True)
def _with_few_plugins(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p xdist -p time_machine -p pytest_chatfake.plugin")
    pytester.makepyfile(app=APP, background=BACKGROUND)


def share(pytester):
    pytester.makeini("[pytest]\nchat_fake_loop_scope = session\n")


# What belongs to a loop


@pytest.mark.parametrize(
    ("path", "error"),
    [("ask", "Event loop is closed"), ("queue", "is bound to a different event loop")],
)
@pytest.mark.parametrize("shares", [True, False])
def test_what_belongs_to_a_loop_lasts_as_long_and_its_error_has_a_hint(
    pytester, path, error, shares
):
    if shares:
        share(pytester)
    pytester.makepyfile(test_it=TESTS.format(path=path))
    result = run_pytest(pytester.path)
    if shares:
        result.assert_outcomes(passed=2)
    else:
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines([f"E *RuntimeError: *{error}", HINT])


# What is left running


LEAVES = """
    from pathlib import Path
    from background import app, tasks

    def ends():
        notes = Path("notes")
        return notes.read_text().count("cancelled") if notes.exists() else 0

    def test_first(chat_fake):
        chat_fake.webhooks.connect(asgi=app)
        chat_fake.send_text()
        assert ends() == 0

    def test_second(chat_fake):
        assert ends() == {ended}
        chat_fake.webhooks.connect(asgi=app)
        chat_fake.send_text().deliver()
        assert ends() == {ended}
"""


@pytest.mark.parametrize(("scope", "ended"), [("function", 1), ("session", 0)])
def test_what_an_app_left_running_is_cancelled_at_the_end_of_the_scope(pytester, scope, ended):
    pytester.makepyfile(test_it=LEAVES.format(ended=ended))
    # Not in a process that is forked: those end before Python says what it had to destroy.
    result = pytester.runpytest_subprocess("-o", f"chat_fake_loop_scope={scope}", timeout=60)
    result.assert_outcomes(passed=2)
    assert (pytester.path / "notes").read_text().count("cancelled") == 3
    assert "Task was destroyed" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize(
    "how", ["assert False", "raise KeyboardInterrupt", "pytest.exit('enough')"]
)
def test_a_session_that_ends_badly_cancels_it_too(pytester, how):
    share(pytester)
    pytester.makepyfile(
        test_it=f"""
        import pytest
        from background import app

        def test_it(chat_fake):
            chat_fake.webhooks.connect(asgi=app)
            chat_fake.send_text()
            {how}
        """
    )
    run_pytest(pytester.path)
    assert (pytester.path / "notes").read_text() == "cancelled\n"


# What else a session of tests does with it


def test_another_scope_is_a_mistake_in_the_usage(pytester):
    result = pytester.runpytest_inprocess("-p", "no:xdist", "-o", "chat_fake_loop_scope=module")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: the ini option chat_fake_loop_scope: expected function or session, got 'module'"]
    )
