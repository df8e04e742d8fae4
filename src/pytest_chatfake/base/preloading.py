"""Imports modules before the first test, if a test may use them.

A test may mock what a module imports. If the module were imported inside the mock, it would keep
the mock for the session. Every pytest run imports this module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any


def preload(session: Any, names: Collection[str], *modules: str) -> None:
    """Import modules if a test of a session has a fixture with one of these names, or names it.

    A test's code may name what it only asks for while it runs, as with ``getfixturevalue()``.
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
    plugins = session.config.pluginmanager.get_plugins()
    files = {str(getattr(plugin, "__file__", None)) for plugin in plugins}
    paths = {Path(file) for file in files if file.endswith("conftest.py")}
    for path in paths | {item.path for item in session.items}:
        with suppress(OSError):
            yield path.read_bytes()
