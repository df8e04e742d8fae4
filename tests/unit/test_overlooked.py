"""What a test may have overlooked: failed attempts, queued events; and what needs no warning."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake, UndeliveredWebhooks

from .fakes import frozen_fake, own_lines, warnings_at_the_end


def failing_app(environ: Any, start_response: Any) -> list[bytes]:
    start_response("500 No", [])
    return []


def without_ids(text: str) -> list[str]:
    """The lines of a text, with ids put short."""
    return re.sub(r"\b[0-9a-f]{24}\b", "...", text).splitlines()


def test_failed_attempts_that_nobody_looked_at_are_one_warning_with_their_lines() -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=failing_app, path="/hooks")
        fake.send_text().deliver()

    (text,) = warnings_at_the_end(scenario)
    line = f"test_overlooked.py:{scenario.__code__.co_firstlineno + 2}"
    app = "failing_app (WSGI) /hooks: status 500 (did it raise? its log has the error)"
    assert [
        "2 attempts failed, and the test did not look at fake.webhooks.attempts:",
        f"  sent of message ... at {app}; caused at {line}",
        f"  delivered of message ... at {app}; caused at {line}",
    ] == without_ids(text)


def test_a_warning_shows_the_beginning_of_the_answers_body_on_one_line() -> None:
    def app(_: Any, start_response: Any) -> list[bytes]:
        start_response("422 No", [])
        return [b"<p>\r\n  No\x1b[31m\t&nbsp;</p>\n"]

    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=app)
        fake.send_text()

    (text,) = warnings_at_the_end(scenario)
    assert ["    <p> No [31m &nbsp;</p>"] == text.splitlines()[2:]


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


@pytest.mark.parametrize("strict", [False, True])
def test_whoever_looks_at_the_attempts_needs_no_warning(strict: bool) -> None:
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text()
        assert not fake.webhooks.attempts[0].ok

    assert [] == warnings_at_the_end(scenario, strict=strict)


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
    def scenario(fake: ChatFake) -> None:
        fake.webhooks.receiver()

        @fake.route("/send")
        def send(_: Any) -> dict[str, str]:
            return {"id": fake.send_text().id}

        Client(fake.wsgi_app).post("/send", headers={"X-API-Key": fake.api_key})

    (text,) = warnings_at_the_end(scenario)
    head, line = without_ids(text)
    assert head.startswith("1 event still queued: end the test with a verb, ")
    number = scenario.__code__.co_firstlineno + 5
    assert f"  sent of message ..., caused at test_overlooked.py:{number}" == line


@pytest.mark.parametrize("config", [{}, {"strict": True}, {"mode": "async"}])
def test_an_error_of_the_block_is_not_covered_by_warnings_or_by_our_own_errors(
    config: dict[str, Any],
) -> None:
    with pytest.raises(KeyError, match="mine"), frozen_fake(**config) as fake:
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text()
        raise KeyError("mine")


def test_nothing_is_logged(fake: ChatFake, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        fake.webhooks.connect(wsgi=failing_app)
        fake.send_text()
        assert not fake.webhooks.attempts[0].ok

    assert [] == caplog.records
