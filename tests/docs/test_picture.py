"""The picture of the page on failures is what the fake draws.

Run as a script, it draws it anew: ``python -m tests.docs.test_picture``
"""

# Asserts read `expected == actual`.

from __future__ import annotations

import re

import time_machine

from pytest_chatfake import ChatFake

from .pages import DOCS

PICTURE = DOCS / "_static" / "timeline.svg"


def shop(environ: object, start_response: object) -> list[bytes]:
    start_response("204 No Content", [])  # type: ignore[operator]
    return []


def drawn() -> str:
    with (
        time_machine.travel(1_767_268_800, tick=False),  # 2026-01-01T12:00:00Z
        ChatFake(seed="picture") as fake,
    ):
        fake.webhooks.connect(wsgi=shop, path="/hooks/chat")
        fake.webhooks.duplicate(status="delivered")
        fake.send_text("Sale ends today").deliver().read()
        fake.send_text("Are you there?", to="+15550102")
        fake.clock.advance(days=30)
        text = re.sub(r"test_picture\.py:\d+ via test_picture\.py:\d+", "", fake.timeline.svg())
    return re.sub(r"\[duplicate: [^]]*\]", "[duplicate: test_sale.py:5]", text) + "\n"


def test_the_picture_is_what_is_drawn() -> None:
    assert PICTURE.read_text("utf-8") == drawn()


if __name__ == "__main__":
    PICTURE.write_text(drawn(), "utf-8")
