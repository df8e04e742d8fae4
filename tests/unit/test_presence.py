"""Every kind of event, field by field, against the presence tables of §2.2-2.5 and §6."""

import pytest

from .event_fields import (
    CONVERSATION_FIELDS,
    ENVELOPE,
    ERROR_DATA,
    KINDS,
    MESSAGE_FIELDS,
    PLATFORM_ERROR,
)
from .fakes import frozen_fake


def fields_of(kind, table):
    return {name for name, statuses in table.items() if kind.status in statuses}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_event_has_exactly_the_fields_of_its_status(kind):
    with frozen_fake(on_insufficient_balance="fail") as fake:
        kind.make(fake)
        body = fake.events[-1].json()

    message = body["chatMessage"]
    expected = fields_of(kind, MESSAGE_FIELDS)
    assert kind.status == message["status"]
    assert body.keys() == ENVELOPE
    assert expected | ({"chatApiError"} if kind.platform else set()) == message.keys()
    assert {"body"} == message["text"].keys()
    if "conversation" in expected:
        assert message["conversation"].keys() == fields_of(kind, CONVERSATION_FIELDS)
    if kind.platform:
        assert message["chatApiError"].keys() == PLATFORM_ERROR
        assert message["chatApiError"]["error_data"].keys() == ERROR_DATA
