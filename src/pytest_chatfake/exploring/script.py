"""Scripts: the calls of a test as data, which can be drawn, played, and printed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from ..base.arguments import cited, unexpected
from ..engine.performer import Pending
from ..fake.fake import ChatFake
from ..webhooks.faults import Fault


class Call(NamedTuple):
    """A call, as a test writes it.

    Attributes:
        function: A dotted name that begins with ``chat_fake`` or a message's name.
        arguments: The arguments, by name.
        result: The name of the result; empty: none.
    """

    function: str
    arguments: tuple[tuple[str, object], ...] = ()
    result: str = ""

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments)
        call = f"{self.function}({arguments})"
        return f"{self.result} = {call}" if self.result else call

    def make(self, names: dict[str, Any]) -> Any:
        """Make the call, and keep the result under its name.

        Args:
            names: What names stand for.
        """
        first, _, path = self.function.partition(".")
        result = attrgetter(path)(names[first])(**dict(self.arguments))
        if self.result:
            names[self.result] = result
        return result


@dataclass(frozen=True, repr=False)
class Script:
    """Calls of a test, one after another; its text is the lines of that test.

    Attributes:
        steps: The calls.
    """

    steps: tuple[Call, ...] = ()

    def __post_init__(self) -> None:
        steps: object = self.steps
        if not isinstance(steps, tuple) or not all(isinstance(one, Call) for one in self.steps):
            raise TypeError(
                f"steps: expected calls of a script, got {cited(steps)}. scripts() makes scripts, "
                f"and + puts one after another"
            )

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))

    def __repr__(self) -> str:
        lines = "".join(f"    {step}\n" for step in self.steps)
        return f"<Script\n{lines}>" if lines else "<Script of nothing>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - Hypothesis asks so
        """Print it for Hypothesis, which would show the fields otherwise."""
        for number, line in enumerate(repr(self).splitlines()):
            if number:
                printer.break_()
            printer.text(line)

    def __len__(self) -> int:
        return len(self.steps)

    def __add__(self, other: Script) -> Script:
        added: object = other
        return Script(self.steps + other.steps) if isinstance(added, Script) else NotImplemented


def play(chat_fake: ChatFake, script: Script) -> Pending[None]:
    """Make the calls of a script, and settle at its end.

    Its deviations are over at the end, whether they happened or not.

    Args:
        chat_fake: The fake.
        script: The script, as :func:`scripts` makes them.

    Returns:
        Something to ``await`` in async mode.

    Raises:
        IllegalTransition: A call is not possible, because the fake's configuration is another one
            than the script was made for.
        Exception: What an app in process raised.
    """
    for given, kind in ((chat_fake, ChatFake), (script, Script)):
        if not isinstance(given, kind):
            raise TypeError(unexpected("play(chat_fake, script)", f"a {kind.__name__}", given))
    return chat_fake._engine.check("play()", partial(_play, chat_fake, script))


async def _play(chat_fake: ChatFake, script: Script) -> None:
    engine = chat_fake._engine
    names: dict[str, Any] = {"chat_fake": chat_fake}
    faults: list[Fault] = []
    try:
        for step in script.steps:
            result = step.make(names)
            if isinstance(result, Fault):
                faults.append(result)
            else:
                await engine.performed(result)
        await engine.performed(chat_fake.settle())
    finally:
        for fault in faults:
            fault.remove()
            if not fault.fired:  # nobody misses it
                engine.outbox.faults.ever.remove(fault)
