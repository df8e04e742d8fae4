"""Executes verbs and due work: changes the account, and emits events.

The caller holds the fake's lock. Everything that can fail comes before the first change, so a
verb happens as a whole or not at all. Its consequences (an open chat reads a delivered message)
follow immediately, at the same moment, with the same line and cause. By then, the verb has
happened, so its consequences can't be refused: if the ``extra=`` function fails for one of them,
the event is sent without the extra fields, and the error is raised after the last consequence.

``extra=`` and ``outbound=`` are functions of the test, so the lock is released while they run, and
another thread may change the account. So a verb is decided again after each of them, until nothing
is left to ask.

A delivery that ``webhooks_first(delivered=)`` has made before its response is *early*: the test's
later ``deliver()`` is counted against it, device by device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from ..base.calling_line import Line
from ..base.errors import IllegalTransition
from ..base.history import Record
from ..domain.facts import Fact
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..domain.schedule import DueKind
from ..domain.verbs import PHONE_VERBS, Deliver, MessageVerb
from ..webhooks.attempts import Attempt
from ..webhooks.core import Core
from ..webhooks.events import CustomEvent, Event
from ..webhooks.fake_state import FakeState
from .records import ClockRecord, DropRecord, VerbRecord

#: Returns extra fields for a message's event with this status, as JSON text.
ExtraFields: TypeAlias = Callable[[MessageState, str], str]


@dataclass(frozen=True, slots=True)
class OtherVerb(ABC):
    """A verb that needs no decision of the account.

    Attributes:
        message: The message whose ``await`` performs it; None if it is about no message.
    """

    message: MessageState | None

    @abstractmethod
    def execute(
        self, executor: Executor, state: FakeState, what: str, line: Line, now: int, /
    ) -> None:
        """Perform it, as a whole or not at all; the lock is held.

        Args:
            executor: The fake's executor.
            state: The fake's state, which it changes.
            what: The call, as the test wrote it.
            line: The line of that call.
            now: The moment, in nanoseconds since the epoch.
        """


#: Any verb.
Verb: TypeAlias = MessageVerb | OtherVerb


class Executor:
    """Executes the verbs and the due work of one fake.

    Attributes:
        core: What the parts of the fake share.
        extra_fields: Asks the ``extra=`` function, if there is one.
        due_handlers: Functions that run due work, by kind.
        move: The last clock move.
        ignored: The types of verbs that do nothing.
    """

    def __init__(self, core: Core[FakeState]) -> None:
        self.core = core
        self.extra_fields: ExtraFields | None = None
        self.move: ClockRecord | None = None
        self.ignored: tuple[type[Verb], ...] = ()
        self.due_handlers: dict[DueKind, Callable[[int, Any], None]] = {
            "attempt": self._queue_attempt,
            "drop": self._drop,
        }

    def execute(self, verb: Verb, what: str, line: Line, now: int) -> None:
        """Perform a verb and its consequences."""
        if isinstance(verb, self.ignored):
            return
        state = self.core.state
        now = state.outbox.later(now)
        if not isinstance(verb, MessageVerb):
            verb.execute(self, state, what, line, now)
            return
        message = verb.message
        if isinstance(verb, Deliver) and message in state.early:
            # All devices got it together with the first one.
            now = max(cast("int", message.delivered_at), now)
            facts, events = self._deliver_rest(state, verb, line, now)
        else:
            facts, events = self._decide(state, verb, line, now)
        by_person = isinstance(verb, PHONE_VERBS)
        record = self.note(what, line, message, now, is_by_person=by_person)
        self._apply(state, facts, events, record)
        if state.account.people or state.watchers:
            self.finish(state, facts, record)

    def _deliver_rest(
        self, state: FakeState, verb: Deliver, line: Line, now: int
    ) -> tuple[list[Fact], list[Event]]:
        message, rest, early = verb.message, verb.devices, state.early[verb.message]
        facts, events = list[Fact](), list[Event]()
        if rest is None:  # all that are left, without those that were early, but at least one
            rest = max(state.account.devices_left(message) + early, 1)
        rest -= early
        if rest > 0 and message.state != "read":  # by an autopilot
            facts, events = self._decide(state, replace(verb, devices=rest), line, now)
        if rest < 0:
            state.early[message] = -rest
        else:
            del state.early[message]
        return facts, events

    def _decide(
        self,
        state: FakeState,
        verb: MessageVerb,
        line: Line,
        now: int,
        errors: list[Exception] | None = None,
    ) -> tuple[list[Fact], list[Event]]:
        # All facts of a verb show the same status, so extra= is called once for it. While it runs,
        # the lock is released and another thread may change the account, so the verb is decided
        # again afterwards, and may lead to another status then; the same goes for outbound=. A
        # consequence (with `errors`) must happen, so an error of extra= is only collected, and one
        # of outbound= is left to the attempt.
        fields, asked = "", None
        try:
            while True:
                facts = state.account.decide(verb, now)
                if self.extra_fields is not None and facts and facts[0].what != asked:
                    asked = facts[0].what
                    fields = self._ask_extra(self.extra_fields, facts[0], errors)
                    continue
                events = state.outbox.write_facts(facts, fields, line)
                if not self._ask_outbound(state, events, errors):
                    return facts, events
        except BaseException:
            if verb.message.state == "submitted":
                verb.message.withdraw()
            raise

    def _ask_extra(self, ask: ExtraFields, fact: Fact, errors: list[Exception] | None) -> str:
        try:
            return ask(fact.message, fact.what)
        except Exception as error:
            if errors is None:
                raise
            errors.append(error)
            return ""

    def _ask_outbound(
        self, state: FakeState, events: Sequence[Event], errors: list[Exception] | None
    ) -> bool:
        # Returns whether it was called, and the lock released.
        try:
            return state.outbox.ask_outbound(events)
        except Exception:
            if errors is None:
                raise
            return False

    def _apply(
        self, state: FakeState, facts: Sequence[Fact], events: Sequence[Event], cause: Record
    ) -> None:
        for fact, event in zip(facts, events, strict=True):
            self._apply_fact(state, fact, cause)
            state.outbox.emit(event, cause)

    def _apply_fact(self, state: FakeState, fact: Fact, cause: Record) -> None:
        state.account.apply(fact)
        for entry in fact.entries:
            state.history.add(entry, cause)

    def finish(
        self, state: FakeState, facts: Sequence[Fact | PersonFact], cause: VerbRecord
    ) -> None:
        """Perform the consequences of facts, and show all of them to the watchers."""
        happened = [*facts]
        errors: list[Exception] = []
        if state.account.people:
            self._follow_up(state, facts, cause, happened, errors)
        self._show(state, happened)
        if errors:
            raise errors[0]

    def _follow_up(
        self,
        state: FakeState,
        facts: Sequence[Fact | PersonFact],
        cause: VerbRecord,
        happened: list[Fact | PersonFact],
        errors: list[Exception],
    ) -> None:
        # Performs what people do by themselves after each fact.
        for fact in facts:
            for verb in state.account.people.follow_ups(fact):
                if isinstance(verb, self.ignored):
                    continue
                at = state.outbox.later(fact.at)
                try:
                    consequences, events = self._decide(state, verb, cause.line, at, errors)
                except IllegalTransition:  # another thread was faster while extra= ran
                    continue
                self._apply(state, consequences, events, cause)
                happened += consequences
                self._follow_up(state, consequences, cause, happened, errors)

    def _show(self, state: FakeState, facts: Sequence[Fact | PersonFact]) -> None:
        for watcher in state.watchers:
            for fact in facts:
                watcher.watch(fact)

    def emit_custom(
        self,
        state: FakeState,
        custom: CustomEvent,
        subject: object,
        what: str,
        line: Line,
        now: int,
    ) -> None:
        """Emit an event that is about no message of the fake."""
        event = state.outbox.write_custom(custom, line, now)
        state.outbox.emit(event, self.note(what, line, subject, now))

    # Due work

    def _drop(self, at: int, message: MessageState) -> None:
        # The last clock move is the cause, unless other code has moved time further.
        cause = self.move if self.move is not None and at <= self.move.end else None
        state = self.core.state
        fact = state.account.dropped(message, at)
        self._apply_fact(state, fact, state.history.add(DropRecord(message, at), cause))
        self._show(state, [fact])

    def _queue_attempt(self, at: int, attempt: Attempt) -> None:
        self.core.state.queue.take_due(at, attempt)

    # Records

    def note(
        self, what: str, line: Line, subject: object, now: int, *, is_by_person: bool = False
    ) -> VerbRecord:
        """Record a verb, or a call of the test that only affects later events.

        If the caller is inside a request or an attempt, that is recorded as the cause.
        """
        cause: Record | None = None
        for scope in self.core.scopes.current():
            cause = scope if isinstance(scope, Record) else cause
        is_by_person = is_by_person or isinstance(subject, PersonFact)
        return self.core.state.history.add(
            VerbRecord(what, line, subject, now, is_by_person), cause
        )
