"""Verbs and due work, executed: what they change in the account, and what they emit.

The caller holds the engine's lock. Everything that may fail comes before the first change, so a
verb is done as a whole or not at all. The consequences of a verb (an open chat reads a delivered
message) belong to it: they are decided with it, at the same moment and for the same line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from ..base.arguments import cited
from ..base.calling_line import Line
from ..base.history import Record
from ..domain.account import Account
from ..domain.facts import Fact, Verb
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..domain.rehearsal import following, following_person
from ..domain.schedule import Due, DueKind
from ..webhooks.core import Core
from ..webhooks.drain import Drain
from ..webhooks.events import CustomEvent, Event
from ..webhooks.outbox import Outbox
from .callbacks import Responses
from .records import ClockRecord, DropRecord, VerbRecord

#: Returns more fields for an event of a message with a status, as JSON text.
FieldsOf: TypeAlias = Callable[[MessageState, str], str]

#: Executes a verb that the account does not decide: the verb, what the test wrote, where, and when.
Executor: TypeAlias = Callable[[Verb, str, Line, int], None]

#: Is called with each fact once it and its consequences are applied. It refuses nothing.
Watcher: TypeAlias = Callable[[Fact | PersonFact], None]

#: More fields of the message resource, as JSON text, by message and status.
_Fields: TypeAlias = dict[tuple[MessageState, str], str]


class Changes:
    """Executes the verbs and the due work of one fake.

    Attributes:
        account: The account; a reset replaces it.
        fields_of: Returns more fields for the message resource of each event.
        watchers: Are called with each fact.
        extra_verbs: Verbs that the account does not decide, by their names.
        due_handlers: Functions that run due work, by its kind.
    """

    account: Account

    def __init__(
        self,
        core: Core,
        outbox: Outbox,
        drain: Drain,
        responses: Responses,
    ) -> None:
        self._core = core
        self._outbox = outbox
        self._drain = drain
        self._requests = responses.requests
        self.fields_of: FieldsOf | None = None
        self.watchers: list[Watcher] = []
        self.extra_verbs: dict[str, Executor] = {
            "redeliver": self._redeliver,
            "emit": self._emit,
            "emit_event": self._emit_event,
            "describe": self._describe,
        }
        self.due_handlers: dict[DueKind, Callable[[int, Any], None]] = {
            "attempt": lambda at, dispatch: outbox.take_due(dispatch, at),
        }

    def execute(self, verb: Verb, what: str, line: Line, now: int) -> None:
        """Perform a verb and its consequences."""
        if verb.name in self.extra_verbs:
            self.extra_verbs[verb.name](verb, what, line, now)
            return
        account = self.account
        message, ledger = verb.message, account.ledger
        posted = len(ledger) if message is None else 0
        try:  # everything that may fail comes before the first change
            facts = account.decide(verb, now)
            if account.people:
                facts = following(account, facts, now)
            fields = None
            if self.fields_of is not None:
                decide = partial(self._decided, verb, now)
                facts, fields = self._ask_for_fields(self.fields_of, facts, decide)
            events = self._outbox.write_facts(facts, fields, line)
        except BaseException:
            if message is not None and message.state == "submitted":
                message.withdraw()
            raise
        record = self.note(what, line, message, now)
        if message is None and len(ledger) > posted:
            record.posted = ledger.entries[-1]
        self._apply(facts, events, record)
        if self.watchers:
            self._tell(facts)

    def _apply(self, facts: Sequence[Fact], events: Sequence[Event], cause: VerbRecord) -> None:
        """Apply facts, and emit their events."""
        for fact, event in zip(facts, events, strict=True):
            self._post(fact, cause)
            self._outbox.emit(event, cause)

    def _post(self, fact: Fact, cause: Record) -> None:
        """Apply a fact, and record what the ledger took."""
        self.account.apply(fact)
        for entry in fact.entries:
            entry._message = fact.message
            self._core.history.add(entry, cause)

    def _decided(self, verb: Verb, now: int) -> list[Fact]:
        return following(self.account, self.account.decide(verb, now), now)

    def _tell(self, facts: Sequence[Fact | PersonFact]) -> None:
        for watcher in self.watchers:
            for fact in facts:
                watcher(fact)

    def _ask_for_fields(
        self, ask: FieldsOf, facts: list[Fact], decide: Callable[[], list[Fact]]
    ) -> tuple[list[Fact], _Fields]:
        """Ask for more fields, once for each message and status of the facts.

        The lock is released during each call, so another thread may have changed the account: the
        verb is decided again after it.
        """
        fields: _Fields = {}
        while missing := [fact for fact in facts if (fact.message, fact.what) not in fields]:
            message, what = missing[0].message, missing[0].what
            fields[message, what] = ask(message, what)
            facts = decide()
        return facts, fields

    # Verbs that the account does not decide

    def _redeliver(self, verb: Verb, what: str, line: Line, now: int) -> None:
        (event,) = cast("tuple[Event]", verb.arguments)
        if not self._core.history.has(event):
            raise ValueError(f"{cited(event)} was not emitted by this fake")
        self._outbox.redeliver(event, line, self.note(what, line, event, now))

    def _emit(self, verb: Verb, what: str, line: Line, now: int) -> None:
        outbox, message = self._outbox, cast("MessageState", verb.message)
        status, edit, type_ = verb.arguments
        fields = "" if self.fields_of is None else self.fields_of(message, status)
        fact = self.account.shown(message, status, now)
        event = outbox.write_synthetic(fact, fields, status, edit, type_, line)
        outbox.emit(event, self.note(what, line, message, now))

    def _emit_event(self, verb: Verb, what: str, line: Line, now: int) -> None:
        (custom,) = verb.arguments
        subject = None
        if not isinstance(custom, CustomEvent):  # a person writes
            custom, subject = custom(what, now)
        event = self._outbox.write_custom(custom, line, now)
        self._outbox.emit_custom(event, self.note(what, line, subject, now))

    def _describe(self, verb: Verb, what: str, line: Line, now: int) -> None:
        people, address, changes = verb.arguments
        people.check_current(address, self.account.people)

        def decide() -> list[Fact]:
            return following_person(self.account, people.decide(what, address, changes, now))

        facts, fields = decide(), None
        if self.fields_of is not None:
            facts, fields = self._ask_for_fields(self.fields_of, facts, decide)
        fact = people.decide(what, address, changes, now)
        events = self._outbox.write_facts(facts, fields, line)
        record = self.note(what, line, fact, now)
        people.apply(fact)
        self._apply(facts, events, record)
        self._tell([fact, *facts])

    # Due work

    def execute_due(self, due: Due, move: ClockRecord | None) -> None:
        """Perform due work; the last move of time caused it, unless other code moved time on."""
        at, kind, subject = due
        if kind == "drop":
            self._drop(at, subject, move if move is not None and at <= move.end else None)
        else:
            self.due_handlers[kind](at, subject)

    def _drop(self, at: int, message: MessageState, cause: ClockRecord | None) -> None:
        facts = self.account._drop(message, at)
        for fact in facts:
            self._post(fact, self._core.history.add(DropRecord(message, at), cause))
        self._tell(facts)

    # Records

    def note(self, what: str, line: Line, subject: object, now: int) -> VerbRecord:
        """Record a verb, or a call of the test that changes later events and not the account."""
        return self._core.history.add(VerbRecord(what, line, subject, now), self._cause())

    def _cause(self) -> Record | None:
        """Return the request or the attempt that the running code is part of, if any."""
        if not (self._drain.in_flight or self._requests):
            return None
        request = self._requests.get(threading.get_ident())
        if request is not None:
            return request
        attempt = self._drain.current()
        return None if attempt is None else attempt.record
