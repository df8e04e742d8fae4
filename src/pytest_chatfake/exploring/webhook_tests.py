"""``WebhookTests``: ready-made tests for an app that receives the service's webhooks."""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, ClassVar, Final

import pytest

from ..base.arguments import check_int, cited
from ..base.coroutines import run_at_once
from ..base.errors import ChatFakeError
from ..base.tracebacks import text_of
from ..base.views import counted, listed
from ..domain.messages import DEFAULT_PRICE
from ..fake.config import ChatFakeConfig
from ..fake.details import chosen_path, is_posted, let_retry, never_disable, target_of, was_made
from ..fake.fake import ChatFake
from ..fake.inside import Inside
from ..fake.snapshots import Snapshot, is_of_a_snapshot
from ..report.hints import logged_error
from ..webhooks.attempts import Attempt
from ..webhooks.events import Event
from .baseline import HARMLESS, Comparison, has_background
from .changes import ChangeCount
from .deviations import EARLY, POSTED, Deviation
from .exploration import Exploration, ReadyMadeTest
from .explorer import Explorer
from .first_tests import CHANGE, FIRST, RIGHT, has_failed
from .late_threads import about_late
from .printed_test import Written
from .ready_made import (
    Ending,
    Parameters,
    ReadyMade,
    Run,
    check_expected,
    item_of,
    writes,
)
from .recorder import comparison_of, recorder_of
from .search import WorldLog
from .send_judge import Books, Content
from .sending import ROUNDS, performed

_AS_WRITTEN: Final = "the scenario as written ends wrong"

_ALL_ALIKE: Final = (
    "no world differed from the scenario as written: does your app do its work after the response?"
)

_NO_SNAPSHOT: Final = (
    "connect() returned no snapshot, so only responses were checked; return a function that "
    "returns your app's state, as in lambda: dict(app.statuses)"
)

_NO_EXPECTED: Final = "nothing says what is right: write expected(self, chat_fake)"

_FORGET: Final = (
    "write a method forget(self) that deletes what has expired by then (def forget(self): pass if "
    "nothing expires)"
)

_IN_ORDER: Final = (
    "no event overtook an earlier one of its message: cause two without a settle(), an assertion "
    "or a clock move between them, or hold them back with chat_fake.webhooks.paused()"
)

_NO_CALL: Final = "your app makes no API call while it handles a webhook"

_NO_KEY: Final = "it can't know whether a call took effect: pass send_endpoint(idempotency_header=)"

_NOT_COUNTED: Final = (
    "sent messages were not counted, because your app can't know after a crash or an error whether "
    "a call took effect; pass send_endpoint(idempotency_header=)"
)

#: Tests in whose worlds a right app sends no message more often than as written.
_SEND_ONCE: Final = frozenset(
    {
        "test_duplicates",
        "test_duplicates_under_another_id",
        "test_duplicates_at_once",
        "test_webhooks_before_the_response",
    }
)

#: The same if the app can know whether a call took effect.
_SEND_ONCE_IF_CLEAR: Final = frozenset({"test_a_crash", "test_an_error"})

_UNDELIVERED: Final = (
    "nothing was delivered for 31 days (if a job of your app notices that, run it in the snapshot)"
)

#: How long before a drop an app must not have given up: less than most time zones differ by.
_BEFORE: Final = timedelta(minutes=30)

_NOT_DROPPED: Final = (
    "nothing was delivered, and half an hour before the service drops the first message (if your "
    "app gives up earlier, say so in expected())"
)

_NAME_IT: Final = "Name the function that writes: crash_points = [Session.commit]"

#: Hints if no event changes the snapshot.
_IN_A_QUEUE: Final = (
    "All events got 2xx and nothing changed: does your app put them in a queue? Run its worker in "
    "scenario(self, chat_fake)."
)
_UNKNOWN: Final = (
    "If the app only knows messages that it sent itself, let it send them in scenario(self, "
    "chat_fake). If it answers people, write chat_fake.recipient('+1').writes('Hello') there."
)

#: Real seconds for work in the background, in each round in which a message is missing.
_PAUSE: Final = 0.05

_PERSON: Final = "+4915550003"

#: Three charges at this price show floats, which add up to 0.21449999999999997, and two decimals.
_PRICE: Final = "0.0715"


class WebhookTests(ReadyMade):
    """Is your webhook handler idempotent? Write ``connect()``, and get nineteen tests.

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
        raise NotImplementedError(_NO_EXPECTED)

    def play(self, chat_fake: ChatFake, *, steps: int | None = None) -> Any:
        """Play the scenario, as each test does; ``await`` it in an async test.

        Args:
            chat_fake: The fake.
            steps: If the scenario is a generator, how many of its yields to play; all of them if
                None.
        """
        last = 0 if steps is None else check_int(steps, "steps", 1)
        playing = _played(self.scenario(chat_fake), chat_fake, last)
        return playing if Inside(chat_fake).is_async else run_at_once(playing)

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
    def _webhook_run(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> _WebhookRun:
        """Runs the ready-made tests of a WebhookTests class."""
        return _WebhookRun(self, chat_explore, request)

    # The tests, in the order of the card

    def test_all_events_are_taken(self, webhook_run: _WebhookRun) -> None:
        """Respond with 2xx to every event of the scenario."""
        webhook_run.explore(ending=webhook_run.count_events)

    def test_snapshot_changes(self, webhook_run: _WebhookRun) -> None:
        """Show in the snapshot what has happened; otherwise, no test could find a bug."""
        webhook_run.explore(compares=True)

    def test_snapshot_is_right(self, webhook_run: _WebhookRun) -> None:
        """End up with what ``expected()`` returns."""
        webhook_run.require_right()

    def test_duplicates(self, webhook_run: _WebhookRun) -> None:
        """Handle duplicates: an event is redelivered, or retried because a response was lost."""
        webhook_run.compare("duplicate", "lose_response")

    def test_duplicates_under_another_id(self, webhook_run: _WebhookRun) -> None:
        """Handle an event that is redelivered with a new id."""
        webhook_run.compare("duplicate_new_id")

    def test_duplicates_days_later(self, webhook_run: _WebhookRun) -> None:
        """Handle all events again, two days later."""

        async def again(fake: ChatFake, snapshot: Snapshot | None) -> None:
            webhook_run.tried(_events_of(fake))
            two_days_later = partial(webhook_run.age, fake, timedelta(days=2))
            await two_days_later()
            await _take(snapshot, Inside(fake))  # it may send what is due by then
            sent = Books.of(Inside(fake)).contents
            await performed(fake, Inside(fake).expect_idempotent(snapshot or list, two_days_later))
            webhook_run.require_no_repeats(fake, sent, "all events came again two days later")
            if webhook_run.judges:
                await webhook_run.judge(fake, snapshot, "all events came again two days later")
            if snapshot is not None:  # it is as before, and so as written
                comparison_of(Inside(fake)).remark = HARMLESS

        webhook_run.explore(ending=again, compares=True)

    def test_duplicates_at_once(self, webhook_run: _WebhookRun) -> None:
        """Handle an event twice at the same time; if the app refuses one attempt, it is retried.

        The attempt that first comes to a crash point, to an awaiting line or, if there is neither,
        to a database call is held until the other one is there as well, or has ended.
        """
        failed: list[str] = []  # how both attempts of a pair failed; empty: one did not
        had_threads: list[bool] = []

        async def note(fake: ChatFake, _: Snapshot | None) -> None:
            inside = Inside(fake)
            pair = [
                attempt
                for attempt in fake.webhooks.attempts
                if any(mark.kind == "concurrently" for mark in attempt.marks)
            ]
            if pair:
                had_threads.append(inside.had_threads)
                logged = logged_error(pair[0])
                why = f"{pair[0].outcome}{logged and f' (the app logged {logged})'}"
                is_done = any(each.ok and not logged_error(each) for each in pair)
                failed.append("" if is_done else why)

        advice = "" if self.crash_points else f". {_NAME_IT}"
        exploration = webhook_run.compare(
            "duplicate_at_once", ending=note, raise_exceptions=False, advice=advice
        )
        if failed and all(failed):
            pytest.skip(f"two simultaneous attempts both failed every time: {failed[0]}")
        if meetings := exploration._meetings:
            webhook_run.note(meetings)
        elif any(had_threads):
            why = f"the attempts ran in threads{advice}"
            if not webhook_run.runs_here:
                why = "your app is connected by its URL"
            webhook_run.note(f"by chance, because {why}")

    def test_another_order(self, webhook_run: _WebhookRun) -> None:
        """Handle events that arrive out of order: late, or retried after a refusal on the way."""
        exploration = webhook_run.compare("reorder", "refuse")
        if not exploration._has_another_order:
            pytest.skip(_IN_ORDER)

    def test_a_read_at_once(self, webhook_run: _WebhookRun) -> None:
        """Handle a ``read`` without a ``delivered``, because the chat was open (§3 rule 1)."""
        webhook_run.compare("read_at_once")

    def test_webhooks_before_the_response(self, webhook_run: _WebhookRun) -> None:
        """Handle the webhooks of a send call, and others, before an API call's response."""
        webhook_run.compare(*EARLY)

    def test_a_crash(self, webhook_run: _WebhookRun) -> None:
        """Survive a crash while handling a webhook, as in a deployment."""
        webhook_run.compare("crash")

    def test_an_error(self, webhook_run: _WebhookRun) -> None:
        """Refuse an event while the database fails, for example, and handle the retry."""
        webhook_run.compare("error")

    def test_a_failing_api(self, webhook_run: _WebhookRun) -> None:
        """Refuse an event if an API call fails while it is handled, and send once at the retry."""
        webhook_run.compare_sends()

    def test_an_unknown_message(self, webhook_run: _WebhookRun) -> None:
        """Accept an event about a message that your app never sent, at the latest as a retry."""

        async def send(fake: ChatFake, _: Snapshot | None) -> None:
            by_app = _sends(fake)
            if not fake.messages or not (by_app or webhook_run.has_own_scenario):
                pytest.skip("your app sends nothing, so it knows none of the messages anyway")
            known, before = fake.messages[-1], len(fake.webhooks.attempts)
            # What an app adds to its own messages, others don't have.
            extra = {} if by_app else known.extra
            sent = fake.send(known.type, known.content, to=_PERSON, price="0", extra=extra)
            await performed(fake, sent.deliver())
            await _settled(fake)
            last = {(each.event, each.endpoint): each for each in fake.webhooks.attempts[before:]}
            _check_unknown(last.values())
            webhook_run.tried(counted(len(last), "event"))

        webhook_run.explore(ending=send, raise_exceptions=False)

    def test_a_month_later(self, webhook_run: _WebhookRun) -> None:
        """Notice that messages were dropped after 30 days, which no event says (§3 rule 6)."""

        async def wait(fake: ChatFake, snapshot: Snapshot | None) -> None:
            left = timedelta(days=31)
            drops = [due.at for due in fake.clock.agenda if due.kind == "drop"]
            until = min(drops, default=fake.clock.now) - fake.clock.now - _BEFORE
            if timedelta(0) < until < left:
                await webhook_run.age(fake, until)
                await webhook_run.judge(fake, snapshot, _NOT_DROPPED)
                left -= until
            await webhook_run.age(fake, left)
            dropped = sum(message.dropped for message in fake.messages)
            if not dropped:
                pytest.skip("no message of your scenario was dropped within 31 days")
            webhook_run.tried(counted(dropped, "message"))
            await webhook_run.judge(fake, snapshot, _UNDELIVERED)

        webhook_run.require_right()
        webhook_run.explore(prepare=lambda fake: Inside(fake).never_deliver(), ending=wait)

    def test_around_midnight(self, webhook_run: _WebhookRun) -> None:
        """Count days rightly: half an hour before midnight UTC, and half an hour after it."""
        webhook_run.require_right()
        for time, hours in (("23:30", 0), ("00:30", 1)):
            webhook_run.explore(
                prepare=partial(_wait_for_night, hours=hours),
                ending=partial(webhook_run.judge, cause=f"the scenario began at {time} UTC"),
                raise_exceptions=False,
            )
        webhook_run.tried("2 worlds")

    def test_a_later_version(self, webhook_run: _WebhookRun) -> None:
        """Ignore unknown fields and types of events, and accept unknown values."""

        async def unknown(fake: ChatFake, _: Snapshot | None) -> None:
            inside = Inside(fake)
            settings = inside.settings
            kind = f"{settings.naming.event_type.partition('.')[0]}.added_later"
            if settings.outbound is not None:  # such an event would have another envelope
                webhook_run.note("no unknown event type, because of outbound=")
            elif not _listens(fake, kind):
                webhook_run.note('no unknown event type: connect(events="*")')
            else:
                await performed(fake, fake.webhooks.emit_event(kind))
                await _settled(fake)

        webhook_run.compare("evolve", *POSTED, ending=unknown)

    def test_people_write(self, webhook_run: _WebhookRun) -> None:
        """Handle what people write to you."""

        async def write(fake: ChatFake, snapshot: Snapshot | None) -> None:
            inside = Inside(fake)
            settings = inside.settings
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
                await performed(fake, verb())
                # Later ones may be the person's replies to what the app sends.
                written = (each for each in fake.events[known:] if each.message_id is None)
                names[next(written)] = name
                if snapshot is not None:  # the snapshot may wait for a reply
                    await performed(fake, fake.settle())
                    await inside.taken(snapshot)
            await _settled(fake)
            kinds = [event.type for event in names]
            if not any(_listens(fake, kind) for kind in kinds):
                pytest.skip(f'your endpoint does not listen for {kinds[0]}: connect(events="*")')
            webhook_run.tried(counted(len(names), "message"))
            if logging.root.manager.disable >= logging.ERROR:
                webhook_run.note("logging.disable() hides the errors that your app logs")
            errors = {
                names[each.event]: error
                for each in inside.attempts
                if each.ok and each.event in names and (error := logged_error(each))
            }
            if errors:
                what, error = listed(errors), next(iter(errors.values()))
                raise AssertionError(f"the app accepted {what} from a person, but logged {error}")

        webhook_run.explore(ending=write)

    def test_forgeries(self, webhook_run: _WebhookRun) -> None:
        """Refuse events with a missing, wrong or old signature."""

        async def forge(fake: ChatFake, snapshot: Snapshot | None) -> None:
            if not any(endpoint.signer for endpoint in Inside(fake).connected):
                pytest.skip('your endpoint has no signer: connect(signer=HmacSigner("secret"))')
            known = self.known_forgeries
            await performed(fake, fake.webhooks.assert_rejects_forgeries(snapshot, known=known))
            if check := Inside(fake).forgery_check:
                webhook_run.tried(counted(len(check.refused), "forgery", "forgeries"))
                for note in check.notes:
                    webhook_run.note(note)

        webhook_run.explore(ending=forge)


class _WebhookRun(Run[WebhookTests]):
    """The explorations of one ready-made test."""

    parameters: ClassVar[Parameters] = (
        ("connect", ("chat_fake",), "fixtures may follow"),
        ("scenario", ("chat_fake",), "fixtures are parameters of connect()"),
        ("expected", ("chat_fake",), "connect() can set what it needs, as in self.app = ..."),
        ("forget", (), "connect() can set what it needs, as in self.cache = ..."),
    )

    def __init__(
        self, tests: WebhookTests, explorer: Explorer, request: pytest.FixtureRequest
    ) -> None:
        self.has_own_scenario: bool = writes(tests, "scenario")
        written = type(tests).scenario if self.has_own_scenario else type(tests).connect
        super().__init__(tests, explorer, request, written, (tests.connect, tests.scenario))
        self._fails_calls = False  # whether only API calls that the app makes in attempts fail
        self._can_deduplicate = False
        self._has_aged = False  # whether the test moved the clock
        self._changes: ChangeCount | None = None
        self._counts = False  # whether messages have to be as in the first world
        self._was_played = False  # whether the scenario passed in the first world
        self._is_through = False  # whether the scenario passed in this world
        self._has_to_be_right = False  # whether the first world has to be as expected() says
        self.runs_here: bool = True  # whether an app runs in this process
        self.judges: bool = False  # whether it is, so that expected() judges other worlds as well

    async def count_events(self, fake: ChatFake, _: Snapshot | None) -> None:
        self.tried(_events_of(fake))

    def compare(
        self,
        *kinds: str,
        ending: Ending | None = None,
        raise_exceptions: bool = True,
        advice: str = "",
    ) -> Exploration:
        exploration = self.explore(
            *kinds, ending=ending, compares=True, raise_exceptions=raise_exceptions
        )
        if not exploration._deviating and self._fails_calls:
            pytest.skip(_NO_CALL if self._can_deduplicate else f"{_NO_CALL}, or {_NO_KEY}")
        if reason := exploration._why_nothing or _ALL_ALIKE * (not exploration._deviating):
            pytest.skip(reason)
        self._note_tried(exploration, advice if self.runs_here else "")
        return exploration

    def compare_sends(self) -> None:
        """Let API calls fail that the app makes while it handles an event, and count messages."""
        self._fails_calls, written = True, list[Counter[Content]]()

        async def count_messages(fake: ChatFake, snapshot: Snapshot | None) -> None:
            books = await self._awaited_books(fake, snapshot, written[0] if written else Counter())
            written.append(books.contents)
            self._can_deduplicate = books.can_deduplicate
            lines = [*books.repeats(written[0]), *books.missing(written[0])]
            self._require_none(lines, books, written[0], "an API call failed")

        self.compare("api.fail", "api.rate_limit", "api.lose_response", ending=count_messages)

    def explore(
        self,
        *kinds: str,
        ending: Ending | None = None,
        compares: bool = False,
        raise_exceptions: bool = True,
        prepare: Callable[[ChatFake], object] | None = None,
    ) -> Exploration:
        # If it compares snapshots, the scenario has to change them. If what was prepared breaks
        # the scenario itself, the test is skipped.
        async def scenario(chat_fake: ChatFake) -> None:
            self._is_through = False
            inside = Inside(chat_fake)
            by_hand = recorder_of(inside).by_hand  # then it only does what the test to paste does
            if prepare is not None:
                await performed(chat_fake, prepare(chat_fake))
            async with self._connected(chat_fake) as snapshot:
                self._check_endpoints(inside, raises=raise_exceptions or by_hand)
                self._check_snapshot(snapshot)
                if not (by_hand or prepare):
                    await self._require_new_app(chat_fake, snapshot)
                end = None if by_hand else ending
                await self._run(chat_fake, snapshot, end, looks=bool(kinds), compares=compares)
                if not by_hand:
                    await performed(chat_fake, chat_fake.settle())
                    inside.checks.require_accepted()

        scope = self._scope(kinds)._replace(
            stop_at_first="unknown_value" not in kinds,  # name each field
            may_miss_points="crash_points" not in vars(type(self._tests)),
            runs_again=self._name == FIRST,  # to find an app that remembers an earlier world
        )
        row = ReadyMadeTest(self._name, self._as_written, self._wants)
        try:
            exploration = self._explored(scenario, scope, row, is_called=self.has_own_scenario)
        except Exception as error:
            last = self._explorer.explorations[-1]
            if last._failed_as_written and not self._is_through:
                self._skip_if_failed(FIRST)
                if prepare is not None:
                    why = f"{type(error).__name__}: {text_of(error)}".partition("\n")[0]
                    pytest.skip(f"your scenario itself fails in this case, with {why}")
            if prepare is not None:  # what the app keeps may have to expire
                self._skip_if_not_aged(last)
            if is_of_a_snapshot(error):
                self._skip_if_failed(CHANGE)
            self._note_errors(error)
            raise
        if compares and not self._has_snapshot:
            pytest.skip(_NO_SNAPSHOT)
        self._skip_if_not_aged(exploration)
        self._note_errors()
        return exploration

    def _wants(self, deviation: Deviation, log: WorldLog) -> bool:
        if not self._fails_calls:
            return True
        is_clear = self._can_deduplicate or deviation.kind != "api.lose_response"
        in_attempts = {(each.number, each.call) for each in log.calls if each.is_in_attempt}
        return is_clear and (deviation.start, deviation.call) in in_attempts

    async def age(self, fake: ChatFake, by: timedelta) -> None:
        """Move the clock, and let the app forget what has expired by then."""
        self._has_aged = True
        await performed(fake, fake.clock.advance(by))
        await self._returned("forget()", self._tests.forget())

    async def judge(
        self, fake: ChatFake, snapshot: Snapshot | None, cause: str = _AS_WRITTEN
    ) -> None:
        """Compare a snapshot with what ``expected()`` returns."""
        inside = Inside(fake)
        comparison = comparison_of(inside)
        if snapshot is None:
            pytest.skip(_NO_SNAPSHOT)
        if comparison.baseline.until or not comparison.judges:
            return
        await inside.settle()
        expected = await self._returned("expected()", self._tests.expected(fake))
        check_expected(expected)
        await comparison.judge(expected, snapshot, cause)

    async def _returned(self, method: str, made: Any) -> Any:
        # The result of a method of the user's that may be async if the others are.
        if inspect.isgenerator(made) or inspect.isasyncgen(made):
            raise TypeError(f"{method}: expected a function without yield")
        if inspect.iscoroutine(made) and not self._is_async:
            made.close()  # or Python warns that it was never awaited
            raise TypeError(
                f"{method}: expected a plain function, as connect() and scenario() are, got an "
                f"async def"
            )
        return await made if inspect.iscoroutine(made) else made

    def require_right(self) -> None:
        """Go on only if the scenario as written ends as ``expected()`` says."""
        if not writes(self._tests, "expected"):
            pytest.skip(_NO_EXPECTED)
        self._skip_if_failed(RIGHT)
        if self._name != RIGHT and item_of(self._tests.expected_failures, RIGHT):
            pytest.skip(f"{RIGHT} is expected to fail")
        self._has_to_be_right = True
        self.explore(ending=self.count_events, compares=True)

    def _skip_if_not_aged(self, exploration: Exploration) -> None:
        is_ours = self._has_aged and not writes(self._tests, "forget")
        if is_ours and (why := exploration._why_not_aged):
            pytest.skip(why + _FORGET)

    def _skip_if_failed(self, name: str) -> None:
        # The other test says why this one would fail.
        if self._name != name and has_failed(self._item, name):
            pytest.skip(f"{name} fails")

    # A world

    async def _run(
        self,
        fake: ChatFake,
        snapshot: Snapshot | None,
        ending: Ending | None,
        *,
        looks: bool,
        compares: bool,
    ) -> None:
        is_first = not self._was_played
        await self._play(fake, snapshot, looks=looks)
        self._is_through = True
        if compares and is_first and snapshot is not None:
            await self._check_as_written(snapshot, fake)
            await self._check_change(snapshot, fake)
        if ending is not None:
            await ending(fake, snapshot)
        if looks:
            books = await self._books_in_time(fake, snapshot)
            if self.judges:
                await self.judge(fake, snapshot)
            if snapshot is not None:
                await performed(fake, fake.assert_order_independent(snapshot))
            self._count_messages(books or Books.of(Inside(fake)))

    async def _books_in_time(self, fake: ChatFake, snapshot: Snapshot | None) -> Books | None:
        # The books once a worker has sent what a crash or an error has left to it, so that the
        # snapshot shows it as well; None if what is missing doesn't count.
        comparison = comparison_of(Inside(fake))
        if self._name not in _SEND_ONCE_IF_CLEAR or not self._is_counted(comparison):
            return None
        return await self._awaited_books(fake, snapshot, comparison.baseline.messages)

    def _is_counted(self, world: Comparison) -> bool:
        # Whether messages have to be as in the first world, in this one.
        return self._counts and world.compares and not (world.learning or world.baseline.until)

    async def _awaited_books(
        self, fake: ChatFake, snapshot: Snapshot | None, sent: Counter[Content]
    ) -> Books:
        # A worker, such as one in the snapshot, may send later what is missing.
        inside = Inside(fake)
        await _take(snapshot, inside)
        first = books = Books.of(inside)
        for _ in range(ROUNDS):
            if not [*books.missing(sent)]:
                break
            await inside.pause(_PAUSE * has_background(inside))
            await performed(fake, fake.clock.advance(hours=1))
            await _take(snapshot, inside)
            books = Books.of(inside)
        return books.without_later(first, sent)

    def _count_messages(self, books: Books) -> None:
        # The app's own books may hide that it sent a message twice.
        inside = books.inside
        comparison = comparison_of(inside)
        baseline = comparison.baseline
        may_lose = self._name in _SEND_ONCE_IF_CLEAR
        if comparison.learning:
            baseline.messages = books.contents
            self._counts = self._name in _SEND_ONCE or (may_lose and books.can_deduplicate)
            if may_lose and books.is_sent_by_app and not self._counts:
                self.note(_NOT_COUNTED)
        elif self._is_counted(comparison):
            lines = [*books.repeats(baseline.messages)]
            if may_lose:
                lines += books.missing(baseline.messages)
            self._require_none(lines, books, baseline.messages, "other messages were sent")

    def require_no_repeats(self, fake: ChatFake, sent: Counter[Content], cause: str) -> None:
        """Fail if messages were sent more often than they had been."""
        books = Books.of(Inside(fake))
        self._require_none([*books.repeats(sent)], books, sent, cause)

    def _require_none(
        self, lines: list[str], books: Books, sent: Counter[Content], cause: str
    ) -> None:
        if not lines:
            return
        comparison = comparison_of(books.inside)
        comparison.baseline.messages, self._quotes_ids = sent, books.quotes_ids
        raise comparison.error_about(cause, lines, "messages")

    def _check_endpoints(self, inside: Inside, *, raises: bool) -> None:
        if not inside.connected:
            raise ChatFakeError(
                "connect(): expected it to connect the app, got no endpoint; call "
                "chat_fake.webhooks.connect(...) in it"
            )
        self.runs_here = any(target_of(each).in_process for each in inside.connected)
        for endpoint in inside.connected:
            endpoint.raise_exceptions = endpoint.raise_exceptions and raises
            never_disable(endpoint)  # the test's own faults must not count as failures
            if self._fails_calls:
                let_retry(endpoint)

    @contextmanager
    def _counting(self, inside: Inside, snapshot: Snapshot | None) -> Generator[None]:
        # Count the events that change the snapshot, for the test that says so.
        if self._name != CHANGE or self._was_played or snapshot is None:
            yield
            return
        self._changes = ChangeCount(inside, snapshot)
        plugins = self._item.config.pluginmanager
        plugins.register(self._changes)
        try:
            yield
        finally:
            plugins.unregister(self._changes)
        self.tried(self._changes.summary())

    async def _check_change(self, snapshot: Snapshot, fake: ChatFake) -> None:
        inside = Inside(fake)
        value = await inside.taken(snapshot)
        is_right = self.judges and self._name != CHANGE  # it may be as it was, such as money held
        if is_right or value != self._before or (self._changes and self._changes.events):
            return
        self._skip_if_failed(CHANGE)
        was = f"it was {cited(value)} before and after the scenario"
        problem = f"the snapshot did not change: {was}"
        seen = recorder_of(inside)
        if errors := seen.accepted_errors():
            raise AssertionError(f"{_accepted(errors)}, and {problem}")
        if late := about_late(seen.late_threads):
            raise AssertionError(f"{problem}; {late}")
        raise AssertionError(f"{problem}\n{_IN_A_QUEUE if _sends(fake) else _UNKNOWN}")

    async def _check_as_written(self, snapshot: Snapshot, fake: ChatFake) -> None:
        # If the scenario as written ends wrong, one test says so, and the others go on as if there
        # were no expected().
        if not writes(self._tests, "expected"):
            return
        try:
            await self.judge(fake, snapshot)
            self.judges = True
        except Exception:
            if self._has_to_be_right:
                raise

    def _note_errors(self, failure: Exception | None = None) -> None:
        # Name what the app logged for events that it accepted, unless the failure does.
        errors = self._explorer.explorations[-1]._trials.accepted_errors
        if not errors or any(error in str(failure) for error in errors):
            return
        self.note(_accepted(errors))
        if failure is not None:
            failure.add_note(f"Hint: {_accepted(errors)}.")

    async def _play(self, fake: ChatFake, snapshot: Snapshot | None, *, looks: bool) -> None:
        inside = Inside(fake)
        comparison, look = comparison_of(inside), None
        if looks and snapshot is not None:
            look = partial(comparison.look, snapshot=snapshot)
        with self._counting(inside, snapshot):
            await _played(self._tests.scenario(fake), fake, comparison.baseline.until, look)
        if not self._was_played:  # as written
            if not len(fake.events):
                raise ChatFakeError("scenario(): expected events, got none; send a message in it")
            if not any(map(is_posted, fake.events)):
                raise ChatFakeError(
                    "outbound=: expected a body for one of the scenario's events at least, got "
                    "None for each; nothing was posted"
                )
            if not any(map(was_made, inside.attempts)):
                types = listed(dict.fromkeys(event.type for event in fake.events))
                raise ChatFakeError(
                    f"connect(): expected an endpoint that listens for {types}, the scenario's "
                    f"events, got none; pass their types as connect(events=)"
                )
            inside.checks.require_accepted()
            inside.checks.run()
        self._was_played = True

    # The test to paste

    def _as_written(self, comparison: Comparison) -> Written:
        imports = list[str]()
        until = comparison.baseline.until
        steps = f", steps={until}" * bool(until)
        lines = [f"{'await ' * self._is_async}self.play(chat_fake{steps})"]
        if comparison.basis != "as written" or (self._has_snapshot and comparison.compares):
            lines += self._assertions(comparison, imports)
        return self._pasted(lines, imports)


async def _take(snapshot: Snapshot | None, inside: Inside) -> None:
    # Take the snapshot, which may send, and let the app handle the events of that.
    for _ in range(ROUNDS):
        known = len(inside.account.messages)
        if snapshot is not None:
            await inside.taken(snapshot)
        await inside.settle()
        if len(inside.account.messages) == known:
            break


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


async def _played(
    steps: Any,
    fake: ChatFake,
    last: int,
    look: Callable[[int], Awaitable[None]] | None = None,
) -> None:
    if inspect.isgenerator(steps):
        with suppress(StopIteration), closing(steps):
            step: Any = next(steps)
            for number in count(1):
                try:
                    is_awaited = Inside(fake).is_async and inspect.isawaitable(step)
                    result: Any = await step if is_awaited else step
                except Exception as error:  # the scenario may expect it
                    step = steps.throw(error)
                else:
                    if look is not None:
                        await look(number)
                    if number == last:
                        break
                    step = steps.send(result)
    elif inspect.isasyncgen(steps):
        raise TypeError(
            "scenario(): expected no yield in an async def; write a plain def, which yields what "
            "you would await"
        )
    elif inspect.isawaitable(steps):
        await steps
    await _settled(fake)


def _accepted(errors: Mapping[str, str]) -> str:
    # The first of the errors that the app logged, and an event that it accepted nevertheless.
    error, event = next(iter(errors.items()))
    others = counted(len(errors) - 1, "other error")
    text = f"the app accepted {event}, but logged {error}"
    if not event:
        text = f"{error} was raised in the background"
    return text + f", and {others}" * (len(errors) > 1)


def _sends(fake: ChatFake) -> bool:
    # Whether an API call has sent a message.
    inside = Inside(fake)
    return any(map(inside.send_call_of, inside.account.messages))


def _listens(fake: ChatFake, event_type: str) -> bool:
    return any(endpoint.listens_for(event_type) for endpoint in Inside(fake).connected)


def _events_of(fake: ChatFake) -> str:
    inside = Inside(fake)
    events = {attempt.event for attempt in inside.attempts if was_made(attempt)}
    return counted(len(events), "event")


async def _settled(fake: ChatFake) -> None:
    # An app may accept a retry of an event that it refused at first.
    await performed(fake, fake.settle())
    while any(due.kind == "retry" for due in fake.clock.agenda):
        await performed(fake, fake.clock.advance_to_next())
