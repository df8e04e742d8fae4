"""One body in every world: which worlds there are, what is a finding, and what is not."""

# Asserts read `expected == actual`.

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import random
import re
import threading
import time
import unittest
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from werkzeug.test import Client

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
from pytest_chatfake.exploring.deviations import Deviation
from pytest_chatfake.exploring.exploration import Exploration
from pytest_chatfake.exploring.explorer import Explorer
from pytest_chatfake.exploring.search import LoggedAttempt, WorldLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Orders = "set[tuple[int, ...]]"


# -- which worlds there are, held against brute force ----------------------------------------------


def by_brute_force(events: int, depth: int) -> set[tuple[int, ...]]:
    """Every order in which up to `depth` of the attempts 1, 2, ... are moved or copied later."""

    def later(made: list[tuple[int, bool]], left: int, used: frozenset[int]) -> Iterator[list[Any]]:
        yield made
        for place, (event, copied) in enumerate(made):
            if not left or copied or event in used:
                continue
            rest = made[:place] + made[place + 1 :]
            for end in range(place + 1, len(made)):
                moved = [*rest[:end], (event, False), *rest[end:]]
                yield from later(moved, left - 1, used | {event})
            for end in range(place + 1, len(made) + 1):
                yield from later(
                    [*made[:end], (event, True), *made[end:]], left - 1, used | {event}
                )

    first = [(event, False) for event in range(1, events + 1)]
    return {tuple(event for event, _ in one) for one in later(first, depth, frozenset())}


def explored(events: int, **options: Any) -> tuple[list[tuple[int, ...]], Exploration]:
    """The orders in which attempts came in the worlds that were run, and the exploration."""
    orders: list[tuple[int, ...]] = []

    def world(chat_fake: ChatFake) -> None:
        got: list[int] = []
        chat_fake.webhooks.connect(handler=lambda request: got.append(request.event._index + 1))
        for number in range(events):
            chat_fake.send_text(to=f"+{number}")
        chat_fake.settle()
        orders.append(tuple(got))

    return orders, explore(world, **options)


@pytest.mark.parametrize(
    ("events", "depth"), [(1, 2), (2, 0), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 2), (5, 1)]
)
@pytest.mark.parametrize(
    "deviations", [("duplicate", "reorder"), ("duplicate", "reorder", "lose_response", "refuse")]
)
def test_the_worlds_are_those_of_brute_force_and_each_is_run_once(
    events: int, depth: int, deviations: Any
) -> None:
    orders, exploration = explored(events, depth=depth, deviations=deviations)

    expected = by_brute_force(events, depth)
    assert expected == set(orders)
    assert len(expected) == exploration.worlds == len(orders) - 1  # as written, it runs twice


def test_three_events_have_at_most_55_worlds() -> None:
    assert 41 == explored(3)[1].worlds


def test_worlds_come_by_how_much_they_deviate() -> None:
    orders, _ = explored(3)
    written, again, *others = orders

    assert [(1, 2, 3), (1, 2, 3)] == [written, again]
    singles = [order for order in others if order in by_brute_force(3, 1)]
    assert singles == others[: len(singles)]
    assert [(1, 1, 2, 3), (1, 2, 2, 3), (1, 2, 3, 3)] == others[:3]  # at once, of each


def test_pairs_of_one_message_come_before_those_of_two() -> None:
    concerned: list[set[int]] = []

    def world(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=lambda _: None)
        for number in range(2):
            chat_fake.send_text(to=f"+{number}").deliver()
        chat_fake.settle()
        faults = chat_fake._engine.outbox.faults.ever
        concerned.append({place // 2 for fault in faults for place in fault._hit})
        if len(faults) < 2:
            concerned.pop()

    explore(world, deviations=["duplicate"])

    several = [len(messages) > 1 for messages in concerned]
    assert sorted(several) == several
    assert {True, False} == set(several)


def test_each_endpoint_has_its_own_choice() -> None:
    def world(chat_fake: ChatFake) -> None:
        for _ in range(2):
            chat_fake.webhooks.connect(handler=lambda _: None)
        chat_fake.send_text()

    assert 5 == explore(world, deviations=["reorder", "duplicate"], depth=1).worlds


@pytest.mark.parametrize(
    ("events", "options", "text"),
    [
        (3, {}, "41 worlds, all with up to 2 deviations"),
        (3, {"depth": 1}, "10 worlds, all with up to 1 deviation"),
        (3, {"depth": 0}, "1 world: the body as written"),
        (3, {"limit": 10}, "10 of at least 41 worlds, cut by limit=10"),
        (3, {"limit": 41}, "41 worlds, all with up to 2 deviations"),
        (3, {"limit": 4}, "4 of at least 10 worlds, cut by limit=4"),
        (0, {"depth": 0}, "1 world: the body as written"),
    ],
)
def test_an_exploration_says_what_it_did(events: int, options: Any, text: str) -> None:
    exploration = explored(events, **options)[1]
    assert text == str(exploration)
    assert ("cut" not in text) == exploration.complete


def test_an_exploration_ends_after_so_many_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1_000, 3))
    monkeypatch.setattr(time, "monotonic", lambda: next(now))

    assert "cut by seconds=10" in str(explored(3, seconds=10)[1])


def test_a_barrier_is_not_passed_by_what_is_late_and_by_a_repeat_it_is() -> None:
    orders: set[tuple[int, ...]] = set()

    def world(chat_fake: ChatFake) -> None:
        got: list[int] = []
        chat_fake.webhooks.connect(handler=lambda request: got.append(request.event._index + 1))
        chat_fake.send_text()
        chat_fake.settle()
        chat_fake.send_text()
        chat_fake.settle()
        orders.add(tuple(got))

    explore(world)

    assert {(1, 2), (1, 1, 2), (1, 2, 1), (1, 2, 2)} <= orders
    assert all(order.index(1) < order.index(2) for order in orders)


def test_what_an_app_causes_deviates_too() -> None:
    orders: set[tuple[str, ...]] = set()

    def world(chat_fake: ChatFake) -> None:
        got: list[str] = []

        def app(request: Any) -> None:
            got.append(request.json()["chatMessage"]["text"]["body"])
            if got == ["ping"]:
                chat_fake.send_text("pong")

        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text("ping")
        chat_fake.settle()
        orders.add(tuple(got))

    explore(world, depth=1)

    assert {("ping", "pong"), ("ping", "ping", "pong"), ("ping", "pong", "pong")} <= orders


def test_a_loss_for_good_is_tried_if_it_is_asked_for() -> None:
    orders, _ = explored(2, deviations=["drop"], depth=1)
    assert [(1, 2), (1, 2), (2,), (1,)] == orders


# -- what every world begins with ------------------------------------------------------------------


def test_every_world_begins_with_the_same_ids_key_time_and_random_numbers() -> None:
    seen: list[Any] = []

    def world(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=lambda _: None)
        begin = chat_fake.clock.now
        message = chat_fake.send_text()
        chat_fake.clock.advance(hours=1)
        seen.append((message.id, chat_fake.api_key, begin, random.random(), time.time()))

    explore(world)

    assert {*seen[:1], *seen[2:]} == {seen[0]}
    assert seen[0][0] != seen[1][0]  # the second run has other ids
    assert seen[0][1:] == seen[1][1:]


def test_worlds_begin_where_time_stands_already_and_leave_it_there() -> None:
    seen: set[float] = set()

    def world(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=lambda _: None)
        seen.add(time.time())
        chat_fake.send_text()
        chat_fake.clock.advance(hours=1)

    with time_machine.travel(1_000_000_000, tick=False):
        explore(world)
        assert 1_000_000_000 == time.time()
    assert {1_000_000_000} == seen


def test_the_configuration_is_that_of_every_fake() -> None:
    def world(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=lambda _: None)
        chat_fake.send_text().deliver()
        chat_fake.assert_charged("0.20")

    assert explore(world, config=ChatFakeConfig(price="0.20")).complete


# -- what is a finding -----------------------------------------------------------------------------


def notes(body: Callable[..., Any], **options: Any) -> str:
    """The notes of what an exploration raises."""
    try:
        explore(body, **options)
    except Exception as error:
        return "\n".join(error.__notes__)
    pytest.fail("nothing was found")


def counting(expected: int) -> Callable[[ChatFake], None]:
    """A body that expects so many attempts of its two events."""

    def world(chat_fake: ChatFake) -> None:
        got: list[object] = []
        chat_fake.webhooks.connect(handler=got.append)
        chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert expected == len(got)

    return world


def test_the_body_as_written_must_pass() -> None:
    with pytest.raises(AssertionError) as caught:
        explore(counting(3))
    assert not hasattr(caught.value, "__notes__")


SENTENCES = [
    ("duplicate", "`sent` m1 was attempted twice"),
    (
        "lose_response",
        "the response to `delivered` m1 was lost, so it was attempted again",
    ),
    ("drop", "`sent` m1 was dropped"),
]


@pytest.mark.parametrize(("kind", "sentence"), SENTENCES)
def test_a_finding_begins_with_a_sentence(kind: str, sentence: str) -> None:
    assert sentence in notes(counting(2), deviations=[kind])


def test_of_what_came_late_the_sentence_says_what_overtook_it() -> None:
    def world(chat_fake: ChatFake) -> None:
        got: list[str | None] = []
        chat_fake.webhooks.connect(handler=lambda request: got.append(request.event.status))
        chat_fake.send_text().deliver().read()
        chat_fake.settle()
        assert got[-1] != "delivered"

    found = notes(world, deviations=["reorder"])
    assert "`read` m1 was attempted before `delivered` m1" in found
    assert "chat_explore(only=['webhooks.reorder(by=1, start=2)'])" in found
    assert "fault    reorder(by=1, start=2)" in found


def test_a_check_before_any_barrier_is_called_hasty() -> None:
    def world(chat_fake: ChatFake) -> None:
        got: list[Any] = []
        chat_fake.webhooks.connect(handler=got.append)
        chat_fake.send_text().deliver()
        assert "sent" == got[0].event.status

    assert "Hint: call settle() before asserting." in notes(world, deviations=["reorder"])
    assert "Hint" not in notes(counting(2))


def test_what_a_route_raises_is_found_in_every_world() -> None:
    def world(chat_fake: ChatFake) -> None:
        sent: list[str] = []

        @chat_fake.route("/send")
        def send(_: Any) -> dict[str, Any]:
            sent.append("x")
            if len(sent) > 1:
                raise LookupError("twice")
            return {}

        def app(_: Any) -> None:
            Client(chat_fake.wsgi_app).post("/send", headers={"X-API-Key": chat_fake.api_key})

        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text()

    with pytest.raises(LookupError, match="duplicate"):
        explore(world)


def answering(status: int) -> Callable[[ChatFake], None]:
    """A body whose app answers so to what comes again, and which takes no notice."""

    def world(chat_fake: ChatFake) -> None:
        got: list[object] = []

        def app(_: Any, start: Any) -> list[bytes]:
            got.append(1)
            start("204 No Content" if len(got) == 1 else f"{status} Whatever", [])
            return []

        chat_fake.webhooks.connect(wsgi=app)
        chat_fake.send_text()

    return world


def test_a_failed_attempt_is_a_finding_if_strict_and_none_otherwise() -> None:
    assert explore(answering(500)).complete
    assert explore(answering(200), config=ChatFakeConfig(strict=True)).complete
    with pytest.raises(UndeliveredWebhooks, match="500"):
        explore(answering(500), config=ChatFakeConfig(strict=True))


def test_warnings_count_in_the_world_as_written_only() -> None:
    def world(chat_fake: ChatFake) -> None:
        got: list[object] = []

        def app(_: Any) -> None:
            got.append(1)
            if len(got) > 1:
                warnings.warn("again", stacklevel=1)

        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text()

    assert explore(world).complete

    def warned(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=lambda _: None)
        chat_fake.send_text()
        chat_fake.webhooks.drop(status="read")

    with pytest.warns(WebhookWarning, match="never fired") as caught:
        explore(warned)
    assert 1 == len(caught)


@pytest.mark.parametrize(
    "error", [unittest.SkipTest("no"), KeyboardInterrupt(), asyncio.CancelledError()]
)
def test_what_is_no_failure_passes_through(error: BaseException) -> None:
    def world(chat_fake: ChatFake) -> None:
        got: list[object] = []
        chat_fake.webhooks.connect(handler=got.append)
        chat_fake.send_text()
        chat_fake.settle()
        if len(got) > 1:
            raise error

    with pytest.raises(type(error)) as caught:
        explore(world)
    assert not hasattr(caught.value, "__notes__")
    assert explore(counting(2), depth=0).complete  # everything was closed


@pytest.mark.parametrize("outcome", [pytest.skip, pytest.xfail])
def test_pytest_s_own_outcomes_pass_through_and_its_failure_is_one(outcome: Any) -> None:
    def world(chat_fake: ChatFake, end: Any = outcome) -> None:
        got: list[object] = []
        chat_fake.webhooks.connect(handler=got.append)
        chat_fake.send_text()
        chat_fake.settle()
        if len(got) > 1:
            end("no")

    with pytest.raises(outcome.Exception) as caught:
        explore(world)
    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(pytest.fail.Exception) as failed:
        explore(lambda fake: world(fake, pytest.fail))
    assert "attempted twice" in failed.value.__notes__[0]


# -- bodies and lists in which nothing would be tried ----------------------------------------------


def silent(chat_fake: ChatFake) -> None:
    chat_fake.webhooks.connect(handler=lambda _: None)


def deaf(chat_fake: ChatFake) -> None:
    chat_fake.send_text().deliver()


def lossy(chat_fake: ChatFake) -> None:
    chat_fake.webhooks.connect(handler=lambda _: None)
    chat_fake.webhooks.drop(times=None)
    chat_fake.send_text().deliver()


@pytest.mark.parametrize("only", [None, ["webhooks.reorder()"]])
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (silent, "the body caused no webhook"),
        (lossy, "the body caused no webhook"),
        (deaf, "the body connected no app"),
    ],
)
def test_a_body_in_which_nothing_can_deviate_is_refused(body: Any, words: str, only: Any) -> None:
    with pytest.raises(ChatFakeError, match=words):
        explore(body, only=only)
    if only is None:
        assert 1 == explore(body, depth=0).worlds  # it rightly has none, and says so


def test_a_body_that_resets_its_fake_at_the_end_has_sent_something() -> None:
    def world(chat_fake: ChatFake) -> None:
        silent(chat_fake)
        chat_fake.send_text()
        chat_fake.reset()

    assert 1 < explore(world).worlds


@pytest.mark.parametrize(
    ("only", "words"),
    [
        ("webhooks.reorder(by=1, start=9)", "it asks for attempt 9, and there were 2."),
        ("api.webhooks_first(start=3)", "it asks for call 3, and there was none."),
    ],
)
def test_a_listed_deviation_that_comes_to_nothing_is_refused(only: str, words: str) -> None:
    with pytest.raises(ChatFakeError) as caught:
        explore(counting(2), only=["webhooks.reorder(by=1)", only])
    text = str(caught.value)
    assert "only= does not match this body" in text
    assert words in text


# -- bodies that are not the same twice ------------------------------------------------------------


def test_an_app_that_is_kept_is_refused_with_the_remedy() -> None:
    got: list[object] = []

    def world(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=got.append)
        chat_fake.send_text()
        assert 1 == len(got)

    with pytest.raises(NotRepeatable, match=r"(?s)passed once .*\nCreate the app inside the body"):
        explore(world)


def test_the_first_difference_is_named() -> None:
    runs = iter(range(10))

    def world(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=lambda _: None)
        message = chat_fake.send_text()
        _ = message.fail() if next(runs) else message.deliver()

    with pytest.raises(NotRepeatable) as caught:
        explore(world)
    text = str(caught.value)
    assert "at number 2, it came to delivered m1 at endpoint 1: 200;" in text
    assert "with other ids, to failed m1 at endpoint 1: 200." in text


# -- races -----------------------------------------------------------------------------------------


def racing(app: Callable[[ChatFake, dict[str, str]], Any]) -> Callable[[ChatFake], None]:
    """A body whose app sends by the API, and knows the message once the answer is there."""

    def world(chat_fake: ChatFake) -> None:
        statuses: dict[str, str] = {}
        chat_fake.send_endpoint()
        chat_fake.webhooks.connect(handler=app(chat_fake, statuses))
        headers = {"X-API-Key": chat_fake.api_key}
        body = {"to": "+1", "type": "text", "text": {"body": "x"}}
        answer = Client(chat_fake.wsgi_app).post("/v2/messages", json=body, headers=headers)
        statuses[answer.json["id"]] = "submitted"
        chat_fake.settle()

    return world


def test_a_webhook_that_comes_before_the_answer_of_its_call_is_tried() -> None:
    body = racing(lambda _, statuses: lambda request: statuses[request.event.message_id] and None)
    found = notes(body)

    assert "the webhooks of call 1 came before its response" in found
    assert "chat_fake.api.webhooks_first(start=1)" in found
    assert explore(body, deviations=["reorder", "duplicate", "lose_response", "refuse"]).complete


def test_a_race_that_times_out_is_dropped_and_said() -> None:
    def app(fake: ChatFake, statuses: dict[str, str]) -> Any:
        def one_call_at_a_time(_: Any) -> None:
            if not statuses:
                raise TimeoutError("the server is busy with the call")

        return one_call_at_a_time

    exploration = explore(racing(app))
    assert "webhooks_first was not tried" in str(exploration)


# -- pauses, and attempts at the same time ---------------------------------------------------------


def test_a_repeat_comes_whenever_the_body_has_moved_time_and_when_a_session_is_over() -> None:
    seen: list[list[tuple[str, int]]] = []

    def world(chat_fake: ChatFake) -> None:
        got: list[tuple[str, int]] = []
        start = chat_fake.clock.now

        def app(request: Any) -> None:
            passed = int((chat_fake.clock.now - start).total_seconds())
            got.append((request.event.status, passed))

        seen.append(got)
        chat_fake.webhooks.connect(handler=app)
        message = chat_fake.send_text()
        chat_fake.clock.advance(hours=1)
        message.deliver()
        chat_fake.clock.advance(seconds=90)
        chat_fake.clock.advance(seconds=0.5)

    exploration = explore(world, deviations=["duplicate_later"], depth=1)

    written, _, *others = seen
    assert [("sent", 0), ("delivered", 3_600)] == written
    repeats = [
        (status, at)
        for got in others
        for place, (status, at) in enumerate(got)
        if status in {earlier for earlier, _ in got[:place]}
    ]
    hour, day = 3_600, 86_400
    assert [
        ("delivered", hour + 90),
        ("delivered", hour + 90),  # half a second later
        ("delivered", hour + day),
        ("sent", hour),
        ("sent", hour + 90),
        ("sent", hour + 90),
        ("sent", day),
    ] == repeats
    assert 8 == exploration.worlds


def test_of_a_pause_the_sentence_says_how_long_it_was() -> None:
    found = notes(counting(2), deviations=["duplicate_later"])
    assert "`delivered` m1 was attempted again, 1 day later" in found
    assert "clock    duplicate(pause=86400, start=2)" in found


def test_a_session_is_as_long_as_it_is_configured() -> None:
    def world(chat_fake: ChatFake) -> None:
        counting(2)(chat_fake)

    with pytest.raises(AssertionError) as caught:
        explore(
            world, config=ChatFakeConfig(conversation_length=0.5), deviations=["duplicate_later"]
        )
    assert "pause=0.5, start=2" in "".join(caught.value.__notes__)


class Overlapping:
    """An async function of a test that notes which events it has at the same time."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self.met: set[tuple[str, ...]] = set()

    async def __call__(self, request: Any) -> None:
        self.inside.append(request.event.status)
        await asyncio.sleep(0)
        self.met.add(tuple(sorted(self.inside)))
        await asyncio.sleep(0)
        self.inside.remove(request.event.status)


def test_each_two_attempts_before_a_barrier_are_made_at_the_same_time() -> None:
    met: list[set[tuple[str, ...]]] = []

    def world(chat_fake: ChatFake) -> None:
        app = Overlapping()
        met.append(app.met)
        chat_fake.webhooks.connect(handler=app)
        message = chat_fake.send_text().deliver()
        chat_fake.settle()
        message.read()

    exploration = explore(world, deviations=["concurrently"], depth=1)

    pairs = [{one for one in found if len(one) > 1} for found in met]
    assert 5 == exploration.worlds
    assert [set(), set()] == pairs[:2]
    assert [
        {("sent", "sent")},
        {("delivered", "delivered")},
        {("read", "read")},
        {("delivered", "sent")},
    ] == pairs[2:]


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("sent", "`sent` m1 and `delivered` m1 were attempted at the same time"),
        ("delivered", "`delivered` m1 was attempted twice at the same time"),
    ],
)
def test_of_two_at_the_same_time_the_sentence_names_both(status: str, sentence: str) -> None:
    def world(chat_fake: ChatFake) -> None:
        app = Overlapping()
        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text().deliver()
        chat_fake.settle()
        assert tuple(sorted([status, "delivered"])) not in app.met

    found = notes(world, deviations=["concurrently"])
    assert sentence in found
    assert "it was run, and fails the same way" in found


def test_with_several_endpoints_the_sentence_names_the_place() -> None:
    def world(chat_fake: ChatFake) -> None:
        app = Overlapping()
        chat_fake.webhooks.connect(handler=lambda _: None)
        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text().deliver()
        chat_fake.settle()
        assert ("delivered", "sent") not in app.met

    found = notes(world, deviations=["concurrently"])
    assert re.search(r"m1 were attempted at the same time at Overlapping", found)


def attempted(number: int, what: str, at: str = "", round: int = 1) -> LoggedAttempt:
    return LoggedAttempt(number, number, 1, what, at, True, round)


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ([attempted(1, "sent", round=0)], "`sent` m1 was attempted late"),
        (
            [attempted(1, "sent", "a"), attempted(2, "sent", "b")],
            "`sent` m1 was attempted at the same time at a and b",
        ),
        (
            [attempted(1, "sent", "a"), attempted(1, "sent", "a")],
            "`sent` m1 was attempted twice at the same time at a",
        ),
    ],
)
def test_the_sentence_says_where_it_was(steps: list[LoggedAttempt], sentence: str) -> None:
    assert sentence == describe(Deviation("concurrently", 1, 1), WorldLog(steps))


def test_plain_functions_of_a_test_are_not_tried_at_the_same_time() -> None:
    assert 1 == explore(counting(2), deviations=["concurrently"]).worlds


def test_a_finding_with_threads_says_that_it_may_not_come_again() -> None:
    def world(chat_fake: ChatFake) -> None:
        rows: list[str] = []
        both = threading.Barrier(2)

        def app(environ: Any, start: Any) -> list[bytes]:
            id = json.loads(environ["wsgi.input"].read())["chatMessage"]["id"]
            known = id in rows
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.05)
            if not known:
                rows.append(id)
            start("204 No Content", [])
            return []

        chat_fake.webhooks.connect(wsgi=app)
        chat_fake.send_text().deliver()
        chat_fake.settle()
        assert 1 == len(rows)

    found = notes(world, deviations=["concurrently"])
    assert "Attempts ran in threads: this world may pass when it is run again." in found


def test_a_listed_number_that_is_never_reached_is_refused() -> None:
    for only in ("webhooks.reorder(by=2, start=1)", "webhooks.duplicate(after=3, start=1)"):
        with pytest.raises(ChatFakeError, match="a barrier came before so many attempts"):
            explore(counting_any(2), only=[only])
    assert 1 == explore(counting_any(2), only=["webhooks.duplicate(after=1, start=1)"]).worlds
    assert 1 == explore(counting_any(2), only=["webhooks.duplicate(pause=2, start=1)"]).worlds


def counting_any(events: int) -> Callable[[ChatFake], None]:
    """A body that sends so many events, and expects nothing."""

    def world(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=lambda _: None)
        for number in range(events):
            chat_fake.send_text(to=f"+{number}")

    return world


# -- async bodies ----------------------------------------------------------------------------------


def test_an_async_body_is_explored_when_it_is_awaited() -> None:
    async def main() -> list[tuple[int, ...]]:
        orders: list[tuple[int, ...]] = []

        async def world(fake: ChatFake) -> None:
            got: list[int] = []
            fake.webhooks.connect(handler=lambda request: got.append(request.event._index + 1))
            for number in range(3):
                await fake.send_text(to=f"+{number}")
            await fake.settle()
            orders.append(tuple(got))

        exploration = explore(world)
        assert not orders
        assert exploration is await exploration
        assert 41 == exploration.worlds
        return orders

    assert explored(3)[0] == asyncio.run(main())


def test_a_finding_of_an_async_body_has_an_async_test() -> None:
    async def world(fake: ChatFake) -> None:
        got: list[object] = []
        fake.webhooks.connect(handler=got.append)
        await fake.send_text().deliver()
        await fake.settle()
        assert 2 == len(got)

    async def main() -> str:
        with pytest.raises(AssertionError) as caught:
            await explore(world)
        return "\n".join(caught.value.__notes__)

    found = asyncio.run(main())
    assert "it was run, and fails the same way" in found
    assert "async def test_what_the_exploration_found(chat_fake, chat_clock):" in found
    assert "    await fake.send_text().deliver()" in found


def test_a_forgotten_await_is_a_failure_of_the_body() -> None:
    async def world(fake: ChatFake) -> None:
        fake.send_text()

    async def main() -> None:
        await explore(world)

    with pytest.raises(NotAwaited, match="await"):
        asyncio.run(main())


def test_an_exploration_that_was_never_awaited_has_no_results() -> None:
    async def world(fake: ChatFake) -> None:
        raise AssertionError("never run")

    explorer = Explorer()
    exploration = explorer(world)
    for name in ("worlds", "complete"):
        with pytest.raises(NotAwaited, match=r"never awaited: write `await chat_explore\(world"):
            getattr(exploration, name)
    with pytest.raises(NotAwaited, match="or `await world` below `@chat_explore`"):
        explorer._check()


def test_outside_pytest_python_warns_of_one_that_was_never_awaited() -> None:
    async def world(fake: ChatFake) -> None:
        raise AssertionError("never run")

    def forget() -> None:
        explore(world)
        gc.collect()

    with pytest.warns(RuntimeWarning, match=r"the exploration of world\(\) was never awaited"):
        forget()


def test_an_exploration_of_a_plain_body_is_not_awaited() -> None:
    async def main() -> None:
        await explore(counting(2), depth=0)

    with pytest.raises(TypeError, match=r"world\(\) is a plain function, .* Leave `await` out"):
        asyncio.run(main())


# -- the printed test ------------------------------------------------------------------------------


def pasted(found: str) -> str:
    return found.partition("fails the same way):\n\n")[2].partition("\n\nThis world alone")[0]


def test_the_printed_test_is_the_body_with_a_line_for_each_deviation() -> None:
    assert """\
# From around the body: expected.
def test_what_the_exploration_found(chat_fake, chat_clock):
    chat_fake.webhooks.duplicate(after=0, start=1)
    got: list[object] = []
    chat_fake.webhooks.connect(handler=got.append)
    chat_fake.send_text("Hello").deliver()
    chat_fake.settle()
    assert expected == len(got)""" == pasted(notes(counting(2)))


def test_a_text_over_several_lines_stays_as_it_is() -> None:
    def world(fake: ChatFake) -> None:
        text = """
    two
  one"""
        got: list[object] = []
        fake.webhooks.connect(handler=got.append)
        fake.send_text(text)
        fake.settle()
        assert (1, "\n    two\n  one") == (len(got), text)

    found = notes(world)
    assert "it was run, and fails the same way" in found
    assert r"text = '\n    two\n  one'" in pasted(found)


def test_a_body_that_fails_at_its_end_settles_in_the_printed_test() -> None:
    def world(fake: ChatFake) -> None:
        got: list[object] = []

        def app(_: Any) -> None:
            got.append(1)
            assert len(got) == 1

        fake.webhooks.connect(handler=app)
        fake.send_text()

    found = pasted(notes(world, deviations=["lose_response"]))
    assert found.endswith("    fake.send_text()\n    chat_fake.settle()")


def test_where_there_is_no_source_the_finding_says_so() -> None:
    space: dict[str, Any] = {}
    source = """
def world(fake):
    got = []
    fake.webhooks.connect(handler=got.append)
    fake.send_text()
    fake.settle()
    assert len(got) == 1
"""
    exec(compile(source, "<nowhere>", "exec"), space)

    found = notes(space["world"])
    assert "There is no test to paste: the body's source can't be read." in found
    assert "This world alone: chat_explore(only=['webhooks.duplicate(after=0, start=1)'])" in found


# -- checks in a body ------------------------------------------------------------------------------


def latest(news: list[str | None]) -> Callable[[], str | None]:
    return lambda: news[-1]


def summing(fake: ChatFake, *, once: bool) -> list[str]:
    """What an app keeps: ids, each once or as often as it comes."""
    ids: list[str] = []
    fake.webhooks.connect(
        handler=lambda request: None if once and request.id in ids else ids.append(request.id)
    )
    return ids


def test_an_app_is_idempotent_if_everything_again_changes_nothing() -> None:
    with ChatFake() as fake:
        ids = summing(fake, once=True)
        fake.send_text().deliver()
        fake.assert_idempotent(lambda: ids)
        assert 4 == len(fake.webhooks.attempts)


def test_the_event_that_changed_something_is_named() -> None:
    with ChatFake() as fake:
        ids = summing(fake, once=False)
        message = fake.send_text().deliver()
        with pytest.raises(AssertionError) as caught:
            fake.assert_idempotent(lambda: ids)
    text = str(caught.value)
    assert f"the sent event of message {message.id} came again, and changed" in text
    assert f"before  {ids[:2]!r}" in text
    assert f"after   {ids[:3]!r}" in text


def test_both_checks_are_awaited_in_async_mode_with_an_async_snapshot() -> None:
    async def main() -> None:
        with ChatFake(mode="async") as fake:
            ids = summing(fake, once=False)

            async def snapshot() -> list[str]:
                return ids

            await fake.send_text()
            with pytest.raises(AssertionError, match="came again"):
                await fake.assert_idempotent(snapshot)

    asyncio.run(main())


def test_a_check_that_is_never_awaited_fails_the_test() -> None:
    async def main() -> None:
        with ChatFake(mode="async") as fake:
            await fake.send_text()
            fake.assert_idempotent(list)

    with pytest.raises(NotAwaited, match="1 step was never awaited"):
        asyncio.run(main())


def test_in_the_body_as_written_there_must_be_something_to_attempt_again() -> None:
    def world(fake: ChatFake) -> None:
        fake.send_text()
        fake.assert_idempotent(list)

    with pytest.raises(ChatFakeError, match="has nothing to attempt again"):
        explore(world, depth=0)


def test_all_worlds_end_in_the_snapshot_of_the_first() -> None:
    def world(fake: ChatFake, once: bool) -> None:
        ids = summing(fake, once=once)
        fake.send_text().deliver()
        fake.assert_order_independent(lambda: sorted(ids))

    assert explore(lambda fake: world(fake, True)).complete
    with pytest.raises(AssertionError, match="depends on the order of events") as caught:
        explore(lambda fake: world(fake, False))
    (listed,) = [note for note in caught.value.__notes__ if "only=" in note]
    only = eval(listed.partition("only=")[2].removesuffix(")"))
    with pytest.raises(AssertionError, match="depends on the order of events"):
        explore(lambda fake: world(fake, False), only=only)


def test_outside_an_exploration_there_is_nothing_to_compare() -> None:
    with ChatFake() as fake, pytest.raises(ChatFakeError, match="in none"):
        fake.assert_order_independent(list)


def test_a_comparison_in_which_no_app_has_a_say_is_refused() -> None:
    def unconnected(fake: ChatFake) -> None:
        fake.send_text()
        fake.assert_order_independent(list)

    def too_early(fake: ChatFake) -> None:
        fake.webhooks.receiver()
        fake.assert_order_independent(list)
        fake.send_text()

    async def awaited(fake: ChatFake) -> None:
        await fake.send_text()
        await fake.assert_order_independent(list)

    async def main() -> None:
        await explore(awaited)

    for run in (
        lambda: explore(unconnected),
        lambda: explore(too_early),
        lambda: asyncio.run(main()),
    ):
        with pytest.raises(ChatFakeError, match="has nothing to compare: no event was attempted"):
            run()


@pytest.mark.parametrize("name", ["assert_idempotent", "assert_order_independent"])
def test_a_snapshot_must_be_a_function(name: str) -> None:
    with ChatFake() as fake, pytest.raises(TypeError, match="takes a function"):
        getattr(fake, name)([])


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"deviations": ["duplicate", "early"]},
            ValueError,
            "unknown deviation 'early'.*'duplicate', 'reorder'",
        ),
        ({"deviations": "reorder"}, TypeError, "deviations must be a list"),
        ({"limit": 0}, ValueError, "limit must be from 1 to 1000000"),
        ({"limit": None}, TypeError, "limit must be a whole number"),
        ({"depth": -1}, ValueError, "depth must be from 0 to 1000000"),
        ({"seconds": 0}, ValueError, "seconds: expected more than 0"),
        ({"seconds": "2"}, TypeError, "seconds: expected a number"),
        ({"only": "webhooks.reorder()"}, TypeError, "only must be a list"),
        ({"only": [1]}, TypeError, "only: expected texts"),
        ({"only": ["reorder()"]}, ValueError, "is no deviation. Copy the list"),
        ({"only": ["webhooks.reorder(by=0)"]}, ValueError, "is no deviation"),
        ({"only": ["webhooks.reorder(start=x)"]}, ValueError, "is no deviation"),
        ({"only": ["webhooks.reorder(3)"]}, ValueError, "is no deviation"),
        ({"only": ["webhooks.reorder(after=3)"]}, ValueError, "is no deviation"),
        ({"only": ["webhooks.duplicate(after=1, pause=1)"]}, ValueError, "is no deviation"),
        ({"only": ["webhooks.duplicate(pause=0)"]}, ValueError, "is no deviation"),
        ({"only": ["webhooks.duplicate(pause='day')"]}, ValueError, "is no deviation"),
        ({"only": ["webhooks.concurrently(start=2, after=1)"]}, ValueError, "is no deviation"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(options: Any, error: Any, words: str) -> None:
    ran: list[object] = []
    with pytest.raises(error, match=words):
        explore(ran.append, **options)
    assert [] == ran


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (None, "body: expected a function"),
        (ChatFake, "body: expected a function"),
        (lambda: 0, "takes one argument"),
        (lambda a, b: 0, "takes one argument"),
        ((lambda: (yield)), "has a yield"),
    ],
)
def test_a_body_is_a_function_of_one_fake(body: Any, words: str) -> None:
    if body is None:
        with pytest.raises(TypeError, match=words):
            explore(3)  # type: ignore[arg-type]
        return
    with pytest.raises(TypeError, match=words):
        explore(body)


def test_the_three_ways_to_write_it_are_one() -> None:
    explorer = Explorer()

    @explorer
    def first(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.receiver()
        chat_fake.send_text()

    @explorer(limit=3)
    def second(chat_fake: ChatFake) -> None:
        chat_fake.webhooks.receiver()
        chat_fake.send_text()

    third = explorer(lambda fake: None, depth=0)
    assert [first, second, third] == explorer.explorations
    assert {Exploration} == {type(one) for one in explorer.explorations}


def test_chance_is_the_same_in_every_world_whatever_the_ids() -> None:
    def world(chat_fake: ChatFake) -> None:
        seen: list[str] = []
        chat_fake.webhooks.connect(handler=lambda request: seen.append(request.event.status))
        chat_fake.autopilot(deliver_after=(60, 3600), fail_share=0.3)
        with chat_fake.webhooks.paused() as pause:
            for number in range(4):
                chat_fake.send_text(to=f"+1555000{number}")
            pause.release(order="shuffled")
        chat_fake.clock.advance(hours=1)
        chat_fake.settle()

    assert explore(world, limit=5).worlds == 5
