"""The private names of other libraries that reruns need, each with its reason.

No public interface runs a test twice in one process, and a process for each mutant takes two to
three times as long. If a new release of a library renames one of these, ``.ci/run`` notices: it
also runs the whole suite with the newest version of everything.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from copy import copy
from typing import Any

import pytest


def leave_junit_out(patch: pytest.MonkeyPatch, config: Any) -> None:
    """Keep the reruns' properties out of the JUnit file: its fixtures write to it directly."""
    junit = config.pluginmanager.get_plugin("junitxml")
    patch.setitem(config.stash, getattr(junit, "xml_key", None), None)


def _leave_out(*_: object) -> None:
    pass


def copied(item: Any) -> Any:
    """Return a copy of a test; running it leaves traces only in the stash that both share.

    A test collected anew would have other fixtures. The instance of its class, the bound method and
    the errors that unittest reported have no public name.
    """
    again = copy(item)
    again.user_properties = []
    again.add_report_section = _leave_out
    for name in ("_obj", "_instance", "_excinfo") if getattr(item, "cls", None) else ():
        again.__dict__.pop(name, None)  # from the run before
    return again


@contextmanager
def same_examples(item: Any) -> Generator[None]:
    """Let Hypothesis try the same examples in each rerun, without shrinking or a database.

    A test's settings are read when it is decorated; after that, only this attribute has them.
    """
    hypothesis: Any = sys.modules.get("hypothesis")
    function = getattr(item, "obj", None)
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in (
            (getattr(function, "__func__", function), "_hypothesis_internal_use_settings"),
            (getattr(item, "cls", None), "settings"),  # of a state machine
        ):
            given = getattr(owner, name, None)
            if hypothesis is not None and isinstance(given, hypothesis.settings):
                fixed = {"database": None, "derandomize": True, "deadline": None}
                phases = hypothesis.Phase.explicit, hypothesis.Phase.generate
                patch.setattr(owner, name, hypothesis.settings(given, phases=phases, **fixed))
        yield
