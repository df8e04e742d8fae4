"""Changes: what a verb makes of the account and the outbox. Whoever calls holds the lock.

What follows from a verb by itself (an open chat reads what comes) is a verb, too: it is made right
after the facts that it follows from, at the same moment and for the same line. Each is done as a
whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from ..base.calling_line import Line
from ..domain.account import Account
from ..domain.facts import Fact, Verb
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..domain.schedule import Due, DueKind
from ..webhooks.dispatch import Dispatch
from ..webhooks.outbox import Outbox

#: Gives more fields for an event of a message with a status, as JSON text; the lock is held.
FieldsOf: TypeAlias = Callable[[MessageState, str], str]

#: Is told of a fact, after what followed from it.
Watcher: TypeAlias = Callable[[Fact | PersonFact], None]

_NO_FIELDS: Final[Mapping[str, str]] = {}


class Changes:
    """Makes the changes of one fake.

    Attributes:
        account: The account; a reset brings another one.
        fields_of: Gives more fields for the message resource of each event; None: there are none.
        watchers: Are told of each fact.
        apart: What makes verbs that the account does not decide, by their names.
        runs: What does the work that falls due, by its kind.
    """

    account: Account

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.fields_of: FieldsOf | None = None
        self.watchers: list[Watcher] = []
        self.apart: dict[str, Callable[[Verb, Line, int], None]] = {
            "redeliver": lambda verb, _line, _now: outbox.redeliver(*verb.arguments),
            "emit_event": lambda verb, line, now: outbox.emit_other(verb.arguments[0], line, now),
            "emit": self._emit_synthetic,
            "describe": self._describe,
        }
        self.runs: dict[DueKind, Callable[[Due], None]] = {
            "attempt": lambda due: outbox.take_due(cast("Dispatch", due.subject), due.at),
            "drop": self._drop,
        }

    def make(self, verb: Verb, line: Line, now: int) -> None:
        """Do what a verb says, and what follows from it.

        Args:
            verb: The verb.
            line: Where the test wrote it, or what it follows from.
            now: When it happens, in nanoseconds.
        """
        if verb.name in self.apart:
            self.apart[verb.name](verb, line, now)
            return
        message = verb.message
        try:  # whatever may fail comes before the first change
            facts = self.account.decide(verb, now)
            fields = _NO_FIELDS
            if self.fields_of is not None:
                facts, fields = self._ask_for_fields(self.fields_of, verb, facts, now)
            bodies = self._outbox.write(facts, fields)
        except BaseException:
            if message is not None and message.state == "submitted":
                message.withdraw()
            raise
        for fact, body in zip(facts, bodies, strict=True):
            self.account.apply(fact)
            self._outbox.emit(fact, body, line)
        if self.account.people or self.watchers:
            self._follow(facts, line, now)

    def _follow(self, facts: Sequence[Fact | PersonFact], line: Line, now: int) -> None:
        for fact in facts:
            for verb in self.account.people.follow_ups(fact):
                self.make(verb, line, now)
            for watcher in self.watchers:
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

    def _emit_synthetic(self, verb: Verb, line: Line, now: int) -> None:
        message = cast("MessageState", verb.message)
        status, edit, type_ = verb.arguments
        fields = "" if self.fields_of is None else self.fields_of(message, status)
        fact = self.account.shown(message, status, now)
        self._outbox.emit_synthetic(fact, fields, status, edit, type_, line)

    def _describe(self, verb: Verb, line: Line, now: int) -> None:
        people, address, what, changes = verb.arguments
        people.refuse_gone(address, self.account.people)
        fact = people.decide(what, address, changes, now)
        people.apply(fact)
        self._follow([fact], line, now)

    def _drop(self, due: Due) -> None:
        for fact in self.account.decide(Verb("drop", cast("MessageState", due.subject)), due.at):
            self.account.apply(fact)
