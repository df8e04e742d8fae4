"""Exploration finds the bug of every app of the zoo, with defaults, and passes every twin."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
import time_machine

from pytest_chatfake import ChatFake, explore

from .apps import HIDDEN, ZOO, Animal, buggy, checks_then_inserts_awaited, correct

if TYPE_CHECKING:
    from collections.abc import Callable

EVERY = pytest.mark.parametrize("animal", ZOO, ids=[one.app.__name__ for one in ZOO])


def found_in(body: Callable[[ChatFake], None], **options: Any) -> Exception:
    """What an exploration raises."""
    try:
        explored = explore(body, **options)
    except Exception as error:
        return error
    pytest.fail(f"nothing was found: {explored}")


def notes_of(error: Exception) -> str:
    return "\n".join(error.__notes__)


def run_frozen(test: Callable[..., None]) -> None:
    """Run a test as pytest would: with a fake and a clock at a fixed moment."""
    with time_machine.travel(1_767_268_800, tick=False), ChatFake(seed="pasted") as fake:
        test(fake, fake.clock)


def printed_test(error: Exception) -> Callable[[Any], Callable[..., None]]:
    """The test that was printed, for an app that is made so."""
    (source,) = [
        note.partition("\n\n")[2] for note in error.__notes__ if "As a test of its own" in note
    ]

    def test_with(make: Any) -> Callable[..., None]:
        from . import apps

        space: dict[str, Any] = {**vars(apps), "make": make}
        exec(source, space)
        return space["test_what_the_exploration_found"]

    return test_with


@EVERY
def test_the_body_as_written_does_not_show_the_bug(animal: Animal) -> None:
    assert 1 == explore(animal.body(buggy(animal)), depth=0).worlds


@EVERY
def test_the_bug_is_found_with_defaults(animal: Animal) -> None:
    notes = notes_of(found_in(animal.body(buggy(animal))))

    assert "passes as written; fails in world" in notes
    assert "it was run, and fails the same way" in notes


@EVERY
def test_the_twin_passes_every_world(animal: Animal) -> None:
    exploration = explore(animal.body(correct(animal)))

    assert exploration.complete, exploration
    assert exploration.worlds > 1


@EVERY
def test_the_printed_test_fails_as_the_world_did_and_passes_with_the_twin(animal: Animal) -> None:
    error = found_in(animal.body(buggy(animal)))
    test = printed_test(error)

    with pytest.raises(type(error)):
        run_frozen(test(buggy(animal)))
    run_frozen(test(correct(animal)))


@EVERY
def test_the_world_is_run_alone_with_the_list_that_is_printed(animal: Animal) -> None:
    body = animal.body(buggy(animal))
    notes = notes_of(found_in(body))
    (listed,) = re.findall(r"chat_explore\(only=(\[.+\])\)", notes)

    error = found_in(body, only=eval(listed))

    assert "chat_explore: fails in this world" in notes_of(error)
    assert 1 == explore(animal.body(correct(animal)), only=eval(listed)).worlds


# -- what is off unless asked for ------------------------------------------------------------------

EACH_HIDDEN = pytest.mark.parametrize(
    ("animal", "kind", "verb"), HIDDEN, ids=[one.app.__name__ for one, _, _ in HIDDEN]
)


@EACH_HIDDEN
def test_what_is_off_finds_what_the_defaults_do_not(animal: Animal, kind: str, verb: str) -> None:
    assert explore(animal.body(buggy(animal))).complete
    notes = notes_of(found_in(animal.body(buggy(animal)), deviations=[kind]))

    assert "it was run, and fails the same way" in notes
    assert f"    chat_fake.{verb}\n" in notes
    assert f"chat_explore(only=['{verb}'])" in notes
    assert "threads" not in notes


@EACH_HIDDEN
def test_its_twin_passes_every_world(animal: Animal, kind: str, verb: str) -> None:
    exploration = explore(animal.body(correct(animal)), deviations=[kind, "duplicate", "reorder"])

    assert exploration.complete
    assert exploration.worlds > 3
    assert 1 == explore(animal.body(correct(animal)), only=[verb]).worlds


@EACH_HIDDEN
def test_its_printed_test_fails_alike_and_passes_with_the_twin(
    animal: Animal, kind: str, verb: str
) -> None:
    error = found_in(animal.body(buggy(animal)), deviations=[kind])
    test = printed_test(error)

    with pytest.raises(type(error)):
        run_frozen(test(buggy(animal)))
    run_frozen(test(correct(animal)))


def test_an_async_body_finds_it_in_the_loop_of_the_test() -> None:
    animal = Animal(HIDDEN[0][0].app, checks_then_inserts_awaited)

    async def main() -> str:
        assert (await explore(animal.body(buggy(animal)))).complete
        assert (await explore(animal.body(correct(animal)), deviations=["concurrently"])).complete
        with pytest.raises(AssertionError) as caught:
            await explore(animal.body(buggy(animal)), deviations=["concurrently"])
        return "\n".join(caught.value.__notes__)

    notes = asyncio.run(main())
    assert "`sent` m1 was attempted twice at the same time" in notes
    assert "it was run, and fails the same way" in notes
    assert "async def test_what_the_exploration_found(chat_fake, chat_clock):" in notes


def test_the_zoo_is_large_enough() -> None:
    assert len({animal.app for animal in ZOO}) == len(ZOO) >= 12
