"""The fixture `chat_explore`, as a team meets it."""

from __future__ import annotations

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


def test_the_report_of_a_finding_ends_with_what_to_paste(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(BUGGY)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*chat_explore: passes as written; fails in world 2: `sent` m1 was attempted twice",
            "E*verb*send_text() m1  at test_the_report_*.py:6",
            "E*As a test of its own (it was run, and fails the same way):",
            "E*def test_what_the_exploration_found(chat_fake, chat_clock):",
            "E*chat_fake.webhooks.duplicate(after=0, start=1)",
            "E*assert len(got) == 2",
            "E*This world alone: chat_explore(only=*webhooks.duplicate(after=0, start=1)*)",
        ]
    )
    result.stdout.no_fnmatch_line("*exploring/*")


def test_the_printed_test_fails_where_it_is_pasted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(BUGGY)
    lines = [line.removeprefix("E").rstrip() for line in pytester.runpytest().outlines]
    start = next(n for n, line in enumerate(lines) if "def test_what" in line)
    source = "\n".join(lines[start : start + 7])
    pytester.path.joinpath("test_pasted.py").write_text("if True:\n" + source, "utf-8")

    result = pytester.runpytest("test_pasted.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 3 == 2"])


def test_what_was_tried_is_told_with_r_capital_p(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_nothing(chat_explore):
            @chat_explore
            def world(chat_fake):
                chat_fake.webhooks.connect(handler=lambda _: None)
                chat_fake.send_text().deliver().read()
        """
    )
    result = pytester.runpytest("-rP")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*- chat_explore -*", "41 worlds, all with up to 2 deviations"])


def test_marker_and_configuration_are_those_of_every_world(pytester: pytest.Pytester) -> None:
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


def test_a_fixture_that_is_never_used_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_forgotten(chat_explore): pass")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*chat_explore was never used: write `@chat_explore` above*"])


def test_a_test_that_failed_is_not_told_of_a_fixture_that_it_never_used(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("def test_failing(chat_explore): assert 0")
    pytester.runpytest().assert_outcomes(failed=1)


def test_the_clock_of_a_test_is_refused_beside_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_both(chat_explore, chat_clock): pass")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*Use the clock of the world's fake, chat_fake.clock."])


def test_skip_and_xfail_in_a_body_are_the_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_skipped(chat_explore):
            chat_explore(lambda fake: pytest.skip("not here"))

        def test_expected(chat_explore):
            chat_explore(lambda fake: pytest.xfail("not yet"))
        """
    )
    pytester.runpytest().assert_outcomes(skipped=1, xfailed=1)


def test_a_world_begins_at_the_start_of_the_clock(pytester: pytest.Pytester) -> None:
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


def test_a_long_exploration_has_a_progress_line_on_a_terminal(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    assert "chat_explore: 1 world, 0 s" in result.stdout.str()
