"""Chaos with a seed: the same seed, the same run, and a failure that names both."""

# Asserts read `expected == actual`.

from datetime import timedelta

import pytest

from .fakes import fake_with_receiver, played

EVERYTHING = {"duplicate": 0.2, "lose_response": 0.2, "reorder": 0.2, "refuse": 0.2, "delay": 5}


def campaign(seed, mode="sync", **chances):
    """What an app gets of thirty messages, and what went wrong."""

    async def scenario(fake, do):
        receiver = fake.webhooks.receiver()
        chaos = fake.webhooks.chaos(seed=seed, **chances)
        for number in range(30):
            await do(fake.send_text(to=f"+{number}").deliver())
        await do(fake.settle())
        await do(fake.clock.advance(minutes=1))
        return [request.id for request in receiver.requests], chaos.happened

    return played(mode, scenario)


@pytest.mark.parametrize("seed", [1, "friday"])
def test_the_same_seed_gives_the_same_run_in_both_modes(seed):
    first = campaign(seed, **EVERYTHING)
    assert first == campaign(seed, **EVERYTHING) == campaign(seed, "async", **EVERYTHING)
    assert len(first[1]) > 20


def test_another_seed_gives_another_run():
    assert campaign(1, **EVERYTHING) != campaign(2, **EVERYTHING)


def test_nothing_is_lost_for_good():
    got, happened = campaign(3, **EVERYTHING)
    assert 60 == len(set(got)) < len(got)
    kinds = {text.partition("(")[0] for text in happened}
    assert {"duplicate", "lose_response", "reorder", "refuse", "delay"} == kinds


@pytest.mark.parametrize("seed", range(4))
def test_a_repeat_that_happened_comes_at_the_next_barrier(fake, receiver, seed):
    chaos = fake.webhooks.chaos(seed=seed, duplicate=1)
    message = fake.send_text()
    fake.settle()
    assert ["sent", "sent"] == receiver.statuses(message)
    assert 1 == len(chaos.happened)


def test_one_likelihood_does_not_change_the_luck_of_another():
    alone = campaign(4, duplicate=0.3)[1]
    beside = campaign(4, duplicate=0.3, reorder=0.3)[1]
    assert set(alone) <= set(beside)
    assert 3 < len(alone) < len(beside)


@pytest.mark.parametrize(
    ("chances", "faults"),
    [
        ({"refuse": 1}, {"refuse()"}),
        ({"lose_response": 1}, {"lose_response()"}),
        ({"duplicate": 1}, {f"duplicate(after={steps})" for steps in range(4)}),
        ({"reorder": 1}, {f"reorder(by={steps})" for steps in range(1, 4)}),
    ],
)
def test_what_is_certain_happens_to_every_event(chances, faults):
    happened = campaign(1, **chances)[1]
    assert 60 == len(happened)
    assert faults == {text.partition(" at ")[0] for text in happened}


def test_a_delay_is_of_whole_seconds_and_shorter_than_the_longest():
    with fake_with_receiver() as (fake, _):
        chaos = fake.webhooks.chaos(seed=1, delay=3)
        assert "chaos(seed=1, delay=3)" == chaos.description
        for number in range(30):
            fake.send_text(to=f"+{number}")
        fake.clock.advance(seconds=2)
        moments = {one.at - one.event.create_time for one in fake.webhooks.attempts}
        assert {timedelta(seconds=seconds) for seconds in (0, 1, 2)} == moments
        assert {"delay(1)", "delay(2)"} == {text.partition(" at ")[0] for text in chaos.happened}


def test_an_attempt_that_another_fault_has_taken_is_left_to_it():
    with fake_with_receiver() as (fake, _):
        fake.webhooks.refuse()
        chaos = fake.webhooks.chaos(seed=1, refuse=1)
        fake.send_text().deliver()
        assert ["refuse() at delivered"] == [text.partition(" of ")[0] for text in chaos.happened]
        fake.settle()


def test_an_error_that_leaves_the_block_names_the_seed_and_what_went_wrong():
    with fake_with_receiver() as (fake, _):
        with pytest.raises(AssertionError) as caught, fake.webhooks.chaos(seed=7, duplicate=1):
            fake.send_text()
            fake.settle()
            raise AssertionError("the books differ")
        (note,) = caught.value.__notes__
        assert note.startswith("chaos(seed=7, duplicate=1), fired 1 time:\n  duplicate(after=")
        assert f"at sent of message {fake.messages[0].id}" in note


def test_a_block_that_ends_well_has_nothing_to_say_and_no_more_goes_wrong(fake, receiver):
    with fake.webhooks.chaos(seed=7, refuse=1) as chaos:
        fake.send_text()
    fake.send_text()
    assert 1 == chaos.fired == len(receiver.requests)
    fake.settle()


def test_the_timeline_of_a_failure_names_the_seed():
    with fake_with_receiver() as (fake, _):
        fake.webhooks.chaos(seed="friday", refuse=1)
        fake.send_text()
        fake.settle()
        assert "chaos(seed='friday', refuse=1)" in str(fake.timeline)
        assert "[chaos: refuse(): test_chaos.py:" in str(fake.timeline)


def test_chaos_without_a_likelihood_is_refused(fake):
    with pytest.raises(ValueError, match="chaos"):
        fake.webhooks.chaos(seed=1)


def test_chaos_meets_what_is_released_from_a_pause(fake, receiver):
    chaos = fake.webhooks.chaos(seed=1, refuse=1)
    with fake.webhooks.paused():
        fake.send_text()
    assert (1, 0) == (chaos.fired, len(receiver.requests))
    fake.settle()
