"""One script in sync and in async mode: the same bytes, the same ledger, the same money seen."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle, takewhile

from hypothesis import given
from hypothesis import strategies as st

from pytest_chatfake import ClockError, IllegalTransition

from .calls import Resolver, model_call
from .fake_driver import driven
from .required_paths import profile
from .scripts import RESET, Call, scripts

REFUSALS = (IllegalTransition, ClockError, TypeError, ValueError)


@dataclass
class Piece:
    """What goes into one `await`: calls, the last of which may be refused."""

    calls: list[tuple[Call, int]] = field(default_factory=list)
    refused: bool = False


def pieces(script):
    """Cut a script; after a refusal, sync code never reaches the rest of its piece either."""
    model = script.model()
    resolver = Resolver(model)
    sizes = cycle(script.chunks)
    found, room = [Piece()], next(sizes)
    for step in takewhile(lambda step: step != RESET, script.steps):
        call = resolver.resolve(step)
        if call is None:
            continue
        # What acts at once, behind the fake's back, is a piece of its own.
        jump = call.verb == "move" and script.by_traveller
        alone = jump or call.verb in {"rate", "describe"}
        if alone or len(found[-1].calls) >= room:
            found.append(Piece())
            room = next(sizes)
        number = len(model.messages)
        refused = call.bad or model_call(model, call) is not None
        found[-1].calls.append((call, number))
        found[-1].refused = refused and not call.bad
        if alone or refused:
            found.append(Piece())
    return found


class Run:
    """One run of a script, with a handler that watches the money in the middle of each attempt."""

    def __init__(self, script, mode, *, reacts, tick=None):
        self.script = script
        self.mode = mode
        self.tick = tick
        # A reaction costs money, so none where the script may fail for want of it.
        self.reacts = reacts and script.config.on_insufficient_balance != "fail"
        self.seen = []
        self.outcomes = []

    @contextmanager
    def open(self):
        with driven(self.script, self.mode, self.tick) as self.driver:
            self.fake = self.driver.fake
            self.fake.webhooks.connect(handler=self.watch, events="*")
            yield

    def watch(self, request):
        balance = self.fake.balance
        self.seen.append((request.id, balance.available, balance.held, balance.charged))
        if self.reacts and b'"Reaction"' not in request.body and len(self.seen) % 3 == 0:
            # In the middle of an attempt a verb acts at once, and its event waits its turn.
            self.fake.send_text("Reaction", to="+4915199999").deliver()
            balance = self.fake.balance
            self.seen.append(("reacted", balance.available, balance.held, balance.charged))

    def story(self):
        """All that must not depend on the mode."""
        fake = self.fake
        return {
            "outcomes": self.outcomes,
            "bodies": [event.body for event in fake.events],
            "attempted": [attempt.body for attempt in fake.webhooks.attempts],
            "ledger": [
                (e.kind, e.amount, e.at, e.message_id, e.conversation_id) for e in fake.ledger
            ],
            "seen": self.seen,
            "balance": fake.balance,
            "messages": [(m.id, m.status, m.dropped, m.total_price) for m in fake.messages],
        }

    def conversation(self, call, ids):
        """The id to name; what a message of another run was told is found in `ids`."""
        if call.conversation is None or isinstance(call.conversation, str):
            return call.conversation
        return ids.get(repr(call.conversation))

    def run_sync(self, script_pieces, ids):
        model = self.script.model()
        with self.open():
            for piece in script_pieces:
                outcome = None
                self.driver.see_time()
                for call, number in piece.calls:
                    try:
                        self.driver.call(call, number, self.conversation(call, ids))
                    except REFUSALS as refused:
                        outcome = type(refused).__name__
                        if call.verb == "move":
                            with suppress(IllegalTransition):
                                self.driver.catch_up()
                        break
                    finally:
                        if not call.bad:
                            model_call(model, call)
                    self.learn(model, ids)
                self.outcomes.append(outcome)
            return self.story()

    def learn(self, model, ids):
        """Which conversation of the model's has which id; the same in every run of the script."""
        for message in model.messages:
            handle = self.driver.handles.get(message.label.number)
            if message.conversation is not None and handle is not None and handle.conversation:
                ids.setdefault(repr(message.conversation.label), handle.conversation.id)

    async def run_async(self, script_pieces, ids):
        with self.open():
            for piece in script_pieces:
                self.outcomes.append(await self.perform(piece, ids))
            return self.story()

    async def perform(self, piece, ids):
        """Make the calls of one piece, then await the last of them."""
        outcome, last, moved = None, None, False
        self.driver.see_time()
        for call, number in piece.calls:
            moved = call.verb == "move"
            try:
                last = self.driver.call(call, number, self.conversation(call, ids))
            except REFUSALS as refused:  # a bad argument is refused on the spot
                outcome = type(refused).__name__
                last = None
        if piece.refused and outcome is None:
            self.fake.top_up("1000")  # sync code would not have come this far
        while True:
            try:
                await (last if hasattr(last, "__await__") else self.fake.settle())
            except REFUSALS as refused:
                outcome = outcome or type(refused).__name__
                if moved:  # there may be more that is due, and illegal
                    last = None
                    continue
            return outcome


def test_sync_and_async_mode_tell_the_same_story(record_property):
    paths = Counter()

    with asyncio.Runner() as runner:

        @profile(125)
        @given(scripts(), st.booleans())
        def play(script, reacts):
            cut = pieces(script)
            ids = {}
            expected = Run(script, "sync", reacts=reacts).run_sync(cut, ids)

            found = runner.run(Run(script, "async", reacts=reacts).run_async(cut, ids))

            for part, told in expected.items():
                assert told == found[part], part
            paths["scripts in both modes"] += 1
            paths["pieces of several calls"] += sum(len(piece.calls) > 1 for piece in cut)
            paths["refused in the middle of a plan"] += sum(
                piece.refused and len(piece.calls) > 1 for piece in cut
            )
            paths["attempts in which the balance was read"] += len(expected["seen"])
            paths["reactions"] += sum(seen[0] == "reacted" for seen in expected["seen"])

        play()

    record_property("chatfake paths", dict(paths))
    assert len(+paths) == 5
