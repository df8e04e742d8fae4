"""Attempts in process: to whom, in which order, and what becomes of what goes wrong."""

import gc
from enum import Enum

import pytest

from pytest_chatfake import UndeliveredWebhooks, WebhookRequest
from pytest_chatfake.webhooks import drain

from .fakes import NOON, received_statuses, trail
from .wsgi_apps import App

# -- who gets what ---------------------------------------------------------------------------------


def test_a_disconnected_endpoint_gets_nothing_more(fake, receiver):
    message = fake.send_text()
    receiver.endpoint.disconnect()
    receiver.endpoint.disconnect()
    message.deliver()

    assert trail(fake) == "sent"
    assert not receiver.endpoint.connected
    assert repr(receiver.endpoint).endswith("(disconnected)>")


def test_an_endpoint_that_is_disconnected_during_an_event_gets_it_no_more(fake):
    fake.webhooks.connect(handler=lambda _: second.endpoint.disconnect())
    second = fake.webhooks.receiver()
    fake.send_text()

    assert received_statuses(second) == []


# -- what an attempt looks like --------------------------------------------------------------------


def test_an_app_gets_json_at_its_path_with_the_headers_of_the_test_as_text(fake):
    class Color(str, Enum):  # noqa: UP042 - its text is another one
        BLUE = "blue"

    app = App()
    fake.webhooks.connect(wsgi=app, path="/hooks/chat?a=1", headers={"X-Tenant": "7"})
    own = {"host": "shop.example", "content-type": "application/x+json", "X-Tenant": Color.BLUE}
    fake.webhooks.connect(wsgi=app, headers=own)
    fake.send_text()

    names = "PATH_INFO", "QUERY_STRING", "HTTP_HOST", "CONTENT_TYPE", "HTTP_X_TENANT"
    assert [[environ[name] for name in names] for environ in app.environs] == [
        ["/hooks/chat", "a=1", "testserver", "application/json", "7"],
        ["/", "", "shop.example", "application/x+json", "blue"],
    ]
    assert {type(environ["HTTP_X_TENANT"]) for environ in app.environs} == {str}
    assert app.bodies == [fake.events[0].body] * 2


def test_an_attempt_records_all_there_is_to_know(fake):
    endpoint = fake.webhooks.connect(handler=lambda _: (422, "no such campaign"))
    fake.send_text()

    (one,) = fake.webhooks.attempts
    assert (one.event, one.endpoint, one.number, one.at) == (fake.events[0], endpoint, 1, NOON)
    assert (one.status_code, one.body, one.ok) == (422, b"no such campaign", False)
    assert (one.error, one.fault) == (None, None)
    assert repr(one).endswith(f": {one.outcome}>")
    assert one.outcome == "status 422"


def test_a_request_is_forgotten_once_its_attempt_has_ended(fake):
    fake.webhooks.connect(handler=lambda _: 204)
    fake.send_text().deliver()

    requests = [each for each in gc.get_objects() if type(each) is WebhookRequest]
    assert [one for one in requests if one.event in fake.events] == []


# -- emitted while attempting ----------------------------------------------------------------------


def test_what_a_receiver_causes_comes_after_what_was_emitted_before(fake):
    seen = []

    def app(one):
        text = one.json()["chatMessage"]["text"]["body"]
        seen.append(f"{text} {one.event.status}")
        if seen == ["first sent"]:
            fake.send_text("second").deliver()

    fake.webhooks.connect(handler=app)
    fake.send_text("first").deliver()

    assert seen == ["first sent", "second sent", "second delivered", "first delivered"]


def test_events_that_cause_each_other_endlessly_are_stopped_with_the_line(fake):
    def app(_):
        fake.send_text()

    fake.webhooks.connect(handler=app)
    with pytest.raises(UndeliveredWebhooks) as caught:
        fake.send_text()

    assert str(caught.value).startswith(
        "endless loop: 10,000 webhooks in a row each caused another one (last: test_outbox.py:"
    )
    assert len(fake.webhooks.attempts) == 10_001
    # and the fake can be used again
    fake.webhooks.disconnect()
    receiver = fake.webhooks.receiver()
    fake.send_text()
    assert received_statuses(receiver) == ["sent"]


def test_an_endless_loop_is_stopped_at_all_endpoints_at_once(fake, monkeypatch):
    monkeypatch.setattr(drain, "MAX_DEPTH", 50)
    fake.webhooks.connect(handler=lambda _: fake.send_text() and 200)
    fake.webhooks.receiver()
    with pytest.raises(UndeliveredWebhooks):
        fake.send_text()

    made = len(fake.webhooks.attempts)
    fake.settle()
    assert len(fake.webhooks.attempts) == made


def test_a_long_chain_of_replies_that_ends_is_not_endless(fake):
    def reply(_):
        if len(fake.messages) < 1_500:
            fake.send_text("Reply")

    fake.webhooks.connect(handler=reply)
    fake.send_text("First")

    assert len(fake.webhooks.attempts) == 1_500


def test_many_events_of_one_verb_are_no_chain(fake, receiver, monkeypatch):
    monkeypatch.setattr(drain, "MAX_DEPTH", 50)
    fake.send_text().deliver(devices=100)

    assert len(receiver.requests) == 101


def test_a_receiver_can_not_change_the_headers_of_later_attempts(fake):
    def receiver(request):
        with pytest.raises(TypeError):
            request.headers["X-Seen"] = "1"

    endpoint = fake.webhooks.connect(handler=receiver)
    fake.send_text()

    assert endpoint.headers == {"Content-Type": "application/json"}
