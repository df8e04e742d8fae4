"""Shows an exploration's progress line on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def progress(config: pytest.Config) -> Callable[[str], None]:
    """Return a function that shows a progress line, or a no-op without a terminal."""
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if terminal is None or capture is None or terminal.verbosity < 0:
        return lambda _: None
    # Depending on pytest's version, it is a bool, a callable bool, or a method.
    if not (terminal.isatty() if callable(terminal.isatty) else terminal.isatty):
        return lambda _: None

    def rewrite(text: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.rewrite(text, erase=True)

    return rewrite
