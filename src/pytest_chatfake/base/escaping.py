"""Escapes control characters, and code points that aren't characters.

A body, an address or a path may contain them. A terminal would obey them (direction marks, for
example, reorder a line), and most are invalid in HTML or XML.
"""

from __future__ import annotations

import html
import re

#: Control characters except tab and newline; direction marks; lone surrogates; noncharacters.
_UNPRINTABLE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufdd0-\ufdef"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000)
    )
    + "]"
)


def printable(text: str) -> str:
    r"""Escape everything that a terminal would obey: ``\x1b``."""
    return re.sub(_UNPRINTABLE, _written, text)


def one_line(text: str) -> str:
    r"""Escape newlines as well: ``\n``."""
    return printable(text).replace("\n", "\\n")


def escape(text: str) -> str:
    """Escape a text for HTML or XML."""
    return html.escape(printable(text))


def _written(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
