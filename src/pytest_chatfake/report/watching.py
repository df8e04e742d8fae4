"""The fakes whose stories belong to the test that runs now."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from weakref import WeakSet

from .sections import Story

#: Those of fakes that live; a fake may live longer than a test.
_living: WeakSet[Story] = WeakSet()

#: Those that the running test may have used; of many, the last ones. None: no test is running.
_watched: deque[Story] | None = None

#: Looks at a story before it is lost.
leaving: Callable[[Story], None] | None = None

#: How many fakes of one test are told of: a test of Hypothesis makes hundreds.
_MOST = 10


def begin() -> None:
    """Begin a test: what happened before in fakes that live on belongs to others."""
    global _watched  # noqa: PLW0603 - there is one test at a time in a process
    living = sorted((one for one in _living if not one.engine.closed), key=lambda one: one.born)
    _watched = deque(living, _MOST)
    for story in _watched:
        story.skip()


def end() -> None:
    """End a test."""
    global _watched  # noqa: PLW0603 - as above
    _watched = None


def register(story: Story) -> None:
    """Let a new fake's story be that of the running test."""
    global _watched  # noqa: PLW0603 - as above
    _living.add(story)
    if _watched is None and is_in_a_test():
        _watched = deque(maxlen=_MOST)
    if _watched is not None:
        if len(_watched) == _MOST:
            left(_watched[0])
        _watched.append(story)


def left(story: Story) -> None:
    """Let a story be looked at before it is lost: by a reset, or because of too many others."""
    if leaving is not None:
        leaving(story)


def dismiss(story: Story) -> None:
    """Let a fake's story be nobody's: it is told elsewhere."""
    if _watched is not None and story in _watched:
        _watched.remove(story)


def is_in_a_test() -> bool:
    """Return whether pytest runs a test, which shows the stories itself if it fails."""
    return _watched is not None or "PYTEST_CURRENT_TEST" in os.environ


def stories() -> list[Story]:
    """Return the stories of the running test, in the order in which the fakes were made."""
    return list(_watched or ())
