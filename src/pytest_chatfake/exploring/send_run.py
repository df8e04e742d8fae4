"""How the tests of ``SendTests`` explore: which sends go wrong, and how each world has to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

import pytest

from ..base.arguments import cited
from ..base.errors import ChatFakeError
from ..base.views import listed
from ..fake.fake import ChatFake
from .app_calls import awaited
from .baseline import Comparison, Content, Difference
from .books import Books, with_names
from .client_calls import POINTS, is_client_call
from .deviations import Call, Deviation, has_points
from .exploration import Exploration
from .explorer import Explorer
from .failure_report import ReadyMadeTest
from .garbage import old_objects
from .late_threads import about_late
from .printed_test import Written
from .ready_made import Parameters, ReadyMade, writes
from .ready_made_run import Ending, ReadyMadeRun, waits_for
from .rejections import still_tried, taken_for_accepted
from .scene import Scene
from .search import CALLS, LoggedAttempt, WorldLog
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


class _FirstSend(NamedTuple):
    """The send of a test's first world.

    Attributes:
        days: On how many days nothing was sent.
        calls: The calls that sent its messages.
        earlier: The calls before it, as by ``connect()``.
        can_decide: Whether a right app can know if a call took effect.
    """

    days: int | None = None
    calls: Sequence[Call] = ()
    earlier: Mapping[Call | None, int] = Counter()
    can_decide: bool = False


class _Known(NamedTuple):
    """What an app has sent, and its snapshot, in a world where nothing went wrong.

    Attributes:
        messages: The messages, and how often each was sent.
        value: The snapshot, with names for ids.
        cost: The total price of the messages.
    """

    messages: Counter[Content]
    value: Any
    cost: Decimal


class SendRun(ReadyMadeRun):
    """The explorations of one ready-made test, as of a :class:`.ReadyMadeRun`."""

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
        self, tests: ReadyMade, explorer: Explorer, request: pytest.FixtureRequest
    ) -> None:
        self._methods: dict[str, Any] = {name: getattr(tests, name) for name, *_ in self.parameters}
        super().__init__(tests, explorer, request, "send", [*self._methods.values()])
        explorer._config = explorer._config.replace(timeout=_TIMEOUT)
        self._first = _FirstSend()  # until it is known
        self._known: dict[bool, _Known] = {}  # by whether send() was called twice
        # A snapshot after a rejection, in any world, that is as after an accepted send.
        self._unshown = ""

    def require_restart(self) -> None:
        if not writes(self._tests, "restart"):
            pytest.skip(_NO_RESTART)

    # The tests, by what goes wrong

    def compare(self, *kinds: str) -> None:
        exploration = self._explore(kinds)
        tried, can_decide = exploration._tried, self._first.can_decide
        if not tried.deviating and not exploration._trials.sometimes:
            pytest.skip(tried.why_nothing or self._why_nothing(kinds))
        if self._unshown:
            pytest.skip(_UNSHOWN.format(self._unshown))
        self._skip_if_by_chance(exploration)
        self._note_tried(exploration)
        if not can_decide and (unclear := [kind for kind in kinds if kind in _UNCLEAR]):
            self.note(f"{listed(unclear)} was not tried: {_NO_KEY}")
        if meetings := tried.meetings:
            self.note(meetings)
        if waits := tried.held_at("limit"):
            self.note(_A_LOCK.format(waits))

    def compare_at_once(self) -> None:
        self._explore(sends=partial(self._sends, twice=True))
        self.compare("duplicate_at_once")

    def compare_with_a_new_key(self) -> None:
        self._explore()

        async def sends(scene: Scene) -> None:
            fake = scene.fake
            refused = [
                fake.api.fail(401, times=None, **call._asdict()) for call in self._first.calls
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

    def _explore(self, kinds: tuple[str, ...] = (), *, sends: Ending | None = None) -> Exploration:
        sends = sends or self._sends

        async def scenario(chat_fake: ChatFake) -> None:
            with ExitStack() as stack:
                old_objects.freeze(stack)
                async with self._connected(chat_fake) as snapshot:
                    scene = self._scene(chat_fake, snapshot)
                    await self._new_apps.require(scene)
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
        first = self._first
        sending = Sending(
            self._tests, fake, twice=twice, remedy=remedy, sends=first.calls, days=first.days
        )
        with sending.app.limited():
            yield sending

    def _wants(self, deviation: Deviation, log: WorldLog) -> bool:
        if deviation.call is None:
            return self._wants_point(deviation, log)
        if deviation.kind in _UNCLEAR and not self._first.can_decide:
            return False
        nth = deviation.start - self._first.earlier[deviation.call]
        if deviation.kind == "api.fail_400":  # other calls, as for a token, may be tried for ever
            return nth == 1 and deviation.call in self._first.calls
        return nth > 0 and (deviation.call.method != "GET" or nth <= _QUERIES_TRIED)

    def _wants_point(self, deviation: Deviation, log: WorldLog) -> bool:
        if deviation.kind == "crash" and not self._first.can_decide:
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
        if not self._first.can_decide:
            return _NO_KEY
        if has_points(kinds):
            return (
                "send() and work() themselves call no HTTP client and no database: name functions "
                "that they call, as in crash_points = [Session.commit]"
            )
        return "send() and work() made no API call that could fail"

    # A world

    async def _judge(
        self, scene: Scene, sending: Sending, cause: str = "even when nothing goes wrong"
    ) -> None:
        app, comparison = sending.app, scene.comparison
        if app.endless:  # the snapshot may wait for it as well
            comparison.require_none(Difference([app.endless], code=[self._play()]), cause)
        books, snapshot = scene.books, scene.snapshot
        value = None if snapshot is None else await scene.inside.taken(snapshot)
        is_undecided = bool(await awaited(self._methods["undecided"](value)))
        named = with_names(value, books.names)
        if app.is_doubled not in self._known:
            self._first = self._learned(books, sending, is_undecided=is_undecided)
            self._known[app.is_doubled] = _Known(books.sent, named, books.cost)
        known = self._known[app.is_doubled]
        if self._rejects:
            judges = snapshot is not None and not is_undecided
            found = await self._after_rejections(scene, sending, named, judges=judges)
        elif is_undecided:
            found = _of_messages([*books.repeats(known.messages)], known)
        else:
            found = await self._in_the_end(scene, known, value, named)
        lines = [*found.lines, *app.errors] if found.lines else []
        comparison.require_none(found._replace(lines=lines), cause)

    def _learned(self, books: Books, sending: Sending, *, is_undecided: bool) -> _FirstSend:
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
        can_decide = books.can_deduplicate or writes(self._tests, "undecided")
        return _FirstSend(sending.days, books.send_calls, sending.earlier, can_decide)

    async def _in_the_end(self, scene: Scene, known: _Known, value: Any, named: Any) -> Difference:
        books, comparison = scene.books, scene.comparison
        about_messages = [*books.repeats(known.messages), *books.missing(known.messages)]
        if comparison.learning:
            comparison.baseline.values.append(value)
        found = Difference([])
        if writes(self._tests, "expected"):
            if scene.snapshot is None:
                raise ChatFakeError(
                    "connect(): expected a snapshot to compare with expected(), got None; return a "
                    "function that returns your app's state, as in lambda: dict(app.states)"
                )
            found = comparison.unexpected(await self._expected(scene.fake), value)
        elif named != known.value:
            found = Difference(scene.inside.difference(known.value, named, "as written"))
        if about_messages:
            return _of_messages([*about_messages, *found.lines], known, found.note)
        return found

    # A world in which calls were rejected

    @property
    def _rejects(self) -> bool:
        return self._name == "test_a_rejected_send"

    async def _after_rejections(
        self, scene: Scene, sending: Sending, value: Any, *, judges: bool
    ) -> Difference:
        played = [self._play()]
        found = still_tried(scene.books.posts, scene.fake.clock.now, unit="hours", code=played)
        if found.lines or scene.books.messages:  # some were accepted, such as those before
            return found
        if judges:
            found = await self._taken_for_accepted(value)
            if found.lines:
                return found
        await sending.work_daily(DAYS)
        if sending.app.endless:
            return Difference([sending.app.endless], code=[self._play(days=DAYS)])
        days = [
            f"for _ in range({DAYS}):",
            f"    {'await ' * self._is_async}chat_fake.clock.advance(days=1)",
            f"    {waits_for(self._methods['work'])}self.work(chat_fake)",
        ]
        now = scene.fake.clock.now
        return still_tried(scene.books.posts, now, unit="days", code=played + days)

    async def _taken_for_accepted(self, value: Any) -> Difference:
        taken, played = self._taken, [self._play()]
        if writes(self._tests, "rejected"):
            judge = self._methods["rejected"]
            if await awaited(judge(value)):
                return Difference([])
            found = f"rejected(): expected True, got False for {cited(value)}"
            line = f"assert {waits_for(judge)}self.rejected({taken})"
            return Difference([found], code=[*played, line])
        known, before = self._known[False], self._new_apps.before
        if value == known.value != before:
            self._unshown = cited(value)
        return taken_for_accepted(before, known.value, value, known.cost, taken=taken, code=played)

    # The test to paste

    def _as_written(self, comparison: Comparison) -> Written:
        # If calls are rejected, a world without code failed before it was judged.
        return self._pasted(comparison, self._play(), compares=not self._rejects)

    def _play(self, days: int = 0) -> str:
        # The line that plays the send, with more days than as written.
        days += self._first.days or 0
        return f"{'await ' * self._is_async}self.play(chat_fake{f', days={days}' * bool(days)})"


async def play_send(tests: ReadyMade, fake: ChatFake, days: int) -> None:
    """Send once and let the app work, as each test does.

    Raises:
        AssertionError: A call of ``send()`` or ``work()`` would never end.
    """
    sending = Sending(tests, fake, days=days)
    with sending.app.limited():
        await sending.play()
    if sending.app.endless:
        raise AssertionError(sending.app.endless)


def _of_messages(lines: list[str], known: _Known, note: str = "") -> Difference:
    return Difference(lines, "messages", note, known.messages)


def _calls_out(attempt: LoggedAttempt) -> bool:
    # Whether the app called the API, or a function of crash_points, and not only its database.
    return any(kind != "line" for kind, *_ in attempt.points)
