"""The locks of what all fakes share: what must wait with the lock gets in without it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_chatfake.base.growing_index import GrowingIndex
from pytest_chatfake.http_api import service as service_module
from pytest_chatfake.http_api.service import Service
from pytest_chatfake.transport.client.private_loop import PrivateLoop
from pytest_chatfake.transport.client.watchdog import Watchdog

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


def expected(locked):
    return "waited" if locked else "got in"


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

    monkeypatch.setattr(service_module, "Listener", StandingListener)
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


def test_an_index_has_each_record_once(locked, guarded, meeting):
    index = guarded(GrowingIndex[str](["a"], lambda _: meeting.stand() or "key"))
    meeting.hold(*[lambda: len(index.all("key"))] * 2)

    assert (1 if locked else 2) == len(index.all("key"))
