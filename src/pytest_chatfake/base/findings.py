"""What an extra found out in a test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Finding:
    """What an extra found out in a test with fakes of its own; reports and pages show it.

    Attributes:
        title: What it is about.
        result: How far the extra came, or where the test failed.
        sentence: A short report puts it before the first line of the error.
        text: The whole finding, without secrets.
        test: The source of a test to paste, without secrets; empty if there is none.
        stories: The stories of the fakes that explain the error.
        error: What the test fails with; None if it does not fail.
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
        """Add a note to the error."""
        assert self.error is not None
        self.error.add_note(text)
        self.notes.append(text)
