"""Exploring a body's worlds, beside running it by hand as often."""

from __future__ import annotations

import json
from functools import partial
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
    rank = {"sent": 1, "delivered": 2, "read": 3}
    statuses: dict[str, str] = {}

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


ROWS = (
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
