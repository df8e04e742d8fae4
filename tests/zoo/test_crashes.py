"""Exploration finds what a crash between two commits loses, and passes the twins."""

# Asserts read `expected == actual`.

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.orm import Session

from pytest_chatfake import DEFAULT, explore

from .apps import App, correct, world_of
from .crashes import AwaitsBetweenCommits, CommitsTwice
from .test_zoo import failure_of, run_printed

EACH = pytest.mark.parametrize(
    ("app", "points"), [(CommitsTwice, [Session.commit]), (AwaitsBetweenCommits, [])]
)


@EACH
def test_a_crash_between_two_commits_is_found(app: type[App], points: Any) -> None:
    assert explore(world_of(app)).complete
    error, notes = failure_of(app, deviations=["crash"], crash_points=points)

    assert "the app crashed a" in notes
    assert "(crashes.py:" in notes if points else " at crashes.py:" in notes
    assert " while it took `delivered` m1, which was attempted again" in notes
    assert "it was run, and fails the same way" in notes
    with pytest.raises(type(error)):
        run_printed(notes, app, app)
    only = eval(notes.partition("chat_explore(only=")[2].strip()[:-1])
    assert "fails in this world: the app crashed" in failure_of(app, only=only)[1]


def test_the_line_that_awaits_is_named_where_the_call_is_behind_a_greenlet() -> None:
    only = ["webhooks.crash(after='sqlalchemy.orm.Session.commit', start=2)"]
    _, notes = failure_of(AwaitsBetweenCommits, only=only)

    assert "the app crashed after Session.commit (crashes.py:" in notes


@EACH
def test_one_transaction_survives_a_crash_at_any_point(app: type[App], points: Any) -> None:
    exploration = explore(
        world_of(correct(app)), deviations=[*DEFAULT, "crash"], crash_points=points
    )

    assert exploration.complete
    assert exploration.worlds > 12
