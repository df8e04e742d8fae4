"""Options of explorations that are refused, as the arguments of all verbs are."""

from datetime import datetime
from functools import partial

import pytest

from pytest_chatfake import Explorer, explore

from ..unit.test_refusals import (
    HUGE,
    LONG,
    Refused,
    Silent,
    awaited,
    refuse,
)

#: Values of another kind, and out of range.
OPTIONS = {
    "seconds": ((Silent(), True), (0,)),
    "depth": (("1",), (-1, HUGE)),
    "limit": (("1",), (0, HUGE)),
    "only": ((1, [1]), (["(" * 100_000],)),
    "deviations": ((1, "x"), ([LONG],)),
}


def exploring(option, fake, message, value):
    return explore(print, **{option: value})


REFUSED = [
    Refused("start", lambda f, m, x: Explorer(start=x), (1,), (datetime(2026, 1, 1),)),
    Refused("progress", lambda f, m, x: Explorer(progress=x), (1, lambda: None, awaited)),
    *(Refused(name, partial(exploring, name), *values) for name, values in OPTIONS.items()),
]


@pytest.mark.parametrize("one", REFUSED, ids=lambda one: one.name)
def test_each_bad_option_is_refused_by_its_name_and_changes_nothing(fake, one):
    refuse(fake, one)
