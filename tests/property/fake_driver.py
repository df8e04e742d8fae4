"""Make the calls of a script on a fake."""

from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal

import time_machine

from pytest_chatfake import ChatFake, IllegalTransition

from .calls import PEOPLE, START, decimal
from .model_types import EPOCH, NOBODY_IN_PARTICULAR


def moment(micros):
    return EPOCH + timedelta(microseconds=micros)


class FakeDriver:
    """Makes the calls on the fake; in async mode the same calls schedule them."""

    def __init__(self, fake, rate, shift):
        self.fake = fake
        self.rate = rate  # what the price callable returns
        self.shift = shift  # the user's own traveller, where it moves the time
        self.now = START * 1_000_000
        self.handles = {}
        self.submissions = {}
        self.stale = []  # handles of before a reset
        self.describe_people()

    def describe_people(self):
        self.people = [
            person.address
            if person.devices == 1 and person.receipts
            else self.fake.recipient(
                person.address, devices=person.devices, read_receipts=person.receipts
            )
            for person in PEOPLE
        ]

    def reset(self):
        self.fake.reset()
        self.stale += self.handles.values()
        self.handles.clear()
        self.submissions.clear()
        self.describe_people()

    def recipient(self, to, **described):
        return self.fake.recipient(PEOPLE[to].address or NOBODY_IN_PARTICULAR, **described)

    def call(self, call, conversation=None):
        """Make a call; `conversation` is the one that it names."""
        fake, arguments = self.fake, dict(call.arguments)
        match call.verb:
            case "send" | "submit":
                if conversation is not None:
                    arguments["conversation"] = conversation
                made = self.send(call, arguments)
                if not call.bad:
                    (self.handles if call.verb == "send" else self.submissions)[call.message] = made
                return made
            case "accept" | "reject":
                made = getattr(self.submissions[call.message], call.verb)(**arguments)
                self.handles[call.message] = made
                return made
            case "deliver" | "read" | "fail" | "cancel":
                return getattr(self.handles[call.message], call.verb)(**arguments)
            case "emit_event":
                type_, resource, given = call.other
                return fake.webhooks.emit_event(type_, resource, **given)
            case "writes":
                return self.recipient(call.to).writes("STOP", tag=1)
            case "word":
                return getattr(self.recipient(call.to), arguments["word"])()
            case "describe":
                return self.recipient(call.to, **arguments)
            case "schedule":
                return self.schedule(call)
            case "reset":
                return self.reset()
            case "top_up" | "set_balance":
                return getattr(fake, call.verb)(arguments["amount"])
            case "rate":
                self.rate[0] = decimal(arguments["amount"])
                return None
            case "advance":
                return fake.clock.advance(arguments["delta"])
            case "move":
                return self.move(arguments["at"], call.how)
            case _:
                raise NotImplementedError(call.verb)

    def send(self, call, arguments):
        fake, to = self.fake, self.people[call.to]
        if call.content is not None:
            other = fake.send if call.verb == "send" else fake.submit
            return other(*call.content, to=to, **arguments)
        body = arguments.pop("body", "Hello")
        text = fake.send_text if call.verb == "send" else fake.submit_text
        return text(body, to=to, **arguments)

    def schedule(self, call):
        """Schedule a script: the verbs of the handle that `after()` returns happen later."""
        later = self.handles[call.message]
        for length, verbs in call.script:
            later = later.after(timedelta(microseconds=length))
            for verb, said, _ in verbs:
                later = getattr(later, verb)(**said)
        return later

    def catch_up(self):
        """Let happen what time has jumped over; each step that is illegal is told on its own."""
        refused = None
        while True:
            try:
                self.fake.settle()
                break
            except IllegalTransition as error:
                refused = refused or error
        if refused is not None:
            raise refused

    def see_time(self):
        """Begin from where time stands: a move that was refused has stopped on its way."""
        self.now = (self.fake.clock.now - EPOCH) // timedelta(microseconds=1)

    def move(self, at, how):
        """Move time to `at`: behind the fake's back, or in one of the ways its clock has."""
        distance = timedelta(microseconds=at - self.now)
        self.now = at
        if self.shift is not None:
            self.shift(distance)
            return self.catch_up() if self.fake.config.mode != "async" else None
        clock = self.fake.clock
        ways = [
            lambda: clock.advance(distance),
            lambda: clock.advance(microseconds=distance // timedelta(microseconds=1)),
            lambda: clock.move_to(moment(at)),
            lambda: clock.move_to(moment(at).isoformat().replace("+00:00", "Z")),
        ]
        return ways[how]()


@contextmanager
def driven(script, mode="sync", tick=None):
    """Drive a fake at START, with the configuration of a script."""
    rate = [Decimal("0.05")]
    with (
        time_machine.travel(START, tick=False) as traveller,
        ChatFake(mode=mode, tick=tick, **script.config.fields(rate)) as fake,
    ):
        yield FakeDriver(fake, rate, traveller.shift if script.by_traveller else None)
