"""Garbage of an app that has died: collected fast, and without warnings.

To look at every object of a large test process takes a second.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Final

#: Python itself freezes at most so many objects as it starts.
_BY_PYTHON: Final = 1_000


class OldObjects:
    """The objects that the process has so far."""

    def __init__(self) -> None:
        self._are_frozen = False
        self._others_freeze = False

    def freeze(self, stack: ExitStack) -> None:
        """Until a stack is closed, let ``gc.collect()`` only look at newer objects.

        If they are frozen already, nothing changes. Nor does it if others froze objects, because
        ``gc.unfreeze()`` would unfreeze theirs; counting them is slow, so that is done once.
        """
        if not (self._are_frozen or self._others_freeze):
            self._others_freeze = gc.get_freeze_count() > _BY_PYTHON
        if not (self._are_frozen or self._others_freeze):
            stack.callback(self._unfreeze)
            self._are_frozen = True
            gc.freeze()

    def _unfreeze(self) -> None:
        self._are_frozen = False
        gc.unfreeze()


old_objects: Final = OldObjects()


@contextmanager
def warnings_unheard() -> Generator[None]:
    """Ignore warnings in a block: nobody hears what a process leaves open as it dies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
