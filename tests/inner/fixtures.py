from pytest_chatfake import ChatFake, ChatFakeConfig, Clock, Receiver


def test_kinds(
    chat_fake, chat_clock, chat_receiver, chat_fake_config, chat_fake_url, chat_fake_mode
):
    assert isinstance(chat_fake, ChatFake)
    assert isinstance(chat_clock, Clock)
    assert chat_clock is chat_fake.clock
    assert isinstance(chat_receiver, Receiver)
    assert chat_fake_config == ChatFakeConfig()
    assert chat_fake_url == chat_fake.base_url
    assert chat_fake_mode == chat_fake.config.mode == "sync"


def test_the_receiver_is_connected_already(chat_fake, chat_receiver):
    message = chat_fake.send_text().deliver()
    assert chat_receiver.statuses(message) == ["sent", "delivered"]


def test_every_test_has_a_fresh_fake(chat_fake):
    assert len(chat_fake.messages) == 0
    assert chat_fake.webhooks.attempts == ()
    chat_fake.send_text()


test_again = test_every_test_has_a_fresh_fake
keys = set()


def test_key_1(chat_fake):
    keys.add(chat_fake.api_key)


def test_key_2(chat_fake):
    keys.add(chat_fake.api_key)
    assert len(keys) == 2


urls = set()


def test_url_1(chat_fake_url):
    urls.add(chat_fake_url)


def test_url_2(chat_fake, chat_fake_url):
    urls.add(chat_fake_url)
    assert len(urls) == 1
