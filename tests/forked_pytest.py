"""Runs of pytest in processes of their own that need not import it first.

To import pytest, every plugin and our package takes a process longer than most of these runs take.
So one process imports them, waits, and forks for each run: whatever a run does to its process
(Django's settings, say) ends with it.
"""

import atexit
import gc
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest

#: Real seconds that a run may take before it is killed.
SECONDS = 120

#: Our plugins: the core's, and those of the extras that are installed.
PLUGINS = [
    entry_point.value
    for entry_point in entry_points(group="pytest11")
    if entry_point.value.startswith("pytest_chatfake.")
]

#: The environment of a run on workers of xdist, which are processes that import every plugin anew.
FEW_PLUGINS = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": " ".join(f"-p {name}" for name in ("xdist", "time_machine", *PLUGINS)),
}

#: A test that imports what later runs need; in a test, as pytest has a hand in imports.
IMPORTS = """
import pkgutil
from importlib import import_module

import flask
import httpx
import pytest_chatfake

def test_imports():
    for module in pkgutil.walk_packages(pytest_chatfake.__path__, "pytest_chatfake."):
        import_module(module.name)
"""


def run_pytest(folder, *arguments, **environ):
    """Run pytest in a folder, as `python -m pytest` would be there, with all plugins.

    On workers of xdist it has few.

    Args:
        folder: Where it runs.
        *arguments: What follows ``pytest`` in the command.
        **environ: Variables of its environment, beside ours; none is of ``pytest``.

    Returns:
        The result, with what it printed to both streams as its output.
    """
    output = folder / "output.txt"
    on_workers = any(argument.startswith("-n") for argument in arguments)
    environ = _environment() | (FEW_PLUGINS if on_workers else {}) | environ
    if hasattr(os, "fork"):
        server = _server()
        server.stdin.write(json.dumps([str(folder), str(output), environ, *arguments]) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
    else:
        status = _run_pytest_anew(folder, output, environ, arguments)
    return pytest.RunResult(status, output.read_text("utf-8", "replace").splitlines(), [], 0)


def _environment():
    # In CI, and where colours are asked for, pytest prints more.
    ours = re.compile("PYTEST_|CI$|BUILD_NUMBER$|FORCE_COLOR$|PY_COLORS$")
    return {key: value for key, value in os.environ.items() if not ours.match(key)}


def _run_pytest_anew(folder, output, environ, arguments):
    with output.open("w") as file:
        return subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        ).returncode


@cache
def _server():
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


def _serve():
    requests, responses = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    with tempfile.TemporaryDirectory() as empty:
        Path(empty, "test_imports.py").write_text(IMPORTS, "utf-8")
        pytest.main(["-p", "no:cacheprovider", "--rootdir", empty, empty])
    sys.stdout.flush()  # or each fork would write it, too
    gc.collect()
    gc.freeze()  # or each fork would walk, and copy, all of it whenever it collects garbage
    for request in requests:
        responses.write(f"{_fork(*json.loads(request))}\n")
        responses.flush()


def _fork(folder, output, environ, *arguments):
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    status = 1
    try:
        signal.alarm(SECONDS)
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        os.dup2(1, 2)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv = ["pytest", *arguments]
        sys.path[0] = folder
        status = int(pytest.main([*arguments]))
        sys.stdout.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve()
