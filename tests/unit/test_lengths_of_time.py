"""Lengths of time that the calendar does not hold, or nearly."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pytest_chatfake import ChatFake

TOO_LONG: list[Any] = [timedelta.max, timedelta(days=36_001), 10**12]


@pytest.mark.parametrize(
    ("field", "length"),
    [
        ("conversation_length", timedelta.max),
        ("drop_after", timedelta(days=36_001)),
        ("timeout", 10**12),
    ],
)
def test_no_setting_takes_a_length_that_ends_outside_the_calendar(field: str, length: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{field}: expected at most timedelta\(days=36000\)"):
        ChatFake(**{field: length})


@pytest.mark.parametrize("length", TOO_LONG)
def test_neither_a_retry_nor_a_delay_is_planned_outside_the_calendar(length: Any) -> None:
    with pytest.raises(ValueError, match=r"^retry_after\[1\]: expected at most"):
        ChatFake(retry_after=[1, length])
    with ChatFake() as fake, pytest.raises(ValueError, match=r"^duration: expected at most"):
        fake.webhooks.delay(length)


def test_the_longest_lengths_are_still_within_the_calendar_in_the_farthest_year() -> None:
    longest = timedelta(days=36_000)
    with ChatFake(conversation_length=longest, drop_after=longest) as fake:
        fake.clock.move_to("9899-12-31T00:00:00Z")
        message = fake.send_text()

        assert "9998" == message.events[0].json()["chatMessage"]["conversation"]["expireTime"][:4]
        assert fake.clock.next_due is not None


@pytest.mark.parametrize("arguments", [{"days": 1e12}, {"days": float("inf")}])
def test_the_clock_refuses_to_advance_by_no_finite_length(arguments: dict[str, float]) -> None:
    with (
        ChatFake() as fake,
        pytest.raises(ValueError, match="expected a finite length of time"),
    ):
        fake.clock.advance(**arguments)
