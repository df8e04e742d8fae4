"""Evidence as aligned text: what a failed expectation shows below its sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: How many rows a failure shows before it cuts the middle out.
_MAX_ROWS = 30


def table(rows: Iterable[Sequence[str]], indent: str = "  ") -> str:
    """Align rows in columns; a long table is cut in the middle, and says so."""
    lines = [tuple(row) for row in rows]
    if not lines:
        return f"{indent}(none)"
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        indent
        + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    if len(texts) > _MAX_ROWS:
        half = _MAX_ROWS // 2
        left_out = f"{indent}... {len(texts) - 2 * half} more ..."
        texts = [*texts[:half], left_out, *texts[-half:]]
    return "\n".join(texts)
