"""A fake with every default, at a fixed moment; and a client of its API."""

from functools import partial

import pytest

from .api_clients import call_with_werkzeug
from .fakes import frozen_fake, played


@pytest.fixture
def fake(request):
    """Of the mode of the test function."""
    mode = "async" if request.node.get_closest_marker("asyncio") else "sync"
    with frozen_fake(mode=mode) as fake:
        yield fake


@pytest.fixture
def receiver(fake):
    """What gets the fake's webhooks."""
    return fake.webhooks.receiver()


@pytest.fixture
def call_api():
    """Call the API without a socket."""
    return call_with_werkzeug


@pytest.fixture(params=["sync", "async"])
def play(request):
    """Plays a scenario in a mode."""
    return partial(played, request.param)
