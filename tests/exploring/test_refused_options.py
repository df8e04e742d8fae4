"""Options of explorations that are refused, as the arguments of all verbs are."""

from datetime import datetime
from functools import partial

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


#: What a meeting of two attempts refuses, by argument.
MEETINGS = {
    "line": (
        {"line": 5},
        {"line": "app.py"},
        {"line": "app.py:41", "before": "shop.save"},
        {"nth": 2},
    ),
    "before": ({"before": 5}, {"before": "nowhere.save"}, {"before": "json.dumps", "by": 1}),
    "after": ({"after": 5}, {"after": "nowhere.save"}),
    "nth": ({"nth": 0}, {"nth": True}, {"nth": "1"}),
}


def test_each_bad_meeting_is_refused_by_its_name_and_changes_nothing(fake):
    tried = [
        (f"{name}, {number}", (TypeError, ValueError), name, call)
        for name, given in MEETINGS.items()
        for number, one in enumerate(given)
        for call in [partial(fake.webhooks.concurrently, **{"by": 0, **one})]
    ]

    assert [*problems(fake, tried)] == []
