"""Each lock, tested by taking it away: what must wait with it gets in without it."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_chatfake import ApiFault, ChatFake
from pytest_chatfake.base.growing_index import GrowingIndex
from pytest_chatfake.base.history import History, Record
from pytest_chatfake.domain.account import Account
from pytest_chatfake.domain.schedule import Schedule
from pytest_chatfake.engine.process_time import ProcessTime
from pytest_chatfake.http_api import service as service_module
from pytest_chatfake.http_api.service import Service
from pytest_chatfake.transport.client.private_loop import PrivateLoop
from pytest_chatfake.transport.client.watchdog import Watchdog
from pytest_chatfake.transport.server import listener as listener_module
from pytest_chatfake.webhooks import core as core_module
from pytest_chatfake.webhooks.drain import Drain

#: How long a test waits for what must come at once, in real seconds, before it fails.
PATIENCE = 30


class WatchedLock:
    """A lock that says when somebody has to wait for it; or none at all, if `inner` is None."""

    def __init__(self, inner, waits):
        self._inner = inner
        self._waits = waits

    def acquire(self, blocking=True, *, timeout=-1):
        if self._inner is not None and not self._inner.acquire(blocking=False):
            if not blocking:
                return False
            self._waits()
            self._inner.acquire(timeout=timeout)
        return True

    def release(self):
        if self._inner is not None:
            self._inner.release()

    def locked(self):
        return self._inner is not None and self._inner.locked()

    def __enter__(self):
        self.acquire()

    def __exit__(self, *_):
        self.release()


class Meeting:
    """One thread stands in the middle of something while another one tries to get in.

    Attributes:
        outcome: What the other one did: "waited", or "got in".
    """

    def __init__(self):
        self.outcome = ""
        self._inside = threading.Event()
        self._decided = threading.Event()
        self._armed = threading.Lock()

    def waits(self):
        """The second thread has to wait for the lock."""
        self._decide("waited")

    def stand(self):
        """Stand here, once, until the other thread waits or has got through."""
        if self._armed.acquire(blocking=False):
            self._inside.set()
            assert self._decided.wait(PATIENCE)

    def stands_in(self, patch, owner, name):
        """Let whoever calls a method, or reads a property, stand before it returns."""
        inner = vars(owner)[name]
        read = inner.fget if isinstance(inner, property) else inner

        def standing(*arguments):
            result = read(*arguments)
            self.stand()
            return result

        patch.setattr(owner, name, property(standing) if read is not inner else standing)

    def standing(self, base, *names):
        """A subclass, in which whoever calls one of these methods stands before it returns."""

        def method(name):
            def standing(*arguments):
                result = getattr(base, name)(*arguments)
                self.stand()
                return result

            return standing

        return type(base.__name__, (base,), {name: method(name) for name in names})

    def hold(self, first, second):
        """Let `second` begin when `first` stands in the middle; return what both returned."""
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(first)
            assert self._inside.wait(PATIENCE)
            other = pool.submit(second)
            other.add_done_callback(lambda _: self._decide("got in"))
            return [one.result(PATIENCE), other.result(PATIENCE)]

    def _decide(self, outcome):
        self.outcome = self.outcome or outcome
        self._decided.set()


@pytest.fixture(params=[True, False], ids=["with", "without"])
def locked(request):
    """Whether the lock is there."""
    return request.param


@pytest.fixture
def meeting():
    return Meeting()


@pytest.fixture
def lock(locked, meeting):
    """A lock that is watched, or missing."""
    return WatchedLock(threading.Lock() if locked else None, meeting.waits)


@pytest.fixture
def guarded(lock):
    """Gives something this lock in place of its own, which has no other way in."""

    def guard(thing, name="_lock"):
        setattr(thing, name, lock)
        return thing

    return guard


@pytest.fixture
def fake(locked, meeting, monkeypatch):
    """A fake whose engine has a watched lock, or none."""

    def make():
        return WatchedLock(threading.RLock() if locked else None, meeting.waits)

    shim = SimpleNamespace(RLock=make, get_ident=threading.get_ident)
    with monkeypatch.context() as patch, ExitStack() as stack:
        patch.setattr(core_module, "threading", shim)
        fake = stack.enter_context(ChatFake())
        yield fake
        fake.settle()


def ask_balance(fake):
    """Ask the API, and return the status of its response."""
    client = Client(fake.wsgi_app)
    return client.get("/v2/balance", headers={"X-API-Key": fake.api_key}).status_code


def expected(locked):
    return "waited" if locked else "got in"


@pytest.mark.parametrize(
    "second",
    [
        lambda fake: fake.send_text(to="+2"),
        lambda fake: fake.balance,
        lambda fake: fake.conversations,
        lambda fake: fake.message(fake.messages[0].id).events,
        lambda fake: fake.clock.next_due,
        lambda fake: fake.reset(),
        lambda fake: fake._engine.reported_balance(),
    ],
    ids=["verb", "balance", "conversations", "events", "next_due", "reset", "query"],
)
def test_nobody_gets_into_the_middle_of_a_verb(fake, locked, meeting, second, monkeypatch):
    fake.send_text(to="+1")
    meeting.stands_in(monkeypatch, Account, "apply")
    meeting.hold(lambda: fake.send_text(to="+3"), lambda: second(fake))

    assert expected(locked) == meeting.outcome


@pytest.mark.parametrize(
    ("owner", "name", "first"),
    [
        (Schedule, "next_due", lambda fake: fake.clock.next_due),
        (Schedule, "is_due", lambda fake: fake._engine.due_runner.is_due()),
        (Schedule, "pop_due", lambda fake: fake.settle()),
        (ProcessTime, "forward", lambda fake: fake.clock.advance(1)),
        (History, "add", ask_balance),
        (core_module.Core, "call_back", lambda fake: fake.clock.run_until(lambda: True, limit=1)),
    ],
    ids=["next_due", "is_due", "due", "move", "request", "predicate"],
)
def test_no_verb_gets_into_the_middle_of_a_look(
    fake, locked, meeting, owner, name, first, monkeypatch
):
    meeting.stands_in(monkeypatch, owner, name)
    meeting.hold(lambda: first(fake), lambda: fake.send_text(to="+2"))

    assert expected(locked) == meeting.outcome


def test_an_attempt_is_not_recorded_in_the_middle_of_a_verb(fake, locked, meeting, monkeypatch):
    fake.webhooks.connect(handler=lambda _: None)
    with fake.webhooks.paused() as queue:
        fake.send_text(to="+1")
        meeting.stands_in(monkeypatch, Account, "apply")
        outbox = fake._engine.outbox
        outbox.queue.extend(queue._held.pop())
        meeting.hold(lambda: fake.send_text(to="+2"), fake._engine.drain.attempt)

    assert expected(locked) == meeting.outcome


def test_an_attempt_begins_before_a_reset_or_not_at_all(fake, locked, meeting, monkeypatch):
    fake.webhooks.connect(handler=lambda _: None)
    meeting.stands_in(monkeypatch, Drain, "_take_next")
    meeting.hold(fake.send_text, fake.reset)

    assert expected(locked) == meeting.outcome


def test_a_fault_of_the_api_is_counted_by_one_query_at_a_time(fake, locked, meeting, monkeypatch):
    fake.api.fail(times=None)
    meeting.stands_in(monkeypatch, ApiFault, "_is_due")

    assert meeting.hold(*[partial(ask_balance, fake)] * 2) == [503, 503]
    assert expected(locked) == meeting.outcome


def test_a_fault_of_the_api_is_taken_back_while_no_query_is_counted(
    fake, locked, meeting, monkeypatch
):
    faults = [fake.api.delay(1, times=None)]
    meeting.stands_in(monkeypatch, ApiFault, "_is_due")
    meeting.hold(partial(ask_balance, fake), partial(fake.api._take_back, faults))
    assert ask_balance(fake) == 200

    assert expected(locked) == meeting.outcome


def test_one_thread_drains_the_queue_at_a_time(locked, guarded):
    """A thread that emits while another one attempts leaves its event to that one."""
    seen = []
    with ChatFake() as fake, suppress(IndexError):  # without the lock, two threads collide
        guarded(fake._engine.drain, "_drain_lock")

        def app(request):
            seen.append(request.event.message_id)
            if len(seen) == 1:
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(fake.send_text, to="+2").result(PATIENCE)
                seen.append("the first one answers")

        fake.webhooks.connect(handler=app)
        fake.send_text(to="+1")

    assert (1 if locked else 2) == seen.index("the first one answers")


# -- the service behind all fakes


@pytest.fixture
def service(guarded):
    """A service whose lock is watched, or missing."""
    return guarded(Service())


@pytest.mark.parametrize(
    "first",
    [
        lambda service, _: service.open(SimpleNamespace(_key="another")),
        lambda service, account: service.close(account),
        lambda service, account: service.rekey(account, "another"),
        lambda service, _: service.url,
        lambda service, _: service.release(),
    ],
    ids=["open", "close", "rekey", "url", "release"],
)
def test_nobody_gets_into_the_middle_of_a_change_of_the_service(service, locked, meeting, first):
    account = SimpleNamespace(_key="key", _set_key=lambda _: meeting.stand())
    listener = SimpleNamespace(is_running=lambda: meeting.stand() or True, host="", port=0)
    listener.stop = lambda: None
    service._listener = listener
    accounts = meeting.standing(dict, "__contains__", "__len__", "get")
    service._accounts = accounts(key=account)
    service.hold()
    meeting.hold(lambda: first(service, account), service.hold)

    assert expected(locked) == meeting.outcome


def test_two_threads_get_one_listener(service, locked, meeting, monkeypatch):
    class StandingListener:
        def __init__(self, *_):
            meeting.stand()

    monkeypatch.setattr(listener_module, "Listener", StandingListener)
    one, other = meeting.hold(lambda: service.listener, lambda: service.listener)

    assert locked == (one is other)


def test_users_let_the_listener_go_one_at_a_time(locked, guarded, meeting):
    class StandingService(Service):
        """A service in which whoever reads the count stands for a moment before it writes."""

        @property
        def _users(self):
            count = self.count
            meeting.stand()
            return count

        @_users.setter
        def _users(self, count):
            self.count = count

    service = guarded(StandingService())
    service.count = 5
    meeting.hold(service.release, service.release)

    assert (3 if locked else 4) == service.count


# -- below the fakes


def test_two_threads_begin_one_watch(locked, guarded, meeting):
    begun = []
    watchdog = guarded(Watchdog())
    watchdog._begin = lambda: begun.append(meeting.stand()) or threading.current_thread()
    meeting.hold(*[lambda: watchdog.add(Watched())] * 2)

    assert (1 if locked else 2) == len(begun)


class Watched:
    """Something that is watched."""

    current = None
    limit = 1.0

    def on_timeout(self, current):
        return None


def test_what_is_added_while_the_watch_ends_is_watched(locked, guarded, meeting):
    class StandingThings(dict[Any, None]):
        """A dict in which whoever asks whether it is empty stands for a moment."""

        def __len__(self):
            meeting.stand()
            return super().__len__()

    begun = []
    watchdog = guarded(Watchdog())
    watchdog._begin = lambda: begun.append(1) or threading.current_thread()
    watchdog._thread = threading.current_thread()
    watchdog._watched = StandingThings()
    ends, _ = meeting.hold(watchdog._ends, lambda: watchdog.add(Watched()))

    assert not ends
    assert ([] if locked else [1]) == begun  # without it there are two


def test_the_loop_that_fakes_share_is_used_by_one_at_a_time(locked, guarded, meeting):
    with closing(guarded(meeting.standing(PrivateLoop, "_take")())) as loop:
        meeting.hold(*[lambda: (loop._take(object()), loop._give_back())] * 2)

    assert expected(locked) == meeting.outcome


@pytest.mark.parametrize("second", [lambda history: history.add(Record()), History.reset])
def test_a_record_gets_a_number_of_its_own_in_the_list_that_it_is_added_to(
    locked, guarded, meeting, second
):
    history = guarded(History())
    history.records = meeting.standing(list, "__len__")()
    meeting.hold(lambda: history.add(Record()), lambda: second(history))

    assert expected(locked) == meeting.outcome


def test_an_index_has_each_record_once(locked, guarded, meeting):
    index = guarded(GrowingIndex[str](["a"], lambda _: meeting.stand() or "key"))
    meeting.hold(*[lambda: len(index.all("key"))] * 2)

    assert (1 if locked else 2) == len(index.all("key"))


def test_the_locks_of_this_file_are_all_there_are():
    """Whoever adds a lock adds its test here."""
    from pathlib import Path

    root = Path(service_module.__file__).parents[1]
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"threading\.(R?Lock|Condition)\(\)", path.read_text("utf-8"))
    }
    client = "transport/client"
    assert {
        *["base/growing_index.py", "base/history.py", "http_api/service.py", "webhooks/core.py"],
        *[f"{client}/private_loop.py", f"{client}/watchdog.py"],
        "webhooks/drain.py",
    } == found
