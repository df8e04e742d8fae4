"""What ids are derived from: the same in every run, or in none, or by a text of one's own."""

import re

import pytest

from ..forked_pytest import run_pytest

TESTS = """
    import pytest

    @pytest.mark.parametrize("number", range(3))
    def test_it(chat_fake, number):
        print(f"id {number} {chat_fake.send_text().id}")

    @pytest.mark.chat_fake(seed="ours")
    def test_nearer(chat_fake):
        print(f"id ours {chat_fake.send_text().id}")
"""


@pytest.fixture(autouse=True)
def _tests(pytester):
    pytester.makepyfile(test_it=TESTS)


#: What the header shows, or the end of a quiet run.
SEED = re.compile(r"^chat_fake: ids from --chat-fake-seed=(.*)$", re.MULTILINE)


class Run:
    """A run of the tests: the ids that they saw, by test, and the seed that the header shows."""

    def __init__(self, pytester, *args):
        output = run_pytest(pytester.path, "-rA", *args).stdout.str()
        self.ids = dict(re.findall(r"^id (\w+) (\w+)$", output, re.MULTILINE))
        self.seeds = SEED.findall(output)
        assert 4 == len(self.ids) == len(set(self.ids.values())), output


def test_ids_repeat_from_run_to_run_and_nothing_is_said_of_it(pytester):
    first, second = Run(pytester), Run(pytester, "--chat-fake-seed=fixed")
    assert first.ids == second.ids
    assert [] == first.seeds == second.seeds


def test_random_ids_differ_in_every_run_and_come_back_with_the_shown_seed(pytester):
    pytester.makeini("[pytest]\nchat_fake_seed = random\n")
    first, second = Run(pytester), Run(pytester)
    (seed,) = first.seeds
    again = Run(pytester, f"--chat-fake-seed={seed}")

    assert {"ours"} == {name for name in first.ids if first.ids[name] == second.ids[name]}
    assert first.ids == again.ids
    assert [seed] == again.seeds != second.seeds
    assert Run(pytester, "--chat-fake-seed=fixed").seeds == []


def test_a_text_of_ones_own_gives_its_own_ids_every_time(pytester):
    pytester.makeini("[pytest]\nchat_fake_seed = build 7\n")
    first, second, other = Run(pytester), Run(pytester), Run(pytester, "--chat-fake-seed=build 8")
    assert first.seeds == ["build 7"]
    assert first.ids == second.ids
    assert {"ours"} == {name for name in first.ids if first.ids[name] == other.ids[name]}


@pytest.mark.parametrize("option", ["--chat-fake-seed=", "--chat-fake-seed= ", "-ochat_fake_seed="])
def test_an_empty_seed_is_a_mistake_in_the_usage(pytester, option):
    result = run_pytest(pytester.path, option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(
        ["ERROR: chat_fake_seed: expected fixed, random, or your own string, got nothing"]
    )


def test_the_option_and_the_header_are_there_without_xdist(pytester):
    assert Run(pytester, "-p", "no:xdist", "--chat-fake-seed=1").seeds == ["1"]


def test_with_q_the_seed_is_shown_after_failures_and_only_then(pytester):
    def shown(*options):
        return SEED.findall(run_pytest(pytester.path, "-q", *options).stdout.str())

    pytester.makepyfile(test_it="def test_it(chat_fake):\n    assert not chat_fake.events")
    assert shown("-o", "chat_fake_seed=random") == []

    pytester.makepyfile(test_it="def test_it(chat_fake):\n    assert chat_fake.events")
    assert len(shown("-o", "chat_fake_seed=random")) == 1
    assert shown() == []
