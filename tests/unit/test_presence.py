"""Every kind of event, field by field, against the presence tables of §2.2-2.5 and §6."""

from __future__ import annotations

import json
import re
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import ChatFake, Naming

from .event_fields import (
    CONVERSATION_FIELDS,
    ENVELOPE,
    ERROR_DATA,
    KINDS,
    MESSAGE_FIELDS,
    PLATFORM_ERROR,
    Kind,
)
from .fakes import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Iterator


kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture
def fake() -> Iterator[ChatFake]:
    with frozen_fake(on_insufficient_balance="fail") as fake:
        fake.clock.advance(milliseconds=1234, microseconds=567)
        yield fake


def emitted(fake: ChatFake, kind: Kind) -> dict[str, Any]:
    """The last event's body, parsed without a loss."""
    kind.make(fake)
    parsed = json.loads(fake.events[-1].body, parse_float=Decimal)
    assert isinstance(parsed, dict)
    return parsed


def walk(value: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    yield path, value
    children = value.items() if isinstance(value, dict) else ()
    for key, child in children:
        yield from walk(child, f"{path}.{key}")


@kinds
def test_an_event_has_exactly_the_fields_of_its_status(fake: ChatFake, kind: Kind) -> None:
    body = emitted(fake, kind)

    message = body["chatMessage"]
    expected = {name for name, statuses in MESSAGE_FIELDS.items() if kind.status in statuses}
    assert kind.status == message["status"]
    assert ENVELOPE == body.keys()
    assert expected | ({"chatApiError"} if kind.platform else set()) == message.keys()
    assert {"body"} == message["text"].keys()
    if "conversation" in expected:
        in_conversation = {
            f for f, statuses in CONVERSATION_FIELDS.items() if kind.status in statuses
        }
        assert in_conversation == message["conversation"].keys()
    if kind.platform:
        assert PLATFORM_ERROR == message["chatApiError"].keys()
        assert ERROR_DATA == message["chatApiError"]["error_data"].keys()


@pytest.mark.parametrize(
    ("price", "text"),
    [
        ("0.05", "0.05"),
        ("0.30", "0.30"),
        (1, "1"),
        (Decimal("1E+2"), "100"),
        (Decimal("1E-9"), "0.000000001"),
        ("0.1234567890123456789012345678", "0.1234567890123456789012345678"),
        ("19.00", "19.00"),
    ],
)
def test_a_price_is_written_digit_for_digit(fake: ChatFake, price: Any, text: str) -> None:
    fake.send_text(price=price).deliver().read()

    for event in fake.events:
        assert re.search(rf'"totalPrice": ?{re.escape(text)}[,}}]', event.body.decode())


def test_times_are_cut_off_to_milliseconds_and_stay_in_every_later_event(fake: ChatFake) -> None:
    """The fixture stands 1.234567 s after noon."""
    submission = fake.submit_text()
    fake.clock.advance(seconds=1)
    message = submission.accept()
    fake.clock.advance(microseconds=999_432)  # 3.233999
    message.deliver()
    fake.clock.advance(microseconds=1)  # 3.234000
    message.deliver().read()

    times = {
        "createTime": "2026-01-01T12:00:01.234Z",
        "sendTime": "2026-01-01T12:00:02.234Z",
        "deliverTime": "2026-01-01T12:00:03.233Z",
        "readTime": "2026-01-01T12:00:03.234Z",
    }
    bodies = [json.loads(event.body) for event in fake.events]
    for body, known in zip(bodies, (2, 3, 3, 4), strict=True):
        shown = {key: value for key, value in body["chatMessage"].items() if key.endswith("Time")}
        assert dict(list(times.items())[:known]) == shown
    assert "2026-01-01T12:00:03.234Z" == bodies[-1]["createTime"]
    assert "2026-01-02T12:00:03.233Z" == bodies[-1]["chatMessage"]["conversation"]["expireTime"]


def test_the_platforms_own_error_is_told_word_for_word(fake: ChatFake) -> None:
    message = emitted(fake, KINDS["failed with a platform error"])["chatMessage"]

    assert {
        "message": "No such user",
        "type": "OAuthException",
        "code": "131030",
        "trace_id": "AbC",
        "error_data": {"messaging_product": "chat", "details": "Not on the list"},
    } == message["chatApiError"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((), "131026", None),
        (("100",), "100", "Parameter Invalid"),
        (("131026", "Mine"), "131026", "Mine"),
        (("470", "Too late"), "470", "Too late"),
    ],
)
def test_a_failure_carries_its_code_and_text(
    fake: ChatFake, arguments: tuple[str, ...], code: str, text: str | None
) -> None:
    fake.send_text().fail(*arguments)

    message = json.loads(fake.events[-1].body)["chatMessage"]
    assert code == message["errorCode"]
    if text is None:  # the words for 131026 are not given
        assert message["errorMessage"].strip()
    else:
        assert text == message["errorMessage"]


def test_a_teams_own_naming_replaces_the_neutral_word_everywhere() -> None:
    naming = Naming(
        event_type="wave.message.updated",
        message_key="waveMessage",
        original_id_key="waveId",
        error_key="waveApiError",
        trace_key="wtrace_id",
        biz_type="wave",
        messaging_product="wave",
        id_prefix="wv.",
    )
    with frozen_fake(naming=naming) as fake:
        fake.send_text().fail()
        body = json.loads(fake.events[-1].body, parse_float=Decimal)

    message = body["waveMessage"]
    assert "wave.message.updated" == body["type"]
    assert "wave" == message["bizType"]
    assert message["waveId"].startswith("wv.")
    assert "wave" == message["waveApiError"]["error_data"]["messaging_product"]
    assert "wtrace_id" in message["waveApiError"]
    assert not [path for path, _ in walk(body) if "chat" in path.lower()]
    assert body.keys() == (ENVELOPE - {"chatMessage"}) | {"waveMessage"}


@pytest.mark.parametrize(("knob", "distinct"), [("unique", 3), ("per-message", 1)])
def test_whether_events_of_a_message_share_an_id_is_a_knob(knob: str, distinct: int) -> None:
    with frozen_fake(event_ids=knob) as fake:
        message = fake.send_text().deliver().read()
        other = fake.send_text()

        ids = {event.id for event in message.events}
        assert distinct == len(ids)
        assert not ids & {event.id for event in other.events}


def test_numbers_have_no_exponent_whatever_the_context_of_the_test_writes() -> None:
    with localcontext() as context:
        context.capitals = 0  # 1e-7, and not 1E-7
        with frozen_fake(price="1E-7") as fake:
            fake.send_text()

            assert b'"totalPrice":0.0000001,' in fake.events[0].body
