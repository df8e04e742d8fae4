"""Characters that no text for people may contain as they are: controls, and what is no character.

A body, an address or a path may have them. A terminal would obey them, and a page or a picture with
one of them is no valid HTML or XML; so they are shown as they would be written.
"""

from __future__ import annotations

import html
import re

#: All but the tab and the end of a line; halves of pairs; and what Unicode says is no character.
_UNPRINTABLE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000)
    )
    + "]"
)


def printable(text: str) -> str:
    r"""Return a text whose control characters are written out: ``\x1b``."""
    return re.sub(_UNPRINTABLE, _written, text)


def one_line(text: str) -> str:
    r"""The same, with ``\n`` for the end of a line."""
    return printable(text).replace("\n", "\\n")


def escape(text: str) -> str:
    """Return a text as a page or a picture takes it, whatever its characters."""
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
