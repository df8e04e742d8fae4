"""Loops that fakes have closed, and an app that uses one of them still.

A client or a lock that an app keeps in a module belongs to the loop that it was first used in. An
app that catches the error of that shows nothing, so a closed loop notes by itself who comes.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ...base.tracebacks import text_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_REMEDY: Final = (
    "make what belongs to a loop (a client, a pool, a lock) in the app's lifespan, or let all "
    "plain tests have one loop, by chat_fake_loop_scope = session in pytest's ini file"
)

#: What an answer remarks, or an error of the app notes, where a closed loop was used.
FOUND: Final = f"the app used an event loop that an earlier fake has closed: {_REMEDY}"

#: What is noted where the app's error says no more than that a loop is another one.
ANOTHER: Final = (
    f"the app keeps something of an event loop that an earlier fake has closed: {_REMEDY}"
)

#: What asyncio says of something that belongs to another loop.
_OF_ANOTHER: Final = ("is bound to a different event loop", "attached to a different loop")

#: By what a closed loop is used; ``is_closed()`` only asks.
_DOORS: Final = (
    "call_at",
    "call_later",
    "call_soon",
    "call_soon_threadsafe",
    "create_future",
    "create_task",
    "run_in_executor",
)


class _Seen:
    """How many loops of fakes were closed in this process, and how often one was used after."""

    closed = 0
    uses = 0


def uses() -> int:
    """Return how often closed loops were used so far."""
    return _Seen.uses


def watch(loop: asyncio.AbstractEventLoop) -> None:
    """Note from now on whoever uses this loop, which is closed."""
    _Seen.closed += 1
    for name in _DOORS:
        with suppress(AttributeError):  # a loop of another kind, which may not have it so
            setattr(loop, name, _noting(loop, name))


def explain(error: BaseException, before: int) -> None:
    """Add to an error what closed loops have to do with it, if anything.

    Args:
        error: What left a call on a loop of a fake.
        before: What `uses` returned before that call.
    """
    if before != _Seen.uses:
        _add(error, FOUND)
    elif _Seen.closed and _is_of_another(error):
        _add(error, ANOTHER)


def remark_of(error: BaseException | None) -> str:
    """Return what `explain` has added to an error; empty, if nothing."""
    notes: list[str] = getattr(error, "__notes__", [])
    return next((note for note in notes if note in {FOUND, ANOTHER}), "")


def _add(error: BaseException, note: str) -> None:
    if not remark_of(error):
        error.add_note(note)


def _is_of_another(error: BaseException) -> bool:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, RuntimeError) and any(one in text_of(cause) for one in _OF_ANOTHER):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _noting(loop: asyncio.AbstractEventLoop, name: str) -> Callable[..., Any]:
    method = getattr(type(loop), name)
    owner = weakref.ref(loop)  # no circle: it would keep a closed loop for long

    def call(*args: object, **options: object) -> Any:
        _Seen.uses += 1
        return method(owner(), *args, **options)

    return call
