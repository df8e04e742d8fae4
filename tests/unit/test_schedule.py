"""What is due comes out by its moment, then by its arrival; what was cancelled never does."""

import random

import pytest

from pytest_chatfake.domain.schedule import Schedule, due_of


def all_due(schedule, now):
    """Take out what is due, one after another: its moment and what it is about."""
    found = []
    while schedule.is_due(now):
        due = schedule.pop()
        found.append((due[0], due[2]))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_schedule_agrees_with_a_sorted_list_after_random_changes(seed):
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
            key = schedule.add(due, "step", number)
            planned[key] = (due, number)
            assert due_of(key) == due

        first = min((due for due, _ in planned.values()), default=50)
        assert len(schedule.work) == len(planned)
        for now in (first - 1, first):
            assert schedule.is_due(now) == (bool(planned) and now == first)
        assert schedule.next_due() == (first if planned else None)
    now = chance.randrange(50)
    expected = sorted(planned.values())

    assert [one for one in expected if one[0] <= now] == all_due(schedule, now)
    assert [one for one in expected if one[0] > now] == [
        (at, subject) for at, _, subject in schedule.pending()
    ]


def test_what_was_cancelled_takes_no_place_for_long():
    schedule = Schedule()
    keys = [schedule.add(number, "drop", None) for number in range(10_000)]
    for key in keys[:-100]:
        schedule.cancel(key)

    assert len(schedule.work) == 100
    assert len(schedule._heap) < 300
