"""What each page says of itself to search engines, and to a chat that shows a link to it.

The description is the page's first paragraph. Addresses are told where ``html_baseurl`` is set.
"""

from __future__ import annotations

import textwrap
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Longer descriptions are cut by those who show them.
WIDTH = 200


def _describe(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    first = doctree and doctree.next_node(nodes.paragraph)
    if not first:  # the index and the search
        return
    description = textwrap.shorten(first.astext(), WIDTH, placeholder=" ...")
    fields = {
        "og:type": "website",
        "og:site_name": app.config.project,
        "og:title": unescape(context["title"]),
        "og:description": description,
    }
    if context["pageurl"]:
        fields["og:url"] = context["pageurl"]
    metas = [f'<meta name="description" content="{escape(description)}">']
    metas += [f'<meta property="{name}" content="{escape(fields[name])}">' for name in fields]
    context["metatags"] += "\n".join(["", *metas])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("html-page-context", _describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
