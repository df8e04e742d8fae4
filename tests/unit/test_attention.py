"""What to look at, and which fakes are looked at."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.report import active_stories
from pytest_chatfake.report.story import Story
from pytest_chatfake.report.trace import Trace

from .fakes import frozen_fake, own_lines

if TYPE_CHECKING:
    from collections.abc import Callable


def looked_at(fake: ChatFake) -> list[str]:
    """The lines of what to look at, with the lines of tests put short."""
    text = fake._story.section().partition("\n\n")[0]
    return [
        re.sub(r"\S+\.py:\d+", "LINE", own_lines(line)).strip() for line in text.splitlines()[1:]
    ]


def test_an_event_that_comes_late_or_twice_says_after_what() -> None:
    with frozen_fake() as fake:
        fake.webhooks.receiver()
        fake.webhooks.connect(handler=lambda request: 500 if request.number == 1 else 200)
        fake.webhooks.delay(30, status="delivered", endpoint=fake.webhooks.receiver().endpoint)
        fake.send_text().deliver().read()
        fake.clock.advance(60)
        fake.webhooks.redeliver(fake.events[0])

        lines = looked_at(fake)

    assert [
        "20 attempt: delivered m1 -> Receiver() #2: 200 [delayed 30 s: LINE], after read m1 (18)",
        "22 attempt: sent m1 -> Receiver(): 200 [again: LINE], which it took before (5)",
        "24 attempt: sent m1 -> Receiver() #2: 200 [again: LINE], which it took before (7)",
    ] == lines[4:]
    assert not [line for line in lines[:4] if "before" in line or "after" in line]


def test_the_first_attempt_at_an_event_came_after_nothing() -> None:
    with frozen_fake() as fake:
        fake.webhooks.receiver()
        fake.webhooks.delay(5)
        fake.send_text()
        fake.clock.advance(5)

        assert ["6 attempt: sent m1 -> Receiver(): 200 [delayed 5 s: LINE]"] == looked_at(fake)


SAID: dict[str, tuple[Callable[[ChatFake], Any], list[str]]] = {
    "delivered": (
        lambda fake: fake.send_text(price="0.10").deliver(price="0.07"),
        [
            "charge: 0.07 m1",
            "event: sent m1, totalPrice 0.10, an estimate (§2.3)",
            "event: delivered m1, totalPrice 0.07, final (§2.3)",
        ],
    ),
    "free": (
        lambda fake: fake.send_text(price=0).read(),
        [
            "event: sent m1, totalPrice 0, an estimate (§2.3)",
            "event: read m1, totalPrice 0, final (§2.3)",
        ],
    ),
    "sent only": (
        lambda fake: fake.send_text(),
        ["event: sent m1, totalPrice 0.05, an estimate (§2.3)"],
    ),
    "failed": (lambda fake: fake.submit_text().reject(), ["event: failed m1"]),
}


@pytest.mark.parametrize("said", SAID)
def test_where_nothing_is_odd_the_last_events_say_what_they_told_of_money(said: str) -> None:
    do, expected = SAID[said]
    with frozen_fake() as fake:
        fake.webhooks.receiver()
        do(fake)

        assert expected == [line.partition(" ")[2] for line in looked_at(fake)]


@pytest.mark.parametrize("raw", [b"{broken", b"[1]", b'{"chatMessage": {"totalPrice": "0.05"}}'])
def test_an_event_without_a_price_says_nothing_of_one(raw: bytes) -> None:
    with frozen_fake() as fake:
        fake.webhooks.receiver()
        fake.webhooks.emit(fake.send_text(), "sent", raw=raw)

        assert not [line for line in looked_at(fake) if "totalPrice" in line]


def test_a_section_and_an_explanation_read_no_more_where_more_has_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []
    entry = Trace._entry
    monkeypatch.setattr(Trace, "_entry", lambda *given: read.append(1) or entry(*given))
    counts = []
    for number in (100, 2_000):
        with frozen_fake() as fake:
            fake.webhooks.receiver()
            for _ in range(number):
                fake.send_text().deliver()
            with pytest.raises(AssertionError):
                fake.assert_charged("7")
            read.clear()
            assert 90 < len(fake._story.section().splitlines()) < 110
            fake.explain(fake.messages[5])
            counts.append(len(read))

    assert counts[0] == counts[1] < 130


def test_a_route_that_raised_nowhere_has_no_place() -> None:
    with frozen_fake() as fake:
        fake._engine.errors.append(ValueError("lost"))

        assert "a route raised ValueError: lost" in looked_at(fake)
        fake._engine.errors.clear()


def test_an_attempt_that_ended_without_a_record_is_left_out() -> None:
    with frozen_fake() as fake:
        receiver = fake.webhooks.receiver()
        fake.send_text()
        before = list(fake.timeline)
        fake._engine.journal.note(4)  # an attempt has begun, and none is on its way

        assert before == list(fake.timeline)
        assert receiver.events


# -- which fakes are looked at ---------------------------------------------------------------------


def test_a_fake_outside_a_test_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_stories, "_watched", None)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with frozen_fake():
        assert not active_stories.is_in_a_test()
        assert [] == active_stories.stories()


def test_a_fake_in_a_test_that_nobody_began_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_stories, "_watched", None)
    with frozen_fake() as fake:
        assert [fake._story] == active_stories.stories()
        active_stories.dismiss(fake._story)
        active_stories.dismiss(fake._story)
        assert [] == active_stories.stories()


def test_of_very_many_fakes_each_is_looked_at_before_it_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Story] = []
    monkeypatch.setattr(active_stories, "_watched", None)
    monkeypatch.setattr(active_stories, "leaving", seen.append)
    with ExitStack() as stack:
        fakes = [stack.enter_context(frozen_fake()) for _ in range(12)]

    assert [fake._story for fake in fakes[:2]] == seen
