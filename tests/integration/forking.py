"""Runs a function in a forked child. No test hangs: a child that takes too long is killed."""

from __future__ import annotations

import json
import os
import select
import signal
import traceback
import warnings

#: Real seconds that a child may take.
SECONDS = 60


def in_child(function, *arguments):
    """Return a function's result from a forked child, as JSON carries it, or its traceback."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about our threads, since 3.12
        child = os.fork()
    if child == 0:
        try:
            result = function(*arguments)
        except BaseException:
            result = traceback.format_exc()
        finally:
            os.write(writing, json.dumps(result).encode())
            os._exit(0)
    os.close(writing)
    try:
        if not select.select([reading], [], [], SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
            return "the child hangs"
        return json.loads(os.read(reading, 1 << 16))
    finally:
        os.waitpid(child, 0)
        os.close(reading)
