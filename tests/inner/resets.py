from conftest import told

from pytest_chatfake import ChatFake

with ChatFake() as fake:
    fake.reset()  # between tests


def test_a_reset(chat_fake):
    chat_fake.top_up(1)
    chat_fake.reset()
    chat_fake.top_up(1)
    raise LookupError


def test_worlds(chat_explore):
    @chat_explore(deviations=["duplicate"])
    def world(chat_fake):
        chat_fake.webhooks.receiver()
        chat_fake.send_text()


def test_what_was_told(chat_fake):
    chat_fake.top_up(1)
    assert told[:2] == ["gone 1", "shown test_a_reset call"]
    assert ["gone"] * len(told[2:]) == [line.split()[0] for line in told[2:]]
    assert len(told) >= 4
