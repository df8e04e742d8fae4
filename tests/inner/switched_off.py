import pytest

from pytest_chatfake import WebhookTests


def test_passes(chat_fake, chat_clock, chat_receiver):
    chat_fake.send_text().deliver()
    chat_clock.advance(days=1)


def test_fails(chat_fake, chat_receiver):
    assert chat_fake.send_text().status == "read"


def test_is_skipped(chat_fake):
    pytest.skip("later")


def test_explores(chat_explore):
    @chat_explore
    def world(chat_fake):
        chat_fake.webhooks.connect(handler=lambda request: None)
        chat_fake.send_text().deliver()


class TestHooks(WebhookTests):
    def connect(self, chat_fake):
        chat_fake.webhooks.connect(handler=lambda request: None)
        return dict
