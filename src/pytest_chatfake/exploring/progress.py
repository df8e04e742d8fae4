"""A line on the terminal that says how far an exploration is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def progress(config: pytest.Config) -> Callable[[str], None]:
    """Return what writes a progress line, if a person is watching."""
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if terminal is None or capture is None or terminal.verbosity < 0:
        return lambda _: None
    # In pytest 8.4 it is a bool, then a bool that can be called; a method is what it should be.
    if not (terminal.isatty() if callable(terminal.isatty) else terminal.isatty):
        return lambda _: None

    def rewrite(text: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.rewrite(text, erase=True)

    return rewrite
