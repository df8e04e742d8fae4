"""One body in every world: which worlds there are, what is a finding, and what is not."""

import asyncio
import gc
import random
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import wraps
from itertools import chain, combinations, count, repeat
from uuid import uuid4

import pytest
import time_machine

from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    ChatFakeError,
    NotAwaited,
    NotRepeatable,
    UndeliveredWebhooks,
    WebhookWarning,
    explore,
)
from pytest_chatfake.exploring.description import describe
from pytest_chatfake.exploring.deviations import DEFAULT, Call, Deviation
from pytest_chatfake.exploring.explorer import Explorer
from pytest_chatfake.exploring.search import (
    CheckedOptions,
    LoggedAttempt,
    LoggedCall,
    Search,
    WorldLog,
)

from ..unit.api_clients import send_call

EXPLORING = "pytest_chatfake.exploring"

# -- which worlds there are, held against brute force ----------------------------------------------


def by_brute_force(events, depth, *, refusals=False):
    """Every order in which up to `depth` of the attempts 1, 2, ... deviate.

    They are moved or copied later, or refused: then they come last. One that is nevertheless in its
    place is negative: the app can tell it by its number alone.
    """

    def later(made, left, used):
        come_last = [place for place, (event, _) in enumerate(made) if event in refused]
        yield made
        for place, (event, copied) in enumerate(made):
            if not left or copied or event in used:
                continue
            rest = made[:place] + made[place + 1 :]
            for end in range(place + 1, min(come_last, default=len(made))):
                moved = [*rest[:end], (event, False), *rest[end:]]
                yield from later(moved, left - 1, used | {event})
            for end in range(place + 1, len(made) + 1):
                yield from later(
                    [*made[:end], (event, True), *made[end:]], left - 1, used | {event}
                )

    def numbered(made):
        order = [event for event, _ in made]
        for place, event in enumerate(order):
            is_in_place = event > max(order[:place], default=0)
            yield -event if event in refused and is_in_place else event

    found = set()
    for size in range(depth + 1 if refusals else 1):
        for refused in combinations(range(1, events + 1), size):
            others = [event for event in range(1, events + 1) if event not in refused]
            made = [(event, False) for event in (*others, *refused)]
            orders = later(made, depth - size, frozenset(refused))
            found |= {tuple(numbered(order)) for order in orders}
    return found


def sending(chat_fake, *, events=2, settles=False):
    """Connect a receiver, send so many events, and return the numbers of those that came.

    One whose first attempt is a retry is negative, unless a later one came before it.
    """
    got = []

    def take(request):
        number = chat_fake.events.index(request.event) + 1
        is_in_place = number > max(map(abs, got), default=0)
        got.append(-number if is_in_place and request.number > 1 else number)

    chat_fake.webhooks.connect(handler=take)
    for number in range(events):
        chat_fake.send_text(to=f"+{number}")
        if settles:
            chat_fake.settle()
    chat_fake.settle()
    return got


def explored(events, **options):
    """The orders in which attempts came in the worlds that were run, and the exploration."""
    orders = []
    body = lambda fake: orders.append(tuple(sending(fake, events=events)))  # noqa: E731
    return orders, explore(body, **options)


@pytest.mark.parametrize(
    ("events", "depth"),
    [(1, 2), (2, 0), (2, 2), (3, 2), (3, 3), (4, 2), (5, 1)],
)
@pytest.mark.parametrize(
    "deviations", [("duplicate", "reorder"), ("duplicate", "reorder", "lose_response", "refuse")]
)
def test_the_worlds_are_those_of_brute_force_and_few_are_run_twice(events, depth, deviations):
    orders, exploration = explored(events, depth=depth, deviations=deviations)

    expected = by_brute_force(events, depth, refusals="refuse" in deviations)
    assert expected == set(orders)
    assert len(expected) == exploration.worlds
    assert len(orders) < 2.2 * exploration.worlds


def test_calls_that_send_one_message_and_several_are_combined():
    paths = {"/one": (1,), "/two": (1, 1), "/three": (2,)}
    calls = [LoggedCall(1, Call(path, "POST"), False, sent) for path, sent in paths.items()]
    log = WorldLog((), calls=calls)
    search, tried = Search(CheckedOptions(("webhooks_first",))), []
    search.add(log)
    for deviations in search.worlds_to_try():
        tried.append([deviation.call.path for deviation in deviations])
        search.add(log._replace(unseen=frozenset(deviations)))

    pairs = [["/one", "/two"], ["/one", "/three"], ["/two", "/three"]]
    assert tried == [["/one"], ["/two"], ["/three"], *pairs]


def test_worlds_come_by_how_much_they_deviate():
    orders, _ = explored(3)
    written, *others = dict.fromkeys(orders)

    assert written == (1, 2, 3)
    expected = by_brute_force(3, 1, refusals=True)
    singles = [order for order in others if order in expected]
    assert singles == others[: len(singles)]
    assert others[:3] == [(1, 1, 2, 3), (1, 2, 2, 3), (1, 2, 3, 3)]  # at once, of each


def test_pairs_of_one_message_come_before_those_of_two():
    concerned = []

    def world(chat_fake):
        chat_fake.webhooks.receiver()
        for number in range(2):
            chat_fake.send_text(to=f"+{number}").deliver()
        chat_fake.settle()
        again = [one.event.message_id for one in chat_fake.webhooks.attempts if one.fault]
        if len(again) == 2:
            concerned.append({*again})

    explore(world, deviations=["duplicate"])

    counts = [len(messages) for messages in concerned]
    assert sorted(counts) == counts
    assert {1, 2} == {*counts}


@pytest.mark.parametrize(
    ("events", "options", "text"),
    [
        (3, {}, "49 worlds, all with up to 2 deviations"),
        (3, {"depth": 1}, "11 worlds, all with up to 1 deviation"),
        (0, {"depth": 0}, "1 world: the body as written"),
        (3, {"limit": 10}, "10 worlds, cut by limit=10"),
        (3, {"limit": 49}, "49 worlds, cut by limit=49"),
        (3, {"limit": 4}, "4 worlds, cut by limit=4"),
    ],
)
def test_an_exploration_says_what_it_did(events, options, text):
    exploration = explored(events, **options)[1]
    assert text == str(exploration)
    assert ("cut" not in text) == exploration.complete


def test_an_exploration_ends_after_so_many_seconds(monkeypatch):
    now = iter(range(0, 1_000, 3))
    monkeypatch.setattr(f"{EXPLORING}.exploration.monotonic", lambda: next(now))

    assert "cut by seconds=10" in str(explored(3, seconds=10)[1])


def test_a_mock_of_the_app_s_monotonic_clock_ends_no_exploration(monkeypatch):
    days = count(step=86_400)
    for name in ("monotonic", "monotonic_ns", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: next(days))

    assert "cut" not in str(explored(3, seconds=10)[1])


def test_the_progress_line_says_what_worlds_are_busy_with(monkeypatch):
    clock, lines = [10], []
    for name in ("environment", "world_observer"):
        monkeypatch.setattr(f"{EXPLORING}.{name}.monotonic_ns", lambda: clock[0] * 10**9)
    monkeypatch.setattr(f"{EXPLORING}.exploration.monotonic", lambda: clock[0])

    def take(request):
        clock[0] += 2

    def world(chat_fake):
        clock[0] += 1
        chat_fake.webhooks.connect(handler=take)
        chat_fake.send_text()
        chat_fake.settle()

    Explorer(progress=lines.append)(world)
    assert lines[0] == "chat_explore: 1 world, 6 s, 67% of it in attempts"


def test_progress_is_told_after_two_seconds_and_then_not_at_each_world(monkeypatch):
    clock, told = [0.0], []
    monkeypatch.setattr(f"{EXPLORING}.exploration.monotonic", lambda: clock[0])

    def world(chat_fake):
        clock[0] += 0.125
        chat_fake.webhooks.receiver()
        chat_fake.send_text().deliver().read()
        chat_fake.settle()

    Explorer(progress=lambda _: told.append(*clock))(world)
    assert told[:3] == [2, 2.25, 2.5]


def test_a_barrier_is_not_passed_by_a_first_attempt_and_by_a_repeat_it_is():
    orders = set()
    explore(lambda fake: orders.add(tuple(sending(fake, settles=True))))

    assert {(1, 2), (1, 1, 2), (1, 2, 1), (1, 2, 2), (-1, 2), (-1, -2)} <= orders
    assert all(abs(order[0]) == 1 for order in orders)


def test_what_an_app_causes_deviates_too():
    orders = set()

    def world(chat_fake):
        got = []

        def app(request):
            got.append(request.json()["chatMessage"]["text"]["body"])
            if got == ["ping"]:
                chat_fake.send_text("pong")

        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text("ping")
        chat_fake.settle()
        orders.add(tuple(got))

    explore(world, depth=1)

    assert {("ping", "pong"), ("ping", "ping", "pong"), ("ping", "pong", "pong")} <= orders


def test_a_loss_for_good_is_tried_if_it_is_asked_for_and_not_by_all():
    lost = [(1, 2), (1, 2), (2,), (1,)]
    assert explored(2, deviations=["lose"], depth=1)[0] == lost
    found = {*explored(2, deviations="all", depth=1)[0]}
    assert {*explored(2, depth=1)[0]} <= found
    assert found.isdisjoint([(2,), (1,)])


MOVES = [3_690, 3_690.5]


@pytest.mark.parametrize(
    ("kind", "others"),
    [
        ("duplicate_later", [[3_600, at] for at in (*MOVES, 3_600 + 86_400)]),
        ("delay", [[at] for at in MOVES]),
    ],
)
def test_later_events_come_at_moves_of_time_and_a_repeat_after_a_session(kind, others):
    seen = []

    def world(chat_fake):
        start = chat_fake.clock.now
        seen.append(came := [])
        chat_fake.webhooks.connect(
            handler=lambda _: came.append((chat_fake.clock.now - start).total_seconds())
        )
        chat_fake.clock.advance(hours=1)
        chat_fake.send_text()
        chat_fake.clock.advance(seconds=90)
        chat_fake.clock.advance(seconds=0.5)

    exploration = explore(world, deviations=[kind], depth=1)

    assert [[3_600], [3_600], *others] == seen
    assert len(others) + 1 == exploration.worlds


def test_an_event_is_delayed_by_waits_of_the_body_and_not_of_settle():
    def world(chat_fake):
        got = []

        def take(request):
            if request.event.status == "delivered" and "sent" not in got:
                return 503
            got.append(request.event.status)
            return 200

        chat_fake.webhooks.connect(handler=take, retry_after=[60])
        chat_fake.send_text().deliver()
        chat_fake.settle()
        assert {"sent", "delivered"} == {*got}

    exploration = explore(world, deviations=["reorder", "duplicate_later", "delay"])
    assert exploration.worlds > 5
    assert "delay was not tried: your scenario never moves the clock" in str(exploration)


def noting(chat_fake):
    """Connect an app that notes what comes, which attempt of it, and when; return how to note."""

    def note(what, number=0):
        note.seen.append((what, number, chat_fake.clock.now))

    note.seen = []
    chat_fake.webhooks.connect(handler=lambda request: note(request.event.status, request.number))
    return note


@pytest.mark.parametrize(
    ("kind", "hours", "worlds"),
    [
        ("duplicate", 0, 14),
        ("refuse", 0, 9),  # an attempt that never reached the app has a moment, too
        ("duplicate", 1, 18),  # a repeat after one more attempt may come an hour later
        ("refuse", 1, 16),
    ],
)
def test_worlds_with_the_same_attempts_at_the_same_moments_are_one(kind, hours, worlds):
    came = []

    def world(chat_fake):
        note = noting(chat_fake)
        if hours:
            chat_fake.autopilot(deliver_after=3_600 * hours)
            chat_fake.send_text()
        else:
            chat_fake.send_text().deliver()
        chat_fake.clock.advance(hours=24)
        came.append(note.seen)

    exploration = explore(world, deviations=[kind, "duplicate_later"])

    assert worlds == len({*map(tuple, came)}) == exploration.worlds


def test_worlds_are_two_if_a_look_at_a_barrier_tells_them_apart():
    came = []

    def world(chat_fake):
        note = noting(chat_fake)
        message = chat_fake.send_text()
        chat_fake.clock.advance(hours=1)
        note("look")
        message.deliver()
        came.append(note.seen)

    exploration = explore(world, deviations=["duplicate", "refuse", "duplicate_later"])

    assert len({*map(tuple, came)}) == exploration.worlds
    orders = [[what for what, *_ in seen] for seen in came]
    # An hour later in both: by a pause, and because `delivered` was refused.
    assert ["sent", "sent", "look", "delivered"] in orders
    assert ["sent", "look", "sent", "delivered"] in orders


def test_a_service_that_has_evolved_is_one_more_world_and_never_combined():
    orders, exploration = explored(2, deviations=["duplicate", "evolve"])

    assert 1 + len(explored(2, deviations=["duplicate"])[0]) == len(orders)
    assert exploration.complete


def test_each_field_that_an_event_has_gets_an_unknown_value_in_a_world():
    seen = set()

    def world(chat_fake):
        def app(request):
            message = request.json()["chatMessage"]
            seen.add((message["conversation"]["originType"], message["type"]))

        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text()

    exploration = explore(world, deviations=["unknown_value"])

    assert seen == {("marketing", "text"), ("added_later", "text"), ("marketing", "added_later")}
    assert (exploration.worlds, exploration.complete) == (3, True)


def test_a_finding_names_each_field_whose_unknown_value_fails():
    def world(chat_fake):
        chat_fake.webhooks.connect(
            handler=lambda request: 500 if b"added_later" in request.body else 200
        )
        chat_fake.send_text()

    text = notes(world, deviations=["unknown_value"])
    assert "fails in world 2: every conversation.originType had an unknown value" in text
    assert "also: unknown_value (world 3): every type had an unknown value" in text


def test_an_app_may_map_unknown_values_so_they_compare_no_snapshots():
    def world(chat_fake):
        kinds = set()
        app = lambda request: kinds.add(request.json()["chatMessage"]["type"])  # noqa: E731
        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text()
        chat_fake.assert_order_independent(lambda: kinds)

    assert explore(world, deviations=["unknown_value"]).worlds == 3


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ("d1 d1 r1", ["r1"]),
        ("d1 r1 d2 r2", ["r1 d2 r2", "d1 r1 r2"]),
        ("d1 d2 r1 r2", ["d2 r1 r2", "d1 r1 r2"]),
        ("d1 d2 d1 r1", []),
        ("d1 d2 d1 r2 r1", ["d1 d1 r2 r1"]),
        ("d1 d2", []),
        ("r1", []),
    ],
)
def test_each_message_that_was_delivered_is_read_at_once_in_a_world(actions, expected):
    orders = []

    def world(chat_fake):
        got = []
        messages = {key: chat_fake.send_text(to=f"+{key}") for key in "12"}
        numbers = {message.id: key for key, message in messages.items()}

        def app(request):
            message = request.json()["chatMessage"]
            got.append(message["status"][0] + numbers[message["id"]])

        chat_fake.webhooks.connect(handler=app)
        for verb, key in actions.split():
            message = messages[key]
            message.deliver() if verb == "d" else message.read()
        chat_fake.settle()
        orders.append(" ".join(got))

    exploration = explore(world, deviations=["read_at_once"])

    assert {actions, *expected} == {*orders}
    assert 1 + len(expected) == exploration.worlds
    assert bool(expected) == exploration.complete


def test_what_waits_when_the_body_fails_is_named():
    def world(chat_fake):
        receiver = chat_fake.webhooks.receiver()
        chat_fake.send_text().deliver()
        chat_fake.settle()
        assert len(receiver.requests) == 2
        chat_fake.clock.advance(1)

    assert "delivered m1 had not arrived when the body failed" in notes(world, deviations=["delay"])


def test_what_overtakes_is_named_where_the_app_fails_at_it():
    def world(chat_fake):
        statuses = {}

        def app(request):
            if request.event.status == "sent":
                statuses[request.event.message_id] = "sent"
            assert statuses

        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text().deliver()

    found = notes(world, deviations=["reorder"])
    assert "delivered m1 arrived before sent m1" in found


def test_events_of_one_message_or_type_and_recorded_ones_are_told_apart(tmp_path):
    recording = tmp_path / "three.jsonl"
    lines = [
        f'{{"id":"{n}","type":"chat.message.updated","chatMessage":{{"id":"{m}","status":"read"}}}}'
        for n, m in enumerate("aab")
    ]
    recording.write_text("\n".join(lines))

    def body(chat_fake):
        receiver = chat_fake.webhooks.receiver(events="*")
        chat_fake.webhooks.replay(recording, timing="at once")
        chat_fake.send_text().deliver(devices=2)
        for _ in range(2):
            chat_fake.webhooks.emit_event("a.b")
        chat_fake.settle()
        assert list(chat_fake.events) == list(receiver.events)

    for start, sentence in [
        (1, "read r1 #2 arrived before read r1"),
        (2, "read r2 arrived before read r1 #2"),
        (5, "delivered m1 #2 arrived before delivered m1"),
        (7, "a.b #2 arrived before a.b"),
    ]:
        assert f": {sentence}\n" in notes(body, only=[f"webhooks.reorder(by=1, start={start})"])


def test_a_session_is_as_long_as_it_is_configured():
    config = ChatFakeConfig(conversation_length=0.5)
    found = notes(counting(2), config=config, deviations=["duplicate_later"])
    assert "pause=0.5, start=2" in found


@pytest.mark.parametrize("receivers", [0, 1])
def test_each_two_attempts_before_a_barrier_are_made_at_the_same_time(receivers):
    met = []

    def world(chat_fake):
        async def app(request):
            await asyncio.sleep(0)

        chat_fake.webhooks.connect(handler=app)
        for _ in range(receivers):
            chat_fake.webhooks.receiver()
        message = chat_fake.send_text().deliver()
        chat_fake.settle()
        message.read()
        chat_fake.settle()
        met.append([one.event.status for one in chat_fake.webhooks.attempts if one.marks])

    exploration = explore(world, deviations=["duplicate_at_once", "concurrently"], depth=1)

    assert exploration.worlds == 5
    pairs = [["sent"] * 2, ["delivered"] * 2, ["read"] * 2]
    ways = 1 + receivers  # an attempt at a receiver comes in between
    assert met == [[], [], *pairs, *[["sent", "delivered"]] * ways]


# -- what every world begins with ------------------------------------------------------------------


def test_every_world_begins_with_the_same_ids_key_price_time_and_chance():
    seen = []

    def world(chat_fake):
        chat_fake.webhooks.receiver()
        begin = chat_fake.clock.now
        message = chat_fake.send_text()
        chat_fake.clock.advance(hours=1)
        price = message.total_price
        shown = chat_fake.api_key[-4:]
        seen.append((message.id, shown, begin, random.random(), time.time(), price))

    with time_machine.travel(1_000_000_000, tick=False):
        explore(world, config=ChatFakeConfig(price=2))
        assert time.time() == 1_000_000_000

    first, again, *others = seen
    assert {first} == {*others}
    assert first[0] != again[0]  # the second run has other ids
    assert first[1:] == again[1:]
    assert first[4:] == (1_000_003_600, 2)


def test_each_world_has_an_api_key_of_its_own():
    """Or a call of its app that comes late would reach the next one."""
    keys = []

    def world(chat_fake):
        sending(chat_fake)
        keys.append(chat_fake.api_key)

    for _ in range(2):  # explorations with the same seed
        explore(world, depth=1, deviations=["duplicate"])
    assert len({*keys}) == len(keys) > 6


def test_a_configured_api_key_is_that_of_every_world():
    keys = []
    config = ChatFakeConfig(api_key="a-key-of-my-own")
    explore(lambda fake: keys.append(fake.api_key), depth=0, config=config)
    assert keys == ["a-key-of-my-own"]


def test_what_the_handler_of_an_alarm_raises_is_no_finding(monkeypatch):
    def handler(*_):
        pytest.fail("Timeout")

    def world(chat_fake):
        if len(sending(chat_fake, events=1)) > 1:
            handler()

    monkeypatch.setattr(signal, "getsignal", lambda _: handler)
    with pytest.raises(pytest.fail.Exception) as caught:
        explore(world, deviations=["duplicate"])
    assert not hasattr(caught.value, "__notes__")


def test_chance_is_the_same_in_every_world_whatever_the_ids():
    def world(chat_fake):
        chat_fake.webhooks.receiver()
        chat_fake.autopilot(deliver_after=(60, 3600), fail_share=0.3)
        with chat_fake.webhooks.paused() as pause:
            for number in range(4):
                chat_fake.send_text(to=f"+1555000{number}")
            pause.release(order="shuffled")
        chat_fake.clock.advance(hours=1)

    assert explore(world, limit=5).worlds == 5


# -- what is a finding -----------------------------------------------------------------------------


def notes(body, **options):
    """The notes of what an exploration raises."""
    try:
        explore(body, **options)
    except Exception as error:
        return "\n".join(error.__notes__)
    pytest.fail("nothing was found")


def counting(expected):
    """A body that expects so many attempts of its two events."""

    def world(chat_fake):
        got = []
        chat_fake.webhooks.connect(handler=got.append)
        chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert expected == len(got)

    return world


def test_the_body_as_written_must_pass():
    with pytest.raises(AssertionError) as caught:
        explore(counting(3))
    (note,) = caught.value.__notes__
    assert note.startswith("What happened in this world:")


def log_of(*attempts):
    """The log of attempts such as "1 sent": the number of the first attempt, and what it was."""
    made = []
    for attempt in attempts:
        number, what, *rest = attempt.split()
        endpoint, place = "".join(rest[:1]).strip("-"), int("".join(rest[1:]) or 0)
        here = (what, f"{what} m1", endpoint, True, place, (), "crashed at a.py:1")
        made.append(LoggedAttempt(int(number), int(number), 1, *here))
    return WorldLog(made)


@pytest.mark.parametrize(
    ("kind", "attempts", "sentence"),
    [
        ("duplicate", "1 sent, 1 sent", "sent m1 was redelivered"),
        (
            "duplicate",
            "1 sent a, 2 sent b, 1 sent a",
            "sent m1 at a was redelivered after sent m1",
        ),
        ("reorder", "2 read, 1 sent", "read m1 arrived before sent m1"),
        (
            "reorder",
            "2 a, 3 b, 4 c, 5 d, 1 sent",
            "a m1, b m1 and 2 more arrived before sent m1",
        ),
        ("reorder", "1 sent, 2 read", "sent m1 arrived late"),
        (
            "lose_response",
            "1 sent, 1 sent",
            "the response to sent m1 was lost, so it was retried",
        ),
        (
            "refuse",
            "1 sent, 2 read, 1 sent",
            ("sent m1 was refused before it reached the app, so it was retried after read m1"),
        ),
        (
            "crash",
            "1 sent, 1 sent",
            "the app crashed at a.py:1 while it handled sent m1, which was retried",
        ),
        (
            "crash",
            "1 sent",
            "the app crashed at a.py:1 while it handled sent m1",
        ),
        ("lose", "1 sent", "sent m1 was lost"),
        ("lose", "2 sent", "attempt 1 was never made"),
        ("duplicate_later", "1 sent, 1 sent", "sent m1 was redelivered 1 day later"),
        ("delay", "2 read a, 1 sent b", "sent m1 at b arrived 1 day late"),
        ("duplicate_new_id", "1 sent, 1 sent", "sent m1 was redelivered with a new id"),
        ("evolve", "1 sent", "every event had unknown fields"),
        (
            "read_at_once",
            "1 delivered, 2 delivered #2, 3 read",
            "read m1 arrived without delivered m1",
        ),
        ("read_at_once", "1 sent", "read arrived without delivered"),
        ("concurrently", "1 sent", "sent m1 arrived late"),
        (
            "concurrently",
            "1 sent - 1, 2 read - 1, 3 sent - 2",
            "sent m1 and read m1 arrived at the same time",
        ),
        (
            "concurrently",
            "1 sent a 1, 2 sent b 1",
            "sent m1 arrived at the same time at a and b",
        ),
        (
            "concurrently",
            "1 sent a 1, 1 sent a 1",
            "sent m1 arrived twice at the same time at a",
        ),
    ],
)
def test_a_sentence_says_what_deviated(kind, attempts, sentence):
    deviation = Deviation(kind, 1, 86_400 * 10**9)
    assert sentence == describe(deviation, log_of(*attempts.split(", ")))


@pytest.mark.parametrize(
    ("kind", "number", "more", "sentence"),
    [
        ("webhooks_first", 1, (), "the webhooks of the 1st POST /a arrived before its response"),
        (
            "webhooks_first",
            1,
            (("delivered", True),),
            "the webhooks of the 1st POST /a and `delivered` arrived before its response",
        ),
        ("api.fail", 2, (("status", 503),), "the 2nd POST /a was refused with 503"),
        ("api.fail_401", 2, (("status", 401),), "the 2nd POST /a was refused with 401"),
        (
            "api.fail_400",
            1,
            (("status", 400), ("times", None)),
            "the 1st POST /a and all later ones were refused with 400",
        ),
        ("api.rate_limit", 1, (), "the 1st POST /a was refused with 429 and Retry-After"),
        ("api.truncate", 1, (), "the response to the 1st POST /a was cut off"),
        (
            "api.disconnect",
            1,
            (),
            "the connection of the 1st POST /a was closed before it took effect",
        ),
        (
            "api.lose_response",
            1,
            (("reset", True),),
            "the connection of the 1st POST /a was reset after the call took effect",
        ),
        ("api.lose_response", 3, (), "the response to the 3rd POST /a was lost"),
        ("api.lose_response", 11, (), "the response to the 11th GET /a was lost"),
        (
            "api.lose_response",
            11,
            (("status", 502),),
            "the response to the 11th POST /a said 502, although the call took effect",
        ),
        ("api.fail", 22, (), "the 22nd POST /a was never made"),
    ],
)
def test_a_sentence_names_a_call_by_its_method_and_path(kind, number, more, sentence):
    method = "GET" if "GET" in sentence else "POST"
    deviation = Deviation(kind, number, 0, (*more, ("path", "/a"), ("method", method)))
    calls = [LoggedCall(one, Call("/a", method), False) for one in range(1, 12)]
    assert sentence == describe(deviation, WorldLog([], calls))


def test_a_finding_has_its_sentences_its_hint_and_the_lines_of_its_faults():
    def world(chat_fake):
        got = []
        chat_fake.webhooks.connect(handler=got.append)
        chat_fake.send_text().deliver()
        assert got[0].event.status == "sent"

    found = notes(world, deviations=["reorder"])
    assert found.startswith(
        "chat_explore: passes as written; fails in world 2: delivered m1 arrived before "
        "sent m1\nHint: call settle() before asserting.\nWhat happened in this world:\n"
    )
    assert "fault    reorder(by=1)" in found
    assert found.endswith(
        "This world alone: chat_explore(only=['webhooks.reorder(by=1, start=1)'])"
    )
    assert "Hint" not in notes(counting(2))
    two = "chat_explore: fails in this world:\n  sent m1 was redelivered\n  delivered m1"
    listed = ["webhooks.duplicate(after=0, start=1)", "webhooks.refuse(start=2)"]
    assert two in notes(counting(2), only=listed)


def test_a_finding_blames_no_missing_settle_if_the_app_has_raised():
    def world(chat_fake):
        def app(request):
            got.append(request.id)
            if got.count(request.id) > 1:
                raise KeyError(request.id)

        got = []
        chat_fake.webhooks.connect(handler=app, raise_exceptions=False)
        chat_fake.send_text()
        assert all(attempt.ok for attempt in chat_fake.webhooks.attempts)

    assert "Hint" not in notes(world)


def wsgi_app(got, *, again="204 No Content"):
    """A WSGI app that notes its requests, and responds with another status from the second on."""

    def app(_, start):
        got.append(1)
        start("204 No Content" if len(got) == 1 else again, [])
        return []

    return app


def test_a_failed_attempt_is_a_finding_unless_strict_is_false():
    def world(chat_fake):
        chat_fake.webhooks.connect(wsgi=wsgi_app([], again="500 Whatever"))
        chat_fake.send_text()

    assert explore(world, config=ChatFakeConfig(strict=False)).complete
    assert explore(sending).complete  # a response that was lost on purpose is none
    with pytest.raises(UndeliveredWebhooks, match="500"):
        explore(world)


def test_warnings_count_in_the_world_as_written_only():
    def failing(fake):
        if len(sending(fake, events=1)) > 1:
            warnings.warn("again", stacklevel=1)
            raise LookupError

    with pytest.raises(LookupError) as found:
        explore(failing)
    assert "As a test to paste" in "\n".join(found.value.__notes__)

    def warned(chat_fake):
        sending(chat_fake)
        chat_fake.webhooks.lose(status="read")

    with pytest.warns(WebhookWarning, match="unused fault") as caught:
        explore(warned, config=ChatFakeConfig(strict=False))
    assert len(caught) == 1


def ending(error):
    """A body that raises this where an event comes twice."""

    def world(chat_fake):
        if len(sending(chat_fake, events=1)) > 1:
            raise error

    return world


@pytest.mark.parametrize(
    "error",
    [
        unittest.SkipTest("no"),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        pytest.skip.Exception("no"),
        pytest.xfail.Exception("no"),
    ],
)
def test_what_is_no_failure_passes_through(error):
    with pytest.raises(type(error)) as caught:
        explore(ending(error))
    assert not hasattr(caught.value, "__notes__")
    assert explore(counting(2), depth=0).complete  # everything was closed


def test_pytest_fail_in_a_world_is_a_finding():
    with pytest.raises(pytest.fail.Exception) as failed:
        explore(ending(pytest.fail.Exception("no")))
    assert "was redelivered" in failed.value.__notes__[0]


def test_an_error_before_the_body_begins_is_raised_as_it_is(monkeypatch):
    def refuse(self):
        raise ChatFakeError("no watch today")

    monkeypatch.setattr(f"{EXPLORING}.memories.MemoryWatch.begin", refuse)
    with pytest.raises(ChatFakeError, match="no watch today"):
        explore(sending)


def test_a_deviation_that_can_not_be_set_up_is_no_finding(monkeypatch):
    def refuse(self, fake, *, only_waits=False):
        raise ChatFakeError("no such fault today")

    monkeypatch.setattr(f"{EXPLORING}.deviations.Deviation.set_up", refuse)
    with pytest.raises(ChatFakeError, match="no such fault today") as caught:
        explore(sending)
    assert not hasattr(caught.value, "__notes__")


# -- bodies and lists in which nothing would be tried ----------------------------------------------


def silent(chat_fake):
    chat_fake.webhooks.receiver()


def unconnected(chat_fake):
    chat_fake.send_text().deliver()


def lossy(chat_fake):
    chat_fake.webhooks.lose(times=None)
    sending(chat_fake)


@pytest.mark.parametrize("only", [None, ["webhooks.reorder()"]])
@pytest.mark.parametrize(
    ("body", "words"),
    [(silent, "caused no webhook"), (lossy, "caused no webhook"), (unconnected, "connected no")],
)
def test_a_body_in_which_nothing_can_deviate_is_refused(body, words, only):
    with pytest.raises(ChatFakeError, match=words):
        explore(body, only=only)
    if only is None:
        assert explore(body, depth=0).worlds == 1  # it rightly has none, and says so


def test_a_body_that_resets_its_fake_at_the_end_has_sent_something():
    def world(chat_fake):
        sending(chat_fake)
        chat_fake.reset()

    assert explore(world).worlds > 1


@pytest.mark.parametrize(
    ("only", "words"),
    [
        ("webhooks.reorder(by=1, start=9)", "that never happened"),
        ("api.fail(status=503, path='/', method='GET', start=3)", "that never happened"),
        ("webhooks.reorder(by=2, start=1)", "fewer attempts follow before the next barrier"),
        ("webhooks.duplicate(after=3)", "fewer attempts follow before the next barrier"),
    ],
)
def test_a_listed_deviation_that_comes_to_nothing_is_refused(only, words):
    with pytest.raises(ChatFakeError, match=f"does not match this body: .*{words}"):
        explore(sending, only=[only])


@pytest.mark.parametrize("given", ["after=0", "after=1", "pause=2", "new_id=True"])
def test_a_listed_world_is_run_alone(given):
    exploration = explore(sending, only=[f"webhooks.duplicate({given}, start=1)"])
    assert (exploration.worlds, exploration.complete) == (1, False)


def test_a_duplicate_past_a_barrier_is_no_test_to_paste_but_a_world():
    def world(chat_fake):
        taken = []

        def take(request):
            if taken[-1:] != [request.id]:  # a duplicate that comes at once is known
                taken.append(request.id)

        chat_fake.webhooks.connect(handler=take)
        for _ in range(2):
            chat_fake.send_text()
            chat_fake.settle()
        assert len(chat_fake.events) == len(taken)

    found = notes(world, deviations=["duplicate"])
    assert "sent m1 was redelivered after sent m2" in found
    assert "There is no test to paste: on its own, the body does not fail the same way" in found
    only = ["webhooks.duplicate(after=1, start=1)"]
    assert f"This world alone: chat_explore(only={only})" in found
    assert "redelivered after sent m2" in notes(world, only=only)


# -- bodies that are not the same twice ------------------------------------------------------------


def test_an_app_that_is_kept_is_refused_with_the_remedy():
    got = []

    def world(chat_fake):
        chat_fake.webhooks.connect(handler=got.append)
        chat_fake.send_text()
        assert len(got) == 1

    with pytest.raises(NotRepeatable, match=r"(?s)passed once, .*\nCreate the app inside the body"):
        explore(world)


def test_both_timelines_are_shown_from_where_they_part_without_ids():
    runs = iter(range(2))

    def world(chat_fake):
        chat_fake.webhooks.connect(handler=lambda request: (404, f"no {request.id}"))
        message = chat_fake.send_text()
        _ = message.fail() if next(runs) else message.deliver().read()
        assert chat_fake.webhooks.attempts

    with pytest.raises(NotRepeatable) as caught:
        explore(world)
    problem, _, sides = str(caught.value).partition("\n")
    assert "step 2 was delivered m1 at endpoint 1: 404, but with other ids it was fail" in problem
    assert (
        re.sub(r"test_\w+\.py:\d+", "test.py", sides).partition(" the app")[0]
        == """\
At first:
  2  +0:00.000  hold     0.05 m1
  3             event    sent m1
  4             attempt  sent m1 -> <lambda>(): 404 no evt_...
  5             verb     deliver() m1  at test.py
  6             release  0.05 m1
  7             charge   0.05 m1
  8             event    delivered m1
  9             attempt  delivered m1 -> <lambda>(): 404 no evt_...
  ... and 3 more
With other ids:
  2  +0:00.000  hold     0.05 m1
  3             event    sent m1
  4             attempt  sent m1 -> <lambda>(): 404 no evt_...
  5             verb     fail() m1  at test.py
  6             release  0.05 m1
  7             event    failed m1
  8             attempt  failed m1 -> <lambda>(): 404 no evt_...
Create"""
    )


def test_the_calls_of_threads_are_named_as_a_possible_cause():
    runs = chain([False], repeat(True))

    def world(chat_fake):
        chat_fake.webhooks.receiver()
        is_again = next(runs)
        in_a_thread(lambda: chat_fake.send_text().fail())
        message = chat_fake.send_text()
        if is_again:
            message.fail()  # the body's own doing
        else:
            message.deliver()
        if is_again:
            in_a_thread(lambda: chat_fake.send_text("the reply"))
        chat_fake.settle()

    with pytest.raises(NotRepeatable) as caught:
        explore(world)
    calls = r"send_text\(\) by .*\d, fail\(\) by .*\d and send_text\(\) by .*\d"
    said = str(caught.value).splitlines()[1]
    assert re.fullmatch(rf"Perhaps because of the app's threads: {calls}\.", said)


def in_a_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


ANOTHER_ORDER = "threads acted in a different order when one world was run again"


@pytest.mark.parametrize("fails", [False, True])
def test_threads_that_act_in_another_order_are_a_stated_limit(fails):
    """The second run has another order; with `fails` it fails, too, and the third has it."""
    runs = count()

    def world(chat_fake):
        def reply():
            chat_fake.send_text("the reply")

        chat_fake.webhooks.receiver()
        run = next(runs)
        if not run:
            in_a_thread(reply)
        chat_fake.send_text().deliver()
        if run:
            in_a_thread(reply)
        chat_fake.settle()
        assert not fails or run != 1

    found = str(explore(world, deviations=["delay"], depth=1))  # of which there is none
    assert found.endswith(ANOTHER_ORDER)
    assert (3 if fails else 2) == next(runs)


def test_without_threads_another_order_is_refused():
    runs = count()

    def world(chat_fake):
        chat_fake.webhooks.receiver()
        first, second = chat_fake.send_text(), chat_fake.send_text()
        for message in (second, first) if next(runs) else (first, second):
            message.deliver()

    with pytest.raises(NotRepeatable, match="but with other ids"):
        explore(world, depth=1)


def test_what_is_compared_with_no_other_world_is_run_once():
    runs = count()

    def world(chat_fake):
        for _ in range(1 + next(runs)):
            chat_fake.send_text()

    assert str(explore(world, depth=0)) == "1 world: the body as written"
    assert next(runs) == 1


@pytest.mark.parametrize("only", [None, ["webhooks.duplicate(after=0, start=1)"]])
@pytest.mark.parametrize("again", [True, False])
def test_a_finding_with_a_thread_of_the_app_has_to_fail_again(again, only):
    failures = count()

    def world(chat_fake):
        seen = []
        chat_fake.webhooks.connect(handler=lambda request: seen.append(request.id))
        in_a_thread(lambda: chat_fake.send_text().deliver())
        chat_fake.assert_order_independent(
            lambda: len(seen) > 2 and (again or not next(failures)) and seen
        )

    if again:
        error = "sent m1 was redelivered; snapshot: "
        with pytest.raises(AssertionError, match=error):
            explore(world, deviations=["duplicate"], only=only)
    else:
        found = str(explore(world, deviations=["duplicate"], depth=1, only=only))
        assert "failed in one run and passed in another: sent m1 was redelivered" in found


# -- races -----------------------------------------------------------------------------------------


def sent_by_the_app(chat_fake):
    return send_call(chat_fake).json()["id"]


def racing(app):
    """A body whose app sends by the API, and knows the message once the response is there."""

    def world(chat_fake):
        statuses = {}
        chat_fake.send_endpoint()
        chat_fake.webhooks.connect(handler=app(statuses))
        statuses[sent_by_the_app(chat_fake)] = "submitted"
        chat_fake.settle()

    return world


def test_a_wait_is_a_barrier_for_what_is_held_back_and_for_that_only():
    async def explored(*, waits):
        async def world(chat_fake):
            got, looks = set(), iter([False])
            chat_fake.webhooks.connect(handler=lambda it: got.add(it.event.message_id))
            chat_fake.send_endpoint()
            message = await chat_fake.send_text().deliver()
            if waits:
                sent = sent_by_the_app(chat_fake)
                assert await chat_fake.wait_until(lambda: next(looks, message.id in got))
                assert sent not in got
            else:
                await chat_fake.settle()
                sent_by_the_app(chat_fake)
            await message.read()

        return await explore(world, deviations=["duplicate", "reorder", "refuse"])

    assert str(asyncio.run(explored(waits=True))) == str(asyncio.run(explored(waits=False)))


def test_a_wait_for_what_it_does_not_attempt_says_what_to_wait_for():
    def world(chat_fake):
        got = chat_fake.webhooks.receiver()
        chat_fake.webhooks.receiver()  # an event for two endpoints is one event
        chat_fake.send_endpoint()
        sent_by_the_app(chat_fake)
        chat_fake.wait_until(lambda: got.events, timeout=0.01)

    with pytest.raises(AssertionError, match=r"\nHint: sent m1 is queued, and .* call settle\(\)"):
        explore(world)


def test_a_race_that_times_out_is_dropped_and_said():
    def app(statuses):
        def one_call_at_a_time(_):
            if not statuses:
                raise TimeoutError("the server is busy with the call")

        return one_call_at_a_time

    assert "webhooks_first was not tried" in str(explore(racing(app)))


def test_a_finding_with_threads_says_that_it_may_not_come_again():
    def world(chat_fake):
        got = []
        chat_fake.webhooks.connect(wsgi=wsgi_app(got))
        chat_fake.send_text().deliver()
        chat_fake.settle()
        assert len(got) == 2

    assert "Attempts ran in threads" in notes(world, deviations=["duplicate_at_once"])


def test_attempts_one_by_one_did_not_run_in_the_idle_threads_of_a_pool():
    both = threading.Barrier(2, timeout=60)
    with ThreadPoolExecutor(2) as pool:
        _ = [*pool.map(lambda _: both.wait(), range(2))]
        found = notes(counting(2), deviations=["duplicate"])
    assert "Attempts ran in threads" not in found


# -- async bodies ----------------------------------------------------------------------------------


async def never_run(fake):
    raise AssertionError("never run")


async def forgets(fake):
    fake.send_text()


async def awaiting(body, **options):
    await explore(body, **options)


def test_a_forgotten_await_is_a_failure_of_the_body():
    with pytest.raises(NotAwaited):
        asyncio.run(awaiting(forgets))


async def passes_by(fake):
    fake.webhooks.receiver()
    await fake.send_text()
    fake.assert_order_independent(lambda: None)
    await fake.settle()


def test_a_check_of_a_body_that_another_await_passes_by_is_its_failure():
    with pytest.raises(NotAwaited, match="1 step was never performed"):
        asyncio.run(awaiting(passes_by))


def test_a_block_of_a_body_that_is_never_entered_is_its_failure():
    def world(fake):
        fake.webhooks.receiver()
        fake.expect_charge("0.99")
        fake.send_text().deliver()

    with pytest.raises(UndeliveredWebhooks, match="write `with chat_fake"):
        explore(world)


def test_an_exploration_that_was_never_awaited_has_no_results():
    explorer = Explorer()
    exploration = explorer(never_run)
    for results in (lambda: exploration.worlds, lambda: exploration.complete, explorer._check):
        with pytest.raises(NotAwaited, match=r"await chat_explore\(never_run\)` .* `await never_r"):
            results()


def test_outside_pytest_python_warns_of_one_that_was_never_awaited():
    def forget():
        explore(never_run)
        gc.collect()

    with pytest.warns(RuntimeWarning, match=r"the exploration of never_run\(\)' was never awaited"):
        forget()


def test_an_exploration_of_a_plain_body_is_not_awaited():
    with pytest.raises(TypeError, match=r"world\(\) is a plain function, .* Remove `await`"):
        asyncio.run(awaiting(counting(2), depth=0))


# -- the printed test ------------------------------------------------------------------------------


def printed(found):
    return found.partition("fails the same way):\n\n")[2].partition("\n\nThis world alone")[0]


def test_the_printed_test_sets_up_each_deviation_before_it_calls_the_body():
    assert (
        printed(notes(counting(2)))
        == """\
def test_what_the_exploration_found(chat_fake, chat_clock):
    expected = 2
    chat_fake.webhooks.duplicate(after=0, start=1)
    def world(chat_fake):
        got = []
        chat_fake.webhooks.connect(handler=got.append)
        chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert expected == len(got)
    world(chat_fake)"""
    )


def of_the_module(fake):
    assert len(sending(fake)) == 2


def test_a_body_of_the_module_is_called_where_it_is():
    assert (
        printed(notes(of_the_module))
        == """\
def test_what_the_exploration_found(chat_fake, chat_clock):
    chat_fake.webhooks.duplicate(after=0, start=1)
    of_the_module(chat_fake)"""
    )


def test_a_text_over_several_lines_stays_as_it_is():
    def world(fake):
        text = """
    two
  one"""
        assert (len(sending(fake, events=1)), text) == (1, "\n    two\n  one")

    assert '        text = """\n    two\n  one"""\n' in printed(notes(world))


def test_a_body_that_fails_at_its_end_settles_in_the_printed_test():
    def world(fake):
        got = []

        def app(_):
            got.append(1)
            assert len(got) == 1

        fake.webhooks.connect(handler=app)
        fake.send_text()

    found = printed(notes(world, deviations=["lose_response"]))
    assert found.endswith("    world(chat_fake)\n    chat_fake.settle()")


def without_source():
    space = {"sending": sending}
    exec(
        compile("def world(fake):\n    assert len(sending(fake)) == 2", "<nowhere>", "exec"), space
    )
    return space["world"]


def decorated():
    @wraps(of_the_module)
    def world(fake):
        of_the_module(fake)

    return world


def in_a_block():
    for _ in range(1):

        def world(fake):
            text = """
          moved"""
            assert (text, 2) == (text, len(sending(fake)))

    return world


class Body:
    def __call__(self, fake):
        assert len(sending(fake)) == 2


# fmt: off
def in_a_function_of_one_line(body): return lambda fake: body(fake)  # noqa: PLW0108
# fmt: on


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (without_source(), "the body's source can't be read"),
        (decorated(), "the body isn't a plain function"),
        (in_a_block(), "the body has a multi-line string, which can't be indented differently"),
        (Body(), "the body isn't a plain function"),
        (in_a_function_of_one_line(Body()), "the body is not written with def"),
    ],
)
def test_where_there_is_no_test_to_paste_the_finding_says_why(body, reason):
    assert f"There is no test to paste: {reason}.\nThis world alone: " in notes(body)


# -- checks in a body ------------------------------------------------------------------------------


def test_all_worlds_end_in_the_snapshot_of_the_first():
    def world(fake, once):
        def take(request):
            if not (once and request.id in ids):
                ids.append(request.id)

        ids = []
        fake.webhooks.connect(handler=take)
        fake.send_text().deliver()
        fake.assert_order_independent(lambda: sorted(ids))

    assert explore(lambda fake: world(fake, True)).complete
    for only in (None, ["webhooks.duplicate(after=0, start=1)"]):
        with pytest.raises(AssertionError) as caught:
            explore(lambda fake: world(fake, False), only=only)
        assert str(caught.value).startswith("sent m1 was redelivered; snapshot: one more ('evt_")
    assert only == eval(caught.value.__notes__[-1].partition("only=")[2].removesuffix(")"))


def test_a_snapshot_that_differs_is_told_by_its_places_with_labels_for_ids():
    def world(chat_fake):
        seen = {"statuses": {}, "spent": [Decimal(0)]}

        def take(request):
            message = request.json()["chatMessage"]
            seen["statuses"].setdefault(message["id"], []).append(message["status"])
            seen["spent"][0] += Decimal(str(message.get("totalPrice", 0)))

        chat_fake.webhooks.connect(handler=take)
        chat_fake.send_text(price="0.10").deliver()
        chat_fake.assert_order_independent(lambda: seen)

    with pytest.raises(AssertionError) as caught:
        explore(world, deviations=["duplicate"])
    assert str(caught.value) == (
        "sent m1 was redelivered; "
        """["statuses"]["m1"]: one more ('sent'); 3 items; as written: 2\n"""
        """  ["spent"][0]: 0.3; as written: 0.2"""
    )


def test_a_body_that_compares_worlds_is_no_test_outside_of_an_exploration():
    def world(chat_fake):
        seen = sending(chat_fake, events=1)
        chat_fake.assert_order_independent(lambda: len(seen))

    reason = "the body compares worlds.\nThis world alone: chat_explore(only="
    assert f"There is no test to paste: {reason}" in notes(world, deviations=["duplicate"])


@pytest.mark.parametrize("stores", ["at random", "what no earlier world had"])
def test_no_deviation_is_accused_where_the_body_as_written_differs_again(stores):
    remembered = set()

    def world(chat_fake):
        rows = {}

        def take(request):
            key = request.event.message_id, request.event.status
            if stores == "at random" or key not in remembered:
                rows[key] = str(uuid4()) if stores == "at random" else "stored"
            remembered.add(key)

        chat_fake.webhooks.connect(handler=take)
        chat_fake.send_text().deliver()
        chat_fake.assert_order_independent(lambda: rows)

    cause = "^the scenario as written gives a different snapshot when it is run again; "
    with pytest.raises(NotRepeatable, match=cause):
        explore(world)


def connected_job(chat_fake, jobs):
    """A world's own job, which its app adds for each event that it has already seen."""
    seen, own = [], object()

    def take(request):
        if request.id in seen:
            jobs.append(own)
        seen.append(request.id)

    chat_fake.webhooks.connect(handler=take)
    return own


def test_no_deviation_is_accused_of_a_job_that_an_earlier_world_left():
    jobs = []

    def world(chat_fake):
        own = connected_job(chat_fake, jobs)
        chat_fake.send_text().deliver()
        assert all(job is own for job in jobs), "a job of another world"
        chat_fake.settle()

    explorer = Explorer()
    with pytest.raises(NotRepeatable) as failed:
        explorer(world)
    assert str(explorer.explorations[0]) == "failed as written when it was run again"
    (timeline,) = failed.value.__notes__
    assert "attempt  sent m1 -> take(): 200" in timeline
    lines = str(failed.value).splitlines()
    assert (lines[0], lines[-1]) == (
        (
            "the scenario as written passed at first, but fails when it is run again, with "
            "AssertionError: a job of another world"
        ),
        (
            "An earlier world has probably left something behind. All worlds share what a module "
            "or a fixture holds, such as a queue: empty it at the start of each world."
        ),
    )


def test_no_deviation_is_accused_of_a_job_that_its_world_used_up():
    jobs = []

    def world(chat_fake):
        own = connected_job(chat_fake, jobs)
        message = chat_fake.send_text()
        due, jobs[:] = jobs[:], []
        if any(job is not own for job in due):
            raise LookupError("no such row")
        message.deliver().read()
        chat_fake.settle()

    with pytest.raises(NotRepeatable) as failed:
        explore(world, deviations=["duplicate"])
    assert str(failed.value).splitlines()[0] == (
        "a world failed, but passes when it is run again after the scenario as written, with "
        "LookupError: no such row"
    )


def aging(counts, *, shows_age=False):
    """A body whose app shows rows for an hour; it may count each attempt, too."""

    def world(chat_fake):
        rows, attempts = {}, []

        def take(request):
            attempts.append(request.id)
            rows.setdefault(request.event.status, time.time())

        def snapshot():
            fresh = [status for status, at in rows.items() if time.time() - at < 3_600]
            return {"rows": fresh, "attempts": len(attempts) * counts}

        chat_fake.webhooks.connect(handler=take)
        chat_fake.send_text().deliver()
        if shows_age:
            chat_fake.settle()
            assert snapshot()["rows"] == ["sent", "delivered"]
        chat_fake.assert_order_independent(snapshot)

    return world


def test_what_an_app_forgets_by_itself_is_no_fault_of_what_comes_later():
    kinds = ["duplicate_later"]
    assert str(explore(aging(False), deviations=kinds)) == "4 worlds, all with up to 2 deviations"
    finding = "^delivered m1 was redelivered 1 day later; .*: 3; otherwise: 2\n"
    with pytest.raises(AssertionError, match=finding):
        explore(aging(True), deviations=kinds)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"deviations": ["duplicate_later"]}, "; duplicate_later was not tried: "),
        (
            {"only": ["webhooks.duplicate(pause=86400, start=1)"]},
            ", only ['webhooks.duplicate(pause=86400, start=1)']; it proves nothing, as ",
        ),
    ],
)
def test_a_world_in_which_time_alone_breaks_the_body_proves_nothing(options, said):
    found = explore(aging(False, shows_age=True), **options)
    alone = "the body fails if time moves that far, even if nothing is redelivered"
    assert (str(found), found.complete) == (f"1 world{said}{alone}", False)


def test_an_app_that_outlives_its_world_is_no_app_to_compare():
    seen = []

    def world(chat_fake):
        chat_fake.webhooks.connect(handler=lambda request: seen.append(request.event.status))
        chat_fake.send_text()
        chat_fake.assert_order_independent(lambda: seen)

    with pytest.raises(NotRepeatable, match="Does it contain real time, or what an earlier world"):
        explore(world)


def test_a_refusal_of_the_second_run_says_itself_what_to_do():
    runs = []

    def world(chat_fake):
        chat_fake.webhooks.receiver()
        chat_fake.send_text()
        runs.append(1)
        if len(runs) > 1:
            raise ChatFakeError("make the app inside")

    with pytest.raises(ChatFakeError, match="make the app inside"):
        explore(world)


def texting(chat_fake):
    chat_fake.webhooks.receiver()
    chat_fake.send_text()


def redelivering(chat_fake):
    """The body redelivers the first event itself, so only the second one can deviate."""
    message = chat_fake.send_text()
    chat_fake.webhooks.receiver()
    chat_fake.webhooks.redeliver(chat_fake.events[0])
    message.deliver()
    chat_fake.settle()


def posting_xml(chat_fake):
    chat_fake.webhooks.receiver(events="*")
    chat_fake.webhooks.emit_event("xml.posted", body="<status>sent</status>")


@pytest.mark.parametrize(
    ("body", "kinds", "words"),
    [
        (texting, ["delay"], "your scenario never moves the clock after an event"),
        (texting, ["webhooks_first"], "your scenario makes no API call that sends"),
        (texting, ["api.fail"], "your scenario makes no API call"),
        (texting, ["reorder"], "no event can overtake another"),
        (redelivering, ["reorder"], "no event can overtake another"),
        (texting, ["delay", *DEFAULT], "your scenario never moves the clock after an event"),
        (texting, ["duplicate_at_once"], "a plain function handles one event at a time"),
        (posting_xml, ["evolve"], "your webhooks are neither JSON nor forms"),
        (posting_xml, ["unknown_value"], "your webhooks have none"),
    ],
)
def test_an_exploration_is_incomplete_and_names_what_had_nothing_to_try(body, kinds, words):
    exploration = explore(body, deviations=kinds, depth=1)
    assert f"{kinds[0]} was not tried: {words}" in str(exploration)
    assert not exploration.complete
    assert len(kinds) > 1 or exploration.worlds == 1


def statuses_of_a_delivery(chat_fake):
    """Send and deliver a message, and return the statuses of the events as they came."""
    got = []
    chat_fake.webhooks.connect(handler=lambda request: got.append(request.event.status))
    chat_fake.send_text().deliver()
    chat_fake.settle()
    return got


ENDING = ["duplicate", "reorder", "lose"]


def further(body, **options):
    """The kinds that a finding names besides its own."""
    return re.findall(r"^also: (\w+)", notes(body, deviations=ENDING, **options), re.MULTILINE)


def test_a_finding_names_further_kinds_that_fail_unless_it_stops_at_first():
    def world(chat_fake):
        assert statuses_of_a_delivery(chat_fake) == ["sent", "delivered"]

    loss, reorder = notes(world, deviations=ENDING).splitlines()[-2:]
    assert re.fullmatch(r"also: lose \(world \d+\): sent m1 was lost", loss)
    late = "delivered m1 arrived before sent m1"
    assert re.fullmatch(rf"also: reorder \(world \d+\): {late}", reorder)
    assert further(world, stop_at_first=True) == []


def test_the_world_of_a_further_kind_is_counted_with_those_that_passed():
    def world(chat_fake):
        assert statuses_of_a_delivery(chat_fake) in (["sent", "delivered"], ["delivered"])

    found = notes(world, deviations=ENDING)
    assert "passes as written; fails in world 2: sent m1 was redelivered" in found
    assert re.findall(r"^also: .*", found, re.MULTILINE) == [
        "also: lose (world 4): delivered m1 was lost",  # in world 3 it was the other one
        "also: reorder (world 5): delivered m1 arrived before sent m1",
    ]


@pytest.mark.parametrize(
    ("most", "takes", "seconds", "named"),
    [
        (2, 2, None, ["lose", "reorder"]),
        (1, 6, None, ["lose"]),
        (1, 1, None, ["lose", "reorder"]),
        (2, 2, 6.5, ["lose"]),
    ],
)
def test_further_kinds_have_some_worlds_and_as_long_again_within_seconds(
    most, takes, seconds, named, monkeypatch
):
    def world(chat_fake):
        got = statuses_of_a_delivery(chat_fake)
        passed.append(1 if "sent" in got else takes)
        assert got == ["sent", "delivered"]

    passed = []
    monkeypatch.setattr(f"{EXPLORING}.exploration._FURTHER", most)
    monkeypatch.setattr(f"{EXPLORING}.exploration.monotonic", lambda: sum(passed))
    assert further(world, seconds=seconds) == named


@pytest.mark.parametrize("skip", [pytest.skip, pytest.xfail, unittest.TestCase().skipTest])
def test_a_skip_in_a_further_world_does_not_hide_the_finding(skip):
    def world(chat_fake):
        got = statuses_of_a_delivery(chat_fake)
        if got[-1] == "sent":
            skip("another order")
        assert len(got) == 2

    assert further(world) == ["lose"]


def test_a_body_whose_thread_calls_before_or_after_a_barrier_is_the_same():
    runs = []

    def world(chat_fake):
        chat_fake.webhooks.receiver()
        runs.append(chat_fake.send_text())
        if len(runs) % 2:
            chat_fake.settle()
        in_a_thread(chat_fake.send_text)
        chat_fake.settle()

    assert explore(world).worlds > 2


def test_the_printed_test_fails_the_same_way_on_either_side_of_a_barrier():
    runs = []

    def world(chat_fake):
        runs.append(1)
        assert len(sending(chat_fake, settles=len(runs) % 2)) < 3

    assert "it was run, and fails the same way" in notes(world, deviations=["duplicate"])


def test_held_back_attempts_are_made_before_a_wait_that_settles_nothing():
    def world(chat_fake):
        got = []
        chat_fake.webhooks.connect(handler=lambda request: got.append(request.event.status))
        chat_fake.send_text()
        chat_fake.wait_until(lambda: got, settle=False)

    assert explore(world, deviations=["refuse", "lose_response"]).complete


def silent_check(fake):
    fake.send_text()
    fake.assert_order_independent(list)


def early_check(fake):
    fake.webhooks.receiver()
    fake.assert_order_independent(list)
    fake.send_text()


def nothing_again(fake):
    fake.send_text()
    fake.assert_idempotent(list)


@pytest.mark.parametrize("body", [silent_check, early_check, nothing_again])
def test_a_check_in_which_no_app_has_a_say_is_refused(body):
    with pytest.raises(ChatFakeError, match="has nothing to"):
        explore(body, depth=0)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "only",
    [
        "webhooks.reorder",
        "webhooks.reorder(by=0)",
        "webhooks.reorder(start=0)",
        "webhooks.reorder(start=x)",
        "webhooks.reorder(3)",
        "webhooks.reorder(after=3)",
        "webhooks.duplicate(after=True)",
        "webhooks.delay(start=1)",
        "webhooks.concurrently(start=1)",
        "webhooks.duplicate(after=1, pause=1)",
        "webhooks.duplicate(pause=0)",
        "webhooks.duplicate(pause='day')",
        "webhooks.concurrently(start=2, after=1)",
        "api.fail(503, path='/', method='POST')",
        "api.fail(status=500, path='/', method='POST')",
        "api.fail(path='/<id>', method='POST')",
        "api.fail(path=['/'], method='POST')",
        "api.fail(path='/', method='post')",
        "api.webhooks_first(path='/')",
        "webhooks.duplicate(new_id=False)",
        "webhooks.delay(duration=0)",
        "webhooks.evolve(start=2)",
        "webhooks.evolve(unknown='bizType')",
        "webhooks.evolve(unknown=['type'])",
        "webhooks.lose(times=2)",
        "webhooks.lose(times=1, status='read')",
    ],
)
def test_a_list_that_no_failure_printed_is_refused_before_anything_runs(only):
    ran = []
    with pytest.raises(ValueError, match="only"):
        explore(ran.append, only=[only])
    assert ran == []


def test_a_list_is_checked_where_python_leaves_assert_out_too():
    code = "from pytest_chatfake import explore; explore(print, only=['webhooks.reorder(by=0)'])"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, check=False)

    assert b"ValueError: only: unknown deviation 'webhooks.reorder(by=0)'" in done.stderr


def test_an_option_that_there_is_not_is_refused_by_the_name_of_the_call():
    with pytest.raises(TypeError, match=r"^explore\(\) got .* 'dept'. It takes deviations, "):
        explore(sending, dept=1)
    with pytest.raises(TypeError, match=r"^chat_explore\(\) got .* 'x'. It takes deviations, "):
        Explorer()(sending, x=1)


def iter_of(fake):
    yield fake


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (3, "body: expected a function"),
        (ChatFake, "a plain function, not a class or a generator"),
        (lambda a, b: 0, "expected a function of one fake"),
        ((lambda fake: (yield)), "a plain function, not a class or a generator"),
        (lambda fake: never_run(fake), "would never run: write `async def`"),  # noqa: PLW0108
        (lambda fake: iter_of(fake), "would never run: write `async def`"),  # noqa: PLW0108
    ],
)
def test_a_body_is_a_function_of_one_fake(body, words):
    with pytest.raises(TypeError, match=words):
        explore(body)


def test_three_ways_to_call_chat_explore_are_one():
    explorer = Explorer()
    first = explorer(sending)
    second = explorer(limit=3)(sending)
    third = explorer(sending, depth=0)

    assert [first, second, third] == explorer.explorations
    assert [one.worlds for one in explorer.explorations] == [14, 3, 1]
