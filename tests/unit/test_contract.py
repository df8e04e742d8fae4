"""The models of events, their JSON Schema, and what is said of bodies that differ from them."""

import copy
import json
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache

import jsonschema
import pytest
from pydantic import ValidationError

from pytest_chatfake import ChatMessageUpdated, Naming
from pytest_chatfake.wire.models import event_model, event_schema
from pytest_chatfake.wire.validation import mismatches

from .event_fields import KINDS, MESSAGE_FIELDS
from .fakes import frozen_fake

DESCRIBED = Naming()
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
namings = pytest.mark.parametrize("naming", [DESCRIBED, OWN], ids=["described", "own"])
#: One kind of each set of fields.
SHAPES = ["sent", "delivered", "read", "failed", "failed here"]


def emitted(kind, naming=DESCRIBED, **config):
    with frozen_fake(naming=naming, **config) as fake:
        KINDS[kind].make(fake)
        return [json.loads(event.body, parse_float=Decimal) for event in fake.events]


emitted_once = cache(emitted)  # who changes an event takes a copy


@cache
def validator(naming, *omit):
    return jsonschema.Draft202012Validator(event_schema(naming, omit))


ABSENT = "absent"
#: More digits than a float has.
LONG = "0.1234567890123456789"


def put(place, changes):
    """Set the fields, and delete those that are to be absent."""
    for key, value in changes.items():
        place[key] = value
        if value is ABSENT:
            del place[key]


def damaged(body):
    """Bodies with one thing wrong, and what."""

    def places(value, path):
        for key, inner in value.items():
            yield (*path, key)
            if isinstance(inner, dict):
                yield from places(inner, (*path, key))

    too_many = MESSAGE_FIELDS.keys() - body["chatMessage"].keys()
    for *parents, key in [*places(body, ()), *(("chatMessage", name) for name in too_many)]:
        for value in (ABSENT, None, True, 7, -1, "", "x", [], {}):
            other = copy.deepcopy(body)
            place = other
            for parent in parents:
                place = place[parent]
            put(place, {key: value})
            if other != body:
                added = "added: " if key in too_many else ""
                yield f"{added}{'.'.join((*parents, key))}: {value!r}", other


@namings
def test_every_event_of_the_fake_satisfies_the_schema_and_the_models(naming):
    other = OWN if naming == DESCRIBED else DESCRIBED
    own_schema, other_schema = validator(naming), validator(other)
    own_schema.check_schema(own_schema.schema)
    for body in (body for kind in KINDS for body in emitted(kind, naming)):
        own_schema.validate(body)
        assert mismatches(body, naming) == []
        assert not other_schema.is_valid(body)
        assert mismatches(body, other)


OWN_FIELDS = {"pigeonMessageId", "pigeonApiError", "to", "from"}


@pytest.mark.parametrize(
    "field", sorted(MESSAGE_FIELDS.keys() - {"id", "status", "chatMessageId"} | OWN_FIELDS)
)
def test_a_field_that_an_account_omits_is_in_no_event_and_is_not_missed(field):
    schema = validator(OWN, field)
    for kind in SHAPES:
        whole = copy.deepcopy(emitted_once(kind, OWN, price=LONG))
        for event, found in zip(whole, emitted(kind, OWN, price=LONG, omit=[field]), strict=True):
            event["pigeonMessage"].pop(field, None)
            assert event == found
            schema.validate(found)
            assert mismatches(found, OWN, [field]) == []
            found["pigeonMessage"][field] = []
            assert mismatches(found, OWN, [field])


#: What else than the service's values may stand in a text message, by hand.
ERROR_TEXTS = [f"chatApiError.{key}" for key in ("message", "type", "code", "trace_id")]
TEXTS = ["text.body", "errorMessage", *ERROR_TEXTS, "chatApiError.error_data.details"]
FILLED = ["id", "errorCode", "conversation.type", "conversation.originType"]
HARMLESS = {
    "chatMessage.totalPrice: 7",
    "chatMessage.chatApiError: 'absent'",
    *(f"chatMessage.{path}: ''" for path in TEXTS),
    *(f"chatMessage.{path}: 'x'" for path in [*TEXTS, *FILLED]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_damaged_body_is_refused_by_the_schema_and_told_in_a_sentence(shape):
    schema, body = validator(DESCRIBED), emitted(shape)[-1]
    tried = dict(damaged(body))
    harmless = tried.keys() & HARMLESS

    assert harmless == {what for what, one in tried.items() if schema.is_valid(one)}
    assert harmless == {
        what for what, one in tried.items() if not mismatches(one, DESCRIBED, extra_fields=True)
    }
    assert len(tried) > 100


def test_the_schema_has_no_titles_of_fields_and_no_defaults():
    schema = event_schema(DESCRIBED)
    message = schema["$defs"]["SentMessage"]

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    version = schema["properties"]["apiVersion"]
    version.pop("enum", None)  # older versions of pydantic list the one constant, too
    assert version == {"const": "v2", "type": "string"}
    assert message["properties"]["text"] == {"$ref": "#/$defs/Text"}
    assert message["properties"]["readTime"] == {"not": {}}
    assert message["properties"]["totalPrice"] == {"type": "number", "minimum": 0}
    assert '"default"' not in json.dumps(schema)


def told(kind, change, **options):
    body = emitted(kind)[-1]
    change(body, body["chatMessage"])
    return mismatches(body, DESCRIBED, **options)


#: What is told of changes of a message, and of changes of its envelope.
MESSAGES = {
    "`chatMessage.type`: missing in a failed message": {"type": ABSENT, "text": ABSENT},
    "`chatMessage.totalPrice`: expected a number, got '0.05'": {"totalPrice": "0.05"},
    "`chatMessage.totalPrice`: expected a number, got true": {"totalPrice": True},
    "`chatMessage.totalPrice`: expected at least 0, got -0.05": {"totalPrice": Decimal("-0.05")},
    "`chatMessage.errorCode`: expected a string, got 131026.0": {"errorCode": Decimal("131026.0")},
    "`chatMessage.id`: expected a string without lone surrogates, got '\\ud800'": {"id": "\ud800"},
    "`chatMessage`: expected a string without lone surrogates, got '\\ud800'": {"\ud800": 1},
    "`chatMessage.id`: expected a string, got null": {"id": None},
    "`chatMessage.id`: expected a non-empty string, got ''": {"id": ""},
    "`chatMessage.text`: expected an object, got null": {"text": None},
    "`chatMessage.chatApiError`: expected an object, got false": {"chatApiError": False},
    "`chatMessage.errorCode`: missing in a failed message": {"errorCode": ABSENT},
    "`chatMessage.readTime`: unexpected in a failed message, got null": {"readTime": None},
    "`chatMessage.text`: missing in a text message": {"text": ABSENT},
    "`chatMessage.text`: unexpected in a non-text message, got an object": {
        "type": "image",
        "image": {},
    },
    "`chatMessage.colour`: not in the description": {"colour": "red"},
}
ENVELOPES = {
    "the event: expected a string without lone surrogates, got '\\ud800'": {"\ud800": 1},
    "`chatMessage`: expected an object, got a list": {"chatMessage": []},
    "`chatMessage`: expected an object, got 0.5": {"chatMessage": Decimal("0.5")},
    "`createTime`: expected a moment in UTC with milliseconds and Z, got an object": {
        "createTime": {}
    },
    "`createTime`: expected a moment in UTC with milliseconds and Z, got '2026-01-01T12:00:00Z'": {
        "createTime": "2026-01-01T12:00:00Z"
    },
    "`createTime`: expected a moment in UTC with milliseconds and Z, "
    "got '2026-02-30T12:00:00.000Z'": {"createTime": "2026-02-30T12:00:00.000Z"},
    "`apiVersion`: expected 'v2', got 'v3'": {"apiVersion": "v3"},
    "`id`: expected the form ^evt_.+, got 'event-1'": {"id": "event-1"},
    "`apiVersion`: missing": {"apiVersion": ABSENT},
}


def test_a_mismatch_is_told_in_a_sentence_with_its_path():
    assert [[sentence] for sentence in [*MESSAGES, *ENVELOPES]] == [
        *(told("failed", lambda _, one, c=c: put(one, c)) for c in MESSAGES.values()),
        *(told("failed", lambda one, _, c=c: put(one, c)) for c in ENVELOPES.values()),
    ]


@pytest.mark.parametrize(("status", "shown"), [("seen", "'seen'"), (7, "7"), (None, "null")])
def test_of_a_message_with_an_unknown_status_only_the_status_is_told(status, shown):
    def change(event, message):
        message.update(status=status, currency="usd")
        message.pop("bizType")
        event.update(type="chat.message.update")

    assert {
        "`type`: expected 'chat.message.updated', got 'chat.message.update'",
        f"`chatMessage.status`: expected 'sent', 'delivered', 'read' or 'failed', got {shown}",
    } == set(told("read", change))
    assert told("sent", lambda _, one: one.pop("status")) == ["`chatMessage.status`: missing"]


def test_a_conversation_has_a_type_where_its_session_has_begun():
    assert told("read", lambda _, message: message["conversation"].pop("type")) == [
        "`chatMessage.conversation.type`: missing in a read message"
    ]
    assert told("sent", lambda _, message: message["conversation"].update(type="REGULAR")) == [
        "`chatMessage.conversation.type`: unexpected in a sent message, got 'REGULAR'"
    ]


def test_fields_of_an_account_may_be_let_pass():
    def change(event, message):
        for place in (event, message["text"], message["chatApiError"]["error_data"]):
            place["colour"] = {"of": "sky"}

    assert sorted(told("failed", change)) == [
        "`chatMessage.chatApiError.error_data.colour`: not in the description",
        "`chatMessage.text.colour`: not in the description",
        "`colour`: not in the description",
    ]
    assert told("failed", change, extra_fields=True) == []


def test_a_message_that_is_no_text_has_its_content_under_its_type():
    def change(_, message, content):
        message.update(type="image", image=content)
        del message["text"]

    link = {"link": "https://example.test/a.png"}
    for content in (link, [link]):
        assert told("read", lambda *body, of=content: change(*body, of)) == []
    assert told("read", lambda *body: change(*body, "a.png")) == [
        "`chatMessage.image`: not in the description"
    ]
    assert told("read", lambda event, _: event.update(image={})) == [
        "`image`: not in the description"
    ]


# -- the model that users import -------------------------------------------------------------------


def test_a_model_reads_an_event_into_pythons_types():
    sent, delivered = (ChatMessageUpdated.model_validate(one) for one in emitted("delivered"))

    message = delivered.chat_message
    assert datetime(2026, 1, 1, 12, tzinfo=UTC) == delivered.create_time == message.deliver_time
    assert ("0.05", Decimal) == (str(message.total_price), type(message.total_price))
    assert message.conversation is not None
    assert (message.conversation.type, message.conversation.origin_type) == ("REGULAR", "marketing")
    assert message.text is not None
    assert message.text.body == "Hello"
    assert (message.read_time, message.error_code, message.chat_api_error) == (None, None, None)
    assert sent.chat_message.deliver_time is None
    with pytest.raises(ValidationError, match="frozen"):
        sent.id = "evt_other"


def test_a_model_takes_fields_of_an_account_and_numbers_read_as_floats():
    body = emitted("read")[-1]
    body["chatMessage"].update(totalPrice=0.05, region="eu")

    event = ChatMessageUpdated.model_validate(body)
    message = event.chat_message
    assert (Decimal("0.05"), "eu") == (message.total_price, message.region)
    assert event == ChatMessageUpdated.model_validate(body | {"createTime": event.create_time})


@pytest.mark.parametrize(
    "change", [{"readTime": None}, {"totalPrice": "0.05"}, {"createTime": "now"}, {"text": None}]
)
def test_a_model_refuses_what_the_description_does_not_show(change):
    body = emitted("sent")[-1]
    body["chatMessage"] |= change

    with pytest.raises(ValidationError, match=f"chatMessage.sent.{next(iter(change))}"):
        ChatMessageUpdated.model_validate(body)
    del body["chatMessage"]["text"]
    with pytest.raises(ValidationError, match=r"chatMessage\.sent\.text"):
        ChatMessageUpdated.model_validate(body)


def test_a_model_of_a_teams_own_names_keeps_the_names_of_its_attributes():
    event = event_model(OWN).model_validate(emitted("failed", OWN)[-1])

    message = event.chat_message
    assert type(event).__name__ == "ChatMessageUpdated"
    assert message.chat_message_id.startswith("pgid.")
    assert message.chat_api_error is not None
    assert (
        message.chat_api_error.code,
        message.chat_api_error.error_data.messaging_product,
    ) == ("131026", "coo")
    assert (message.sender, message.recipient) == ("+15550199", "+15550100")
