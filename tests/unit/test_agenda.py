"""What is due when, and why: `clock.agenda`, `advance_to_next()`, `run_until()`."""

import asyncio
from datetime import timedelta

import pytest

from pytest_chatfake import ChatFakeError, ClockError, NotAwaited

from .fakes import START, at, frozen_fake


def due(entry):
    """An entry's kind and its moment, in minutes since the start."""
    return entry.kind, (entry.at.timestamp() - START) / 60


def sentence(entry):
    """An entry's sentence without its moment and its line."""
    return str(entry).partition(": ")[2].partition(" at test_")[0]


def refuse(_):
    return 500


def test_the_agenda_lists_every_kind_in_due_order():
    with frozen_fake(retry_after=[600]) as fake:
        fake.webhooks.connect(handler=refuse)
        retried = fake.send_text(to="+1").deliver()  # a retry of each of its two attempts
        fake.webhooks.connect(handler=refuse, events=["other"])
        with fake.webhooks.delay(60):
            fake.webhooks.emit_event("other")
        fake.send_text(to="+3").after(minutes=5).deliver()

        agenda = fake.clock.agenda
        first, second = (f"m{n} (message {one.id})" for n, one in enumerate(fake.messages, 1))
        assert [(*due(entry), sentence(entry)) for entry in agenda] == [
            ("attempt", 1, "attempt 1 of other, caused"),
            ("step", 5, f"deliver() of {second[4:-1]}, scheduled"),
            ("retry", 10, f"attempt 2 of sent {first}, caused"),
            ("retry", 10, f"attempt 2 of delivered {first}, caused"),
            ("retry", 10, f"attempt 2 of sent {second}, caused"),
            ("expiry", 24 * 60, f"conversation {retried.conversation.id} expires, started"),
            ("drop", 30 * 24 * 60, f"drop of {second[4:-1]} if it is still sent, sent"),
        ]
        assert [agenda[0].message, agenda[2].message, agenda[5].message] == [None, retried, retried]
        fake.clock.advance(days=40)
        assert fake.clock.agenda == []
        _ = fake.webhooks.attempts


def test_an_entry_reads_as_a_sentence_and_names_its_line(fake):
    message = fake.send_text().after(minutes=5).deliver()
    step, drop = fake.clock.agenda

    assert step.at == at(minutes=5)
    assert (
        f"2026-01-01T12:05:00.000Z: deliver() of message {message.id}, scheduled at "
        f"test_agenda.py:{step.line.number}"
    ) == str(step)
    assert (
        f"2026-01-31T12:00:00.000Z: drop of message {message.id} if it is still sent, "
        f"sent at test_agenda.py:{drop.line.number}"
    ) == str(drop)
    assert f"<step: {step}>" == repr(step)


@pytest.mark.parametrize("when", ["before", "during"])
def test_no_retry_is_due_at_an_endpoint_that_is_disconnected(when):
    def gone(request):
        if when == "during":
            request.endpoint.disconnect()
        return 500

    with frozen_fake(retry_after=[600]) as fake:
        endpoint = fake.webhooks.connect(handler=gone)
        fake.send_text()
        if when == "before":
            endpoint.disconnect()

        (entry,) = fake.clock.agenda
        assert (entry.kind, entry.at) == ("drop", fake.clock.next_due)
        _ = fake.webhooks.attempts


def test_a_delayed_attempt_stays_due_at_the_endpoints_that_are_left(fake):
    first, _ = fake.webhooks.receiver(), fake.webhooks.receiver()
    with fake.webhooks.delay(60, times=2):
        fake.send_text()
    first.endpoint.disconnect()

    assert [entry.kind for entry in fake.clock.agenda] == ["attempt", "drop"]


def test_a_session_is_listed_once_it_has_started_and_until_it_is_over(fake):
    message = fake.send_text()
    assert [entry.kind for entry in fake.clock.agenda] == ["drop"]
    message.deliver()
    fake.send_text().deliver()
    (session,) = fake.clock.agenda
    assert due(session) == ("expiry", 24 * 60)
    assert session.line == message.events[-1].line
    assert fake.clock.next_due is None

    fake.clock.advance(days=1)
    assert fake.clock.agenda == []


def test_advance_to_next_goes_to_what_is_due_and_past_the_end_of_a_session(play):
    async def scenario(fake, do):
        message = await do(fake.send_text().after(60).deliver().deliver().after(60).read())
        dropped = await do(fake.send_text(to="+2"))
        seen = []
        for _ in range(3):
            await do(fake.clock.advance_to_next())
            seen.append((fake.clock.now, message.status, len(message.events), dropped.dropped))

        assert seen == [
            (at(minutes=1), "delivered", 3, False),
            (at(minutes=2), "read", 4, False),
            (at(days=30), "read", 4, True),
        ]
        with pytest.raises(ClockError, match="nothing is due, so time stays at 2026-01-31"):
            await do(fake.clock.advance_to_next())

    play(scenario)


def test_run_until_looks_after_each_due_moment_and_stands_where_it_is_so(fake):
    fake.send_text().after(60).deliver().after(60).read().after(60).cancel()
    message = fake.send_text(to="+2").after(90).deliver().after(60).read()
    for predicate, limit, moment in (
        (lambda: message.status == "delivered", 3600, 90),
        (lambda: True, 0, 90),
        (lambda: fake.clock.now >= at(hours=2), timedelta(seconds=7110), 7200),
    ):
        fake.clock.run_until(predicate, limit=limit)
        assert fake.clock.now == at(seconds=moment)
    assert message.status == "read"


def test_the_predicate_may_look_and_do_nothing(fake):
    with pytest.raises(ChatFakeError, match=r"send_text\(\) from the predicate"):
        fake.clock.run_until(fake.send_text, limit=60)

    assert list(fake.messages) == []


def test_a_predicate_that_returns_what_is_to_be_awaited_is_refused(fake):
    with pytest.raises(TypeError, match="got one that returns a coroutine"):
        fake.clock.run_until(lambda: asyncio.sleep(0), limit=1)


@pytest.mark.asyncio
async def test_the_async_agenda_wants_pending_steps_awaited_and_moves_are_steps(fake):
    message = fake.send_text().after(60).deliver()
    for reading in ("agenda", "next_due"):
        with pytest.raises(NotAwaited, match="missing await"):
            getattr(fake.clock, reading)
    until = fake.clock.run_until(lambda: message.status == "delivered", limit=3600)
    last = fake.send_text(to="+2")
    await until

    assert [message.status, last.status] == ["delivered", "sent"]
    assert fake.clock.now == at(minutes=1)
