"""The fakes whose stories belong to the test that runs now."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..base.current_test import current
from .story import Story


def register(story: Story) -> None:
    """Add a new fake's story to those of the running test."""
    test = current()
    if test.item is not None:
        _leave_other_examples(story)
        if len(test.stories) == test.stories.maxlen:
            test.before_forget(test.stories[0])
        test.stories.append(story)


def _leave_other_examples(story: Story) -> None:
    """Unwatch the stories of earlier examples of Hypothesis.

    A test of it makes hundreds of fakes; those of the example that falsifies it come last. Where it
    has found several failures, it shows an example of each, and says which these are.
    """
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
    """Take a story from the running test: others show it."""
    test = current()
    if story in test.stories:
        test.stories.remove(story)
        test.examples.pop(story.number, None)


def is_in_a_test() -> bool:
    """Return whether pytest runs a test, which shows the stories itself if it fails."""
    return current().item is not None or "PYTEST_CURRENT_TEST" in os.environ


def stories() -> list[Story]:
    """Return the stories of the running test, in the order in which the fakes were made."""
    return list(current().stories)
