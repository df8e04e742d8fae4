"""An app that adds up what messages cost, and its tests."""

from decimal import Decimal

from pytest_chatfake import WebhookTests


class Books:
    def __init__(self):
        self.prices = {}

    def receive(self, request):
        if request.event.status in ("delivered", "read"):
            message = request.event.json()["chatMessage"]
            self.prices[message["id"]] = message["totalPrice"]


def test_a_message_to_two_devices_is_charged_once(chat_fake):
    books = Books()
    chat_fake.webhooks.connect(handler=books.receive)

    chat_fake.send_text("Sale ends today").deliver(devices=2).read()

    assert sum(books.prices.values()) == Decimal("0.05")


class TestWebhooks(WebhookTests):
    def connect(self, chat_fake):
        books = Books()
        chat_fake.webhooks.connect(handler=books.receive, events="*")
        return lambda: books.prices

    def expected(self, chat_fake):
        return {message.id: message.charged for message in chat_fake.messages if message.charged}
