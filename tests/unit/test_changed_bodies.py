"""Bodies with one change, by which a signer shows what it signs."""

import json

import pytest

from pytest_chatfake.webhooks.changed_bodies import LONGER, changes_of, longer

#: Bodies, and what is changed in each: amounts come first, then times, then the last field.
CHANGED = {
    '{"id":"a1","n":true,"price" : -0.05,"at":"2026-01-01","by":"b\\n","s":"c"}': [
        ("-0.05", "-0.04"),
        ("2026-01-01", "2026-01-08"),
        ('"c"', '"C"'),
        ("a1", "a8"),
    ],
    ' ["ab",{"a":7},"\\"c"]': [("7", "2"), ("c", "C"), ("ab", "aB")],
    "id=x9&at=2026-01-01&none=&to=z%2C": [
        ("2026-01-01", "2026-01-08"),
        ("z%2C", "z%7C"),
        ("x9", "x0"),
    ],
    '{"ok":true,"no":null,"":"_"}': [],
    "<a>1</a>": [],
}


@pytest.mark.parametrize("body", CHANGED)
def test_a_body_is_changed_in_a_byte_and_then_in_one_field_each(body):
    changed = [change(body.encode()).decode() for change in changes_of(body.encode())]

    expected = [body.replace(*change) for change in CHANGED[body]]
    assert changed == [f"{body} ", *expected]


def test_no_more_than_fifty_fields_are_changed():
    assert len(changes_of(json.dumps([10] * 60).encode())) == 51


MORE = "0" * LONGER


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (' {"a":{}}', f' {{"more":"{MORE}","a":{{}}}}'),
        ("a=1", f"a=1&more={MORE}"),
    ],
)
def test_a_longer_body_has_one_more_field(body, expected):
    assert longer(body.encode()) == expected.encode()
