"""Sees the database calls of plain code: through DB-API (PEP 249), to redis and to MongoDB.

Most of them are written in C, so their code can't be swapped as in :mod:`.tripwires`. A profile
function sees them, in the thread for which it is set.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType, FunctionType, MethodDescriptorType
from typing import Any, Final, TypeAlias, TypeVar

from ..base.calling_line import users_lines
from ..transport.client.loops import running_framework
from .named_functions import find_function, find_named

T = TypeVar("T")

#: Takes ``"before"`` or ``"after"``, and the call's dotted name: ``sqlite3.Cursor.execute``.
Listener: TypeAlias = Callable[[str, str], object]

#: The methods that talk to a database.
METHODS: Final = {"execute", "executemany", "executescript", "commit"}

#: The methods of other clients, and of what stands in for them in tests, with their names.
_COMMANDS: Final = {"execute_command", "find_one", "insert_one", "update_one", "replace_one"}
_OTHERS: Final = re.compile(
    r"(?:redis|valkey)\.client\.(?:(?:Redis|Valkey)\.execute_command|Pipeline\.execute)"
    r"|(?:pymongo\.synchronous|mongomock)\.collection\.Collection\.\w+_one"
)

_EVENTS: Final = {"c_call": "before", "c_return": "after", "call": "before", "return": "after"}


def find_call(what: object, argument: str) -> tuple[str, FunctionType | None]:
    """Return a function's dotted name, and the function, or None for a database call in C.

    Raises:
        TypeError, ValueError: As :func:`.find_function` says.
    """
    found = find_named(what, argument, "a function, or its name such as 'shop.orders.save'")
    owner = getattr(found, "__objclass__", None)
    if isinstance(owner, type) and found.__name__ in METHODS and _is_database(owner.__module__):
        return _name_in(owner, found.__name__), None
    return find_function(what, argument)


def call_and_listen(listener: Listener, function: Callable[..., T], *args: Any) -> T:
    """Call a function, and tell a listener which database calls it makes in this thread."""
    if sys.getprofile() is not None:  # a profiler is running, or an attempt around this one
        return function(*args)
    sys.setprofile(partial(_see, listener))
    try:
        return function(*args)
    finally:
        sys.setprofile(None)


def called_name(frame: FrameType, event: str, arg: Any) -> str:
    """Return the name of the function that is called or returns, for a profile function."""
    return getattr(arg, "__name__", "") if event.startswith("c_") else frame.f_code.co_name


def _see(listener: Listener, frame: FrameType, event: str, arg: Any) -> None:
    is_c = event.startswith("c_")
    name = called_name(frame, event, arg)
    if not (name in METHODS or name in _COMMANDS) or event not in _EVENTS:
        return
    caller = frame if is_c else frame.f_back
    # A driver may call itself, and on a loop, no other attempt could run meanwhile.
    if caller is None or running_framework() is not None:
        return
    is_own = not is_c and caller.f_code.co_filename == frame.f_code.co_filename
    if is_own or _is_database(_module_of(caller)):
        return
    if found := _c_call(arg) if is_c else _python_call(frame):
        listener(_EVENTS[event], found)


def used_connection(frame: FrameType, event: str, arg: Any) -> Any:
    """Return the connection that a call uses, given what a profile function gets.

    Libraries for asyncio don't follow DB-API, but their connections can be rolled back, too.

    Returns:
        None, if it is no call of a database.
    """
    used = arg.__self__ if event == "c_call" else frame.f_locals.get("self")
    if inspect.iscoroutinefunction(getattr(used, "rollback", None)):
        return None if users_lines([frame]) else used
    if not (_c_call(arg) if event == "c_call" else _python_call(frame)):
        return None
    connection = getattr(used, "connection", used)
    return connection if hasattr(connection, "rollback") else None


def _c_call(method: Any) -> str:
    # A subclass may have a method of the same name in Python.
    name = method.__name__
    owners = (
        each
        for each in type(method.__self__).__mro__
        if isinstance(vars(each).get(name), MethodDescriptorType)
    )
    owner = next(owners, object)
    return _name_in(owner, name) if _is_database(owner.__module__) else ""


def _python_call(frame: FrameType) -> str:
    name = f"{_module_of(frame)}.{frame.f_code.co_qualname}"
    is_known = _is_database(name) or _OTHERS.fullmatch(name)
    return name if is_known and "<" not in name else ""


def _name_in(owner: type, name: str) -> str:
    return f"{owner.__module__}.{owner.__qualname__}.{name}"


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_database(module: str) -> bool:
    # PEP 249 asks for these names.
    root = sys.modules.get(module.partition(".")[0])
    return hasattr(root, "apilevel") and hasattr(root, "paramstyle")
