"""Every status with every verb, held against a table of the tests' own (§3)."""

import inspect
import re

import pytest

from pytest_chatfake import IllegalTransition, Message, Submission

from .fakes import frozen_fake, unchanged
from .transition_table import ILLEGAL, LEGAL, VERBS, legal_verbs


class MessageInState:
    """A message brought into a state, and the two handles that know it."""

    def __init__(self, fake, state):
        self.fake = fake
        self.state = state
        self.submission = fake.submit_text("Hello")
        if state == "submitted":
            # A submission offers two verbs only; the message that it may become has the others.
            self.message = Message(self.submission._engine, self.submission._state)
            return
        self.message = self.submission.accept()
        # Later than the sending, so that a stamp that is touched is a stamp that differs.
        fake.clock.advance(seconds=1)
        match state:
            case "delivered":
                self.message.deliver()
            case "read":
                self.message.deliver().read()
            case "failed":
                self.message.fail()
            case "dropped":
                fake.clock.advance(days=30)
        fake.clock.advance(seconds=1)

    @property
    def subject(self):
        return "a submission" if self.state == "submitted" else f"message {self.message.id}"

    def perform(self, verb):
        handle = self.submission if verb in {"accept", "reject"} else self.message
        return getattr(handle, verb)()


def what_follows(case):
    """The events of all that can still be done, with every id and stamp in them."""
    fake = case.fake
    fake.clock.advance(seconds=1)
    if case.state == "submitted":
        case.submission.accept()
    if case.message.status in {"sent", "delivered"} and not case.message.dropped:
        case.message.deliver().read()
    fake.send_text("The next one").deliver()
    fake.submit_text("And another", to="+4915100001").reject()
    return [event.body for event in fake.events]


def test_the_table_knows_every_verb_that_a_handle_offers():
    verbs = [name for handle in (Submission, Message) for name in dir(handle)
             if inspect.isfunction(getattr(handle, name)) and not name.startswith("_")]  # fmt: skip

    others = ["after", "cancel", "writes"]  # when a verb happens, and an event that is no status
    assert sorted([*VERBS, *others]) == sorted(verbs)


@pytest.mark.parametrize(("state", "verb"), LEGAL, ids=map("-".join, LEGAL))
def test_a_legal_verb_leads_where_the_table_says(fake, state, verb):
    case = MessageInState(fake, state)
    events, entries = len(fake.events), len(fake.ledger)

    message = case.perform(verb)

    outcome = LEGAL[state, verb]
    assert outcome.status == message.status
    assert [outcome.event] == [event.status for event in fake.events[events:]]
    assert list(outcome.entries) == [entry.kind for entry in fake.ledger[entries:]]
    assert not message.dropped


@pytest.mark.parametrize(("state", "verb"), ILLEGAL, ids=map("-".join, ILLEGAL))
def test_an_illegal_verb_is_refused_changes_nothing_and_consumes_no_id(state, verb):
    with frozen_fake() as fake:
        untouched = what_follows(MessageInState(fake, state))

    with frozen_fake() as fake:
        case = MessageInState(fake, state)
        with unchanged(fake), pytest.raises(IllegalTransition) as refused:
            case.perform(verb)

        problem, hint = str(refused.value).split(" (§3).")
        assert f"can't {verb} {case.subject}" == problem.partition(":")[0]
        assert state in problem.partition(": ")[2]
        assert legal_verbs(state) == set(re.findall(r" (\w+)\(\)", hint))
        assert ("use webhooks.redeliver()" in hint) == (not legal_verbs(state))
        assert untouched == what_follows(case)  # every id and stamp of what comes
