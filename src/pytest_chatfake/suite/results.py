"""What a run has to show beside its failures: collected test by test, in workers of xdist too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from ..report import active_stories
from ..report.coverage import exercised
from ..report.story import Story
from .reports import spared, untold

#: Where a report carries what was collected, as JSON knows it: so workers can send it back.
CARRIER: Final = "chat_fake"


class Wanted(NamedTuple):
    """What the options of the run ask for.

    Attributes:
        coverage: Whether to count what the suite exercised.
        page: Where to write the page; None: nowhere.
        fail_under: How many percent must be exercised; None: any.
    """

    coverage: bool
    page: Path | None
    fail_under: float | None


def number_given(
    config: pytest.Config, option: str, expected: str = "percent, from 0 to 100", most: float = 100
) -> float | None:
    """Return the number that an option of the command line was given; None: it was not.

    Raises:
        UsageError: It is no such number.
    """
    given: str | None = config.getoption(option)
    if given is None:
        return None
    with suppress(ValueError):
        if 0 <= (number := float(given)) <= most:
            return number
    raise pytest.UsageError(f"{option} takes {expected}, not {given!r}")


class Results:
    """Looks at the fakes of each test before it is over."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._exercised: set[str] = set()
        active_stories.leaving = self._look_at

    def close(self) -> None:
        """Look at no more."""
        active_stories.leaving = None

    def attach(self, report: pytest.TestReport, *, failed: bool) -> None:
        """Put what was collected into the last report of a test.

        Args:
            report: The report of its teardown.
            failed: Whether any phase of it failed.
        """
        setattr(report, CARRIER, self.collected(failed=failed))

    def collected(self, *, failed: bool) -> dict[str, Any]:
        """Return what was collected of a test, and forget it.

        Args:
            failed: Whether any phase of it failed.
        """
        pictures: list[tuple[str, str]] = []
        for story in active_stories.stories():
            self._look_at(story)
            if self._wanted.page:
                pictures += _shown(story, failed=failed)
        carried: dict[str, Any] = {
            "exercised": sorted(self._exercised),
            "pictures": pictures,
        }
        self._exercised.clear()
        return carried

    def _look_at(self, story: Story) -> None:
        with spared("what a test exercised"):
            if self._wanted.coverage:
                self._exercised |= exercised(story.trace.entries(story.begin_of_test()))


def _shown(story: Story, *, failed: bool) -> Iterator[tuple[str, str]]:
    """Give the text and the picture of a timeline, if there is one."""
    try:
        start = story.begin_of_test()
        if start < story.trace.read():
            yield story.text(start, folded=not failed), story.picture(start, styled=False)
    except Exception as error:
        yield untold(error), ""
