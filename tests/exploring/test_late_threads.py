"""What ready-made tests say of an app whose threads outlive the handling of an event."""

import _thread
import re
import threading

import pytest

from pytest_chatfake import explore
from pytest_chatfake.exploring.late_threads import about_late, note_late, running, running_late

from .cards import cards

#: An app whose threads write once they are told to go on. Those of the last world never do.
MODULE = """
    import threading
    from concurrent.futures import ThreadPoolExecutor
    from functools import partial

    import pytest

    from pytest_chatfake import SendTests, WebhookTests

    ROWS = {}

    class Late:
        def __init__(self):
            self.started = []

        def start(self, *items):
            go = threading.Event()
            thread = threading.Thread(target=self.write, args=(go, items), daemon=True)
            self.started.append((go, thread.join))
            thread.start()

        def submit(self, pool, *items):
            go = threading.Event()
            self.started.append((go, pool.submit(self.write, go, items).result))

        def write(self, go, items):
            if go.wait(60):
                ROWS.update(items)

        def join(self):
            for go, _ in self.started:
                go.set()
            while self.started:
                self.started.pop()[1]()

    LATE = Late()

    @pytest.fixture(scope="module", autouse=True)
    def ended():
        yield
        LATE.join()

    class Base(WebhookTests):
        __test__ = False

        def connect(self, chat_fake):
            ROWS.clear()
            chat_fake.webhooks.connect(handler=self.receive)
            self.after_clearing()
            return self.snapshot

        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()

        def receive(self, request):
            LATE.start((request.event.id, request.event.status))

        def after_clearing(self):
            pass

        def snapshot(self):
            return dict(ROWS)
"""

THREAD = "a thread that the app started, and did not wait for, was still running (write): let "


@pytest.mark.parametrize("begin", ["LATE.start", "partial(LATE.submit, ThreadPoolExecutor(2))"])
def test_a_thread_or_a_job_of_an_earlier_world_is_no_fault_of_connect(run, begin):
    result = run(
        f"""
    BEGIN = {begin}

    class TestLate(Base):
        def receive(self, request):
            BEGIN((request.event.id, request.event.status))

        def after_clearing(self):
            LATE.join()  # what began in the world before writes now
    """,
        *("-k", "all_events_are_taken"),
    )
    assert f"ChatFakeError: {THREAD}the clean-up in connect() wait" in cards(result)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Thread-7 (write)", "write"),
        ("Thread-7", "Thread"),
        ("mailer", "mailer"),
    ],
)
def test_a_thread_is_named_without_its_number(name, shown):
    thread = threading.Thread(name=name)
    thread.start()
    thread.join()
    assert f"running ({shown}): let the snapshot wait" in about_late([thread])


def test_a_thread_that_goes_on_is_not_named(monkeypatch):
    monkeypatch.setattr("pytest_chatfake.exploring.late_threads._PATIENCE", 0)
    go = threading.Event()
    thread = threading.Thread(target=go.wait, args=(60,))
    thread.start()
    try:
        assert about_late([thread]) == ""
    finally:
        go.set()
        thread.join()


def test_an_app_that_remembers_is_blamed_in_spite_of_a_thread(run):
    result = run(
        """
    KEPT = []

    class TestRemembers(Base):
        def receive(self, request):
            KEPT.append(request.event.status)
            if len(KEPT) == 1:
                LATE.start()  # as of a client that keeps a thread for later

        def snapshot(self):
            return list(KEPT)
    """,
        *("-k", "all_events_are_taken"),
    )
    assert "ChatFakeError: connect(): expected a new app in each world" in cards(result)


def test_a_thread_explains_why_no_event_changed_the_snapshot(run):
    result = run(
        """
    class TestLate(Base):
        def scenario(self, chat_fake):
            yield chat_fake.send_text().deliver()
            LATE.join()
            ROWS.clear()  # as if it wrote just a little later
    """,
        *("-k", "snapshot_changes"),
    )
    assert f"it was {{}} before and after the scenario; {THREAD}the snapshot" in cards(result)


def test_a_thread_explains_why_a_run_differs_from_the_first(run):
    result = run(
        """
    class TestLate(Base):
        runs = 0

        def scenario(self, chat_fake):
            message = yield chat_fake.send_text().deliver()
            LATE.join()
            TestLate.runs += 1
            ROWS.update(runs=TestLate.runs)
    """,
        *("-k", "test_duplicates and not days and not id and not once"),
    )
    assert re.search(rf"NotRepeatable: .*; perhaps {re.escape(THREAD)}the snapshot", cards(result))


def test_a_thread_explains_why_send_sent_nothing(run):
    result = run(
        """
    class TestSends(SendTests):
        def connect(self, chat_fake):
            chat_fake.send_endpoint()
            return self.snapshot

        def send(self, chat_fake):
            LATE.start()

        def snapshot(self):
            LATE.join()
    """,
        *("-k", "a_refused_send"),
    )
    assert f"within 31 days, got none; {THREAD}send() or work() wait for it" in cards(result)


def test_an_app_that_waits_for_its_threads_passes(run):
    result = run(
        """
    class TestWaits(Base):
        def connect(self, chat_fake):
            yield super().connect(chat_fake)
            LATE.join()

        def snapshot(self):
            LATE.join()
            return dict(ROWS)
    """,
        *("-k", "all_events_are_taken or snapshot_changes or days_later"),
    )
    result.assert_outcomes(passed=3)


@pytest.fixture
def foreign():
    """Runs a function in a thread that Python didn't start, which stays until the test ends."""
    ends = []

    def run(function):
        done, goes_on, over = threading.Event(), threading.Event(), threading.Event()

        def thread():
            function()
            done.set()
            goes_on.wait(60)
            over.set()

        _thread.start_new_thread(thread, ())
        assert done.wait(60)
        ends.append((goes_on, over))

    yield run
    for goes_on, over in ends:
        goes_on.set()
        assert over.wait(60)


def test_a_thread_that_python_did_not_start_is_not_waited_for(foreign):
    attempts = []

    def world(fake):
        def take(request):
            if not attempts:  # logging asks for the current thread in just this way
                foreign(threading.current_thread)
            attempts.append(request.id)

        fake.webhooks.connect(handler=take)
        fake.send_text()

    assert explore(world, deviations=["duplicate"]).worlds == 2


def test_a_thread_that_could_not_be_started_is_not_waited_for(monkeypatch):
    thread = threading.Thread(name="mailer")
    monkeypatch.setattr(threading, "enumerate", lambda: [thread])
    noted = note_late([])
    assert (noted, [each for each in running_late() if each in noted]) == ([thread], [thread])


def test_a_test_in_a_late_thread_does_not_wait_for_itself():
    known = []

    def work():
        known.append((note_late([]), running_late()))

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()
    ((noted, late),) = known
    assert (thread in noted, thread in late, thread in running()) == (True, True, False)
