"""What a test may have overlooked: failed attempts, queued events; and what needs no warning."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake, UndeliveredWebhooks

from .fakes import frozen_fake, own_lines, warnings_at_the_end

HERE = Path(__file__).name


def failing_app(environ: Any, start_response: Any) -> list[bytes]:
    start_response("500 No", [])
    return []


def test_failed_attempts_that_nobody_looked_at_are_one_warning_with_their_lines() -> None:
    ids: list[str] = []

    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=failing_app, path="/hooks")
        message = fake.send_text()
        ids.append(message.id)
        message.deliver()

    (text,) = warnings_at_the_end(scenario)
    file, line = HERE, scenario.__code__.co_firstlineno
    app = "failing_app (WSGI) /hooks: status 500 (did it raise? its log has the error)"
    assert [
        "2 attempts failed, and the test did not look at fake.webhooks.attempts:",
        f"  sent of message {ids[0]} at {app}; caused at {file}:{line + 2}",
        f"  delivered of message {ids[0]} at {app}; caused at {file}:{line + 4}",
    ] == text.splitlines()


BODIES = [
    (b'{"detail": [{"loc": ["to"]}]}', '{"detail": [{"loc": ["to"]}]}'),
    (b"<p>\r\n  No\x1b[31m\t&nbsp;</p>\n", "<p> No [31m &nbsp;</p>"),
    ("ü".encode() * 200, "ü" * 200),
    ("你".encode() * 201, "你" * 200 + " ..."),
    (b"\xff" * 3, "\N{REPLACEMENT CHARACTER}" * 3),
]


@pytest.mark.parametrize(("body", "shown"), BODIES, ids=["json", "html", "200", "201", "bytes"])
def test_a_warning_shows_the_beginning_of_the_answers_body_on_one_line(
    body: bytes, shown: str
) -> None:
    def app(_: Any, start_response: Any) -> list[bytes]:
        start_response("422 No", [])
        return [body]

    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=app)
        fake.send_text()

    (text,) = warnings_at_the_end(scenario)
    assert f"    {shown}" == text.splitlines()[2]
    assert 3 == len(text.splitlines())


# -- strict ----------------------------------------------------------------------------------------


def test_a_strict_fake_raises_at_the_end_of_its_block_what_it_would_have_warned_about() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=failing_app)
        fake.webhooks.drop(status="read")
        fake.send_text()

    expected = "\n".join(warnings_at_the_end(scenario))
    with pytest.raises(UndeliveredWebhooks) as refused, frozen_fake(strict=True) as fake:
        scenario(fake)
    assert expected == own_lines(str(refused.value))
    assert fake._engine.closed


def test_a_strict_fake_that_is_closed_by_hand_raises_there_and_only_once() -> None:
    fake = ChatFake(strict=True)
    fake.webhooks.drop()
    with pytest.raises(UndeliveredWebhooks, match="1 unused fault"):
        fake.close()
    fake.close()


def test_a_strict_fake_lets_pass_what_needs_no_warning() -> None:
    with frozen_fake(strict=True) as fake:
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text()
        assert not fake.webhooks.attempts[0].ok


def test_an_error_of_a_strict_block_stays_the_error() -> None:
    with pytest.raises(KeyError, match="mine"), frozen_fake(strict=True) as fake:
        fake.webhooks.drop()
        raise KeyError("mine")


def test_whoever_looks_at_the_attempts_needs_no_warning() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text()
        assert not fake.webhooks.attempts[0].ok

    assert [] == warnings_at_the_end(scenario)


def test_a_look_covers_what_was_there_and_nothing_later() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=failing_app)
        message = fake.send_text()
        assert not fake.webhooks.attempts[0].ok
        message.deliver()

    (text,) = warnings_at_the_end(scenario)
    assert text.startswith("1 attempt failed")
    assert "delivered of message" in text


def test_a_reset_makes_later_failures_news_again() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text().deliver()
        assert 2 == len(fake.webhooks.attempts)
        fake.reset()
        fake.send_text()

    (text,) = warnings_at_the_end(scenario)
    assert text.startswith("1 attempt failed")


def test_an_answer_that_the_test_wrote_itself_is_no_news() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.receiver().respond(503, times=2)
        fake.webhooks.connect(handler=lambda _: 500)
        fake.send_text()

    assert [] == warnings_at_the_end(scenario)


def test_a_long_list_of_failures_is_cut() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text().deliver(devices=24)

    (text,) = warnings_at_the_end(scenario)
    assert text.startswith("25 attempts failed")
    assert text.endswith("\n  ... and 15 more")
    assert 12 == len(text.splitlines())


def test_events_that_are_still_queued_are_warned_about_with_their_line() -> None:
    ids: list[str] = []

    def scenario(fake: ChatFake) -> None:
        fake.webhooks.receiver()

        @fake.route("/send")
        def send(_: Any) -> dict[str, str]:
            ids.append(fake.send_text().id)
            return {}

        Client(fake.wsgi_app).post("/send", headers={"X-API-Key": fake.api_key})

    (text,) = warnings_at_the_end(scenario)
    head, line = text.splitlines()
    assert head.startswith("1 event still queued: end the test with a verb, ")
    number = scenario.__code__.co_firstlineno + 5
    assert f"  sent of message {ids[0]}, caused at {HERE}:{number}" == line


def test_an_error_of_the_block_is_not_covered_by_warnings_or_by_our_own_errors() -> None:
    with pytest.raises(KeyError, match="mine"):
        with ChatFake(mode="async") as fake:
            fake.send_text()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        with frozen_fake() as fake:
            fake.webhooks.connect(wsgi=failing_app)
            fake.send_text()
            raise KeyError("mine")


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), frozen_fake() as fake:
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text()
        assert not fake.webhooks.attempts[0].ok

    assert [] == caplog.records
