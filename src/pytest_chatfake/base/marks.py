"""Marks: what is not as the service would do it, and the line of the test that asked for it."""

from __future__ import annotations

from typing import NamedTuple

from .calling_line import Line


class Mark(NamedTuple):
    """One mark.

    Attributes:
        kind: The verb that did it: the kind of a fault, or ``redeliver``, for example.
        text: What was done, in a word or two: ``duplicate``, for example.
        line: Where the test asked for it.
    """

    kind: str
    text: str
    line: Line

    def __str__(self) -> str:
        return f"[{self.text}: {self.line}]"
