"""``llms.txt``: the list of pages in plain Markdown, for language models that read the site.

The format is that of https://llmstxt.org. The entries are those of ``docs/README.md``.
"""

from __future__ import annotations

import posixpath
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigation import ENTRY, INDEX

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Links in what is said of a page keep their words.
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def listed(index: str, base_url: str) -> str:
    """Return the text of ``llms.txt`` for an index of pages."""
    summary = metadata.metadata("pytest-chatfake")["Summary"]
    lines = ["# pytest-chatfake", "", f"> {summary}"]
    for chapter in re.split(r"^##+ ", index, flags=re.MULTILINE)[1:]:
        entries = ENTRY.findall(chapter)
        if entries:
            lines += ["", f"## {chapter.splitlines()[0]}", ""]
        for title, page, rest in entries:
            url = base_url + posixpath.normpath(f"docs/{page}.html")
            notes = LINK.sub(r"\1", " ".join(rest.split())).lstrip(":, ")
            lines.append(f"- [{title}]({url}): {notes}" if notes else f"- [{title}]({url})")
    return "\n".join([*lines, ""])


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        text = listed(INDEX.read_text("utf-8"), app.config.html_baseurl)
        (Path(app.outdir) / "llms.txt").write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
