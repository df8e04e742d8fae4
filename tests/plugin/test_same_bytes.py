"""A test emits the same bytes every run: alone, or in another order."""

import re

import pytest

from ..forked_pytest import FEW_PLUGINS, run_pytest

TESTS = """
    import hashlib, os, pathlib
    import pytest

    def note(name, fake):
        digest = hashlib.sha256(b"".join(event.body for event in fake.events)).hexdigest()
        keys = "/".join(event.id for event in fake.events)
        place = pathlib.Path(os.environ["NOTES"])
        place.mkdir(exist_ok=True)
        (place / name).write_text(digest + keys)

    @pytest.mark.parametrize("number", range(4))
    def test_numbers(chat_fake, chat_clock, number):
        chat_fake.send_text("one").deliver(devices=2).read()
        chat_clock.advance(hours=number)
        chat_fake.send_text("two", to="+2").fail()
        note(f"numbers-{number}", chat_fake)

    class TestIt:
        def test_method(self, chat_clock, chat_fake):
            chat_fake.submit_text("three").reject()
            note("method", chat_fake)

    def test_last(chat_fake, chat_clock):
        chat_fake.send_text("one").deliver(devices=2).read()
        note("last", chat_fake)
"""


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
