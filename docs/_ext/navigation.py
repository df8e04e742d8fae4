"""The site's table of contents: the chapters of ``docs/README.md``, in its order.

So a page is listed once, and the Markdown needs no directive that only Sphinx understands.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INDEX = Path(__file__).parents[1] / "README.md"

#: A line of the index: a chapter's name, and the links to its pages.
CHAPTER = re.compile(r"^- \*\*(.+?)\*\*: (.*)", re.MULTILINE)
LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\.(?:md|rst)\)")

#: What the index doesn't list, or tells newcomers before its list.
FIRST = [
    ("Overview", "docs/README"),
    ("Your first test", "docs/tutorial/first-test"),
    ("Find a bug", "docs/tutorial/find-the-bug"),
]
LAST = [
    ("Changes", "CHANGELOG"),
    ("Contributing", "CONTRIBUTING"),
    ("Architecture", "ARCHITECTURE"),
    ("Releasing", "RELEASING"),
]


def _toctree(caption: str, entries: list[tuple[str, str]]) -> str:
    lines = [":hidden:", *([f":caption: {caption}"] if caption else []), ""]
    lines += [f"{' '.join(title.split())} </{page}>" for title, page in entries]
    return "\n".join(["", "```{toctree}", *lines, "```", ""])


def _add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == app.config.root_doc:
        source[0] += _toctree("", FIRST)
        for caption, links in CHAPTER.findall(INDEX.read_text("utf-8")):
            pages = [
                (title, posixpath.normpath(f"docs/{page}")) for title, page in LINK.findall(links)
            ]
            source[0] += _toctree(caption, pages)
        source[0] += _toctree("Project", LAST)
    if re.fullmatch("examples/.+/README", docname):
        # Their own index lists them, so they are in no table of contents.
        source[0] = "---\norphan: true\n---\n\n" + source[0]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("source-read", _add_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
