"""Control characters and code points that are no characters, written out as escapes.

A body, an address or a path may contain them. A terminal would obey them: marks of direction change
the order of what is shown. And most are not valid in HTML or XML.
"""

from __future__ import annotations

import html
import re

#: All but the tab and the newline; marks of direction; lone surrogates; and the noncharacters of
#: Unicode.
_UNPRINTABLE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufdd0-\ufdef"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000)
    )
    + "]"
)


def printable(text: str) -> str:
    r"""Return a text with its control characters as escapes: ``\x1b``."""
    return re.sub(_UNPRINTABLE, _written, text)


def one_line(text: str) -> str:
    r"""Return the same on one line, with ``\n`` for a newline."""
    return printable(text).replace("\n", "\\n")


def escape(text: str) -> str:
    """Return a text for HTML or XML."""
    return html.escape(printable(text))


def _written(match: re.Match[str]) -> str:
    code = ord(match[0])
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
