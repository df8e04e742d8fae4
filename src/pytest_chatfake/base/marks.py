"""Marks: what is not as the service would do it, and the line of the test that asked for it."""

from __future__ import annotations

from typing import NamedTuple

from .calling_line import Line


class Mark(NamedTuple):
    """One mark.

    Attributes:
        kind: What was done: the kind of a fault, or ``again``, for example.
        line: Where the test asked for it.
        text: What a report says; empty: the kind.
    """

    kind: str
    line: Line
    text: str = ""

    def __str__(self) -> str:
        return f"[{self.text or self.kind}: {self.line}]"
