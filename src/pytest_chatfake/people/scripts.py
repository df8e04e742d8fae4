"""Scripts: a message's verbs that are scheduled with ``after()``.

A scheduled verb is data, with its line in the test. When it is due, it is performed like any other
verb. If it is illegal by then, the rest of the message's script is cancelled, and the call that
moved time raises the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ..base.calling_line import Line
from ..base.errors import ChatFakeError, ClockError, NotAwaited
from ..base.views import counted
from ..domain.facts import Verb
from ..domain.instants import stamp
from ..domain.messages import MessageState
from ..domain.schedule import DueKind
from ..engine.due_runner import LAST
from ..engine.engine import Engine
from .autopilot import Autopilots


@dataclass(slots=True, eq=False)
class ScheduledVerb:
    """A verb that happens later."""

    verb: Verb
    what: str  # as the test wrote it
    line: Line  # of the call in the test
    key: int = 0  # cancels it in the schedule

    @property
    def message(self) -> MessageState:
        return cast("MessageState", self.verb.message)

    def does(self, _: DueKind) -> str:
        return self.what.removesuffix("()")

    def reason(self, _: DueKind) -> str:
        """Return the agenda's sentence, without the line at its end."""
        return f"{self.what} of message {self.message.id}, scheduled"


class Later:
    """A moment in a message's script, at which verbs are scheduled."""

    __slots__ = ("_engine", "_moment", "delay", "earlier", "message")

    def __init__(
        self, engine: Engine, message: MessageState, earlier: Later | None, delay: int
    ) -> None:
        self._engine = engine
        self.message: MessageState = message
        self.earlier: Later | None = earlier
        self.delay: int = delay
        self._moment: int | None = None
        engine.perform(Verb("after", message, (self,)), "after()")

    @property
    def moment(self) -> int:
        """The moment in nanoseconds; NotAwaited if async mode never performed its ``after()``."""
        if self._moment is None:
            raise NotAwaited(
                "this handle's after() was skipped because an earlier await failed or was "
                "cancelled. Call after() again; it counts from now."
            )
        return self._moment

    def perform(self, verb: Verb, what: str) -> None:
        """Schedule a verb for this moment; an engine would perform it now."""
        self._engine.perform(Verb("schedule", verb.message, (self, verb)), what)


class Scripts:
    """The scripts of one fake."""

    def __init__(self, engine: Engine, autopilots: Autopilots) -> None:
        self._engine = engine
        self._autopilots = autopilots
        engine.executor.extra_verbs |= {
            "after": self._after,
            "schedule": self._schedule,
            "cancel": self._cancel,
        }
        engine.executor.due_handlers["step"] = self._run

    # Verbs: the lock is held

    def _after(self, verb: Verb, _what: str, line: Line, now: int) -> None:
        (later,) = cast("tuple[Later]", verb.arguments)
        self._engine.account.check_current(later.message)
        earlier = later.earlier
        moment = (now if earlier is None else earlier.moment) + later.delay
        if moment > LAST:
            raise ClockError(f"after() can't schedule past {stamp(LAST)}, where the calendar ends")
        later._moment = moment
        self._engine.idle[later] = "`after(60).deliver()`", line
        self._engine.idle.pop(earlier, None)

    def _schedule(self, verb: Verb, what: str, line: Line, now: int) -> None:
        later, scheduled = cast("tuple[Later, Verb]", verb.arguments)
        message, moment = later.message, later.moment
        self._engine.account.check_current(message)
        if moment < now:
            raise ClockError(
                f"can't schedule {what} for {stamp(moment)}: it is already {stamp(now)}. "
                f"Call after() again; it counts from now."
            )
        self._engine.idle.pop(later, None)
        self._autopilots.leave(message)
        step = ScheduledVerb(scheduled, what, line)
        step.key = self._engine.core.schedule.add(moment, "step", step)
        message.script = message.script or {}
        message.script[step.key] = scheduled.name

    def _cancel(self, verb: Verb, _what: str, _line: Line, _now: int) -> None:
        message = cast("MessageState", verb.message)
        self._engine.account.check_current(message)
        self._drop(message)

    def _drop(self, message: MessageState) -> None:
        for key in message.script or ():
            self._engine.core.schedule.cancel(key)
        message.script = None
        idle = self._engine.idle
        for it in [it for it in idle if isinstance(it, Later) and it.message is message]:
            del idle[it]

    # When it is due: the lock is held

    def _run(self, at: int, step: ScheduledVerb) -> None:
        message = step.message
        assert message.script is not None  # forgetting a script cancels its steps
        del message.script[step.key]
        try:
            self._engine.executor.execute(step.verb, step.what, step.line, at)
        except Exception as error:
            left = len(message.script or ())
            self._drop(message)
            raise _named(error, step, at, left) from None


def _named(error: Exception, step: ScheduledVerb, at: int, left: int) -> Exception:
    # Without the line that scheduled it, an error would only name the clock move.
    where = f"{step.what} was scheduled for {stamp(at)} at {step.line}"
    if left:
        where += f"; the rest of the script is cancelled ({counted(left, 'verb')})"
    if isinstance(error, ChatFakeError):
        return type(error)(f"{error} {where}.")
    error.add_note(where)
    return error
