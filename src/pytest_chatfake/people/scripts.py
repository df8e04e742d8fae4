"""Scripts in time: verbs of a message that are laid on the clock, and happen when it gets there.

A laid step is data in the schedule: a verb, with the line that wrote it. It is performed as any
other verb, in its turn among all that falls due. One that proves illegal drops the rest of its
message's script, and fails the test at the move of time that came upon it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from ..base.calling_line import Line
from ..base.errors import ChatFakeError, ClockError
from ..domain.facts import Verb
from ..domain.instants import stamp
from ..domain.messages import MessageState
from ..engine.agenda import LAST
from ..engine.engine import Engine
from .autopilot import Autopilots


@dataclass(slots=True, eq=False)
class Step:
    """A verb that is laid on the clock."""

    verb: Verb
    what: str  # as the test wrote it
    line: Line  # where the test wrote it
    key: int = 0  # what cancels it in the schedule

    @property
    def message(self) -> MessageState:
        """The message that it is about."""
        return cast("MessageState", self.verb.message)

    def does(self, _: int) -> str:
        """Return the name of the verb that is due."""
        return self.verb.name

    def reason(self, _: int) -> str:
        """Why something is due, as a sentence that ends with the line."""
        return f"{self.what} of message {self.message.id} happens, laid"


class Later:
    """A moment in the script of a message; verbs are laid on it.

    Args:
        engine: The fake's engine.
        message: The message.
        earlier: The moment that it counts from; None: the present, when it is performed.
        length: How long after that it is, in nanoseconds.

    Attributes:
        moment: When it is, in nanoseconds; None before it is performed.
        line: Where the test wrote it.
    """

    __slots__ = ("_engine", "earlier", "length", "line", "message", "moment")

    def __init__(
        self, engine: Engine, message: MessageState, earlier: Later | None, length: int
    ) -> None:
        self._engine = engine
        self.message: MessageState = message
        self.earlier: Later | None = earlier
        self.length: int = length
        self.moment: int | None = None
        self.line: Line | None = None
        engine.perform(Verb("after", message, (self,)), "after()")

    def perform(self, verb: Verb, what: str) -> None:
        """Lay a verb on this moment; the engine does the same for the present."""
        self._engine.perform(Verb("lay", verb.message, (self, verb)), what)


class Scripts:
    """The scripts of one fake.

    Args:
        engine: The fake's engine; it is told how to lay steps, and how to perform them.
        autopilots: Leave messages alone that have a script.
    """

    def __init__(self, engine: Engine, autopilots: Autopilots) -> None:
        self._engine = engine
        self._autopilots = autopilots
        self._idle: dict[Later, None] = {}  # a set that keeps its order
        engine.changes.apart |= {"after": self._count, "lay": self._lay, "cancel": self._cancel}
        engine.changes.runs["step"] = self._run

    def idle(self) -> Iterator[Line]:
        """Give the lines of each ``after()`` with nothing behind it."""
        return (later.line for later in self._idle if later.line is not None)

    def forget(self) -> None:
        """Forget them; the schedule forgets their steps."""
        self._idle.clear()

    # What a test writes: the lock is held

    def _count(self, verb: Verb, _what: str, line: Line, now: int) -> None:
        """Settle when a moment is."""
        (later,) = cast("tuple[Later]", verb.arguments)
        self._engine.account.refuse_stale(later.message)
        earlier = later.earlier
        moment = now if earlier is None or earlier.moment is None else earlier.moment
        moment += later.length
        if moment > LAST:
            raise ClockError(
                f"after() can't lay a script past {stamp(LAST)}, because the calendar ends"
            )
        later.moment = moment
        later.line = line
        self._idle[later] = None
        if earlier is not None:
            self._idle.pop(earlier, None)

    def _lay(self, verb: Verb, what: str, line: Line, now: int) -> None:
        later, laid = cast("tuple[Later, Verb]", verb.arguments)
        message, moment = later.message, later.moment
        self._engine.account.refuse_stale(message)
        assert moment is not None
        if moment < now:
            raise ClockError(
                f"{what} can't be laid at {stamp(moment)}: it is {stamp(now)}. Write after() "
                f"again, on the message that was sent; it counts from now."
            )
        self._idle.pop(later, None)
        self._autopilots.leave(message)
        self._plan(Step(laid, what, line), moment)

    def _plan(self, step: Step, at: int) -> None:
        step.key = self._engine.schedule.add(at, "step", step)
        message = step.message
        message.script = message.script or {}
        message.script[step.key] = step.verb.name

    def _cancel(self, verb: Verb, _what: str, _line: Line, _now: int) -> None:
        message = cast("MessageState", verb.message)
        self._engine.account.refuse_stale(message)
        self._drop(message)

    def _drop(self, message: MessageState) -> None:
        for key in message.script or ():
            self._engine.schedule.cancel(key)
        message.script = None
        for later in [later for later in self._idle if later.message is message]:
            del self._idle[later]

    # When time gets there: the lock is held

    def _run(self, at: int, step: Step) -> None:
        message = step.message
        assert message.script is not None  # whoever forgets it cancels its steps
        del message.script[step.key]
        try:
            self._engine.changes.make(step.verb, step.what, step.line, at)
        except Exception as error:
            left = len(message.script or ())
            self._drop(message)
            raise _named(error, step, at, left) from None
        except BaseException:  # an interrupt: it was taken out, and is due
            self._plan(step, at)
            raise


def _named(error: Exception, step: Step, at: int, left: int) -> Exception:
    """Say of an error which line wrote its step."""
    rest = f", and {left} more of this script {'is' if left == 1 else 'are'} dropped" * bool(left)
    where = f"{step.what} was laid for {stamp(at)} at {step.line}{rest}"
    if isinstance(error, ChatFakeError):
        return type(error)(f"{error} {where}.")
    error.add_note(where)
    return error
