"""Scripts: a message's verbs that are scheduled with ``after()``.

A scheduled verb is data, with its line in the test. When it is due, it is performed like any other
verb. If it is illegal by then, the rest of the message's script is cancelled, and the call that
moved time raises the error.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..base.calling_line import Line
from ..base.errors import ChatFakeError, ClockError, NotAwaited
from ..base.views import counted
from ..domain.instants import stamp
from ..domain.messages import MessageState
from ..domain.schedule import DueKind
from ..domain.verbs import PHONE_VERBS
from ..engine.due_runner import LAST
from ..engine.engine import Engine
from ..engine.executor import Executor, OtherVerb, Verb
from ..webhooks.fake_state import FakeState


@dataclass(slots=True, eq=False)
class ScheduledVerb:
    """A verb that happens later."""

    verb: Verb
    message: MessageState
    what: str  # as the test wrote it
    line: Line  # of the call in the test
    key: int = 0  # cancels it in the schedule

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
        engine.perform(_After(message, self), "after()")

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
        self._engine.perform(_Schedule(self.message, self, verb), what)


# The verbs of scripts


@dataclass(frozen=True, slots=True)
class _After(OtherVerb):
    message: MessageState
    later: Later

    def execute(self, _: Executor, state: FakeState, what: str, line: Line, now: int, /) -> None:
        later = self.later
        state.account.check_current(self.message)
        earlier = later.earlier
        moment = (now if earlier is None else earlier.moment) + later.delay
        if moment > LAST:
            raise ClockError(f"{what} can't schedule past {stamp(LAST)}, where the calendar ends")
        later._moment = moment
        state.unused[later] = "`after(60).deliver()`", line
        state.unused.pop(earlier, None)


@dataclass(frozen=True, slots=True)
class _Schedule(OtherVerb):
    message: MessageState
    later: Later
    verb: Verb

    def execute(self, _: Executor, state: FakeState, what: str, line: Line, now: int, /) -> None:
        message, moment = self.message, self.later.moment
        state.account.check_current(message)
        if moment < now:
            raise ClockError(
                f"can't schedule {what} for {stamp(moment)}: it is already {stamp(now)}. "
                f"Call after() again; it counts from now."
            )
        state.unused.pop(self.later, None)
        for watcher in state.watchers:
            watcher.leave(message)
        step = ScheduledVerb(self.verb, message, what, line)
        step.key = state.schedule.add(moment, "step", step)
        message.script = message.script or {}
        message.script[step.key] = isinstance(self.verb, PHONE_VERBS)


@dataclass(frozen=True, slots=True)
class Cancel(OtherVerb):
    """The script of a message is cancelled."""

    message: MessageState

    def execute(self, _: Executor, state: FakeState, /, *__: object) -> None:
        state.account.check_current(self.message)
        _drop(self.message, state)


def _drop(message: MessageState, state: FakeState) -> None:
    for key in message.script or ():
        state.schedule.cancel(key)
    message.script = None
    for it in [it for it in state.unused if isinstance(it, Later) and it.message is message]:
        del state.unused[it]


# When it is due: the lock is held


def run_scheduled(engine: Engine, at: int, step: ScheduledVerb) -> None:
    """Perform a scheduled verb; if it can't be performed, drop the rest of the script."""
    message = step.message
    assert message.script is not None  # cancelling a script cancels its steps
    del message.script[step.key]
    try:
        engine.executor.execute(step.verb, step.what, step.line, at)
    except Exception as error:
        left = len(message.script or ())
        _drop(message, engine.state)
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
