"""The reference names every public member, and shows what the fake does."""

import dataclasses
import inspect
import json
import re
from datetime import timedelta
from decimal import Decimal
from unittest.mock import Mock

import pytest
import time_machine

import pytest_chatfake
from pytest_chatfake import ChatFake, ChatFakeConfig, Naming, WebhookTests, plugin
from pytest_chatfake.exploring import plugin as exploring_plugin
from pytest_chatfake.http_api.account_api import AccountApi
from pytest_chatfake.mutants import plugin as mutants_plugin
from pytest_chatfake.mutants.facts import MUTANTS
from pytest_chatfake.pages import plugin as pages_plugin

from .pages import DOCS, fences

REFERENCE = {path.name: path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md")}
PUBLIC = {name: getattr(pytest_chatfake, name) for name in pytest_chatfake.__all__}
CLASSES = {name: thing for name, thing in PUBLIC.items() if isinstance(thing, type)}

#: The classes, by the headings of their sections.
DESCRIBED = {**CLASSES, "chat_fake.api": AccountApi}


def sections():
    """The sections of the reference, by the public name that each has as its heading."""
    section = re.compile(r"^##+ `([\w.]+)`\n(.*?)(?=^###? |\Z)", re.MULTILINE | re.DOTALL)
    return {name: text for page in REFERENCE.values() for name, text in section.findall(page)}


def rows(section):
    """The first names of list items, and of the rows under the head Member, and what follows."""
    listed = r"^- (`[^`]+`(?:,\s+`[^`]+`)*):\s(.*(?:\n  .*)*)"
    tables = re.findall(r"^\| Member \|.*\n((?:\|.*\n?)+)", section, re.MULTILINE)
    parts = [row.partition(" | ") for table in tables for row in table.splitlines()]
    return re.findall(listed, section, re.MULTILINE) + [(cell, text) for cell, _, text in parts]


def lines(section):
    """The members that are named."""
    return {name for cell, _ in rows(section) for name in re.findall(r"`(\w+)[(`]", cell)}


def members(cls):
    """The public members of a class: what it defines, and the attributes that it describes.

    Ready-made tests are not among them, because pytest calls those.
    """
    if fields := getattr(cls, "model_fields", None):
        return set(fields)
    found = []
    for base in [base for base in cls.__mro__ if "chatfake" in base.__module__]:
        described = (inspect.getdoc(base) or "").partition("\nAttributes:\n")[2]
        attributes = re.findall(r"^    (\w+): ", described.partition("\n\n")[0], re.MULTILINE)
        found += [*vars(base), *attributes]
    return {name for name in found if not name.startswith(("_", "test_"))}


def methods(cls):
    """The public methods that users call."""
    return {
        name for name in members(cls) if inspect.isfunction(inspect.getattr_static(cls, name, 0))
    }


def arguments(method, left_out=""):
    """How a table shows a method's arguments, without those that its row's text names."""
    given = list(inspect.signature(method).parameters.values())[1:]
    kept = [one.replace(annotation=one.empty) for one in given if f"`{one.name}`" not in left_out]
    shown = re.sub(r"<class '[\w.]*?(\w+)'>", r"\1", str(inspect.Signature(kept))).replace("'", '"')
    return f"{shown[:-1]}{', ' if kept else ''}...)" if left_out else shown


@pytest.mark.parametrize("name", [name for name, cls in DESCRIBED.items() if methods(cls)])
def test_every_method_is_shown_with_its_arguments(name):
    expected, shown = {}, {}
    for cell, text in rows(sections()[name]):
        for method, given in re.findall(r"`(\w+)(\([^`]*\))`", cell):
            shown[method] = given
            left_out = text if "..." in given else ""
            expected[method] = arguments(getattr(DESCRIBED[name], method), left_out)
    assert expected == shown
    assert methods(DESCRIBED[name]) == set(shown)


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_member_is_named_and_has_a_docstring(name):
    cls = DESCRIBED[name]
    assert members(cls) == lines(sections().get(name, ""))
    for member in vars(cls).values():
        if inspect.isfunction(member) and member.__module__ == cls.__module__:
            assert member.__doc__ or member.__name__.startswith("_"), member


def test_every_public_name_is_in_the_reference_and_documented_on_the_site():
    named = {name for page in REFERENCE.values() for name in re.findall(r"`(\w+)", page)}
    assert set(PUBLIC) <= named
    assert {name for name in sections() if name.isidentifier()} <= set(PUBLIC)
    pages = (DOCS / "reference" / "python").glob("*.rst")
    shown = [re.findall(r"^\.\. auto\w+:: (\w+)$", p.read_text(), re.MULTILINE) for p in pages]
    assert sorted([*PUBLIC, "AccountApi"]) == sorted(name for page in shown for name in page)


def test_every_ready_made_test_has_a_row_in_its_guide():
    guide = (DOCS / "how-to" / "ready-made-tests.md").read_text("utf-8")
    described = re.findall(r"^\| `(test_\w+)` \|", guide, re.MULTILINE)
    assert described == [name for name in vars(WebhookTests) if name.startswith("test_")]


@pytest.mark.parametrize("config", [ChatFakeConfig, Naming])
def test_fields_have_the_defaults_that_are_shown(config):
    text = REFERENCE["configuration.md"]
    shown = dict(re.findall(r"^- `(\w+)`:\s+`([^`]+)`", text, re.MULTILINE))
    made = config()
    for field in dataclasses.fields(config):
        default = eval(shown[field.name], {"Naming": Naming, "timedelta": timedelta})
        assert default == getattr(made, field.name), field.name


def test_fixtures_and_options_are_described():
    parser = Mock()
    for part in (plugin, pages_plugin, mutants_plugin):
        part.pytest_addoption(parser)
    options = {call.args[0]: call.kwargs["default"] for call in parser.addini.call_args_list}
    arguments = [call.args[0] for call in parser.getgroup.return_value.addoption.call_args_list]
    text = REFERENCE["fixtures-and-options.md"]
    described = set(re.findall(r"^\| `(chat_\w+)` \|", text, re.MULTILINE))
    names = {*vars(plugin), *vars(exploring_plugin)}
    assert {name for name in names if name.startswith("chat_")} == described - {*options}
    for name, default in options.items():
        written = "true" if default is True else default
        assert f"| `{name}` | `{written}` |" in text
    described_here = re.findall(r"^\| `(--[\w-]+(?:=fast)?)[=`]", text, re.MULTILINE)
    assert sorted(arguments) == sorted(described_here)


def test_the_mutants_are_described_in_the_words_of_a_report():
    page = REFERENCE["mutants.md"].partition("## The mutants\n")[2]
    shown = []
    for about, items in re.findall(r"^\*\*(.+)\*\*\n\n((?:[- ] .*\n)+)", page, re.MULTILINE):
        for name, told in re.findall(r"^- `([\w-]+)`: (.*(?:\n  .*)*)", items, re.MULTILINE):
            shown.append((name, about, " ".join(told.split()).partition(" (")[0]))
    assert [(name, *told) for name, told in MUTANTS.items()] == shown


def shown_in(page):
    """The values in the JSON blocks of a page, with exact numbers."""
    decoder, found = json.JSONDecoder(parse_float=Decimal), []
    for block in fences(page):
        text = "\n".join(block.lines) if block.info == "json" else ""
        while text:
            value, end = decoder.raw_decode(text)
            found.append(value)
            text = text[end:].lstrip()
    return found


def test_the_events_that_are_shown_are_what_the_fake_sends():
    with (
        time_machine.travel(1_767_268_800, tick=False) as traveller,  # 2026-01-01T12:00:00Z
        ChatFake(seed="reference") as fake,
    ):
        message = fake.send_text("Sale ends today")
        traveller.shift(2)
        message.deliver()
        traveller.shift(60)
        message.read()
        failed = fake.send_text("Sale ends today", to="+4915550001").fail()

    events = message.events[-1], failed.events[-1]
    sent, shown = [event.json() for event in events], shown_in(REFERENCE["service.md"])
    assert sent == shown
    assert str(sent) == str(shown)  # the order of their fields, too
