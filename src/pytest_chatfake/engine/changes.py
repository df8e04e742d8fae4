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
from ..base.notes import ATTEMPT, ENTRY, POSTING, REQUEST, VERB
from ..domain.account import Account
from ..domain.facts import Fact, Verb
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..domain.rehearsal import following, following_person
from ..domain.schedule import Due, DueKind
from ..webhooks.drain import Drain
from ..webhooks.events import Event, OtherEvent
from ..webhooks.outbox import Outbox
from .callbacks import Responses
from .journal import Journal

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
        outbox: Outbox,
        drain: Drain,
        journal: Journal,
        responses: Responses,
    ) -> None:
        self._outbox = outbox
        self._journal = journal
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
            "drop": self._drop,
        }

    def execute(self, verb: Verb, what: str, line: Line, now: int) -> None:
        """Perform a verb and its consequences."""
        if verb.name in self.extra_verbs:
            self.extra_verbs[verb.name](verb, what, line, now)
            return
        account, journal = self.account, self._journal
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
            told = self._outbox.write_facts(facts, fields)
        except BaseException:
            if message is not None and message.state == "submitted":
                message.withdraw()
            raise
        journal.verb((what, line, message, now))
        journal.note(VERB)
        if self._drain.in_flight or self._requests:
            self._note_cause()
        if message is None and len(ledger) > posted:
            journal.note(POSTING)
        for fact, event, body in told:
            account.apply(fact)
            self._outbox.emit(fact, event, body, line)
        if self.watchers:
            self._tell(facts)

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
        if event._log is not self._outbox.events:
            raise ValueError(f"{cited(event)} was not emitted by this fake")
        self.note(what, line, event, now)
        self._outbox.redeliver(event, line)

    def _emit(self, verb: Verb, what: str, line: Line, now: int) -> None:
        outbox, message = self._outbox, cast("MessageState", verb.message)
        status, edit, type_ = verb.arguments
        fields = "" if self.fields_of is None else self.fields_of(message, status)
        fact = self.account.shown(message, status, now)
        written = outbox.write_synthetic(fact, fields, status, edit)
        self.note(what, line, message, now)
        outbox.emit_synthetic(fact, written, status, type_, line)

    def _emit_event(self, verb: Verb, what: str, line: Line, now: int) -> None:
        (draft,) = verb.arguments
        subject = None
        if not isinstance(draft, OtherEvent):  # a person writes
            draft, subject = draft(what, now)
        draft, written = self._outbox.write_other(draft, now)
        self.note(what, line, subject, now)
        self._outbox.emit_other(draft, written, line, now)

    def _describe(self, verb: Verb, what: str, line: Line, now: int) -> None:
        people, address, changes = verb.arguments
        people.check_current(address, self.account.people)

        def decide() -> list[Fact]:
            return following_person(self.account, people.decide(what, address, changes, now))

        facts, fields = decide(), None
        if self.fields_of is not None:
            facts, fields = self._ask_for_fields(self.fields_of, facts, decide)
        fact = people.decide(what, address, changes, now)
        told = self._outbox.write_facts(facts, fields)
        self.note(what, line, fact, now)
        people.apply(fact)
        for one, event, body in told:
            self.account.apply(one)
            self._outbox.emit(one, event, body, line)
        self._tell([fact, *facts])

    # Due work

    def execute_due(self, due: Due) -> None:
        """Run a due event."""
        at, kind, subject = due
        self.due_handlers[kind](at, subject)

    def _drop(self, at: int, message: MessageState) -> None:
        facts = self.account._drop(message, at)
        for fact in facts:
            self._journal.note(fact.rule.code + ENTRY * len(fact.entries))
            self._journal.drops.append(message)
            self.account.apply(fact)
        self._tell(facts)

    # Notes

    def note(self, what: str, line: Line, subject: object, now: int) -> None:
        """Note a call of the test that changes later events, and not the account."""
        self._journal.verb((what, line, subject, now))
        self._journal.note(VERB)
        self._note_cause()

    def _note_cause(self) -> None:
        """Note the cause of the last verb, if it was called inside a response or an attempt."""
        request = self._requests.get(threading.get_ident())
        if request is not None:
            self._journal.caused_by(REQUEST, request)
        elif (attempt := self._drain.current()) is not None:
            place = -1
            for _ in range(self._drain.begun - attempt.place + 1):  # those of its batch came after
                end = None if place < 0 else place
                place = self._journal.kinds.rfind(ATTEMPT, 0, end)
            self._journal.caused_by(ATTEMPT, place)
