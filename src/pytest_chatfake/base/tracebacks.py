"""Errors in reports: their messages, and tracebacks without our frames unless the bug is ours."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import dropwhile
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from .calling_line import Line, users_place
from .errors import ChatFakeError
from .escaping import one_line

if TYPE_CHECKING:
    import pytest

_E = TypeVar("_E", bound=BaseException)

#: The note on an error that suggests that the app's lifespan should have run.
NO_LIFESPAN: Final = "the app's lifespan has not run: enter chat_fake.webhooks.lifespan(app)"

#: Between an attempt and the app's own line, there may be thirty frames of these modules.
#: Frameworks call apps through the last four.
_FRAMEWORKS = frozenset(
    {"asgiref", "django", "fastapi", "flask", "sqlalchemy", "starlette", "werkzeug"}
    | {"anyio", "asyncio", "concurrent", "contextlib"}
)

_PACKAGE = __name__.partition(".")[0]


class LoggedError(NamedTuple):
    """An exception that an app has logged.

    Attributes:
        type: The name of its class.
        text: Its message.
        place: The last line of the user's code in its traceback, such as ``app.py:41``; or empty.
    """

    type: str
    text: str
    place: str

    @classmethod
    def of(cls, error: BaseException) -> LoggedError:
        return cls(type(error).__name__, text_of(error), users_place(error))


def text_of(error: BaseException) -> str:
    """Return ``str(error)``, or a remark if that raises, because no report should fail for it."""
    try:
        return str(error)
    except Exception:  # in the user's class
        return "(its text can't be shown)"


def first_of(errors: Sequence[_E]) -> _E:
    """Return the first of several errors, with notes about the others that say something else."""
    for text in [*dict.fromkeys(map(_in_short, errors))][1:]:
        errors[0].add_note(f"as well: {text}")
    return errors[0]


def _in_short(error: BaseException) -> str:
    kind, notes = type(error).__name__, getattr(error, "__notes__", [])
    return one_line(", ".join([f"{kind}: {text_of(error)}", *notes]))


@contextmanager
def frames_hidden(error: BaseException) -> Generator[None]:
    """Unlink our frames and those of frameworks during a block, unless the fault is theirs.

    After the block, a debugger finds all frames again. ``__tracebackhide__`` is no alternative,
    because it would have to be written into the frameworks' modules.
    """
    undo: list[Callable[[], object]] = []
    try:
        for one in related(error):
            undo.extend(_unlinked(one))
        yield
    finally:
        for link_again in reversed(undo):
            link_again()


def related(error: BaseException, *, hidden: bool = False) -> Iterator[BaseException]:
    """Yield an error, its causes and the members of groups: as pytest shows them, or all."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        shows_context = hidden or not one.__suppress_context__
        waiting.append(one.__cause__ or (one.__context__ if shows_context else None))
        if isinstance(one, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", one).exceptions


def _unlinked(error: BaseException) -> Iterator[Callable[[], object]]:
    # Yields how to relink a frame before unlinking it, because an interrupt may come in between.
    import pytest  # noqa: PLC0415 - only called under pytest

    if error.__traceback__ is None:
        return
    excinfo = pytest.ExceptionInfo[BaseException].from_exception(error)
    by_app = _is_raised_by_app(excinfo)
    hides = {_PACKAGE: _is_hidden(excinfo), **dict.fromkeys(_FRAMEWORKS, by_app)}

    def shown(entry: TracebackType | None) -> TracebackType | None:
        while entry is not None and hides.get(_top(entry.tb_frame.f_globals)):
            entry = entry.tb_next
        return entry

    entry = shown(error.__traceback__)
    if entry is not None and entry is not error.__traceback__:
        yield partial(setattr, error, "__traceback__", error.__traceback__)
        error.__traceback__ = entry
    while entry is not None:
        if (following := shown(entry.tb_next)) is not entry.tb_next:
            yield partial(setattr, entry, "tb_next", entry.tb_next)
            entry.tb_next = following
        entry = following


def _is_hidden(excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    # An error that ends in the user's code isn't our fault, and neither is one of our refusals.
    entries: list[Any] = list(excinfo.traceback)
    while len(entries) > 1 and _top(entries[-1].frame.f_globals) in sys.stdlib_module_names:
        entries.pop()  # an error in the standard library is its caller's fault
    last = entries[-1]
    if _top(last.frame.f_globals) != _PACKAGE:
        return True
    line = linecache.getline(last.frame.raw.f_code.co_filename, last.lineno + 1)
    return line.lstrip().startswith(("raise ", "warnings.warn"))  # last.statement parses the module


def _is_raised_by_app(excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    # If an app's own code raised during an attempt, its framework's frames say little.
    modules = [_top(entry.frame.f_globals) for entry in excinfo.traceback]
    while "_pytest" in modules:  # pytest calls the test itself through our hooks
        modules = modules[modules.index("_pytest") + 1 :]
    called = dropwhile(lambda top: top != _PACKAGE, modules)
    return not _FRAMEWORKS.union(sys.stdlib_module_names, [_PACKAGE]).issuperset(called)


def from_outside(error: BaseException) -> BaseException:
    """Remove our frames from the beginning of an error's traceback."""
    traceback = error.__traceback__
    while traceback is not None and _top(traceback.tb_frame.f_globals) == _PACKAGE:
        traceback = traceback.tb_next
    return error if traceback is None else error.with_traceback(traceback)


def is_own(error: BaseException | None) -> bool:
    """Return whether this package raised an error, or its class is ours."""
    traceback = None if error is None else error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    is_raised_here = traceback is not None and _top(traceback.tb_frame.f_globals) == _PACKAGE
    return is_raised_here or isinstance(error, ChatFakeError)


def raised_at(error: Exception, line: Line) -> Exception:
    """Return an error with a traceback to a line of the test whose frame no longer exists."""
    at = {"lineno": 1, "end_lineno": 1, "col_offset": -1, "end_col_offset": -1}  # no column
    raising = ast.Raise(ast.Name("error", ast.Load(), **at), None, **at)
    code = compile(ast.Module([raising], []), line.file, "exec")
    code = code.replace(co_firstlineno=line.number)
    with suppress(Exception):
        exec(code, {"error": error})  # noqa: S102 - only raises the error
    return error


def _top(module: dict[str, Any]) -> str:
    name: str = module.get("__name__", "")
    return name.partition(".")[0]
