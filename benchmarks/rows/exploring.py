"""Exploring a body's worlds, beside running it by hand as often."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import time_machine

from ..measuring import Row, timed, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flask import Flask

    from pytest_chatfake import ChatFake

PATH = "/hooks/chat"
START = 1_767_268_800  # 2026-01-01T12:00:00Z
WORLDS = 500


def make_app() -> Flask:
    """Return an app that keeps the newest status of each message."""
    from flask import Flask, request

    app = Flask(__name__)
    rank = {"sent": 1, "delivered": 2, "read": 3, "failed": 3}
    statuses: dict[str, str] = {}
    app.statuses = statuses  # type: ignore[attr-defined]

    @app.post(PATH)
    def take() -> tuple[str, int]:
        message = json.loads(request.get_data())["chatMessage"]
        known = statuses.get(message["id"], "")
        if rank[message["status"]] > rank.get(known, 0):
            statuses[message["id"]] = message["status"]
        return "", 204

    return app


def body(messages: int, fake: ChatFake) -> None:
    """Three events for each message, into an app of its own."""
    fake.webhooks.connect(wsgi=make_app(), path=PATH)
    for number in range(messages):
        fake.send_text("Sale ends today", to=f"+{number}").deliver().read()
    fake.settle()


def explored(messages: int, rounds: int, **options: Any) -> Iterator[float]:
    """Compare an exploration with a loop that runs the same body as often."""
    from pytest_chatfake import ChatFake, explore

    work: Callable[[ChatFake], None] = partial(body, messages)
    runs = explore(work, limit=WORLDS, **options).worlds + 1  # as written, it runs twice

    def by_hand() -> None:
        with time_machine.travel(START, tick=False):
            for _ in range(runs):
                with ChatFake(seed="by hand") as fake:
                    work(fake)

    ours = timed(lambda: explore(work, limit=WORLDS, **options), 1)
    yield from times(rounds, ours, timed(by_hand, 1), slices=2)


#: A class of ready-made tests for the app above; it counts its worlds.
READY_MADE = """
from benchmarks.rows.exploring import PATH, make_app
from pytest_chatfake import WebhookTests

WORLDS = []

class TestWebhooks(WebhookTests):
    def connect(self, chat_fake):
        WORLDS.append(1)
        app = make_app()
        chat_fake.webhooks.connect(wsgi=app, path=PATH)
        return lambda: app.statuses
"""


def ready_made(rounds: int) -> Iterator[float]:
    """Compare the ready-made tests with a loop over as many worlds; pytest's own time is in it."""
    import pytest

    from pytest_chatfake import ChatFake

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "test_ready_made.py"
        path.write_text(READY_MADE)
        quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:asyncio"]

        def ours() -> None:
            with redirect_stdout(StringIO()):
                status = pytest.main([*quiet, "--rootdir", name, str(path)])
            assert status == pytest.ExitCode.OK

        ours()
        worlds = len(sys.modules["test_ready_made"].WORLDS)

        def by_hand() -> None:
            with time_machine.travel(START, tick=False):
                for _ in range(worlds):
                    with ChatFake(seed="by hand") as fake:
                        app = make_app()
                        fake.webhooks.connect(wsgi=app, path=PATH)
                        fake.send_text("first", to="+1").deliver(devices=2).read()
                        fake.send_text("second", to="+2").fail()
                        fake.settle()
                        assert len(app.statuses) == 2  # type: ignore[attr-defined]

        yield from times(rounds, timed(ours, 1), timed(by_hand, 1), slices=2)


ROWS = (
    Row(
        "ready-made",
        "the tests of WebhookTests / playing their scenario by hand in as many fakes",
        "at most",
        3.0,
        ready_made,
        needs=("flask",),
    ),
    Row(
        "explore-crash",
        "exploring the crashes of a body of 12 events / running it by hand in as many fakes",
        "at most",
        3.0,
        partial(explored, 4, deviations=["crash"], crash_points=[json.loads]),
        needs=("flask",),
    ),
    *(
        Row(
            f"explore-{3 * messages}",
            f"exploring a body of {3 * messages} events / running it by hand in as many fakes",
            "at most",
            1.45,
            partial(explored, messages),
            needs=("flask",),
        )
        for messages in (1, 2, 4)
    ),
)
