"""The search of the site: ``search.js`` ranks, and the first paragraph of a page counts.

Its words are found as if they stood in one of the page's headings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _add_words(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    indexer = getattr(app.builder, "indexer", None)  # the builder of a translation has none
    first = doctree and doctree.next_node(nodes.paragraph)
    if indexer and first:
        for word in indexer.lang.split(first.astext()):
            if word.isdigit() or indexer.lang.word_filter(word):
                # Sphinx has no public way: its keywords count as text, and numbers not at all.
                indexer._title_mapping.setdefault(indexer.lang.stem(word), set()).add(pagename)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("html-page-context", _add_words)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
