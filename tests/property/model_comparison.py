"""Play a script on the model and the fake, and hold one against the other after every step."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

from werkzeug.test import Client

from pytest_chatfake import IllegalTransition, Naming
from pytest_chatfake.base import errors
from pytest_chatfake.domain.messages import STATUSES
from pytest_chatfake.wire.validation import deviations

from .calls import model_call
from .fake_driver import driven, moment
from .model_types import Label
from .scripts import OTHERS


class Divergence(AssertionError):
    """The fake and the model disagree."""


class Number(Decimal):
    """A JSON number that remembers its text."""

    text: str

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number


def no_twins(pairs):
    if len({key for key, _ in pairs}) != len(pairs):
        raise Divergence(f"a key twice in one object: {pairs}")
    return dict(pairs)


def parse(body):
    return json.loads(body, parse_float=Number, parse_int=Number, object_pairs_hook=no_twins)


class Names:
    """Which real id stands for which label of the model; one to one."""

    def __init__(self):
        self.real = {}
        self.labels = {}

    def same(self, label, real):
        if not isinstance(real, str) or real == "":
            return False
        known = self.real.setdefault(label, real)
        owner = self.labels.setdefault((label.kind, real), label)
        return known == real and owner == label


class ModelComparison:
    """One script, the model and the sync fake side by side."""

    def __init__(self, script):
        self.script = script
        self.model = script.model()
        self.names = Names()
        self.calls = []
        self.seen_events = 0
        self.seen_entries = 0
        self.others = []  # the bodies of events about no message, as they were when new
        self.received = []  # by the endpoint, which listens for other types only

    def run(self):
        """Play it to the end; raises Divergence at the first difference."""
        with driven(self.script) as self.driver:
            self.fake = self.driver.fake
            self.fake.webhooks.connect(
                handler=self.received.append, events=[type_ for type_, _, _ in OTHERS]
            )
            self.compare()
            for call, expected in self.script.calls:
                self.play(call, expected)
            self.compare_messages()
            self.compare_others()
            self.compare_explanations()
            self.compare_query()
            self.check_stale()

    def play(self, call, expected):
        if not call.bad:
            model_call(self.model, call)
        self.calls.append((call, expected))
        found = None
        self.driver.see_time()
        try:
            self.driver.call(call, self.conversation(call))
        except (errors.ChatFakeError, TypeError, ValueError) as error:
            found = error
            if call.verb == "move":  # what else is due at that moment happens at the next look
                with suppress(IllegalTransition):
                    self.driver.catch_up()
        self.check_error(call, expected, found)
        if call.verb == "reset":
            self.names = Names()  # ids begin anew
            self.seen_events = self.seen_entries = 0
            self.received.clear()
            self.others.clear()
        self.compare()
        if call.verb in {"move", "word", "describe"}:
            self.compare_messages()
        elif call.message < len(self.model.messages):
            self.compare_message(call.message)

    def conversation(self, call):
        """A conversation to name in a call: by its id, or as the object."""
        if not isinstance(call.conversation, int):
            return call.conversation
        known = self.driver.handles[call.conversation].conversation
        return known if call.to % 2 else known.id

    # -- comparison ----------------------------------------------------------------------------

    def differ(self, what, expected, found):
        played = "\n".join(
            f"  {n}. {call} -> {error}" for n, (call, error) in enumerate(self.calls)
        )
        raise Divergence(
            f"{what}\nexpected (model): {expected!r}\nfound (fake):     {found!r}\n"
            f"{self.script.config}, by_traveller={self.script.by_traveller}\n{played}"
        )

    def equal(self, what, expected, found):
        if isinstance(expected, Label):
            if not self.names.same(expected, found):
                self.differ(what, f"{expected} = {self.names.real.get(expected)}", found)
        elif isinstance(expected, dict) and isinstance(found, dict):
            if expected.keys() != found.keys():
                self.differ(f"keys of {what}", sorted(expected), sorted(found))
            for key, value in expected.items():
                self.equal(f"{what}.{key}", value, found[key])
        elif expected != found:
            self.differ(what, expected, found)

    def same_fields(self, what, expected, found):
        for name, value in expected.items():
            self.equal(f"{what}.{name}", value, getattr(found, name))

    def check_error(self, call, expected, found):
        if call.bad:
            kinds = (TypeError, ValueError)
            if call.verb == "advance":
                kinds = (ValueError, errors.ClockError)
            elif (
                call.verb in {"deliver", "fail"}
                and self.model.messages[call.message].state != "sent"
            ):
                kinds = (*kinds, IllegalTransition)  # which of two reasons is named is open
            if not isinstance(found, kinds):
                self.differ(f"a bad {call.verb} is refused", kinds, found)
        elif expected == "ValueError":
            if not isinstance(found, ValueError):
                self.differ(f"{call.verb} is refused", expected, found)
        else:
            name = None if found is None else type(found).__name__
            if name != expected:
                self.differ(f"outcome of {call.verb}", expected, found)

    def compare(self):
        """Everything that is new since the last comparison, and the balance."""
        events = self.fake.events
        self.equal("number of events", len(self.model.events), len(events))
        for expected, found in zip(
            self.model.events[self.seen_events :], events[self.seen_events :], strict=True
        ):
            self.compare_event(expected, found)
        new = events[self.seen_events :]
        self.others += [event.body for event in new if event.status is None]
        self.seen_events = len(events)
        self.equal("events that arrived", self.others, [request.body for request in self.received])

        ledger = self.fake.ledger
        self.equal(
            "kinds of ledger entries", [e.kind for e in self.model.ledger], [e.kind for e in ledger]
        )
        for entry, posted in zip(
            self.model.ledger[self.seen_entries :], ledger[self.seen_entries :], strict=True
        ):
            what = f"{entry.kind} in the ledger"
            self.equal(f"type of the amount of the {what}", Decimal, type(posted.amount))
            if posted.kind not in {"opening", "adjustment"} and posted.amount <= 0:
                self.differ("amounts are positive", "> 0", posted)
            told = {
                "amount": Fraction(entry.amount),
                "at": moment(entry.at),
                "message_id": entry.message,
                "conversation_id": entry.conversation,
            }
            self.same_fields(what, told, posted)
        self.seen_entries = len(ledger)
        self.compare_balance()
        self.equal("now", moment(self.model.now), self.fake.clock.now)
        due = self.model.next_due()
        self.equal("next due", None if due is None else moment(due), self.fake.clock.next_due)

    def compare_event(self, expected, found):
        body = parse(found.body)
        what = f"event {expected.status or expected.type} of {expected.message}"
        self.equal(what, expected.body, body)
        if found.status is None or found.status in STATUSES:
            self.equal(f"deviations of {what}", [], deviations(body, Naming()))
        if expected.message is not None:
            price = body["chatMessage"]["totalPrice"]
            wanted = expected.body["chatMessage"]["totalPrice"]
            if not isinstance(price, Number) or (wanted and price.text != format(wanted, "f")):
                self.differ(f"text of totalPrice in {what}", wanted, found.body)
        told = {
            "status": expected.status,
            "message_id": expected.message,
            "type": expected.type,
            "id": body["id"],
            "create_time": moment(expected.at),
        }
        self.same_fields(what, told, found)

    def compare_balance(self):
        """The balance; the model's is the sum of its ledger, which is compared as well."""
        told = {name: getattr(self.model, name) for name in ("available", "held", "charged")}
        told["currency"] = self.model.knobs.currency
        self.same_fields("balance", told, self.fake.balance)

    def check_stale(self):
        """A message of before a reset is not taken for the one that has its id now."""
        for message in self.driver.stale:
            outcome = ""
            try:
                message.deliver()
            except errors.ClosedError:
                outcome = "closed"
            self.equal(f"deliver() of {message.body!r}, of before a reset", "closed", outcome)

    def compare_messages(self):
        for number in range(len(self.model.messages)):
            self.compare_message(number)

    def compare_message(self, number):
        expected = self.model.messages[number]
        if expected.status == "submitted":
            return
        found = self.driver.handles[number]
        what = f"message {number}"
        told = {
            "id": expected.label,
            "chat_message_id": Label("wamid.", number),
            "status": expected.status,
            "dropped": expected.dropped,
            "total_price": expected.total,
            "held": expected.held,
            "charged": expected.charged,
        }
        self.same_fields(what, told, found)
        own = [e.status for e in self.model.events if e.message == expected.label]
        self.equal(f"{what}.events", own, [event.status for event in found.events])
        conversation = expected.conversation and expected.conversation.label
        self.equal(
            f"{what}.conversation", conversation, found.conversation and found.conversation.id
        )

    def compare_others(self):
        """All events about no message, once more: none has changed since it was new."""
        now = [event.body for event in self.fake.events if event.status is None]
        self.equal("events about no message, at the end", self.others, now)

    def compare_explanations(self):
        for number, expected in enumerate(self.model.messages):
            if expected.status != "submitted":
                self.compare_explanation(expected, self.fake.explain(self.driver.handles[number]))

    def compare_explanation(self, expected, text):
        """Its sums, and a reason for each event and for the drop, by its number in the history.

        What is charged each time rests on the setting alone, and nothing else does.
        """
        statuses = [e.status for e in self.model.events if e.message == expected.label]
        head, why, history = re.split("\nWhy:|\nWhat happened", text)
        told = re.findall(r"(?:price|held|charged) ([\d.]+)", head)
        sums = [expected.total, expected.held, expected.charged]
        self.equal("explained sums", sums, [Decimal(amount) for amount in told])
        facts = re.findall(r"\n +(\d+) .*  (?:event|drop) ", history)
        statuses = statuses + ["dropped"] * expected.dropped
        reasons = re.findall(r"\n +(\d+)  (\w+)", why)
        self.equal("explained facts", list(zip(facts, statuses, strict=True)), reasons)
        wrong = "(§1" if self.model.knobs.each_message else "charge_per='message'"
        self.equal(f"{wrong} in the reasons", False, wrong in why)

    def compare_query(self):
        """`GET /v2/balance` (§4.1) tells the same amount, as an exact number."""
        key = {"X-API-Key": self.fake.api_key}
        response = Client(self.fake.wsgi_app).get("/v2/balance", headers=key)
        self.equal("status of the balance query", 200, response.status_code)
        body = parse(response.data)
        self.equal("reported amount", self.model.reported, Fraction(body["amount"]))
        self.equal("reported currency", self.model.knobs.currency, body["currency"])
        conversations = [c.id for c in self.fake.conversations]
        self.equal("number of conversations", len(self.model.conversations), len(conversations))
        for expected, found in zip(self.model.conversations, conversations, strict=True):
            self.equal("conversations, in order", expected.label, found)
