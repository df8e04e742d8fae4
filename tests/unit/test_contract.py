"""The JSON Schema of events, and bodies that deviate from it."""

# Asserts read `expected == actual`.

from __future__ import annotations

import copy
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from pytest_chatfake import ChatFake, Naming
from pytest_chatfake.wire.deviations import deviations
from pytest_chatfake.wire.models import event_model
from pytest_chatfake.wire.recordings import recorded
from pytest_chatfake.wire.schema import event_schema

from .event_fields import KINDS, MESSAGE_FIELDS
from .fakes import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = Naming(
    event_type="pigeon.message.updated",
    message_key="pigeonMessage",
    original_id_key="pigeonMessageId",
    error_key="pigeonApiError",
    trace_key="pgtrace_id",
    biz_type="pigeon",
    messaging_product="coo",
    id_prefix="pgid.",
    to_key="to",
    from_key="from",
)
SHAPES = ["sent", "delivered", "read", "failed", "failed here"]


def emitted(kind: str, naming: Naming) -> list[Any]:
    with frozen_fake(naming=naming) as fake:
        KINDS[kind].make(fake)
        return [json.loads(event.body, parse_float=Decimal) for event in fake.events]


def last(kind: str) -> Any:
    return emitted(kind, Naming())[-1]


@pytest.fixture
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(event_schema())


@pytest.mark.parametrize("naming", [Naming(), OWN], ids=["described", "own"])
def test_the_schema_is_a_json_schema(naming: Naming) -> None:
    jsonschema.Draft202012Validator.check_schema(event_schema(naming))


@pytest.mark.parametrize("naming", [Naming(), OWN], ids=["described", "own"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_event_of_the_fake_satisfies_it(kind: str, naming: Naming) -> None:
    schema = event_schema(naming)
    for body in emitted(kind, naming):
        jsonschema.Draft202012Validator(schema).validate(body)
        assert [] == deviations(body, schema)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_with_other_names_does_not(kind: str) -> None:
    schema = event_schema(OWN)
    for body in emitted(kind, Naming()):
        assert not jsonschema.Draft202012Validator(schema).is_valid(body)
        assert deviations(body, schema)


def damaged(body: Any) -> Iterator[tuple[str, Any]]:
    """Bodies with one thing wrong, and what."""
    strange = [None, True, 7, -1, "", "x", [], {}]

    def walk(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for key, inner in value.items():
            yield (*path, key)
            if isinstance(inner, dict):
                yield from walk(inner, (*path, key))

    for path in walk(body, ()):
        *parents, key = path
        for value in ("absent", *strange):
            other = copy.deepcopy(body)
            place = other
            for parent in parents:
                place = place[parent]
            place[key] = value
            if value == "absent":
                del place[key]
            yield f"{'.'.join(path)}: {value!r}", other
    for name in MESSAGE_FIELDS.keys() - body["chatMessage"].keys():
        other = copy.deepcopy(body)
        other["chatMessage"][name] = "2026-01-01T12:00:00.000Z"
        yield f"{name} too many", other


@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_that_the_schema_refuses_gets_a_sentence_and_no_other_does(
    shape: str, validator: jsonschema.Draft202012Validator
) -> None:
    schema, tried, wrong = event_schema(), 0, []
    for what, body in damaged(last(shape)):
        tried += 1
        if validator.is_valid(body) != (not deviations(body, schema, extra_fields=True)):
            wrong.append(what)

    assert [] == wrong
    assert tried > 100


@pytest.mark.parametrize("naming", [Naming(), OWN], ids=["described", "own"])
def test_the_schema_has_the_fields_of_the_models(naming: Naming) -> None:
    schema = event_schema(naming)
    of_model = event_model(naming).model_json_schema()
    names = {
        "ChatMessage": "message",
        "Conversation": "conversation",
        "Text": "text",
        "ChatApiError": "error",
        "ErrorData": "error_data",
    }
    pairs = [(of_model, schema)]
    pairs += [(of_model["$defs"][a], schema["$defs"][b]) for a, b in names.items()]
    for model, own in pairs:
        assert model["properties"].keys() == own["properties"].keys() - {"to", "from"}
        assert set(model["required"]) == set(own["required"]) - {"to", "from"}
    assert set(names.values()) == schema["$defs"].keys()


def told(kind: str, change: Any, **options: bool) -> list[str]:
    body = last(kind)
    change(body, body["chatMessage"])
    return deviations(body, event_schema(), **options)


SENTENCES = {
    "a text for a number": (
        lambda _, message: message.update(totalPrice="0.05"),
        "`chatMessage.totalPrice` is '0.05', and not a number",
    ),
    "a number for a text": (
        lambda _, message: message.update(errorCode=Decimal("131026.0")),
        "`chatMessage.errorCode` is 131026.0, and not text",
    ),
    "a boolean for a number": (
        lambda _, message: message.update(totalPrice=True),
        "`chatMessage.totalPrice` is true, and not a number",
    ),
    "false": (
        lambda _, message: message.update(totalPrice=False),
        "`chatMessage.totalPrice` is false, and not a number",
    ),
    "null": (
        lambda _, message: message.update(id=None),
        "`chatMessage.id` is null, and not text",
    ),
    "a list": (
        lambda event, _: event.update(chatMessage=[]),
        "`chatMessage` is a list, and not an object",
    ),
    "an object": (
        lambda event, _: event.update(createTime={}),
        "`createTime` is an object, and not text",
    ),
    "negative": (
        lambda _, message: message.update(totalPrice=Decimal("-0.05")),
        "`chatMessage.totalPrice` is -0.05, and below 0",
    ),
    "empty": (
        lambda _, message: message.update(id=""),
        "`chatMessage.id` is empty",
    ),
    "another constant": (
        lambda event, _: event.update(apiVersion="v3"),
        "`apiVersion` is 'v3', and not 'v2'",
    ),
    "an unknown status": (
        lambda _, message: message.update(status="seen"),
        "`chatMessage.status` is 'seen', and not 'sent', 'delivered', 'read' or 'failed'",
    ),
    "a moment without milliseconds": (
        lambda event, _: event.update(createTime="2026-01-01T12:00:00Z"),
        "`createTime` is '2026-01-01T12:00:00Z', and not a moment in UTC with milliseconds and Z",
    ),
    "another form": (
        lambda event, _: event.update(id="event-1"),
        "`id` is 'event-1', and not of the form ^evt_.+",
    ),
    "missing always": (
        lambda event, _: event.pop("apiVersion"),
        "`apiVersion` is missing",
    ),
    "missing in this status": (
        lambda _, message: message.pop("errorCode"),
        "`chatMessage.errorCode` is missing: a failed message has it",
    ),
    "of another status": (
        lambda _, message: message.update(readTime=None),
        "`chatMessage.readTime` is null, and a failed message does not have it",
    ),
    "an unknown field": (
        lambda _, message: message.update(colour="red"),
        "`chatMessage.colour` is not in the description",
    ),
    "text without a text": (
        lambda _, message: message.pop("text"),
        "`chatMessage.text` is missing: a text message has it",
    ),
}


@pytest.mark.parametrize("what", SENTENCES)
def test_a_deviation_is_told_in_a_sentence(what: str) -> None:
    change, sentence = SENTENCES[what]

    assert [sentence] == told("failed", change)


def test_a_conversation_has_a_type_where_its_session_has_begun() -> None:
    assert [
        "`chatMessage.conversation.type` is missing: the conversation of a read message has it"
    ] == (told("read", lambda _, message: message["conversation"].pop("type")))
    sentence = (
        "`chatMessage.conversation.type` is 'REGULAR', and the conversation of a sent message does "
        "not have it"
    )
    assert [sentence] == told(
        "sent", lambda _, message: message["conversation"].update(type="REGULAR")
    )


def test_a_body_that_is_no_object_is_one_deviation() -> None:
    assert ["the event is a list, and not an object"] == deviations([], event_schema())


def test_fields_of_an_account_may_be_let_pass() -> None:
    def change(event: Any, message: Any) -> None:
        event["region"] = "eu"
        message["conversation"]["colour"] = 1

    assert 2 == len(told("read", change))
    assert [] == told("read", change, extra_fields=True)


def test_a_message_that_is_no_text_has_its_content_under_its_type() -> None:
    def change(_: Any, message: Any) -> None:
        message.update(type="image", image={"link": "https://example.test/a.png"})
        del message["text"]

    assert [] == told("read", change)

    def without_object(event: Any, message: Any) -> None:
        change(event, message)
        message["image"] = "a.png"

    assert ["`chatMessage.image` is not in the description"] == told("read", without_object)


def test_a_float_is_a_number_too() -> None:
    assert [] == told("read", lambda _, message: message.update(totalPrice=0.05))


def test_the_schema_of_a_fake_with_every_default_is_the_default() -> None:
    with ChatFake() as fake:
        assert event_schema() == event_schema(fake.config.naming)


@pytest.mark.parametrize("number", ["1e400", "-9.9E+400", "1e-400", "0e999999999"])
def test_a_number_that_languages_read_is_one(number: str, tmp_path: Any) -> None:
    path = tmp_path / "recorded.json"
    path.write_text(f'[{{"type": "chat.x", "a": {number}}}]')
    (entry,) = recorded(path)
    assert not entry.problem


@pytest.mark.parametrize("number", ["1e401", "-1E+999999999", "1.5e-401"])
def test_a_number_that_would_fill_the_memory_is_no_number(number: str, tmp_path: Any) -> None:
    path = tmp_path / "recorded.json"
    path.write_text(f'[{{"type": "chat.x", "a": {number}}}]')
    (entry,) = recorded(path)
    assert "out of range" in entry.problem
