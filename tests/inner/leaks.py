import threading

import time_machine
from werkzeug.test import Client

# Another test's clients may be closing their connections still.
before = {*threading.enumerate()}


def test_leaves_everything(chat_fake, chat_clock, chat_receiver):
    chat_fake.webhooks.lose(times=None)
    chat_fake.api.fail(times=None)
    chat_fake.webhooks.paused().__enter__()
    chat_fake.route("/send")(lambda _: 1 / 0)
    chat_fake.http.expect_request("/own").respond_with_data("x")
    chat_fake.send_text()
    chat_clock.advance(days=3)
    Client(chat_fake.wsgi_app).post("/send", headers={"X-API-Key": chat_fake.api_key})
    raise KeyError("mine")


def test_meets_nothing(chat_fake, chat_receiver):
    assert not time_machine.traveller_stack
    client = Client(chat_fake.wsgi_app)
    headers = {"X-API-Key": chat_fake.api_key}
    assert client.get("/v2/balance", headers=headers).status_code == 200
    assert client.post("/send", headers=headers).status_code == 404
    assert client.get("/own", headers=headers).status_code == 404
    message = chat_fake.send_text()
    assert chat_receiver.statuses(message) == ["sent"]
    chat_fake.settle()


def test_threads():
    lasting = {"chatfake-listener", "chatfake-watch"}  # the watch ends by itself
    left = {each for each in threading.enumerate() if "chatfake" in each.name} - before
    assert {each for each in left if each.name not in lasting} == set()
