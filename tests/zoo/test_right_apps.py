"""No ready-made test accuses a right app, and each that can be tried is.

Nor is a test green on an app that it has not tried.
"""

from pathlib import Path

from inline_snapshot import snapshot

from pytest_chatfake import WebhookTests

from ..exploring.cards import card, cards, outcomes
from ..forked_pytest import run_pytest
from . import right_apps, shaped_apps  # here, as the runs inside a test forget what they import

#: What a right app which sends, is signed, and has crash points is tried with: everything, but that
#: it sends nothing while it handles a webhook.
ALL_TRIED = dict.fromkeys(
    (name.removeprefix("test_") for name in vars(WebhookTests) if name.startswith("test_")), "ok"
) | {"a_failing_api": "skipped"}


def test_right_apps_are_tried_in_every_way_and_fail_in_none(pytester):
    pytester.makepyfile(f"from {right_apps.__name__} import TestFastAPI, TestFlask")

    assert outcomes(pytester.runpytest()) == {"TestFastAPI": ALL_TRIED, "TestFlask": ALL_TRIED}


def test_a_right_app_with_django_s_test_database_fails_in_no_way(tmp_path):
    (tmp_path / "test_it.py").write_text("from tests.zoo.right_django import TestCommitted")
    root = Path(__file__).parents[2]

    result = run_pytest(tmp_path, "-o", f"pythonpath={root}")
    assert outcomes(result) == {"TestCommitted": ALL_TRIED}


def test_callbacks_that_no_commit_runs_in_a_test_are_named(tmp_path):
    names = "TestAfterTheCommit, TestCapturesCallbacks, TestNeverCommitted"
    (tmp_path / "test_it.py").write_text(f"from tests.zoo.right_django import {names}")
    root = Path(__file__).parents[2]

    result = run_pytest(tmp_path, "-o", f"pythonpath={root}", "-k", "all_events")
    assert cards(result) == snapshot("""\
TestAfterTheCommit
ok       all_events_are_taken: 6 events
TestCapturesCallbacks
ok       all_events_are_taken: 6 events
TestNeverCommitted
ok       all_events_are_taken
           6 events; transaction.on_commit() callbacks never ran: mark the class
           with django_db(transaction=True)
""")


def test_two_threads_on_one_connection_accuse_no_app(pytester):
    pytester.makepyfile(f"from {right_apps.__name__} import TestFastAPIOnOneConnection")
    rows = card(pytester.runpytest())

    assert "FAILED" not in rows.values()
    assert {rows["all_events_are_taken"], rows["another_order"]} == {"ok"}


#: What nothing of a form without an event id can be tried with.
NOT_IN_FORMS = {"duplicates_under_another_id": "skipped"}

#: What an app that counts each status fails.
COUNTING = dict.fromkeys(
    ["duplicates", "duplicates_days_later", "duplicates_at_once", "a_read_at_once"], "FAILED"
)


def test_statuses_in_a_form_of_the_service_are_tried_in_every_way(
    pytester,
):
    pytester.makepyfile(f"from {shaped_apps.__name__} import *")

    assert outcomes(pytester.runpytest()) == {
        "TestNested": ALL_TRIED,
        "TestForm": ALL_TRIED | NOT_IN_FORMS,
        "TestCountsNested": ALL_TRIED | COUNTING | {"duplicates_under_another_id": "FAILED"},
        "TestKnowsAllFields": ALL_TRIED | {"a_later_version": "FAILED"},
        "TestCountsForms": ALL_TRIED | COUNTING | NOT_IN_FORMS,
        "TestMail": ALL_TRIED,
        "TestKnowsAllStatuses": ALL_TRIED | {"a_later_version": "FAILED"},
        "TestKnowsAllFieldsOfForms": ALL_TRIED | NOT_IN_FORMS | {"a_later_version": "FAILED"},
        "TestCountsMail": ALL_TRIED | COUNTING | {"duplicates_under_another_id": "FAILED"},
    }
