"""The page on fidelity: the fake does what each row says, and each setting is there."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from typing import NamedTuple

import pytest
import time_machine

from pytest_chatfake import ChatFake, ChatFakeConfig, HmacSigner, Message, Webhooks
from section_marks import MARK

from .assumptions import CHECKS
from .pages import DOCS

START = 1_767_268_800  # 2026-01-01T12:00:00Z


class Row(NamedTuple):
    """A row of the tables."""

    name: str
    point: str
    does: str
    setting: str

    @property
    def short(self):
        """The value in which what the fake does ends."""
        found = re.search(r"`([^`]+)`$", self.does)
        assert found is not None, f"{self.name}: {self.does!r} does not end in a value"
        return found[1]


def rows():
    """Read the tables of what is assumed."""
    text = (DOCS / "explanation" / "fidelity.md").read_text("utf-8")
    for line in text.split("## Where the description is silent")[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" |")]
        if re.fullmatch(r"`[a-z-]+`", cells[0]):
            yield Row(cells[0].strip("`"), *cells[1:])


ROWS = {row.name: row for row in rows()}


@pytest.mark.parametrize("name", ROWS)
def test_the_fake_does_what_the_row_says(name):
    with time_machine.travel(START, tick=False), ChatFake() as fake:
        said = ast.literal_eval(ROWS[name].short)
        assert said == CHECKS[name](fake)


def test_every_row_has_its_check_and_every_check_its_row():
    assert set(CHECKS) == set(ROWS)


def test_every_row_names_a_section():
    section = re.compile(rf" \(\[{MARK.pattern}\]\)$")
    assert [name for name in ROWS if not section.search(ROWS[name].point)] == []


def test_the_knobs_of_the_rows_are_there():
    fields = {field.name for field in dataclasses.fields(ChatFakeConfig)}
    verbs = (ChatFake.send_text, ChatFake.send_endpoint, Message.deliver, Message.fail)
    arguments = {
        argument
        for call in (*verbs, Webhooks.connect, HmacSigner)
        for argument in inspect.signature(call).parameters
    }
    known = {
        "()": {*dir(ChatFake), *dir(Webhooks)},
        "=": arguments,
        "": {*dir(ChatFake), *fields},
    }
    settings = "\n".join(row.setting for row in ROWS.values())
    for knob, kind, value in re.findall(r"`(\w+)(\(\)|=|)([^`]*)`", settings):
        if value:
            other = ChatFakeConfig(**{knob: ast.literal_eval(value)})
            assert getattr(other, knob) != getattr(ChatFakeConfig(), knob)
        else:
            assert knob in known[kind]


def test_every_knob_of_the_configuration_that_is_assumed_has_a_row():
    text = (DOCS / "reference" / "configuration.md").read_text("utf-8")
    assumed = set(re.findall(r"^- `(\w+)`:\s+`[^`]+`\s+\(assumed\)", text, re.MULTILINE))
    named = {word for row in ROWS.values() for word in re.findall(r"\w+", row.setting)}
    of_the_fake_itself = {"seed", "mode", "strict", "tick", "tls"}
    assert of_the_fake_itself == assumed - named
