"""The fixture `chat_explore`, as a team meets it."""

import re
import textwrap

import pytest

BUGGY = """
    def test_the_sum(chat_explore):
        @chat_explore
        def world(chat_fake):
            got = []
            chat_fake.webhooks.connect(handler=got.append)
            chat_fake.send_text().deliver()
            chat_fake.settle()
            assert len(got) == 2
"""

CORRECT = """
    def test_nothing(chat_explore):
        @chat_explore
        def world(chat_fake):
            chat_fake.webhooks.connect(handler=lambda _: None)
            chat_fake.send_text().deliver().read()
"""


def test_the_report_of_a_finding_ends_with_what_to_paste(pytester):
    pytester.makepyfile(BUGGY)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*chat_explore: passes as written; fails in world 2: sent m1 was redelivered",
            "E*verb*send_text() m1  at test_the_report_*.py:6",
            "E*As a test to paste (it was run, and fails the same way):",
            "E*def test_what_the_exploration_found(chat_fake, chat_clock):",
            "E*chat_fake.webhooks.duplicate(after=0, start=1)",
            "E*assert len(got) == 2",
            "E*This world alone: chat_explore(only=*webhooks.duplicate(after=0, start=1)*)",
        ]
    )
    result.stdout.no_fnmatch_line("*exploring/*")


OF_EACH_KIND = """
    import pytest

    class Counter:
        def __init__(self, fake):
            self.count = 0
            fake.webhooks.connect(handler=self.take)

        def take(self, request):
            self.count += 1

    @pytest.fixture
    def make():
        return lambda fake: Counter(fake)

    @pytest.fixture
    def most(request):
        return request.param + 1

    def test_plain(chat_explore):
        @chat_explore
        def world(fake):
            counter = Counter(fake)
            fake.send_text()
            fake.settle()
            assert counter.count < 2, "plain"

    @pytest.mark.asyncio(loop_scope="function")
    async def test_async(chat_explore):
        async def world(fake):
            counter = Counter(fake)
            await fake.send_text()
            await fake.settle()
            assert counter.count < 2, "async"
        await chat_explore(world)

    @pytest.mark.chat_fake(price="0.07")
    @pytest.mark.parametrize(("most", "price", "kind"), [(1, ["0.07"], Counter)], indirect=["most"])
    @pytest.mark.skipif("not True")
    def test_values(chat_explore, make, most, price, kind):
        @chat_explore
        def world(fake):
            counter = make(fake)
            fake.send_text().deliver()
            fake.assert_charged(*price)
            assert type(counter) is kind
            assert counter.count <= most, "values"
"""
IN_A_CLASS = """
    class TestCounter:
        def count(self, fake):
            return Counter(fake)

        def test_inside(self, chat_explore):
            @chat_explore
            def world(fake):
                counter = self.count(fake)
                fake.send_text()
                fake.settle()
                assert counter.count < 2, "inside"
"""


def test_each_printed_test_fails_alike_where_it_is_pasted(pytester):
    def failures():
        run = pytester.inline_run(
            "-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function"
        )
        lines = [one.longreprtext.splitlines() for one in run.getfailures()]
        texts = [
            textwrap.dedent("\n".join(line[1:] for line in each if line[:1] == "E"))
            for each in lines
        ]
        ends = r" object at |As a test to paste \(it was run, and fails the same way\):|This world"
        return [re.split(ends, text) for text in texts]

    pytester.makepyfile(OF_EACH_KIND + IN_A_CLASS)
    found = failures()
    first, second, third, inside = (
        one[-2].replace("_found", f"_{number}") for number, one in enumerate(found)
    )
    outside = "".join(map(textwrap.dedent, [OF_EACH_KIND, first, second, third, IN_A_CLASS]))
    pytester.makepyfile(outside + inside)

    again = [one for place, one in enumerate(failures()) if place in {3, 4, 5, 7}]
    assert [one[0] for one in found] == [one[0] for one in again]
    assert [one[0].split()[1] for one in again] == ["plain", "async", "values", "inside"]


def test_a_printed_test_says_what_it_lacks(pytester):
    pytester.makepyfile(
        """
        import decimal

        from pytest import mark

        @mark.marked(object())
        @mark.usefixtures("tmp_path")
        @mark.chat_fake(price=decimal.Decimal("0.10"))
        def test_the_sum(chat_explore):
            wanted, texts = object(), ["Hello"]
            @chat_explore
            def world(fake):
                got = []
                fake.webhooks.connect(handler=lambda _: got.append(wanted))
                fake.send_text(*texts)
                assert got.count(wanted) == 1 or later
            later = True
        """
    )
    pytester.runpytest("-W", "ignore::pytest.PytestUnknownMarkWarning").stdout.fnmatch_lines(
        [
            "E*(it was run, and fails the same way):",
            "E *# It needs @pytest.mark.marked, texts, wanted.",
            "E *from decimal import Decimal",
            "E *import pytest",
            "E *@pytest.mark.usefixtures('tmp_path')",
            "E *@pytest.mark.chat_fake(price=Decimal('0.10'))",
            "E *def test_what_the_exploration_found(chat_fake, chat_clock):",
            "E *chat_fake.webhooks.duplicate(after=0, start=1)",
            "E *    def world(fake):",
            "E *world(chat_fake)",
        ]
    )


def test_what_was_tried_is_told_with_r_capital_p(pytester):
    pytester.makepyfile(CORRECT)
    result = pytester.runpytest("-rP")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*- chat_explore -*", "47 worlds, all with up to 2 deviations"])


def test_marker_and_configuration_are_those_of_every_world(pytester):
    pytester.makeconftest(
        """
        import pytest
        from pytest_chatfake import ChatFakeConfig

        @pytest.fixture
        def chat_fake_config():
            return ChatFakeConfig(currency="EUR")
        """
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.chat_fake(price="0.10")
        def test_both(chat_explore):
            @chat_explore(depth=1)
            def world(fake):
                fake.webhooks.connect(handler=lambda _: None)
                fake.send_text().deliver()
                fake.assert_charged("0.10")
                assert fake.balance.currency == "EUR"
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_timeout_in_the_event_loop_closes_the_world_that_hangs(pytester):
    pytester.makepyfile("""
        import asyncio
        import pytest
        import time_machine
        from pytest_chatfake import ChatFakeConfig

        pytestmark = pytest.mark.asyncio(loop_scope="session")

        @pytest.fixture
        def chat_fake_config():
            return ChatFakeConfig(api_key="a-key-of-my-own")

        async def test_hanging(chat_explore):
            def fail(_):
                selector.select = select
                pytest.fail("Timeout")  # as the handler of a signal may do

            async def world(chat_fake):
                chat_fake.webhooks.connect(handler=lambda _: None)
                await chat_fake.send_text()
                selector.select = fail
                await asyncio.Event().wait()

            selector = asyncio.get_running_loop()._selector
            select = selector.select
            await chat_explore(world)

        async def test_next(chat_fake):
            assert [] == time_machine.traveller_stack
            await chat_fake.send_text()
    """)
    result = pytester.runpytest(
        "-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function"
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*Failed: Timeout"])


def test_a_fixture_that_is_never_used_fails_a_test_that_passes(pytester):
    pytester.makepyfile(
        """
        import pytest

        def test_forgotten(chat_explore):
            pass

        def test_half_forgotten(chat_explore):
            @chat_explore(depth=0)
            def one(fake):
                fake.webhooks.connect(handler=lambda _: None)

            chat_explore(depth=0)
            def other(fake):
                assert 0

        def test_failing(chat_explore):
            assert 0

        def test_both(chat_explore, chat_clock):
            pass

        def test_skipped(chat_explore):
            chat_explore(lambda fake: pytest.skip("not here"))

        def test_expected(chat_explore):
            chat_explore(lambda fake: pytest.xfail("not yet"))
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=3, errors=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "*every world has its own clock: use chat_fake.clock",
            "E*chat_explore was never used: write `@chat_explore` above*",
            "*___ test_half_forgotten ___*",
            "E*chat_explore was never used: write `@chat_explore` above*",
            "E*assert 0",
        ]
    )


def test_a_world_begins_at_the_start_of_the_clock(pytester):
    pytester.makeini("[pytest]\nchat_clock_start = 2030-05-05T05:05:05Z")
    pytester.makepyfile(
        """
        import time

        def test_time(chat_explore):
            @chat_explore
            def world(fake):
                fake.webhooks.connect(handler=lambda _: None)
                assert time.time() == fake.clock.now.timestamp() == 1904187905
                fake.send_text()
                fake.clock.advance(days=40)
            assert time.time() < 1904187905
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(("options", "is_told"), [([], True), (["-q"], False)])
def test_a_long_exploration_has_a_progress_line_on_a_terminal(
    pytester, monkeypatch, options, is_told
):
    from pytest_chatfake.exploring import exploration

    pytester.makeconftest(
        """
        def pytest_runtest_setup(item):
            terminal = item.config.pluginmanager.get_plugin("terminalreporter")
            terminal.isatty = lambda: True
        """
    )
    monkeypatch.setattr(exploration, "_QUIET", 0)
    monkeypatch.setattr(exploration, "_EVERY", 0)
    pytester.makepyfile(
        """
        def test_long(chat_explore):
            @chat_explore
            def world(fake):
                fake.webhooks.connect(handler=lambda _: None)
                fake.send_text()
        """
    )
    result = pytester.runpytest_inprocess(*options)
    result.assert_outcomes(passed=1)
    assert ("chat_explore: 1 world, 0 s, " in result.stdout.str()) == is_told


@pytest.mark.parametrize(
    ("mode", "name"),
    [("prepend", "test_shop"), ("prepend", "08_shop"), ("importlib", "test-shop")],
)
def test_a_crash_point_may_be_in_a_test_file_whatever_its_name(pytester, name, mode):
    path = pytester.path / "tests" / f"{name}.py"
    path.parent.mkdir()
    path.write_text(
        textwrap.dedent(
            """
            class App:
                def __init__(self):
                    self.taken, self.spent = set(), 0

                def commit(self):
                    pass

                def __call__(self, request):
                    if request.id not in self.taken:
                        self.taken.add(request.id)
                        self.commit()
                        self.spent += 1

            def test_it(chat_explore):
                @chat_explore(deviations=["crash"], crash_points=[App.commit])
                def world(chat_fake):
                    app = App()
                    chat_fake.webhooks.connect(handler=app)
                    chat_fake.send_text()
                    chat_fake.settle()
                    assert app.spent == 1
            """
        )
    )
    result = pytester.runpytest(f"--import-mode={mode}", path)
    (printed,) = re.findall(r"E +(chat_fake\.webhooks\.crash\(.*)", result.stdout.str())
    result.stdout.fnmatch_lines(["E*assert 0 == 1", "E*it was run, and fails the same way*"])
    only = printed.removeprefix("chat_fake.")
    path.write_text(path.read_text().replace("deviations=", f'only=["{only}"], deviations='))
    pytester.runpytest(f"--import-mode={mode}", path).stdout.fnmatch_lines(
        ["*chat_explore: fails in this world: the app crashed before *"]
    )
