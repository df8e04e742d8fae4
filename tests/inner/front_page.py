import flask
import pytest


@pytest.fixture
def app():
    app = flask.Flask("shop")
    app.post("/hooks/chat")(lambda: "")
    return app


def test_a_campaign_message_is_charged_once(chat_fake, chat_clock, app):
    chat_fake.webhooks.connect(wsgi=app, path="/hooks/chat")

    message = chat_fake.send_text("Sale ends today").deliver(devices=2).read()

    chat_fake.assert_statuses(message, "sent", "delivered", "delivered", "read")
    chat_fake.assert_charged("0.05", message=message)
    chat_fake.assert_held("0")


def test_money_held_comes_back_after_30_days(chat_fake, chat_clock, app):
    chat_fake.send_text("Are you there?")
    chat_fake.assert_held("0.05")

    chat_clock.advance(days=30)

    chat_fake.assert_held("0")
    chat_fake.assert_charged("0")
