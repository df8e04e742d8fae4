"""Exploration finds the bug of every app of the zoo, with defaults, and passes every twin."""

import asyncio
import re

import pytest
import time_machine

from pytest_chatfake import ChatFake, explore

from .apps import HIDDEN, ZOO, ChecksThenInserts, awaited_world_of, correct, world_of
from .calls import CALLS, REPLIES, Caller
from .crashes import CRASHES
from .days import DAYS
from .races import RACES

_HIDDEN = [*HIDDEN, *CALLS, *DAYS, *CRASHES, *RACES]

FOUND_WITH_DEFAULTS = pytest.mark.parametrize("app", [*ZOO, *REPLIES])
EACH_HIDDEN = pytest.mark.parametrize(("app", "kind", "verb"), _HIDDEN)
EVERY = pytest.mark.parametrize("app", [*ZOO, *REPLIES, *(app for app, *_ in _HIDDEN)])


def failure_of(app, **options):
    """What an exploration raises, and its notes."""
    try:
        explored = explore(world_of(app), **options)
    except Exception as error:
        return error, "\n".join(error.__notes__)
    pytest.fail(f"nothing was found: {explored}")


def run_printed(notes, app, make):
    """Run the test that was printed for an app, with one that is made so, as pytest would."""
    source = notes.partition("):\n\n")[2].partition("\nThis world alone")[0]
    names = {app.__name__: make, "make": make}
    exec(source, names)
    with time_machine.travel(1_767_268_800, tick=False), ChatFake(seed="pasted") as fake:
        names["test_what_the_exploration_found"](fake, fake.clock)


def check_printed(notes, error, app):
    """The printed test and the printed list fail as the world did, and pass with the twin."""
    assert "it was run, and fails the same way" in notes
    with pytest.raises(type(error)):
        run_printed(notes, app, app)
    run_printed(notes, app, correct(app))
    (listed,) = re.findall(r"chat_explore\(only=(\[.+\])\)", notes)
    assert "chat_explore: fails in this world: " in failure_of(app, only=eval(listed))[1]
    assert explore(world_of(correct(app)), only=eval(listed)).worlds == 1


@FOUND_WITH_DEFAULTS
def test_the_bug_is_found_with_defaults_and_not_by_the_body_as_written(app):
    assert explore(world_of(app), depth=0).worlds == 1
    error, notes = failure_of(app)

    assert "passes as written; fails in world" in notes
    check_printed(notes, error, app)


@EACH_HIDDEN
def test_what_is_off_finds_what_the_defaults_do_not(app, kind, verb):
    assert explore(world_of(app)).complete
    error, notes = failure_of(app, deviations=[kind], crash_points=app.crash_points)

    assert f"    chat_fake.{verb}\n" in re.sub(r"nth=\d+, ", "", notes)
    assert "threads" not in notes
    check_printed(notes, error, app)


@EVERY
def test_no_twin_fails_in_any_world_of_all_deviations(app):
    depth = 1 if issubclass(app, Caller) else 2  # worlds with calls over a socket take so long
    twin = world_of(correct(app))
    exploration = explore(twin, deviations="all", depth=depth, crash_points=app.crash_points)

    assert exploration.worlds > 6
    assert "cut by" not in str(exploration)


def test_an_async_body_finds_it_in_the_loop_of_the_test():
    async def main():
        twin = correct(ChecksThenInserts)
        assert (await explore(awaited_world_of(ChecksThenInserts))).complete
        assert (await explore(awaited_world_of(twin), deviations=["duplicate_at_once"])).complete
        with pytest.raises(AssertionError) as caught:
            await explore(awaited_world_of(ChecksThenInserts), deviations=["duplicate_at_once"])
        return "\n".join(caught.value.__notes__)

    notes = asyncio.run(main())
    assert "sent m1 arrived twice at the same time" in notes
    assert "it was run, and fails the same way" in notes
    assert "async def test_what_the_exploration_found(chat_fake, chat_clock):" in notes
