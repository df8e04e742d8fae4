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


def preload(session: Any, names: Collection[str], *modules: str) -> None:
    """Import modules if a test of a session has, or may ask for, a fixture with one of these names.

    A test asks for a fixture while it runs with ``getfixturevalue()``; then some code names it.
    """
    if not session.config.getoption("collectonly", False) and _may_use(session, names):
        for module in modules:
            import_module(module)


def _may_use(session: Any, names: Collection[str]) -> bool:
    fixtures = (getattr(item, "fixturenames", ()) for item in session.items)
    if any(not set(names).isdisjoint(of_item) for of_item in fixtures):
        return True
    return any(name.encode() in code for code in _sources(session) for name in names)


def _sources(session: Any) -> Iterator[bytes]:
    # The tests', and those of the project's modules that they have imported.
    modules = [getattr(module, "__dict__", {}) for module in list(sys.modules.values())]
    files = {str(names.get("__file__")) for names in modules}  # not by attributes, which may import
    project = str(session.config.rootpath) + os.sep
    ours = {file for file in files if file.startswith(project) and "site-packages" not in file}
    for path in {Path(file) for file in ours} | {item.path for item in session.items}:
        with suppress(OSError):
            yield path.read_bytes()
