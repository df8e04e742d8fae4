import unittest

import pytest

from pytest_chatfake import ChatFake


def overlook(fake):
    fake.webhooks.lose()


@pytest.mark.xfail
def test_xfail_holds(chat_fake):
    overlook(chat_fake)


@pytest.mark.xfail
def test_xfail_of_its_own(chat_fake):
    overlook(chat_fake)
    raise LookupError


def test_failed(chat_fake):
    overlook(chat_fake)
    raise LookupError


def test_skipped(chat_fake):
    overlook(chat_fake)
    pytest.skip("not today")


def test_failed_in_a_part(chat_fake, subtests):
    overlook(chat_fake)
    with subtests.test("a part"):
        raise LookupError


@pytest.fixture
def own_fake():
    with ChatFake() as fake:
        yield fake


def test_failed_with_a_fake_of_its_own(own_fake):
    overlook(own_fake)
    raise LookupError


class TestUnit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def fakes(self, chat_fake):
        self.fakes = chat_fake, self.enterContext(ChatFake())
        for fake in self.fakes:
            overlook(fake)

    def test_failed(self):
        self.fail("no")

    def test_skipped(self):
        self.skipTest("not today")
