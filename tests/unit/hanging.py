"""Apps that hang: only while one says that it does, the watchdog counts.

So a machine that is busy makes no attempt late that is to be in time.
"""

from contextlib import contextmanager

import pytest

from pytest_chatfake.transport.client import http_client
from pytest_chatfake.transport.client import watchdog as watchdog_module
from pytest_chatfake.transport.client.loops import new_event

_hanging = []


@contextmanager
def hanging():
    """Let the watchdog count in a block."""
    mark = object()
    _hanging.append(mark)
    try:
        yield
    finally:
        _hanging.remove(mark)


async def hang():
    """Wait until a cancellation comes."""
    with hanging():
        await new_event().wait()


@pytest.fixture(autouse=True)
def counted_while_hanging(monkeypatch):
    """For the modules that take it into their namespace."""
    look = watchdog_module._look
    monkeypatch.setattr(
        watchdog_module, "_look", lambda watched, last: look(watched, last if _hanging else None)
    )


@pytest.fixture
def connected_in_any_time(monkeypatch):
    """Let the fake's timeout be none of connecting."""
    connect = http_client.connect
    monkeypatch.setattr(http_client, "connect", lambda host, port, _: connect(host, port, None))
