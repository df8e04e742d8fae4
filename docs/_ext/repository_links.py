"""Links to files of the repository that are no pages, if the repository has an address.

As long as it has none, the site shows their text and their path.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class RepositoryLinks(SphinxTransform):
    """Replaces what MyST would make a download of."""

    default_priority = 10

    def apply(self, **kwargs: Any) -> None:
        """Put the link's text in its place, with the path for who points at it."""
        address = self.config.html_theme_options["source_repository"]
        folder = posixpath.dirname(self.env.docname)
        for link in list(self.document.findall(addnodes.download_reference)):
            path = posixpath.normpath(posixpath.join(folder, link["reftarget"]))
            if address:
                shown = nodes.reference(
                    "", "", *link.children, refuri=f"{address}/blob/main/{path}"
                )
            else:
                shown = nodes.inline("", "", *link.children, classes=["repository-file"])
                shown["title"] = f"{path}, in the repository"
            link.replace_self(shown)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
