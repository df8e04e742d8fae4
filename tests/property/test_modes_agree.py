"""One script in sync and in async mode: the same bytes, the same ledger, the same money seen."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle, takewhile

from pytest_chatfake import ClockError, IllegalTransition

from .calls import Call
from .fake_driver import driven
from .scripts import play_scripts

REFUSALS = (IllegalTransition, ClockError, TypeError, ValueError)


@dataclass
class Piece:
    """What goes into one `await`: calls, the last of which may be refused."""

    calls: list[Call] = field(default_factory=list)
    refused: bool = False


def pieces(script):
    """Cut a script; after a refusal, sync code never reaches the rest of its piece either."""
    sizes = cycle(script.chunks)
    found, room = [Piece()], next(sizes)
    for call, refusal in takewhile(lambda made: made[0].verb != "reset", script.calls):
        # What acts at once, behind the fake's back, is a piece of its own.
        jump = call.verb == "move" and script.by_traveller
        alone = jump or call.verb in {"rate", "describe"}
        if alone or len(found[-1].calls) >= room:
            found.append(Piece())
            room = next(sizes)
        found[-1].calls.append(call)
        found[-1].refused = refusal is not None
        if alone or call.bad or refusal:
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

    def call(self, call, ids):
        """Make a call; a conversation has the same id in every run of the script."""
        return self.driver.call(call, ids.get(call.conversation, call.conversation))

    def run_sync(self, script_pieces, ids):
        with self.open():
            for piece in script_pieces:
                outcome = None
                self.driver.see_time()
                for call in piece.calls:
                    try:
                        self.call(call, ids)
                    except REFUSALS as refused:
                        outcome = type(refused).__name__
                        if call.verb == "move":
                            with suppress(IllegalTransition):
                                self.driver.catch_up()
                        break
                    handle = self.driver.handles.get(call.message)
                    if handle is not None and handle.conversation:
                        ids[call.message] = handle.conversation.id
                self.outcomes.append(outcome)
            return self.story()

    async def run_async(self, script_pieces, ids):
        with self.open():
            for piece in script_pieces:
                self.outcomes.append(await self.perform(piece, ids))
            return self.story()

    async def perform(self, piece, ids):
        """Make the calls of one piece, then await the last of them."""
        outcome, last, moved = None, None, False
        self.driver.see_time()
        for call in piece.calls:
            moved = call.verb == "move"
            try:
                last = self.call(call, ids)
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

    def play(script):
        cut = pieces(script)
        ids, reacts = {}, len(script.calls) % 2
        expected = Run(script, "sync", reacts=reacts).run_sync(cut, ids)

        found = runner.run(Run(script, "async", reacts=reacts).run_async(cut, ids))

        for part, told in expected.items():
            assert found[part] == told, part
        paths["scripts in both modes"] += 1
        paths["pieces of several calls"] += sum(len(piece.calls) > 1 for piece in cut)
        paths["refused in the middle of a plan"] += sum(
            piece.refused and len(piece.calls) > 1 for piece in cut
        )
        paths["attempts in which the balance was read"] += len(expected["seen"])
        paths["reactions"] += sum(seen[0] == "reacted" for seen in expected["seen"])

    with asyncio.Runner() as runner:
        play_scripts(60, play)

    record_property("chatfake paths", dict(paths))
    assert len(+paths) == 5
