"""Marks: how something deviates from the service, and which line of the test asked for it."""

from __future__ import annotations

from typing import NamedTuple

from .calling_line import Line


class Mark(NamedTuple):
    """One deviation, as reports show it: ``[duplicate: test_sale.py:12]``.

    Attributes:
        kind: What asked for it: the kind of a fault, ``paused``, ``emit``, ``redeliver``,
            ``disable`` or ``forgery``.
        text: A word or two, such as ``duplicate``.
        line: The line of the test that asked for it.
    """

    kind: str
    text: str
    line: Line

    def __str__(self) -> str:
        return f"[{self.text}]" if self.line.is_fallback else f"[{self.text}: {self.line}]"
