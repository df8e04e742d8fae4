import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from pytest_chatfake import ChatFake


@pytest.fixture(scope="module")
def shared():
    with ChatFake() as fake:
        yield fake


FAST = settings(max_examples=30, deadline=None, database=None, derandomize=True)


@FAST
@given(st.integers(0, 1000))
def test_property(shared, number):
    with ChatFake() as fake, ChatFake() as second:
        fake.send_text(to=f"+1{number}")
        second.send_text(to=f"+2{number}")
        assert number < 7


@FAST
@given(st.integers(0, 1000))
def test_two_failures(number):
    with ChatFake() as fake:
        fake.send_text(to=f"+1{number}")
        if number > 900:
            raise ValueError
        assert number < 7


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.fake = ChatFake()

    @rule(number=st.integers(0, 1000))
    def send(self, number):
        self.fake.send_text(to=f"+1{number}")
        assert number < 7

    def teardown(self):
        self.fake.close()


Machine.TestCase.settings = FAST
TestMachine = Machine.TestCase
