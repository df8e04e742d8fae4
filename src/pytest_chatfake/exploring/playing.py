"""Scripts: verbs of a test as data, that can be made at random, played, and printed as lines."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, NamedTuple

from ..base.arguments import cited
from ..base.errors import IllegalTransition
from ..engine.engine import Engine
from ..engine.performer import PendingPlan
from ..engine.process_time import Journey
from ..fake.config import ChatFakeConfig, given_or_default
from ..fake.fake import ChatFake
from ..report import watching
from ..webhooks.faults import Fault

#: When what is made up here happens.
START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Step(NamedTuple):
    """A call, as a test writes it.

    Attributes:
        call: What is called, by a dotted name that begins with ``chat_fake`` or a message's name.
        arguments: The arguments, by name.
        name: The name of the result; empty: none.
    """

    call: str
    arguments: tuple[tuple[str, object], ...] = ()
    name: str = ""

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments)
        return f"{self.name} = {self.call}({given})" if self.name else f"{self.call}({given})"

    def perform(self, names: dict[str, Any]) -> Any:
        """Call it, and keep the result under its name.

        Args:
            names: What names stand for.
        """
        first, *path = self.call.split(".")
        thing = names[first]
        for part in path:
            thing = getattr(thing, part)
        result = thing(**dict(self.arguments))
        if self.name:
            names[self.name] = result
        return result


@dataclass(frozen=True, repr=False)
class Script:
    """Verbs of a test, one after another; its text is the lines of that test.

    Attributes:
        steps: The verbs.

    Raises:
        TypeError: ``steps`` is no tuple of verbs.
    """

    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        steps: object = self.steps
        if not isinstance(steps, tuple) or not all(isinstance(one, Step) for one in self.steps):
            raise TypeError(
                f"a script is made by scripts() or bad_days(), and two are put one after the other "
                f"with +; {cited(steps)} are no verbs"
            )

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))

    def __repr__(self) -> str:
        lines = "".join(f"    {step}\n" for step in self.steps)
        return f"<Script\n{lines}>" if lines else "<Script of nothing>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - Hypothesis asks so
        """Print it for Hypothesis, which would show the fields otherwise."""
        if not self.steps:
            printer.text(repr(self))
            return
        with printer.group(4, "<Script"):
            for step in self.steps:
                printer.break_()
                printer.text(str(step))
        printer.break_()
        printer.text(">")

    def __len__(self) -> int:
        return len(self.steps)

    def __add__(self, other: Script) -> Script:
        added: object = other
        return Script(self.steps + other.steps) if isinstance(added, Script) else NotImplemented


def play(chat_fake: ChatFake, script: Script) -> PendingPlan:
    """Do what a script says, and settle at its end.

    Deviations of a bad day are over at the end, whether they came to pass or not.

    Args:
        chat_fake: The fake.
        script: The script, as one of the strategies made it.

    Returns:
        Something to ``await`` in async mode.

    Raises:
        TypeError: It is no fake, or no script.
        IllegalTransition: A verb is not possible, because the fake's configuration is another one
            than the script was made for.
        Exception: What an app in process raised.
    """
    fake: object = chat_fake
    if not isinstance(fake, ChatFake):
        raise TypeError(
            f"play() takes a fake and a script, as in play(chat_fake, script): its first argument "
            f"is {cited(fake)}"
        )
    given: object = script
    if not isinstance(given, Script):
        raise TypeError(f"play() takes a script, as scripts() makes them, and not {cited(script)}")
    names: dict[str, Any] = {"chat_fake": chat_fake}
    faults: list[Fault] = []
    engine = chat_fake._engine
    for step in script.steps:
        if step.call == "chat_fake.recipient" and engine.mode == "async":
            # It acts at once, and what stands before it in the script waits for the `await`.
            engine.step("recipient()", partial(_described, step, names))
            continue
        result = step.perform(names)
        if isinstance(result, Fault):
            faults.append(result)
    engine.step("play()", lambda: _finished(engine))
    chat_fake.settle()
    return engine.step("play()", lambda: _over(engine, faults))


def _described(step: Step, names: dict[str, Any]) -> Iterator[None]:
    """A step: describe a person when it is their turn."""
    step.perform(names)
    yield


def _finished(engine: Engine) -> Iterator[None]:
    """A step: let no repeat wait for attempts that will not be made."""
    if engine.outbox.order is not None:
        engine.outbox.order.finish()
    return iter(())


def _over(engine: Engine, faults: Iterable[Fault]) -> Iterator[None]:
    """A step: end deviations; nobody misses those that never came to pass."""
    for fault in faults:
        fault.remove()
        if not fault.fired:
            engine.outbox.faults.ever.remove(fault)
    return iter(())


class Stage:
    """Where a script is made up: what is asked for is done if it is possible, and written down.

    Args:
        fake: The fake that it is done in.
    """

    def __init__(self, fake: ChatFake) -> None:
        self.steps: list[Step] = []
        self._fake = fake
        self._names: dict[str, Any] = {"chat_fake": fake}
        self._lines: list[tuple[str, Fault | None]] = []

    @property
    def open(self) -> list[str]:
        """The names of the messages to which something can happen."""
        return [
            name
            for name, message in self._names.items()
            if name != "chat_fake"
            and message.status in {"sent", "delivered"}
            and not message.dropped
        ]

    @property
    def holds_back(self) -> bool:
        """Whether an attempt waits for others, or for a barrier."""
        order = self._fake._engine.outbox.order
        return order is not None and bool(order.held)

    def send(self, message: dict[str, object]) -> None:
        """Send a message."""
        self.do(Step("chat_fake.send_text", tuple(message.items()), self._next_name()))

    def reject(self, message: dict[str, object]) -> None:
        """Submit a message that is rejected."""
        name = self._next_name()
        self.do(Step("chat_fake.submit_text", tuple(message.items()), name))
        self.do(Step(f"{name}.reject", (), name))

    def deliver(self, which: int, devices: int) -> None:
        """Deliver one of the messages."""
        self._happen(which, "deliver", ("devices", devices))

    def read(self, which: int) -> None:
        """Let one of the messages be read."""
        self._happen(which, "read")

    def fail(self, which: int) -> None:
        """Let one of the messages fail."""
        self._happen(which, "fail")

    def describe(self, recipient: dict[str, object]) -> None:
        """Describe a person."""
        self.do(Step("chat_fake.recipient", tuple(recipient.items())))

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.do(Step("chat_fake.clock.advance", (("seconds", seconds),)))

    def settle(self) -> None:
        """Come to a barrier."""
        self.do(Step("chat_fake.settle"))

    def _next_name(self) -> str:
        return f"m{len(self._fake.messages) + 1}"

    def _happen(self, which: int, verb: str, *arguments: tuple[str, object]) -> None:
        """Let something happen to one of the messages, if there is one and it can."""
        if names := self.open:
            self.do(Step(f"{names[which % len(names)]}.{verb}", arguments))

    def do(self, step: Step) -> None:
        """Do a step, and write it down unless it is not possible.

        Raises:
            Exception: What an app raised; the step is written down.
        """
        self.note(str(step))
        self.steps.append(step)
        try:
            result = step.perform(self._names)
        except (IllegalTransition, ValueError) as error:
            if getattr(error, "__notes__", ()):  # an app's own, and not the verb's
                raise
            self.steps.pop()
            self._lines.pop()
            return
        if isinstance(result, Fault):
            self._lines[-1] = (str(step), result)

    def note(self, line: str) -> None:
        """Write a line down."""
        self._lines.append((line, None))

    def lines(self) -> list[str]:
        """Return the lines of a test that does the same, but for faults that never fired."""
        return [line for line, fault in self._lines if fault is None or fault.fired]


@contextmanager
def rehearsal(config: ChatFakeConfig | None) -> Generator[Stage]:
    """Give a stage of its own, where nobody listens, at a moment of its own.

    Raises:
        ClockError: freezegun is active.
    """
    journey = Journey()
    journey.begin_on_top(START)
    try:
        fake = hidden_fake(config, webhook_url=None, api_key=None)
        try:
            yield Stage(fake)
        finally:
            fake._shut()
    finally:
        journey.end()


def hidden_fake(config: ChatFakeConfig | None, **fields: Any) -> ChatFake:
    """Return a fake whose story is nobody's, with ids that are the same every time."""
    fake = ChatFake(
        given_or_default(config).replace(**{"seed": "hypothesis", "mode": "sync"} | fields)
    )
    watching.dismiss(fake._story)
    return fake
