"""What is refused: each argument of each call, by its name, with nothing changed.

Whole sentences are in `test_refusal_sentences`.
"""

from decimal import Decimal
from functools import partial

import pytest

import pytest_chatfake
from pytest_chatfake import ChatFake, ClosedError, HmacSigner
from pytest_chatfake.http_api.account_api import AccountApi

from .fakes import fake_with_receiver, visible_state
from .refused_arguments import (
    BESIDE,
    CALLS,
    HANDLES,
    MADE,
    NAMED,
    NAMING,
    NOT_CALLED,
    OUT_OF_RANGE,
    TOGETHER,
    WRONG_KIND,
    arguments_of,
    each_value,
    give,
    problems,
    required,
    verbs,
)


@pytest.fixture
def fake():
    with fake_with_receiver(naming=NAMING, signer=HmacSigner("s"), strict=False) as (fake, _):
        yield fake


@pytest.fixture
def belonging(fake):
    """What belongs to another fake, or was forgotten by a reset, by the kind of the argument."""
    old = fake.send_text()
    (old_event,) = old.events
    fake.reset()
    assert fake.send_text().id == old.id
    with ChatFake() as other:
        message = other.send_text()
        values = {
            "Conversation | str": message.conversation,
            "Endpoint": other.webhooks.receiver().endpoint,
            "Event": message.events[0],
            "Message": message,
            "str | Recipient": other.recipient("+1"),
        }
        before = visible_state(other)
        found = {kind: [((ValueError,), value)] for kind, value in values.items()}
        found["Message"].append(((ClosedError,), old))
        found["Event"].append(((ValueError,), old_event))
        yield found
        assert visible_state(other) == before


@pytest.mark.parametrize(("owner", "call"), CALLS, ids=[f"{o.__name__}.{c}" for o, c in CALLS])
def test_each_bad_argument_is_refused_by_its_name_and_changes_nothing(fake, belonging, owner, call):
    tried = [*each_value(fake, owner, call, belonging)]

    assert [*problems(fake, tried)] == []


def test_there_is_a_row_for_each_argument_and_an_argument_for_each_row():
    """Whoever adds an argument says what it refuses: numbers and texts by its name."""
    arguments = [one for owner, call in CALLS for one in arguments_of(owner, call)]
    rows = WRONG_KIND | OUT_OF_RANGE | NAMED | BESIDE | TOGETHER
    used = {key for one in arguments for key in (*one.keys, one.call, f"{one.owner}.{one.call}")}
    without = [
        one.keys
        for one in arguments
        if one.keys[0] not in WRONG_KIND
        or (one.keys[0] in {"float", "int", "str"} and OUT_OF_RANGE.keys().isdisjoint(one.keys))
    ]

    assert (without, rows.keys() - used) == ([], set())


def test_every_public_name_is_called_here_or_has_a_reason():
    called = {one.__name__ for one in [*HANDLES, *MADE] if one is not AccountApi}

    assert called | NOT_CALLED == {*pytest_chatfake.__all__}


def test_a_status_of_the_teams_own_is_taken(fake):
    message = fake.send_text()
    for status in ("seen", "unread", "deleted", "Read"):
        with fake.webhooks.lose(status=status):
            fake.webhooks.emit(message, status)

    fake.assert_statuses(message, "sent", "seen", "unread", "deleted", "Read")


def test_a_webhook_url_that_is_none_leaves_no_fake_behind():
    for _ in range(2):  # the second time, the key would be taken
        with pytest.raises(ValueError, match="nonsense"):
            ChatFake(api_key="only-once-9999", webhook_url="nonsense")


def test_two_living_fakes_with_one_key_are_refused_by_its_last_characters():
    for _ in range(2):
        with ChatFake(api_key="secret-key-1234"):
            with pytest.raises(ValueError, match=r"key \.\.\.1234"):
                ChatFake(api_key="secret-key-1234")


def test_nothing_negative_is_the_same_as_nothing(fake):
    fake.assert_held(Decimal("-0"))
    fake.assert_held("-0")


#: The verbs of a fake that is closed: they tell of its past, or only begin a block.
OPEN = {"ChatFake.assert_available", "ChatFake.assert_charged", "ChatFake.assert_held"}
OPEN |= {"ChatFake.assert_order_independent", "ChatFake.assert_requested"}
OPEN |= {"ChatFake.assert_statuses", "ChatFake.close", "ChatFake.expect_charge"}
OPEN |= {"ChatFake.explain", "ChatFake.find_message", "ChatFake.message", "Clock.stamp"}
OPEN |= {"Receiver.statuses", "Webhooks.disconnect"}


def test_a_closed_fake_refuses_each_verb_and_its_past_can_be_read():
    with fake_with_receiver(signer=HmacSigner("s")) as (fake, _):
        message = fake.send_text()
        calls = {"fake.base_url": lambda: fake.base_url, "fake.http": lambda: fake.http}
        for owner, verb in verbs():
            function = getattr(HANDLES[owner](fake), verb)
            more = {"delta": 1} if verb in {"advance", "after"} else BESIDE.get(verb, {})
            given = required(function, fake) | more
            calls[f"{owner.__name__}.{verb}"] = partial(give, function, given)

    for name, call in calls.items():
        if name not in OPEN:
            with pytest.raises(
                ClosedError, match=r"its test is over\. Use the chat_fake of the running"
            ):
                call()
    assert [entry.kind for entry in fake.ledger] == ["opening", "hold"]
    assert message.status == "sent"
    assert repr(fake).startswith("<ChatFake closed, 1 message: ")


def test_what_happened_is_read_only(fake):
    message = fake.send_text()

    for view in (fake.messages, fake.events, fake.ledger, fake.conversations, message.events):
        with pytest.raises(TypeError):
            view[0] = None
        assert not hasattr(view, "append")
    for thing, name in ((message, "status"), (fake.balance, "held")):
        with pytest.raises(AttributeError):
            setattr(thing, name, "x")
