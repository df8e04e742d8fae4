import atexit
import gc
import unittest
from functools import cache

import pytest

from pytest_chatfake import ChatFake


def test_in_a_function():
    fake = ChatFake()  # unclosed
    fake.webhooks.lose()


@pytest.fixture
def returned():
    return ChatFake()  # unclosed


def test_from_a_fixture(returned):
    pass


def test_with_an_app_that_calls_it():
    fake = ChatFake()  # unclosed
    fake.webhooks.connect(handler=lambda request: fake.balance and None)


class TestUnclosed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = ChatFake()  # unclosed

    def setUp(self):
        self.fake = ChatFake()  # unclosed

    def test_it(self):
        gc.collect()
        self.fake.webhooks.lose()


class TestClosed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = cls.enterClassContext(ChatFake())

    def setUp(self):
        self.fake = ChatFake()
        self.addCleanup(self.fake.close)

    def test_it(self):
        pass

    def test_skipped(self):
        fake = ChatFake()
        self.skipTest("not today")
        fake.close()


@pytest.fixture(scope="session")
def fakes():
    with ChatFake() as fake:
        yield [fake]


@pytest.fixture
def make(fakes):
    made = []
    yield lambda: made.append(ChatFake())
    for fake in made:
        fake.close()


def test_made_by_a_fixture(make, fakes):
    make()


def test_closed_by_a_finalizer(request):
    request.addfinalizer(ChatFake().close)


@cache
def kept():
    fake = ChatFake()
    atexit.register(fake.close)
    return fake


def test_closed_at_exit():
    kept()


def test_skipped():
    fake = ChatFake()
    pytest.skip("not today")
    fake.close()


def test_failed():
    fake = ChatFake()
    raise LookupError
    fake.close()


runs = []


def test_retried():
    fake = ChatFake()
    runs.append(1)
    assert len(runs) == 2
    fake.close()


def test_interrupted():
    gc.collect()
    fake = ChatFake()
    raise KeyboardInterrupt
    fake.close()


MODULES = ChatFake()
