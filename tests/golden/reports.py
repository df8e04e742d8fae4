"""In which reports a timeline is, what it begins with, and how long it is at most."""

import threading

import pytest
from time_machine import travel

from pytest_chatfake import ChatFake

NOON = "2026-01-01T12:00:00+00:00"


@pytest.fixture(autouse=True)
def noon():
    with travel(NOON, tick=False):
        yield


# The phase that failed


@pytest.fixture
def sent(chat_fake):
    chat_fake.send_text(to="+1")
    yield
    chat_fake.send_text(to="+3")
    raise RuntimeError("teardown")


@pytest.fixture
def broken(chat_fake):
    chat_fake.send_text()
    raise RuntimeError("setup")


def test_the_setup_fails(broken):
    pass


def test_the_teardown_fails(chat_fake, sent):
    chat_fake.send_text(to="+2")


def test_the_test_fails_and_then_the_teardown(chat_fake, sent):
    chat_fake.send_text(to="+2")
    raise RuntimeError("call")


def test_without_a_traceback(chat_fake):
    chat_fake.send_text()
    pytest.fail("no more", pytrace=False)


# The fakes of the test


@pytest.fixture(scope="module")
def shared():
    with travel(NOON, tick=False):
        fake = ChatFake()
        fake.send_text(to="+0")
    yield fake
    fake.close()


def test_a_fake_of_several_tests(shared):
    shared.send_text(to="+1")


def test_the_next_of_these_tests(shared):
    shared.send_text(to="+2")
    pytest.fail("only +2 is shown")


def test_a_fake_that_is_closed():
    with travel(NOON, tick=False), ChatFake(retry_after=[10]) as fake:
        fake.webhooks.receiver().respond(500)
        fake.send_text()
    pytest.fail("the clock moves from where it was")


def test_a_fake_that_begins_anew(chat_fake):
    chat_fake.send_text(to="+1")
    chat_fake.reset()
    chat_fake.send_text(to="+2")
    pytest.fail("only +2 has a message")


def test_two_fakes(chat_fake):
    chat_fake.send_text(to="+1")
    with ChatFake() as mine:
        mine.send_text(to="+2").deliver()
        pytest.fail("both are shown")


def test_a_dozen_fakes():
    for number in range(12):
        with ChatFake() as fake:
            fake.top_up(number)
    pytest.fail("the last ten are shown")


# The lines


@pytest.fixture
def by_fixture(chat_fake):
    return chat_fake.send_text(to="+fixture")


def helper(fake, **options):
    return fake.send_text(to="+helper", **options)


def hidden(fake):
    __tracebackhide__ = True
    return fake.send_text(to="+hidden")


class TestClass:
    def test_each_verb_has_its_line(self, chat_fake, by_fixture):
        chat_fake.send_text(to="+own")
        helper(chat_fake)
        hidden(chat_fake)
        thread = threading.Thread(target=helper, args=(chat_fake,))
        thread.start(), thread.join()

        def shop(request):
            if len(chat_fake.messages) < 7:
                helper(chat_fake)

        chat_fake.webhooks.connect(handler=shop)
        chat_fake.send_text(to="+attempt")
        pytest.fail("who sent what?")


# Everything that can happen


def test_the_account_has_verbs(chat_fake):
    chat_fake.top_up("2.50")
    chat_fake.set_balance("100")
    chat_fake.set_balance("100")
    chat_fake.rotate_key()
    for _ in range(20):
        chat_fake.clock.advance(3723.5)
    pytest.fail("the balance is wrong")


def test_what_cannot_be_shown(chat_fake):
    message = chat_fake.send_text().fail()
    chat_fake._engine.state.history[1] = 31
    chat_fake.assert_charged("0.05", message=message)


# How long it is


def test_what_repeats_is_folded(chat_fake, chat_receiver):
    for number in range(20):
        chat_fake.send_text(to=f"+{number}")
    named = chat_fake.send_text(to="+named")
    with chat_fake.webhooks.duplicate():
        chat_fake.send_text(to="+marked")
    for number in range(20):
        chat_fake.send_text(to=f"-{number}")
    chat_fake.assert_charged(1, message=named)


@pytest.mark.parametrize("count", [3, 4])
def test_few_repetitions_are_kept(chat_fake, chat_receiver, count):
    for number in range(count):
        chat_fake.send_text(to=f"+{number}")
    pytest.fail("the third is not worth it")
