"""The members in the lists and tables of the reference, as links to their docstrings.

The Markdown has only their names, so it reads the same where there is no site.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: What the sections are about that have no class of the package as their heading.
CLASSES = {"chat_fake.api": "http_api.account_api.AccountApi"}


class MemberLinks(SphinxTransform):
    """Links the first names of list items, and of the rows under the head Member."""

    default_priority = 30

    def apply(self, **kwargs: Any) -> None:
        """Put a reference around each name; one that leads nowhere stays as it is."""
        if not self.env.docname.startswith("docs/reference/"):
            return
        for item in list(self.document.findall(nodes.list_item)):
            if name := _class_of(item):
                for node in takewhile(_is_before_the_colon, list(item[0].children)):
                    if isinstance(node, nodes.literal):
                        node.replace_self(self._link(name, node))
        for table in self.document.findall(nodes.table):
            rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
            name = _class_of(table)
            if name and rows[0][0].astext() == "Member":
                for cell, *_ in rows[1:]:
                    for literal in list(cell.findall(nodes.literal)):
                        literal.replace_self(self._link(name, literal))

    def _link(self, name: str, literal: nodes.literal) -> nodes.Node:
        member = re.split(r"\W", literal.astext())[0]
        return addnodes.pending_xref(
            "",
            literal.deepcopy(),
            refdoc=self.env.docname,
            refdomain="py",
            reftype="obj",
            reftarget=f"pytest_chatfake.{name}.{member}",
        )


def _is_before_the_colon(node: nodes.Node) -> bool:
    return isinstance(node, nodes.literal) or node.astext().strip() == ","


def _class_of(node: nodes.Node) -> str:
    """The class whose name is the heading of the page's section that a node is in."""
    while node.parent is not None:
        title = node.next_node(nodes.title) if isinstance(node, nodes.section) else None
        if title is not None and [type(child) for child in title.children] == [nodes.literal]:
            return CLASSES.get(title.astext(), title.astext())
        node = node.parent
    return ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.add_transform(MemberLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
