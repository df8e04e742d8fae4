"""Edges: a millisecond before, at and after the end of a session, and the drop."""

import pytest

from pytest_chatfake import ClockError, IllegalTransition, edges

from .fakes import at, unchanged


@pytest.mark.parametrize("edge", edges("session", "drop"))
def test_each_edge_stands_where_it_says(edge, play):
    async def scenario(fake, do):
        message = await do(fake.send_text())
        await do(fake.clock.advance(hours=1))
        end = at(days=30)
        if edge.kind == "session":
            await do(message.deliver())
            end = at(hours=25)
        await do(fake.clock.advance_to(edge, message))

        assert fake.clock.now == end + edge.offset
        is_over = message.dropped or message.conversation.state == "expired"
        assert is_over == edge.over

    play(scenario)


def test_an_edge_is_shown_by_its_name_and_equal_to_its_like():
    edge = edges("session")[0]
    assert str(edge) == "session-1ms-before"
    assert [*map(repr, edges("drop"))] == [
        "<Edge drop, 1 ms before>",
        "<Edge drop, at>",
        "<Edge drop, 1 ms after>",
    ]
    assert edge == edges("session")[0]
    assert edge != edges("session")[1]


@pytest.mark.parametrize(
    ("prepare", "number", "text"),
    [
        (lambda fake: fake.send_text(), 1, "the session of message .* has not started"),
        (lambda fake: fake.submit_text().reject(), 1, "the session of message .* has not started"),
        (lambda fake: fake.send_text().deliver(), 4, "is delivered, and only messages that are"),
        (lambda fake: fake.send_text().read(), 4, "is read, and only messages that are still sent"),
        (lambda fake: fake.send_text().fail(), 4, "is failed, and only messages that are still"),
    ],
)
def test_an_edge_that_is_not_there_is_refused_and_time_stays(prepare, number, text, fake):
    message = prepare(fake)
    with unchanged(fake), pytest.raises(ClockError, match=text):
        fake.clock.advance_to(edges("session", "drop")[number], message)


def test_an_edge_that_has_passed_is_refused(fake):
    message = fake.send_text().deliver()
    before, at, after = edges("session")
    fake.clock.advance_to(at, message)
    with pytest.raises(ClockError, match="time only goes forward"):
        fake.clock.advance_to(before, message)
    fake.clock.advance_to(after, message)
    with pytest.raises(IllegalTransition):
        fake.send_text(conversation=message.conversation)
