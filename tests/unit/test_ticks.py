"""Events with a tick: what they say, and the clock that stands still."""

from datetime import datetime, timedelta

import pytest

from .fakes import fake_with_receiver, frozen_fake


def seconds(fake, *texts):
    """How many seconds after the clock some texts are."""
    return [(datetime.fromisoformat(text) - fake.clock.now).total_seconds() for text in texts]


def test_each_verb_is_later_and_each_of_its_events_says_the_same():
    with frozen_fake(tick=timedelta(seconds=2)) as fake:
        fake.send_text().deliver(devices=2).read()

        times = [event.json()["createTime"] for event in fake.events]
        assert seconds(fake, *times) == [0, 2, 2, 4]
        assert [event.create_time for event in fake.events] == [*map(datetime.fromisoformat, times)]
        read = fake.events[-1].json()["chatMessage"]
        assert seconds(fake, read["sendTime"], read["deliverTime"], read["readTime"]) == [0, 2, 4]


def test_a_message_is_made_no_earlier_than_events_before_its_submission():
    with frozen_fake(tick=1) as fake:
        fake.send_text().deliver()
        message = fake.submit_text().accept()
        resource = message.events[0].json()["chatMessage"]
        assert seconds(fake, resource["createTime"], resource["sendTime"]) == [2, 2]


def test_what_people_do_by_themselves_is_later_too():
    with frozen_fake(tick=1) as fake:
        fake.webhooks.connect(handler=lambda request: None, events="*")
        person = fake.recipient("+1", chat_open=True)
        fake.send_text(to="+1")
        person.writes("Hello")

        times = [event.json()["createTime"] for event in fake.events]
        assert seconds(fake, *times) == [0, 1, 2]
        assert times[-1] == fake.events[-1].json()["chatInboundMessage"]["sendTime"]


def test_a_verb_that_is_refused_uses_up_no_tick():
    with frozen_fake(tick=1) as fake:
        message = fake.send_text()
        with pytest.raises(ValueError, match="devices"):
            message.deliver(devices=0)
        fake.top_up(1)
        fake.webhooks.redeliver(fake.events[0])
        message.read()
        assert seconds(fake, fake.events[-1].json()["createTime"]) == [1]


def test_where_the_clock_has_gone_further_it_counts():
    with frozen_fake(tick=1) as fake:
        message = fake.send_text().deliver()
        fake.clock.advance(minutes=1)
        message.read()
        assert fake.clock.now == fake.events[-1].create_time
        fake.reset()
        fake.send_text()
        assert fake.clock.now == fake.events[0].create_time


def test_drops_sessions_and_signatures_go_by_the_clock():
    with fake_with_receiver(tick=3600) as (fake, receiver):
        fake.send_text().deliver()
        late = fake.send_text(to="+2")
        now = fake.clock.now.timestamp()
        assert {now} == {request.timestamp for request in receiver.requests}
        fake.clock.advance(hours=24)
        assert fake.send_text().held
        fake.clock.advance(days=29)
        assert late.dropped
