"""Finds out which code swallowed a crash: the app's own, or a library's."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Final, NamedTuple

from ..base.calling_line import users_lines

#: Python's packages that run code in threads.
_THREADS: Final = {"threading", "concurrent"}


class Swallower(NamedTuple):
    """The code that swallowed a crash.

    Attributes:
        place: The line in its ``try`` through which the crash came, such as ``app.py:41``.
        library: The library whose code it is; empty: the app's own.
    """

    place: str
    library: str

    def __str__(self) -> str:
        if self.library in _THREADS:
            return (
                f"the crash only ended a thread ({self.place}), and what started it went on: let a "
                f"pool run the function and wait for result(), which raises the crash again, or "
                f"name another crash point"
            )
        return (
            f"{self.library} catches BaseException itself ({self.place}), so a crash can't be told "
            f"from an error: let it raise the exception again, connect your app without it, or "
            f"name another crash point"
        )


def swallower_of(error: BaseException | None) -> Swallower | None:
    """Return what swallowed an error: the last code through which it came; None: not known."""
    last = None if error is None else error.__traceback__
    if last is None:
        return None
    file = Path(last.tb_frame.f_code.co_filename)
    if users_lines([last.tb_frame]):
        return Swallower(f"{file.name}:{last.tb_lineno}", "")
    module = str(last.tb_frame.f_globals.get("__name__", ""))
    package, depth = module.partition(".")[0], module.count(".") + 1
    parts = file.parts[-depth - (file.stem == "__init__") :]
    return Swallower(f"{'/'.join(parts)}:{last.tb_lineno}", _library_of(package))


@cache
def _library_of(package: str) -> str:
    # Not packages_distributions(): with a profile function, as in a crash, it takes seconds.
    own_file = re.compile(rf"^{re.escape(package)}(?:/|\.py,)", re.MULTILINE)
    owners = (each for each in distributions() if own_file.search(each.read_text("RECORD") or ""))
    return next((owner.name for owner in owners), package)
