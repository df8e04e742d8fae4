"""People and their phones (§3 and its rules 2 and 3), an example for each rule.

Random scripts hold all of them against the model, and the rows of fidelity what is assumed.
"""

# Asserts read `expected == actual`.

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import ClosedError, IllegalTransition

from .fakes import frozen_fake

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake

ANNA = "+4915100001"


def statuses(message: Any) -> list[str]:
    return [event.status for event in message.events]


def test_an_address_has_one_handle_and_what_is_not_named_stays_as_it_was(fake: ChatFake) -> None:
    anna = fake.recipient(ANNA, devices=2, read_receipts=False)

    assert anna is fake.recipient(ANNA, withheld=True)
    assert (2, False, True, True) == (
        *(anna.devices, anna.read_receipts),
        *(anna.withheld, anna.online),
    )


def test_a_reset_forgets_people_and_ends_their_handles(fake: ChatFake) -> None:
    anna = fake.recipient(ANNA, devices=2)
    fake.reset()

    with pytest.raises(ClosedError, match=r"no longer exists: the fake was reset"):
        fake.send_text(to=anna)
    assert 1 == fake.recipient(ANNA).devices


def test_a_description_that_contradicts_itself_is_refused(fake: ChatFake) -> None:
    with pytest.raises(ValueError, match="a phone that is off has no open chat"):
        fake.recipient(ANNA, chat_open=True, online=False)


def test_a_delivery_reaches_only_the_devices_that_lack_the_message(fake: ChatFake) -> None:
    message = fake.send_text(to=fake.recipient(ANNA, devices=3)).deliver(devices=1)

    message.deliver()

    assert ["sent", *["delivered"] * 3] == statuses(message)


def test_a_recipient_without_receipts_is_never_seen_to_read(fake: ChatFake) -> None:
    private = fake.recipient(ANNA, read_receipts=False)

    message = fake.send_text(to=private).deliver().read().read()

    assert ["sent", "delivered"] == statuses(message)


@pytest.mark.parametrize(
    ("description", "remedy"),
    [
        ({"online": False}, r"comes_online\(\)"),
        ({"blocked": True}, r"unblocks\(\)"),
        ({"registered": False}, "registered=True"),
        ({"withheld": True}, "withheld=False"),
    ],
)
def test_a_verb_that_contradicts_the_person_is_refused_with_the_remedy(
    fake: ChatFake, description: dict[str, bool], remedy: str
) -> None:
    message = fake.send_text(to=ANNA)
    fake.recipient(ANNA, **description)

    with pytest.raises(IllegalTransition, match=rf"{remedy}.* or omit deliver\(\)"):
        message.deliver()


def test_a_phone_that_comes_back_gets_what_is_still_sent_in_order(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        anna = fake.recipient(ANNA, online=False, devices=2)
        first = await do(fake.send_text("first", to=anna))
        second = await do(fake.send_text("second", to=anna))
        await do(anna.comes_online())

        assert [first.id, first.id, second.id, second.id] == [
            event.message_id for event in fake.events if event.status == "delivered"
        ]
        fake.assert_charged("0.05", message=first)  # the first one starts the conversation
        fake.assert_charged("0", message=second)

    play(scenario)


def test_a_phone_that_goes_off_closes_the_chat(fake: ChatFake) -> None:
    anna = fake.recipient(ANNA, chat_open=True)
    anna.goes_offline()

    with pytest.raises(IllegalTransition, match=r"can't call opens_chat\(\) for \+4915"):
        anna.opens_chat()
    assert not anna.chat_open


def test_an_open_chat_reads_at_once_without_a_delivered_event(fake: ChatFake) -> None:
    fake.recipient(ANNA, chat_open=True, devices=3)
    message = fake.send_text(to=ANNA)

    assert ["sent", "read"] == statuses(message)
    fake.assert_charged("0.05", message=message)


def test_a_number_that_is_not_registered_fails_in_the_same_verb(fake: ChatFake) -> None:
    fake.recipient(ANNA, registered=False)
    message = fake.send_text(to=ANNA)

    assert ["sent", "failed"] == statuses(message)
    assert "131026" == message.events[-1].json()["chatMessage"]["errorCode"]
    assert ["opening", "hold", "release"] == [entry.kind for entry in fake.ledger]


def test_a_function_of_extra_fields_that_fails_leaves_what_was_done_before() -> None:
    def fields(message: Any, status: str) -> dict[str, str]:
        if (message.body, status) == ("two", "delivered"):
            raise RuntimeError("no fields")
        return {}

    with frozen_fake(extra=fields) as fake:
        fake.autopilot(deliver_after=None, read_after=60)
        anna = fake.recipient(ANNA, online=False)
        messages = [fake.send_text(body, to=anna) for body in ("one", "two", "three")]
        with pytest.raises(RuntimeError, match="no fields"):
            anna.comes_online()

        assert anna.online
        assert ["delivered", "sent", "sent"] == [message.status for message in messages]
        fake.clock.advance(60)
        assert "read" == messages[0].status  # the autopilot has seen the delivery


def test_a_consequence_that_another_thread_has_made_illegal_is_left_out() -> None:
    def fields(message: Any, status: str) -> dict[str, str]:
        if (message.body, status) == ("one", "delivered"):  # the lock is released meanwhile
            other = threading.Thread(target=messages[1].fail)
            other.start()
            other.join()
        return {}

    with frozen_fake(extra=fields) as fake:
        anna = fake.recipient(ANNA, online=False)
        messages = [fake.send_text(body, to=anna) for body in ("one", "two", "three")]
        anna.comes_online()

        assert ["delivered", "failed", "delivered"] == [message.status for message in messages]
        assert ["failed", "delivered", "delivered"] == [one.status for one in fake.events[3:]]


def test_a_phone_that_another_thread_turns_off_meanwhile_gets_no_more() -> None:
    def fields(message: Any, status: str) -> dict[str, str]:
        if (message.body, status) == ("one", "delivered"):
            other = threading.Thread(target=anna.goes_offline)
            other.start()
            other.join()
        return {}

    with frozen_fake(extra=fields) as fake:
        anna = fake.recipient(ANNA, online=False)
        messages = [fake.send_text(body, to=anna) for body in ("one", "two")]
        anna.comes_online()

        assert not anna.online
        assert ["sent", "sent"] == [message.status for message in messages]
