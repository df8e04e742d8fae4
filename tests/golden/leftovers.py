"""A test has missed something, and nothing else fails."""

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake

pytestmark = pytest.mark.usefixtures("chat_clock")


def page(environ, start_response):
    start_response("500 No", [])
    return [b"<p>\r\n  No\x1b[31m\t&nbsp;</p>\n"]


def send_over_http(fake):
    @fake.route("/send")
    def send(request):
        fake.send_text()

    Client(fake.wsgi_app).post("/send", headers={"X-API-Key": fake.api_key})


def test_all_is_in_one_error(chat_fake):
    chat_fake.webhooks.connect(wsgi=page, path="/hooks")
    chat_fake.webhooks.emit_event("account.updated")
    chat_fake.webhooks.lose(status="read")
    chat_fake.expect_charge("0.99")
    chat_fake.send_text().deliver().after(60)


def test_the_block_of_a_fake_ends():
    with ChatFake() as fake:
        fake.webhooks.lose()


def test_an_async_fake_has_a_queue():
    with ChatFake(mode="async", api_key="secret-key-1234") as fake:
        fake.webhooks.receiver()
        fake.webhooks.receiver()
        send_over_http(fake)


def test_a_sync_fake_has_none(chat_fake):
    chat_fake.webhooks.connect(wsgi=page)
    send_over_http(chat_fake)


@pytest.mark.chat_fake(retry_after=[60])
def test_what_a_later_attempt_makes_good_is_no_news(chat_fake):
    chat_fake.webhooks.connect(wsgi=page)
    chat_fake.send_text()
    chat_fake.webhooks.connect(wsgi=page, retry_after=())
    chat_fake.webhooks.duplicate()
    chat_fake.webhooks.redeliver(chat_fake.events[0])


@pytest.mark.asyncio
async def test_what_waits_for_others_is_listed_in_the_order_of_events(chat_fake):
    chat_fake.webhooks.receiver()
    chat_fake.webhooks.reorder(by=9, status="sent")
    chat_fake.webhooks.reorder(by=2, status="delivered")
    await chat_fake.send_text().deliver()
