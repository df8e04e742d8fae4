"""Whoever else moves time: the fake follows, shares, or says who stands in the way."""

import os
import threading
import time
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest
import time_machine
from freezegun import freeze_time
from werkzeug.test import Client

from pytest_chatfake import ChatFake, ClockError
from pytest_chatfake.domain.instants import instant
from pytest_chatfake.fake.inside import Inside

from .fakes import NOON, START, at


@pytest.fixture
def traveller(fake):
    """Somebody else's, under which the fake began."""
    return time_machine.traveller_stack[-1]


def test_the_first_move_freezes_time_and_the_end_gives_it_back():
    real = time.time()
    with ChatFake() as fake:
        before = fake.clock.now
        time.sleep(0.002)
        assert before < fake.clock.now
        assert time_machine.traveller_stack == []

        fake.clock.advance(days=1)
        first = time.time_ns()
        time.sleep(0.002)
        assert time.time_ns() == first
        assert 86_400 <= time.time() - real < 86_460
    assert 0 <= time.time() - real < 60
    assert time_machine.traveller_stack == []


def test_a_traveller_that_is_there_is_used_and_left_to_its_owner():
    with time_machine.travel(START, tick=True) as traveller:
        with ChatFake() as fake:
            fake.clock.advance(hours=1)
            first = time.time_ns()
            time.sleep(0.002)

            assert time.time_ns() == first  # it ticks no more
            assert time_machine.traveller_stack == [traveller]
        assert time_machine.traveller_stack == [traveller]
        assert time.time_ns() == first


def test_a_jump_of_somebody_else_is_caught_up_in_due_order_on_the_next_use():
    with time_machine.travel(START, tick=False) as traveller, ChatFake(retry_after=[60]) as fake:
        fake.webhooks.receiver().respond(500, times=2)
        fake.send_text(to="+1")
        traveller.shift(timedelta(days=1))
        fake.send_text(to="+2")
        traveller.move_to(at(days=40))

        assert (fake.balance.held, fake.balance.available) == (0, 100)
        assert [at(days=30), at(days=31)] == [e.at for e in fake.ledger if e.kind == "release"]
        # the retry of the first was due before the second was sent
        attempts = [(one.at, one.number) for one in fake.webhooks.attempts]
        assert attempts == [(at(), 1), (at(minutes=1), 2), (at(days=1), 1)]
        assert fake.clock.now == at(days=40)


def test_what_is_made_less_than_a_millisecond_late_counts_as_made_then():
    with time_machine.travel(START, tick=False) as traveller, ChatFake(retry_after=[60]) as fake:
        fake.webhooks.receiver().respond(500)
        fake.send_text()
        traveller.shift(timedelta(seconds=60, microseconds=500))
        fake.settle()

        assert fake.webhooks.attempts[-1].at == at(seconds=60, microseconds=500)


def test_a_retry_over_which_time_has_jumped_is_signed_as_of_now():
    signed, statuses = [], iter([500, 200])
    with time_machine.travel(START, tick=False) as traveller, ChatFake(retry_after=[60]) as fake:
        fake.webhooks.connect(
            handler=lambda _: next(statuses),
            signer=lambda request: signed.append(request.timestamp) or {},
        )
        fake.send_text()
        traveller.shift(timedelta(hours=1))
        fake.settle()

    assert signed == [START, START + 3_600]


USES = {
    "balance": lambda fake: fake.balance,
    "ledger": lambda fake: fake.ledger,
    "settle": lambda fake: fake.settle(),
    "advance": lambda fake: fake.clock.advance(0),
    "assert": lambda fake: fake.assert_held("0"),
    "message": lambda fake: fake.messages[0].dropped,
    "send": lambda fake: fake.send_text(to="+2"),
    "top_up": lambda fake: fake.top_up(1),
    "fault": lambda fake: fake.webhooks.duplicate(),
    "fault of the API": lambda fake: fake.api.fail(),
    "note": lambda fake: fake.rotate_key(),
    "request": lambda fake: call(fake, "/nowhere", fake.api_key),
    "request with no key": lambda fake: call(fake, "/nowhere", "nobody's"),
    "request for the balance": lambda fake: call(fake, "/v2/balance", fake.api_key),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_any_use_of_the_fake_catches_up_before_it_records_anything(fake, traveller, use):
    fake.send_text(to="+1")
    traveller.shift(timedelta(days=31))

    use(fake)

    moments = [instant(record.moment) for record in Inside(fake).records]
    assert at(days=30) in moments
    assert moments == sorted(moments)
    fake.reset()  # the faults are unused


@pytest.mark.parametrize("use", ["settle", "advance"])
def test_an_event_that_waits_is_posted_after_what_was_due_before(fake, receiver, traveller, use):
    fake.webhooks.reorder(by=3)
    message = fake.send_text()
    traveller.shift(timedelta(days=31))

    USES[use](fake)

    assert (message.dropped, receiver.statuses(message)) == (True, ["sent"])
    moments = [record.moment for record in Inside(fake).records]
    assert moments == sorted(moments)


def call(fake, path, key):
    Client(fake.wsgi_app).get(path, headers={"X-API-Key": key})


def test_a_jump_backwards_is_followed_for_stamps_and_undoes_nothing(fake, traveller):
    message = fake.send_text()
    fake.clock.advance(days=30)
    traveller.move_to(at(days=-1))

    assert message.dropped
    fake.send_text(to="+2")
    assert [event.create_time for event in fake.events] == [NOON, at(days=-1)]
    fake.clock.advance(hours=1)
    assert fake.clock.now == at(days=-1, hours=1)


def test_a_traveller_that_ended_is_forgotten():
    with ChatFake() as fake:
        with time_machine.travel(START, tick=False):
            fake.clock.advance(1)
            assert fake.clock.now == at(seconds=1)

        real = time.time()
        fake.clock.advance(hours=1)
        assert 3600 <= time.time() - real < 3660
    assert time_machine.traveller_stack == []


def test_a_traveller_on_top_is_moved_and_the_one_below_carries_on_after_it(fake, traveller):
    fake.clock.advance(hours=1)
    with time_machine.travel(START + 7_200, tick=False):
        message = fake.send_text().after(hours=1).deliver()
        fake.clock.advance(hours=1)
        assert fake.clock.now == message.events[-1].create_time == at(hours=3)
    assert fake.clock.now == at(hours=1)
    assert time_machine.traveller_stack == [traveller]
    fake.clock.advance(hours=1)
    assert fake.clock.now == at(hours=2)


def test_freezegun_on_top_is_named(fake):
    fake.clock.advance(hours=1)
    with freeze_time("2026-01-02"), pytest.raises(ClockError, match="freezegun was started"):
        fake.clock.advance(hours=1)
    assert fake.clock.now == at(hours=1)


def test_a_fake_that_ends_under_another_traveller_says_whom_to_end_first():
    fake = ChatFake()
    fake.clock.advance(1)
    with time_machine.travel(START, tick=False):
        with pytest.raises(ClockError, match="Stop that one before the fake is closed"):
            fake.close()

    time_machine.travel(START).stop()  # ends the one on top, which is the fake's
    assert time_machine.traveller_stack == []


def test_freezegun_can_not_be_moved_by_the_clock_and_is_followed():
    with freeze_time("2026-01-01T12:00:00Z") as frozen, ChatFake() as fake:
        message = fake.send_text()
        with pytest.raises(ClockError, match="move time with freezegun"):
            fake.clock.advance(1)

        frozen.tick(timedelta(days=31))

        assert message.dropped
        assert [at(days=30)] == [e.at for e in fake.ledger if e.kind == "release"]
        assert fake.clock.now == at(days=31)


def test_under_freezegun_stamps_are_exact_to_the_millisecond():
    moments = [NOON + timedelta(milliseconds=number) for number in range(0, 1_000, 37)]
    with freeze_time(NOON) as frozen, ChatFake() as fake:
        for moment in moments:
            frozen.move_to(moment)
            fake.send_text()

        assert [event.create_time for event in fake.events] == moments


def test_under_freezegun_a_short_lived_thread_reads_the_tests_time():
    with freeze_time("2026-01-01T12:00:00Z"), ChatFake() as fake:
        fake.send_text()
        seen = []

        thread = threading.Thread(target=lambda: seen.append(fake.clock.now))  # a pool's is deeper
        thread.start()
        thread.join()

        assert seen == [NOON]


def test_nothing_is_sent_beyond_the_end_of_the_calendar():
    with time_machine.travel("9900-01-01T00:00:01Z", tick=False), ChatFake() as fake:
        with pytest.raises(ClockError, match="nothing can be sent after 9900-01-01T00:00:00"):
            fake.send_text()

        assert fake.messages == ()


@pytest.fixture
def set_zone(monkeypatch):
    """Sets the zone of the process, until the test ends."""
    yield partial(monkeypatch.setenv, "TZ")
    monkeypatch.undo()
    time.tzset()


def test_the_zone_of_the_process_is_left_alone(set_zone):
    set_zone("America/New_York")
    time.tzset()
    with ChatFake() as fake:
        fake.clock.advance(days=1)
        fake.clock.move_to(fake.clock.now + timedelta(hours=1))

        assert os.environ["TZ"] == "America/New_York"
        assert time.tzname == ("EST", "EDT")
    assert os.environ["TZ"] == "America/New_York"


def test_a_zone_that_a_traveller_set_is_kept():
    tokyo = datetime(2026, 1, 1, 21, tzinfo=ZoneInfo("Asia/Tokyo"))
    with time_machine.travel(tokyo), ChatFake() as fake:
        fake.clock.advance(hours=1)

        assert os.environ["TZ"] == "Asia/Tokyo"
        assert time.localtime().tm_hour == 22
        assert 3600 <= (fake.clock.now - NOON).total_seconds() < 3660


@pytest.mark.parametrize(
    "zone", ["No/Such/Zone", "EST5EDT,M3.2.0,M11.1.0", "../etc/passwd", "Europe"]
)
def test_a_zone_that_only_the_system_knows_does_not_stop_the_clock(zone, set_zone):
    set_zone(zone)
    with time_machine.travel(START), ChatFake() as fake:
        fake.clock.advance(days=1)
        assert os.environ["TZ"] == zone
        assert 86_400 <= time.time() - START < 86_460
