"""What each kind of fault does to attempts: when they are made, how they end, what they post."""

import re
from datetime import timedelta
from unittest.mock import Mock

import pytest

from pytest_chatfake.fake.details import outlast_barriers
from pytest_chatfake.fake.inside import Inside

from .fakes import (
    NOON,
    fake_with_receiver,
    received_statuses,
    stages,
    trail,
    warnings_at_the_end,
)

#: What is set up, and the attempts of sent, delivered and read | those of settle() | of an hour.
ORDERS = [
    ("again", lambda w: w.duplicate(), "sent, sent duplicate, delivered, read"),
    ("again at once", lambda w: w.duplicate(after=0, start=3),
     "sent, delivered, read, read duplicate"),
    ("again after 1", lambda w: w.duplicate(after=1), "sent, delivered, sent duplicate, read"),
    ("again after 2", lambda w: w.duplicate(after=2), "sent, delivered, read, sent duplicate"),
    ("again after more than there are", lambda w: w.duplicate(after=9),
     "sent, delivered, read | sent duplicate"),
    ("again after a pause", lambda w: w.duplicate(pause=60.5),
     "sent, delivered, read | sent duplicate +60.5"),
    ("again after a pause, and the second delayed",
     lambda w: (w.duplicate(pause=60), w.delay(90, start=2)),
     "sent, read | sent duplicate +60 | delivered delay +90"),
    ("lost", lambda w: w.lose(), "sent lose not posted, delivered, read"),
    ("lost, and so again", lambda w: (w.lose(), w.duplicate()),
     "sent lose not posted, sent lose not posted, delivered, read"),
    ("delayed", lambda w: w.delay(30), "delivered, read |  | sent delay +30"),
    ("delayed by a timedelta", lambda w: w.delay(timedelta(seconds=0.5)),
     "delivered, read |  | sent delay +0.5"),
    ("delayed, and again", lambda w: (w.duplicate(), w.delay(60)),
     "delivered, read |  | sent delay +60, sent duplicate +60"),
    ("delayed, and one again after 1", lambda w: (w.duplicate(after=1), w.delay(60, times=2)),
     "read |  | sent delay +60, delivered delay +60, sent duplicate +60"),
    ("late", lambda w: w.reorder(), "delivered, sent reorder, read"),
    ("late by 2", lambda w: w.reorder(by=2), "delivered, read, sent reorder"),
    ("late, the second", lambda w: w.reorder(start=2), "sent, read, delivered reorder"),
    ("late by more than there are", lambda w: w.reorder(by=9), "delivered, read | sent reorder"),
    ("late, all of them", lambda w: w.reorder(times=None),
     " | sent reorder, delivered reorder, read reorder"),
    ("two late", lambda w: (w.reorder(by=2), w.reorder(start=2)),
     "read, delivered reorder, sent reorder"),
    ("two late by more than there are", lambda w: (w.reorder(by=9), w.reorder(by=5, start=2)),
     "read | sent reorder, delivered reorder"),
    ("late, and again at once", lambda w: (w.duplicate(), w.reorder(by=2)),
     "delivered, read, sent reorder, sent duplicate"),
    ("late, and another one again", lambda w: (w.reorder(), w.duplicate(start=2)),
     "delivered, sent reorder, delivered duplicate, read"),
    ("response lost", lambda w: w.lose_response(),
     "sent lose_response TimeoutError, delivered, read | sent #2"),
    ("response lost, not its repeat's",
     lambda w: (w.duplicate(), w.lose_response(status="sent", times=None)),
     "sent lose_response TimeoutError, sent duplicate, delivered, read | sent #2"),
    ("refused", lambda w: w.refuse(),
     "sent refuse ConnectionRefusedError, delivered, read | sent #2"),
    ("refused, not its repeat", lambda w: (w.duplicate(), w.refuse(status="sent", times=None)),
     "sent refuse ConnectionRefusedError, sent duplicate, delivered, read | sent #2"),
    ("refused, and the second late", lambda w: (w.refuse(), w.reorder(by=5, start=2)),
     "sent refuse ConnectionRefusedError, read | delivered reorder, sent #2"),
    ("refused, and the second late and again",
     lambda w: (w.refuse(), w.duplicate(after=2, start=2), w.reorder(by=5, start=2)),
     "sent refuse ConnectionRefusedError, read | delivered reorder, delivered duplicate, sent #2"),
    ("one each, and the others count", lambda w: (w.reorder(), w.lose(start=2), w.refuse(times=2)),
     "delivered lose not posted, sent reorder, read refuse ConnectionRefusedError | read #2"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("set_up", "expected"), [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS]
)
def test_attempts_come_in_the_order_that_was_asked_for(fake, receiver, set_up, expected):
    set_up(fake.webhooks)
    message = fake.send_text().deliver().read()

    assert stages(fake) == expected
    reached = [one.event for one in fake.webhooks.attempts if one.fault not in ("lose", "refuse")]
    assert [(one.event, one.body) for one in receiver.requests] == [
        (event, event.body) for event in reached
    ]
    assert len(message.events) == 3


def raising(_):
    raise LookupError("mine")


# -- what waits ------------------------------------------------------------------------------------

BARRIERS = {
    "settle": lambda fake: fake.settle(),
    "assertion": lambda fake: fake.assert_charged("0.05"),
    "advance": lambda fake: fake.clock.advance(seconds=0),
    "move_to": lambda fake: fake.clock.move_to(fake.clock.now),
}


@pytest.mark.parametrize("barrier", BARRIERS)
@pytest.mark.parametrize(
    ("set_up", "before", "then"),
    [
        (lambda w: w.reorder(by=2), "delivered", "sent reorder, read"),
        (
            lambda w: w.lose_response(),
            "sent lose_response TimeoutError, delivered",
            "sent #2, read",
        ),
        (lambda w: w.refuse(), "sent refuse ConnectionRefusedError, delivered", "sent #2, read"),
        (lambda w: w.duplicate(after=2), "sent, delivered", "sent duplicate, read"),
        (
            lambda w: outlast_barriers(w.duplicate(after=2)),
            "sent, delivered",
            "read, sent duplicate",
        ),
    ],
)
def test_nothing_waits_past_a_barrier_but_a_repeat_that_is_told_to(
    fake, receiver, barrier, set_up, before, then
):
    set_up(fake.webhooks)
    message = fake.send_text().deliver()
    _ = fake.balance  # to read results is no barrier
    assert trail(fake) == before
    BARRIERS[barrier](fake)
    message.read()

    assert trail(fake) == f"{before}, {then}"


def test_each_endpoint_has_a_choice_of_its_own(fake):
    got = []
    for name in "ab":
        fake.webhooks.connect(handler=lambda one, name=name: got.append((name, one.event.status)))
    fake.webhooks.reorder(start=1)
    outlast_barriers(fake.webhooks.duplicate(after=1, start=4))
    fake.send_text().deliver()
    fake.settle()
    fake.send_text()

    expected = "b sent, a sent, a delivered, b delivered, a sent, b delivered, b sent"
    assert ", ".join(map(" ".join, got)) == expected


def test_what_waits_is_released_in_the_order_in_which_it_came(fake, receiver):
    fake.webhooks.reorder(by=9)
    outlast_barriers(fake.webhooks.duplicate(after=5, start=2))
    fake.webhooks.reorder(by=7, start=3)
    fake.send_text().deliver().read()

    assert stages(fake) == "delivered | sent reorder, read reorder"
    fake.reset()


def test_what_waits_for_the_same_attempt_comes_in_its_own_order(fake, receiver):
    fake.webhooks.duplicate(after=2)
    fake.webhooks.reorder(by=2, start=2)
    fake.webhooks.reorder(by=2, start=3)
    fake.send_text().deliver().read()
    fake.send_text().deliver()

    assert trail(fake) == ("sent, sent, delivered, sent duplicate, delivered reorder, read reorder")


def test_what_waits_on_at_the_end_is_listed_in_the_order_of_its_coming():
    def scenario(fake):
        fake.webhooks.receiver()
        outlast_barriers(fake.webhooks.duplicate(after=9))
        outlast_barriers(fake.webhooks.duplicate(after=5, start=2))
        fake.send_text().deliver()

    (text,) = warnings_at_the_end(scenario)
    assert re.findall(r"\w+ m1", text) == ["sent m1", "delivered m1"]


def test_only_events_that_a_fault_matches_count_for_its_start(fake, receiver):
    fake.webhooks.lose(status="delivered", start=2)
    for _ in range(2):
        fake.send_text().deliver()

    assert trail(fake) == "sent, delivered, sent, delivered lose not posted"


def test_what_a_deviation_holds_when_its_block_ends_comes_later(fake, receiver):
    with fake.webhooks.reorder(by=2, times=None):
        fake.send_text()
    fake.send_text()

    assert stages(fake) == "sent | sent reorder"


def test_what_waits_is_forgotten_by_a_reset(fake, receiver):
    fake.webhooks.reorder(by=3)
    fake.webhooks.lose_response(start=2)
    fake.webhooks.concurrently(by=9, start=3)
    fake.send_text().deliver().read()
    fake.reset()
    fake.settle()
    fake.send_text()

    assert received_statuses(receiver) == ["sent"]


@pytest.mark.parametrize("set_up", [lambda w: w.duplicate(pause=60), lambda w: w.duplicate()])
def test_no_time_is_moved_for_what_a_reset_has_forgotten(fake, set_up):
    fake.webhooks.connect(handler=lambda _: 500, retry_after=[60])
    set_up(fake.webhooks)
    fake.send_text()
    fake.reset()
    fake.settle()

    assert fake.clock.now == NOON


@pytest.mark.parametrize(
    ("set_up", "before"),
    [
        (lambda w: w.reorder(), []),
        (lambda w: w.duplicate(after=1), ["sent"]),
    ],
)
def test_what_waits_for_other_attempts_is_attempted_at_the_end(set_up, before):
    with fake_with_receiver() as (fake, receiver):
        set_up(fake.webhooks)
        fake.send_text()
        assert received_statuses(receiver) == before

    assert received_statuses(receiver) == [*before, "sent"]


def test_what_waits_for_the_clock_at_the_end_is_told_of():
    def scenario(fake):
        fake.webhooks.receiver()
        fake.webhooks.duplicate(pause=60)
        fake.send_text()

    (text,) = warnings_at_the_end(scenario)
    assert text.startswith("1 event still queued; end the test with `chat_fake.settle()`:")
    assert "sent m1" in text


def test_time_is_not_moved_for_a_repeat_that_nobody_waits_for(fake, receiver):
    fake.webhooks.duplicate(pause=60)
    fake.send_text()
    receiver.endpoint.disconnect()

    assert stages(fake) == "sent"


def test_what_a_released_event_causes_comes_before_what_failed(fake):
    def app(request):
        if request.event.status == "delivered":
            fake.send_text()

    fake.webhooks.connect(handler=app)
    fake.webhooks.refuse()
    fake.webhooks.reorder(by=9, start=2, times=2)
    fake.send_text().deliver()
    fake.settle()

    assert trail(fake, 1) == "delivered reorder, sent reorder, sent #2"


def test_a_delay_at_two_endpoints_is_said_once_of_the_event(fake, receiver):
    fake.webhooks.receiver()
    fake.webhooks.delay(60, times=2)
    fake.send_text()

    assert str(fake.timeline).count("[delayed 60 s: ") == 1


def test_a_reordered_event_is_marked_only_at_its_attempt(fake, receiver):
    fake.webhooks.reorder()
    fake.send_text().deliver()

    assert str(fake.timeline).count("[reordered: ") == 1


# -- in explorations -------------------------------------------------------------------------------


def explored(fake):
    Inside(fake).observe(Mock(attend=None), "")


def test_an_explored_wait_until_leaves_a_paused_block_what_it_holds(fake, receiver):
    explored(fake)
    with fake.webhooks.paused():
        fake.send_text()
        fake.wait_until(lambda: True)
        fake.settle()

        assert trail(fake) == ""


def test_an_explored_wait_until_inside_an_app_releases_what_waits(fake):
    explored(fake)
    fake.webhooks.connect(handler=lambda _: fake.wait_until(lambda: 200))
    fake.webhooks.reorder(by=9)
    fake.send_text().deliver()

    assert trail(fake) == "delivered, sent reorder"


def test_time_moves_to_a_late_duplicate_that_is_left_out(fake, receiver):
    Inside(fake).leave_out_late_duplicates()
    began = fake.clock.now
    fake.webhooks.duplicate(pause=60)
    fake.send_text()
    fake.settle()

    assert (trail(fake), fake.clock.now - began) == ("sent", timedelta(seconds=60))


def test_where_only_duplicates_are_left_out_a_delayed_event_is_made(fake, receiver):
    Inside(fake).leave_out_late_duplicates()
    fake.webhooks.delay(60)
    fake.send_text()

    assert stages(fake) == " |  | sent delay +60"


def test_where_only_duplicates_are_left_out_a_retry_is_made():
    with fake_with_receiver(retry_after=[60]) as (fake, receiver):
        Inside(fake).leave_out_late_duplicates()
        receiver.respond(500, times=1)
        fake.webhooks.duplicate()
        fake.send_text()

        assert stages(fake) == "sent 500, sent duplicate | sent #2 +60"


def test_a_repeat_that_outlasts_barriers_is_made_once_its_waits_end(fake, receiver):
    outlast_barriers(fake.webhooks.duplicate(after=9))
    fake.send_text()
    Inside(fake).end_body()

    assert stages(fake) == "sent | sent duplicate"


# -- an app that raises ----------------------------------------------------------------------------


def test_an_error_of_an_app_comes_back_though_its_response_is_lost(fake):
    fake.webhooks.connect(handler=raising)
    fake.webhooks.lose_response()
    with pytest.raises(LookupError, match="mine"):
        fake.send_text()
    assert trail(fake) == "sent lose_response LookupError"
    fake.reset()


def test_an_error_of_an_app_waits_for_other_endpoints_and_for_a_duplicate(fake):
    raises = fake.webhooks.connect(handler=raising)
    receiver = fake.webhooks.receiver()
    fake.webhooks.duplicate(endpoint=raises)
    with pytest.raises(LookupError, match="mine"):
        fake.send_text()

    assert received_statuses(receiver) == ["sent"]
    assert trail(fake) == "sent LookupError, sent duplicate LookupError, sent"
