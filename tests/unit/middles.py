"""Ways to get into the middle of what a fake does, and what is seen of it afterwards."""

import sys
from pathlib import Path

import pytest

import pytest_chatfake

from .fakes import frozen_fake, own_lines

#: Where the package's own code is.
PACKAGE = str(Path(pytest_chatfake.__file__).parent)

#: Where Python looks at signals, and at other threads: a function begins, or one has returned, of
#: C's too.
POINTS = frozenset({"call", "return", "c_return"})


@pytest.fixture(autouse=True)
def switching_all_the_time():
    """Let threads take turns as often as can be; for the modules that take it in."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


class Meanwhile:
    """Does something else once, at the n-th point in a file or folder of our own code.

    It does so in the thread that it interrupts.
    """

    def __init__(self, place, number, work):
        self._place = place
        self._left = number
        self._work = work
        self.came = False

    def __enter__(self):
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _profile(self, frame, event, _argument):
        if event in POINTS and frame.f_code.co_filename.startswith(self._place):
            self._left -= 1
            if self._left == 0:
                sys.setprofile(None)
                self.came = True
                self._work()


#: The functions of a test that a fake calls in the middle of a verb.
FUNCTIONS = ("price", "extra", "outbound", "inbound")


def asking_fake(called, names=FUNCTIONS, **config):
    """A frozen fake with these functions, each of which first calls `called` with its name."""

    def price(_message):
        called("price")
        return "0.05"

    def extra(_message, _status):
        called("extra")
        return {"campaign": "spring"}

    def outbound(event):
        called("outbound")
        return {"id": event["id"], "status": event["chatMessage"]["status"]}

    def inbound(message):
        called("inbound")
        return {"resource": message.resource}

    functions = {"price": price, "extra": extra, "outbound": outbound, "inbound": inbound}
    config |= {name: functions[name] for name in names}
    return frozen_fake(on_insufficient_balance="fail", **config)


def seen(fake):
    """All that can be seen of a fake, once everything queued is posted."""
    fake.settle()
    anna = fake.recipient("+1")
    attempts = [(one.event.id, one.outcome) for one in fake.webhooks.attempts]
    return {
        "balance": fake.balance,
        "ledger": [(one.kind, one.amount, one.moment, one.message_id) for one in fake.ledger],
        "events": [(one.id, one.type, one.status, one.moment, one.body) for one in fake.events],
        "attempts": attempts,
        "messages": [
            (one.id, one.to, one.status, one.total_price, one.held, one.charged)
            for one in fake.messages
        ],
        "conversations": [
            (one.id, one.state, one.started_at, one.expires_at, [each.id for each in one.messages])
            for one in fake.conversations
        ],
        "people": (anna.online, anna.chat_open, anna.devices),
        "agenda": [(one.at, one.kind, one.message and one.message.id) for one in fake.clock.agenda],
        "timeline": [(one.kind, one.at, own_lines(one.text), one.cause) for one in fake.timeline],
    }
