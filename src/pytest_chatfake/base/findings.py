"""Findings: what extras found out in a test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Finding:
    """What an extra found out in a test with its own fakes, to show in reports and pages.

    Attributes:
        title: The subject.
        result: How far the extra got, or where the test failed.
        sentence: A sentence that a short report puts before the error's first line.
        text: The whole finding, without secrets.
        test: The source of a test to paste, without secrets; empty if there is none.
        stories: The stories of the fakes that explain the error.
        error: The test's error; None if the test does not fail.
        notes: The notes that were added to the error; short reports leave them out.
    """

    title: str
    result: str
    sentence: str = ""
    text: str = ""
    test: str = ""
    stories: list[Any] = field(default_factory=list[Any])
    error: BaseException | None = None
    notes: list[str] = field(default_factory=list[str])

    def note(self, text: str) -> None:
        assert self.error is not None
        self.error.add_note(text)
        self.notes.append(text)
