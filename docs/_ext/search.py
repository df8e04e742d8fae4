"""The search of the site: ``search.js`` ranks, and a page's line in ``docs/README.md`` counts.

The words of that line are found as if they stood in one of the page's headings.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from navigation import ENTRY, INDEX

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _add_words(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    indexer = getattr(app.builder, "indexer", None)  # the builder of a translation has none
    for title, page, rest in ENTRY.findall(INDEX.read_text("utf-8")):
        if indexer and pagename == posixpath.normpath(f"docs/{page}"):
            for word in indexer.lang.split(title + rest):
                if word.isdigit() or indexer.lang.word_filter(word):
                    # Sphinx has no public way: its keywords count as text, and numbers not at all.
                    indexer._title_mapping.setdefault(indexer.lang.stem(word), set()).add(pagename)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("html-page-context", _add_words)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
