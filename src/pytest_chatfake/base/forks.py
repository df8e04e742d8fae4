"""What a forked child of this process needs of its own: locks, and a call of each owner.

A child has a copy of everything but threads. A lock that another thread held stays locked there,
and a server, a connection or an event loop belongs to two processes at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock, RLock
from typing import Any
from weakref import WeakSet

_locks: WeakSet[Any] = WeakSet()


def new_lock() -> Lock:
    """Return a lock that is open in a forked child, whoever holds it in the parent."""
    lock = Lock()
    _locks.add(lock)
    return lock


def new_rlock() -> RLock:
    """Return a re-entrant lock, which in a forked child only the thread that forked may hold."""
    lock = RLock()
    _locks.add(lock)
    return lock


def call_in_children(function: Callable[[], object]) -> None:
    """Call a function in each forked child, where the system can fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def _open_locks() -> None:
    # Two private names of Python's, used by its own `threading` and `logging`: nothing public
    # opens a lock that is held by a thread which no longer exists.
    for lock in list(_locks):
        if not (hasattr(lock, "_is_owned") and lock._is_owned()):
            lock._at_fork_reinit()


call_in_children(_open_locks)
