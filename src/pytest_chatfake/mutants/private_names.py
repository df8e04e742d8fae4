"""The private names of other libraries that the reruns with mutants need, each with its reason.

No public interface runs a test twice in one process, and a process for each mutant takes two to
three times as long. ``.ci/run`` runs the whole suite, with the tests of the mutants, on Python 3.13
with the newest version of everything: a release in which one of these names is another one fails
there.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from copy import copy
from typing import Any

import pytest


def leave_junit_out(patch: pytest.MonkeyPatch, config: Any) -> None:
    """Keep what tests record out of the JUnit file: its fixtures write past every hook."""
    junit = config.pluginmanager.get_plugin("junitxml")
    patch.setitem(config.stash, getattr(junit, "xml_key", None), None)


def _leave_out(*_: object) -> None:
    pass


def copied(item: Any) -> Any:
    """Return a copy of a test, which leaves nothing behind in it but in its stash.

    A test collected anew would have other fixtures. The instance of its class, the method bound to
    it, and the errors that unittest has told it of have no public name.
    """
    again = copy(item)
    again.user_properties = []
    again.add_report_section = _leave_out
    for name in ("_obj", "_instance", "_excinfo") if getattr(item, "cls", None) else ():
        again.__dict__.pop(name, None)  # the test left traces on them
    return again


@contextmanager
def same_examples(item: Any) -> Generator[None]:
    """Let Hypothesis try the same examples in each rerun, keep none, and shrink none.

    The settings of a test are read when it is decorated; later they are only in this attribute.
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
