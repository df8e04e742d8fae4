"""The autopilot: people who take delivery, read or fail by themselves."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from random import Random

import pytest

from pytest_chatfake import ChatFakeError, IllegalTransition

from .fakes import START, frozen_fake

ANNA = "+4915100001"
BEN = "+4915100002"

HOUR = 3600


def hours(message):
    """When the events of a message were, in hours since the start."""
    return [*map(hours_of, message.events)]


def hours_of(event):
    return (event.create_time.timestamp() - START) / HOUR


def statuses(message):
    return [event.status for event in message.events]


def in_another_thread(verb):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(verb).result(10)


def test_messages_are_delivered_and_read_and_reading_counts_from_delivery(play):
    async def scenario(fake, do):
        fake.autopilot(deliver_after=HOUR, read_after=timedelta(hours=2))
        message = await do(fake.send_text())
        assert message.status == "sent"
        await do(fake.clock.advance(days=1))

        assert statuses(message) == ["sent", "delivered", "read"]
        assert hours(message) == [0, 1, 3]

    play(scenario)


def test_what_is_not_given_does_not_happen(fake):
    fake.autopilot(to=ANNA, deliver_after=HOUR)
    fake.autopilot(to=BEN, read_after=HOUR)
    fake.autopilot(to="+3")
    messages = [fake.send_text(to=to) for to in (ANNA, BEN, "+3")]
    fake.clock.advance(days=1)

    assert [message.status for message in messages] == ["delivered", "sent", "sent"]


def test_a_range_and_a_function_draw_lengths_that_lie_where_they_should(fake):
    fake.autopilot(
        deliver_after=(timedelta(hours=1), 2 * HOUR),
        read_after=lambda random: HOUR * random.choice([1, 5]),
    )
    messages = [fake.send_text(to=f"+{n}") for n in range(50)]
    fake.clock.advance(days=1)

    times = [hours(message) for message in messages]
    assert all(1 <= delivered <= 2 for _, delivered, _ in times)
    assert len({delivered for _, delivered, _ in times}) == 50
    assert {1, 5} == {round(read - delivered, 6) for _, delivered, read in times}


def test_people_reply_after_reading_where_they_can_write_then(play):
    def replies(message, random):
        return random.choice(["STOP"]) if message.body == "Sale" else None

    async def scenario(fake, do):
        fake.webhooks.receiver(events="*")
        fake.autopilot(deliver_after=HOUR, read_after=HOUR, replies=replies, reply_after=2 * HOUR)
        fake.recipient("+2", read_receipts=False)
        pilot = fake.autopilot(to="+5", deliver_after=HOUR, replies=replies, reply_after=2 * HOUR)
        for number in range(1, 6):
            await do(fake.send_text("Sale", to=f"+{number}"))
        await do(fake.send_text("Hello", to="+6"))
        await do(fake.clock.advance(2.5 * HOUR))
        pilot.end()
        await do(fake.recipient("+3").blocks())
        await do(fake.recipient("+4").goes_offline())
        await do(fake.clock.advance(HOUR))
        await do(fake.recipient("+4").comes_online())
        await do(fake.clock.advance(days=1))

        told = [one for one in fake.events if one.message_id is None]
        resources = [one.json()["chatInboundMessage"] for one in told]
        assert [one["from"] for one in resources] == ["+2", "+1", "+4"]
        assert [hours_of(one) for one in told] == [3, 4, 4]

    play(scenario)


def test_a_share_fails_with_131026_in_place_of_the_delivery(fake):
    fake.autopilot(deliver_after=HOUR, read_after=HOUR, fail_share=0.3, seed=7)
    messages = [fake.send_text(to=f"+{n}") for n in range(100)]
    fake.clock.advance(days=1)
    failed = [message for message in messages if message.status == "failed"]

    assert 15 < len(failed) < 45
    assert {1.0} == {hours(message)[-1] for message in failed}
    assert failed[0].events[-1].json()["chatMessage"]["errorCode"] == "131026"
    assert {"read", "failed"} == {message.status for message in messages}


def test_without_a_delivery_a_share_fails_at_once_even_with_the_phone_off(fake):
    fake.autopilot(fail_share=1)
    fake.recipient(ANNA, online=False)

    assert [fake.send_text(to=to).status for to in (ANNA, "+2")] == ["failed", "failed"]


def test_a_range_has_both_its_ends(fake):
    fake.autopilot(deliver_after=(0, timedelta(microseconds=1)))
    begun = fake.clock.now
    for number in range(20):
        fake.send_text(to=f"+{number}")
    fake.clock.advance(1)

    delays = {one.create_time - begun for one in fake.events if one.status == "delivered"}
    assert {timedelta(0), timedelta(microseconds=1)} == delays


def test_draws_depend_on_the_seed_and_the_number_of_the_message_only():
    def plan(seed, *, others=False):
        with frozen_fake() as fake:
            fake.autopilot(deliver_after=(0, 10 * HOUR), seed=seed)
            if others:
                fake.autopilot(to=ANNA, deliver_after=lambda random: random.random())
            messages = [fake.send_text(to=ANNA if others and n % 2 else BEN) for n in range(10)]
            fake.clock.advance(days=1)
            return [hours(message)[1] for message in messages[::2]]

    assert plan(1) == plan(1)
    assert plan(1) == plan("1", others=True)
    assert plan(1) != plan(2)
    assert plan(None) == plan("unit")  # the fake's own seed


def test_one_for_an_address_beats_one_for_all_and_then_the_latest(fake):
    fake.autopilot(to=ANNA, deliver_after=HOUR)
    fake.autopilot(to=fake.recipient(ANNA), deliver_after=2 * HOUR)
    fake.autopilot(deliver_after=3 * HOUR)
    fake.autopilot(deliver_after=4 * HOUR)
    messages = [fake.send_text(to=to) for to in (ANNA, BEN)]
    fake.clock.advance(days=1)

    assert [hours(message) for message in messages] == [[0, 2], [0, 4]]


def test_an_ended_autopilot_does_nothing_and_gives_way_to_the_one_before(fake):
    fake.autopilot(deliver_after=HOUR)
    with fake.autopilot(deliver_after=2 * HOUR, read_after=HOUR) as autopilot:
        landed = fake.send_text(to="+1")
        fake.clock.advance(hours=2)
        planned = fake.send_text(to="+2")
    later = fake.send_text(to="+3")
    autopilot.end()
    fake.clock.advance(days=1)

    assert [hours(message) for message in (landed, planned, later)] == [[0, 2], [2], [2, 3]]
    assert "autopilot" not in {entry.kind for entry in fake.clock.agenda}


def test_messages_with_a_script_are_left_to_it(fake):
    fake.autopilot(deliver_after=HOUR, read_after=HOUR)
    message = fake.send_text().after(hours=5).deliver()
    assert [entry.kind for entry in fake.clock.agenda] == ["step", "drop"]
    fake.clock.advance(days=1)

    assert hours(message) == [0, 5]


def test_what_a_test_does_by_hand_comes_first_and_reading_counts_from_it(fake):
    fake.autopilot(deliver_after=5 * HOUR, read_after=HOUR)
    delivered = fake.send_text(to="+1").deliver()
    read = fake.send_text(to="+2").read()
    failed = fake.send_text(to="+3").fail()
    fake.clock.advance(days=1)

    assert [hours(one) for one in (delivered, read, failed)] == [[0, 0, 1], [0, 0], [0, 0]]


def test_what_was_sent_before_is_not_its_business(fake):
    message = fake.send_text()
    fake.autopilot(deliver_after=HOUR)
    fake.clock.advance(days=1)

    assert message.status == "sent"


# Phones


def test_it_waits_for_a_phone_that_is_off(play):
    async def scenario(fake, do):
        fake.autopilot(deliver_after=HOUR, read_after=2 * HOUR)
        anna = fake.recipient(ANNA, online=False)
        message = await do(fake.send_text(to=anna))
        await do(fake.clock.advance(hours=10))
        await do(anna.comes_online())
        await do(anna.goes_offline())
        await do(fake.clock.advance(hours=10))
        await do(anna.comes_online())

        assert statuses(message) == ["sent", "delivered", "read"]
        assert hours(message) == [0, 10, 20]

    play(scenario)


@pytest.mark.parametrize("obstacle", ["blocked", "withheld"])
def test_what_is_undeliverable_stays_sent_until_the_drop(fake, obstacle):
    fake.autopilot(deliver_after=HOUR)
    message = fake.send_text(to=fake.recipient(ANNA, **{obstacle: True}))
    fake.recipient(ANNA, **{obstacle: False})
    fake.clock.advance(days=30)

    assert message.dropped


def test_a_withheld_person_who_is_let_through_again_gets_earlier_messages(fake):
    fake.autopilot(deliver_after=HOUR)
    message = fake.send_text(to=ANNA)
    fake.recipient(ANNA, withheld=True)
    fake.clock.advance(hours=2)
    fake.recipient(ANNA, withheld=False)

    assert hours(message) == [0, 2]


def test_the_person_comes_before_the_autopilot(fake):
    fake.autopilot(deliver_after=HOUR, read_after=HOUR)
    open_chat = fake.send_text(to=fake.recipient(ANNA, chat_open=True))
    nobody = fake.send_text(to=fake.recipient(BEN, registered=False))
    fake.clock.advance(days=1)

    assert [statuses(open_chat), statuses(nobody)] == [["sent", "read"], ["sent", "failed"]]


# As a whole


def test_the_agenda_names_the_line_of_the_autopilot(fake):
    fake.autopilot(deliver_after=HOUR, read_after=HOUR)
    message = fake.send_text()
    delivery, reading, drop = fake.clock.agenda

    assert [entry.kind for entry in fake.clock.agenda] == ["autopilot", "autopilot", "drop"]
    assert (
        f"2026-01-01T13:00:00.000Z: deliver() of message {message.id} by the "
        f"autopilot, set up at test_autopilot.py:{drop.line.number - 1}"
    ) == str(delivery)
    assert f"2026-01-01T14:00:00.000Z: read() of message {message.id} by" in str(reading)


def promised(fake):
    """What the agenda says of autopilots: each verb, and when, in hours since the start."""
    return [
        (entry.text.split(" ")[1], (entry.at.timestamp() - START) / HOUR)
        for entry in fake.clock.agenda
        if entry.kind == "autopilot"
    ]


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        ({}, [("deliver()", 1), ("read()", 3)]),
        ({"blocked": True}, []),
        ({"withheld": True}, []),
        ({"online": False}, []),
        ({"read_receipts": False}, [("deliver()", 1)]),
    ],
)
def test_the_agenda_promises_only_what_the_person_lets_happen(fake, person, expected):
    fake.autopilot(deliver_after=HOUR, read_after=2 * HOUR)
    message = fake.send_text(to=fake.recipient(ANNA, **person))
    assert expected == promised(fake)

    fake.clock.advance_to_next()
    assert ("delivered" if expected else "dropped") == (
        "dropped" if message.dropped else message.status
    )


def test_the_agenda_follows_the_person(fake):
    fake.autopilot(deliver_after=HOUR, read_after=2 * HOUR)
    message = fake.send_text(to=ANNA)
    delivery, reading = ("deliver()", 1), ("read()", 3)

    for change, expected in (
        ({"read_receipts": False}, [delivery]),
        ({"read_receipts": True}, [delivery, reading]),
        ({"chat_open": True}, [delivery]),
        ({"chat_open": False}, [delivery, reading]),
    ):
        fake.recipient(ANNA, **change)
        assert expected == promised(fake)
    fake.recipient(ANNA, withheld=True)
    assert promised(fake) == []
    fake.recipient(ANNA, withheld=False)  # it arrives now
    assert promised(fake) == [("read()", 2)]
    fake.recipient(ANNA, online=False)
    assert promised(fake) == []
    fake.recipient(ANNA, online=True, blocked=True)
    assert promised(fake) == [("read()", 2)]
    fake.clock.run_until(lambda: message.status == "read", limit=2 * HOUR)


def test_what_was_read_unseen_is_not_seen_later(fake):
    fake.autopilot(deliver_after=HOUR, read_after=HOUR)
    message = fake.send_text(to=fake.recipient(ANNA, read_receipts=False))
    fake.clock.advance(hours=3)
    fake.recipient(ANNA, read_receipts=True)
    fake.clock.advance(hours=3)

    assert statuses(message) == ["sent", "delivered"]


def test_a_reading_at_the_moment_of_the_delivery_is_told_apart(fake):
    fake.autopilot(deliver_after=HOUR, read_after=0)
    fake.send_text()
    assert promised(fake) == [("deliver()", 1), ("read()", 1)]


def test_a_delivery_that_the_drop_comes_before_is_not_promised(fake):
    fake.autopilot(deliver_after=timedelta(days=30))
    fake.send_text()
    assert promised(fake) == []


def test_a_function_that_returns_no_length_is_told_at_the_next_use(fake):
    fake.autopilot(deliver_after=lambda random: "soon")
    fake.send_text()
    with pytest.raises(TypeError, match="the length that deliver_after returned: expected"):
        fake.settle()


def test_what_fails_when_a_phone_comes_online_is_told_at_the_next_use():
    def fields(_, status):
        if status == "read":
            raise RuntimeError("no fields")
        return {}

    with frozen_fake(extra=fields) as fake:
        fake.autopilot(deliver_after=60, read_after=HOUR)
        message = fake.send_text(to=ANNA)
        fake.clock.advance(minutes=2)
        anna = fake.recipient(ANNA).goes_offline()
        fake.clock.advance(hours=2)
        anna.comes_online()
        with pytest.raises(RuntimeError, match="no fields"):
            fake.settle()

        assert anna.online
        assert message.status == "delivered"


def test_where_another_thread_is_faster_it_gives_way():
    def fields(message, status):
        if status == "delivered":
            in_another_thread(message.fail)
        return {}

    with frozen_fake(extra=fields) as fake:
        fake.autopilot(deliver_after=60)
        message = fake.send_text()
        fake.clock.advance(hours=1)

        assert statuses(message) == ["sent", "failed"]


def test_one_that_is_ended_while_it_waits_for_a_phone_does_nothing_more(fake):
    autopilot = fake.autopilot(deliver_after=60, read_after=60)
    message = fake.send_text(to=ANNA).deliver()
    anna = fake.recipient(ANNA).goes_offline()
    fake.clock.advance(hours=1)
    autopilot.end()
    anna.comes_online()

    assert statuses(message) == ["sent", "delivered"]


def test_an_autopilot_says_for_whom_it_is_and_where_it_was_set_up(fake):
    assert repr(fake.autopilot()).startswith("<Autopilot of all, set up at test_autopilot.py:")
    assert repr(fake.autopilot(to="+1")).startswith("<Autopilot of +1, set up at")


def test_a_reset_ends_autopilots(fake):
    autopilot = fake.autopilot(deliver_after=HOUR, read_after=HOUR)
    fake.send_text().deliver()
    fake.reset()
    fake.autopilot(to=ANNA, deliver_after=HOUR)
    fake.clock.advance(minutes=1)
    message = fake.send_text().deliver()
    fake.clock.advance(days=1)

    assert message.status == "delivered"
    autopilot.end()  # once more does no harm


def test_a_function_of_it_may_look_and_not_act(fake):
    def draw(random):
        fake.send_text("again")
        return 60

    fake.autopilot(deliver_after=draw)
    with pytest.raises(ChatFakeError, match="from a function of autopilot") as refused:
        fake.send_text()
        fake.settle()
    assert len(fake.messages) == 1
    (note, *_) = refused.value.__notes__
    assert note.startswith("in a function of autopilot(), set up at test_autopilot.py:")


def test_a_message_that_another_thread_delivered_meanwhile_is_left_alone(fake):
    def draw(random):
        in_another_thread(fake.messages[0].deliver)
        return 60

    fake.autopilot(deliver_after=draw, read_after=60)
    message = fake.send_text()
    fake.clock.advance(days=1)

    assert statuses(message) == ["sent", "delivered"]


def test_after_an_error_of_a_tests_function_it_leaves_the_message_alone():
    errors = [LookupError("no fields")]

    def fields(message, status):
        if status == "delivered" and errors:
            raise errors.pop()
        return {}

    with frozen_fake(extra=fields) as fake:
        fake.autopilot(deliver_after=60, read_after=60)
        message = fake.send_text()
        with pytest.raises(LookupError, match="no fields"):
            fake.clock.advance(60)
        message.deliver()
        fake.clock.advance(days=1)

        assert message.status == "delivered"


def life(seed):
    """Let an autopilot and a test get in each other's way, and return what was emitted."""
    random = Random(seed)
    with frozen_fake(seed="life") as fake:
        anna = fake.recipient(ANNA)
        fake.autopilot(deliver_after=(0, 2 * HOUR), read_after=(0, 960 * HOUR), fail_share=0.3)
        for _ in range(40):
            message = fake.send_text(to=anna)
            words = (anna.goes_offline, anna.comes_online, anna.blocks, anna.unblocks)
            with suppress(IllegalTransition):
                random.choice((message.deliver, message.read, message.fail, *words))()
            fake.clock.advance(random.choice((1, 60, HOUR, 24 * HOUR)))
        fake.clock.advance(days=100)

        assert fake.balance.held == 0
        return [event.body for event in fake.events]


@pytest.mark.parametrize("seed", range(10))
def test_whatever_a_test_does_no_move_of_time_fails_and_the_run_repeats(seed):
    assert life(seed) == life(seed)
