"""``WebhookTests``: ready-made tests for an app that receives the service's webhooks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Final

import pytest

from ..base.arguments import check_int
from ..base.coroutines import run_at_once
from ..base.views import counted, listed
from ..domain.messages import DEFAULT_PRICE
from ..fake.config import ChatFakeConfig
from ..fake.details import chosen_path, name_of, post_of
from ..fake.fake import ChatFake
from ..fake.inside import Inside
from ..report.hints import logged_error
from ..webhooks.attempts import Attempt
from ..webhooks.events import Event
from .baseline import HARMLESS
from .deviations import EARLY, POSTED
from .exploration import Exploration
from .explorer import Explorer
from .ready_made import ReadyMade, writes
from .scene import Scene
from .webhook_run import NO_EXPECTED, WebhookRun, play_scenario

_IN_ORDER: Final = (
    "no event overtook an earlier one of its message: cause two without a settle(), an assertion "
    "or a clock move between them, or hold them back with chat_fake.webhooks.paused()"
)

_UNDELIVERED: Final = (
    "nothing was delivered for 31 days (if a job of your app notices that, run it in the snapshot)"
)

#: How long before a drop no app has given up because of a time zone, and how long before every app
#: has that does. An app with a time-out of its own has given up before both.
_ZONES: Final = timedelta(hours=15)
_BEFORE: Final = timedelta(minutes=30)

_NOT_DROPPED: Final = (
    "nothing was delivered, and half an hour before the service drops a message (15 hours before, "
    "all is right: are times of different zones compared?)"
)

_NAME_IT: Final = "Name the function that writes: crash_points = [Session.commit]"

_PERSON: Final = "+4915550003"

#: Three charges at this price show floats, which add up to 0.21449999999999997, and two decimals.
_PRICE: Final = "0.0715"


class WebhookTests(ReadyMade):
    """Is your webhook handler idempotent? Write ``connect()``, and get twenty tests.

    Subclass it in a test module, and connect a new app in each call::

        class TestShop(WebhookTests):
            crash_points = [Session.commit]

            def connect(self, chat_fake):
                shop = Shop()
                chat_fake.webhooks.connect(wsgi=shop.app, path="/hooks/chat")
                return lambda: dict(shop.statuses)  # the snapshot

    Each test plays :meth:`scenario` in many worlds: with duplicates, events out of order, lost
    responses, crashes or forged signatures. In each world, the app has to handle all events and end
    up with the same snapshot as when the scenario is played as written. A test that has nothing to
    try is skipped, and the reason says what to write. After the run, each class gets a card with a
    line for each test.

    To leave a test out, write ``test_a_crash = None``. A class without ``connect()`` is a base
    class, and is not collected.

    Attributes:
        crash_points: Functions whose calls may crash the app or raise an error, and at which
            attempts at the same time meet: ``[Session.commit]``, or
            ``{Session.commit: OperationalError}``.
        expected_failures: Reasons why tests fail for now, by test name. Once one of these tests
            passes, it counts as a failure.
        known_forgeries: Reasons why some forgeries get through for now, by the names that
            ``test_forgeries`` shows: ``{"signed a day ahead": "the SDK allows it"}``. All others
            still count.
        only: The only world to try, by test name, as a failure printed it.
    """

    known_forgeries: ClassVar[Mapping[str, str]] = {}

    # Yours to write

    def connect(self, chat_fake: ChatFake, *args: Any, **kwargs: Any) -> Any:
        """Make a new app with an empty database, and connect it.

        This method may be ``async def``, and may ``yield`` the snapshot and then clean up, like a
        fixture. Further parameters are fixtures, which all worlds of a test share.

        Returns:
            The *snapshot*: a function without arguments that returns what the app has made of its
            events, such as statuses and sums, as plain data. It may be async if ``connect`` is. If
            you return None, only the app's responses are checked.
        """
        raise NotImplementedError(
            f"{type(self).__name__}: expected a method connect(self, chat_fake) that connects the "
            f"app, as in chat_fake.webhooks.connect(wsgi=app, path='/hooks/chat')"
        )

    def scenario(self, chat_fake: ChatFake) -> Any:
        """Play what happens in each test; override it if your app sends messages or answers people.

        Write a plain function, an ``async def``, or a generator that yields each step and so works
        in async tests as well: ``message = yield chat_fake.send_text()``.

        With :meth:`expected`, two more messages are delivered, at a default price that shows
        whether the app keeps exact amounts.
        """
        is_judged = writes(self, "expected")
        price = _PRICE if is_judged and chat_fake.config.price == DEFAULT_PRICE else None
        yield chat_fake.send_text("first", to="+4915550001", price=price).deliver(devices=2).read()
        yield chat_fake.send_text("second", to="+4915550002").fail()
        for to in ("+4915550004", "+4915550005") * is_judged:
            yield chat_fake.send_text("another", to=to, price=price).deliver()

    def expected(self, chat_fake: ChatFake) -> Any:
        """Return what the snapshot has to be, computed from the fake's books.

        Without this method, worlds are only compared with each other, and may all be wrong alike.
        With it, each test that compares snapshots also compares them with its result::

            def expected(self, chat_fake):
                return {message.id: message.status for message in chat_fake.messages}

        For what the fake can't know, put in ``unittest.mock.ANY``, or ``pytest.approx()``. The
        method may be ``async def`` if ``connect`` or ``scenario`` is.
        """
        raise NotImplementedError(NO_EXPECTED)

    def play(self, chat_fake: ChatFake, *, steps: int | None = None) -> Any:
        """Play the scenario, as each test does; ``await`` it in an async test.

        Args:
            chat_fake: The fake.
            steps: If the scenario is a generator, how many of its yields to play; all of them if
                None.
        """
        last = 0 if steps is None else check_int(steps, "steps", 1)
        scene = Scene(chat_fake, None)
        playing = play_scenario(scene, self.scenario, last)
        return playing if scene.inside.is_async else run_at_once(playing)

    def forget(self) -> Any:
        """Delete what has expired; override it if your app uses a cache that measures real time.

        The test's clock can't age what is in a redis server, for example, or in cachetools. So this
        method is called after a test has moved the clock. It may be ``async def`` if ``connect`` or
        ``scenario`` is. If nothing expires, write ``def forget(self): pass``.
        """

    @pytest.fixture(name="chat_fake_config")
    def _with_tick(self, chat_fake_config: ChatFakeConfig) -> ChatFakeConfig:
        """The configuration with a tick, because a service's events have different times."""
        config = chat_fake_config
        return config.replace(tick=1) if getattr(config, "tick", 0) is None else config

    @pytest.fixture(name="webhook_run")
    def _webhook_run(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> WebhookRun:
        """Runs the ready-made tests of a WebhookTests class."""
        return WebhookRun(self, chat_explore, request, scenario=self.scenario, forget=self.forget)

    # The tests, in the order of the card

    def test_all_events_are_taken(self, webhook_run: WebhookRun) -> None:
        """Respond with 2xx to every event of the scenario."""
        webhook_run.explore(ending=webhook_run.count_events)

    def test_snapshot_changes(self, webhook_run: WebhookRun) -> None:
        """Show in the snapshot what has happened; otherwise, no test could find a bug."""
        webhook_run.explore(compares=True)

    def test_snapshot_is_right(self, webhook_run: WebhookRun) -> None:
        """End up with what ``expected()`` returns."""
        webhook_run.require_right()

    def test_duplicates(self, webhook_run: WebhookRun) -> None:
        """Handle duplicates: an event is redelivered, or retried because a response was lost."""
        webhook_run.compare("duplicate", "lose_response")

    def test_duplicates_under_another_id(self, webhook_run: WebhookRun) -> None:
        """Handle an event that is redelivered with a new id."""
        webhook_run.compare("duplicate_new_id")

    def test_duplicates_days_later(self, webhook_run: WebhookRun) -> None:
        """Handle all events again, two days later."""

        async def again(scene: Scene) -> None:
            await webhook_run.count_events(scene)
            two_days_later = partial(webhook_run.age, scene, timedelta(days=2))
            await two_days_later()
            await scene.take_and_settle()  # it may send what is due by then
            sent, cause = scene.books.sent, "all events came again two days later"
            snapshot = scene.snapshot or list
            await scene.inside.performed(scene.inside.expect_idempotent(snapshot, two_days_later))
            scene.require_none([*scene.books.repeats(sent)], sent, cause)
            if webhook_run.judges:
                await webhook_run.judge(scene, cause)
            if scene.snapshot is not None:  # it is as before, and so as written
                scene.comparison.remark = HARMLESS

        webhook_run.explore(ending=again, compares=True)

    def test_duplicates_at_once(self, webhook_run: WebhookRun) -> None:
        """Handle an event twice at the same time; if the app refuses one attempt, it is retried.

        The attempt that first comes to an awaiting line, to a crash point or, if there is none, to
        a database call is held until the other one is there as well, or has ended.
        """
        _compare_at_once(self, webhook_run, "duplicate_at_once")

    def test_another_order(self, webhook_run: WebhookRun) -> None:
        """Handle events that arrive out of order: late, or retried after a refusal on the way."""
        exploration = webhook_run.compare("reorder", "refuse")
        if not exploration._tried.has_another_order:
            pytest.skip(_IN_ORDER)

    def test_two_events_at_once(self, webhook_run: WebhookRun) -> None:
        """Handle two events at the same time; if the app refuses one, it is retried.

        The events belong to one message, or have the same status. One of them is held at a point
        such as those of duplicates, and the other one only begins then.
        """
        exploration = _compare_at_once(self, webhook_run, "two_events_at_once")
        for why in exploration._trials.unfired.values():
            webhook_run.note(f"events whose order matters to your app were left out: {why}")

    def test_a_read_at_once(self, webhook_run: WebhookRun) -> None:
        """Handle a ``read`` without a ``delivered``, because the chat was open (§3 rule 1)."""
        webhook_run.compare("read_at_once")

    def test_webhooks_before_the_response(self, webhook_run: WebhookRun) -> None:
        """Handle the webhooks of a send call, and others, before an API call's response."""
        webhook_run.compare(*EARLY)

    def test_a_crash(self, webhook_run: WebhookRun) -> None:
        """Survive a crash while handling a webhook, as in a deployment."""
        webhook_run.compare("crash")

    def test_an_error(self, webhook_run: WebhookRun) -> None:
        """Refuse an event while the database fails, for example, and handle the retry."""
        webhook_run.compare("error")

    def test_a_failing_api(self, webhook_run: WebhookRun) -> None:
        """Refuse an event if an API call fails while it is handled, and send once at the retry."""
        webhook_run.compare_sends()

    def test_an_unknown_message(self, webhook_run: WebhookRun) -> None:
        """Accept an event about a message that your app never sent, at the latest as a retry."""

        async def send(scene: Scene) -> None:
            fake, by_app = scene.fake, scene.app_sends
            if not fake.messages or not (by_app or webhook_run.has_own_scenario):
                pytest.skip("your app sends nothing, so it knows none of the messages anyway")
            known, before = fake.messages[-1], len(fake.webhooks.attempts)
            # What an app adds to its own messages, others don't have.
            extra = {} if by_app else known.extra
            sent = fake.send(known.type, known.content, to=_PERSON, price="0", extra=extra)
            await scene.inside.performed(sent.deliver())
            await scene.settle_with_retries()
            last = {(each.event, each.endpoint): each for each in fake.webhooks.attempts[before:]}
            _check_unknown(last.values())
            webhook_run.note_extent(counted(len(last), "event"))

        webhook_run.explore(ending=send, raise_exceptions=False)

    def test_a_month_later(self, webhook_run: WebhookRun) -> None:
        """Notice that messages were dropped after 30 days, which no event says (§3 rule 6)."""

        async def wait(scene: Scene) -> None:
            clock, end = scene.fake.clock, scene.fake.clock.now + timedelta(days=31)
            drop = min((due.at for due in clock.agenda if due.kind == "drop"), default=end)
            if clock.now < drop - _ZONES < drop < end:
                await webhook_run.age(scene, drop - _ZONES - clock.now)
                if await webhook_run.is_right(scene):
                    await webhook_run.age(scene, drop - _BEFORE - clock.now)
                    await webhook_run.judge(scene, _NOT_DROPPED)
            await webhook_run.age(scene, end - clock.now)
            dropped = sum(message.dropped for message in scene.fake.messages)
            if not dropped:
                pytest.skip("no message of your scenario was dropped within 31 days")
            webhook_run.note_extent(counted(dropped, "message"))
            await webhook_run.judge(scene, _UNDELIVERED)

        webhook_run.require_right()
        webhook_run.explore(prepare=lambda fake: Inside(fake).never_deliver(), ending=wait)

    def test_around_midnight(self, webhook_run: WebhookRun) -> None:
        """Count days rightly: half an hour before midnight UTC, and half an hour after it."""
        webhook_run.require_right()
        for time, hours in (("23:30", 0), ("00:30", 1)):
            webhook_run.explore(
                prepare=partial(_wait_for_night, hours=hours),
                ending=partial(webhook_run.judge, cause=f"the scenario began at {time} UTC"),
                raise_exceptions=False,
            )
        webhook_run.note_extent("2 worlds")

    def test_a_later_version(self, webhook_run: WebhookRun) -> None:
        """Ignore unknown fields and types of events, and accept unknown values."""

        async def unknown(scene: Scene) -> None:
            settings = scene.inside.settings
            kind = f"{settings.naming.event_type.partition('.')[0]}.added_later"
            if settings.outbound is not None:  # such an event would have another envelope
                webhook_run.note("no unknown event type, because of outbound=")
            elif not _listens(scene, kind):
                webhook_run.note('no unknown event type: connect(events="*")')
            else:
                await scene.inside.performed(scene.fake.webhooks.emit_event(kind))
                await scene.settle_with_retries()

        webhook_run.compare("evolve", *POSTED, ending=unknown)

    def test_people_write(self, webhook_run: WebhookRun) -> None:
        """Handle what people write to you."""

        async def write(scene: Scene) -> None:
            fake, settings = scene.fake, scene.inside.settings
            if settings.outbound is not None and settings.inbound is None:
                pytest.skip(
                    "outbound= shapes only status events: to shape what people write, pass inbound="
                )
            person, names = fake.recipient(_PERSON), dict[Event, str]()
            verbs = {
                "a text": partial(person.writes, "STOP"),
                "an image": partial(person.sends, "image", {"link": "https://example.test/1"}),
            }
            for name, verb in verbs.items():
                known = len(fake.events)
                await scene.inside.performed(verb())
                # Later ones may be the person's replies to what the app sends.
                written = (each for each in fake.events[known:] if each.message_id is None)
                names[next(written)] = name
                if scene.snapshot is not None:  # the snapshot may wait for a reply
                    await scene.inside.performed(fake.settle())
                    await scene.inside.taken(scene.snapshot)
            await scene.settle_with_retries()
            kinds = [event.type for event in names]
            if not any(_listens(scene, kind) for kind in kinds):
                pytest.skip(f'your endpoint does not listen for {kinds[0]}: connect(events="*")')
            webhook_run.note_extent(counted(len(names), "message"))
            if logging.root.manager.disable >= logging.ERROR:
                webhook_run.note("logging.disable() hides the errors that your app logs")
            errors = {
                names[each.event]: error
                for each in scene.inside.attempts
                if each.ok and each.event in names and (error := logged_error(each))
            }
            if errors:
                what, error = listed(errors), next(iter(errors.values()))
                raise AssertionError(f"the app accepted {what} from a person, but logged {error}")

        webhook_run.explore(ending=write)

    def test_forgeries(self, webhook_run: WebhookRun) -> None:
        """Refuse events with a missing, wrong or old signature."""

        async def forge(scene: Scene) -> None:
            if not any(endpoint.signer for endpoint in scene.inside.connected):
                pytest.skip('your endpoint has no signer: connect(signer=HmacSigner("secret"))')
            reject = scene.fake.webhooks.assert_rejects_forgeries
            await scene.inside.performed(reject(scene.snapshot, known=self.known_forgeries))
            if check := scene.inside.forgery_check:
                webhook_run.note_extent(counted(len(check.refused), "forgery", "forgeries"))
                for note in check.notes:
                    webhook_run.note(note)

        webhook_run.explore(ending=forge)


def _compare_at_once(tests: WebhookTests, webhook_run: WebhookRun, kind: str) -> Exploration:
    # Compare worlds in which two attempts are made at the same time.
    # How both attempts at the same time failed, by the events' names; empty: one did not.
    failed: dict[tuple[str, ...], list[str]] = {}
    had_threads: list[bool] = []

    async def note(scene: Scene) -> None:
        pairs: dict[int, list[Attempt]] = {}
        for attempt in scene.fake.webhooks.attempts:
            batch = post_of(attempt).batch
            if batch and any(mark.kind == "concurrently" for mark in attempt.marks):
                pairs.setdefault(batch, []).append(attempt)
        for pair in pairs.values():
            had_threads.append(scene.inside.had_threads)
            logged = logged_error(pair[0])
            why = f"{pair[0].outcome}{logged and f' (the app logged {logged})'}"
            is_done = any(each.ok and not logged_error(each) for each in pair)
            names = tuple(sorted({name_of(each.event) for each in pair}))
            failed.setdefault(names, []).append("" if is_done else why)

    advice = "" if tests.crash_points else f". {_NAME_IT}"
    exploration = webhook_run.compare(kind, ending=note, raise_exceptions=False, advice=advice)
    untried = {names: ways[0] for names, ways in failed.items() if all(ways)}
    both_failed = "two simultaneous attempts both failed every time"
    if untried and len(untried) == len(failed):
        pytest.skip(f"{both_failed}: {next(iter(untried.values()))}")
    if untried:
        names, why = next(iter(untried.items()))
        others = f", and for {counted(len(untried) - 1, 'other pair')}" * (len(untried) > 1)
        webhook_run.note(f"{both_failed} for {listed(names)}: {why}{others}")
    if meetings := exploration._tried.meetings:
        webhook_run.note(meetings)
    elif any(had_threads):
        why = f"the attempts ran in threads{advice}"
        if not webhook_run.runs_here:
            why = "your app is connected by its URL"
        webhook_run.note(f"by chance, because {why}")
    return exploration


def _wait_for_night(fake: ChatFake, hours: int) -> object:
    # Until 23:30 UTC tomorrow, and some hours more.
    tomorrow = fake.clock.now.replace(hour=23, minute=30) + timedelta(days=1, hours=hours)
    return fake.clock.move_to(tomorrow)


def _check_unknown(attempts: Iterable[Attempt]) -> None:
    # The last attempts of events about an unknown message.
    for attempt in attempts:
        if attempt.ok:
            continue
        path = chosen_path(attempt)
        how = attempt.outcome + f" at {path}" * bool(path)
        if 400 <= (attempt.status_code or 500) < 500:
            pytest.skip(f"refused with {how}: is that what your provider expects?")
        if attempt.number == 1:
            pytest.skip(
                f"refused with {how}: to see whether your app accepts a retry, pass "
                f"your provider's schedule, as in connect(retry_after=[60, 600])"
            )
        raise AssertionError(
            f"an event about a message that your app never sent was refused {attempt.number} "
            f"times, up to the last retry: {how}"
        )


def _listens(scene: Scene, event_type: str) -> bool:
    return any(endpoint.listens_for(event_type) for endpoint in scene.inside.connected)
