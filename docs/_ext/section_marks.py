"""Marks such as §3 rule 5, and the sections of ``docs/reference/service.md`` that they lead to.

Run as a script, it makes every mark of the Markdown pages a link, and writes the addresses at the
end of the page, where they don't disturb who reads the page as text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "docs" / "reference" / "service.md"

#: The pages whose marks are links.
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

#: A mark: a section, and perhaps one of its rules.
MARK = re.compile(r"§\d(?:\.\d)?(?: rule \d)?")

_DEFINITION = re.compile(r"^\[§[^]]*\]: .*\n?", re.MULTILINE)

#: What is left as it is: blocks of code, headings, code in a line, and marks in brackets.
_KEPT = re.compile(r"^ *```.*?^ *```$|^#+ .*?$|`[^`\n]*`|\[§[^]]*\]", re.MULTILINE | re.DOTALL)


def anchors() -> dict[str, str]:
    """The anchors of the sections and rules, by their marks."""
    headings = re.findall(rf"^#+ (({MARK.pattern}).*)$", SERVICE.read_text("utf-8"), re.MULTILINE)
    return {mark: _slug(title) for title, mark in headings}


def _slug(title: str) -> str:
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def linked(text: str, page: Path) -> str:
    """Return the text of a page with every mark a link, and their addresses at its end.

    Raises:
        KeyError: There is no such section.
    """
    text = _DEFINITION.sub("", text).rstrip() + "\n"
    parts, end = [], 0
    for kept in _KEPT.finditer(text):
        parts += [MARK.sub(r"[\g<0>]", text[end : kept.start()]), kept[0]]
        end = kept.end()
    parts.append(MARK.sub(r"[\g<0>]", text[end:]))
    text = "".join(parts)
    used = {mark for mark in re.findall(r"\[(§[^]]*)\]", text) if MARK.fullmatch(mark)}
    if not used:
        return text
    path = "" if page == SERVICE else Path(os.path.relpath(SERVICE, page.parent)).as_posix()
    places = anchors()
    return text + "\n" + "".join(f"[{mark}]: {path}#{places[mark]}\n" for mark in sorted(used))


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(linked(page.read_text("utf-8"), page), "utf-8")
