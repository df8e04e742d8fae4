"""Changes: what a verb makes of the account and the outbox. Who calls holds the lock.

What follows from a verb by itself (an open chat reads what comes) is a verb, too. It is made right
after the facts that it follows from, at the same moment and for the same line. Each is done as a
whole or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..base.calling_line import Line
from ..base.notes import ATTEMPT, ENTRY, POSTING, REQUEST, VERB
from ..domain.account import Account
from ..domain.facts import Fact, Verb
from ..domain.people import PersonFact
from ..domain.schedule import Due, DueKind, Schedule
from ..webhooks.outbox import Outbox
from .answering import Answering
from .emissions import EMISSIONS, FieldsOf, prepared
from .journal import Journal

#: Makes a verb that the account does not decide: the verb, what the test wrote, where, and when.
Maker: TypeAlias = Callable[[Verb, str, Line, int], None]

#: Is told of a fact, after what followed from it.
Watcher: TypeAlias = Callable[[Fact | PersonFact], None]

_NO_FIELDS: Final[Mapping[str, str]] = {}


class Changes:
    """Makes the changes of one fake.

    Args:
        outbox: Takes the events.
        schedule: What falls due.
        journal: Takes note of verbs and drops.
        answering: Knows the request that the running code answers.

    Attributes:
        account: The account; a reset brings another one.
        fields_of: Gives more fields for the message resource of each event; None: there are none.
        watchers: Are told of each fact.
        apart: What makes verbs that the account does not decide, by their names.
        runs: What does the work that falls due, by its kind.
    """

    account: Account

    def __init__(
        self, outbox: Outbox, schedule: Schedule, journal: Journal, answering: Answering
    ) -> None:
        self._outbox = outbox
        self._schedule = schedule
        self._journal = journal
        self._busy = outbox.busy
        self._requests = answering.requests
        self.fields_of: FieldsOf | None = None
        self.watchers: list[Watcher] = []
        self.apart: dict[str, Maker] = dict.fromkeys(EMISSIONS, self._emit)
        self.apart["describe"] = self._describe
        self.runs: dict[DueKind, Callable[[int, Any], None]] = {}

    def make(self, verb: Verb, what: str | None, line: Line, now: int) -> None:
        """Do what a verb says, and what follows from it.

        Args:
            verb: The verb.
            what: What the test wrote, to be noted; None: it follows from another verb.
            line: Where the test wrote it.
            now: When it happens, in nanoseconds.
        """
        if verb.name in self.apart:
            self.apart[verb.name](verb, what or verb.name, line, now)
            return
        account, journal = self.account, self._journal
        message, ledger = verb.message, account.ledger
        posted = len(ledger) if message is None else 0
        try:  # whatever may fail comes before the first change
            facts = account.decide(verb, now)
            fields = _NO_FIELDS
            if self.fields_of is not None:
                facts, fields = self._ask_for_fields(self.fields_of, verb, facts, now)
            events = self._outbox.writing.of_facts(facts, fields)
        except BaseException:
            if message is not None and message.state == "submitted":
                message.withdraw()
            raise
        if what is not None:
            journal.verb((what, line, message, now))
            journal.note(VERB)
            if self._busy or self._requests:
                self._note_cause()
        if message is None and len(ledger) > posted:
            journal.note(POSTING)
        for fact, event in zip(facts, events, strict=True):
            account.apply(fact)
            self._outbox.emit(fact, event, line)
        if account.people or self.watchers:
            self._follow(facts, line, now)

    def _follow(self, facts: Sequence[Fact | PersonFact], line: Line, now: int) -> None:
        people = self.account.people
        if people:
            for fact in facts:
                for verb in people.follow_ups(fact):
                    self.make(verb, None, line, now)
        for watcher in self.watchers:
            for fact in facts:
                watcher(fact)

    def _ask_for_fields(
        self, ask: FieldsOf, verb: Verb, facts: list[Fact], now: int
    ) -> tuple[list[Fact], Mapping[str, str]]:
        """Ask, once for each status to come, for more fields, and decide anew after each answer.

        The lock is let go meanwhile, so another thread may have changed what comes.
        """
        fields: dict[str, str] = {}
        while missing := [fact for fact in facts if fact.what not in fields]:
            fields[missing[0].what] = ask(missing[0].message, missing[0].what)
            facts = self.account.decide(verb, now)
        return facts, fields

    def _emit(self, verb: Verb, what: str, line: Line, now: int) -> None:
        emit = prepared(verb, line, now, self._outbox, self.account, self.fields_of)
        subject = verb.arguments[0] if verb.name == "redeliver" else verb.message
        self.note(what, line, subject, now)
        emit()

    def _describe(self, verb: Verb, what: str, line: Line, now: int) -> None:
        people, address, changes = verb.arguments
        people.refuse_gone(address, self.account.people)
        fact = people.decide(what, address, changes, now)
        self.note(what, line, fact, now)
        people.apply(fact)
        self._follow([fact], line, now)

    # What falls due

    def run(self, due: Due) -> None:
        """Do a piece of work that is due."""
        at, kind, subject = due
        if kind == "attempt":
            self._outbox.take_due(subject, at)
        elif kind == "drop":
            try:
                facts = self.account._drop(subject, at)
            except BaseException:
                subject.drop = self._schedule.add(at, kind, subject)  # it was taken out, and is due
                raise
            for fact in facts:
                self._journal.note(fact.rule.code + ENTRY * len(fact.entries))
                self._journal.drops.append(subject)
                self.account.apply(fact)
                for watcher in self.watchers:
                    watcher(fact)
        else:
            self.runs[kind](at, subject)

    # Notes

    def note(self, what: str, line: Line, subject: object, now: int) -> None:
        """Note what a test did that changes nothing of the account, but what happens next."""
        self._journal.verb((what, line, subject, now))
        self._journal.note(VERB)
        self._note_cause()

    def _note_cause(self) -> None:
        """Note what caused the last verb, if it was called inside an answer or an attempt."""
        request = self._requests.get(threading.get_ident())
        if request is not None:
            self._journal.caused_by(REQUEST, request)
        elif self._outbox.in_attempt():  # there is one at a time, and it was noted last
            self._journal.caused_by(ATTEMPT, self._journal.kinds.rfind(ATTEMPT))
