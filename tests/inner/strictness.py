import pytest

from pytest_chatfake import ChatFakeConfig


def idle(chat_fake):
    chat_fake.webhooks.lose()


def test_option(chat_fake):
    idle(chat_fake)


@pytest.mark.chat_fake(strict=None)
def test_none_says_nothing(chat_fake):
    idle(chat_fake)


@pytest.mark.chat_fake(strict=True)
def test_marker(chat_fake):
    idle(chat_fake)


class TestConfigured:
    @pytest.fixture
    def chat_fake_config(self):
        return ChatFakeConfig(strict=True)

    def test_configuration(self, chat_fake):
        idle(chat_fake)

    @pytest.mark.chat_fake(strict=False)
    def test_marker_before_configuration(self, chat_fake):
        idle(chat_fake)
