"""What becomes of a test that can't be told: it keeps its own outcome, and the run goes on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..base.terminal import say
from ..base.tracebacks import text_of


def untold(error: Exception) -> str:
    """Say why something can't be told, in place of it."""
    return f"it can't be told: {type(error).__name__}: {text_of(error)}"


@contextmanager
def spared(what: str) -> Generator[None]:
    """Let nothing that goes wrong in a block leave it; it is said on the terminal.

    Args:
        what: What the block tells.
    """
    try:
        yield
    except Exception as error:
        say(f"{what}: {untold(error)}")
