import pytest
import requests

from pytest_chatfake import ChatFakeConfig


@pytest.fixture(scope="session")
def app(chat_fake_url):
    def balance():
        headers = {"X-API-Key": "our-key"}
        response = requests.get(f"{chat_fake_url}/v2/balance", headers=headers, timeout=60)
        return response.status_code, response.text

    return balance


@pytest.fixture
def chat_fake_config():
    return ChatFakeConfig(api_key="our-key")


def test_one(app, chat_fake):
    chat_fake.send_text()
    assert app() == (200, '{"amount":99.95,"currency":"USD"}')


def test_two(app, chat_fake):
    assert app() == (200, '{"amount":100,"currency":"USD"}')


def test_none(app):
    assert app()[0] == 401
