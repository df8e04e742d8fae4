"""``SendTests``: ready-made tests for an app that sends messages."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

import pytest

from ..base.arguments import cited
from ..base.coroutines import run_at_once
from ..base.errors import ChatFakeError
from ..base.views import listed
from ..fake.fake import ChatFake
from ..fake.inside import Inside
from .amounts import amounts_in
from .app_calls import AppCalls, awaited
from .baseline import Basis, Comparison
from .client_calls import POINTS, is_client_call
from .deviations import Call, Deviation, has_points
from .exploration import Exploration
from .explorer import Explorer
from .failure_report import ReadyMadeTest
from .garbage import old_objects
from .late_threads import about_late
from .printed_test import Written
from .ready_made import (
    Ending,
    Parameters,
    ReadyMade,
    Run,
    check_expected,
    writes,
)
from .rejections import LAST_ROUNDS, amounts_as_accepted, still_tried
from .scene import Scene
from .search import CALLS, LoggedAttempt, WorldLog
from .send_judge import Books, Content, with_names
from .sending import DAYS, Sending
from .world_observer import observer_of

#: Deviations after which an app without a key or a look-up can't know whether a call took effect.
_UNCLEAR: Final = frozenset({"api.lose_response", "api.disconnect", "api.truncate"})

#: In real seconds: longer than for a webhook, because a client may sleep between tries.
_TIMEOUT: Final = 60

_NO_KEY: Final = (
    "your app can't know whether the call took effect: pass send_endpoint(idempotency_header=), "
    "add a GET route() by which it can look the message up, or write undecided(self, snapshot)"
)

_SEND_CALL: Final = (
    "call chat_fake.send_endpoint() in connect(), and let the app call chat_fake.base_url"
)

_NO_RESTART: Final = (
    "write restart(self, chat_fake), which makes the app anew on what it has stored, as in "
    "self.shop = Shop(self.path)"
)

_NEW_KEY_LATE: Final = "the new key was used only after restart()"
_NEW_KEY_NEVER: Final = "after restart(), no call had the new key: let it read chat_fake.api_key"
_NO_CALL: Final = "the app made no call after restart()"

_BY_WEBHOOKS: Final = (
    "your app only sends while it handles a webhook, so the service's retry makes it send again: "
    "test it with WebhookTests, whose test_a_failing_api does this"
)

_FOR_FREE: Final = "no message failed for lack of money: does your send call cost any?"

_A_LOCK: Final = (
    "one waited while the other was held {}: other processes only do so if the lock is in the "
    "database or a file, and not a threading.Lock"
)

#: Of all calls, and of those that call the API, so many are tried; later ones do the same again.
_CALLS_TRIED: Final = 3

#: How many calls of one query are tried.
_QUERIES_TRIED: Final = 3

_UNSHOWN: Final = (
    "your app gave up, but after a rejection, the snapshot is the same as after an accepted send, "
    "{}: let it show that the message was rejected, or write rejected(self, snapshot)"
)


class SendTests(ReadyMade):
    """Does your app send twice, or not at all? Write three methods, and get eight tests.

    Subclass it in a test module::

        class TestOutbox(SendTests):
            crash_points = [Session.commit]

            def connect(self, chat_fake, tmp_path_factory):
                chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
                self.path = tmp_path_factory.mktemp("outbox") / "outbox.db"
                self.restart(chat_fake)
                return lambda: self.outbox.states()  # the snapshot

            def restart(self, chat_fake):
                self.outbox = Outbox(self.path, chat_fake.base_url, chat_fake.api_key)

            def send(self, chat_fake):
                self.outbox.add("+4915550001", "Your order is on its way")

            def work(self, chat_fake):
                self.outbox.send_all()

    Each test plays one business send in many worlds, and something different goes wrong each time.
    In the end, each message must have been sent as often as when nothing goes wrong, and the
    snapshot must be the same. Messages count as the same if they have the same recipient and
    content; failed ones don't count. A test that can't judge your app is skipped, and the reason
    says what to write. After the run, each class gets a card with a line for each test.

    To leave a test out, write ``test_a_crash = None``. A class without ``connect()`` is a base
    class, and is not collected. All methods may be ``async def``.

    Attributes:
        crash_points: Functions before and after whose calls the app may crash, and at which two
            workers meet, besides its calls of the API: ``[Session.commit]``.
        expected_failures: Reasons why tests fail for now, by test name. Once one of these tests
            passes, it counts as a failure.
        only: The only world to try, by test name, as a failure printed it.
    """

    # Yours to write

    def connect(self, chat_fake: ChatFake, *args: Any, **kwargs: Any) -> Any:
        """Add the send call, and make a new app with an empty database.

        The app has to call ``chat_fake.base_url``, over a socket. This method may ``yield`` the
        snapshot and then clean up, like a fixture. Further parameters are fixtures, which all
        worlds of a test share.

        Returns:
            The *snapshot*: a function without arguments that returns what the app knows of its
            sends, such as their states, as plain data without times or counts of tries. If you
            return None, only the messages are checked.
        """
        raise NotImplementedError(
            f"{type(self).__name__}: expected a method connect(self, chat_fake) that adds the send "
            f"call, as in chat_fake.send_endpoint(), and makes the app"
        )

    def restart(self, chat_fake: ChatFake) -> Any:
        """Make the app anew, as after a deployment, on what it has stored.

        Without this method, ``test_a_crash`` and ``test_two_at_once`` are skipped. A second worker
        calls it on a copy of this object, in a thread of its own.
        """

    def send(self, chat_fake: ChatFake) -> Any:
        """Send once, as your app's caller does.

        Let errors through of which the caller would be told: it then calls once more, ten minutes
        later.
        """
        raise NotImplementedError(
            f"{type(self).__name__}: expected a method send(self, chat_fake) that makes the app "
            f"send"
        )

    def work(self, chat_fake: ChatFake) -> Any:
        """Do what a scheduler does now and then, such as sending what is in the outbox.

        It is called after ``send()``, and then every hour for 20 hours. If nothing was sent by
        then, it is called every day until something is, for 31 days at most, and again for 20
        hours. Its errors are swallowed.
        """

    def undecided(self, snapshot: Any) -> Any:
        """Return whether the app says that a person has to look.

        It then need not have sent all messages, but must not have sent one twice.
        """

    def rejected(self, snapshot: Any) -> Any:
        """Return whether the snapshot is right after all messages were rejected with a 400.

        Apps differ in what they keep of a message that was never accepted. Without this method,
        ``test_a_rejected_send`` only compares amounts, and is skipped if the snapshot is the same
        as after an accepted send.
        """

    def expected(self, chat_fake: ChatFake) -> Any:
        """Return what the snapshot has to be, from the fake's books, in place of as written."""

    def play(self, chat_fake: ChatFake, *, days: int = 0) -> Any:
        """Send once and let the app work, as each test does; ``await`` it in an async test.

        Args:
            chat_fake: The fake.
            days: On how many days the app sends nothing, as a printed test says.

        Raises:
            AssertionError: A call of ``send()`` or ``work()`` would never end.
        """
        app = AppCalls(self, chat_fake, works=writes(self, "work"), twice=False, may_fail=False)
        playing = _play(chat_fake, app, days)
        return playing if Inside(chat_fake).is_async else run_at_once(playing)

    @pytest.fixture(name="send_run")
    def _send_run(self, chat_explore: Explorer, request: pytest.FixtureRequest) -> _SendRun:
        """Runs the ready-made tests of a SendTests class."""
        return _SendRun(self, chat_explore, request)

    # The tests, in the order of the card

    def test_a_refused_send(self, send_run: _SendRun) -> None:
        """Send later if a call gets a 503, a 429 with ``Retry-After``, or a closed connection."""
        send_run.compare("api.fail", "api.rate_limit", "api.disconnect")

    def test_a_lost_response(self, send_run: _SendRun) -> None:
        """Don't send again if a call took effect: its connection was closed or reset, or a 502."""
        send_run.compare("api.lose_response")

    def test_a_rejected_send(self, send_run: _SendRun) -> None:
        """Give up at some time if a call gets a 400, and don't take the message for accepted."""
        send_run.compare("api.fail_400")

    def test_a_garbled_response(self, send_run: _SendRun) -> None:
        """Survive a response that is cut off, and a 503 with an HTML page."""
        send_run.compare("api.truncate", "api.fail_page")

    def test_a_rotated_key(self, send_run: _SendRun) -> None:
        """Get the new API key, and send what was refused with 401."""
        send_run.compare_with_a_new_key()

    def test_out_of_funds(self, send_run: _SendRun) -> None:
        """Send what failed for lack of money once there is money again."""
        send_run.compare_without_money()

    def test_two_at_once(self, send_run: _SendRun) -> None:
        """Send once although two processes do the same at the same time."""
        send_run.require_restart()
        send_run.compare_at_once()

    def test_a_crash(self, send_run: _SendRun) -> None:
        """Survive a crash before and after each call of the API, and at crash points."""
        send_run.require_restart()
        send_run.compare("crash")


class _Known(NamedTuple):
    """What an app has sent, and its snapshot, in a world where nothing went wrong.

    Attributes:
        messages: The messages, and how often each was sent.
        quotes_ids: Whether messages say ids.
        value: The snapshot, with names for ids.
        cost: The total price of the messages.
    """

    messages: Counter[Content]
    quotes_ids: bool
    value: Any
    cost: Decimal


class _Wrong(NamedTuple):
    """What is wrong in the end of a world; nothing, if there are no lines.

    Attributes:
        lines: Say what is wrong.
        basis: From what something differs.
        note: What the fake's books say of amounts.
        code: The lines of a test that show it; None: it plays the send, and compares with the
            basis.
    """

    lines: list[str]
    basis: Basis = "as written"
    note: str = ""
    code: list[str] | None = None


class _SendRun(Run[SendTests]):
    """The explorations of one ready-made test."""

    parameters: ClassVar[Parameters] = (
        ("connect", ("chat_fake",), "fixtures may follow"),
        ("restart", ("chat_fake",), "fixtures are parameters of connect()"),
        ("send", ("chat_fake",), "fixtures are parameters of connect()"),
        ("work", ("chat_fake",), "fixtures are parameters of connect()"),
        ("undecided", ("snapshot",), "it takes what the snapshot returns"),
        ("rejected", ("snapshot",), "it takes what the snapshot returns"),
        ("expected", ("chat_fake",), "it returns what the snapshot has to be"),
    )

    def __init__(
        self, tests: SendTests, explorer: Explorer, request: pytest.FixtureRequest
    ) -> None:
        methods = [getattr(tests, name) for name, *_ in self.parameters]
        super().__init__(tests, explorer, request, type(tests).send, methods)
        explorer._config = explorer._config.replace(timeout=_TIMEOUT)
        self._known: dict[bool, _Known] = {}  # by whether send() was called twice
        self._days: int | None = None  # on how many days nothing is sent
        self._send_calls: list[Call] = []  # those that sent the messages of the first world
        self._earlier: Counter[Call | None] = Counter()  # those before its send, as by connect()
        self._can_decide = False  # whether a right app can know if a call took effect
        # A snapshot after a rejection, in any world, that is as after an accepted send.
        self._unshown: str = ""

    def require_restart(self) -> None:
        if not writes(self._tests, "restart"):
            pytest.skip(_NO_RESTART)

    # The rows

    def compare(self, *kinds: str) -> None:
        exploration = self._explore(kinds)
        if not exploration._tried.deviating and not exploration._trials.sometimes:
            pytest.skip(exploration._tried.why_nothing or self._why_nothing(kinds))
        if self._unshown:
            pytest.skip(_UNSHOWN.format(self._unshown))
        self._skip_if_by_chance(exploration)
        self._note_tried(exploration)
        if not self._can_decide and (unclear := [kind for kind in kinds if kind in _UNCLEAR]):
            self.note(f"{listed(unclear)} was not tried: {_NO_KEY}")
        if meetings := exploration._tried.meetings:
            self.note(meetings)
        if waits := exploration._tried.places("limit"):
            self.note(_A_LOCK.format(waits))

    def compare_at_once(self) -> None:
        self._explore(sends=partial(self._sends, twice=True))
        self.compare("duplicate_at_once")

    def compare_with_a_new_key(self) -> None:
        self._explore()

        async def sends(scene: Scene) -> None:
            fake = scene.fake
            refused = [
                fake.api.fail(401, times=None, **call._asdict()) for call in self._send_calls
            ]

            def rotate() -> None:
                for fault in refused:
                    fault.remove()
                fake.rotate_key()

            with self._sending(fake, remedy=rotate) as sending:
                await sending.play()
                is_static = not sending.app.key_reads
                if is_static and [*scene.books.missing(self._known[False].messages)]:
                    await self._deploy(scene, sending)
                await self._judge(scene, sending, "the API key was rotated")

        self._explore(sends=sends)
        self.note_extent("1 rotation")

    async def _deploy(self, scene: Scene, sending: Sending) -> None:
        # An app whose key is a setting gets the new one with a deployment.
        self.require_restart()
        before = len(scene.inside.calls)
        await sending.app.restart()
        await sending.continue_sending()
        calls = scene.inside.calls[before:]
        is_used = any(call.accepted for call in calls)
        self.note(_NEW_KEY_LATE if is_used else _NEW_KEY_NEVER if calls else _NO_CALL)

    def compare_without_money(self) -> None:
        config = self._explorer._config
        self._explorer._config = config.replace(on_insufficient_balance="fail")
        self._explore()

        async def sends(scene: Scene) -> None:
            fake = scene.fake
            money = fake.balance.available
            await scene.inside.performed(fake.set_balance("0"))
            with self._sending(fake, remedy=lambda: fake.top_up(money)) as sending:
                await sending.play()
                messages = scene.inside.account.messages
                failed = any(each.state == "failed" for each in messages)
                if not (failed or sending.held_back):
                    pytest.skip(_FOR_FREE)
                cause = "there was no money at first, and then top_up()"
                await self._judge(scene, sending, cause)

        self._explore(sends=sends)
        self.note_extent("1 world")

    # An exploration

    def _explore(
        self,
        kinds: tuple[str, ...] = (),
        *,
        sends: Ending | None = None,
    ) -> Exploration:
        sends = sends or self._sends

        async def scenario(chat_fake: ChatFake) -> None:
            with ExitStack() as stack:
                old_objects.freeze(stack)
                async with self._connected(chat_fake) as snapshot:
                    self._check_snapshot(snapshot)
                    scene = Scene(chat_fake, snapshot)
                    await self._require_new_app(scene)
                    await sends(scene)

        scope = self._scope(kinds, may_be_only=bool(kinds))
        scope = scope._replace(stop_at_first=True, calls_count=has_points(kinds))
        row = ReadyMadeTest(self._name, self._as_written, self._wants)
        return self._run_explorer(scenario, scope, row)

    async def _sends(self, scene: Scene, *, twice: bool = False) -> None:
        with self._sending(scene.fake, twice=twice) as sending:
            await sending.play()
            await self._judge(scene, sending)

    @contextmanager
    def _sending(
        self, fake: ChatFake, *, twice: bool = False, remedy: Callable[[], object] | None = None
    ) -> Generator[Sending]:
        may_fail = twice or remedy is not None
        works = writes(self._tests, "work")
        app = AppCalls(self._tests, fake, works=works, twice=twice, may_fail=may_fail)
        with app.limited():
            yield Sending(fake, app, remedy=remedy, sends=self._send_calls, days=self._days)

    def _wants(self, deviation: Deviation, log: WorldLog) -> bool:
        call = deviation.call
        if call is not None:
            if deviation.kind in _UNCLEAR and not self._can_decide:
                return False
            nth = deviation.start - self._earlier[call]
            # Other calls, such as one for a token, may be tried for ever.
            is_send = nth == 1 and call in self._send_calls
            if deviation.kind == "api.fail_400" and not is_send:
                return False
            return nth > 0 and (call.method != "GET" or nth <= _QUERIES_TRIED)
        if not self._can_decide and deviation.kind == "crash":
            return False
        own = [each for each in log.attempts if each is not None and each.is_call]
        tried = own[:_CALLS_TRIED] + [each for each in own if _calls_out(each)][:_CALLS_TRIED]
        if all(each.number != deviation.start for each in tried) or not deviation.place:
            return False
        ((kind, name),) = deviation.place
        if kind == "line":  # a request may be on its way, and take effect at any time
            return deviation.kind != "crash"
        return not is_client_call(name) or (kind, name) in POINTS

    def _why_nothing(self, kinds: tuple[str, ...]) -> str:
        if not self._can_decide:
            return _NO_KEY
        if "crash" in kinds or "duplicate_at_once" in kinds:
            return (
                "send() and work() themselves call no HTTP client and no database: name functions "
                "that they call, as in crash_points = [Session.commit]"
            )
        return "send() and work() made no API call that could fail"

    # A world

    @property
    def _rejects(self) -> bool:
        return self._name == "test_a_rejected_send"

    async def _judge(
        self, scene: Scene, sending: Sending, cause: str = "even when nothing goes wrong"
    ) -> None:
        app, comparison = sending.app, scene.comparison
        if app.endless:  # the snapshot may wait for it as well
            raise comparison.error_about(cause, [app.endless], code=[self._playing()])
        books, snapshot = scene.books, scene.snapshot
        value = None if snapshot is None else await scene.inside.taken(snapshot)
        is_undecided = bool(await awaited(self._tests.undecided(value)))
        named = with_names(value, books.names)
        if app.is_doubled not in self._known:
            self._learn(books, sending, is_undecided=is_undecided)
            self._known[app.is_doubled] = _Known(books.sent, books.quotes_ids, named, books.cost)
        known = self._known[app.is_doubled]
        if self._rejects:
            judges = snapshot is not None and not is_undecided
            wrong = await self._wrong_after_rejections(scene, sending, named, judges=judges)
        elif is_undecided:
            wrong = _Wrong([*books.repeats(known.messages)], "messages")
        else:
            wrong = await self._wrong_in_the_end(scene, known, value, named)
        if wrong.lines:
            comparison.baseline.messages = known.messages
            comparison.baseline.quotes_ids = known.quotes_ids
            lines = [*wrong.lines, *app.errors]
            raise comparison.error_about(cause, lines, wrong.basis, wrong.note, wrong.code)

    async def _wrong_in_the_end(
        self, scene: Scene, known: _Known, value: Any, named: Any
    ) -> _Wrong:
        books, comparison = scene.books, scene.comparison
        about_messages = [*books.repeats(known.messages), *books.missing(known.messages)]
        if comparison.learning:
            comparison.baseline.values.append(value)
        basis: Basis = "as written"
        about_snapshot, note = list[str](), ""
        if writes(self._tests, "expected"):
            basis = "expected"
            about_snapshot, note = comparison.unexpected(await self._expected(scene), value)
        elif named != known.value:
            about_snapshot = scene.inside.difference(known.value, named, basis)
        basis = "messages" if about_messages else basis
        return _Wrong([*about_messages, *about_snapshot], basis, note)

    def _learn(self, books: Books, sending: Sending, *, is_undecided: bool) -> None:
        earlier = {*books.inside.calls[: sending.earlier.total()]}
        callers = [
            books.calls[call] for call in books.posts if call.accepted and call not in earlier
        ]
        if not books.messages and sending.app.swallowed is not None:
            raise sending.app.swallowed
        if not books.messages:
            late = observer_of(books.inside).late_threads
            raise ChatFakeError(
                f"send(): expected it to send a message, or work() within {DAYS} days, got none; "
                f"{about_late(late, 'send() or work()') or _SEND_CALL}"
            )
        if all(caller is not None and caller.event.type not in CALLS for caller in callers):
            pytest.skip(_BY_WEBHOOKS)
        if is_undecided:
            raise ChatFakeError("undecided(): expected False if nothing goes wrong, got True")
        if self._name == "test_a_lost_response" and (shared := books.shared_key()):
            raise AssertionError(shared)
        self._can_decide = books.can_deduplicate or writes(self._tests, "undecided")
        self._earlier = sending.earlier
        self._days = sending.days
        self._send_calls = books.send_calls

    async def _expected(self, scene: Scene) -> Any:
        if scene.snapshot is None:
            raise ChatFakeError(
                "connect(): expected a snapshot to compare with expected(), got None; return a "
                "function that returns your app's state, as in lambda: dict(app.states)"
            )
        expected = await awaited(self._tests.expected(scene.fake))
        check_expected(expected)
        return expected

    # A world in which calls were rejected

    async def _wrong_after_rejections(
        self, scene: Scene, sending: Sending, value: Any, *, judges: bool
    ) -> _Wrong:
        wrong = self._still_tried(scene, unit="hours")
        if wrong.lines or scene.books.messages:  # some were accepted, such as those before
            return wrong
        if judges:
            wrong = await self._taken_for_accepted(value)
            if wrong.lines:
                return wrong
        await sending.work_daily(DAYS)
        if sending.app.endless:
            return _Wrong([sending.app.endless], code=[self._playing(days=DAYS)])
        return self._still_tried(scene, unit="days")

    def _still_tried(self, scene: Scene, *, unit: str) -> _Wrong:
        found = still_tried(scene.books.posts, scene.fake.clock.now, unit=unit)
        if not found:
            return _Wrong([])
        waits, works = "await " * self._is_async, inspect.iscoroutinefunction(self._tests.work)
        days = [
            f"for _ in range({DAYS}):",
            f"    {waits}chat_fake.clock.advance(days=1)",
            f"    {'await ' * works}self.work(chat_fake)",
        ]
        code = [
            self._playing(),
            *(days if unit == "days" else []),
            f"end = chat_fake.clock.now - timedelta({unit}={LAST_ROUNDS})",
            "late = [each for each in chat_fake.api.requests if each.at > end]",
            "assert [each for each in late if each.method != 'GET'] == []",
        ]
        return _Wrong([found], code=code)

    async def _taken_for_accepted(self, value: Any) -> _Wrong:
        taken = f"{'await ' * self._awaits_snapshot}snapshot()"
        if writes(self._tests, "rejected"):
            if await awaited(self._tests.rejected(value)):
                return _Wrong([])
            waits = "await " * inspect.iscoroutinefunction(self._tests.rejected)
            found = f"rejected(): expected True, got False for {cited(value)}"
            return _Wrong([found], code=[self._playing(), f"assert {waits}self.rejected({taken})"])
        known = self._known[False]
        for name in amounts_as_accepted(self._before, known.value, value, known.cost):
            before, now = amounts_in(self._before)[name], amounts_in(value)[name]
            found = f"{name or 'snapshot'}: {now}, as after an accepted send; before: {before}"
            line = f"assert float({taken}{name}) == {float(before)}  # as before send()"
            return _Wrong([found], code=[self._playing(), line])
        if value == known.value != self._before:
            self._unshown = cited(value)
        return _Wrong([])

    # The test to paste

    def _as_written(self, comparison: Comparison) -> Written:
        imports, code = list[str](), comparison.code
        if code is None:
            compares = not self._rejects  # else a world failed before it was judged
            code = [self._playing(), *(self._assertions(comparison, imports) if compares else [])]
        imports += ["from datetime import timedelta"] * ("timedelta" in str(code))
        return self._pasted(code, imports)

    def _playing(self, days: int = 0) -> str:
        # The line that plays the send, with more days than as written.
        days += self._days or 0
        return f"{'await ' * self._is_async}self.play(chat_fake{f', days={days}' * bool(days)})"


async def _play(fake: ChatFake, app: AppCalls, days: int) -> None:
    with app.limited():
        await Sending(fake, app, days=days).play()
    if app.endless:
        raise AssertionError(app.endless)


def _calls_out(attempt: LoggedAttempt) -> bool:
    # Whether the app called the API, or a function of crash_points, and not only its database.
    return any(kind != "line" for kind, *_ in attempt.points)
