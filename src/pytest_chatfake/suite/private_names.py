"""The private names of other libraries that the reruns with mutants need, each with its reason.

No public interface runs a test twice in one process, and a process for each mutant takes 2 to 7
times as long. ``.ci/run`` runs the whole suite, with the tests of the mutants, on Python 3.13 with
the newest version of everything: a release in which one of these names is another one fails there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from copy import copy
from typing import Any

import pytest


def select_hooks(
    patch: pytest.MonkeyPatch, manager: Any, select: Callable[[str, Any, Any], list[Any]]
) -> None:
    """Call only the selected implementations of each hook.

    pluggy's public monitoring sees each call and can't change it; its callers of subsets are for
    the one who calls, and that is pytest.

    Args:
        patch: Undoes it.
        manager: Calls the hooks.
        select: Takes a hook's name, its implementations and its arguments.
    """
    call = manager._inner_hookexec

    def call_some(name: str, hooks: Any, arguments: Any, first: bool) -> Any:
        return call(name, select(name, hooks, arguments), arguments, first)

    patch.setattr(manager, "_inner_hookexec", call_some)


def leave_junit_out(patch: pytest.MonkeyPatch, config: Any) -> None:
    """Keep what tests record out of the JUnit file: its fixtures write past every hook."""
    junit = config.pluginmanager.get_plugin("junitxml")
    patch.setitem(config.stash, getattr(junit, "xml_key", None), None)


def copied(item: Any) -> Any:
    """Return a copy of a test, which leaves nothing behind in it.

    A test collected anew would have other fixtures. What pytest keeps in a test has no public
    name: the sections of its report, its stash, and the instance of its class and the bound method.
    """
    again = copy(item)
    again.user_properties, again._report_sections = [], []
    again.stash = pytest.Stash()
    again.stash._storage.update(item.stash._storage)  # a stash can't be iterated over
    for bound in ("_obj", "_instance") if getattr(item, "cls", None) else ():
        again.__dict__.pop(bound, None)  # the test left traces on them
    return again


def tear_down(session: Any, item: pytest.Item | None) -> None:
    """Finalise what an item does not need.

    pytest's own teardown needs the next item, and a rerun can't know which one that will be.
    """
    pytest.CallInfo.from_call(lambda: session._setupstate.teardown_exact(item), "teardown")


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
