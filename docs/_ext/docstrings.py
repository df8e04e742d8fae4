"""The pages that are made from docstrings: what the code means by its names, for readers.

- A class that only the fake makes shows no call.
- Aliases of the annotations (``Money``) are spelt out.
- An annotation leads to its public class, wherever that is defined; what is not public, or not
  ours, is plain text. A reference that a docstring writes itself has to resolve.
- A mark such as §3 rule 5 leads to its section.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.domains.python import PyObject
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

import pytest_chatfake
from pytest_chatfake import plugin
from section_marks import MARK, anchors

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

#: The pages, and where their marks lead.
PAGES = "docs/reference/python/"
SERVICE = "docs/reference/service"

#: The classes that users call themselves.
MADE_BY_USERS = {
    "ChatFake",
    "ChatFakeConfig",
    "HmacSigner",
    "Naming",
    "PlatformError",
    "StandardWebhooksSigner",
}

#: The aliases that are spelt out.
ALIASES = ("Mode", "Money", "Price", "Signer")


@cache
def _spelt_out() -> dict[str, str]:
    """What the aliases stand for, by the package's own source."""
    found: dict[str, str] = {}
    for path in Path(pytest_chatfake.__file__).parent.rglob("*.py"):
        for line in ast.parse(path.read_text("utf-8")).body:
            target = getattr(line, "target", None) or next(iter(getattr(line, "targets", [])), None)
            if isinstance(target, ast.Name) and target.id in ALIASES:
                found[target.id] = ast.unparse(line.value).replace("'", "")  # type: ignore[attr-defined]
    return found


def _spell_out(text: str | None, aliases: dict[str, str]) -> str | None:
    for _ in range(2):  # one alias may name another
        text = text and re.sub(rf"\b({'|'.join(aliases)})\b", lambda m: aliases[m[1]], text)
    return text


def _signature(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    if what == "class" and name.rpartition(".")[2] not in MADE_BY_USERS:
        return "", None
    aliases = _spelt_out()
    signature = signature and signature.replace("<factory>", "...")  # what a dataclass makes anew
    return _spell_out(signature, aliases), _spell_out(returns, aliases)


def _docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    # reStructuredText knows no plural of a literal.
    lines[:] = [re.sub(r"(``[^`]+``)(\w?)", _apart, line) for line in lines]
    if what in ("attribute", "property"):  # napoleon takes what is before a colon for a type
        lines.insert(0, "")


def _apart(found: re.Match[str]) -> str:
    return rf"{found[1]}\ {found[2]}" if found[2] else found[1]


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    # The fields of a named tuple are described by its docstring.
    return True if type(obj).__name__ == "_tuplegetter" else None


def _resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    if node.get("refdomain") != "py" or "refwarn" in node:
        return None
    name = node["reftarget"].rpartition(".")[2]
    if name not in pytest_chatfake._HOMES:
        return content
    return env.domains["py"].resolve_xref(
        env, node["refdoc"], app.builder, "class", f"pytest_chatfake.{name}", node, content
    )


class SectionMarks(SphinxTransform):
    """Makes links of the marks in docstrings."""

    default_priority = 20

    def apply(self, **kwargs: Any) -> None:
        """Put links in the place of the marks."""
        if not self.env.docname.startswith(PAGES):
            return
        places = anchors()
        for text in list(self.document.findall(nodes.Text)):
            plain = text.replace("\n", " ")  # a mark may go on in the next line
            marks = MARK.findall(plain)
            if marks and not isinstance(text.parent, (nodes.literal, nodes.literal_block)):
                found: list[nodes.Node] = []
                for before, mark in zip(MARK.split(plain), [*marks, ""], strict=True):
                    found.append(nodes.Text(before))
                    if mark:
                        found.append(self._link(mark, places[mark]))
                text.parent.replace(text, found)

    def _link(self, mark: str, anchor: str) -> nodes.Node:
        return addnodes.pending_xref(
            "",
            nodes.inline("", mark),
            refdoc=self.env.docname,
            refdomain="doc",
            reftype="myst",
            reftarget=SERVICE,
            reftargetid=anchor,
            refexplicit=True,
        )


class Fixtures(SphinxDirective):
    """Lists the fixtures of the plugin: their types, scopes and docstrings."""

    def run(self) -> list[nodes.Node]:
        """Write them as autodoc would, if it knew fixtures."""
        lines: list[str] = []
        for name, fixture in vars(plugin).items():
            if name.startswith("chat_"):
                function = fixture._get_wrapped_function()
                gives = re.sub(r"^Iterator\[(.*)\]$", r"\1", function.__annotations__["return"])
                scope = fixture._fixture_function_marker.scope
                lines += [
                    f".. py:data:: {name}",
                    f"   :type: {gives}",
                    "",
                    f"   {function.__doc__}",
                    "",
                    f"   Scope: {'test' if scope == 'function' else scope}.",
                    "",
                ]
        return self.parse_text_to_nodes(StringList(lines, source=plugin.__file__))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-process-docstring", _docstring, priority=400)  # before napoleon's
    app.connect("autodoc-skip-member", _skip)
    app.connect("missing-reference", _resolve)
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    app.add_transform(SectionMarks)
    app.add_directive("chat-fixtures", Fixtures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
