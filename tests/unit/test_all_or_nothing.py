"""A verb happens as a whole or not at all, whichever function of the test raises in the middle.

What people do by themselves after it can't be refused: it happens, and then the verb raises.
"""

from itertools import count

import pytest

from .middles import asking_fake, seen


class Failure(Exception):
    """What a function of the test raises."""


class Failing:
    """Raises at the n-th call from :meth:`fail_at` on."""

    def __init__(self):
        self._left = 0

    def fail_at(self, number):
        self._left = number or 0

    def __call__(self, _function):
        self._left -= 1
        if self._left == 0:
            raise Failure


def happened(found):
    """The same without the campaign, and without what became of an attempt."""
    return {
        **found,
        "events": [
            (*rest, body.replace(b',"campaign":"spring"', b"")) for *rest, body in found["events"]
        ],
        "attempts": [event for event, _ in found["attempts"]],
        "timeline": [
            (kind, at, None if kind == "attempt" else text, cause)
            for kind, at, text, cause in found["timeline"]
        ],
    }


def nobody(_fake):
    return None


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


#: What is there before, and the verb; nobody does anything by themselves after it.
VERBS = {
    "send_text": (nobody, lambda fake, _: fake.send_text()),
    "send_text, in a conversation": (sent, lambda fake, _: fake.send_text()),
    "send_text, too dear": (sent, lambda fake, _: fake.send_text(to="+2", price=1_000)),
    "send": (sent, lambda fake, _: fake.send("image", {"id": "1"})),
    "accept": (submitted, lambda _, submission: submission.accept()),
    "reject": (submitted, lambda _, submission: submission.reject()),
    "deliver": (sent, lambda _, message: message.deliver(devices=3)),
    "deliver, again": (delivered, lambda _, message: message.deliver()),
    "read": (delivered, lambda _, message: message.read()),
    "read, at once": (sent, lambda _, message: message.read()),
    "fail": (sent, lambda _, message: message.fail()),
    "emit": (sent, lambda fake, message: fake.webhooks.emit(message, "read")),
    "writes": (described(), lambda _, anna: anna.writes("STOP")),
}

#: The same for verbs after which people do something by themselves.
FOLLOWED = {
    "to an open chat": (described(chat_open=True), lambda fake, anna: fake.send_text(to=anna)),
    "to an open chat, in private": (
        described(chat_open=True, read_receipts=False),
        lambda fake, anna: fake.send_text(to=anna),
    ),
    "to nobody": (described(registered=False), lambda fake, anna: fake.send_text(to=anna)),
    "deliver into an open chat": (in_an_open_chat, lambda _, message: message.deliver()),
    "comes_online": (waiting, lambda _, anna: anna.comes_online()),
    "recipient(online, chat_open)": (
        waiting,
        lambda fake, _: fake.recipient("+1", online=True, chat_open=True, devices=2),
    ),
    "opens_chat": (unread, lambda _, anna: anna.opens_chat()),
}


def play(verb, number=None, *, again=False):
    """Let the n-th call of a function in the middle of a verb raise.

    Returns:
        Whether one did; and what was seen before and after the verb.
    """
    prepare, act = (VERBS | FOLLOWED)[verb]
    failing = Failing()
    with asking_fake(failing) as fake:
        fake.webhooks.receiver(events="*")
        subject = prepare(fake)
        before = seen(fake)
        failing.fail_at(number)
        raised = False
        try:
            act(fake, subject)
        except Failure:
            raised = True
        if again:
            act(fake, subject)
        after = seen(fake)
        fake.reset()  # or the end of the block would report what has failed
        return raised, before, after


def failures_of(verb):
    """Return the number of each call in the middle of a verb that can raise."""
    numbers = []
    for number in count(1):
        if not play(verb, number)[0]:
            return numbers
        numbers.append(number)
    raise AssertionError


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_in_which_a_function_raises_changes_nothing(verb):
    numbers = failures_of(verb)

    assert numbers != []
    for number in numbers:
        _, before, after = play(verb, number)
        assert after == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_in_which_a_function_raised_works_the_next_time(verb):
    _, _, expected = play(verb)

    for number in failures_of(verb):
        _, _, after = play(verb, number, again=True)
        assert after == expected


@pytest.mark.parametrize("verb", FOLLOWED)
def test_a_verb_that_people_follow_happens_as_a_whole_or_not_at_all(verb):
    _, nothing, everything = play(verb)
    numbers = failures_of(verb)

    assert numbers != []
    for number in numbers:
        _, _, after = play(verb, number)
        assert happened(after) in (happened(nothing), happened(everything))


def test_a_delivery_goes_to_ten_thousand_devices_at_most(fake):
    fake.send_text(to=fake.recipient("+1", devices=10_000)).deliver()

    assert len(fake.events) == 10_001
