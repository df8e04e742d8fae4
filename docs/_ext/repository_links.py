"""Links to files of the repository that are no pages: the site shows their text and their path.

The project has no public address that such a link could lead to.
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
        folder = posixpath.dirname(self.env.docname)
        for link in list(self.document.findall(addnodes.download_reference)):
            path = posixpath.normpath(posixpath.join(folder, link["reftarget"]))
            text = nodes.inline("", "", *link.children, classes=["repository-file"])
            text["title"] = f"{path}, in the repository"
            link.replace_self(text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
