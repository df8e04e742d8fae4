"""Edges: the moments around the end of a session or a drop, to parametrise tests with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, TypeAlias, get_args

from ..base.arguments import check_choice, unexpected
from ..base.errors import ClockError
from ..domain.instants import to_nanoseconds
from ..domain.messages import MessageState

EdgeKind: TypeAlias = Literal["session", "drop"]

_KINDS: Final[tuple[str, ...]] = get_args(EdgeKind)

_MILLISECOND: Final = timedelta(milliseconds=1)

_SIDES: Final = {-_MILLISECOND: "1ms-before", timedelta(0): "at", _MILLISECOND: "1ms-after"}


@dataclass(frozen=True, slots=True)
class Edge:
    """The moment when a session ends or a message is dropped, or 1 ms before or after it.

    You choose the message when you use the edge: ``clock.advance_to(edge, message)``.

    Attributes:
        kind: ``"session"`` for the end of the message's conversation (§8), or ``"drop"`` for the
            moment when an undelivered message is dropped (§3 rule 5).
        offset: Minus one, zero or plus one millisecond.

    Raises:
        TypeError: The kind is not a string, or the offset is not a ``timedelta``.
        ValueError: The kind or the offset is unknown.
    """

    kind: EdgeKind
    offset: timedelta

    def __post_init__(self) -> None:
        check_choice(self.kind, "edge", _KINDS)
        offset: object = self.offset
        if not isinstance(offset, timedelta):
            raise TypeError(unexpected("offset", "a timedelta", offset))
        if offset not in _SIDES:
            raise ValueError(
                unexpected("offset", "timedelta(0), or plus or minus a millisecond", offset)
            )

    @property
    def __name__(self) -> str:
        # pytest puts it into the test's id.
        return f"{self.kind}-{_SIDES[self.offset]}"

    def __str__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        kind, _, side = self.__name__.partition("-")
        return f"<Edge {kind}, {side.replace('ms-', ' ms ')}>"

    @property
    def over(self) -> bool:
        """Whether the session has ended, or the message has been dropped, at this moment."""
        return self.offset >= timedelta(0)


def edges(*kinds: EdgeKind) -> list[Edge]:
    """Return moments just before, at and just after a session's end or a message's drop.

    Use them to parametrize a test.

    Example::

        @pytest.mark.parametrize("edge", edges("session"))
        def test_the_second_message(chat_fake, chat_clock, edge):
            first = chat_fake.send_text().deliver()
            chat_clock.advance_to(edge, first)
            chat_fake.send_text().deliver()
            chat_fake.assert_charged("0.10" if edge.over else "0.05")

    Args:
        *kinds: ``"session"``, ``"drop"``, or both.

    Raises:
        TypeError: No kind is given, or one is not a string.
        ValueError: A kind is unknown.
    """
    if not kinds:
        raise TypeError("edges() takes 'session', 'drop', or both")
    for kind in kinds:
        check_choice(kind, "edge", _KINDS)
    return [Edge(kind, offset) for kind in kinds for offset in _SIDES]


def moment_of(edge: Edge, message: MessageState, drop_after: int) -> int:
    """Return an edge's moment for a message, in nanoseconds; a ClockError if it never comes."""
    offset = to_nanoseconds(edge.offset)
    if edge.kind == "drop":
        if message.state != "sent" or message.sent_at is None:
            raise ClockError(
                f"{edge} can't be reached: message {message.id} is {message.state}, and only "
                f"messages that are still sent are dropped"
            )
        return message.sent_at + drop_after + offset
    conversation = message.conversation
    if conversation is None or conversation.expires_at is None:
        raise ClockError(
            f"{edge} can't be reached: the session of message {message.id} has not started. It "
            f"starts when the first message of its conversation is delivered."
        )
    return conversation.expires_at + offset
