"""The reference has every public name and every public member, and nothing that is not there."""

# Asserts read `expected == actual`.

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import pytest
import time_machine
from werkzeug.test import Client

import pytest_chatfake
from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    Explorer,
    HmacSigner,
    Naming,
    PlatformError,
    Script,
)

from .pages import DOCS, ROOT, fences
from .reference import FUNCTIONS, sections

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTIONS = sections()

#: The rows of other tables in a section: not members, but arguments and the like.
NOT_MEMBERS = {
    "ChatFake": {
        *{"body", "to", "conversation", "origin_type", "price", "extra"},
        *{"path", "echo", "parse", "reply", "webhooks_first", "predicate", "timeout"},
        *{"deliver_after", "read_after", "fail_share", "seed"},
        *{"devices", "read_receipts", "online", "blocked", "chat_open", "registered", "withheld"},
    },
    "Webhooks": {
        *{
            "wsgi",
            "asgi",
            "handler",
            "path",
            "client",
            "headers",
            "raise_exceptions",
            "retry_after",
        },
        *{"seed", "timing"},
        *{"events", "signer", "changes", "remove", "raw", "type", "resource", "key", "id", "body"},
    },
    "TimelineEntry": {
        *{"verb", "hold", "release", "charge", "event", "attempt", "request", "clock", "drop"},
        "fault",
    },
    "Explorer": {"body", "deviations", "limit", "depth", "seconds", "only"},
    "IllegalTransition": {"sent", "delivered", "read", "failed"},
}


@pytest.fixture
def things() -> Iterator[dict[str, Any]]:
    """One of each public thing."""
    with ChatFake(seed="reference") as fake:
        receiver = fake.webhooks.receiver()
        with fake.webhooks.tamper(status="read") as fault, fake.api.fail() as api_fault:
            pass
        with fake.webhooks.chaos(seed=1, refuse=1) as chaos:
            pass
        fake._engine.outbox.faults.ever.clear()
        fake.api._faults.ever.clear()
        submission = fake.submit_text(to=fake.recipient("+4915550001"))
        message = submission.accept().deliver()
        fake.api._record("GET", "/", None, 404)
        event = pytest_chatfake.ChatMessageUpdated.model_validate(message.events[0].json())
        things = [
            *[api_fault, fake.api.requests[0], fake.webhooks.attempts[0], fake.balance, fake],
            *[
                fake.config,
                event,
                fake.clock.agenda[0],
                fake.clock,
                message.conversation,
                receiver.endpoint,
            ],
            *[message.events[0], fault, HmacSigner("x"), fake.ledger[0], message, Naming()],
            *[
                PlatformError("", "", "", "", ""),
                receiver,
                fake.recipient("+4915550001"),
                fake.autopilot(),
            ],
            *[pytest_chatfake.StandardWebhooksSigner(b"x"), submission, receiver.requests[0]],
            *[fake.webhooks, fake.timeline, fake.timeline[0], chaos],
            pytest_chatfake.edges("drop")[0],
            *[explorer := Explorer(), explorer(lambda chat_fake: None, depth=0), Script()],
        ]
        names = FUNCTIONS.split("|")
        functions = {name: getattr(pytest_chatfake, name) for name in names}
        named = {"chat_fake.api": fake.api, **functions}
        yield {type(thing).__name__: thing for thing in things} | named


def kind_of(thing: Any) -> str:
    """How the site describes a public name."""
    if not isinstance(thing, type):
        return "function"
    return "exception" if issubclass(thing, Exception) else "class"


def members(thing: Any) -> set[str]:
    """The public members of a thing, without those that all of its kind have."""
    if hasattr(type(thing), "model_fields"):
        return set(type(thing).model_fields)
    common = set(dir(tuple)) if isinstance(thing, tuple) else set[str]()
    return {name for name in dir(thing) if not name.startswith("_")} - common


def call_of(name: str, function: Any) -> str:
    """How a function is called: its parameters and their defaults."""
    signature = inspect.signature(function)
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    text = signature.replace(parameters=bare, return_annotation=signature.empty)
    return name + str(text).replace("'", '"')


def test_every_public_name_has_a_section_and_every_section_a_public_name() -> None:
    assert {*pytest_chatfake._HOMES, "chat_fake.api"} == set(SECTIONS)


def test_every_public_thing_is_looked_at(things: dict[str, Any]) -> None:
    errors = {
        name
        for name in pytest_chatfake._HOMES
        if isinstance(found := getattr(pytest_chatfake, name), type)
        and issubclass(found, Exception)
    }
    assert set(SECTIONS) - errors == set(things)


@pytest.mark.parametrize("name", sorted(set(SECTIONS)))
def test_a_section_has_all_members_and_no_others(name: str, things: dict[str, Any]) -> None:
    described = set(SECTIONS[name].members) - NOT_MEMBERS.get(name, set())
    expected = members(things[name]) if name in things else set[str]()
    assert expected == described


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_calls_are_shown_as_they_are(name: str, things: dict[str, Any]) -> None:
    thing = things.get(name)
    shown = {
        member: " ".join((SECTIONS[name].members[member] or "").split())
        for member in SECTIONS[name].members
        if inspect.ismethod(inspect.getattr_static(thing, member, None))
        or inspect.isfunction(inspect.getattr_static(thing, member, None))
        or isinstance(inspect.getattr_static(thing, member, None), classmethod)
    }
    assert {member: call_of(member, getattr(thing, member)) for member in shown} == shown


@pytest.mark.parametrize("name", ["HmacSigner", "StandardWebhooksSigner"])
def test_signers_are_made_as_it_is_shown(name: str) -> None:
    assert call_of(name, getattr(pytest_chatfake, name)) == SECTIONS[name].call


@pytest.mark.parametrize("config", [ChatFakeConfig, Naming])
def test_fields_have_the_defaults_that_are_shown(config: Any) -> None:
    text = (DOCS / "reference" / "configuration.md").read_text("utf-8")
    shown = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", text, re.MULTILINE))
    made = config()
    for field in dataclasses.fields(config):
        default = eval(shown[field.name], {"Naming": Naming, "timedelta": timedelta})
        assert default == getattr(made, field.name), field.name


def test_the_basis_of_each_field_is_the_one_that_the_code_names() -> None:
    text = (DOCS / "reference" / "configuration.md").read_text("utf-8")
    doc = inspect.getdoc(ChatFakeConfig) or ""
    rows = re.findall(r"^\| `(\w+)` \| `[^`]+` \| \[?(assumed|§[\d.]+)\]? \|", text, re.MULTILINE)
    assert {field.name for field in dataclasses.fields(ChatFakeConfig)} == {row[0] for row in rows}
    for name, basis in rows:
        described = re.search(
            rf"^ +{name}: (.+?)(?=^ {{4}}\w+: |\Z|^Raises)", doc, re.MULTILINE | re.DOTALL
        )
        assert described is not None
        cited = re.findall(r"§[\d.]+", described[1])
        if cited or "assumed" in described[1]:
            assert basis in (cited or ["assumed"]), f"{name}: {described[1]}"


def test_fixtures_and_ini_options_are_described() -> None:
    from pytest_chatfake import plugin

    options: dict[str, str] = {}
    arguments: list[str] = []

    class Parser:
        def addini(self, name: str, help: str, *, default: object, type: str = "string") -> None:
            options[name] = str(default).lower() if type == "bool" else str(default)

        def getgroup(self, name: str) -> Parser:
            return self

        def addoption(self, name: str, **_: object) -> None:
            arguments.append(name)

    plugin.pytest_addoption(cast("pytest.Parser", Parser()))
    text = (DOCS / "reference" / "fixtures-and-options.md").read_text("utf-8")
    described = set(re.findall(r"^\| `(chat_\w+)` \|", text, re.MULTILINE))
    assert {name for name in vars(plugin) if name.startswith("chat_")} == described - {*options}
    for name, default in options.items():
        assert f"| `{name}` | `{default}` |" in text
    assert arguments == re.findall(r"^\| `(--[\w-]+)[=`]", text, re.MULTILINE)


def test_the_tree_of_errors_is_the_codes() -> None:
    from pytest_chatfake.base import errors as exceptions

    text = (DOCS / "reference" / "errors.md").read_text("utf-8")
    tree = next(block for block in fences(text) if block.info == "text")
    drawn = [line.strip() for line in tree.lines if line.strip()]
    source = [line.strip() for line in (inspect.getdoc(exceptions) or "").splitlines()]
    assert [] == [line for line in drawn if line not in source]
    for name in [n for n, v in vars(exceptions).items() if isinstance(v, type)]:
        assert any(name in line for line in drawn), name


def test_the_examples_of_events_are_what_the_fake_sends() -> None:
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
        rejected = fake.submit_text("Sale ends today").reject()
        events = [*message.events, failed.events[-1], *rejected.events]

    text = (DOCS / "reference" / "events.md").read_text("utf-8")
    shown = [json.loads("\n".join(b.lines)) for b in fences(text) if b.info == "json"]
    assert [json.loads(event.body) for event in events] == shown
    order = [list(json.loads(event.body)["chatMessage"]) for event in events]
    assert order == [list(event["chatMessage"]) for event in shown]


def test_the_readme_shows_the_event_and_the_answer_that_the_fake_gives() -> None:
    event, answer = (
        json.loads("\n".join(block.lines), parse_float=Decimal)
        for block in fences((ROOT / "README.md").read_text("utf-8"))
        if block.info == "json"
    )
    with ChatFake() as fake:
        fake.send_text()
        given = Client(fake.wsgi_app).get("/v2/balance", headers={"X-API-Key": fake.api_key})
    assert json.loads(given.data, parse_float=Decimal) == answer
    examples = (DOCS / "reference" / "events.md").read_text("utf-8")
    delivered = examples.split("### delivered")[1].split("### read")[0]
    (shown,) = [block for block in fences(delivered) if block.info == "json"]
    assert json.loads("\n".join(shown.lines), parse_float=Decimal) == event


def test_every_public_name_has_its_docstring_on_the_site_once() -> None:
    pages = sorted((DOCS / "reference" / "python").glob("*.rst"))
    directive = re.compile(r"^\.\. auto(class|exception|function):: (\w+)$", re.MULTILINE)
    shown = [found for page in pages for found in directive.findall(page.read_text("utf-8"))]
    kinds = {name: kind_of(getattr(pytest_chatfake, name)) for name in pytest_chatfake._HOMES}
    kinds["AccountApi"] = "class"  # what chat_fake.api is
    assert sorted((kind, name) for name, kind in kinds.items()) == sorted(shown)


def test_every_page_of_docstrings_is_in_the_contents() -> None:
    pages = DOCS / "reference" / "python"
    contents = (pages / "index.rst").read_text("utf-8").split(".. toctree::")[1].split()
    assert sorted(page.stem for page in pages.glob("*.rst")) == sorted([*contents, "index"])


def test_each_public_thing_says_the_essentials_in_one_line(things: dict[str, Any]) -> None:
    for name, thing in things.items():
        text = repr(thing)
        assert 1 == len(text.splitlines()), name
        assert " object at 0x" not in text, name
        assert len(text) < 1_000, name
        assert things["chat_fake.api"]._key not in text, name
