"""Lets a call inside an app fail, with an error of any class, whatever its constructor takes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import FunctionType

from ..base.arguments import cited
from ..transport.client.responses import Response
from .named_functions import dotted_name, find_named
from .point_watch import CrashPoint, PointWatch


class ErrorWatch(PointWatch):
    """Raises an error before a function call.

    Args:
        point: The call.
        functions: The function, with its name.
        raises: The error's class.
    """

    effect: str

    def __init__(
        self,
        point: CrashPoint,
        functions: Mapping[FunctionType, str],
        raises: type[Exception],
    ) -> None:
        super().__init__(functions, point)
        self._raises = raises

    def _strike(self, where: str, line: str) -> None:
        name = where.removeprefix("before ")
        self.effect = f"got {self._raises.__name__} from {name}" + f" ({line})" * bool(line)
        at = f" at {line}" * bool(line)
        raise make_error(self._raises, f"{name} failed{at}, raised on purpose by webhooks.error()")

    def result_of(self, result: Response | BaseException) -> Response | BaseException:
        if self.effect and isinstance(result, Exception):
            return self.response or Response(500, b"")  # as its server would respond
        return result


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
