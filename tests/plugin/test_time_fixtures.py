"""``chat_clock``, the ini option for its start, and the time-travellers of the user's own."""

import pytest

from ..forked_pytest import run_pytest
from ..inner import module_text

CLOCK_TESTS = """
    import datetime, time
    START = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)

    def check(chat_fake):
        assert datetime.datetime.now(datetime.timezone.utc) == START
        assert chat_fake.ledger[0].at == START
        time.sleep(0.001)
        assert datetime.datetime.now(datetime.timezone.utc) == START

    def test_after(chat_fake, chat_clock):
        check(chat_fake)

    def test_before(chat_clock, chat_fake):
        check(chat_fake)

    def test_receiver(chat_receiver, chat_fake, chat_clock):
        check(chat_fake)

    def test_alone(chat_clock):
        assert chat_clock.now == START
"""


def test_with_chat_clock_time_stands_before_the_first_entry_in_any_order(pytester):
    pytester.makepyfile(CLOCK_TESTS)
    pytester.runpytest().assert_outcomes(passed=4)


def test_the_start_is_an_ini_option(pytester):
    pytester.makeini("[pytest]\nchat_clock_start = 2030-06-01T00:00:00+02:00\n")
    pytester.makepyfile(CLOCK_TESTS.replace("2026, 1, 1, 12", "2030, 5, 31, 22"))
    pytester.runpytest().assert_outcomes(passed=4)


def test_a_start_that_is_no_moment_is_a_usage_error(pytester):
    pytester.makepyfile("def test(): pass")
    for value, words in [
        ("tomorrow", ": expected ISO 8601 such as '2026-01-01T12:00:00Z', got 'tomorrow'"),
        ("2026-01-01", ": expected a moment with a time zone, got 2026-01-01T00:00:00"),
    ]:
        result = pytester.runpytest("-o", f"chat_clock_start={value}")
        assert result.ret == 4  # a usage error
        result.stderr.fnmatch_lines([f"ERROR: the ini option chat_clock_start{words}*"])


def test_without_chat_clock_time_runs_and_after_it_time_is_given_back(pytester):
    pytester.makepyfile(
        """
        import time, time_machine

        def test_frozen(chat_clock): pass

        def test_runs(chat_fake):
            assert not time_machine.traveller_stack
            before = chat_fake.clock.now
            time.sleep(0.002)
            assert chat_fake.clock.now > before

        def test_moved(chat_fake):
            chat_fake.clock.advance(days=1)

        def test_moved_and_late(chat_fake, request):
            chat_fake.clock.advance(days=1)
            request.getfixturevalue("chat_clock").advance(days=1)

        def test_runs_again():
            assert not time_machine.traveller_stack
        """
    )
    pytester.runpytest().assert_outcomes(passed=5)


def test_a_late_chat_clock_freezes_at_the_present_and_never_jumps_back(pytester):
    pytester.makepyfile(
        """
        import datetime, time

        def test_late(chat_fake, request):
            chat_fake.send_text()
            before = chat_fake.clock.now
            clock = request.getfixturevalue("chat_clock")
            assert datetime.timedelta(0) <= clock.now - before < datetime.timedelta(minutes=1)
            first = time.time_ns()
            time.sleep(0.002)
            assert time.time_ns() == first
            clock.advance(days=30)
            chat_fake.assert_held("0")
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_the_users_own_time_machine_fixture_and_marker_share_one_traveller(pytester):
    pytester.makepyfile(module_text("time_travellers"))
    pytester.runpytest().assert_outcomes(passed=7)


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [(["-pno:time_machine"], {}), (["-pchatfake"], {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})],
    ids=["without time-machine's plugin", "without any plugin but ours"],
)
def test_chat_clock_needs_no_other_plugin(pytester, arguments, environ):
    pytester.makepyfile(
        CLOCK_TESTS
        + """
    import pytest, time_machine

    @pytest.fixture(autouse=True)
    def nothing_is_left():
        yield
        assert not time_machine.traveller_stack

    def test_late(chat_fake, request):
        request.getfixturevalue("chat_clock").advance(days=1)

    def test_advance(chat_fake, chat_clock):
        chat_fake.send_text()
        chat_clock.advance(days=30)
        chat_fake.assert_held("0")

    @pytest.mark.chat_fake(price="free")
    @pytest.mark.xfail(raises=BaseException)
    def test_bad_configuration(chat_fake, chat_clock):
        pass
    """
    )
    run_pytest(pytester.path, *arguments, **environ).assert_outcomes(passed=6, xfailed=1)


def test_a_time_machine_fixture_of_the_users_own_is_left_alone(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def time_machine():
            return "a machine of ours"

        def test_it(chat_clock, time_machine):
            chat_clock.advance(days=1)
            assert time_machine == "a machine of ours"
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_under_freezegun_the_fixtures_work_and_follow(pytester):
    pytester.makepyfile(
        """
        import datetime
        import pytest
        from freezegun import freeze_time

        @pytest.fixture
        def frozen():
            with freeze_time("2027-01-01T00:00:00Z") as frozen:
                yield frozen

        def test_it(frozen, chat_fake, chat_clock):
            chat_fake.send_text()
            frozen.tick(datetime.timedelta(days=31))
            chat_fake.assert_held("0")
            assert chat_clock.now.isoformat() == "2027-02-01T00:00:00+00:00"
            with pytest.raises(Exception, match="move time with freezegun"):
                chat_clock.advance(1)
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_time_machine_fixture_may_need_the_fake_or_the_clock(pytester):
    pytester.makepyfile(
        test_another="""
        import pytest

        @pytest.fixture
        def time_machine(chat_fake):
            return chat_fake

        def test_it(chat_clock, time_machine):
            chat_clock.advance(1)
        """,
        test_its_own="""
        import datetime
        import pytest

        START = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)

        @pytest.fixture
        def time_machine(chat_clock, time_machine):
            time_machine.move_to(START, tick=False)
            return time_machine

        def test_it(time_machine, chat_clock):
            chat_clock.advance(1)
            assert datetime.datetime.now(datetime.UTC) == START + datetime.timedelta(seconds=1)

        @pytest.fixture
        def traveller(request):
            return request.getfixturevalue("time_machine")

        def test_dynamic(chat_clock, traveller):
            traveller.shift(1)
            assert datetime.datetime.now(datetime.UTC) == START + datetime.timedelta(seconds=1)
        """,
    )
    pytester.runpytest().assert_outcomes(passed=3)


def test_a_time_machine_that_is_asked_for_late_moves_the_same_time(pytester):
    pytester.makepyfile(
        """
        import datetime
        import pytest, time_machine

        START = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)

        @pytest.fixture(autouse=True)
        def traveller(request):
            return request.getfixturevalue("time_machine")

        def test_it(chat_clock, traveller):
            traveller.move_to(START, tick=False)
            chat_clock.advance(1)
            assert datetime.datetime.now(datetime.UTC) == START + datetime.timedelta(seconds=1)

        def test_time_is_given_back():
            assert [] == time_machine.traveller_stack
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)
