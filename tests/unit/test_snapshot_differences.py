"""How two snapshots differ, as the failure of a check says it."""

from dataclasses import dataclass, field
from datetime import time
from decimal import Decimal
from itertools import cycle
from typing import NamedTuple

import pytest

from .fakes import NOON, START


class Pair(NamedTuple):
    number: int
    status: str


@dataclass
class Order:
    number: int
    statuses: list[str]
    read: int = field(default=0, compare=False)


@dataclass
class Row:
    number: int


LONG = "Sale ends today. " * 20

#: What a snapshot was, what it is, and what is said of that.
TOLD = {
    "an item more": (
        {"rows": [("user", "b")]},
        {"rows": [("user", "a"), ("user", "b")]},
        """["rows"]: one more (('user', 'a')); 2 items; before: 1""",
    ),
    "an item twice": ([1, 2], [1, 2, 2], "snapshot: one more (2); 3 items; before: 2"),
    "an item less": ([1, 2], [2], "snapshot: one missing (1); 1 item; before: 2"),
    "no item left": ([0] * 9, [], "snapshot: 9 missing (0, 0, 0, 0, 0, ...); 0 items; before: 9"),
    "a tuple more": ((1,), (1, 3, 5), "snapshot: 2 more (3, 5); 3 items; before: 1"),
    "another order": (
        ["a", "b"],
        ["b", "a"],
        "snapshot: the same items in a different order (sort them in the snapshot?)",
    ),
    "fields exchanged": ((1, 2), (2, 1), "[0]: 2; before: 1\n  [1]: 1; before: 2"),
    "many fields": (
        (0,) * 7,
        (1,) * 7,
        "".join(f"[{number}]: 1; before: 0\n  " for number in range(4)) + "and 3 more",
    ),
    "another value": ([1, {"a": 2}], [1, {"a": 3}], '[1]["a"]: 3; before: 2'),
    "other items, and more of them": ([1], [2, 3], "[0]: 2; before: 1\n  [1]: 3; before: missing"),
    "a named tuple": (Pair(1, "sent"), Pair(1, "read"), "[1]: 'read'; before: 'sent'"),
    "a list for a tuple": ((1,), [1], "snapshot: [1]; before: (1,)"),
    "a key more": ({}, {"a": 1}, '["a"]: 1; before: missing'),
    "a key less": ({"a": 1}, {}, '["a"]: missing; before: 1'),
    "another key": ({1: 2}, {"1": 2}, '[1]: missing; before: 2\n  ["1"]: 2; before: missing'),
    "a member more": ({1}, {1, 2}, "snapshot: one more (2); 2 items; before: 1"),
    "two members more": (set(), {8, 1}, "snapshot: 2 more (1, 8); 2 items; before: 0"),
    "another member": (
        {"a": frozenset("bc")},
        {"a": frozenset("cd")},
        """["a"]: one more ('d'); one missing ('b'); 2 items; before: 2""",
    ),
    "a list inside": (
        {"m": {"statuses": ["sent"]}},
        {"m": {"statuses": ["sent", "sent"]}},
        """["m"]["statuses"]: one more ('sent'); 2 items; before: 1""",
    ),
    "a field": (
        Order(1, ["sent"], read=1),
        Order(1, ["sent", "sent"], read=2),
        ".statuses: one more ('sent'); 2 items; before: 1",
    ),
    "nothing for an object": (Row(1), None, "snapshot: None; before: Row(number=1)"),
    "a class with fields": (Order, int, f"snapshot: <class 'int'>; before: {Order!r}"),
    "money": (Decimal("0.05"), Decimal("0.10"), "snapshot: 0.10; before: 0.05"),
    "a float for money": (
        Decimal("0.1"),
        0.1,
        "snapshot: 0.1 (float); before: 0.1 (Decimal)",
    ),
    "the end of a long text": (
        f"{LONG}Hurry",
        f"{LONG}Run",
        "snapshot: ...y. Sale ends today. Run'; before: ...y. Sale ends today. Hurry'",
    ),
}


def told_of(fake, before, after):
    """What is said of two snapshots, of which the event that comes again is blamed."""
    fake.webhooks.connect(handler=lambda request: None)
    fake.send_text()
    values = cycle([before, after])
    with pytest.raises(AssertionError) as caught:
        fake.assert_idempotent(lambda: next(values))
    return str(caught.value)


@pytest.mark.parametrize("told", TOLD)
def test_a_difference_is_told_by_what_is_more_less_or_other(fake, told):
    *snapshots, expected = TOLD[told]
    head = "redelivering sent m1 changed the snapshot; "
    assert told_of(fake, *snapshots) == head + expected


LATER = NOON.replace(day=3)

#: Two times of a last change, an hour or days apart.
TIMES = {
    "datetimes": (NOON, LATER),
    "dates": (NOON.date(), LATER.date()),
    "times of day": (time(12), time(13)),
    "ISO texts": (NOON.isoformat(), LATER.isoformat()),
    "texts of SQL": ("2026-11-29 12:00:00", "2026-11-29 12:00:01"),
    "seconds": (START, START + 3600.5),
    "milliseconds": (START * 1000, START * 1000 + 1),
    "microseconds": (START * 10**6, START * 10**6 + 1),
    "nanoseconds": (START * 10**9, START * 10**9 + 1),
    "decimals": (Decimal(START), Decimal(START + 1)),
    "inside rows": ([{"at": NOON, "status": "read"}], [{"at": LATER, "status": "read"}]),
}

#: What looks like a time, and isn't; and a time that isn't all that differs.
NO_TIMES = {
    "amounts": (Decimal("0.05"), Decimal("0.10")),
    "numbers": (20260101, 20260103),
    "numbers as texts": ("20260101", "20260103"),
    "a bool": (False, True),
    "a number too large for a float": (10**400, 10**400 + 1),
    "a time and a status": ({"at": NOON, "status": "read"}, {"at": LATER, "status": "sent"}),
    "a time at last": (None, NOON),
    "one more time": ([NOON], [NOON, LATER]),
}


@pytest.mark.parametrize("name", TIMES)
def test_times_that_differ_may_be_left_out_of_a_snapshot(fake, name):
    hint = " (the time of the last change? Leave it out of the snapshot)"
    assert told_of(fake, *TIMES[name]).partition("\n")[0].endswith(hint)


@pytest.mark.parametrize("name", NO_TIMES)
def test_differences_of_other_values_are_not_taken_for_times(fake, name):
    assert "Leave it out" not in told_of(fake, *NO_TIMES[name]).partition("\n")[0]
