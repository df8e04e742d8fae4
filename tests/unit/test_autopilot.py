"""The autopilot: people who take delivery, read or fail by themselves."""

from datetime import timedelta

import pytest

from pytest_chatfake import ChatFakeError

from .fakes import START, frozen_fake, in_another_thread

ANNA = "+4915100001"
BEN = "+4915100002"

HOUR = 3600


def hours_of(event):
    return round((event.create_time.timestamp() - START) / HOUR, 6)


def told(message):
    """The events of a message, and when they were, in hours since the start."""
    return " ".join(f"{event.status} {hours_of(event):g}" for event in message.events)


def promised(fake):
    """What the agenda says of autopilots: each verb, and when, in hours since the start."""
    return [
        (entry.text.split(" ")[1], (entry.at.timestamp() - START) / HOUR)
        for entry in fake.clock.agenda
        if entry.kind == "autopilot"
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "sent 0"),
        ({"read_after": HOUR}, "sent 0"),
        ({"deliver_after": HOUR}, "sent 0 delivered 1"),
        ({"deliver_after": HOUR, "read_after": timedelta(hours=2)}, "sent 0 delivered 1 read 3"),
        ({"fail_share": 1}, "sent 0 failed 0"),
        ({"fail_share": 1, "deliver_after": HOUR, "read_after": HOUR}, "sent 0 failed 1"),
    ],
)
def test_what_is_given_happens_and_reading_counts_from_the_delivery(play, options, expected):
    async def scenario(fake, do):
        fake.autopilot(**options)
        message = await do(fake.send_text())
        await do(fake.clock.advance(days=1))

        assert told(message) == expected

    play(scenario)


def test_a_range_has_both_its_ends_and_a_function_draws_as_it_likes(fake):
    shortest, longest = timedelta(hours=1), timedelta(hours=1, microseconds=1)
    fake.autopilot(
        deliver_after=(shortest, longest), read_after=lambda random: HOUR * random.choice([1, 5])
    )
    messages = [fake.send_text(to=f"+{number}") for number in range(20)]
    fake.clock.advance(days=1)

    times = [[event.create_time for event in message.events] for message in messages]
    assert {delivered - sent for sent, delivered, _ in times} == {shortest, longest}
    assert {read - delivered for _, delivered, read in times} == {
        timedelta(hours=1),
        timedelta(hours=5),
    }


def test_people_reply_after_reading_where_they_can_write_then(fake):
    def replies(message, random):
        return random.choice(["STOP"]) if message.body == "Sale" else None

    fake.webhooks.receiver(events="*")
    fake.autopilot(deliver_after=HOUR, read_after=HOUR, replies=replies, reply_after=2 * HOUR)
    fake.recipient("+2", read_receipts=False)
    pilot = fake.autopilot(to="+5", deliver_after=HOUR, replies=replies, reply_after=2 * HOUR)
    for number in range(1, 6):
        fake.send_text("Sale", to=f"+{number}")
    fake.send_text("Hello", to="+6")
    fake.clock.advance(2.5 * HOUR)
    pilot.end()
    fake.recipient("+3").blocks()
    fake.recipient("+4").goes_offline()
    fake.clock.advance(HOUR)
    fake.recipient("+4").comes_online()
    fake.clock.advance(days=1)

    replied = [
        (event.json()["chatInboundMessage"]["from"], hours_of(event))
        for event in fake.events
        if event.message_id is None
    ]
    assert replied == [("+2", 3), ("+1", 4), ("+4", 4)]


def test_a_share_fails_with_131026_even_with_the_phone_off(fake):
    fake.autopilot(fail_share=0.3, seed=7)
    fake.recipient(ANNA, online=False)
    messages = [fake.send_text(to=ANNA) for _ in range(100)]
    failed = [message for message in messages if message.status == "failed"]

    assert 15 < len(failed) < 45
    assert failed[0].events[-1].json()["chatMessage"]["errorCode"] == "131026"


def test_draws_depend_on_the_seed_and_the_number_of_the_message_only():
    def plan(seed, *, others=False):
        with frozen_fake() as fake:
            fake.autopilot(deliver_after=(0, 10 * HOUR), seed=seed)
            if others:
                fake.autopilot(to=ANNA, deliver_after=lambda random: random.random())
            messages = [fake.send_text(to=ANNA if others and n % 2 else BEN) for n in range(10)]
            fake.clock.advance(days=1)
            return [told(message) for message in messages[::2]]

    assert len(set(plan(1))) == 5
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

    assert [told(one) for one in messages] == ["sent 0 delivered 2", "sent 0 delivered 4"]


def test_an_ended_autopilot_does_nothing_and_gives_way_to_the_one_before(fake):
    before = fake.send_text()
    fake.autopilot(deliver_after=HOUR)
    with fake.autopilot(deliver_after=2 * HOUR, read_after=HOUR) as autopilot:
        landed, waits = fake.send_text(to="+1"), fake.send_text(to=ANNA)
        fake.clock.advance(hours=2)
        anna = fake.recipient(ANNA).goes_offline()
        planned = fake.send_text(to="+2")
        fake.clock.advance(hours=1)
    later = fake.send_text(to="+3")
    autopilot.end()
    anna.comes_online()
    fake.clock.advance(days=1)

    assert [told(message) for message in (before, landed, waits, planned, later)] == [
        "sent 0",
        "sent 0 delivered 2 read 3",
        "sent 0 delivered 2",
        "sent 2",
        "sent 3 delivered 4",
    ]
    assert promised(fake) == []


def test_messages_with_a_script_are_left_to_it(fake):
    fake.autopilot(deliver_after=HOUR, read_after=HOUR)
    message = fake.send_text().after(hours=5).deliver()
    assert promised(fake) == []
    fake.clock.advance(days=1)

    assert told(message) == "sent 0 delivered 5"


def test_what_a_test_does_by_hand_comes_first_and_reading_counts_from_it(fake):
    fake.autopilot(deliver_after=5 * HOUR, read_after=HOUR)
    delivered = fake.send_text(to="+1").deliver()
    read = fake.send_text(to="+2").read()
    failed = fake.send_text(to="+3").fail()
    fake.clock.advance(days=1)

    assert [told(one) for one in (delivered, read, failed)] == [
        "sent 0 delivered 0 read 1",
        "sent 0 read 0",
        "sent 0 failed 0",
    ]


# Phones


def test_an_autopilot_waits_for_a_phone_that_is_off(fake):
    fake.autopilot(deliver_after=HOUR, read_after=2 * HOUR)
    anna = fake.recipient(ANNA, online=False)
    message = fake.send_text(to=anna)
    fake.clock.advance(hours=10)
    anna.comes_online()
    anna.goes_offline()
    fake.clock.advance(hours=10)
    anna.comes_online()

    assert told(message) == "sent 0 delivered 10 read 20"


def test_the_person_comes_before_the_autopilot(fake):
    fake.autopilot(deliver_after=HOUR, read_after=HOUR)
    open_chat = fake.send_text(to=fake.recipient(ANNA, chat_open=True))
    nobody = fake.send_text(to=fake.recipient(BEN, registered=False))
    fake.clock.advance(days=1)

    assert [told(open_chat), told(nobody)] == ["sent 0 read 0", "sent 0 failed 0"]


# The agenda


def test_the_agenda_names_the_line_of_the_autopilot(fake):
    fake.autopilot(deliver_after=HOUR, read_after=HOUR)
    message = fake.send_text()
    *_, drop = fake.clock.agenda
    by = f"message {message.id} by the autopilot, set up at test_autopilot.py:"

    assert [f"{entry.kind} {entry}" for entry in fake.clock.agenda[:-1]] == [
        f"autopilot 2026-01-01T13:00:00.000Z: deliver() of {by}{drop.line.number - 1}",
        f"autopilot 2026-01-01T14:00:00.000Z: read() of {by}{drop.line.number - 1}",
    ]


@pytest.mark.parametrize(
    ("delays", "person", "expected"),
    [
        ((1, 2), {}, [("deliver()", 1), ("read()", 3)]),
        ((1, 0), {}, [("deliver()", 1), ("read()", 1)]),
        ((24 * 30, 0), {}, []),  # the drop comes before
        ((1, 2), {"blocked": True}, []),
        ((1, 2), {"withheld": True}, []),
        ((1, 2), {"online": False}, []),
        ((1, 2), {"read_receipts": False}, [("deliver()", 1)]),
    ],
)
def test_the_agenda_promises_only_what_the_person_lets_happen(fake, delays, person, expected):
    deliver_after, read_after = (HOUR * delay for delay in delays)
    fake.autopilot(deliver_after=deliver_after, read_after=read_after)
    message = fake.send_text(to=fake.recipient(ANNA, **person))
    fake.recipient(ANNA, blocked=False, withheld=False)  # later messages get through
    assert promised(fake) == expected

    fake.clock.advance_to_next()
    assert message.dropped == (not expected)


def test_the_agenda_follows_the_person(fake):
    fake.autopilot(deliver_after=HOUR, read_after=2 * HOUR)
    fake.send_text(to=ANNA)

    for chat_open, expected in (True, ["deliver()"]), (False, ["deliver()", "read()"]):
        fake.recipient(ANNA, chat_open=chat_open)
        assert [verb for verb, _ in promised(fake)] == expected


def test_what_was_read_unseen_is_not_seen_later(fake):
    fake.autopilot(deliver_after=HOUR, read_after=HOUR)
    message = fake.send_text(to=fake.recipient(ANNA, read_receipts=False))
    fake.clock.advance(hours=3)
    fake.recipient(ANNA, read_receipts=True)
    fake.clock.advance(hours=3)

    assert told(message) == "sent 0 delivered 1"


# Functions of the test, and its threads


def test_an_error_of_an_autopilot_s_function_is_told_at_the_next_use(fake):
    fake.autopilot(deliver_after=lambda random: "soon")
    fake.send_text()
    with pytest.raises(TypeError, match="the duration that deliver_after returned: expected"):
        fake.settle()


def test_an_autopilot_s_function_may_read_the_fake_and_not_act(fake):
    fake.autopilot(deliver_after=lambda random: fake.send_text("again"))
    with pytest.raises(ChatFakeError, match="from an autopilot") as refused:
        fake.send_text()
        fake.settle()
    assert len(fake.messages) == 1
    (note, *_) = refused.value.__notes__
    assert note.startswith("in an autopilot() function, set up at test_autopilot.py:")


def failing(failing_status, what):
    """A function of extra fields that does something before one status."""

    def fields(message, status):
        if status == failing_status:
            what(message)
        return {}

    return fields


def no_fields(_):
    raise LookupError("no fields")


def test_what_fails_when_a_phone_comes_online_is_told_at_the_next_use():
    with frozen_fake(extra=failing("read", no_fields)) as fake:
        fake.autopilot(deliver_after=60, read_after=HOUR)
        message = fake.send_text(to=ANNA)
        fake.clock.advance(minutes=2)
        anna = fake.recipient(ANNA).goes_offline()
        fake.clock.advance(hours=2)
        anna.comes_online()
        with pytest.raises(LookupError, match="no fields"):
            fake.settle()

        assert (anna.online, message.status) == (True, "delivered")


def test_after_an_error_of_a_tests_function_it_leaves_the_message_alone():
    errors = [LookupError("no fields")]

    def fails_once(_):
        if errors:
            raise errors.pop()

    with frozen_fake(extra=failing("delivered", fails_once)) as fake:
        fake.autopilot(deliver_after=60, read_after=60)
        message = fake.send_text()
        with pytest.raises(LookupError, match="no fields"):
            fake.clock.advance(60)
        message.deliver()
        fake.clock.advance(days=1)

        assert message.status == "delivered"


def test_where_another_thread_is_faster_it_gives_way():
    fails = failing("delivered", lambda message: in_another_thread(message.fail))
    with frozen_fake(extra=fails) as fake:
        fake.autopilot(deliver_after=HOUR)
        message = fake.send_text()
        fake.clock.advance(hours=1)

        assert told(message) == "sent 0 failed 1"


def test_a_message_that_another_thread_delivered_meanwhile_is_left_alone(fake):
    def draw(random):
        in_another_thread(fake.messages[0].deliver)
        return 60

    fake.autopilot(deliver_after=draw, read_after=60)
    message = fake.send_text()
    fake.clock.advance(days=1)

    assert told(message) == "sent 0 delivered 0"


# As a whole


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
