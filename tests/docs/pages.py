"""The pages of the documentation, and their Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

from ..forked_pytest import run_pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

#: What a coding agent reads that finds the package in its environment.
SKILL = ROOT.joinpath("src/pytest_chatfake/.agents/skills/pytest-chatfake/SKILL.md")

#: The pages whose Python is run.
PAGES = sorted([ROOT / "README.md", SKILL, *DOCS.rglob("*.md"), *ROOT.glob("examples/*/README.md")])

# Django leaves the SQLite connections of async tests to the garbage collector; Python 3.13 says so.
INI = """\
[pytest]
filterwarnings =
    error
    ignore:unclosed database in <sqlite3:ResourceWarning
asyncio_default_fixture_loop_scope = function
"""


def name(page):
    """A page's path from the project's root."""
    return page.relative_to(ROOT).as_posix()


class Fence(NamedTuple):
    """A fenced block: the words after its backticks, its first line's number from 0, its lines."""

    info: str
    start: int
    lines: list[str]


def fences(text):
    """Give the fenced blocks of a page."""
    block = None
    for number, line in enumerate(text.splitlines()):
        if block is None and line.lstrip().startswith("```"):
            block = Fence(line.rstrip().removeprefix("```"), number + 1, [])
        elif block is not None and line.rstrip() == "```":
            yield block
            block = None
        elif block is not None:
            block.lines.append(line)
    if block is not None:
        raise ValueError(f"the block at line {block.start} does not end")


def module_of(text):
    """The Python blocks of a page as one module, in which each line keeps its number.

    There is no way to leave a block out: whatever is marked as Python, in whatever words, is
    either run or an error. A block that is followed by its output is a module of its own.
    """
    lines = [""] * len(text.splitlines())
    apart = [one.code for one in shown_outputs(text)]
    for block in fences(text):
        if block.info == "python":
            if block not in apart:
                lines[block.start : block.start + len(block.lines)] = block.lines
        elif "py" in block.info.lower():
            raise ValueError(f"line {block.start}: a block is ```python, not ```{block.info}")
    return "\n".join(lines).rstrip() + "\n"


class ShownOutput(NamedTuple):
    """A block of code and the one after it: a command, and what that prints about the code."""

    code: Fence
    output: Fence

    @property
    def arguments(self):
        """The words of the command after ``pytest``; the last is the file that holds the code."""
        command, _, _ = self.output.lines[0].partition(" | ")
        return command.removeprefix("$ pytest ").split()

    @property
    def pipe(self):
        """The command that reads what pytest prints; ``cat`` if there is none."""
        return self.output.lines[0].partition(" | ")[2] or "cat"


def shown_outputs(text):
    """Give the blocks of a page that are followed by their output.

    Raises:
        ValueError: An output does not follow code, or does not begin with ``$ pytest``.
    """
    found = []
    before = None
    for block in fences(text):
        if block.info == "console":
            if before is None or before.info != "python":
                raise ValueError(f"line {block.start}: an output follows the code it is about")
            if not block.lines or not re.fullmatch(r"\$ pytest .*\S+\.py( \| .+)?", block.lines[0]):
                raise ValueError(f"line {block.start}: an output begins with $ pytest ... FILE.py")
            found.append(ShownOutput(before, block))
        before = block
    return found


def defined_in(module):
    """The names of the tests that a module defines, those in classes included."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(module)
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    found = [node.name for body in bodies for node in body if isinstance(node, kinds)]
    return {name for name in found if name.startswith("test")}


class Outcome(NamedTuple):
    """How tests ended: the names of those that passed, by file, and all that pytest said."""

    passed: dict[str, set[str]]
    clean: bool
    output: str


def run(modules, folder):
    """Run modules as a user would: in a process of their own, with all plugins, warnings as errors.

    A process keeps what pages do to it (Django's settings, say) from all others.
    """
    folder.joinpath("pytest.ini").write_text(INI, "utf-8")
    for file, module in modules.items():
        folder.joinpath(file).write_text(module, "utf-8")
    options = ("-rA", "-p", "no:cacheprovider", "-p", "no:inline_snapshot")
    result = run_pytest(folder, *options, *modules)
    output = result.stdout.str()
    passed = {file: set() for file in modules}
    for file, test in re.findall(r"^PASSED (\S+?\.py)::(?:\w+::)*(\w+)", output, re.MULTILINE):
        passed[file].add(test)
    return Outcome(passed, result.ret == 0, output)
