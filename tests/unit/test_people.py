"""People and their phones (§3 and its rules 2 and 3), in both modes."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import ChatFake, ClosedError, IllegalTransition, NotAwaited

from .fakes import frozen_fake, visible_state

if TYPE_CHECKING:
    from collections.abc import Callable

ANNA = "+4915100001"
BEN = "+4915100002"

#: Ways in which a phone gets nothing, and the words that bring it back.
OBSTACLES: dict[str, tuple[dict[str, bool], str]] = {
    "offline": ({"online": False}, "comes_online()"),
    "blocked": ({"blocked": True}, "unblocks()"),
    "not registered": ({"registered": False}, "registered=True"),
    "withheld": ({"withheld": True}, "withheld=False"),
}


def statuses(message: Any) -> list[str]:
    return [event.status for event in message.events]


# The handle


def test_an_address_has_one_handle() -> None:
    with frozen_fake() as fake:
        anna = fake.recipient(ANNA, devices=2)

        assert anna is fake.recipient(ANNA)
        assert anna != fake.recipient(BEN)
        assert {anna: 1} == {fake.recipient(ANNA): 1}


def test_what_is_not_named_stays_as_it_was() -> None:
    with frozen_fake() as fake:
        anna = fake.recipient(ANNA, devices=2, read_receipts=False)
        fake.recipient(ANNA, withheld=True)

        assert (2, False, True) == (anna.devices, anna.read_receipts, anna.withheld)
        assert (True, False, False, True) == (
            *(anna.online, anna.blocked),
            *(anna.chat_open, anna.registered),
        )


@pytest.mark.parametrize(
    "use",
    [
        lambda fake, anna: anna.online,
        lambda fake, anna: anna.goes_offline(),
        lambda fake, anna: fake.send_text(to=anna),
        lambda fake, anna: fake.find_message(to=anna),
    ],
    ids=["look", "verb", "send", "find"],
)
def test_a_reset_forgets_people_and_ends_their_handles(use: Callable[..., object]) -> None:
    with frozen_fake() as fake:
        anna = fake.recipient(ANNA, devices=2)
        fake.reset()

        with pytest.raises(ClosedError, match=r"no longer exists: the fake was reset"):
            use(fake, anna)
        assert 1 == fake.recipient(ANNA).devices
        assert anna is not fake.recipient(ANNA)


def test_a_recipient_of_another_fake_is_refused() -> None:
    with frozen_fake() as fake, ChatFake() as other:
        with pytest.raises(ValueError, match="belongs to another fake"):
            fake.send_text(to=other.recipient(ANNA))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"chat_open": True, "online": False}, ValueError, "a phone that is off has no open chat"),
        ({"chat_open": True, "registered": False}, ValueError, "that is not registered"),
        ({"devices": 0}, ValueError, "devices: expected an int from 1 to 10000"),
    ],
    ids=str,
)
def test_a_bad_description_is_refused_and_changes_nothing(
    arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with frozen_fake() as fake:
        anna = fake.recipient(ANNA, devices=3)
        message = fake.send_text(to=anna)
        with pytest.raises(error, match=text):
            fake.recipient(ANNA, **{"read_receipts": False} | arguments)

        assert (3, True, True) == (anna.devices, anna.read_receipts, anna.online)
        assert "sent" == message.status


# What reaches a phone, and what does not


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("verb", ["deliver", "read"])
def test_a_verb_that_contradicts_the_person_is_refused_and_changes_nothing(
    play: Any, obstacle: str, verb: str
) -> None:
    description, remedy = OBSTACLES[obstacle]

    async def scenario(fake: ChatFake, do: Any) -> None:
        message = await do(fake.send_text(to=ANNA))
        fake.recipient(ANNA, **description)
        before = visible_state(fake)
        with pytest.raises(IllegalTransition) as refused:
            await do(getattr(message, verb)())

        assert remedy in str(refused.value)
        assert f"or omit {verb}()" in str(refused.value)
        assert before == visible_state(fake)
        await do(message.fail())  # is never refused
        assert "failed" == message.status

    play(scenario)


def test_what_is_delivered_can_be_read_though_the_sender_is_blocked_but_not_offline() -> None:
    with frozen_fake() as fake:
        anna = fake.recipient(ANNA)
        first, second = (fake.send_text(to=anna).deliver() for _ in range(2))
        anna.blocks()
        first.read()
        anna.goes_offline()
        with pytest.raises(IllegalTransition, match="is off"):
            second.read()

        assert ["read", "delivered"] == [first.status, second.status]


def test_a_phone_that_comes_back_gets_what_is_still_sent_in_order(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        anna = fake.recipient(ANNA, online=False, devices=2)
        first = await do(fake.send_text("first", to=anna))
        second = await do(fake.send_text("second", to=anna))
        other = await do(fake.send_text("other", to=BEN))
        await do(fake.clock.advance(hours=7))
        await do(anna.comes_online())

        assert [first.id, first.id, second.id, second.id] == [
            event.message_id for event in fake.events if event.status == "delivered"
        ]
        fake.assert_charged("0.05", message=first)  # the first one starts the conversation
        fake.assert_charged("0", message=second)
        assert first.conversation is not None
        assert "2026-01-02T19:00:00+00:00" == str(first.conversation.expires_at).replace(" ", "T")
        assert "sent" == other.status

    play(scenario)


@pytest.mark.parametrize("obstacle", ["blocked", "withheld"])
def test_what_was_sent_while_blocked_or_withheld_arrives_only_by_hand(obstacle: str) -> None:
    with frozen_fake() as fake:
        anna = fake.recipient(ANNA)
        before = fake.send_text("before", to=anna)
        fake.recipient(ANNA, **OBSTACLES[obstacle][0])
        meanwhile = fake.send_text("meanwhile", to=anna)
        anna.goes_offline()
        fake.recipient(ANNA, blocked=False, withheld=False)
        anna.comes_online()

        assert ["delivered", "sent"] == [before.status, meanwhile.status]
        assert "delivered" == meanwhile.deliver().status


def test_to_be_made_reachable_by_a_description_delivers_at_once_in_both_modes(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        receiver = fake.webhooks.receiver()
        fake.recipient(ANNA, online=False)
        message = await do(fake.send_text(to=ANNA))
        fake.recipient(ANNA, online=True)

        assert "delivered" == message.status
        await do(fake.settle())
        assert ["sent", "delivered"] == receiver.statuses(message)

    play(scenario)


# The open chat, and numbers that are not registered


def test_an_open_chat_reads_at_once_without_a_delivered_event(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        fake.recipient(ANNA, chat_open=True, devices=3)
        message = await do(fake.send_text(to=ANNA))

        assert ["sent", "read"] == statuses(message)
        fake.assert_charged("0.05", message=message)

    play(scenario)


def test_a_phone_that_goes_off_closes_the_chat_and_opening_it_there_is_refused(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        anna = fake.recipient(ANNA, chat_open=True)
        await do(anna.goes_offline())
        assert not anna.chat_open
        with pytest.raises(IllegalTransition, match=r"can't call opens_chat\(\) for \+4915"):
            await do(anna.opens_chat())
        assert not anna.chat_open

        await do(anna.comes_online())
        assert not anna.chat_open
        assert "sent" == (await do(fake.send_text(to=anna))).status

    play(scenario)


def test_a_number_that_is_not_registered_fails_in_the_same_verb(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        fake.recipient(ANNA, registered=False)
        message = await do(fake.send_text(to=ANNA))

        assert ["sent", "failed"] == statuses(message)
        resource = message.events[-1].json()["chatMessage"]
        assert ("131026", True) == (resource["errorCode"], "chatApiError" in resource)
        assert ["opening", "hold", "release"] == [entry.kind for entry in fake.ledger]

    play(scenario)


# Async mode


def test_words_wait_for_their_await_and_an_await_of_the_person_performs_them() -> None:
    async def scenario() -> None:
        with frozen_fake(mode="async") as fake:
            anna = fake.recipient(ANNA)
            anna.goes_offline()
            with pytest.raises(NotAwaited, match=r"await at test_people.py.*: goes_offline\(\)"):
                _ = anna.online
            assert anna is await anna
            assert not anna.online

    asyncio.run(scenario())


def test_in_the_middle_of_an_attempt_people_change_at_once(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        anna = fake.recipient(ANNA, online=False)

        def comes_back(request: Any) -> None:
            if request.event.status == "sent":
                anna.comes_online()

        fake.webhooks.connect(handler=comes_back)
        message = await do(fake.send_text(to=anna))

        assert ["sent", "delivered"] == statuses(message)
        assert ["sent", "delivered"] == [one.event.status for one in fake.webhooks.attempts]

    play(scenario)


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
