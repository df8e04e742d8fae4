"""The fakes that belong to the running test, for its report."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..base.current_test import current
from .story import Story


def register(story: Story) -> None:
    test = current()
    if test.item is not None:
        _leave_other_examples(story)
        if len(test.stories) == test.stories.maxlen:
            test.before_forget(test.stories[0])
        test.stories.append(story)


def _leave_other_examples(story: Story) -> None:
    # A Hypothesis test makes hundreds of fakes, and the failing example comes last. If Hypothesis
    # finds several failures, it replays an example of each, marked as final.
    control: Any = sys.modules.get("hypothesis.control")
    if control is None or not control.currently_in_test_context():
        return
    test, example = current(), control.current_build_context()
    for other in stories():
        before = test.examples.get(other.number)
        if before not in (None, example) and not before.is_final:
            test.before_forget(other)
            unwatch(other)
    test.examples[story.number] = example


def unwatch(story: Story) -> None:
    """Remove a story from the running test, whose report then leaves the fake out."""
    test = current()
    if story in test.stories:
        test.stories.remove(story)
        test.examples.pop(story.number, None)


def is_in_a_test() -> bool:
    """Return whether a test is running, whose failure report would show the stories."""
    return current().item is not None or "PYTEST_CURRENT_TEST" in os.environ


def stories() -> list[Story]:
    return list(current().stories)
