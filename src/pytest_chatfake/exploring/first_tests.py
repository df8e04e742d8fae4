"""Tests of ``WebhookTests`` that report a cause: if one fails, others that also would say so."""

from __future__ import annotations

from typing import Final

import pytest

#: If this test fails, tests that would fail for the same reason are skipped.
FIRST: Final = "test_all_events_are_taken"

#: If this test fails, tests that compare snapshots are skipped.
CHANGE: Final = "test_snapshot_changes"

#: If this test fails, the fake's books are not used in other tests, and those that need them are
#: skipped.
RIGHT: Final = "test_snapshot_is_right"

#: If this test fails, another order of events is not reported in other tests.
ORDER: Final = "test_another_order"

#: Which of these have failed in this process: the node of the class, the ids of parameters, and the
#: test's own name.
_failed_key: Final = pytest.StashKey[set[tuple[object, str, str]]]()


def has_failed(item: pytest.Item, name: str) -> bool:
    """Return whether one of them has failed in the class of a test, with the same parameters."""
    return _key_of(item, name) in _failed_in(item)


def note_result(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Note whether a test is one of them and has failed; after retries, the last run counts."""
    name = getattr(item, "originalname", item.name)
    if report.when != "call" or name not in {FIRST, CHANGE, RIGHT, ORDER}:
        return
    _failed_in(item).discard(_key_of(item, name))
    # A failed report without an error is an expected failure that passed.
    if report.failed and call.excinfo is not None:
        _failed_in(item).add(_key_of(item, name))


def _failed_in(item: pytest.Item) -> set[tuple[object, str, str]]:
    return item.session.stash.setdefault(_failed_key, set())


def _key_of(item: pytest.Item, name: str) -> tuple[object, str, str]:
    ids = item.name.removeprefix(getattr(item, "originalname", item.name))
    return item.parent, ids, name
