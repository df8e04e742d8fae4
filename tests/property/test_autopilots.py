"""Random lives with autopilots: whatever happens, no move of time fails, and the run repeats."""

# Asserts read `expected == actual`.

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import time_machine
from hypothesis import given
from hypothesis import strategies as st

from pytest_chatfake import ChatFake, ClockError, IllegalTransition

from .model_life import WORDS
from .required_paths import profile
from .scripts import START

if TYPE_CHECKING:
    from pytest_chatfake import Autopilot, Message

DAY = 86_400
ADDRESSES = ["+1", "+2", "+3"]
SPANS = [None, 0, 60, (0, 7200), (0, 40 * DAY), lambda random: random.expovariate(1 / 600)]

addresses = st.sampled_from(ADDRESSES)
spans = st.sampled_from(SPANS)
which = st.integers(0, 5)
happenings = st.one_of(
    st.tuples(
        *(st.just("autopilot"), st.sampled_from([None, *ADDRESSES]), spans, spans),
        st.sampled_from([0, 0, 0.3, 1]),
    ),
    st.tuples(st.just("send"), addresses),
    st.tuples(st.just("verb"), which, st.sampled_from(["deliver", "read", "fail", "cancel"])),
    st.tuples(st.just("word"), addresses, st.sampled_from(sorted(WORDS))),
    st.tuples(
        st.just("describe"),
        addresses,
        st.sampled_from(["withheld", "registered", "read_receipts"]),
        st.booleans(),
    ),
    st.tuples(st.just("end"), which),
    st.tuples(st.just("move"), st.sampled_from([1, 60, 3600, DAY, 31 * DAY])),
    st.tuples(st.just("move to next")),
)
lives = st.lists(happenings, min_size=10, max_size=60)


class Life:
    """What a test does, one thing after another; a receiver looks at the money all the time."""

    def __init__(self, fake: ChatFake) -> None:
        self.fake = fake
        self.messages: list[Message] = []
        self.autopilots: list[Autopilot] = []
        fake.webhooks.connect(handler=self.look, events="*")

    def look(self, _: object) -> None:
        _ = self.fake.balance

    def happen(self, what: str, *more: Any) -> None:
        fake = self.fake
        if what == "move":  # outside of `suppress`: it must not fail
            fake.clock.advance(*more)
            return
        if what == "move to next" and fake.clock.next_due is not None:
            fake.clock.advance_to_next()
            return
        with suppress(IllegalTransition, ClockError, ValueError, IndexError):
            if what == "autopilot":
                to, deliver, read, share = more
                pilot = fake.autopilot(
                    to=to,
                    deliver_after=deliver,
                    read_after=read,
                    fail_share=share,
                    replies=lambda _, random: random.choice(["STOP", None]),
                    reply_after=read or 60,
                )
                self.autopilots.append(pilot)
            elif what == "send":
                self.messages.append(fake.send_text(to=more[0]))
            elif what == "verb":
                getattr(self.messages[-1 - more[0]], more[1])()
            elif what == "word":
                getattr(fake.recipient(more[0]), more[1])()
            elif what == "describe":
                fake.recipient(more[0], **{more[1]: more[2]})
            elif what == "end":
                self.autopilots[-1 - more[0]].end()


def bodies(happenings: list[tuple[Any, ...]]) -> list[bytes]:
    """Play a life to its end, 100 days later, and return what was emitted."""
    with time_machine.travel(START, tick=False), ChatFake(seed="life") as fake:
        life = Life(fake)
        for happening in happenings:
            life.happen(*happening)
        promised = {
            (entry.message.id, entry.at)
            for entry in fake.clock.agenda
            if entry.kind == "autopilot" and "writes()" not in entry.text
        }
        before = len(fake.events)
        fake.clock.advance(days=100)

        happened = {(one.message_id, one.create_time) for one in fake.events[before:]}
        assert promised == {one for one in happened if one[0] is not None}
        assert {"drop"}.isdisjoint(entry.kind for entry in fake.clock.agenda)
        assert 0 == fake.balance.held
        return [event.body for event in fake.events]


@profile(150)
@given(lives)
def test_no_move_of_time_fails_and_each_run_is_the_same(happenings: list[tuple[Any, ...]]) -> None:
    assert bodies(happenings) == bodies(happenings)
