"""``ChatFakeMachine``: any verb in any order, and a failure that is a test to paste."""

# Asserts read `expected == actual`.

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import time_machine
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from pytest_chatfake import ChatFake, ChatFakeConfig, ChatFakeMachine, UndeliveredWebhooks

from .fakes import frozen_fake

QUICK = settings(
    max_examples=200,
    stateful_step_count=12,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow],
)
FEW = settings(QUICK, max_examples=15)


class Prices:
    """An app with a bug: it adds prices up."""

    def __init__(self) -> None:
        self.spend = Decimal(0)

    def __call__(self, request: Any) -> None:
        message = request.event.json()["chatMessage"]
        if message["status"] in {"delivered", "read"}:
            self.spend += message["totalPrice"]


class PerMessage:
    """Its correct twin: one price for each message."""

    def __init__(self) -> None:
        self.prices: dict[str, Decimal] = {}

    def __call__(self, request: Any) -> None:
        message = request.event.json()["chatMessage"]
        if message["status"] in {"delivered", "read"}:
            self.prices[message["id"]] = message["totalPrice"]

    @property
    def spend(self) -> Decimal:
        return sum(self.prices.values(), Decimal(0))


class Books(ChatFakeMachine):
    app_of = PerMessage

    def connect(self, chat_fake: ChatFake) -> None:
        self.app = self.app_of()
        chat_fake.webhooks.connect(handler=self.app)

    @invariant()
    def the_books_agree(self) -> None:
        assert self.chat_fake.balance.charged == self.app.spend


class BadBooks(Books):
    app_of = Prices  # type: ignore[assignment]


class Impatient(ChatFakeMachine):
    """Its app raises when something comes twice."""

    config = ChatFakeConfig(price="0.10")

    def connect(self, chat_fake: ChatFake) -> None:
        seen: set[str] = set()

        def app(request: Any) -> None:
            assert request.id not in seen
            seen.add(request.id)

        chat_fake.webhooks.connect(handler=app)


def failure_of(machine: type[ChatFakeMachine], how: settings = QUICK) -> tuple[Exception, str]:
    """The error with which a machine fails, and the test that it tells."""
    with pytest.raises(AssertionError) as failure:
        run_state_machine_as_test(machine, settings=how)
    (note,) = [one for one in failure.value.__notes__ if one.startswith("As a test:\n\n")]
    return failure.value, note.removeprefix("As a test:\n\n")


def run_pasted(text: str, **names: Any) -> None:
    """Run a printed test."""
    space: dict[str, Any] = {}
    exec(text, names, space)
    config = names.get("config", ChatFakeConfig())
    with frozen_fake(**({} if config is None else {"price": config.price})) as fake:
        space["test_what_the_machine_found"](fake, fake.clock)


def test_a_correct_app_survives() -> None:
    run_state_machine_as_test(Books, settings=FEW)


def test_a_bug_is_found_and_told_as_the_shortest_test_that_fails_alike() -> None:
    error, text = failure_of(BadBooks)

    head, machine, *lines, check, end = text.split("\n")
    assert "def test_what_the_machine_found(chat_fake, chat_clock):" == head
    assert ("    machine = BadBooks(chat_fake)", "    machine.the_books_agree()") == (
        machine,
        check,
    )
    assert end == ""
    assert len(lines) <= 3
    with pytest.raises(AssertionError) as again:
        run_pasted(text, BadBooks=BadBooks)
    assert str(error).split("\n")[0] == str(again.value).split("\n")[0]


def test_what_an_app_raises_is_told_as_a_test_too() -> None:
    _, text = failure_of(Impatient)

    assert text.startswith("# With chat_fake_config: ChatFakeConfig(")
    assert ".webhooks." in text  # nothing comes twice by itself
    assert "machine.a" not in text
    with pytest.raises(AssertionError, match="assert 'evt_"):
        run_pasted(text, Impatient=Impatient, config=Impatient.config)


def test_faults_that_never_fired_are_not_told_and_lines_of_own_rules_are() -> None:
    machine = Books()
    try:
        machine.go_wrong(_deviation("reorder", by=1, start=5))
        machine.go_wrong(_deviation("duplicate", after=0, start=1))
        machine.send({"body": "Hello", "to": "+1"}, hurry=False)
        machine.note("machine.app.spend += 1")
        lines = machine._stage.lines()
    finally:
        machine.teardown()

    assert [
        "chat_fake.webhooks.duplicate(after=0, start=1)",
        "m1 = chat_fake.send_text(body='Hello', to='+1')",
        "machine.app.spend += 1",
    ] == lines


def _deviation(verb: str, **arguments: int) -> Any:
    from pytest_chatfake.exploring.playing import Step

    return Step(f"chat_fake.webhooks.{verb}", tuple(arguments.items()))


def test_invariants_wait_while_an_attempt_is_held_back() -> None:
    machine = Books()
    try:
        machine.go_wrong(_deviation("reorder", by=3, start=1))
        machine.send({"body": "1", "to": "+1"}, hurry=True)
        machine.check_invariants()  # asks nobody, so it misses no arguments
        assert "chat_fake.settle()" not in machine._stage.lines()

        machine.send({"body": "2", "to": "+1"}, hurry=False)
        with pytest.raises(TypeError, match="missing 3 required positional arguments"):
            machine.check_invariants()
        assert "chat_fake.settle()" == machine._stage.lines()[-1]
    finally:
        machine.teardown()


def test_a_rule_of_ones_own_that_fails_is_told_if_it_takes_nothing() -> None:
    class Own(Books):
        @rule()
        def it_breaks(self) -> None:
            raise AssertionError("broken")

    class Taking(Books):
        def breaks(self, number: int) -> None:
            raise AssertionError(f"broken {number}")

        @invariant()
        def fails(self) -> None:
            self.breaks(7)

    _, text = failure_of(Own, FEW)
    assert ["    machine = Own(chat_fake)", "    machine.it_breaks()"] == text.split("\n")[1:3]
    _, text = failure_of(Taking, FEW)
    assert "    machine.fails()" == text.split("\n")[2]


def test_an_error_from_elsewhere_names_no_check() -> None:
    machine = Books()
    try:
        raise RuntimeError("of nobody")
    except RuntimeError as error:
        machine.teardown()
        (note,) = error.__notes__
    assert note.endswith("    machine = Books(chat_fake)\n")


def test_what_is_no_failure_is_told_as_none() -> None:
    machine = Books()

    def ends() -> None:
        try:
            pytest.skip("not today")
        finally:
            machine.teardown()

    with pytest.raises(pytest.skip.Exception) as skip:
        ends()
    assert not hasattr(skip.value, "__notes__")


def test_what_a_route_raised_fails_the_run() -> None:
    machine = Books()
    machine.chat_fake._engine.errors.append(KeyError("in a route"))

    with pytest.raises(KeyError, match="in a route"):
        machine.teardown()


def test_time_begins_at_a_fixed_moment_and_is_given_back() -> None:
    machine = Books()
    begin = machine.chat_fake.clock.now.isoformat()
    machine.meanwhile(("wait", 86_400))
    day_after = machine.chat_fake.clock.now.isoformat()
    machine.teardown()

    assert ("2026-01-01T12:00:00+00:00", "2026-01-02T12:00:00+00:00") == (begin, day_after)
    assert [] == time_machine.traveller_stack


def test_a_machine_without_connect_says_what_to_write() -> None:
    class Nothing(ChatFakeMachine):
        pass

    with pytest.raises(NotImplementedError, match=r"Nothing needs a method connect\(self, chat_"):
        Nothing()
    assert [] == time_machine.traveller_stack


def test_a_configuration_that_is_none_leaves_nothing_behind() -> None:
    class Wrong(Books):
        config = ChatFakeConfig(api_key="a-key-that-is-in-use")

    with (
        ChatFake(api_key="a-key-that-is-in-use"),
        pytest.raises(ValueError, match="is running: give each its own"),
    ):
        Wrong()
    assert [] == time_machine.traveller_stack


def test_a_fake_that_is_given_stays_open() -> None:
    with frozen_fake() as fake:
        machine = Books(fake)
        machine.teardown()
        fake.send_text()

        assert 1 == len(fake.messages)


def test_a_note_is_a_text() -> None:
    machine = Books()
    try:
        with pytest.raises(ValueError, match="the line must not be empty"):
            machine.note("")
    finally:
        machine.teardown()


class Refuses(ChatFakeMachine):
    """Its app answers 500 to everything."""

    def connect(self, chat_fake: ChatFake) -> None:
        def app(environ: Any, start_response: Any) -> list[bytes]:
            start_response("500 Oops", [])
            return []

        chat_fake.webhooks.connect(wsgi=app)


class RefusesStrictly(Refuses):
    config = ChatFakeConfig(strict=True)


def test_a_failed_attempt_fails_a_strict_machine_only() -> None:
    run_state_machine_as_test(Refuses, settings=FEW)
    with pytest.raises(UndeliveredWebhooks, match="answered 500"):
        run_state_machine_as_test(RefusesStrictly, settings=FEW)


def test_what_a_deviation_did_to_an_attempt_is_not_the_apps() -> None:
    class Takes(ChatFakeMachine):
        config = ChatFakeConfig(strict=True)

        def connect(self, chat_fake: ChatFake) -> None:
            chat_fake.webhooks.connect(handler=lambda request: None)

    machine = Takes()
    machine.go_wrong(_deviation("refuse", start=1))
    machine.send({"body": "Hello", "to": "+1"}, hurry=False)
    assert not machine.chat_fake.webhooks.attempts[0].ok
    machine.teardown()


def test_a_configuration_that_is_none_is_refused() -> None:
    class Mistaken(Books):
        config: Any = "price"

    with pytest.raises(TypeError, match=r"config must be a ChatFakeConfig\(\.\.\.\), not"):
        Mistaken()


class AsyncConnect(Books):
    async def connect(self, chat_fake: ChatFake) -> None:  # type: ignore[override]
        raise AssertionError("never awaited")


class AsyncRule(Books):
    @rule()
    async def wait(self) -> None:
        raise AssertionError("never awaited")


class AsyncStart(Books):
    @initialize()
    async def start(self) -> None:
        raise AssertionError("never awaited")


class AsyncInvariant(Books):
    @invariant()
    async def agree(self) -> None:
        raise AssertionError("never awaited")


class AsyncConfig(Books):
    config = ChatFakeConfig(mode="async")


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (AsyncConnect, r"AsyncConnect.connect\(\) is `async def`: write `def`"),
        (AsyncRule, r"AsyncRule.wait\(\) is `async def`"),
        (AsyncStart, r"AsyncStart.start\(\) is `async def`"),
        (AsyncInvariant, r"AsyncInvariant.agree\(\) is `async def`"),
        (AsyncConfig, "a configuration in sync mode"),
        (lambda: Books(ChatFake(mode="async")), "give it a fake"),
    ],
)
def test_what_is_written_for_async_mode_is_refused(machine: Any, words: str) -> None:
    with pytest.raises(TypeError, match=f"ChatFakeMachine is for sync mode, .*{words}"):
        machine()


def test_a_helper_of_the_machine_may_be_async() -> None:
    class Helped(Books):
        async def fetch(self) -> None:
            raise AssertionError("not called")

    Helped().teardown()
