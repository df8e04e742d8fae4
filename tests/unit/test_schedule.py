"""What is due comes out by its moment, then by its arrival; what was cancelled never does."""

import random

import pytest

from pytest_chatfake.domain.schedule import Schedule, due_of


def all_due(schedule, now):
    """Take out what is due, one after another: its moment and what it is about."""
    found = []
    while (due := schedule.pop_due(now)) is not None:
        found.append((due[0], due[2]))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_a_sorted_list_whatever_is_added_and_cancelled(seed):
    chance = random.Random(seed)
    schedule = Schedule()
    planned = {}  # by key: when, and which one
    for number in range(500):
        if planned and chance.random() < 0.6:
            key = chance.choice(list(planned))
            del planned[key]
            schedule.cancel(key)
        else:
            due = chance.randrange(50)
            planned[schedule.add(due, "step", number)] = (due, number)

        assert len(planned) == len(schedule.work)
        assert min((due for due, _ in planned.values()), default=None) == schedule.next_due()
    now = chance.randrange(50)
    expected = sorted(planned.values())

    assert [one for one in expected if one[0] <= now] == all_due(schedule, now)
    assert [one for one in expected if one[0] > now] == [
        (at, subject) for at, _, subject in schedule.pending()
    ]


def test_something_is_due_at_its_moment_and_not_a_nanosecond_before():
    schedule = Schedule()
    key = schedule.add(7, "drop", "subject")

    assert (schedule.next_due(), due_of(key)) == (7, 7)
    assert (schedule.is_due(6), schedule.pop_due(6)) == (False, None)
    assert (schedule.is_due(7), schedule.pop_due(7)) == (True, (7, "drop", "subject"))
    assert (schedule.is_due(7), schedule.pop_due(7)) == (False, None)


def test_what_was_cancelled_takes_no_place_for_long():
    schedule = Schedule()
    keys = [schedule.add(number, "drop", None) for number in range(10_000)]
    for key in keys[:-100]:
        schedule.cancel(key)

    assert len(schedule.work) == 100
    assert len(schedule._heap) < 300


def test_after_it_was_cleared_nothing_is_due():
    schedule = Schedule()
    schedule.add(1, "drop", "before")
    schedule.clear()

    assert (len(schedule.work), schedule.next_due(), schedule.is_due(2)) == (0, None, False)
    schedule.add(1, "drop", "after")
    assert all_due(schedule, 2) == [(1, "after")]


def test_what_was_cancelled_is_not_due():
    schedule = Schedule()
    schedule.cancel(schedule.add(1, "drop", "cancelled"))
    assert not schedule.is_due(1)

    schedule.cancel(schedule.add(1, "drop", "cancelled"))
    schedule.add(2, "drop", "subject")
    assert (schedule.is_due(1), schedule.is_due(2)) == (False, True)
