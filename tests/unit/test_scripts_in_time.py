"""Scripts that are laid on the clock: `message.after(minutes=5).deliver()`, in both modes."""

# Asserts read `expected == actual`.

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from werkzeug.test import Client

from pytest_chatfake import ChatFake, ClockError, ClosedError, IllegalTransition, Message

from .fakes import START, frozen_fake, visible_state, warnings_at_the_end

if TYPE_CHECKING:
    from collections.abc import Callable

ANNA = "+4915100001"


def statuses(message: Message) -> list[str | None]:
    return [event.status for event in message.events]


def minutes(message: Message) -> list[float]:
    """When the events of a message were, in minutes since the start."""
    return [(event.create_time.timestamp() - START) / 60 for event in message.events]


def test_steps_happen_when_the_clock_gets_there(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        message = await do(fake.send_text("x").after(minutes=5).deliver().after(hours=2).read())
        assert ["sent"] == statuses(message)

        await do(fake.clock.advance(minutes=4))
        assert ["sent"] == statuses(message)
        await do(fake.clock.advance(days=1))
        assert ["sent", "delivered", "read"] == statuses(message)
        assert [0, 5, 125] == minutes(message)

    play(scenario)


def test_verbs_between_two_share_a_moment_and_each_after_counts_from_the_one_before(
    play: Any,
) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        later = fake.send_text().after(60).deliver().deliver().after(timedelta(minutes=1)).read()
        message = await do(later)
        await do(fake.clock.advance(hours=1))

        assert ["sent", "delivered", "delivered", "read"] == statuses(message)
        assert [0, 1, 1, 2] == minutes(message)

    play(scenario)


def test_the_message_that_was_sent_still_acts_at_once(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        message = await do(fake.send_text())
        later = await do(message.after(minutes=5).read())
        await do(message.deliver())
        assert "delivered" == message.status

        await do(fake.clock.advance(minutes=5))
        assert "read" == later.status

    play(scenario)


def test_both_handles_are_the_same_message() -> None:
    with frozen_fake() as fake:
        message = fake.send_text()
        later = message.after(minutes=5).deliver()

        assert message == later
        assert {message} == {later}
        assert message.id == later.id
        fake.assert_held("0.05", message=later)
        assert fake.find_message(body="Hello") == later


def test_a_second_script_of_a_message_counts_from_now_and_joins_in(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        message = await do(fake.send_text())
        await do(message.after(minutes=10).read())
        await do(fake.clock.advance(minutes=1))
        await do(message.after(minutes=2).deliver())
        await do(fake.clock.advance(hours=1))

        assert [0, 3, 10] == minutes(message)

    play(scenario)


def test_a_handle_goes_on_laying_where_it_stands_after_time_has_moved() -> None:
    with frozen_fake() as fake:
        message = fake.send_text()
        later = message.after(minutes=10)
        fake.clock.advance(minutes=4)
        later.deliver().after(minutes=1).read()
        fake.clock.advance(hours=1)

        assert [0, 10, 11] == minutes(message)


def test_scripts_of_many_messages_happen_in_due_order(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        receiver = fake.webhooks.receiver()
        await do(fake.send_text("a", to="+1").after(minutes=3).deliver().after(minutes=3).read())
        await do(fake.send_text("b", to="+2").after(minutes=1).deliver().after(minutes=4).read())
        await do(fake.send_text("c", to="+3").after(minutes=3).fail())
        await do(fake.clock.advance(hours=1))

        found = [
            (event.json()["chatMessage"]["text"]["body"], event.status)
            for event in receiver.events[3:]
        ]
        assert [
            *[("b", "delivered"), ("a", "delivered"), ("c", "failed")],
            *[("b", "read"), ("a", "read")],
        ] == found

    play(scenario)


def test_webhooks_are_attempted_at_the_moment_of_the_step(play: Any) -> None:
    import time

    async def scenario(fake: ChatFake, do: Any) -> None:
        seen: list[tuple[str, float]] = []
        fake.webhooks.connect(
            handler=lambda request: seen.append((request.event.status, time.time() - START))
        )
        await do(fake.send_text().after(90).deliver())
        await do(fake.clock.advance(hours=1))

        assert [("sent", 0.0), ("delivered", 90.0)] == seen

    play(scenario)


def test_what_is_laid_is_no_pending_plan(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        message = await do(fake.send_text().after(days=1).deliver())

        assert "sent" == message.status
        fake.assert_held("0.05")

    play(scenario)


def test_in_async_mode_counting_starts_when_the_chain_is_performed() -> None:
    import asyncio

    async def scenario() -> None:
        with frozen_fake(mode="async") as fake:
            fake.clock.advance(minutes=7)  # stands before it in the plan
            message = await fake.send_text().after(minutes=5).deliver()
            await fake.clock.advance(hours=1)

            assert [7, 12] == minutes(message)

    asyncio.run(scenario())


@pytest.mark.parametrize("which", ["sent", "later"])
def test_cancel_forgets_what_is_laid_for_the_message(play: Any, which: str) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        message = await do(fake.send_text(to="+1"))
        other = await do(fake.send_text(to="+2").after(minutes=1).deliver())
        later = await do(message.after(minutes=1).deliver().after(minutes=1).read())
        await do(fake.clock.advance(minutes=1))
        await do((message if which == "sent" else later).cancel())
        await do(fake.clock.advance(hours=1))

        assert ["delivered", "delivered"] == [message.status, other.status]
        assert message == await do(message.cancel())  # once more does no harm

    play(scenario)


# What goes wrong


def test_a_step_that_is_illegal_drops_its_script_and_fails_the_move_of_time(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        other = await do(fake.send_text(to="+2").after(minutes=20).deliver())
        message = await do(fake.send_text().after(minutes=5).deliver().after(minutes=5).read())
        await do(message.after(minutes=60).deliver())
        await do(fake.message(message.id).fail())
        with pytest.raises(IllegalTransition) as failed:
            await do(fake.clock.advance(hours=2))

        assert f"deliver() is not possible for message {message.id}" in str(failed.value)
        assert "deliver() was laid for 2026-01-01T12:05:00.000Z at test_scripts_in_time.py:" in str(
            failed.value
        )
        assert "and 2 more of this script are dropped" in str(failed.value)
        assert "2026-01-01T12:05:00+00:00" == fake.clock.now.isoformat()  # time stands there
        await do(fake.clock.advance(hours=2))
        assert ["failed", "delivered"] == [message.status, other.status]

    play(scenario)


def test_a_step_that_contradicts_the_person_when_its_time_comes_fails_the_test() -> None:
    with frozen_fake() as fake:
        message = fake.send_text(to=ANNA).after(minutes=5).deliver()
        fake.recipient(ANNA).goes_offline()
        with pytest.raises(IllegalTransition, match=r"is off: write .*comes_online\(\)"):
            fake.clock.advance(hours=1)

        assert "sent" == message.status


def test_a_step_that_comes_after_the_drop_fails_the_test() -> None:
    with frozen_fake() as fake:
        fake.send_text().after(days=30).deliver()
        with pytest.raises(IllegalTransition, match=r"status is sent \(dropped\)"):
            fake.clock.advance(days=31)


def test_what_the_thread_of_a_request_comes_upon_is_raised_by_the_next_use() -> None:
    with time_machine.travel(START, tick=False) as traveller, ChatFake() as fake:
        message = fake.send_text().after(minutes=5).deliver()
        fake.message(message.id).fail()
        traveller.shift(600)
        key = {"X-API-Key": fake.api_key}
        answer = Client(fake.wsgi_app).get("/v2/balance", headers=key)

        assert 200 == answer.status_code
        with pytest.raises(IllegalTransition, match=r"deliver\(\) was laid for"):
            _ = message.status
        assert "failed" == message.status


def test_what_a_receiver_comes_upon_is_raised_by_the_verb_that_it_is_part_of() -> None:
    with time_machine.travel(START, tick=False) as traveller, ChatFake() as fake:
        message = fake.send_text().after(minutes=5).deliver()
        fake.message(message.id).fail()

        def look(_: object) -> None:
            traveller.shift(600)
            _ = fake.balance

        fake.webhooks.connect(handler=look)
        fake.send_text()
        with pytest.raises(IllegalTransition, match=r"deliver\(\) was laid for"):
            fake.send_text()
        assert 2 == len(fake.messages)


def test_time_stands_where_a_receiver_that_looked_came_upon_a_step_that_is_illegal(
    play: Any,
) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        def look(_: object) -> None:
            _ = fake.balance

        fake.webhooks.connect(handler=look)
        await do(fake.send_text().after(minutes=5).deliver().fail())
        with pytest.raises(IllegalTransition, match=r"fail\(\) was laid for 2026-01-01T12:05"):
            await do(fake.clock.advance(hours=2))

        assert "2026-01-01T12:05:00+00:00" == fake.clock.now.isoformat()

    play(scenario)


def test_the_function_of_extra_fields_fails_the_test_with_the_line_of_the_step() -> None:
    def fields(message: Message, status: str) -> dict[str, str]:
        if status == "delivered":
            raise RuntimeError("no fields")
        return {}

    with frozen_fake(extra=fields) as fake:
        message = fake.send_text().after(minutes=5).deliver()
        with pytest.raises(RuntimeError) as failed:
            fake.clock.advance(hours=1)

        assert "deliver() was laid for" in failed.value.__notes__[0]
        assert "sent" == message.status


def test_time_that_somebody_else_moved_is_caught_up_with_in_due_order() -> None:
    with time_machine.travel(START, tick=False) as traveller, ChatFake() as fake:
        message = fake.send_text().after(minutes=5).deliver().after(minutes=5).read()
        traveller.shift(3600)

        assert ["sent", "delivered", "read"] == statuses(message)
        assert [0, 5, 10] == minutes(message)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((), TypeError, r"after\(\) takes one length of time: after\(90\)"),
        ((-1,), ValueError, "the length of after.. must not be negative"),
        ((float("nan"),), ValueError, "must be a finite length"),
        (("5",), TypeError, "must be a timedelta or a number of seconds"),
        ((True,), TypeError, "must be a timedelta or a number of seconds"),
        ((timedelta(days=40_000),), ValueError, "must be at most"),
    ],
    ids=str,
)
def test_a_bad_length_is_refused_and_changes_nothing(
    arguments: tuple[Any, ...], error: type[Exception], text: str
) -> None:
    with frozen_fake() as fake:
        message = fake.send_text()
        before = visible_state(fake)
        with pytest.raises(error, match=text):
            message.after(*arguments)

        assert before == visible_state(fake)


def test_a_length_is_given_once_and_by_known_names() -> None:
    with frozen_fake() as fake:
        message = fake.send_text()
        with pytest.raises(TypeError, match="takes one length of time"):
            message.after(5, minutes=5)
        with pytest.raises(TypeError, match="not minute="):
            message.after(minute=5)


def test_bad_arguments_of_a_laid_verb_are_refused_when_it_is_laid() -> None:
    with frozen_fake() as fake:
        later = fake.send_text().after(5).deliver()
        with pytest.raises(ValueError, match="devices must be from 1 to 10000"):
            later.deliver(devices=0)


def test_a_moment_that_has_passed_takes_no_verbs() -> None:
    with frozen_fake() as fake:
        later = fake.send_text().after(minutes=5).deliver()
        fake.clock.advance(hours=1)
        with pytest.raises(ClockError, match=r"read\(\) can't be laid at 2026-01-01T12:05:00.000Z"):
            later.read()
        with pytest.raises(ClockError, match="calendar ends"):
            for _ in range(100):
                later = later.after(days=36_000)
        later.cancel()


@pytest.mark.parametrize("use", [lambda m: m.after(5), lambda m: m.cancel(), lambda m: m.read()])
def test_a_reset_forgets_scripts_and_ends_their_handles(use: Callable[[Message], Any]) -> None:
    with frozen_fake() as fake:
        later = fake.send_text().after(minutes=5).deliver()
        fake.reset()
        with pytest.raises(ClosedError, match="sent before the fake was reset"):
            use(later)
        fake.send_text()
        fake.clock.advance(hours=1)

        assert ["sent"] == [message.status for message in fake.messages]


def test_an_after_with_nothing_behind_it_is_warned_about_with_its_line() -> None:
    def scenario(fake: ChatFake) -> None:
        message = fake.send_text()
        message.after(minutes=5)
        message.after(minutes=5).after(minutes=5).deliver()
        fake.send_text().after(minutes=5).cancel()

    (text,) = warnings_at_the_end(scenario)
    head, line = text.splitlines()
    assert "1 after() with nothing behind: add a verb, as in after(60).deliver():" == head
    assert "  written at test_scripts_in_time.py:" in line


def test_a_phone_that_comes_back_leaves_a_scripted_delivery_alone(play: Any) -> None:
    async def scenario(fake: ChatFake, do: Any) -> None:
        anna = fake.recipient(ANNA, online=False)
        scripted = await do(fake.send_text(to=anna).after(hours=2).deliver())
        failing = await do(fake.send_text(to=anna).after(hours=2).fail())
        await do(failing.cancel())
        plain = await do(fake.send_text(to=anna))
        await do(anna.comes_online())
        assert ["sent", "delivered", "delivered"] == [
            *[scripted.status, failing.status],
            plain.status,
        ]

        await do(fake.clock.advance(hours=2))
        assert "delivered" == scripted.status

    play(scenario)


def test_an_open_chat_leaves_scripted_reading_alone() -> None:
    with frozen_fake() as fake:
        anna = fake.recipient(ANNA)
        message = fake.send_text(to=anna).after(minutes=5).deliver().after(minutes=5).read()
        anna.opens_chat()
        fake.clock.advance(minutes=5)
        assert "delivered" == message.status

        fake.clock.advance(minutes=5)
        assert [0, 5, 10] == minutes(message)


def test_a_script_may_be_written_inside_a_receiver() -> None:
    with frozen_fake() as fake:

        def react(request: Any) -> None:
            if request.event.status == "sent":
                fake.message(request.event.message_id).after(minutes=1).deliver()

        fake.webhooks.connect(handler=react)
        message = fake.send_text()
        fake.clock.advance(hours=1)

        assert [0, 1] == minutes(message)
