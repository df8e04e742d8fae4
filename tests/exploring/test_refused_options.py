"""Options of explorations, and points inside apps, that are refused as all arguments are."""

import sqlite3
from datetime import datetime
from functools import partial

import pytest

from pytest_chatfake import Explorer, explore
from pytest_chatfake.exploring.explorer import ExploreOptions

from ..unit.refused_arguments import HARD_TO_CITE, HUGE, LONG, Silent, awaited, problems

#: Values of another kind, and out of range.
OPTIONS = {
    "crash_points": ((1, "x", [1]), ()),
    "depth": (("1", True), (-1, HUGE)),
    "deviations": ((1, "x", [1]), ([LONG],)),
    "limit": (("1", True), (0, HUGE)),
    "only": ((1, [1]), (["(" * 100_000],)),
    "seconds": ((Silent(), True), (0,)),
    "stop_at_first": ((1, Silent()), ()),
}
#: Those of the explorer itself.
ARGUMENTS = {
    "config": ((1, {}), ()),
    "progress": ((1, lambda: None, awaited), ()),
    "start": ((1,), (datetime(2026, 1, 1),)),
}


def each_value():
    for table, call in ((OPTIONS, partial(explore, print)), (ARGUMENTS, Explorer)):
        for name, (wrong_kind, out_of_range) in table.items():
            values = [((TypeError,), value) for value in wrong_kind]
            values += [((ValueError,), value) for value in out_of_range]
            values += [((TypeError, ValueError), value) for value in HARD_TO_CITE]
            for number, (errors, value) in enumerate(values):
                yield f"{name}, {number}", errors, name, partial(call, **{name: value})


def test_each_bad_option_is_refused_by_its_name_and_changes_nothing(fake):
    assert OPTIONS.keys() == ExploreOptions.__annotations__.keys()
    assert [*problems(fake, each_value())] == []


def generator():
    yield


class Session:
    """Something to call that is no function."""


CALL = "json.dumps"
#: What no verb takes for a point inside an app: the error, what it names, and what is given.
POINTS = [
    (TypeError, "exactly one", {"line": "app.py:41", "before": CALL}),
    (TypeError, "line", {"line": 5}),
    (ValueError, "line: expected a file name and a line", {"line": "app.py"}),
    (ValueError, "line: expected a file name and a line", {"line": "app.py:0"}),
    (ValueError, "line", {"line": "shop/app.py:3"}),
    (TypeError, "before", {"before": 5}),
    (TypeError, "before", {"before": Session}),
    (TypeError, "before: .* written in Python", {"before": len}),
    (ValueError, "before", {"before": "nowhere.save"}),
    (ValueError, "without yield", {"before": generator}),
    (TypeError, "after", {"after": 5}),
    (ValueError, "after", {"after": "nowhere.save"}),
    (ValueError, "nth", {"before": CALL, "nth": 0}),
    (TypeError, "nth", {"before": CALL, "nth": True}),
    (TypeError, "nth", {"before": CALL, "nth": "1"}),
]
#: The same for each verb, with what only it refuses.
OF_VERBS = {
    "crash": [
        *POINTS,
        (TypeError, "exactly one", {}),
        (TypeError, "after", {"after": sqlite3.Connection.commit}),
    ],
    "concurrently": [
        *POINTS,
        (TypeError, "exactly one", {"nth": 2}),
        (TypeError, "before: .* written in", {"before": dict.update}),
        (ValueError, "nth: expected a number", {"by": 1, "before": CALL, "nth": None}),
        (ValueError, "held='later': expected by=1", {"before": CALL, "held": "later"}),
        (ValueError, "unknown held 'last': use", {"by": 1, "before": CALL, "held": "last"}),
        (TypeError, "exactly one", {"by": 1, "held": "later"}),
        (TypeError, "takes before only with by=", {"by": None, "before": CALL}),
        (TypeError, "takes nth only with by=", {"by": None, "nth": 2}),
        (TypeError, "takes held only with by=", {"by": None, "held": "later"}),
    ],
    "error": [
        (TypeError, "before: .* written in Python", {"before": len}),
        (ValueError, "nth", {"nth": 0}),
        (TypeError, "after", {"after": CALL}),
        (ValueError, "raises: .* or its name", {"raises": "sqlite3.NoSuchError"}),
        *(
            (TypeError, "raises: expected a subclass of Exception .* got", {"raises": what})
            for what in (KeyboardInterrupt, OSError("disk"), int, None)
        ),
    ],
}
#: What is given beside it.
BESIDE = {"crash": {}, "concurrently": {"by": 0}, "error": {"before": CALL}}


@pytest.mark.parametrize("verb", OF_VERBS)
def test_each_bad_point_is_refused_by_its_name_and_changes_nothing(fake, verb):
    tried = [
        (f"{given}", (error,), named, partial(getattr(fake.webhooks, verb), **BESIDE[verb] | given))
        for error, named, given in OF_VERBS[verb]
    ]

    assert [*problems(fake, tried)] == []
