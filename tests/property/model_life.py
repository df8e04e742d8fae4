"""People and scripts in time: the part of the model that makes things happen by themselves.

From the description, as the rest of the model: §3 and its rules 2 and 3, §7.2; "assumed" marks
what it leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .model_types import (
    NOBODY_IN_PARTICULAR,
    Label,
    Person,
    Refused,
    ScheduledVerb,
    stamp,
)

if TYPE_CHECKING:
    from .model import Model

ARRIVALS = {"deliver", "read"}

#: Which words change what.
WORDS = {
    "goes_offline": {"online": False, "chat_open": False},
    "comes_online": {"online": True},
    "blocks": {"blocked": True},
    "unblocks": {"blocked": False},
    "opens_chat": {"chat_open": True},
    "closes_chat": {"chat_open": False},
}


def reachable(person):
    return person.online and person.registered and not person.blocked and not person.withheld


@dataclass
class Life:
    """What people do, and what is scheduled; `model` does the rest."""

    model: Model
    not_registered: tuple[str, Any, Any]
    people: dict[str | None, Person] = field(default_factory=dict)
    scheduled: list[ScheduledVerb] = field(default_factory=list)

    def of(self, message):
        return self.people[message.address]

    # -- what contradicts the person (§3 rule 2) -----------------------------------------------

    def check(self, message, verb):
        arrives = verb == "deliver" or message.status == "sent"
        self.refuse(f"{verb} to", self.of(message), blocked=arrives, withheld=arrives)

    def refuse(self, what, person, *, blocked, withheld):
        for why, so in {
            "not registered": not person.registered,
            "offline": not person.online,
            "blocked": person.blocked and blocked,
            "withheld": person.withheld and withheld,
        }.items():
            if so:
                self.model.took(f"refused: {what} a person who is {why}")
                raise Refused("IllegalTransition", f"{what}: {why}")

    def write(self, address):
        """A person writes to the sender: an event, and no money (assumed)."""
        model = self.model
        self.refuse("writing by", self.people[address], blocked=True, withheld=False)
        resource = {
            "id": Label("in", len(model.events)),
            "from": address or NOBODY_IN_PARTICULAR,
            "to": "+15550199",
            "sendTime": stamp(model.now),
            "type": "text",
            "text": {"body": "STOP"},
            "tag": 1,
        }
        model.emit_other("chat.inbound_message.received", resource, {})

    # -- what people do by themselves ----------------------------------------------------------

    def sent(self, message):
        person = self.of(message)
        message.undeliverable = person.blocked or person.withheld
        if not person.registered:
            self.model.took("by itself: sent to nobody -> failed")
            self.model.fail(message, *self.not_registered)
        elif person.chat_open and not message.undeliverable:
            self.model.took("by itself: sent into an open chat -> read")
            self.model.read_by_user(message, by_itself=True)

    def delivered(self, message):
        if self.of(message).chat_open and not self.scripted(message):
            self.model.took("by itself: delivered into an open chat -> read")
            self.model.read_by_user(message, by_itself=True)

    def scripted(self, message):
        """Whether a script delivers or reads it later: then people leave it alone (assumed)."""
        return any(one.message is message and one.verb in ARRIVALS for one in self.scheduled)

    def change(self, address, error, *, is_done, **fields):
        before = self.people[address]
        after = replace(before, **fields)
        if after.chat_open and not (after.online and after.registered):
            self.model.took(f"refused: an open chat where there can't be one ({error})")
            raise Refused(error, "the chat can't be open there")
        self.people[address] = after
        if reachable(after) and (
            not reachable(before) or (is_done and {"online", "blocked"} & {*fields})
        ):
            self.back(address, after)
        if after.chat_open and (not before.chat_open or (is_done and "chat_open" in fields)):
            for message in self.to(address, "delivered"):
                if self.scripted(message):
                    self.model.took("left alone: scripted reading, as the chat is opened")
                else:
                    self.model.took("by itself: delivered, and the chat is opened -> read")
                    self.model.read_by_user(message, by_itself=True)

    def back(self, address, person):
        """Deliver what waited, in the order of sending."""
        for message in self.to(address, "sent"):
            if message.undeliverable:  # assumed
                self.model.took("left alone: sent while blocked or withheld")
            elif self.scripted(message):
                self.model.took("left alone: a scripted delivery, as the phone comes back")
            elif person.chat_open:
                self.model.took("by itself: the phone comes back -> read")
                self.model.read_by_user(message, by_itself=True)
            else:
                self.model.took("by itself: the phone comes back -> delivered")
                self.model.deliver(message, None, None, by_itself=True)

    def to(self, address, state):
        own = [m for m in self.model.messages if m.address == address and m.state == state]
        return sorted(own, key=lambda message: message.order)

    # -- scripts in time -----------------------------------------------------------------------

    def schedule(self, message, script):
        """Each length counts from the one before; verbs behind one share its moment."""
        if any(one.message is message for one in self.scheduled):
            self.model.took("script: a second one for a message")
        at = self.model.now
        for length, verbs in script:
            at += length
            for verb, arguments, error in verbs:
                self.model.plans += 1
                order = self.model.plans
                self.scheduled.append(ScheduledVerb(at, order, message, verb, arguments, error))

    def cancel(self, message):
        kept = [one for one in self.scheduled if one.message is not message]
        self.model.took(
            "script: cancelled" if len(kept) < len(self.scheduled) else "script: none to cancel"
        )
        self.scheduled = kept

    def run(self, step):
        """An illegal step drops the rest of its message's script."""
        self.scheduled.remove(step)
        try:
            self.model.do(step.message, step.verb, step.arguments, step.error)
        except Refused:
            rest = [one for one in self.scheduled if one.message is step.message]
            self.model.took("script: an illegal step" + (" drops the rest" if rest else ""))
            self.scheduled = [one for one in self.scheduled if one.message is not step.message]
            raise
        self.model.took(f"script: {step.verb}")
