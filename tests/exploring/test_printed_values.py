"""What of a value gets into a test that an exploration prints: data, and nothing that is code."""

import ast
import datetime as dt
import enum
import math
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chatfake.exploring.printed_test import as_code

from .test_exploration import notes, printed

CODE = "__import__('pathlib').Path('pwned').touch()"


class IsCode:
    """A value whose repr() is what came in a webhook."""

    def __init__(self, text=CODE):
        self.text = text

    def __repr__(self):
        return self.text


class Text(str):
    __slots__ = ()

    def __repr__(self):
        return CODE


class Money(Decimal):
    def __repr__(self):
        return CODE


class Rows(list):
    def __repr__(self):
        return CODE


class Zone(dt.tzinfo):
    def __repr__(self):
        return CODE

    def utcoffset(self, _):
        return dt.timedelta(0)

    def __eq__(self, _):
        return True

    __hash__ = None


class Status(enum.Enum):
    SENT = "sent"


def recursive():
    rows = []
    rows.append(rows)
    return rows


def nested(depth):
    rows = []
    for _ in range(depth):
        rows = [rows]
    return rows


@pytest.mark.parametrize(
    "value",
    [
        IsCode(),
        Text("x"),
        Money("0.05"),
        Rows(),
        {"a": [(Text("x"),)]},
        {Text("x"): 1},
        dt.datetime(2026, 1, 1, tzinfo=Zone()),
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        Status.SENT,
        math.nan,
        -math.inf,
        [{"rate": math.inf}],
        recursive(),
        nested(100_000),
        object,
        print,
        range(3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_plain_data_is_not_written(value):
    assert as_code(value, {}, []) == ""


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.text() | st.binary()
    | st.floats(allow_nan=False, allow_infinity=False) | st.decimals(allow_nan=False)
    | st.uuids() | st.dates() | st.timedeltas() | st.datetimes()
    | st.datetimes(timezones=st.just(dt.UTC))
)  # fmt: skip
DATA = st.recursive(
    LEAVES,
    lambda data: st.lists(data) | st.tuples(data, data) | st.dictionaries(st.text(), data)
    | st.sets(st.text()),
    max_leaves=10,
)  # fmt: skip


@given(DATA)
def test_plain_data_is_written_as_code_that_has_its_value_with_its_imports(value):
    imports = []
    code = as_code(value, {}, imports)
    names = {}
    exec("\n".join(imports), names)
    found = eval(code, names)
    assert (type(value), value) == (type(found), found)


def test_a_name_that_means_something_else_there_is_not_used():
    assert as_code([UUID(int=0)], {"UUID": str}, []) == ""
    assert as_code(dt.date(2026, 1, 1), {"datetime": dt.datetime}, []) == ""
    imports = []
    assert as_code("Decimal", {"Decimal": Decimal}, imports) == "'Decimal'"
    assert imports == []


def test_a_text_of_a_webhook_is_executed_nowhere_in_a_finding(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    limit, kept = IsCode(), Text("x")

    def world(chat_fake):
        rows = []
        chat_fake.webhooks.connect(
            handler=lambda request: rows.append(IsCode(request.json()["chatMessage"]["note"]))
        )
        chat_fake.send_text(extra={"note": CODE})
        chat_fake.settle()
        assert (len(rows), bool(limit), bool(kept)) == (1, True, True)

    found = notes(world, deviations=["duplicate"])
    assert "# It needs" in found
    assert [*tmp_path.iterdir()] == []
    ast.parse(printed(found))
