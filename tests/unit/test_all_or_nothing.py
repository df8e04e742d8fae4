"""A verb that fails anywhere has changed nothing: whatever is made for it may be what fails.

What people do by themselves after it counts as a verb of its own.
"""

from contextlib import contextmanager
from itertools import count

import pytest

from pytest_chatfake.domain.account import Account
from pytest_chatfake.domain.facts import Fact
from pytest_chatfake.domain.ledger import LedgerEntry
from pytest_chatfake.domain.people import PersonFact
from pytest_chatfake.engine.records import ClockRecord
from pytest_chatfake.webhooks.events import Event

from .fakes import frozen_fake

#: The ways in which one of them is made.
MAKERS = [
    *((Fact, "__init__"), (PersonFact, "__new__")),
    *((LedgerEntry, "__init__"), (Event, "__init__")),
]


class Failure(Exception):
    """What making one of them fails with."""


@contextmanager
def failing_at(number):
    """Let the making of the n-th fact, entry or event fail; count them."""
    made = [0]
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in MAKERS:
            patch.setattr(owner, name, _counting(getattr(owner, name), made, number))
        yield made


def _counting(make, made, number):
    def counted(*args, **fields):
        made[0] += 1
        if made[0] == number:
            raise Failure
        return make(*args, **fields)

    return counted


def seen(fake):
    """All that a verb may change, but time."""
    engine = fake._engine
    account, outbox, ledger = engine.account, engine.outbox, engine.account.ledger
    slots = [
        {name: getattr(one, name) for name in one.__slots__}
        for one in (*account.messages, *account.conversations.all)
    ]
    return [
        *(slots, list(ledger.entries), ledger.available, ledger.held, ledger.charged),
        *([one.body for one in outbox.events], len(outbox.attempts), len(outbox.queue)),
        [(kind, id(subject)) for kind, subject in engine.core.schedule.work.values()],
        dict(account.people),
        [one for one in engine.core.history.records if not isinstance(one, ClockRecord)],
        outbox.next_inbound_id(),
    ]


def submitted(fake):
    return fake.submit_text()


def sent(fake):
    return fake.send_text()


def delivered(fake):
    return fake.send_text().deliver()


def waiting(fake):
    """Two messages of one conversation, and one of another, wait for a phone that is off."""
    anna = fake.recipient("+1", online=False)
    for origin_type in ("marketing", "marketing", "utility"):
        fake.send_text(to=anna, origin_type=origin_type)
    return anna


def in_an_open_chat(fake):
    message = fake.send_text(to=fake.recipient("+1", devices=3))
    fake.recipient("+1").opens_chat()
    return message


def unread(fake):
    anna = fake.recipient("+1")
    for _ in range(2):
        fake.send_text(to=anna).deliver()
    return anna


def described(**person):
    return lambda fake: fake.recipient("+1", **person)


def fields(_message, _status):
    return {"campaign": "spring"}


VERBS = {
    "send_text": (sent, lambda fake, _: fake.send_text(price=lambda _: 2)),
    "send": (sent, lambda fake, _: fake.send("image", {"id": "1"})),
    "accept": (submitted, lambda _, submission: submission.accept()),
    "accept, too dear": (submitted, lambda fake, _: fake.send_text(to="+2", price=1_000)),
    "reject": (submitted, lambda _, submission: submission.reject()),
    "deliver": (sent, lambda _, message: message.deliver(devices=3)),
    "read": (delivered, lambda _, message: message.read()),
    "fail": (sent, lambda _, message: message.fail()),
    "to an open chat": (described(chat_open=True), lambda fake, anna: fake.send_text(to=anna)),
    "to an open chat, in private": (
        described(chat_open=True, read_receipts=False),
        lambda fake, anna: fake.send_text(to=anna),
    ),
    "to nobody": (described(registered=False), lambda fake, anna: fake.send_text(to=anna)),
    "deliver into an open chat": (in_an_open_chat, lambda _, message: message.deliver()),
    "goes_offline": (described(), lambda _, anna: anna.goes_offline()),
    "comes_online": (waiting, lambda _, anna: anna.comes_online()),
    "recipient(online, chat_open)": (
        waiting,
        lambda fake, _: fake.recipient("+1", online=True, chat_open=True, devices=2),
    ),
    "opens_chat": (unread, lambda _, anna: anna.opens_chat()),
    "top_up": (sent, lambda fake, _: fake.top_up(1)),
    "set_balance": (sent, lambda fake, _: fake.set_balance(1)),
    "emit": (sent, lambda fake, message: fake.webhooks.emit(message, "read")),
    "writes": (described(), lambda _, anna: anna.writes("STOP")),
    "emit_event": (sent, lambda fake, _: fake.webhooks.emit_event("chat.other.seen")),
}


@contextmanager
def noting_decisions(fake):
    """List what a verb may change, as it is before each decision."""
    decide, states = Account.decide, [repr(seen(fake))]

    def noted(*arguments):
        states.append(repr(seen(fake)))
        return decide(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Account, "decide", noted)
        yield states


@pytest.mark.parametrize("config", [{}, {"extra": fields}], ids=["", "extra"])
@pytest.mark.parametrize("verb", VERBS)
def test_what_fails_anywhere_changes_nothing_and_a_verb_works_next_time(verb, config):
    prepare, act = VERBS[verb]
    for number in count(1):
        with frozen_fake(on_insufficient_balance="fail", **config) as fake:
            fake.webhooks.receiver(events=["*"])
            subject = prepare(fake)
            with noting_decisions(fake) as states, failing_at(number):
                try:
                    act(fake, subject)
                except Failure:
                    pass
                else:  # it makes no more than this
                    assert number > 1
                    return
            assert states[-1] == repr(seen(fake))

            if states[0] == states[-1]:  # nothing is done yet that a consequence could follow
                act(fake, subject)
                assert states[0] != repr(seen(fake))


def test_a_delivery_goes_to_ten_thousand_devices_at_most(fake):
    fake.send_text(to=fake.recipient("+1", devices=10_000)).deliver()

    assert len(fake.events) == 10_001
