"""The first page of the site is ``index.html``: the project's README, under no other name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.builders.html import StandaloneHTMLBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx


class SiteBuilder(StandaloneHTMLBuilder):
    """Writes the root page into another file, and lets all links point there."""

    def _named(self, docname: str) -> str:
        return "index" if docname == self.config.root_doc else docname

    def get_output_path(self, page_name: str, /) -> Path:
        """Return the file of a page."""
        return super().get_output_path(self._named(page_name))

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        """Return the address of a page, from the site's root."""
        return super().get_target_uri(self._named(docname), typ)


def setup(app: Sphinx) -> dict[str, Any]:
    """Take the place of the builder of this name."""
    app.add_builder(SiteBuilder, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
