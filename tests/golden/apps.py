"""The app does not take a webhook as the test expects."""

import base64
from contextlib import nullcontext

import pytest

from pytest_chatfake import HmacSigner, StandardWebhooksSigner

pytestmark = pytest.mark.usefixtures("chat_clock")

SECRET = "whsec_" + base64.b64encode(b"no one may read this key").decode()


def refuse(request):
    return 500


# What its response may mean


@pytest.mark.parametrize("status", [301, 302, 404, 405, 500, 503])
def test_a_status_has_a_hint(chat_fake, status):
    chat_fake.webhooks.connect(handler=lambda request: status)
    chat_fake.send_text()
    assert chat_fake.webhooks.attempts[0].ok


BODIES = {
    "another language": "你" * 201,
    "control characters": b"\x1b[31mred\xff",
    "a page": b"<html><title>Not\n here</title>\r\n<p>&nbsp;</p></html>",
    "a framework's": b'{"detail": "Internal Server Error"}',
    "its own": b'{"detail":\n [{"loc": ["totalPrice"]}]}',
}


@pytest.mark.parametrize("body", BODIES)
def test_the_beginning_of_a_response_is_shown(chat_fake, body):
    chat_fake.webhooks.connect(handler=lambda request: (500, BODIES[body]))
    chat_fake.send_text()


SIGNERS = {
    "nothing": None,
    "the default": HmacSigner(SECRET),
    "a scheme of its own": HmacSigner(
        SECRET,
        header="X-Hub",
        format="sha1={signature}",
        content="{body}",
        timestamp_header="X-Time",
        digest="sha1",
        encoding="base64",
    ),
    "the standard": StandardWebhooksSigner(SECRET),
    "a function": lambda request: {"X-One": "1", "X-Two": SECRET},
}


@pytest.mark.parametrize("signer", SIGNERS)
def test_a_signature_is_accepted(chat_fake, signer):
    chat_fake.webhooks.connect(handler=lambda request: 401, signer=SIGNERS[signer])
    chat_fake.send_text()


def test_an_app_refuses_what_was_tampered_with(chat_fake):
    chat_fake.webhooks.connect(handler=lambda request: 403, signer=HmacSigner(SECRET))
    chat_fake.webhooks.tamper(lambda body: body[:-1])
    chat_fake.webhooks.tamper(start=2)
    chat_fake.send_text()
    with chat_fake.webhooks.sign(HmacSigner("other", offset=-600)):
        chat_fake.send_text()
    with chat_fake.webhooks.sign(HmacSigner(SECRET, offset=-600)):
        chat_fake.send_text()
    with chat_fake.webhooks.sign(HmacSigner(SECRET, offset=600)):
        chat_fake.send_text()
    with chat_fake.webhooks.sign(lambda request: {}):
        chat_fake.send_text()
    chat_fake.send_text()
    assert chat_fake.webhooks.attempts[0].ok


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("what", ["'State' object has no attribute 'db'", "state"])
def test_a_lifespan_has_run(chat_fake, what, runs):
    async def app(scope, receive, send):
        if scope["type"] == "http":
            raise KeyError(what) if what == "state" else AttributeError(what)
        for phase in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{phase}.complete"})

    chat_fake.webhooks.connect(asgi=app)
    with chat_fake.webhooks.lifespan(app) if runs else nullcontext():
        chat_fake.send_text()


def test_an_app_raises(chat_fake):
    def shop(request):
        raise KeyError("chatMessage")

    chat_fake.webhooks.connect(handler=shop, events="*")
    chat_fake.recipient("+1").writes("STOP")


# What it never got


def test_an_app_gets_a_message_before_it_is_connected(chat_fake):
    chat_fake.send_text()
    chat_fake.webhooks.receiver()
    assert chat_fake.webhooks.attempts


def test_an_app_gets_what_people_write(chat_fake):
    chat_fake.webhooks.connect(handler=refuse)
    chat_fake.send_text()
    for text in ("STOP", "START"):
        chat_fake.recipient("+1").writes(text)


def test_an_app_gets_an_event_after_it_is_disconnected(chat_fake, chat_receiver):
    chat_fake.webhooks.disconnect()
    chat_fake.send_text()
    assert chat_receiver.events


def test_an_app_gets_other_events_only(chat_fake):
    chat_fake.webhooks.connect(handler=print, events=["account.updated"])
    chat_fake.send_text()
    assert chat_fake.webhooks.attempts


def test_an_app_gets_delivered_events(chat_fake, chat_receiver):
    chat_fake.send_text().read()
    chat_fake.send_text(to="+2").read()
    chat_fake.send_text(to="+3").deliver().read()
    for number in range(2):
        person = chat_fake.recipient(f"-{number}", read_receipts=False)
        chat_fake.send_text(to=person).deliver().read()
    assert chat_receiver.events[1].status == "delivered"


def test_an_app_gets_what_a_route_sends(chat_fake, chat_receiver):
    from werkzeug.test import Client

    @chat_fake.route("/send")
    def send(request):
        chat_fake.send_text()
        chat_fake.send_text(to="+2").deliver()

    Client(chat_fake.wsgi_app).post("/send", headers={"X-API-Key": chat_fake.api_key})
    assert chat_receiver.events


# Which app it was


def test_apps_have_short_names(chat_fake):
    class App:
        title = "orders"

        def __call__(self, environ, start_response):
            start_response("500 No", [])
            return [b""]

    for path in ("/hooks", "/api/v1/webhooks/messages/status"):
        chat_fake.webhooks.connect(wsgi=App(), path=path)
    chat_fake.webhooks.receiver()
    gone = chat_fake.webhooks.receiver()
    chat_fake.send_text()
    gone.endpoint.disconnect()
    pytest.fail("the order is still open")


# What faults did


def test_an_event_comes_in_time_and_once(chat_fake):
    webhooks = chat_fake.webhooks
    webhooks.receiver()
    webhooks.connect(handler=lambda request: 500 if request.number == 1 else 200)
    webhooks.delay(30, status="delivered", endpoint=webhooks.receiver().endpoint)
    chat_fake.send_text().deliver().read()
    chat_fake.clock.advance(60)
    webhooks.redeliver(chat_fake.events[0])
    pytest.fail("the order is still open")


def test_each_fault_leaves_a_mark(chat_fake):
    webhooks = chat_fake.webhooks
    webhooks.connect(handler=lambda request: None, signer=HmacSigner(SECRET))
    webhooks.duplicate(status="sent")
    webhooks.tamper(status="delivered")
    webhooks.sign(HmacSigner("other"), status="delivered")
    webhooks.delay(30, status="read")
    webhooks.lose(status="failed")
    message = chat_fake.send_text().deliver().read()
    chat_fake.send_text().fail()
    chat_fake.clock.advance(30)
    webhooks.emit(message, "read")
    with webhooks.paused() as queue:
        webhooks.redeliver(chat_fake.events[0])
        queue.release()
    for _ in range(2):
        webhooks.emit_event("chat.inbound_message.received", {"text": "Hi"})
    pytest.fail("the order is still open")


def test_faults_fire(chat_fake):
    webhooks = chat_fake.webhooks
    webhooks.connect(handler=refuse)
    chat_fake.send_text()
    webhooks.duplicate()
    webhooks.duplicate(after=1, status="read", start=2, times=None)
    webhooks.delay(600, status="delivered", times=3)
    webhooks.tamper(bytes.upper, status="failed")
    webhooks.lose(status="delivred")
    pytest.fail("the order is still open")


def test_a_campaign_is_refused(chat_fake):
    chat_fake.webhooks.connect(handler=refuse)
    chat_fake.webhooks.lose(status="read", times=None)
    for number in range(30):
        chat_fake.send_text(to=f"+{number}")
    for _ in range(2):
        chat_fake.webhooks.lose(status="failed")


def test_a_campaign_of_hundreds_is_refused(chat_fake):
    chat_fake.webhooks.connect(handler=refuse)
    chat_fake.webhooks.duplicate(times=None)
    chat_fake.autopilot(deliver_after=(60, 7200), read_after=(60, 7200), fail_share=0.1)
    for number in range(200):
        chat_fake.send_text(to=f"+{number}")
    named = chat_fake.messages[100]
    chat_fake.clock.advance(days=1)
    chat_fake.assert_charged(1, message=named)


def test_one_delay_at_two_endpoints_leaves_one_mark(chat_fake):
    for _ in range(2):
        chat_fake.webhooks.receiver()
    chat_fake.webhooks.delay(30, times=2)
    chat_fake.send_text()
    pytest.fail("no app has heard of it")
