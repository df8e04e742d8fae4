import datetime as dt
import os
import time
import zoneinfo

import pytest
import time_machine as tm

UTC = dt.UTC
TOKYO = zoneinfo.ZoneInfo("Asia/Tokyo")


def test_fixture_moves_and_the_fake_follows(chat_fake, chat_clock, time_machine):
    chat_fake.send_text()
    time_machine.shift(dt.timedelta(days=31))
    chat_fake.assert_held("0")
    assert chat_fake.ledger[-1].at == dt.datetime(2026, 1, 31, 12, tzinfo=UTC)
    chat_clock.advance(days=1)
    assert dt.datetime.now(UTC) == dt.datetime(2026, 2, 2, 12, tzinfo=UTC)
    assert len(tm.traveller_stack) == 1


def test_fixture_first(time_machine, chat_clock):
    time_machine.move_to(dt.datetime(2027, 1, 1, tzinfo=UTC), tick=False)
    assert chat_clock.now == dt.datetime(2027, 1, 1, tzinfo=UTC)
    assert len(tm.traveller_stack) == 1


@pytest.mark.time_machine(dt.datetime(2028, 1, 1, 9, tzinfo=TOKYO))
def test_marker_keeps_its_moment_and_its_zone(chat_fake, chat_clock):
    assert os.environ["TZ"] == "Asia/Tokyo"
    assert abs(chat_clock.now - dt.datetime(2028, 1, 1, tzinfo=UTC)).seconds < 60
    first = time.time_ns()
    time.sleep(0.002)
    assert time.time_ns() == first  # stopped ticking by ours
    chat_clock.advance(hours=1)
    assert time.localtime().tm_hour == 10
    assert os.environ["TZ"] == "Asia/Tokyo"
    assert len(tm.traveller_stack) == 1


@pytest.fixture
def travelling():
    with tm.travel(0):
        yield


def test_a_journey_that_began_outside_is_shared(travelling, chat_clock):
    assert chat_clock.now.year == 1970
    chat_clock.advance(days=366)
    assert time.gmtime().tm_year == 1971
    assert len(tm.traveller_stack) == 1


@pytest.fixture
def sent(chat_fake, chat_clock):
    return chat_fake.send_text()


@tm.travel("2026-03-01T00:00:00Z")
def test_what_a_fixture_sent_may_drop(sent, chat_clock):
    assert sent.dropped


def test_tz_is_left_alone(chat_clock):
    before = os.environ.get("TZ")
    chat_clock.advance(1)
    chat_clock.move_to("2026-02-01T00:00:00Z")
    assert os.environ.get("TZ") == before


def test_nothing_is_left():
    assert not tm.traveller_stack
