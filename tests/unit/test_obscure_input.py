"""Arguments of every kind that nobody writes on purpose: a sentence, and nothing is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    Edge,
    Explorer,
    HmacSigner,
    Script,
    edges,
    explore,
    scripts,
)

from .fakes import fake_with_receiver, visible_state

#: An integer that Python does not write out.
HUGE = 10**6_000

HEADERS = {"X-Signature": "s"}

_HOLDS_ITSELF: dict[str, Any] = {}
_HOLDS_ITSELF["a"] = _HOLDS_ITSELF


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


class WithoutRepr:
    """An object that can't be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


BEFORE_THE_CALENDAR = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
AFTER_THE_CALENDAR = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))

BAD_CALLS = {
    # Moments and lengths of time.
    "before the calendar": (
        lambda f, m: f.clock.move_to("0001-01-01T00:00:00+14:00"),
        ValueError,
        "move_to(): expected a moment of the years 1 to 9999 in UTC, got 0001-01-01T00:00:00+14:00",
    ),
    "before the calendar, as a datetime": (
        lambda f, m: f.clock.move_to(BEFORE_THE_CALENDAR),
        ValueError,
        "move_to(): expected a moment of the years 1 to 9999 in UTC",
    ),
    "after the calendar": (
        lambda f, m: f.clock.move_to(AFTER_THE_CALENDAR),
        ValueError,
        "move_to(): expected a moment of the years 1 to 9999 in UTC",
    ),
    "no number of days": (
        lambda f, m: f.clock.advance(days=float("nan")),
        ValueError,
        "advance(): expected a finite length of time, got {'days': nan}",
    ),
    "no number of hours": (
        lambda f, m: m.after(hours=float("nan")),
        ValueError,
        "expected a finite length of time, got {'hours': nan}",
    ),
    # Edges.
    "the name of an edge": (
        lambda f, m: f.clock.advance_to("session", m),
        TypeError,
        (
            "advance_to() takes one edge, not 'session': write edges('session')[1] for the moment "
            "itself; [0] is a millisecond before it, and [2] after it"
        ),
    ),
    "all edges": (
        lambda f, m: f.clock.advance_to(edges("drop"), m),
        TypeError,
        "write edges('drop')[1] for the moment itself",
    ),
    "an edge of nothing": (
        lambda f, m: Edge("end", timedelta(0)),  # type: ignore[arg-type]
        ValueError,
        "edges are 'session' and 'drop', and 'end' is none",
    ),
    "an edge far away": (
        lambda f, m: Edge("drop", timedelta(1)),
        ValueError,
        "an edge's offset is timedelta(0), or a millisecond of either sign, not",
    ),
    "an edge at a number": (
        lambda f, m: Edge("drop", 0),  # type: ignore[arg-type]
        ValueError,
        "edges() makes all three",
    ),
    # What is to be written as JSON.
    "a number of 6,000 digits": (
        lambda f, m: f.send_text(extra={"a": HUGE}),
        ValueError,
        "an integer of thousands of digits can't be written as JSON",
    ),
    "fields that hold themselves": (
        lambda f, m: f.send_text(extra=_HOLDS_ITSELF),
        ValueError,
        "can't be written as JSON: nested more than 100 levels deep, or in itself",
    ),
    "content that is nested deeply": (
        lambda f, m: f.send("image", {"a": _deep()}),
        ValueError,
        "can't be written as JSON: nested more than 100 levels deep",
    ),
    "changes that are nested deeply": (
        lambda f, m: f.webhooks.emit(m, "sent", changes={"a": _deep()}),
        ValueError,
        "can't be written as JSON: nested more than 100 levels deep",
    ),
    # Functions that take something else.
    "a price of nothing": (
        lambda f, m: f.send_text(price=lambda: "0.05"),
        TypeError,
        'price takes a function of the message, as in lambda message: "0.05", not <function',
    ),
    "a class as a price": (
        lambda f, m: f.send_text(price=int),
        TypeError,
        'as in lambda message: "0.05", not the class int',
    ),
    "a signer of nothing": (
        lambda f, m: f.webhooks.connect(handler=lambda request: None, signer=lambda: HEADERS),
        TypeError,
        "signer takes a function of the request, as in",
    ),
    "a change of nothing": (
        lambda f, m: f.webhooks.tamper(lambda: b""),
        TypeError,
        "change takes a function of the body, as in lambda body: body[:-1], not <function",
    ),
    "a predicate of something": (
        lambda f, m: f.clock.run_until(lambda message: True, limit=1),
        TypeError,
        "run_until() takes a function of no argument, as in lambda: message.dropped, not <function",
    ),
    "a function as a WSGI app": (
        lambda f, m: f.webhooks.connect(wsgi=lambda request: None),
        TypeError,
        "wsgi= takes an app, which is called with environ, start_response, and",
    ),
    "a function as an ASGI app": (
        lambda f, m: f.webhooks.connect(asgi=lambda request: None),
        TypeError,
        "is none. A function that takes the request is connected as handler=",
    ),
    # What can't be shown.
    "a flag without a repr": (
        lambda f, m: f.recipient("+1", online=WithoutRepr()),
        TypeError,
        "online must be True or False, not <WithoutRepr without a repr>",
    ),
    "a long name of an edge": (
        lambda f, m: edges("x" * 1_000),  # type: ignore[arg-type]
        ValueError,
        "xxx... is none",
    ),
    "a predicate without a repr": (
        lambda f, m: f.clock.run_until(WithoutRepr(), limit=1),
        TypeError,
        "not <WithoutRepr without a repr>",
    ),
    "a range that is nested deeply": (
        lambda f, m: f.autopilot(deliver_after=_deep()),
        TypeError,
        "expected a range such as (60, 3600), got <list without a repr>",
    ),
    "a range of too many": (
        lambda f, m: f.autopilot(deliver_after=[0] * 1_000),
        TypeError,
        "expected a range such as (60, 3600), got [0, 0",
    ),
    "a text of 6,000 digits": (
        lambda f, m: f.find_message(body=HUGE),
        LookupError,
        "no message fits (body=<int without a repr>). The nearest:",
    ),
    "so many requests": (
        lambda f, m: f.assert_requested("GET", "/v2/balance", times=HUGE),
        AssertionError,
        "<int without a repr> times",
    ),
    # Chance.
    "a seed of 6,000 digits": (
        lambda f, m: f.autopilot(seed=HUGE),
        ValueError,
        "seed must be a whole number of at most 10000 bits",
    ),
    "a seed that has no bytes": (
        lambda f, m: f.webhooks.chaos(seed="\ud800", refuse=1),
        ValueError,
        "seed has half of a letter (a lone surrogate) at place 0",
    ),
    # Files.
    "a path that has no bytes": (
        lambda f, m: f.webhooks.replay("\ud800"),
        ValueError,
        "replay() takes the path of a file, and '\\ud800' can't be one",
    ),
    "a path with a zero": (
        lambda f, m: f.webhooks.replay("a\0b"),
        ValueError,
        "replay() takes the path of a file, and 'a\\x00b' can't be one",
    ),
}


@pytest.fixture
def fake() -> Iterator[ChatFake]:
    with fake_with_receiver() as (fake, _):
        yield fake


@pytest.mark.parametrize(("call", "error", "words"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_call_with_it_is_refused_with_a_sentence(
    fake: ChatFake, call: Any, error: type[Exception], words: str
) -> None:
    message = fake.send_text()
    before = visible_state(fake)

    with pytest.raises(error, match=re.escape(words)) as raised:
        call(fake, message)

    assert error is raised.type
    assert len(str(raised.value)) < 600
    assert before == visible_state(fake)


BAD_FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "price": (
        {"price": lambda: "0.05"},
        'price takes a function of the message, as in lambda message: "0.05", not',
    ),
    "extra": (
        {"extra": lambda message: {}},
        "extra takes a function of the message and the status, as in lambda message, status:",
    ),
    "signer": (
        {"signer": lambda: HEADERS},
        'signer takes a function of the request, as in lambda request: {"X-Signature": "..."}',
    ),
}


@pytest.mark.parametrize(("fields", "words"), BAD_FIELDS.values(), ids=BAD_FIELDS)
def test_a_function_in_the_configuration_is_refused_for_what_it_takes(
    fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        ChatFakeConfig(**fields)


@pytest.mark.parametrize("config", [True, 1, "x", {}, datetime(2026, 1, 1, tzinfo=UTC)], ids=repr)
def test_a_fake_is_made_from_a_configuration_or_its_fields(config: Any) -> None:
    with pytest.raises(TypeError, match=r"config must be a ChatFakeConfig\(\.\.\.\), not "):
        ChatFake(config)


def test_the_seconds_of_an_exploration_are_cited_if_they_can_be() -> None:
    with pytest.raises(TypeError, match="got <WithoutRepr without a repr>"):
        explore(lambda fake: None, seconds=WithoutRepr())  # type: ignore[arg-type]


def test_an_exploration_without_an_end_to_its_depth_ends_where_nothing_more_deviates() -> None:
    def body(fake: ChatFake) -> None:
        fake.webhooks.receiver()
        fake.send_text()

    assert explore(body, deviations=["lose_response"], depth=10**6).worlds == 2


def test_a_signer_of_more_than_the_request_is_refused() -> None:
    signer = HmacSigner("secret")

    with ChatFake(signer=signer) as fake, pytest.raises(TypeError, match="a function of the"):
        fake.webhooks.sign(lambda request, secret: {})  # type: ignore[arg-type,misc]


BAD_EXPLORERS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a start without a zone": (
        {"start": datetime(2026, 1, 1)},
        ValueError,
        "start: expected a moment with a time zone, got 2026-01-01T00:00:00",
    ),
    "a start that is none": ({"start": 1}, TypeError, "start: expected an aware datetime"),
    "a progress that is none": (
        {"progress": 1},
        TypeError,
        "progress: expected a function of a text, got 1",
    ),
    "a progress of nothing": (
        {"progress": lambda: None},
        TypeError,
        "progress takes a function of the text, as in lambda text: print(text), not <function",
    ),
}


@pytest.mark.parametrize(("fields", "error", "words"), BAD_EXPLORERS.values(), ids=BAD_EXPLORERS)
def test_an_explorer_is_refused_for_what_it_is_given(
    fields: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=re.escape(words)):
        Explorer(**fields)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"depth": HUGE}, "depth must be from 0 to 1000000, not <int without a repr>"),
        ({"limit": HUGE}, "limit must be from 1 to 1000000, not <int without a repr>"),
        ({"only": ["(" * 100_000]}, "only: '((("),
        ({"deviations": ["x" * 1_000]}, "xxx..."),
    ],
    ids=["depth", "limit", "only", "deviations"],
)
def test_an_exploration_is_refused_for_what_it_is_given(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as raised:
        explore(lambda fake: None, **arguments)

    assert len(str(raised.value)) < 600


@pytest.mark.parametrize("steps", [None, "send_text()", [], (1,)], ids=repr)
def test_a_script_is_made_of_verbs(steps: Any) -> None:
    with pytest.raises(TypeError, match="steps: expected calls"):
        Script(steps)


def test_only_a_script_follows_a_script() -> None:
    assert Script() == Script() + Script()
    with pytest.raises(TypeError, match="unsupported operand"):
        Script() + "send_text()"  # type: ignore[operator]


def test_a_script_at_random_has_an_end() -> None:
    with pytest.raises(ValueError, match="most must be from 1 to 1000000, not <int without a repr"):
        scripts(most=HUGE)
