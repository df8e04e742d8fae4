"""The site's table of contents: the lists of ``docs/README.md``, which are there for readers.

So a page has to be listed once, and the Markdown needs no directive that only Sphinx understands.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INDEX = Path(__file__).parents[1] / "README.md"

#: A line of the lists: a title, its page, and what else is said of it.
ENTRY = re.compile(r"^- \[(.+?)\]\((.+?)\.(?:md|rst)\)(.*(?:\n  .*)*)", re.MULTILINE)

#: What the lists don't have.
FIRST = [("Overview", "docs/README")]
LAST = [
    ("Changes", "CHANGELOG"),
    ("Contributing", "CONTRIBUTING"),
    ("Architecture", "ARCHITECTURE"),
    ("Releasing", "RELEASING"),
]


def chapters(text: str) -> dict[str, list[tuple[str, str]]]:
    """Give the lists of an index: their headings, and for each the titles and pages."""
    found: dict[str, list[tuple[str, str]]] = {}
    for heading in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]:
        caption = heading.partition("\n")[0]
        entries = ENTRY.findall(heading)
        if entries:
            found[caption] = [(title, posixpath.normpath(f"docs/{at}")) for title, at, _ in entries]
    return found


def _toctree(caption: str, entries: list[tuple[str, str]]) -> str:
    lines = [":hidden:", *([f":caption: {caption}"] if caption else []), ""]
    lines += [f"{title} </{page}>" for title, page in entries]
    return "\n".join(["", "```{toctree}", *lines, "```", ""])


def _add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == app.config.root_doc:
        found = chapters(INDEX.read_text("utf-8"))
        source[0] += _toctree("", FIRST)
        source[0] += "".join(_toctree(*chapter) for chapter in found.items())
        source[0] += _toctree("Project", LAST)
    if docname.startswith("examples/"):
        # One line lists them all, so they are in no table of contents.
        source[0] = "---\norphan: true\n---\n\n" + source[0]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("source-read", _add_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
