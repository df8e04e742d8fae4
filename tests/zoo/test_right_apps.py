"""No ready-made test accuses a right app, and each that can be tried is.

Nor is a test green on an app that it has not tried.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..forked_pytest import run_pytest
from . import right_apps, shaped_apps  # here, as the runs inside a test forget what they import

#: All that a right app which sends, is signed, and has crash points is tried with.
TRIED = {
    *("all_events_are_taken", "snapshot_changes", "duplicates", "duplicates_under_another_id"),
    *("duplicates_days_later", "duplicates_at_once", "another_order", "a_read_at_once"),
    *("webhooks_before_the_response", "a_crash", "an_error", "a_later_version", "people_write"),
    "forgeries",
}


def rows_of(result: pytest.RunResult) -> dict[str, set[str]]:
    """The tests on the card of the only class of a run, by how they ended."""
    rows: dict[str, set[str]] = {"ok": set(), "FAILED": set(), "skipped": set()}
    for outcome, test in re.findall(
        r"^(ok|FAILED|skipped) +(\w+)(?::|$)", result.stdout.str(), re.MULTILINE
    ):
        rows[outcome].add(test)
    return rows


def check_that_all_was_tried(rows: dict[str, set[str]]) -> None:
    assert set() == rows["FAILED"]
    assert set() == TRIED - rows["ok"]


@pytest.mark.parametrize("tests", ["TestFastAPI", "TestFlask"])
def test_a_right_app_is_tried_in_every_way_and_fails_in_none(
    pytester: pytest.Pytester, tests: str
) -> None:
    pytester.makepyfile(f"from {right_apps.__name__} import {tests}")

    check_that_all_was_tried(rows_of(pytester.runpytest()))


def test_nor_does_one_with_django_s_test_database(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("from tests.zoo.right_django import TestCommitted")
    root = Path(__file__).parents[2]

    check_that_all_was_tried(rows_of(run_pytest(tmp_path, "-o", f"pythonpath={root}")))


def test_two_threads_on_one_connection_accuse_no_app(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"from {right_apps.__name__} import TestFastAPIOnOneConnection")
    rows = rows_of(pytester.runpytest())

    assert set() == rows["FAILED"]
    assert {"all_events_are_taken", "another_order"} <= rows["ok"]


#: What nothing of a form without an event id can be tried with.
NOT_IN_FORMS = {"duplicates_under_another_id", "a_later_version"}


@pytest.mark.parametrize(
    ("tests", "failed", "skipped"),
    [
        ("TestNested", set(), set()),
        ("TestForm", set(), NOT_IN_FORMS),
        (
            "TestCountsNested",
            {"duplicates", "duplicates_under_another_id", "duplicates_days_later"}
            | {"duplicates_at_once", "a_read_at_once"},
            set(),
        ),
        ("TestKnowsAllFields", {"a_later_version"}, set()),
        (
            "TestCountsForms",
            {"duplicates", "duplicates_days_later", "duplicates_at_once", "a_read_at_once"},
            NOT_IN_FORMS,
        ),
    ],
)
def test_statuses_in_a_form_of_the_service_are_tried_in_every_way(
    pytester: pytest.Pytester, tests: str, failed: set[str], skipped: set[str]
) -> None:
    pytester.makepyfile(f"from {shaped_apps.__name__} import {tests}")
    rows = rows_of(pytester.runpytest())

    assert failed == rows["FAILED"]
    assert TRIED - failed - skipped == rows["ok"]
    assert skipped == rows["skipped"]
