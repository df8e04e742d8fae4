import pytest


def test_fixture(chat_fake):
    assert (chat_fake.config.price, chat_fake.balance.currency) == ("0.20", "EUR")


@pytest.mark.chat_fake(price="0.10")
class TestMarked:
    def test_class(self, chat_fake):
        assert (chat_fake.config.price, chat_fake.config.currency) == ("0.10", "EUR")

    @pytest.mark.chat_fake(price="0.30", opening_balance=5)
    def test_nearest_wins(self, chat_fake):
        chat_fake.send_text().deliver()
        assert str(chat_fake.balance.available) == "4.70"


@pytest.fixture
def chat_fake_config(chat_fake_config):
    return chat_fake_config.replace(origin_type="utility")


def test_module(chat_fake):
    assert chat_fake.config.origin_type == "utility"
    assert chat_fake.config.price == "0.20"


@pytest.mark.chat_fake(webhook_url="http://127.0.0.1:9/hooks")
def test_url(chat_fake):
    assert chat_fake.webhooks.connect(handler=print).connected
