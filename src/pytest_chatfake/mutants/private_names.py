"""Private names of other libraries that reruns need, each with the reason.

No public interface runs a test twice in one process, and a process for each mutant takes two to
three times as long. ``.ci/run`` notices if a library's new release renames one of these: it also
runs the whole suite with the newest version of everything.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from copy import copy
from typing import Any

import pytest


def leave_junit_out(patch: pytest.MonkeyPatch, config: Any) -> None:
    """Keep the reruns' properties out of the JUnit file, to which its fixtures write directly."""
    junit = config.pluginmanager.get_plugin("junitxml")
    patch.setitem(config.stash, getattr(junit, "xml_key", None), None)


def _leave_out(*_: object) -> None:
    pass


def copied(item: Any) -> Any:
    """Return a copy of a test that, when run, only leaves traces in the stash that both share.

    A newly collected test would have other fixtures. The instance of its class, the bound method
    and the errors that unittest reported have no public name.
    """
    again = copy(item)
    again.user_properties = []
    again.add_report_section = _leave_out
    for name in ("_obj", "_instance", "_excinfo") if getattr(item, "cls", None) else ():
        again.__dict__.pop(name, None)  # from the previous run
    return again


@contextmanager
def same_examples(item: Any) -> Generator[None]:
    """Let Hypothesis try the same examples in each rerun, without shrinking or a database.

    A test's settings are read when it is decorated; later, only this attribute has them.
    """
    hypothesis: Any = sys.modules.get("hypothesis")
    function = getattr(item, "obj", None)
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in (
            (getattr(function, "__func__", function), "_hypothesis_internal_use_settings"),
            (getattr(item, "cls", None), "settings"),  # a state machine's
        ):
            given = getattr(owner, name, None)
            if hypothesis is not None and isinstance(given, hypothesis.settings):
                fixed = {"database": None, "derandomize": True, "deadline": None}
                phases = hypothesis.Phase.explicit, hypothesis.Phase.generate
                patch.setattr(owner, name, hypothesis.settings(given, phases=phases, **fixed))
        yield


def disconnect_thread() -> None:
    """Close the connections of the thread in which async tests run Django's sync code.

    That thread outlives a session's fixtures, and would keep reading the database that they have
    deleted. asgiref's documentation describes the thread, but doesn't name it. Nothing waits for
    the thread, because it may hang; whatever it does next comes after this.
    """
    if (db := sys.modules.get("django.db")) is not None:
        asgiref: Any = sys.modules["asgiref.sync"]  # imported by django.db
        asgiref.SyncToAsync.single_thread_executor.submit(db.connections.close_all)
