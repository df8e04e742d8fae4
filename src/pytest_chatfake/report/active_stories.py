"""The fakes whose stories belong to the test that runs now."""

from __future__ import annotations

import os
import sys
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ..base.current_test import current
from .story import Story


@dataclass
class Explored:
    """What an exploration has found.

    Attributes:
        body: The name of its body.
        result: How many worlds there were, or in which one it failed.
        sentence: What deviated in that world.
        finding: The same with what to do, without secrets.
        test: The source of a test to paste, without secrets; empty: there is none.
        stories: The story of that world's fake; none: no world failed.
        error: The error of that world; None: no world failed.
        notes: What was noted at it.
    """

    body: str
    result: str = "not run yet"
    sentence: str = ""
    finding: str = ""
    test: str = ""
    stories: list[Story] = field(default_factory=list[Story])
    error: BaseException | None = None
    notes: list[str] = field(default_factory=list[str])

    def note(self, text: str) -> None:
        """Add a note to the error."""
        assert self.error is not None
        self.error.add_note(text)
        self.notes.append(text)


def explored() -> deque[Explored]:
    """Return what the explorations of the running test have found."""
    return current().explored


def exploration_of(error: BaseException) -> Explored | None:
    """Return what the exploration has found that failed with an error."""
    return next((found for found in explored() if found.error is error), None)


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
