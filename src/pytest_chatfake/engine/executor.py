"""Executes verbs and due work: changes the account, and emits events.

The caller holds the engine's lock. Everything that can fail comes before the first change, so a
verb happens as a whole or not at all. Its consequences (an open chat reads a delivered message)
follow immediately, at the same moment, with the same line and cause. By then, the verb has
happened, so its consequences can't be refused: if the ``extra=`` function fails for one of them,
the event is sent without the extra fields, and the error is raised after the last consequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from ..base.arguments import cited
from ..base.calling_line import Line
from ..base.errors import IllegalTransition
from ..base.history import Record
from ..domain.account import Account
from ..domain.facts import Fact, Verb
from ..domain.messages import ARRIVALS, MessageState
from ..domain.people import PersonFact
from ..domain.schedule import DueKind
from ..webhooks.core import Core
from ..webhooks.events import CustomEvent, Event
from ..webhooks.outbox import Outbox
from .records import ClockRecord, DropRecord, VerbRecord

#: Returns extra fields for a message's event with this status, as JSON text.
FieldsOf: TypeAlias = Callable[[MessageState, str], str]

#: Executes one kind of verb; takes the verb, the call as written, its line, and the moment.
VerbFunction: TypeAlias = Callable[[Verb, str, Line, int], None]

#: Called with each fact once the fact and its consequences were applied. Must not raise.
Watcher: TypeAlias = Callable[[Fact | PersonFact], None]


class Executor:
    """Executes the verbs and the due work of one fake.

    Attributes:
        account: The account; a reset replaces it.
        fields_of: The ``extra=`` function, if there is one.
        watchers: Functions that get each fact.
        extra_verbs: Functions for verbs that the account does not decide, by verb name.
        due_handlers: Functions that run due work, by kind.
        move: The last clock move.
        ignored: The names of verbs that do nothing.
    """

    account: Account

    def __init__(self, core: Core, outbox: Outbox) -> None:
        self._core = core
        self._outbox = outbox
        self.fields_of: FieldsOf | None = None
        self.watchers: list[Watcher] = []
        self.move: ClockRecord | None = None
        self.ignored: frozenset[str] = frozenset()
        self.extra_verbs: dict[str, VerbFunction] = {
            "top_up": self._post,
            "set_balance": self._post,
            "redeliver": self._redeliver,
            "emit": self._emit,
            "emit_event": self._emit_event,
            "describe": self._describe,
        }
        self.due_handlers: dict[DueKind, Callable[[int, Any], None]] = {
            "attempt": outbox.queue.take_due,
            "drop": self._drop,
        }

    def execute(self, verb: Verb, what: str, line: Line, now: int) -> None:
        """Perform a verb and its consequences."""
        if verb.name in self.ignored:
            return
        now = self._outbox.later(now)
        if (own := self.extra_verbs.get(verb.name)) is not None:
            own(verb, what, line, now)
            return
        message = verb.message
        if verb.name == "deliver" and message is not None and message.early_devices:
            # All devices got it together with the first one.
            now = max(cast("int", message.delivered_at), now)
            devices = self.account.devices_of(message, verb.arguments[0])
            facts, events = self._decide(verb, line, now)
            message.early_devices = max(message.early_devices - devices, 0)
        else:
            facts, events = self._decide(verb, line, now)
        record = self.note(what, line, message, now)
        record.is_by_person = verb.name in ARRIVALS
        self._apply(facts, events, record)
        if self.account.people or self.watchers:
            self._finish(facts, record)

    def _decide(
        self, verb: Verb, line: Line, now: int, errors: list[Exception] | None = None
    ) -> tuple[list[Fact], list[Event]]:
        # All facts of a verb show the same status, so extra= is called once. While it runs, the
        # lock is released and another thread may change the account, so the verb is decided again
        # afterwards; the same goes for outbound=. A consequence (with `errors`) must happen, so an
        # error of extra= is only collected, and one of outbound= is left to the attempt.
        fields, asked = "", None
        try:
            while True:
                facts = self.account.decide(verb, now)
                if self.fields_of is not None and facts and facts[0].what != asked:
                    asked = facts[0].what
                    try:
                        fields = self.fields_of(facts[0].message, asked)
                    except Exception as error:
                        if errors is None:
                            raise
                        errors.append(error)
                        fields = ""
                    continue
                events = self._outbox.write_facts(facts, fields, line)
                try:
                    if not self._outbox.ask_outbound(events):
                        return facts, events
                except Exception:
                    if errors is None:
                        raise
                    return facts, events
        except BaseException:
            message = verb.message
            if message is not None and message.state == "submitted":
                message.withdraw()
            raise

    def _apply(self, facts: Sequence[Fact], events: Sequence[Event], cause: Record) -> None:
        for fact, event in zip(facts, events, strict=True):
            self._apply_fact(fact, cause)
            self._outbox.emit(event, cause)

    def _apply_fact(self, fact: Fact, cause: Record) -> None:
        self.account.apply(fact)
        for entry in fact.entries:
            self._core.history.add(entry, cause)

    def _finish(self, facts: Sequence[Fact | PersonFact], cause: VerbRecord) -> None:
        happened = [*facts]
        errors: list[Exception] = []
        if self.account.people:
            self._follow_up(facts, cause, happened, errors)
        self._show(happened)
        if errors:
            raise errors[0]

    def _follow_up(
        self,
        facts: Sequence[Fact | PersonFact],
        cause: VerbRecord,
        happened: list[Fact | PersonFact],
        errors: list[Exception],
    ) -> None:
        # Performs what people do by themselves after each fact.
        for fact in facts:
            for verb in self.account.people.follow_ups(fact):
                if verb.name in self.ignored:
                    continue
                at = self._outbox.later(fact.at)
                try:
                    consequences, events = self._decide(verb, cause.line, at, errors)
                except IllegalTransition:  # another thread was faster while extra= ran
                    continue
                self._apply(consequences, events, cause)
                happened += consequences
                self._follow_up(consequences, cause, happened, errors)

    def _show(self, facts: Sequence[Fact | PersonFact]) -> None:
        for watcher in self.watchers:
            for fact in facts:
                watcher(fact)

    # Verbs with their own functions

    def _post(self, verb: Verb, what: str, line: Line, now: int) -> None:
        entry = self.account.decide_entry(verb, now)
        self.note(what, line, entry, now)
        if entry is not None:
            self.account.ledger.post(entry)

    def _redeliver(self, verb: Verb, what: str, line: Line, now: int) -> None:
        (event,) = cast("tuple[Event]", verb.arguments)
        if not self._core.history.has(event):
            raise ValueError(f"{cited(event)} was not emitted by this fake")
        self._outbox.redeliver(event, line, self.note(what, line, event, now))

    def _emit(self, verb: Verb, what: str, line: Line, now: int) -> None:
        outbox, message = self._outbox, cast("MessageState", verb.message)
        status, edit, type_ = verb.arguments
        fields = "" if self.fields_of is None else self.fields_of(message, status)
        while True:
            fact = self.account.shown(message, status, now)
            event = outbox.write_synthetic(fact, fields, status, edit, type_, line)
            if not outbox.ask_outbound([event]):
                break
        outbox.emit(event, self.note(what, line, message, now))

    def _emit_event(self, verb: Verb, what: str, line: Line, now: int) -> None:
        (custom,) = verb.arguments
        subject = None
        if not isinstance(custom, CustomEvent):  # a person writes
            custom, subject = custom(what, now)
        event = self._outbox.write_custom(custom, line, now)
        self._outbox.emit(event, self.note(what, line, subject, now))

    def _describe(self, verb: Verb, what: str, line: Line, now: int) -> None:
        people, address, changes = verb.arguments
        people.check_current(address, self.account.people)
        fact = people.decide(what, address, changes, now)
        record = self.note(what, line, fact, now)
        people.apply(fact)
        self._finish([fact], record)

    # Due work

    def _drop(self, at: int, message: MessageState) -> None:
        # The last clock move is the cause, unless other code has moved time further.
        cause = self.move if self.move is not None and at <= self.move.end else None
        fact = self.account.dropped(message, at)
        self._apply_fact(fact, self._core.history.add(DropRecord(message, at), cause))
        if self.watchers:
            self._show([fact])

    # Records

    def note(self, what: str, line: Line, subject: object, now: int) -> VerbRecord:
        """Record a verb, or a call of the test that only affects later events.

        If the caller is inside a request or an attempt, that is recorded as the cause.
        """
        cause: Record | None = None
        scopes, is_by_person = self._core.scopes, isinstance(subject, PersonFact)
        for scope in scopes.open and scopes.current():
            cause = scope if isinstance(scope, Record) else cause
        return self._core.history.add(VerbRecord(what, line, subject, now, is_by_person), cause)
