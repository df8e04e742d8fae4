"""The page on trouble has every exception and finding, in the words that are printed."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest_chatfake
from pytest_chatfake.base import errors

from .pages import DOCS

PAGE = (DOCS / "reference" / "troubleshooting.md").read_text("utf-8")
OPTIONS = (DOCS / "reference" / "fixtures-and-options.md").read_text("utf-8")

#: What the text about something overlooked is given to.
FINDING = "_listed"


def first_names(heading, page=PAGE):
    """What the items of the lists under a heading begin with, between backticks."""
    part = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^- `([^`]+)`(?::|, )", part, re.MULTILINE)


@cache
def nodes():
    """All nodes of the code."""
    files = sorted(Path(pytest_chatfake.__file__).parent.rglob("*.py"))
    return [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8")))]


def text_of(node):
    """A text of the code, with … for what it fills in."""
    if isinstance(node, ast.JoinedStr):
        parts = [one.value if isinstance(one, ast.Constant) else "…" for one in node.values]
        return "".join(map(str, parts)).replace("`", "")
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("`", "")
    return None


@cache
def texts():
    """All texts of the code."""
    return {text for node in nodes() if (text := text_of(node))}


#: The rows that show a text behind a class's name.
SHOWN = [
    row
    for heading in ("Exceptions", "What a test overlooked")
    for row in first_names(heading)
    if ": " in row
]


def is_printed(shown):
    """Whether a text of the code has this text; its … stands for anything."""
    pattern = re.compile(".*".join(map(re.escape, shown.split("…"))))
    return any(pattern.search(text) for text in texts())


def test_every_exception_has_a_row():
    rows = {row.partition(":")[0] for row in first_names("Exceptions")}
    assert {n for n, v in vars(errors).items() if isinstance(v, type)} - {"WebhookWarning"} == rows


def test_everything_that_a_test_may_overlook_has_a_row():
    heads = {
        text_of(node.args[0])
        for node in nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == FINDING
    }
    found = first_names("What a test overlooked")
    rows = [row.partition(": … ")[2] for row in found if not row.startswith("WebhookWarning")]
    assert heads, f"no text is given to {FINDING}()"
    assert {head for head in heads if head} == {
        head for head in heads if head and any(row in head for row in rows)
    }
    assert len(heads) == len(rows)


def test_the_section_of_a_report_and_its_parts_are_named_as_printed():
    parts = first_names("The report of a failed test", OPTIONS)
    assert parts == ["What to look at", "What happened", "Not raised in the test yet"]
    assert {*parts, "chat_fake timeline"} <= texts()


def test_what_a_row_shows_is_what_the_code_prints():
    assert [row for row in SHOWN if not is_printed(row.partition(": ")[2])] == []
