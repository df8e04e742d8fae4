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
from pytest_chatfake.wire.validation import mismatches

from .calls import model_call
from .fake_driver import driven, moment
from .model_types import Label
from .scripts import OTHERS


class Divergence(AssertionError):
    """The fake and the model disagree."""


def no_twins(pairs):
    if len({key for key, _ in pairs}) != len(pairs):
        raise Divergence(f"a key twice in one object: {pairs}")
    return dict(pairs)


def parse(body):
    return json.loads(body, parse_float=Decimal, parse_int=Decimal, object_pairs_hook=no_twins)


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
        self.events = []  # status and body of each, as they were when new
        self.entries = 0  # of the ledger that were compared
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
            self.compare_explanations()
            self.compare_query()
            self.check_stale()
            self.entries = 0
            self.compare()
            now = [(event.status, event.body) for event in self.fake.events]
            self.equal("events, which were not changed", self.events, now)

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
            self.entries = 0
            self.received.clear()
            self.events.clear()
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
        kinds = {
            None: type(None),
            "ValueError": ValueError,
            "IllegalTransition": IllegalTransition,
        }[expected]
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
            self.differ(f"outcome of {call.verb}", kinds, found)

    def compare(self):
        """Everything that is new since the last comparison, and the balance."""
        model, fake = self.model, self.fake
        new = slice(len(self.events), None)
        for expected, found in self.pairs("events", model.events[new], fake.events[new]):
            self.compare_event(expected, found)
            self.events.append((found.status, found.body))
        others = [body for status, body in self.events if status is None]
        self.equal("events that arrived", others, [request.body for request in self.received])

        new = slice(self.entries, None)
        for entry, posted in self.pairs("entries", model.ledger[new], fake.ledger[new]):
            told = {
                "kind": entry.kind,
                "amount": Fraction(entry.amount),
                "at": moment(entry.at),
                "message_id": entry.message,
                "conversation_id": entry.conversation,
            }
            self.same_fields(f"{entry.kind} in the ledger", told, posted)
            self.equal("type of an amount", Decimal, type(posted.amount))
            if posted.kind not in {"opening", "adjustment"} and posted.amount <= 0:
                self.differ("amounts are positive", "> 0", posted)
        self.entries = len(model.ledger)

        # The model's balance is the sum of its ledger.
        told = {name: getattr(model, name) for name in ("available", "held", "charged")}
        self.same_fields("balance", told | {"currency": model.knobs.currency}, fake.balance)
        due = model.next_due()
        told = {"now": moment(model.now), "next_due": None if due is None else moment(due)}
        self.same_fields("clock", told, fake.clock)

    def pairs(self, what, expected, found):
        self.equal(f"number of new {what}", len(expected), len(found))
        return zip(expected, found, strict=True)

    def compare_event(self, expected, found):
        body = parse(found.body)
        what = f"event {expected.status or expected.type} of {expected.message}"
        self.equal(what, expected.body, body)
        if found.status is None or found.status in STATUSES:
            self.equal(f"mismatches of {what}", [], mismatches(body, Naming()))
        if expected.message is not None:
            price = body["chatMessage"]["totalPrice"]
            wanted = expected.body["chatMessage"]["totalPrice"]
            if not isinstance(price, Decimal) or (wanted and str(price) != format(wanted, "f")):
                self.differ(f"text of totalPrice in {what}", wanted, found.body)
        told = {
            "status": expected.status,
            "message_id": expected.message,
            "type": expected.type,
            "id": body["id"],
            "create_time": moment(expected.at),
        }
        self.same_fields(what, told, found)

    def check_stale(self):
        """A message of before a reset is not taken for the one that has its id now."""
        for message in self.driver.stale:
            with suppress(errors.ClosedError):
                message.deliver()
                self.differ(f"{message.body!r}, of before a reset", "closed", "delivered")

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
        told = {"events": expected.events}
        if conversation := expected.conversation:
            told["conversation"] = conversation.label
        seen = {"events": [event.status for event in found.events]}
        if conversation := found.conversation:
            seen["conversation"] = conversation.id
        self.equal(what, told, seen)

    def compare_explanations(self):
        for number, expected in enumerate(self.model.messages):
            if expected.status != "submitted":
                self.compare_explanation(expected, self.fake.explain(self.driver.handles[number]))

    def compare_explanation(self, expected, text):
        """Its sums, and a reason for each event and for the drop, by its number in the history.

        What is charged each time rests on the setting alone, and nothing else does.
        """
        head, why, history = re.split("\nWhy:|\nWhat happened", text)
        told = re.findall(r"(?:price|held|charged) ([\d.]+)", head)
        sums = [expected.total, expected.held, expected.charged]
        self.equal("explained sums", sums, [Decimal(amount) for amount in told])
        facts = re.findall(r"\n +(\d+) .*  (?:event|drop) ", history)
        statuses = expected.events + ["dropped"] * expected.dropped
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
        known = self.model.conversations
        for expected, found in self.pairs("conversations", known, self.fake.conversations):
            self.equal("conversations, in order", expected.label, found.id)
