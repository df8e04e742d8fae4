"""What several tests need: an API and who asks it, what attempts are made with, an interrupt."""

from __future__ import annotations

import signal

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.transport.client.portal import Portal

from .listener_support import SECONDS, FakeApi, RawClient, listening
from .target_support import Interrupted, closed_at_the_end, working


@pytest.fixture
def fake():
    with ChatFake(seed="over http", opening_balance="190.07658", timeout=SECONDS) as fake:
        yield fake


@pytest.fixture
def api():
    return FakeApi()


@pytest.fixture
def listener(api):
    with listening(api) as listener:
        yield listener


@pytest.fixture
def client(listener):
    with RawClient(listener) as client:
        yield client


@pytest.fixture
def portal():
    with closed_at_the_end(Portal()) as opened:
        yield opened[0]


@pytest.fixture
def closing():
    """Takes a target, and closes it at the end."""
    with closed_at_the_end() as opened:
        yield lambda target: opened.append(target) or target


@pytest.fixture
def worker():
    with working() as worker:
        yield worker


@pytest.fixture
def interrupt():
    """Interrupt the main thread soon: call it from what is to be interrupted."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("needs a timer signal")

    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
