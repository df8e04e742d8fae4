"""The fakes whose stories belong to the test that runs now."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

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


#: Those of all fakes that exist; a fake may outlive its test.
_existing: WeakSet[Story] = WeakSet()

#: Those that the running test may have used; of many, the last ones. None: no test is running.
_watched: deque[Story] | None = None

#: Looks at a story before it is forgotten.
on_forget: Callable[[Story], None] | None = None

#: Returns whether the running test has failed already, or was skipped; None: no test is running.
_is_lost: Callable[[], bool] | None = None

#: The example that Hypothesis ran when a watched story began, by the story's number.
_examples: dict[int, Any] = {}

#: How many fakes of one test a report shows, and how many explorations.
_MOST = 10

#: What the explorations of the running test have found.
explored: deque[Explored] = deque(maxlen=_MOST)


def exploration_of(error: BaseException) -> Explored | None:
    """Return what the exploration has found that failed with an error."""
    return next((found for found in explored if found.error is error), None)


def begin(is_lost: Callable[[], bool]) -> None:
    """Begin a test: what happened before in fakes that live on belongs to others."""
    global _is_lost, _watched  # noqa: PLW0603 - there is one test at a time in a process
    _is_lost = is_lost
    open_stories = sorted(
        (story for story in _existing if not story.engine.core.closed), key=lambda story: story.born
    )
    _watched = deque(open_stories, _MOST)
    _examples.clear()
    for story in _watched:
        story.skip()


def end() -> None:
    """End a test."""
    global _is_lost, _watched  # noqa: PLW0603 - as above
    _is_lost = _watched = None
    _examples.clear()
    explored.clear()


def register(story: Story) -> None:
    """Add a new fake's story to those of the running test."""
    global _watched  # noqa: PLW0603 - as above
    _existing.add(story)
    if _watched is None and is_in_a_test():
        _watched = deque(maxlen=_MOST)
    if _watched is not None:
        _leave_other_examples(story)
        if len(_watched) == _MOST:
            before_forget(_watched[0])
        _watched.append(story)


def _leave_other_examples(story: Story) -> None:
    """Unwatch the stories of earlier examples of Hypothesis.

    A test of it makes hundreds of fakes; those of the example that falsifies it come last. Where it
    has found several failures, it shows an example of each, and says which these are.
    """
    control: Any = sys.modules.get("hypothesis.control")
    if control is None or not control.currently_in_test_context():
        return
    example = control.current_build_context()
    for other in stories():
        before = _examples.get(other.born)
        if before not in (None, example) and not before.is_final:
            before_forget(other)
            unwatch(other)
    _examples[story.born] = example


def before_forget(story: Story) -> None:
    """Show a story to ``on_forget``, before a reset or too many others make it unknown."""
    if on_forget is not None:
        on_forget(story)


def unwatch(story: Story) -> None:
    """Take a story from the running test: others show it."""
    if _watched is not None and story in _watched:
        _watched.remove(story)
        _examples.pop(story.born, None)


def is_in_a_test() -> bool:
    """Return whether pytest runs a test, which shows the stories itself if it fails."""
    return _watched is not None or "PYTEST_CURRENT_TEST" in os.environ


def is_lost() -> bool:
    """Return whether the test has failed already, or was skipped: nothing is added to that."""
    return _is_lost is not None and _is_lost()


def stories() -> list[Story]:
    """Return the stories of the running test, in the order in which the fakes were made."""
    return list(_watched or ())
