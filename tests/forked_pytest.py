"""Runs of pytest in processes of their own that need not import it first.

To import pytest with every plugin takes a process longer than most of these runs take. So one
process imports them, waits, and forks for each run: whatever a run does to its process (Django's
settings, say) ends with it.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

#: Real seconds that a run may take before it is killed.
SECONDS = 120


def run_pytest(folder: Path, *arguments: str) -> pytest.RunResult:
    """Run pytest in a folder, as `python -m pytest` would be there, with all plugins."""
    output = folder / "output.txt"
    if hasattr(os, "fork"):
        server = _server()
        server.stdin.write(json.dumps([str(folder), str(output), *arguments]) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
    else:
        status = _run_pytest_anew(folder, output, arguments)
    return pytest.RunResult(status, output.read_text("utf-8", "replace").splitlines(), [], 0)


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}


def _run_pytest_anew(folder: Path, output: Path, arguments: tuple[str, ...]) -> int:
    with output.open("w") as file:
        return subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        ).returncode


@cache
def _server() -> Any:
    """The process that forks for each run; it ends with ours."""
    server = subprocess.Popen(
        [sys.executable, __file__],
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)  # closes its input, which ends it
    return server


# What follows runs in that process.


def _serve() -> None:
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    with tempfile.TemporaryDirectory() as empty:
        pytest.main(["-p", "no:cacheprovider", "--rootdir", empty, empty])
    for request in requests:
        answers.write(f"{_fork(*json.loads(request))}\n")
        answers.flush()


def _fork(folder: str, output: str, *arguments: str) -> int:
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    status = 1
    try:
        signal.alarm(SECONDS)
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        os.dup2(1, 2)
        os.chdir(folder)
        sys.argv = ["pytest", *arguments]
        sys.path[0] = folder
        status = int(pytest.main([*arguments]))
        sys.stdout.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve()
