"""Endpoints that are disabled after failed attempts in a row, and enabled again."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import ChatFakeError, HmacSigner, explore

from .fakes import NOON, frozen_fake, played, warnings_at_the_end

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_an_endpoint_is_disabled_by_so_many_failures_in_a_row_until_it_is_enabled(
    limit: int,
) -> None:
    steps = Random(limit).choices(["ok", "fail", "enable"], [3, 5, 1], k=200)
    with frozen_fake() as fake:
        status, in_a_row = 200, 0
        expected: list[int | None] = []
        endpoint = fake.webhooks.connect(handler=lambda _: status, disable_after=limit)
        beside = fake.webhooks.receiver()
        for step in steps:
            if step == "enable":
                endpoint.enable()
                in_a_row = 0
                continue
            status = 200 if step == "ok" else 500
            fake.send_text()
            if in_a_row >= limit:
                expected.append(None)
            else:
                expected.append(status)
                in_a_row = 0 if step == "ok" else in_a_row + 1
            assert (in_a_row == limit) == endpoint.disabled
        found = [one for one in fake.webhooks.attempts if one.endpoint is endpoint]
        assert expected == [one.status_code for one in found]
        assert len(expected) == len(beside.events)
        assert {None, 200, 500} == {*expected}


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_retries_count_and_those_of_a_disabled_endpoint_are_forgotten(mode: str) -> None:
    async def scenario(fake: ChatFake, do: Any) -> tuple[list[str], str]:
        hub, statuses = fake.webhooks, iter([500, 500, 500, 200])
        endpoint = hub.connect(
            handler=lambda _: next(statuses), retry_after=[10, 20, 30], disable_after=3
        )
        await do(fake.send_text())
        await do(fake.clock.advance(10))
        await do(fake.send_text().deliver())  # its first attempt is the third; its retry is due
        endpoint.enable()
        await do(fake.clock.advance(3_600))
        assert not endpoint.disabled
        await do(fake.send_text())
        return [one.outcome for one in hub.attempts], str(fake.timeline)

    outcomes, told = played(mode, scenario)
    assert [*["status 500"] * 3, "not attempted", "status 200"] == outcomes
    assert 1 == told.count("not attempted [endpoint disabled: test_disabled_endpoints.py:")


def test_what_was_not_attempted_is_no_failure_of_its_own() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(handler=lambda _: 500, disable_after=1)
        fake.webhooks.connect(handler=lambda _: None, events="*")
        fake.send_text().deliver().read()
        fake.webhooks.emit_event("a.b")

    (warning,) = warnings_at_the_end(scenario)
    assert warning.startswith("1 attempt failed")


def test_a_reset_enables_and_what_was_disconnected_stays_so() -> None:
    with frozen_fake() as fake:
        one, other = (
            fake.webhooks.connect(handler=lambda _: 500, disable_after=1) for _ in range(2)
        )
        fake.send_text()
        other.disconnect()
        other.enable()
        fake.send_text()
        assert [500, 500, None] == [attempt.status_code for attempt in fake.webhooks.attempts]
        fake.reset()
        fake.send_text()
        assert [(one, 500)] == [
            (attempt.endpoint, attempt.status_code) for attempt in fake.webhooks.attempts
        ]


def test_a_disabled_app_can_show_no_forgery() -> None:
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda _: 500, signer=HmacSigner("s"), disable_after=1)
        fake.send_text()
        assert fake.webhooks.attempts
        with pytest.raises(ChatFakeError, match="was not attempted"):
            fake.webhooks.assert_rejects_forgeries()


def test_an_exploration_expects_no_attempts_at_a_disabled_endpoint() -> None:
    missed = set()

    def body(fake: ChatFake) -> None:
        taken = []
        endpoint = fake.webhooks.connect(
            handler=lambda request: taken.append(request.id), retry_after=[10], disable_after=1
        )
        fake.send_text().deliver().read()
        fake.settle()
        fake.clock.advance(60)
        missed.add((endpoint.disabled, len({*taken}) < 3))

    assert explore(body, deviations=["refuse", "duplicate", "reorder"]).worlds > 10
    assert {(False, False), (True, True)} == missed


def test_what_is_not_attempted_does_not_count_for_a_repeat_that_waits_for_attempts() -> None:
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda _: 500, disable_after=1)
        other = fake.webhooks.receiver()
        fake.send_text()
        assert fake.webhooks.attempts
        fake.webhooks.duplicate(after=1, endpoint=other.endpoint)
        fake.send_text(to="+1")
        fake.send_text(to="+2")
        fake.settle()

        first, second, third = other.requests[1:]
        assert first.id == third.id != second.id


def test_nobody_waits_for_a_repeat_at_a_disabled_endpoint() -> None:
    with frozen_fake() as fake:
        statuses = iter([200, 500])
        fake.webhooks.connect(handler=lambda _: next(statuses), disable_after=1)
        fake.webhooks.duplicate(pause=60)
        fake.send_text().deliver()
        fake.settle()

        assert NOON == fake.clock.now
        assert 2 == len(fake.webhooks.attempts)


@pytest.mark.parametrize("bad", [0, -1, True, 1.5, "3"])
def test_a_bad_limit_is_refused(bad: Any) -> None:
    with frozen_fake() as fake:
        with pytest.raises((TypeError, ValueError), match="disable_after"):
            fake.webhooks.connect(handler=lambda _: None, disable_after=bad)
        assert 0 == len(fake.webhooks._outbox.endpoints)
