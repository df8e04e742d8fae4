"""Marks: what is not as the service would do it, and the line of the test that asked for it."""

from __future__ import annotations

from typing import NamedTuple

from .calling_line import Line


class Mark(NamedTuple):
    """One mark.

    Attributes:
        text: What was done, in a word or two: ``duplicate``, for example.
        line: Where the test asked for it.
    """

    text: str
    line: Line

    def __str__(self) -> str:
        return f"[{self.text}: {self.line}]"
