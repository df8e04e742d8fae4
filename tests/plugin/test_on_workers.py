"""A run on two workers of pytest-xdist, each of which runs every test, looked at from all sides."""

import re
from textwrap import dedent

import pytest

from ..forked_pytest import run_pytest
from ..inner import module_text

SUITE = module_text("suite_on_workers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("on-workers")
    (folder / "test_it.py").write_text(dedent(SUITE))
    (folder / "pytest.ini").write_text(
        "[pytest]\nchat_fake_host = 0.0.0.0\nchat_fake_loop_scope = session\n"  # no test listens
    )
    return folder


@pytest.fixture(scope="module")
def output(folder):
    result = run_pytest(folder, "--chat-fake-seed=random", "-n2", "--dist=each")
    result.assert_outcomes(passed=8, failed=2)
    return result.stdout.str()


def notes(folder, kind, *runs):
    return [(folder / f"{kind}-{name}").read_text().splitlines() for name in runs]


def test_every_worker_has_the_seed_of_the_header(folder, output):
    (seed,) = re.findall(r"^chat_fake: ids from --chat-fake-seed=(.*)$", output, re.MULTILINE)
    run_pytest(folder, "-k", "loop", f"--chat-fake-seed={seed}")
    alone, first, second = notes(folder, "ids", "alone", "gw0", "gw1")

    assert len({*alone}) == 3
    assert [first, second] == [alone, alone]


def test_each_worker_has_a_loop_of_its_own_which_ends_with_it(folder, output):
    assert notes(folder, "tasks", "gw0", "gw1") == [["cancelled"] * 3] * 2


def test_a_test_that_hangs_says_so_past_the_capture_of_its_worker(output):
    still = "chat_fake: webhook handler still running after 0.01 s: <lambda>(), sent m1 "
    assert len(re.findall(rf"^{re.escape(still)}\(message \w+\)", output, re.MULTILINE)) == 2


def test_an_address_that_others_may_reach_is_said_once_and_not_by_workers(output):
    assert output.count("chat_fake: warning: other machines may reach the API because") == 1


def test_what_happened_in_a_test_comes_with_its_failure(output):
    assert len(re.findall(r"^-+ chat_fake timeline -+$", output, re.MULTILINE)) == 2
    assert output.count("attempt  delivered m1 -> Receiver(): 200") == 2
