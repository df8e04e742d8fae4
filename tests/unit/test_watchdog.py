"""The watch: it counts real seconds beside what may hang, in looks and not by a clock."""

import sys
import threading
import weakref

import pytest

from pytest_chatfake.base.debugging import is_debugging
from pytest_chatfake.transport.client import watchdog as watchdog_module
from pytest_chatfake.transport.client.watchdog import IDLE_LOOKS, TICK, Watchdog

#: How long a test waits for what must come at once, in real seconds, before it fails.
PATIENCE = 30


class Gate:
    """In place of the pause between two looks: it opens when the test says so.

    Attributes:
        thread: The one that looks, if one has begun.
    """

    def __init__(self):
        self.thread = None
        self._open = threading.Semaphore(0)
        self._reached = threading.Semaphore(0)
        self._ends = False

    def wait(self, _):
        self.thread = threading.current_thread()
        self._reached.release()
        assert self._open.acquire(timeout=PATIENCE)
        if self._ends:
            raise SystemExit

    def looks(self, count):
        """Let the watch look so often."""
        for _ in range(count):
            self.opens()
        assert self._reached.acquire(timeout=PATIENCE)
        self._reached.release()

    def opens(self):
        """Let the watch look once more, which may be its last time."""
        assert self._reached.acquire(timeout=PATIENCE)
        self._open.release()

    def kill(self):
        """Let the thread be gone, as after a fork."""
        if self.thread is None or not self.thread.is_alive():
            return
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threading, "excepthook", lambda _: None)
            patch.setattr(self, "_ends", True)
            self.opens()
            self.thread.join(PATIENCE)


class Work:
    """Something that is watched, which takes three looks too long."""

    def __init__(self, *more):
        self.current = "first"
        self.limit = 3 * TICK
        self.heard = []
        self.told = threading.Event()
        self._more = [*more]

    def on_timeout(self, current):
        self.heard.append(current)
        self.told.set()
        return self._more.pop(0) if self._more else None


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def watchdog(gate, monkeypatch):
    monkeypatch.setattr(watchdog_module, "is_debugging", lambda: False)
    watchdog = Watchdog()
    monkeypatch.setattr(watchdog, "_pause", gate)
    yield watchdog
    gate.kill()


def test_what_takes_longer_than_its_limit_is_told_as_often_as_it_asks(watchdog, gate):
    work = Work(2 * TICK, None)
    watchdog.add(work)
    told = []
    for looks in (3, 1, 1, 1, 20):  # at the first it was seen to begin
        gate.looks(looks)
        told.append(len(work.heard))
    assert told == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("between", [None, "second"])
def test_the_time_begins_anew_with_each_new_thing(watchdog, gate, between):
    work = Work()
    watchdog.add(work)
    for current in ("first", between, "third"):
        work.current = current
        gate.looks(3)
    assert work.heard == []
    gate.looks(1)
    assert work.heard == ["third"]


def test_what_does_nothing_or_is_watched_no_more_takes_no_time(watchdog, gate):
    idle, gone = Work(), Work()
    idle.current = None
    watchdog.add(idle)
    watchdog.add(gone)
    gate.looks(2)
    watchdog.remove(gone)
    watchdog.remove(gone)
    gate.looks(10)
    assert idle.heard + gone.heard == []


def test_while_somebody_debugs_nothing_is_told_and_the_time_begins_anew(
    watchdog, gate, monkeypatch
):
    monkeypatch.setattr(watchdog_module, "is_debugging", lambda: True)
    work = Work()
    watchdog.add(work)
    gate.looks(4)
    monkeypatch.setattr(watchdog_module, "is_debugging", lambda: False)
    gate.looks(2)
    assert work.heard == []
    gate.looks(1)
    assert work.heard == ["first"]


def test_the_thread_ends_when_there_is_nothing_to_watch_and_begins_again(watchdog, gate):
    assert gate.thread is None
    first, second = Work(), Work()
    watchdog.add(first)
    gate.looks(0)
    thread = gate.thread
    assert thread.daemon
    watchdog.add(second)
    watchdog.remove(first)
    gate.looks(2 * IDLE_LOOKS)
    watchdog.remove(second)
    gate.looks(IDLE_LOOKS - 1)
    assert gate.thread is thread
    gate.opens()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    watchdog.add(second)
    gate.looks(0)
    assert gate.thread is not thread


class Faulty(Work):
    def on_timeout(self, current):
        super().on_timeout(current)
        raise ValueError("in a callback")


def test_an_error_of_one_is_reported_and_the_others_are_watched_on(watchdog, gate, monkeypatch):
    reported = []
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.append(str(args.exc_value)))
    faulty, work = Faulty(), Work()
    work.limit *= 2
    watchdog.add(faulty)
    watchdog.add(work)
    gate.looks(20)
    assert reported == ["in a callback"]
    assert ["first"] == faulty.heard == work.heard


def test_a_thread_that_is_gone_as_after_a_fork_is_begun_again(watchdog, gate):
    watchdog.add(Work())
    gate.looks(0)
    gate.kill()
    work = Work()
    watchdog.add(work)
    gate.looks(4)
    assert work.heard == ["first"]


def test_what_nobody_has_removed_is_not_kept(watchdog, gate):
    work = Work()
    watchdog.add(work)
    gate.looks(2)
    reference = weakref.ref(work)
    del work
    gate.looks(2)
    assert reference() is None


# -- debuggers -------------------------------------------------------------------------------------


@pytest.fixture
def no_tracer(monkeypatch):
    monkeypatch.delitem(sys.modules, "pydevd", raising=False)
    before = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(before)


@pytest.mark.usefixtures("no_tracer")
def test_a_debugger_of_an_editor_shows_by_its_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydevd", sys)
    assert is_debugging()


@pytest.mark.usefixtures("no_tracer")
@pytest.mark.parametrize(("module", "shows"), [("coverage.pytracer", False), ("mine", True)])
def test_a_trace_function_shows_a_debugger_unless_it_is_coverage_s(module, shows):
    class Tracer:
        def __call__(self, *_):
            return self

    Tracer.__module__ = module
    sys.settrace(Tracer())
    active = is_debugging()
    sys.settrace(None)
    assert shows is active
