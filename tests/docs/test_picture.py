"""The picture of the page on failures is what the fake draws.

Run as a script, it draws it anew: ``python -m tests.docs.test_picture``
"""

from __future__ import annotations

import time_machine

from pytest_chatfake import ChatFake, WebhookRequest
from pytest_chatfake.base.current_test import current

from .pages import DOCS

PICTURE = DOCS / "_static" / "timeline.svg"


def shop(request: WebhookRequest) -> int:
    return 500 if request.event.status == "read" and request.number == 1 else 204


def drawn() -> str:
    with (
        current().following(drawn.__code__),  # the lines of this function, whoever calls it
        time_machine.travel(1_767_268_800, tick=False),  # 2026-01-01T12:00:00Z
        ChatFake(seed="picture") as fake,
    ):
        fake.webhooks.connect(handler=shop, retry_after=[60])
        fake.send_text("Sale ends today").deliver().read()
        fake.send_text("Are you there?", to="+15550102")
        fake.clock.advance(days=30)
        return fake.timeline.svg() + "\n"


def test_the_picture_is_what_is_drawn() -> None:
    assert PICTURE.read_text("utf-8") == drawn()


if __name__ == "__main__":
    PICTURE.write_text(drawn(), "utf-8")
