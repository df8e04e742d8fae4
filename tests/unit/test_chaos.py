"""Chaos with a seed: the same seed, the same run, and a failure that names both."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from .fakes import fake_with_receiver, frozen_fake, visible_state

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake

EVERYTHING = {"duplicate": 0.2, "lose_response": 0.2, "reorder": 0.2, "refuse": 0.2, "delay": 5}


def campaign(seed: Any, mode: str = "sync", **chances: float) -> tuple[list[str], tuple[str, ...]]:
    """What an app gets of thirty messages, and what went wrong."""
    with frozen_fake(mode=mode) as fake:
        got: list[str] = []
        fake.webhooks.connect(handler=lambda request: got.append(f"{request.id}"))
        chaos = fake.webhooks.chaos(seed=seed, **chances)

        async def run() -> None:
            for number in range(30):
                await fake.send_text(to=f"+{number}").deliver()
            await fake.settle()
            await fake.clock.advance(minutes=1)

        if mode == "async":
            asyncio.run(run())
        else:
            for number in range(30):
                fake.send_text(to=f"+{number}").deliver()
            fake.settle()
            fake.clock.advance(minutes=1)
        return got, chaos.happened


@pytest.mark.parametrize("seed", [1, "friday"])
def test_the_same_seed_gives_the_same_run_in_both_modes(seed: Any) -> None:
    first = campaign(seed, **EVERYTHING)
    assert first == campaign(seed, **EVERYTHING) == campaign(seed, "async", **EVERYTHING)
    assert len(first[1]) > 20


def test_another_seed_gives_another_run() -> None:
    assert campaign(1, **EVERYTHING) != campaign(2, **EVERYTHING)


def test_nothing_is_lost_for_good() -> None:
    got, happened = campaign(3, **EVERYTHING)
    assert 60 == len(set(got)) < len(got)
    kinds = {text.partition("(")[0] for text in happened}
    assert {"duplicate", "lose_response", "reorder", "refuse", "delay"} == kinds


def test_one_likelihood_does_not_change_the_luck_of_another() -> None:
    alone = campaign(4, duplicate=0.3)[1]
    beside = campaign(4, duplicate=0.3, reorder=0.3)[1]
    assert set(alone) <= set(beside)
    assert 3 < len(alone) < len(beside)


@pytest.mark.parametrize("kind", ["duplicate", "lose_response", "reorder", "refuse"])
def test_what_is_certain_happens_to_every_event(kind: str) -> None:
    assert 60 == len(campaign(1, **{kind: 1})[1])


def test_an_error_that_leaves_the_block_names_the_seed_and_what_went_wrong() -> None:
    with fake_with_receiver() as (fake, _):
        with pytest.raises(AssertionError) as caught, fake.webhooks.chaos(seed=7, duplicate=1):
            fake.send_text()
            raise AssertionError("the books differ")
        (note,) = caught.value.__notes__
        assert note.startswith("chaos(seed=7, duplicate=1), fired 1 time:\n  duplicate(after=")
        assert f"at sent of message {fake.messages[0].id}" in note


def test_a_block_that_ends_well_has_nothing_to_say_and_no_more_goes_wrong() -> None:
    with fake_with_receiver() as (fake, receiver):
        with fake.webhooks.chaos(seed=7, refuse=1) as chaos:
            fake.send_text()
        fake.send_text()
        assert 1 == chaos.fired == len(receiver.requests)
        fake.settle()


def test_the_timeline_of_a_failure_names_the_seed() -> None:
    with fake_with_receiver() as (fake, _):
        fake.webhooks.chaos(seed="friday", refuse=1)
        fake.send_text()
        fake.settle()
        assert "chaos(seed='friday', refuse=1)" in str(fake.timeline)
        assert "[chaos: refuse(): test_chaos.py:" in str(fake.timeline)


@pytest.mark.parametrize(
    ("arguments", "error", "name"),
    [
        ({"seed": 1}, ValueError, "chaos"),
        ({"seed": None, "refuse": 1}, TypeError, "seed"),
        ({"seed": True, "refuse": 1}, TypeError, "seed"),
        ({"seed": 1, "refuse": 1.1}, ValueError, "refuse"),
        ({"seed": 1, "lose_response": -0.1}, ValueError, "lose_response"),
        ({"seed": 1, "reorder": "1"}, TypeError, "reorder"),
        ({"seed": 1, "duplicate": True}, TypeError, "duplicate"),
        ({"seed": 1, "duplicate": float("nan")}, ValueError, "duplicate"),
        ({"seed": 1, "delay": 0.5}, ValueError, "delay"),
    ],
)
def test_a_bad_argument_is_refused_and_changes_nothing(
    arguments: Any, error: Any, name: str
) -> None:
    with fake_with_receiver() as (fake, _):
        before = visible_state(fake)
        with pytest.raises(error, match=name):
            fake.webhooks.chaos(**arguments)
        assert before == visible_state(fake)


def in_a_pause(fake: ChatFake) -> None:
    with fake.webhooks.paused():
        fake.send_text()


def test_chaos_meets_what_is_released_from_a_pause() -> None:
    with fake_with_receiver() as (fake, receiver):
        chaos = fake.webhooks.chaos(seed=1, refuse=1)
        in_a_pause(fake)
        assert (1, 0) == (chaos.fired, len(receiver.requests))
        fake.settle()
