"""The Hypothesis kit: people, messages and scripts at random, played, and days that go wrong."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    IllegalTransition,
    Script,
    bad_days,
    messages,
    play,
    recipients,
    scripts,
)
from pytest_chatfake.exploring.playing import Stage, Step

from .fakes import frozen_fake

QUICK = settings(
    max_examples=30,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
FIND = settings(
    max_examples=300,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[*HealthCheck],
)

SEND = Step("chat_fake.send_text", (("body", "Hello"), ("to", "+4915550001")), "m1")


class LastStatus:
    """An app with a bug: the last event counts."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def __call__(self, request: Any) -> None:
        message = request.json()["chatMessage"]
        self.known[message["id"]] = message["status"]

    def agrees(self, fake: ChatFake) -> bool:
        return self.known == {message.id: message.status for message in fake.messages}


def agrees_after(script: Script) -> bool:
    with frozen_fake() as fake:
        app = LastStatus()
        fake.webhooks.connect(handler=app)
        play(fake, script)
        return app.agrees(fake)


# -- what is made up -------------------------------------------------------------------------------


@QUICK
@given(recipients())
def test_people_are_arguments_of_recipient(recipient: dict[str, Any]) -> None:
    with ChatFake() as fake:
        person = fake.recipient(**recipient)

        assert recipient == {name: getattr(person, name) for name in recipient}


@QUICK
@given(messages(addresses=["+1"]))
def test_messages_are_arguments_of_send_text(message: dict[str, Any]) -> None:
    with ChatFake() as fake:
        fake.send_text(**message)

        assert ["+1"] == [one.to for one in fake.messages]


@QUICK
@given(scripts(most=8))
def test_every_verb_of_a_script_is_possible(script: Script) -> None:
    with frozen_fake() as fake:
        play(fake, script)

    assert len(script) <= 16  # a rejection is two


@QUICK
@given(bad_days(), scripts())
def test_an_app_that_keeps_what_it_has_seen_survives_a_bad_day(day: Script, script: Script) -> None:
    with frozen_fake() as fake:
        seen: set[str] = set()
        fake.webhooks.connect(handler=lambda request: seen.add(request.id))
        play(fake, day + script)

        assert {event.id for event in fake.events} == seen


def test_scripts_and_days_have_every_verb_and_every_deviation() -> None:
    text: list[str] = []

    @settings(QUICK, max_examples=150)
    @given(bad_days(), scripts())
    def collect(day: Script, script: Script) -> None:
        text.append(f"{day}\n{script}")

    collect()

    for verb in ["send_text", "deliver", "read", "m1.fail", "reject", "recipient", "advance"]:
        assert f"{verb}(" in "\n".join(text)
    for verb in ["duplicate", "reorder", "lose_response", "refuse"]:
        assert f"webhooks.{verb}(" in "\n".join(text)


def test_a_bad_day_is_found_that_breaks_an_app() -> None:
    day, script = find(
        st.tuples(bad_days(), scripts()),
        lambda found: not agrees_after(found[0] + found[1]),
        settings=FIND,
    )

    assert len(day) >= 1
    assert not agrees_after(day + script)
    assert agrees_after(script)


def test_hypothesis_prints_a_script_as_the_lines_of_a_test() -> None:
    @settings(QUICK, phases=[Phase.generate, Phase.shrink])
    @given(day=bad_days(), script=scripts(most=2))
    def fails(day: Script, script: Script) -> None:
        assert ".send_text(" not in str(script)

    with pytest.raises(AssertionError) as failure:
        fails()
    printed = "\n".join(failure.value.__notes__)
    assert "    day=<Script of nothing>" in printed
    line = "        m1 = chat_fake.send_text(body='Hello', to='+4915550001')"
    assert f"    script=<Script\n{line}\n    >" in printed


def test_no_script_breaks_it_on_a_good_day() -> None:
    with pytest.raises(NoSuchExample):
        find(scripts(), lambda script: not agrees_after(script), settings=QUICK)


def test_a_script_is_made_for_a_configuration() -> None:
    config = ChatFakeConfig(
        opening_balance="0",
        on_insufficient_balance="fail",
        api_key="a-key-that-is-in-use",
        webhook_url="http://192.0.2.1/",
    )

    @settings(QUICK, max_examples=30)
    @given(scripts(config=config))
    def nothing_is_delivered(script: Script) -> None:
        assert ".deliver(" not in str(script)

    with ChatFake(api_key="a-key-that-is-in-use"):
        nothing_is_delivered()


# -- what is played --------------------------------------------------------------------------------


def test_a_script_reads_as_a_test_does() -> None:
    script = Script((SEND,)) + Script(
        (Step("m1.deliver", (("devices", 2),)), Step("chat_fake.settle"))
    )

    assert (
        "m1 = chat_fake.send_text(body='Hello', to='+4915550001')\n"
        "m1.deliver(devices=2)\n"
        "chat_fake.settle()"
    ) == str(script)
    assert "<Script\n    m1.read()\n>" == repr(Script((Step("m1.read"),)))
    assert "<Script of nothing>" == repr(Script())
    assert 3 == len(script)


def test_playing_does_what_it_says_and_cites_the_line_of_the_test() -> None:
    with frozen_fake() as fake:
        receiver = fake.webhooks.receiver()
        play(fake, Script((SEND, Step("m1.deliver", (("devices", 2),)))))

        (message,) = fake.messages
        assert ["sent", "delivered", "delivered"] == receiver.statuses(message)
        assert "test_scripts_at_random.py" in str(fake.events[0].line)


def test_deviations_end_with_the_play_and_are_not_missed() -> None:
    day = Script(
        (
            Step("chat_fake.webhooks.duplicate", (("after", 0), ("start", 1))),
            Step("chat_fake.webhooks.reorder", (("by", 1), ("start", 2))),
        )
    )
    with frozen_fake() as fake:
        receiver = fake.webhooks.receiver()
        play(fake, day + Script((SEND,)))
        fake.send_text()
        fake.settle()

        assert 3 == len(receiver.events)
    # and no warning that one of them never fired: it would fail this test


def test_a_play_is_awaited_in_async_mode() -> None:
    day = Script((Step("chat_fake.webhooks.reorder", (("by", 1), ("start", 9))),))

    async def scenario() -> list[str]:
        with frozen_fake(mode="async") as fake:
            receiver = fake.webhooks.receiver()
            await play(fake, day + Script((SEND, Step("m1.read"))))
            return [str(event.status) for event in receiver.events]

    assert ["sent", "read"] == asyncio.run(scenario())


def test_a_verb_that_is_not_possible_is_refused() -> None:
    script = Script((SEND, Step("m1.fail"), Step("m1.read")))
    with frozen_fake() as fake, pytest.raises(IllegalTransition):
        play(fake, script)


# -- bad input, and without Hypothesis -------------------------------------------------------------


def test_an_apps_own_value_error_is_no_impossible_verb() -> None:
    def app(request: Any) -> None:
        raise ValueError("of the app")

    with frozen_fake() as fake:
        fake.webhooks.connect(handler=app)
        stage = Stage(fake)
        with pytest.raises(ValueError, match="of the app"):
            stage.send({"body": "Hello"})

        assert ["m1 = chat_fake.send_text(body='Hello')"] == stage.lines()


def test_bad_arguments_are_refused() -> None:
    with frozen_fake() as fake, pytest.raises(TypeError, match=r"play\(\) takes a script, as"):
        play(fake, ["m1.read()"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="most must be from 1 to 1000000, not 0"):
        scripts(most=0)
    with pytest.raises(ValueError, match="most must be from 1 to 1000000, not 0"):
        bad_days(most=0)
    with pytest.raises(ValueError, match="attempts must be from 1 to 1000000, not 0"):
        bad_days(attempts=0)
    with pytest.raises(TypeError, match="addresses must be a list of texts such as"):
        messages(addresses="+4915550001")
    with pytest.raises(ValueError, match="addresses must not be empty: nobody would get a message"):
        recipients(addresses=[])
    for strategy in (recipients, messages, scripts):
        with pytest.raises(ValueError, match="an address must not be empty"):
            strategy(addresses=[""])
        with pytest.raises(TypeError, match="an address must be text, not int 1"):
            strategy(addresses=["+1", 1])
    with pytest.raises(TypeError, match=r"play\(\) takes a fake and a script, .* is None"):
        play(None, Script())  # type: ignore[arg-type]


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "pytest_chatfake.exploring.kit")

    with pytest.raises(ImportError, match=r"pip install 'pytest-chatfake\[hypothesis\]'"):
        importlib.import_module("pytest_chatfake.exploring.kit")


def test_a_star_import_and_a_look_at_all_names_need_no_hypothesis() -> None:
    code = (
        "import inspect, sys; sys.modules['hypothesis'] = None\n"
        "import pytest_chatfake; inspect.getmembers(pytest_chatfake)\n"
        "from pytest_chatfake import *\n"
        "print(play.__name__, 'ChatFakeMachine' in dir())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert "play False\n" == done.stdout


def test_in_async_mode_people_change_when_it_is_their_turn() -> None:
    script = Script(
        (
            Step("chat_fake.send_text", (("to", "+1"),), "m1"),
            Step("m1.deliver"),
            Step("chat_fake.recipient", (("address", "+1"), ("online", False))),
            Step("chat_fake.send_text", (("to", "+1"),), "m2"),
            Step("chat_fake.recipient", (("address", "+1"), ("online", True))),
        )
    )

    async def main() -> list[str]:
        with ChatFake(mode="async") as fake:
            await play(fake, script)
            return [message.status for message in fake.messages]

    assert ["delivered", "delivered"] == asyncio.run(main())
    with ChatFake() as fake:
        play(fake, script)
        assert ["delivered", "delivered"] == [message.status for message in fake.messages]
