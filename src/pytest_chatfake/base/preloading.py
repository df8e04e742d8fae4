"""Imports modules before the first test, if a test may use them.

A test may mock what a module imports. If the module were imported inside the mock, it would keep
the mock for the session. Every pytest run imports this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

#: The modules to import if a test may use one of these names; each plugin adds its own.
_needed: dict[frozenset[str], tuple[str, ...]] = {}


def needs(names: Collection[str], *modules: str) -> None:
    """Let :func:`preload` import modules if a test may use a fixture with one of these names."""
    _needed[frozenset(names)] = modules


def preload(session: Any) -> None:
    """Import what is needed if a test of a session has, or may ask for, one of the fixtures.

    A test asks for a fixture while it runs with ``getfixturevalue()``; then some code names it.
    """
    if session.config.getoption("collectonly", False):
        return
    fixtures = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    unused = [names for names in _needed if fixtures.isdisjoint(names)]
    sources = _sources(session)
    while unused and (code := next(sources, None)) is not None:
        unused = [names for names in unused if not any(name.encode() in code for name in names)]
    for names, modules in _needed.items():
        for module in () if names in unused else modules:
            import_module(module)


def _sources(session: Any) -> Iterator[bytes]:
    # The tests', and those of the project's modules that they have imported.
    modules = [getattr(module, "__dict__", {}) for module in list(sys.modules.values())]
    files = {str(names.get("__file__")) for names in modules}  # not by attributes, which may import
    project = str(session.config.rootpath) + os.sep
    ours = {file for file in files if file.startswith(project) and "site-packages" not in file}
    for path in {Path(file) for file in ours} | {item.path for item in session.items}:
        with suppress(OSError):
            yield path.read_bytes()
