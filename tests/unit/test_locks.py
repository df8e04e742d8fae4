"""Two threads meet: verb and verb, verb and reset, drain and drain.

One thread stands in a function of the test, which a fake calls in the middle of a verb, or at any
call inside the package. Whatever the other thread does meanwhile, it is as if one had come after
the other.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import pytest

from pytest_chatfake import ChatFakeError, IllegalTransition

from .api_clients import call_with_werkzeug
from .fakes import frozen_fake, in_another_thread
from .middles import (
    FUNCTIONS,
    PACKAGE,
    Meanwhile,
    asking_fake,
    seen,
    switching_all_the_time,  # noqa: F401 - a fixture
)

#: How long a test waits for what must come at once, in real seconds, before it fails.
PATIENCE = 30

#: So often a thread lets the other one go on before it takes it for one that waits.
ROUNDS = 30


class Standing:
    """Stands at the n-th call from :meth:`stand_at` on, until :meth:`go_on`."""

    def __init__(self):
        self._left = 0
        self._stands = threading.Event()
        self._goes_on = threading.Event()

    def stand_at(self, number):
        self._left = number

    def __call__(self, _function):
        self._left -= 1
        if self._left == 0:
            self._stands.set()
            assert self._goes_on.wait(PATIENCE)

    def wait_for_it(self, first):
        """Wait until somebody stands here; return False if `first` ends without that."""
        first.add_done_callback(lambda _: self._stands.set())
        assert self._stands.wait(PATIENCE)
        return not first.done()

    def go_on(self):
        self._goes_on.set()


# -- verb meets verb -------------------------------------------------------------------------------


def refused(act, fake):
    """Act, and return how that was refused, if it was."""
    try:
        act(fake)
    except IllegalTransition as error:
        return str(error)
    return ""


VERBS = {
    "send_text": lambda fake: fake.send_text(to="+1"),
    "to another person": lambda fake: fake.send_text(to="+2"),
    "deliver": lambda fake: fake.messages[0].deliver(),
    "read": lambda fake: fake.messages[0].read(),
    "fail": lambda fake: fake.messages[0].fail(),
    "emit": lambda fake: fake.webhooks.emit(fake.messages[0], "read"),
    "writes": lambda fake: fake.recipient("+1").writes("STOP"),
    "top_up": lambda fake: fake.top_up(1),
    "opens_chat": lambda fake: fake.recipient("+1").opens_chat(),
    "goes_offline": lambda fake: fake.recipient("+1").goes_offline(),
}

#: Those in which a function of the test is called.
ASKING = ["send_text", "deliver", "read", "fail", "emit", "writes"]

#: Which of the others are left out: a verb itself has its own test; and who writes has written,
#: though their phone goes off while `inbound=` is asked for the form.
APART = {verb: {verb} for verb in ASKING} | {"writes": {"writes", "goes_offline"}}


@contextmanager
def prepared(called, functions=FUNCTIONS):
    """A fake with a message that is yet to arrive, and who gets its webhooks."""
    with asking_fake(called, functions) as fake:
        fake.webhooks.receiver(events="*")
        fake.send_text(to="+1")
        yield fake
        fake.reset()


def one_after_the_other(*verbs, functions=FUNCTIONS):
    with prepared(lambda _: None, functions) as fake:
        refusals = {verb: refused(VERBS[verb], fake) for verb in verbs}
        return refusals, seen(fake)


def in_the_middle(first, second, functions, number):
    """Let the second verb come when the first one asks a function for the n-th time.

    Returns:
        Which verbs were refused, and what is seen then; None if there is no such time.
    """
    standing = Standing()
    with prepared(standing, functions) as fake, ThreadPoolExecutor(2) as pool:
        standing.stand_at(number)
        one = pool.submit(refused, VERBS[first], fake)
        came = standing.wait_for_it(one)
        try:
            other = pool.submit(refused, VERBS[second], fake).result(PATIENCE) if came else ""
        finally:
            standing.go_on()
        refusals = {first: one.result(PATIENCE), second: other}
        return (refusals, seen(fake)) if came else None


@pytest.mark.parametrize("functions", [FUNCTIONS, *zip(FUNCTIONS, strict=True)], ids="-".join)
@pytest.mark.parametrize("first", ASKING)
def test_a_verb_in_the_middle_of_another_comes_before_it(first, functions):
    for second in VERBS.keys() - APART[first]:
        expected = one_after_the_other(second, first, functions=functions)
        for number in count(1):
            met = in_the_middle(first, second, functions, number)
            if met is None:
                break
            assert met == expected
        assert number > 1 or len(functions) == 1


#: What threads do, and what they get.
ACTS = {
    **{name: lambda fake, verb=verb: verb(fake) and None for name, verb in VERBS.items()},
    "reset": lambda fake: fake.reset() and None,
    "read the balance": lambda fake: fake.balance,
    "call the API": lambda fake: call_with_werkzeug(fake, "GET", "/v2/balance").status,
    "set up a fault": lambda fake: fake.webhooks.lose(status="failed") and None,
}


def met(first, second, number=0):
    """Let a second thread act at the n-th call inside the package that the first one makes.

    The first one then waits until the second one has acted, or for as long as that can go on: it
    may have to wait for the first. If there is no such call, one acts after the other.

    Returns:
        Whether there was such a call, what both got, and what is seen then.
    """
    with frozen_fake() as fake, ThreadPoolExecutor(2) as pool:
        fake.webhooks.receiver()
        if first == "call the API":
            fake.api.fail()
        fake.send_text(to="+1")
        others = []

        def begin_second():
            others.append(pool.submit(outcome, second, fake))
            for _ in range(ROUNDS):
                if others[0].done():
                    break
                time.sleep(0)  # no time passes, but another thread may go on

        def begin_first():
            with Meanwhile(PACKAGE, number, begin_second):
                return outcome(first, fake)

        got = [pool.submit(begin_first).result(PATIENCE)]
        came = bool(others)
        got.append((others or [pool.submit(outcome, second, fake)])[0].result(PATIENCE))
        posted = len(fake.webhooks.attempts)
        found = seen(fake)
        found["timeline"] = [entry[:3] for entry in found["timeline"] if entry[0] != "attempt"]
        found["numbers"] = {entry.number - place for place, entry in enumerate(fake.timeline)}
        fake.reset()
        return came, (got, posted, found)


def outcome(act, fake):
    """Return what an act returned, or how it was refused."""
    try:
        return ACTS[act](fake)
    except (IllegalTransition, LookupError) as error:
        return str(error)


#: Pairs that meet all over the package.
PAIRS = [
    ("send_text", "to another person"),
    ("deliver", "read"),
    ("deliver", "read the balance"),
    ("send_text", "reset"),
    ("set up a fault", "send_text"),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_where_two_threads_meet_it_is_as_if_one_came_after_the_other(first, second):
    _, one = met(first, second)
    _, (got, *after) = met(second, first)
    other = (got[::-1], *after)
    for number in count(1, 2):  # without a lock, they would meet at many points in a row
        came, found = met(first, second, number)
        if not came:
            break
        assert found in (one, other)
    assert number > 5


def test_where_two_threads_call_the_api_a_fault_meets_one_of_them():
    for number in count(1, 2):
        came, (got, _, found) = met("call the API", "call the API", number)
        if not came:
            break
        assert sorted(got) == [200, 503]
        assert found["numbers"] == {1}
    assert number > 5


# -- verb meets reset ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "verb"),
    [
        ("price", "send_text"),
        ("extra", "send_text"),
        ("outbound", "send_text"),
        ("extra", "deliver"),
        ("outbound", "emit"),
        ("inbound", "writes"),
    ],
)
def test_a_reset_in_the_middle_of_a_verb_is_refused(function, verb):
    refusals = []

    def called(name):
        if fakes and name == function:
            with pytest.raises(ChatFakeError) as caught:
                in_another_thread(fakes.pop().reset)
            refusals.append(str(caught.value))

    fakes = []
    with prepared(called) as fake:
        fakes.append(fake)
        refused(VERBS[verb], fake)
        found = seen(fake)
    what = "a price function" if function == "price" else f"the {function}= function"
    assert refusals == [f"can't call reset() while {what} is running"]
    assert found == one_after_the_other(verb)[1]


@pytest.mark.parametrize("where", ["signer", "handler", "tamper"])
def test_a_reset_in_the_middle_of_an_attempt_forgets_the_attempt(where, fake):
    def called(here, result):
        if here == where and fakes:
            in_another_thread(fakes.pop().reset)
        return result

    fakes = []
    fake.webhooks.connect(
        handler=lambda _: called("handler", 500),
        signer=lambda _: called("signer", {"X-Signature": "1"}),
        retry_after=[60],
    )
    fake.webhooks.tamper(lambda body: called("tamper", body))
    fakes.append(fake)
    fake.send_text()

    assert (fake.webhooks.attempts, fake.clock.next_due, len(fake.timeline)) == ((), None, 0)
    fake.send_text()
    assert [attempt.number for attempt in fake.webhooks.attempts] == [1]
    fake.reset()


# -- drain meets drain -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    [
        lambda fake: fake.send_text(to="+2"),
        lambda fake: fake.webhooks.redeliver(fake.events[0]),
        lambda fake: fake.webhooks.emit(fake.messages[0], "read"),
    ],
    ids=["send_text", "redeliver", "emit"],
)
def test_a_thread_leaves_its_event_to_the_one_that_posts_already(verb, fake):
    seen = []

    def app(_):
        seen.append("begins")
        if len(seen) == 1:
            in_another_thread(lambda: verb(fake))
        seen.append("ends")

    fake.webhooks.connect(handler=app)
    fake.send_text(to="+1")

    assert seen == ["begins", "ends"] * 2
