"""Errors to raise inside an app: of any class, whatever its constructor takes."""

from __future__ import annotations

from contextlib import suppress

from ..base.arguments import cited
from .tripwires import dotted_name, find_named


def find_error(what: object, argument: str) -> tuple[str, type[Exception]]:
    """Return the dotted name of an exception class, and the class.

    Raises:
        TypeError: It isn't a subclass of ``Exception``.
        ValueError: Nothing has that name.
    """
    expected = "an exception class, or its name such as 'sqlite3.OperationalError'"
    found = find_named(what, argument, expected)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise TypeError(
            f"{argument}: expected a subclass of Exception such as sqlite3.OperationalError, got "
            f"{cited(what)}"
        )
    return dotted_name(what, found), found


def make_error(kind: type[Exception], text: str) -> Exception:
    """Return an error of a class, or of a subclass if the constructor takes more than a message."""
    with suppress(Exception):
        return kind(text)

    def show(_: object) -> str:
        return text

    own = {
        "__init__": Exception.__init__,
        "__str__": show,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
    }
    error: Exception = type(kind.__name__, (kind,), own)(text)
    return error
