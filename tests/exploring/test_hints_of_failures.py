"""What a failure of ready-made tests, or of an exploration, says beyond what differs."""

import asyncio
import re
import textwrap

import pytest
from inline_snapshot import snapshot

from pytest_chatfake import ChatFakeConfig, explore

from .cards import cards

ROWS = """
    from pytest_chatfake import WebhookTests

    class TestRefuses(WebhookTests):
        counts = False

        def connect(self, chat_fake):
            self.ids, self.rows = set(), []
            chat_fake.webhooks.connect(handler=self.take)
            return lambda: list(self.rows)

        def take(self, request):
            if request.id not in self.ids or self.counts:
                self.rows.append(request.event.status)
            if request.id in self.ids:
                return 409
            self.ids.add(request.id)

    class TestRefusesAndCounts(TestRefuses):
        counts = True
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run a test module and return the result."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(code, *options):
        pytester.makepyfile(textwrap.dedent(code))
        return pytester.runpytest("-p", "no:inline_snapshot", *options)

    return run


def test_a_refusal_that_did_no_harm_says_so(run):
    result = run(ROWS, "-k", "test_duplicates and not under and not once")
    assert cards(result) == snapshot("""\
TestRefuses
FAILED   duplicates
           sent m1 was redelivered; sent m1 to TestRefuses.take(): status 409,
           and the snapshot is as written: return 2xx, or the service keeps
           retrying
FAILED   duplicates_days_later
           sent m1 to TestRefuses.take(): status 409, and the snapshot is as
           written: return 2xx, or the service keeps retrying
TestRefusesAndCounts
FAILED   duplicates
           sent m1 was redelivered; snapshot: one more ('sent'); 7 items; as
           written: 6
FAILED   duplicates_days_later
           redelivering sent m1 changed the snapshot; snapshot: one more
           ('sent'); 7 items; before: 6\
""")


def test_an_exploration_says_the_same_of_a_refusal(run):
    result = run(
        """
        def test_it(chat_explore):
            @chat_explore(deviations=["duplicate"])
            def world(chat_fake):
                seen = set()

                def take(request):
                    if request.id in seen:
                        return 409
                    seen.add(request.id)

                chat_fake.webhooks.connect(handler=take)
                chat_fake.send_text()
                chat_fake.assert_order_independent(lambda: len(seen))
        """
    )
    result.stdout.fnmatch_lines(
        ["E *: status 409, and the snapshot is as written: return 2xx, or the service keeps retry*"]
    )


ON_DISK = """
    from pytest_chatfake import WebhookTests

    def make(chat_fake, path):
        def take(request):
            with path.open("a") as file:
                file.write("x")

        chat_fake.webhooks.connect(handler=take)
        return lambda: len(path.read_text()) if path.exists() else 0

    class TestShop(WebhookTests):
        def connect(self, chat_fake, {fixture}):
            return make(chat_fake, {path} / "events")

    def test_it(chat_explore, {fixture}):
        @chat_explore
        def world(chat_fake):
            count = make(chat_fake, {path} / "events")
            chat_fake.send_text()
            chat_fake.assert_order_independent(count)
"""


@pytest.mark.parametrize("test", ["all_events", "test_it"])
def test_worlds_that_share_tmp_path_are_told_of_its_factory(run, test):
    code = ON_DISK.format(fixture="tmp_path", path="tmp_path")
    result = run(code, "-k", test)
    (hint,) = {*re.findall(r"(?<=\. )tmp_path is.*each", result.stdout.str(), re.MULTILINE)}
    assert hint == (
        "tmp_path is one folder for all worlds of a test: take tmp_path_factory, and call "
        'tmp_path_factory.mktemp("world") for each'
    )


def test_with_the_factory_each_world_has_its_own_folder(run):
    path = 'tmp_path_factory.mktemp("world")'
    code = ON_DISK.format(fixture="tmp_path_factory", path=path)
    run(code, "-k", "all_events").assert_outcomes(passed=1)


def test_an_app_that_remembers_without_tmp_path_is_not_told_of_it(run):
    code = "from pathlib import Path\n" + textwrap.dedent(
        ON_DISK.format(fixture="chat_fake_config", path='Path(".")')
    )
    result = run(code, "-k", "all_events")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*tmp_path is one folder*")


BACKGROUND = """
    from pytest_chatfake import WebhookTests

    async def respond(send):
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    class TestShop(WebhookTests):
        crash_points = ()

        def connect(self, chat_fake):
            import asyncio

            seen = []

            async def work():
                raise LookupError("no such campaign")

            async def app(scope, receive, send):
                seen.append((await receive())["body"])
                asyncio.create_task(work())
                await respond(send)
                await asyncio.sleep(0)

            chat_fake.webhooks.connect(asgi=app, path="/")
            return lambda: len({*seen})
"""


def test_a_lock_that_outlives_a_crash_is_hinted_at():
    def world(fake):
        locked, rows = list[bool](), list[str]()

        async def receive(request):
            while locked:
                await asyncio.sleep(0.01)
            locked.append(True)
            await asyncio.sleep(0)
            rows.append(request.event.status)
            locked.clear()

        fake.webhooks.connect(handler=receive, raise_exceptions=False)
        fake.send_text().deliver()
        fake.settle()
        assert rows == ["sent", "delivered"]

    with pytest.raises(AssertionError) as raised:
        explore(world, deviations=["crash"], config=ChatFakeConfig(timeout=0.2))
    assert "limit the wait, as with blocking_timeout=" in "\n".join(raised.value.__notes__)


def test_a_card_names_what_was_raised_in_the_background(run):
    assert cards(run(BACKGROUND, "-k", "all_events or duplicates_days")) == snapshot("""\
TestShop
ok       all_events_are_taken
           6 events; LookupError: no such campaign at
           test_a_card_names_what_was_raised_in_the_background.py:16 was raised
           in the background
ok       duplicates_days_later
           6 events; LookupError: no such campaign at
           test_a_card_names_what_was_raised_in_the_background.py:16 was raised
           in the background
""")
