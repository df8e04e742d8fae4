"""The clock of a plain ChatFake: how time moves, who moves it, and what happens on the way."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pytest_chatfake import ChatFake, ClockError
from pytest_chatfake.engine import due_runner

from .fakes import NOON, at, frozen_fake

# -- reading and moving ----------------------------------------------------------------------------


def test_now_is_aware_utc_and_process_time(fake):
    assert fake.clock.now == NOON
    assert UTC is fake.clock.now.tzinfo
    assert time.time_ns() == int(fake.clock.now.timestamp()) * 10**9


@pytest.mark.parametrize(
    ("args", "kwargs", "moved"),
    [
        ((90,), {}, {"seconds": 90}),
        ((0.5,), {}, {"seconds": 0.5}),
        ((timedelta(days=2),), {}, {"days": 2}),
        ((), {"hours": 1, "microseconds": 1}, {"hours": 1, "microseconds": 1}),
        ((0,), {}, {}),
    ],
)
def test_advance_moves_by_a_length(fake, args, kwargs, moved):
    fake.clock.advance(*args, **kwargs)

    assert at(**moved) == fake.clock.now == datetime.now(UTC)


def test_an_app_that_sleeps_with_the_clock_lets_what_is_due_happen(fake, monkeypatch):
    monkeypatch.setattr(time, "sleep", fake.clock.sleep)
    message = fake.send_text()
    message.after(1).deliver()

    time.sleep(1.5)

    assert ("delivered", at(seconds=1.5)) == (message.status, fake.clock.now)


@pytest.mark.parametrize(
    "moment",
    [
        "2026-01-02T12:00:00Z",
        "2026-01-02T13:00:00+01:00",
        datetime(2026, 1, 2, 12, tzinfo=UTC),
        datetime(2026, 1, 2, 7, tzinfo=timezone(-timedelta(hours=5))),
    ],
)
def test_move_to_goes_to_a_moment(fake, moment):
    fake.clock.move_to(moment)

    assert at(days=1) == fake.clock.now


def test_a_stamp_is_the_present_as_the_service_writes_it(fake):
    fake.clock.advance(1.5)

    assert fake.clock.stamp() == "2026-01-01T12:00:01.500Z"


@pytest.mark.parametrize(
    ("move", "error", "words"),
    [
        (lambda clock: clock.advance(-1), ClockError, r"advance\(-1\) would move it back"),
        (lambda clock: clock.move_to(at(seconds=-1)), ClockError, "11:59:59.000Z has passed"),
        (lambda clock: clock.move_to("9999-12-31T00:00:00Z"), ClockError, "past 9900-01-01"),
        (lambda clock: clock.advance(days=3_650_000), ClockError, "past 9900-01-01"),
    ],
)
def test_a_bad_move_is_refused_and_moves_nothing(fake, move, error, words):
    fake.send_text()
    before = fake.clock.next_due

    with pytest.raises(error, match=words):
        move(fake.clock)

    assert fake.clock.now == NOON
    assert before == fake.clock.next_due
    assert len(fake.events) == 1


# -- what is due -----------------------------------------------------------------------------------


def test_an_exception_stops_time_at_its_moment_and_the_rest_goes_on_later(fake):
    fake.webhooks.connect(handler=lambda request: 1 / 0 if request.number == 1 else None)
    fake.webhooks.delay(60)
    dropped = fake.send_text()

    with pytest.raises(ZeroDivisionError):
        fake.clock.advance(days=31)

    assert at(minutes=1) == fake.clock.now
    assert not dropped.dropped
    fake.clock.advance(days=31)
    assert dropped.dropped


def test_due_work_without_an_end_is_bounded_and_says_so(monkeypatch):
    monkeypatch.setattr(due_runner, "_MAX_DUE", 50)
    with frozen_fake(retry_after=[1]) as fake:

        def app(request):
            if len(fake.messages) > 5_000:
                pytest.fail("nothing stops it")
            if request.number == 2:
                fake.send_text()
                fake.send_text()
            return 500

        fake.webhooks.connect(handler=app)
        fake.send_text()

        with pytest.raises(ClockError) as caught:
            fake.clock.advance(days=1)
        assert not any(attempt.ok for attempt in fake.webhooks.attempts)

    assert str(caught.value).startswith("stopped at 2026-01-01T12:00:0")
    assert "after 50 unplanned events: each one seems to schedule the next" in str(caught.value)


def test_only_unplanned_work_is_bounded(monkeypatch):
    monkeypatch.setattr(due_runner, "_MAX_DUE", 1)
    with frozen_fake(retry_after=[1, 1]) as fake:
        fake.webhooks.connect(handler=lambda _: 500)
        message = fake.send_text()  # plans its drop and the first retry, which plans the second

        fake.clock.advance(days=31)

        assert message.dropped
        assert len(fake.webhooks.attempts) == 3


def test_the_longest_lengths_stay_within_the_calendar_in_the_farthest_year():
    longest = timedelta(days=36_000)
    with ChatFake(conversation_length=longest, drop_after=longest) as fake:
        fake.clock.move_to("9899-12-31T00:00:00Z")
        message = fake.send_text()

        assert message.events[0].json()["chatMessage"]["conversation"]["expireTime"][:4] == "9998"
        assert fake.clock.next_due is not None
