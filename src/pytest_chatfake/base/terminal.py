"""Writes lines to the terminal, past pytest's capture."""

from __future__ import annotations

import os
from contextlib import suppress

from .escaping import printable

#: The file descriptor of stderr, or a duplicate of it that pytest does not capture.
_descriptor = 2


def speak_through(descriptor: int | None) -> None:
    """Write to this file descriptor from now on; None: stderr's."""
    global _descriptor  # noqa: PLW0603 - a process has one terminal
    _descriptor = 2 if descriptor is None else descriptor


def say(text: str) -> None:
    """Write a line immediately, from any thread; errors of the terminal are ignored."""
    line = f"\nchat_fake: {printable(text)}\n".encode()
    with suppress(OSError):
        os.write(_descriptor, line)
