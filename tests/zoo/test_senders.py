"""``SendTests`` finds the bug of each app that sends twice or never, and accuses no right one."""

import re

import pytest

from pytest_chatfake import SendTests

from ..exploring.cards import cards, failed
from . import senders

ROWS = [name for name in vars(SendTests) if name.startswith("test_")]

EACH = pytest.mark.parametrize("app", senders.FAILED, ids=lambda app: app.__name__)

MODULE = """
from tests.zoo.senders import Tests, {app}, correct

class TestTheBug(Tests):
    make = {app}
    {others}

class TestTheTwin(Tests):
    make = correct({app})
"""


@EACH
def test_each_bug_fails_its_tests_and_names_its_cause_and_its_twin_passes(
    pytester, monkeypatch, app
):
    monkeypatch.setenv("COLUMNS", "400")
    tests, cause = senders.FAILED[app]
    others = [row for row in ROWS if row.removeprefix("test_") not in tests]
    code = MODULE.format(app=app.__name__, others=" = ".join([*others, "None"]))
    pytester.makepyfile(code)
    result = pytester.runpytest()

    assert failed(result) == {"TestTheBug": tests, "TestTheTwin": []}
    first = re.findall("^FAILED .*?: (.*)", cards(result), re.MULTILINE)[0]
    first = re.sub(r"senders\.py:\d+", "senders.py", first)
    # Which of two workers sends first is chance.
    assert re.sub(r"m\d", "m", first) == re.sub(r"m\d", "m", cause)


def test_a_judge_of_rejections_finds_what_is_listed_as_sent(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    pytester.makepyfile("""
        from tests.zoo.senders import ListsWhatIsRejectedAsSent, Tests, correct

        class TestTheBug(Tests):
            make = ListsWhatIsRejectedAsSent

            def rejected(self, snapshot):
                return "sent" not in snapshot.values()

        class TestTheTwin(TestTheBug):
            make = correct(ListsWhatIsRejectedAsSent)

        class TestWithoutAJudge(Tests):
            make = ListsWhatIsRejectedAsSent
    """)
    result = pytester.runpytest("-k", "a_rejected_send")

    assert failed(result) == {
        "TestTheBug": ["a_rejected_send"],
        "TestTheTwin": [],
        "TestWithoutAJudge": [],
    }
    assert "rejected(): expected True, got False for {'order-1': 'sent', 'order-2': " in cards(
        result
    )
    assert "skipped  a_rejected_send: your app gave up, but after a rejection, the snap" in cards(
        result
    )


def test_three_right_senders_pass_all_tests(pytester):
    pytester.makepyfile("from tests.zoo.senders import TestNeverTwice, TestWithKey, TestWithLookup")
    pytester.runpytest().assert_outcomes(passed=24)


def test_a_lock_of_one_process_is_named(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    pytester.makepyfile("""
        from tests.zoo.senders import LocksItsProcess, TestNeverTwice

        class TestLock(TestNeverTwice):
            make = LocksItsProcess
    """)
    result = pytester.runpytest("-k", "TestLock and two_at_once")

    assert "one waited while the other was held before the API call" in cards(result)


def test_a_reply_that_is_dropped_is_found_by_webhook_tests(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    pytester.makepyfile("from tests.zoo.senders import TestDropsReplies, TestReplies")
    result = pytester.runpytest()

    assert failed(result) == {"TestDropsReplies": ["a_failing_api"], "TestReplies": []}
    assert (
        "FAILED   a_failing_api: the 1st POST /v2/messages was refused with 429 and Retry-After; "
        "the message 'We will call you' to +1 was never sent"
    ) in cards(result)
