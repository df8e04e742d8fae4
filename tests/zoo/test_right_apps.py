"""No ready-made test accuses a right app, and each that can be tried is.

Nor is a test green on an app that it has not tried.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..forked_pytest import run_pytest
from . import right_apps, shaped_apps  # here, as the runs inside a test forget what they import
from .cards import cards_of

if TYPE_CHECKING:
    import pytest

#: All that a right app which sends, is signed, and has crash points is tried with.
TRIED = {
    *("all_events_are_taken", "snapshot_changes", "duplicates", "duplicates_under_another_id"),
    *("duplicates_days_later", "duplicates_at_once", "another_order", "a_read_at_once"),
    *("webhooks_before_the_response", "a_crash", "an_error", "a_later_version", "people_write"),
    "forgeries",
}


ALL_TRIED: dict[str, set[str]] = {"ok": TRIED, "FAILED": set(), "skipped": set()}


def test_right_apps_are_tried_in_every_way_and_fail_in_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"from {right_apps.__name__} import TestFastAPI, TestFlask")

    cards = cards_of(pytester.runpytest())
    assert cards == {"TestFastAPI": ALL_TRIED, "TestFlask": ALL_TRIED}


def test_nor_does_one_with_django_s_test_database(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("from tests.zoo.right_django import TestCommitted")
    root = Path(__file__).parents[2]

    cards = cards_of(run_pytest(tmp_path, "-o", f"pythonpath={root}"))
    assert cards == {"TestCommitted": ALL_TRIED}


def test_two_threads_on_one_connection_accuse_no_app(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"from {right_apps.__name__} import TestFastAPIOnOneConnection")
    (rows,) = cards_of(pytester.runpytest()).values()

    assert set() == rows["FAILED"]
    assert {"all_events_are_taken", "another_order"} <= rows["ok"]


#: What nothing of a form without an event id can be tried with.
NOT_IN_FORMS = {"duplicates_under_another_id", "a_later_version"}

#: What an app that counts each status fails.
COUNTING = {"duplicates", "duplicates_days_later", "duplicates_at_once", "a_read_at_once"}


def test_statuses_in_a_form_of_the_service_are_tried_in_every_way(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(f"from {shaped_apps.__name__} import *")
    failed_and_skipped = {
        "TestNested": (set(), set()),
        "TestForm": (set(), NOT_IN_FORMS),
        "TestCountsNested": (COUNTING | {"duplicates_under_another_id"}, set()),
        "TestKnowsAllFields": ({"a_later_version"}, set()),
        "TestCountsForms": (COUNTING, NOT_IN_FORMS),
    }

    assert cards_of(pytester.runpytest()) == {
        name: {"ok": TRIED - failed - skipped, "FAILED": failed, "skipped": skipped}
        for name, (failed, skipped) in failed_and_skipped.items()
    }
