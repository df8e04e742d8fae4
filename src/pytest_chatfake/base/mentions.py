"""Finds out, before the first test runs, which of our names the tests may use.

Every pytest run imports this module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any


def may_use(session: Any, names: Collection[str]) -> bool:
    """Return whether a test of a session has a fixture with one of these names, or names it.

    A test's code may name what it only asks for while it runs, as with ``getfixturevalue()``.
    """
    fixtures = (getattr(item, "fixturenames", ()) for item in session.items)
    if any(not set(names).isdisjoint(of_item) for of_item in fixtures):
        return True
    return any(name.encode() in code for code in _sources(session) for name in names)


def _sources(session: Any) -> Iterator[bytes]:
    plugins = session.config.pluginmanager.get_plugins()
    files = {str(getattr(plugin, "__file__", None)) for plugin in plugins}
    paths = {Path(file) for file in files if file.endswith("conftest.py")}
    for path in paths | {item.path for item in session.items if item.path.suffix == ".py"}:
        with suppress(OSError):
            yield path.read_bytes()
