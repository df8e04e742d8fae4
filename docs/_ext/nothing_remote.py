"""The site loads nothing from elsewhere: no script, style, font or picture of another host."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_REMOTE = r"""["']?(?:https?:)?//"""
_LOADED = re.compile(
    rf"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\ssrc={_REMOTE}[^>]*>
    | <link\b(?=[^>]*\srel=["']?(?:stylesheet|preload|preconnect|icon))[^>]*\shref={_REMOTE}[^>]*>
    | @import\s[^;]*//[^;]*;
    | url\({_REMOTE}[^)]*\)""",
    re.VERBOSE,
)


def _check(app: Sphinx, error: Exception | None) -> None:
    if error is not None:
        return
    found = [
        f"{path.relative_to(app.outdir)}: {loaded[0]}"
        for path in sorted(Path(app.outdir).rglob("*"))
        if path.suffix in {".html", ".css", ".svg"}
        for loaded in _LOADED.finditer(path.read_text("utf-8"))
    ]
    if found:
        sys.exit("\n".join(["the site loads things from elsewhere:", *found]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
