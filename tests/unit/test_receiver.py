"""The receiver for tests without an app."""

from .fakes import fake_with_receiver


def statuses(fake):
    return [one.status_code for one in fake.webhooks.attempts]


def test_arranged_responses_follow_each_other(fake, receiver):
    receiver.respond(503, times=2)
    receiver.respond(404)
    fake.send_text().deliver(devices=4)

    assert statuses(fake) == [503, 503, 404, 200, 200]


def test_a_receiver_records_each_attempt_and_tells_messages_apart():
    with fake_with_receiver(retry_after=[1]) as (fake, receiver):
        receiver.respond(500)
        first, second = fake.send_text(), fake.send_text().deliver()
        fake.clock.advance(1)

        assert receiver.statuses(first) == ["sent", "sent"]
        assert receiver.statuses(second) == ["sent", "delivered"]
        assert [one.number for one in receiver.requests] == [1, 1, 1, 2]
        assert receiver.events[0] == receiver.events[3] == fake.events[0]


def test_a_receiver_s_lists_are_read_only(fake, receiver):
    before = receiver.requests
    fake.send_text()

    assert before == ()
    assert isinstance(receiver.events, tuple)


def test_an_endpoint_says_what_it_listens_for(fake):
    one, all_types = fake.webhooks.receiver().endpoint, fake.webhooks.receiver(events="*").endpoint
    found = [
        end.listens_for(type) for end in (one, all_types) for type in ("chat.message.updated", "x")
    ]
    assert found == [True, False, True, True]
