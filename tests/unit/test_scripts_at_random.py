"""Scripts at random: what is made up, what is played, and what goes wrong in it."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
import importlib
import re
import subprocess
import sys
import time
from random import Random

import pytest
import time_machine
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.vendor.pretty import pretty

from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    IllegalTransition,
    NotAwaited,
    Script,
    play,
    scripts,
)
from pytest_chatfake.exploring.script import Call

from .fakes import frozen_fake

QUICK = settings(
    max_examples=30,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
FIND = settings(QUICK, max_examples=300, phases=[Phase.generate])

SEND = Call("chat_fake.send_text", (("body", "Hello"), ("to", "+4915550001")), "m1")
TWICE = Call("chat_fake.webhooks.duplicate", (("after", 0), ("start", 1)))
LATE = Call("chat_fake.webhooks.reorder", (("by", 1), ("start", 9)))


# -- what is made up -------------------------------------------------------------------------------


@QUICK
@given(scripts(most=8, deviations=3))
def test_every_call_is_possible_and_nothing_is_lost_for_good(script):
    with frozen_fake() as fake:
        seen = set()
        fake.webhooks.connect(handler=lambda request: seen.add(request.id))
        play(fake, script)

        assert {event.id for event in fake.events} == seen
    assert len(script) <= 19  # a rejection is two


def drawn(count, **options):
    made = []

    @settings(QUICK, max_examples=count)
    @given(scripts(**options))
    def collect(script):
        made.append(script)

    collect()
    return made


def test_scripts_have_every_call_and_every_deviation():
    made = drawn(150, deviations=3)
    calls = {re.sub(r"^m\d+\.", "", step.function) for script in made for step in script.steps}
    names = "send_text submit_text settle recipient clock.advance"
    wrong = "duplicate reorder lose_response refuse"
    assert {
        *(f"chat_fake.{name}" for name in names.split()),
        *(f"chat_fake.webhooks.{name}" for name in wrong.split()),
        *("deliver", "read", "fail", "reject"),
    } <= calls


def priced(script):
    """Play a script: the messages of its priced events, and what was charged."""
    with frozen_fake() as fake:
        play(fake, script)
        told = [one.json()["chatMessage"] for one in fake.events if one.status != "sent"]
        return [one for one in told if one["totalPrice"]], fake.balance.charged


def test_most_scripts_deliver_and_a_third_tells_a_price_twice():
    made = drawn(300)
    ids = [[message["id"] for message in priced(script)[0]] for script in made]

    assert all(made)
    assert sum(".deliver(" in str(script) or ".read(" in str(script) for script in made) >= 200
    assert sum(len({*one}) < len(one) for one in ids) >= 100


@pytest.mark.parametrize("number", range(3))
def test_an_app_that_adds_every_price_up_is_found_with_a_short_script(number):
    def is_wrong(script):
        told, charged = priced(script)
        return sum(message["totalPrice"] for message in told) != charged

    options = settings(QUICK, max_examples=50)
    assert len(find(scripts(), is_wrong, settings=options, random=Random(number))) in {2, 3}


@QUICK
@given(scripts(deviations=3))
def test_every_deviation_hits_an_event(script):
    with frozen_fake() as fake:
        fake.webhooks.connect(handler=lambda _: None)
        play(fake, script)

        wrong = [step for step in script.steps if ".webhooks." in step.function]
        assert len(wrong) == len(fake._engine.outbox.faults.ever)


def test_trying_a_script_out_moves_nobodys_time():
    with time_machine.travel(1_000_000_000, tick=False):
        find(scripts(), lambda script: ".advance(" in str(script), settings=FIND)
        assert 1_000_000_000 == time.time()


def test_hypothesis_prints_a_script_as_the_lines_of_a_test():
    @settings(QUICK, phases=[Phase.generate, Phase.shrink])
    @given(script=scripts(most=2), nothing=scripts(most=1))
    def fails(script, nothing):
        assert ".send_text(" not in str(script)

    with pytest.raises(AssertionError) as failure:
        fails()
    line = "        m1 = chat_fake.send_text(body='Hello', to='+4915550001')"
    assert f"    script=<Script\n{line}\n    >" in "\n".join(failure.value.__notes__)


def test_a_script_is_made_for_a_configuration():
    config = ChatFakeConfig(
        opening_balance="0",
        on_insufficient_balance="fail",
        api_key="a-key-that-is-in-use",
        webhook_url="http://192.0.2.1/",
    )

    @QUICK
    @given(scripts(config=config))
    def only_what_is_free_is_delivered(script):
        assert ".deliver(" not in str(script) or "price='0'" in str(script)

    with ChatFake(api_key="a-key-that-is-in-use"):
        only_what_is_free_is_delivered()


# -- what is played --------------------------------------------------------------------------------


def test_a_script_reads_as_a_test_does():
    script = Script((SEND,)) + Script((Call("m1.deliver", (("devices", 2),)),))

    assert (
        "m1 = chat_fake.send_text(body='Hello', to='+4915550001')\nm1.deliver(devices=2)"
    ) == str(script)
    assert "<Script\n    m1.read()\n>" == repr(Script((Call("m1.read"),)))
    assert "<Script of nothing>" == repr(Script()) == pretty(Script())
    assert 2 == len(script)


def test_deviations_end_with_the_play_and_are_not_missed(fake):
    receiver = fake.webhooks.receiver()
    play(fake, Script((TWICE, LATE, SEND, Call("m1.deliver", (("devices", 2),)))))
    (message,) = fake.messages
    assert ["sent", "sent", "delivered", "delivered"] == receiver.statuses(message)
    assert "test_scripts_at_random.py" in str(fake.events[0].line)

    fake.webhooks.connect(handler=lambda _: None)
    fake.send_text()
    assert 5 == len(receiver.events)
    # and no warning that one of them never fired: it would fail this test


def test_deviations_end_with_a_play_that_fails_too(fake):
    receiver = fake.webhooks.receiver()
    with pytest.raises(IllegalTransition):
        play(fake, Script((LATE, SEND, Call("m1.fail"), TWICE, Call("m1.read"))))
    fake.send_text()
    assert 3 == len(receiver.events)


def test_in_async_mode_each_call_has_its_turn():
    def online(value):
        return Call("chat_fake.recipient", (("address", "+4915550001"), ("online", value)))

    async def main():
        with frozen_fake(mode="async") as fake:
            fake.webhooks.receiver()
            await play(fake, Script((online(False), TWICE, SEND, online(True), LATE)))
            return [attempt.event.status for attempt in fake.webhooks.attempts]

    assert ["sent", "sent", "delivered"] == asyncio.run(main())


def test_a_play_that_is_never_awaited_fails_the_test():
    with pytest.raises(NotAwaited), ChatFake(mode="async") as fake:
        play(fake, Script((SEND,)))


# -- bad input, and without Hypothesis -------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"most": 0}, ValueError, "most"),
        ({"deviations": -1}, ValueError, "deviations"),
        ({"addresses": "+4915550001"}, TypeError, "addresses"),
        ({"addresses": []}, ValueError, "addresses"),
        ({"addresses": [""]}, ValueError, "an address"),
        ({"addresses": ["+1", 1]}, TypeError, "an address"),
    ],
)
def test_bad_options_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        scripts(**options)


def test_play_takes_a_fake_and_a_script():
    with pytest.raises(TypeError, match=r"play\(chat_fake, script\): expected a ChatFake, got"):
        play(None, Script())
    with ChatFake() as fake, pytest.raises(TypeError, match=r"expected a Script, got \['m1"):
        play(fake, ["m1.read()"])
    with pytest.raises(TypeError, match="steps: expected calls"):
        Script(["m1.read()"])


def test_without_hypothesis_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "pytest_chatfake.exploring.strategies")

    with pytest.raises(ImportError, match=r"pip install 'pytest-chatfake\[hypothesis\]'"):
        importlib.import_module("pytest_chatfake.exploring.strategies")


def test_a_star_import_and_a_look_at_all_names_need_no_hypothesis():
    code = (
        "import inspect, sys; sys.modules['hypothesis'] = None\n"
        "import pytest_chatfake; inspect.getmembers(pytest_chatfake)\n"
        "from pytest_chatfake import *\n"
        "print(play.__name__, 'scripts' in dir())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert "play False\n" == done.stdout
