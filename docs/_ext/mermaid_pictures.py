"""Mermaid diagrams as pictures, drawn when the site is built: one for light, one for dark."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import mermaidx
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: The themes of the diagrams, by the class that shows a picture in one of the site's modes.
THEMES = {"only-light": "neutral", "only-dark": "dark"}


class Mermaid(SphinxDirective):
    """The directive behind a block of Mermaid."""

    has_content = True
    required_arguments: ClassVar[int] = 0

    def run(self) -> list[nodes.Node]:
        """Draw the diagram, and show its pictures."""
        source = "\n".join(self.content)
        return [self._picture(source, shown, theme) for shown, theme in THEMES.items()]

    def _picture(self, source: str, shown: str, theme: str) -> nodes.Node:
        name = hashlib.sha256(f"{theme}\n{source}".encode()).hexdigest()[:16]
        path = Path(self.env.app.outdir) / "_diagrams" / f"{name}.svg"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(mermaidx.render(source, theme=theme).svg(), "utf-8")
        # reStructuredText's own way would copy the picture; it lies where it belongs already.
        up = "../" * self.env.docname.count("/")
        picture = f'<img src="{up}_diagrams/{name}.svg" alt="a diagram of what the text says">'
        return nodes.raw("", f'<div class="diagram {shown}">{picture}</div>', format="html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.add_directive("mermaid", Mermaid)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
