"""People and their phones (§3 and its rules 2 and 3): their handles, and others meanwhile.

Random scripts hold the rules against the model, and the rows of fidelity what is assumed.
"""

from contextlib import nullcontext

import pytest

from pytest_chatfake import ClosedError, IllegalTransition

from .fakes import frozen_fake, in_another_thread

ANNA = "+4915100001"


def test_an_address_has_one_handle_and_what_is_not_named_stays_as_it_was(fake):
    anna = fake.recipient(ANNA, devices=2, read_receipts=False)

    assert anna is fake.recipient(ANNA, withheld=True)
    known = (anna.devices, anna.read_receipts, anna.withheld, anna.online)
    assert known == (2, False, True, True)


def test_a_reset_forgets_people_and_ends_their_handles(fake):
    anna = fake.recipient(ANNA, devices=2)
    fake.reset()

    with pytest.raises(ClosedError, match=r"no longer exists: the fake was reset"):
        fake.send_text(to=anna)
    assert fake.recipient(ANNA).devices == 1


@pytest.mark.parametrize(
    ("description", "remedy"),
    [
        ({"online": False}, r"comes_online\(\)"),
        ({"blocked": True}, r"unblocks\(\)"),
        ({"registered": False}, "registered=True"),
        ({"withheld": True}, "withheld=False"),
    ],
)
def test_a_verb_that_contradicts_the_person_is_refused_with_the_remedy(fake, description, remedy):
    message = fake.send_text(to=ANNA)
    fake.recipient(ANNA, **description)

    with pytest.raises(
        IllegalTransition, match=rf"it is sent, but .*{remedy}.* or omit deliver\(\)"
    ):
        message.deliver()


def test_a_delivered_message_is_not_read_on_a_phone_that_is_off(fake):
    message = fake.send_text(to=ANNA).deliver()
    fake.recipient(ANNA, online=False)

    with pytest.raises(IllegalTransition, match=r"it is delivered, but .* or omit read\(\)"):
        message.read()


def test_a_phone_that_goes_off_closes_the_chat(fake):
    anna = fake.recipient(ANNA, chat_open=True)
    anna.goes_offline()

    with pytest.raises(IllegalTransition, match=r"can't call opens_chat\(\) for \+4915"):
        anna.opens_chat()
    assert not anna.chat_open


def doing(what, when):
    """A function of extra fields that does something before a message's delivery is told.

    While it runs, the lock is released.
    """

    def fields(message, status):
        if (message.body, status) == (when, "delivered"):
            what()
        return {}

    return fields


def fail():
    raise RuntimeError("no fields")


def test_a_function_of_extra_fields_that_fails_keeps_no_message_back():
    with frozen_fake(extra=doing(fail, "two")) as fake:
        fake.autopilot(deliver_after=None, read_after=60)
        anna = fake.recipient(ANNA, online=False)
        messages = [fake.send_text(body, to=anna) for body in ("one", "two", "three")]
        with pytest.raises(RuntimeError, match="no fields"):
            anna.comes_online()

        assert anna.online
        assert [message.status for message in messages] == ["delivered"] * 3
        fake.clock.advance(60)
        assert [message.status for message in messages] == ["read"] * 3  # by the autopilot


def test_a_consequence_that_another_thread_has_made_illegal_is_left_out():
    with frozen_fake(extra=doing(lambda: in_another_thread(messages[1].fail), "one")) as fake:
        anna = fake.recipient(ANNA, online=False)
        messages = [fake.send_text(body, to=anna) for body in ("one", "two", "three")]
        anna.comes_online()

        assert [message.status for message in messages] == ["delivered", "failed", "delivered"]
        assert [one.status for one in fake.events[3:]] == ["failed", "delivered", "delivered"]


def test_a_phone_that_another_thread_turns_off_meanwhile_gets_no_more():
    with frozen_fake(extra=doing(lambda: in_another_thread(anna.goes_offline), "one")) as fake:
        anna = fake.recipient(ANNA, online=False)
        messages = [fake.send_text(body, to=anna) for body in ("one", "two")]
        anna.comes_online()

        assert not anna.online
        assert [message.status for message in messages] == ["sent", "sent"]


@pytest.mark.parametrize("ending", ["cancelled", "refused"])
def test_opening_an_open_chat_reads_what_a_script_has_left_unread(ending, fake):
    message = fake.send_text(to=ANNA)
    anna = fake.recipient(ANNA, chat_open=True)
    script = message.after(60).deliver()
    (script.after(0).fail() if ending == "refused" else script).after(60).read()
    with nullcontext() if ending == "cancelled" else pytest.raises(IllegalTransition):
        fake.clock.advance(60)
    message.cancel()
    anna.opens_chat()

    assert message.status == "read"


@pytest.mark.parametrize("verb", ["comes_online", "unblocks"])
def test_who_could_be_reached_all_along_gets_what_a_script_has_left(verb, fake):
    message = fake.send_text(to=ANNA)
    message.after(60).deliver()
    message.cancel()
    getattr(fake.recipient(ANNA), verb)()

    assert message.status == "delivered"


@pytest.mark.parametrize("flag", [{"online": True}, {"blocked": False}])
def test_a_description_that_changes_nothing_does_nothing(flag, fake):
    message = fake.send_text(to=ANNA)
    fake.recipient(ANNA, **flag)

    assert message.status == "sent"
