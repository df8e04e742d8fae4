"""The search of the site: what ``search.js`` ranks by.

Sphinx only knows which words stand on a page and in its headings. Here the words of a page's first
paragraph are found as if they stood in one of its headings, and the index says which words stand
together: in one paragraph, item, row or block of code, under its headings. The parts of a name are
words, too: "top up" finds ``top_up()``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx
    from sphinx.search import IndexBuilder


def _words(indexer: IndexBuilder, text: str) -> set[str]:
    # Sphinx has no public way: its keywords count as text, and numbers not at all.
    return {
        indexer.lang.stem(word).lower()
        for word in indexer.lang.split(f"{text} {text.replace('_', ' ')}")
        if word.isdigit() or indexer.lang.word_filter(word)
    }


def _passages(doctree: nodes.document) -> Iterator[str]:
    for node in doctree.findall():
        if isinstance(node, nodes.row | nodes.paragraph | nodes.literal_block):
            around = [node]
            while around[-1].parent:
                around.append(around[-1].parent)
            if not any(isinstance(parent, nodes.row) for parent in around[1:]):
                titles = [one[0] for one in around if isinstance(one, nodes.section)]
                yield "\n".join(one.astext() for one in [*titles, node])


def _keep_passages(app: Sphinx, doctree: nodes.document) -> None:
    if app.env.docname.startswith("docs/reference/python/"):
        return  # the index would be a tenth larger, and who asks a question wants no signature
    # Sphinx keeps metadata for the next build, which may read other pages only.
    app.env.metadata[app.env.docname]["passages"] = list(_passages(doctree))


def _add_first_paragraph(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    indexer = getattr(app.builder, "indexer", None)  # the builder of a translation has none
    first = doctree and doctree.next_node(nodes.paragraph)
    if indexer and first:
        for word in _words(indexer, first.astext()):
            indexer._title_mapping.setdefault(word, set()).add(pagename)


def _add_passages(app: Sphinx) -> list[Any]:
    """Let the index say, for each word, in which passages of each page it stands."""
    indexer = getattr(app.builder, "indexer", None)
    if indexer:
        freeze = indexer.freeze

        def freeze_all() -> dict[str, Any]:
            found: dict[str, dict[int, list[int]]] = {}
            for page, name in enumerate(sorted(indexer._titles)):
                for number, text in enumerate(app.env.metadata[name].get("passages", [])):
                    for word in sorted(_words(indexer, text)):
                        if not word.isdigit():
                            indexer._mapping.setdefault(word, set()).add(name)
                        found.setdefault(word, {}).setdefault(page, []).append(number)
            return {**freeze(), "passages": found}

        indexer.freeze = freeze_all
    return []  # no page more


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    # Stop words of Sphinx that mean something here: "Retry-After", "exactly once".
    SearchEnglish.stopwords -= {"after", "no", "not", "once"}
    app.connect("doctree-read", _keep_passages)
    app.connect("html-page-context", _add_first_paragraph)
    app.connect("html-collect-pages", _add_passages)
    return {"env_version": 1, "parallel_read_safe": True, "parallel_write_safe": False}
