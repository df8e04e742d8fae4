"""What a part of the code costs those who do not use it: beside a copy without that part."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from ..measuring import Row, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE = Path(__file__).parents[2] / "src" / "pytest_chatfake"
SLICE = 2_000  # messages; short, so that both contestants meet the same disturbances
SLICES = 20

#: A process that sends, delivers and reads whenever it is told to, and says how long it worked.
CAMPAIGN = f"""
import gc, sys, time
from pytest_chatfake import ChatFake

def take(_):
    pass

for _ in sys.stdin:
    with ChatFake(opening_balance="1000000") as fake:
        fake.webhooks.connect(handler=take)
        gc.collect()
        started = time.process_time()
        for number in range({SLICE}):
            fake.send_text("Sale ends today", to=f"+1555{{number:08}}").deliver().read()
        print(time.process_time() - started, flush=True)
"""

#: By file, the passages that `extra` needs, of the configuration and of a call, and what stands in
#: their place where nobody knows it.
EXTRA: Final = {
    "fake/drafts.py": [
        (
            """\
        fields = self._default_fields
        if extra is not None:
            check_extra(extra, self._naming)
            fields = members({**self._default_extra, **extra})
        message = MessageState(body, address, fields)
""",
            '        message = MessageState(body, address, "")\n',
        ),
    ],
    "engine/changes.py": [
        (
            """\
            fields = None
            if self.fields_of is not None:
                decide = partial(self._decided, verb, now)
                facts, fields = self._ask_for_fields(self.fields_of, facts, decide)
            told = self._outbox.write_facts(facts, fields)
""",
            "            told = self._outbox.write_facts(facts)\n",
        ),
    ],
    "webhooks/outbox.py": [
        (
            "self, facts: list[Fact], fields: Mapping[tuple[MessageState, str], str] | None\n",
            "self, facts: list[Fact]\n",
        ),
        (
            """\
            more = "" if fields is None else fields[fact.message, fact.what]
            written.append((fact, event, self._writer.write(id_, fact, more)))
""",
            "            written.append((fact, event, self._writer.write(id_, fact)))\n",
        ),
    ],
    "wire/bodies.py": [
        ('            f"{fields}{message.extra}}}}}"\n', '            f"}}}}"\n'),
    ],
}


def copy_without(passages: dict[str, list[tuple[str, str]]], folder: Path) -> None:
    """Copy the package, and put something else in the place of passages, each of which is there."""
    package = folder / PACKAGE.name
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, changes in passages.items():
        text = (package / name).read_text("utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{name} has changed: {old}"
            text = text.replace(old, new)
        (package / name).write_text(text, "utf-8")


def contestant(package: Path, stack: ExitStack) -> Callable[[], float]:
    """Start a process that has the package from this folder; return what lets it work a slice."""
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-c", CAMPAIGN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(package)},
            text=True,
        )
    )
    told, said = stream(process.stdin), stream(process.stdout)
    stack.callback(told.close)

    def work() -> float:
        told.write("go\n")
        told.flush()
        return float(said.readline())

    return work


def stream(pipe: IO[str] | None) -> IO[str]:
    """Return a pipe of a process, which has one."""
    assert pipe is not None
    return pipe


def without_extra(rounds: int) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        copy_without(EXTRA, Path(name))
        ours = contestant(PACKAGE.parent, stack)
        yield from times(rounds, ours, contestant(Path(name), stack), SLICES)


ROWS = (
    Row(
        "bulk-extra",
        "messages sent, delivered and read without `extra` / the same by code that knows none",
        "at most",
        1.02,
        without_extra,
    ),
)
