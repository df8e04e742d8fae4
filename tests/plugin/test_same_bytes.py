"""A test emits the same bytes every run: alone, or in another order."""

import re

import pytest

from ..forked_pytest import FEW_PLUGINS, run_pytest
from ..inner import module_text

TESTS = module_text("noted_bytes")


@pytest.fixture(autouse=True)
def _tests(pytester):
    pytester.makepyfile(test_it=TESTS)


def notes(pytester, *args):
    """What each test of a run emitted."""
    place = pytester.path / "-".join(["notes", *re.findall(r"\w+", " ".join(args))])
    assert run_pytest(pytester.path, *args, **FEW_PLUGINS, NOTES=str(place)).ret == 0
    return {file.name: file.read_text() for file in place.iterdir()}


def test_ids_come_from_the_node_id_whatever_else_runs(pytester):
    everything = notes(pytester)
    alone = notes(pytester, "test_it.py::test_last")
    backwards = notes(
        pytester,
        "test_it.py::test_last",
        "test_it.py::TestIt",
        "test_it.py::test_numbers[3]",
        "test_it.py::test_numbers[0]",
    )

    assert 6 == len(everything) == len(set(everything.values()))
    assert {"last": everything["last"]} == alone
    assert {"last", "method", "numbers-3", "numbers-0"} == set(backwards)
    assert backwards.items() <= everything.items()


def test_a_seed_of_ones_own_takes_the_node_ids_place(pytester):
    pytester.makeconftest(
        """
        import pytest
        from pytest_chatfake import ChatFakeConfig

        @pytest.fixture
        def chat_fake_config():
            return ChatFakeConfig(seed="ours")
        """
    )
    found = notes(pytester, "-k", "numbers")

    assert len({keys[64:] for keys in found.values()}) == 1
