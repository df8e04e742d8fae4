"""Scripts: `message.after(minutes=5).deliver()`, in both modes."""

import pytest
import time_machine

from pytest_chatfake import (
    ChatFake,
    ClockError,
    ClosedError,
    IllegalTransition,
    NotAwaited,
)

from .api_clients import call_with_werkzeug
from .fakes import START, at, frozen_fake, section, warnings_at_the_end


def told(message):
    """The events of a message, and when they were, in minutes since the start."""
    return [
        (event.status, (event.create_time.timestamp() - START) / 60) for event in message.events
    ]


def test_steps_happen_when_the_clock_gets_there(fake):
    message = fake.send_text("x").after(minutes=5).deliver().after(hours=2).read()
    fake.clock.advance(minutes=4)
    assert told(message) == [("sent", 0)]
    fake.clock.advance(days=1)
    assert told(message) == [("sent", 0), ("delivered", 5), ("read", 125)]


@pytest.mark.asyncio
async def test_in_async_mode_counting_starts_when_the_chain_is_performed(fake):
    fake.clock.advance(minutes=7)  # stands before it in the plan
    message = await fake.send_text().after(minutes=5).deliver()
    await fake.clock.advance(hours=1)

    assert told(message) == [("sent", 7), ("delivered", 12)]


@pytest.mark.asyncio
@pytest.mark.parametrize("use", [lambda later: later.deliver(), lambda later: later.after(60)])
async def test_an_after_that_was_dropped_with_the_plan_has_no_moment(use, fake):
    message = await fake.send_text().fail()
    message.read()
    later = message.after(60)
    with pytest.raises(IllegalTransition):
        await later
    with pytest.raises(NotAwaited, match=r"after\(\) was skipped .* Call after\(\) again"):
        await use(later)


# What goes wrong


def test_an_illegal_step_drops_its_script_and_fails_the_move_of_time(fake):
    other = fake.send_text(to="+2").after(minutes=20).deliver()
    message = fake.send_text().after(minutes=5).deliver().after(minutes=5).read()
    message.after(minutes=60).deliver()
    fake.message(message.id).fail()
    with pytest.raises(IllegalTransition) as failed:
        fake.clock.advance(hours=2)

    for words in (
        f"can't deliver message {message.id}: it has failed",
        "deliver() was scheduled for 2026-01-01T12:05:00.000Z at test_scripts_in_time.py:",
        "the rest of the script is cancelled (2 verbs)",
    ):
        assert words in str(failed.value)
    assert fake.clock.now == at(minutes=5)  # time stands there
    fake.clock.advance(hours=2)
    assert [message.status, other.status] == ["failed", "delivered"]


def test_what_the_thread_of_a_request_comes_upon_is_raised_by_the_next_use():
    with time_machine.travel(START, tick=False) as traveller, ChatFake() as fake:
        message = fake.send_text().after(minutes=5).deliver()
        fake.message(message.id).fail()
        traveller.shift(600)

        assert call_with_werkzeug(fake).status == 200
        with pytest.raises(IllegalTransition, match=r"deliver\(\) was scheduled for"):
            _ = message.status
        assert message.status == "failed"


def test_time_stands_where_a_receiver_that_looked_met_an_illegal_step(play):
    async def scenario(fake, do):
        def look(_):
            _ = fake.balance

        fake.webhooks.connect(handler=look)
        await do(fake.send_text().after(minutes=5).deliver().fail())
        with pytest.raises(IllegalTransition, match=r"fail\(\) was scheduled for 2026-01-01T12:05"):
            await do(fake.clock.advance(hours=2))

        assert fake.clock.now == at(minutes=5)

    play(scenario)


def test_the_function_of_extra_fields_fails_with_the_line_of_the_step():
    def fields(message, status):
        if status == "delivered":
            raise RuntimeError("no fields")
        return {}

    with frozen_fake(extra=fields) as fake:
        message = fake.send_text().after(minutes=5).deliver()
        with pytest.raises(RuntimeError) as failed:
            fake.clock.advance(hours=1)

        assert "deliver() was scheduled for" in failed.value.__notes__[0]
        assert message.status == "sent"


def test_bad_arguments_of_a_scheduled_verb_are_refused_at_once(fake):
    with pytest.raises(ValueError, match="devices: expected an int from 1 to 10000"):
        fake.send_text().after(5).deliver(devices=0)
    fake.reset()


def test_a_moment_takes_verbs_until_it_has_passed(fake):
    later = fake.send_text().after(minutes=5)
    fake.clock.advance(minutes=5)
    assert later.deliver().status == "delivered"
    fake.clock.advance(hours=1)
    with pytest.raises(ClockError, match=r"can't schedule read\(\) for 2026-01-01T12:05:00.000Z"):
        later.read()


def test_a_script_ends_where_the_calendar_ends(fake):
    fake.clock.move_to("9899-12-31T23:00:00Z")
    message = fake.send_text()
    message.after(hours=1).read()
    with pytest.raises(ClockError, match="calendar ends"):
        message.after(hours=1, microseconds=1)
    fake.clock.move_to("9900-01-01T00:00:00Z")

    assert message.status == "read"
    fake.send_text()


@pytest.mark.parametrize("use", [lambda m: m.after(5), lambda m: m.cancel(), lambda m: m.read()])
def test_a_reset_forgets_scripts_and_ends_their_handles(fake, use):
    later = fake.send_text().after(minutes=5).deliver()
    fake.reset()
    with pytest.raises(ClosedError, match="the fake was reset"):
        use(later)
    fake.send_text()
    fake.clock.advance(hours=1)

    assert [message.status for message in fake.messages] == ["sent"]


def test_an_after_with_nothing_behind_it_is_warned_about_with_its_line():
    def scenario(fake):
        fake.send_text().after(minutes=5)
        fake.reset()  # forgets that one
        message = fake.send_text()
        message.after(minutes=5)
        message.after(minutes=5).after(minutes=5).deliver()
        fake.send_text().after(minutes=5).cancel()

    (text,) = warnings_at_the_end(scenario)
    head, line = text.splitlines()
    assert head == "1 call whose result was never used:"
    assert line.startswith("  write `after(60).deliver()` at test_scripts_in_time.py:")


def test_what_is_scheduled_for_a_phone_that_is_off_says_what_comes_first(fake):
    fake.send_text(to="+1").after(60).deliver()
    fake.recipient("+1").goes_offline()

    told = "But the phone of +1 is off. Call recipient('+1').comes_online().\n"
    assert told in section(fake)
