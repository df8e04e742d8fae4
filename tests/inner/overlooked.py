import pytest
from werkzeug.test import Client


@pytest.fixture
def app():
    def app(environ, start_response):
        start_response("302 Found", [("Location", "/login")])
        return []

    return app


def test_overlooked(chat_fake, app):
    chat_fake.webhooks.connect(wsgi=app)
    chat_fake.send_text()


def test_queued(chat_fake, app):
    chat_fake.webhooks.connect(wsgi=app)

    @chat_fake.route("/send")
    def send(_):
        return {"id": chat_fake.send_text().id}

    Client(chat_fake.wsgi_app).post("/send", headers={"X-API-Key": chat_fake.api_key})


def test_never_fired(chat_fake, chat_receiver):
    chat_fake.webhooks.lose(status="read")
    chat_fake.send_text()


def test_clean(chat_fake, chat_receiver):
    chat_fake.send_text()
