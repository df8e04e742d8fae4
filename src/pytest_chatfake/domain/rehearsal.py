"""What follows by itself from what was decided, found out before anything has changed.

An open chat reads what is about to come, and a phone that is on again gets what waits, the first
of it starting the conversation. So what follows depends on what was decided just before, which is
not so yet. It is decided on copies of the messages and conversations concerned, by the account's
own rules; the facts that come of it are about the originals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from .account import Account
from .conversations import ConversationRecord
from .facts import Fact
from .messages import MessageState
from .money import ZERO
from .people import PersonFact, PersonRecord
from .schedule import Schedule


def following(account: Account, facts: list[Fact], now: int) -> list[Fact]:
    """Return facts that were decided about one message, and what follows from them.

    Args:
        account: The account; nothing of it changes.
        facts: What was decided.
        now: When, in nanoseconds.
    """
    person = account.people.get(facts[0].message.recipient) if facts else None
    if person is None or not person.acts_at_once:
        return facts
    rehearsal = Rehearsal(account, person)
    return facts + rehearsal.after(rehearsal.play(facts), now)


def following_person(account: Account, fact: PersonFact) -> list[Fact]:
    """Return what follows from something that is about to happen to a person."""
    return Rehearsal(account, fact.after).after([fact], fact.at)


_T = TypeVar("_T", bound=MessageState | ConversationRecord)


class Rehearsal(Account):
    """The rules of an account, played on copies, for one person; nobody else sees it.

    Args:
        account: The account.
        person: The person, as they will be.
    """

    def __init__(self, account: Account, person: PersonRecord) -> None:
        super().__init__(account._rules, account._ids, Schedule(), ZERO, 0)
        self.people[person.address] = person
        self._known = account.people
        self._copies: dict[Any, Any] = {}
        self._originals: dict[Any, Any] = {}

    def check_current(self, message: MessageState) -> None:
        """Refuse nothing: copies are of what the account has, or is about to have."""

    def play(self, facts: list[Fact]) -> list[Fact]:
        """Let facts be so, for the copies; return them as they are about those."""
        played = [self._about(fact, self._copy_of) for fact in facts]
        for fact in played:
            self.apply(fact)
        return played

    def after(self, facts: Sequence[Fact | PersonFact], now: int) -> list[Fact]:
        """Return what follows from facts that are so for the copies, in order."""
        return [self._about(fact, self._originals.__getitem__) for fact in self._after(facts, now)]

    def _after(self, facts: Sequence[Fact | PersonFact], now: int) -> Iterator[Fact]:
        for fact in facts:
            people = self._known if isinstance(fact, PersonFact) else self.people
            for verb in people.follow_ups(fact):
                assert verb.message is not None
                made = self.decide(replace(verb, message=self._copy_of(verb.message)), now)
                for one in made:
                    self.apply(one)
                yield from made
                yield from self._after(made, now)

    def _about(self, fact: Fact, find: Callable[[Any], Any]) -> Fact:
        conversation = fact.conversation and find(fact.conversation)
        return replace(fact, message=find(fact.message), conversation=conversation)

    def _copy_of(self, one: _T) -> _T:
        """Return the copy of an original; a copy is its own."""
        if one in self._originals:
            return one
        known: _T | None = self._copies.get(one)
        if known is not None:
            return known
        made = self._copies[one] = copy(one)
        self._originals[made] = one
        if isinstance(made, MessageState) and made.conversation is not None:
            made.conversation = self._copy_of(made.conversation)
        return made
