"""Sending: methods of the fake, written as functions of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..domain.facts import Verb
from ..engine.engine import Engine
from .config import Price
from .drafting import Drafting
from .messages import Conversation, Message, Submission
from .recipients import Recipient


class Sender(Protocol):
    """The fake that sends."""

    _engine: Engine
    _drafting: Drafting


def send_text(
    fake: Sender,
    body: str = "Hello",
    *,
    to: str | Recipient | None = None,
    conversation: Conversation | str | None = None,
    origin_type: str | None = None,
    price: Price | None = None,
    extra: Mapping[str, object] | None = None,
) -> Message:
    """Send a text message: it is accepted and sent; a ``sent`` event, and money is held (§3).

    Args:
        body: The text.
        to: An address, or a recipient; None: one and the same person.
        conversation: The conversation it belongs to, or a hex id for one; None: the pending
            or open one with that person and origin type, or a new one (assumed).
        origin_type: The origin type of a new conversation (§2.4).
        price: What starting a conversation with it costs, instead of the configuration's: an
            amount, or a function of the message.
        extra: More fields for the message resource of its events, as JSON knows them.

    Returns:
        The message. In async mode, ``await`` it or a chain of its verbs.

    Raises:
        TypeError: An argument is of the wrong kind.
        ValueError: An argument is out of range, empty, or of another fake; or the conversation
            has another origin type.
        IllegalTransition: The conversation's session is over.
        ClosedError: The conversation was begun before the fake was reset.
    """
    state, draft = fake._drafting.prepare_text(body, to, conversation, origin_type, price, extra)
    fake._engine.perform(Verb("accept", state, (draft,)), "send_text()")
    return Message(fake._engine, state)


def submit_text(
    fake: Sender,
    body: str = "Hello",
    *,
    to: str | Recipient | None = None,
    conversation: Conversation | str | None = None,
    origin_type: str | None = None,
    price: Price | None = None,
    extra: Mapping[str, object] | None = None,
) -> Submission:
    """Submit a text message, and decide afterwards: ``.accept()`` or ``.reject()`` it.

    Arguments and errors are those of :meth:`send_text`. Its conversation is found when it is
    accepted.
    """
    state, draft = fake._drafting.prepare_text(body, to, conversation, origin_type, price, extra)
    fake._engine.submitted(state)
    return Submission(fake._engine, state, draft)


def send(
    fake: Sender,
    type: str,  # noqa: A002 - as §2.3 names it
    content: Mapping[str, object],
    *,
    to: str | Recipient | None = None,
    conversation: Conversation | str | None = None,
    origin_type: str | None = None,
    price: Price | None = None,
    extra: Mapping[str, object] | None = None,
) -> Message:
    """Send a message of any type; §2.3 shows only ``text``, the rest is assumed.

    It costs, is held for, fails and is dropped as a text is. ``send("text", {"body": "Hello"})`` is
    ``send_text("Hello")``. Other arguments and errors are those of :meth:`send_text`.

    Args:
        type: The ``type`` of the message resource. It is no field that the resource has already.
        content: The object under a key of the same name, as JSON knows it.

    Raises:
        TypeError: The type is no text, or the content no mapping.
        ValueError: The type is empty, not plain, or a field of the message resource.
    """
    state, draft = fake._drafting.prepare(
        type, content, to, conversation, origin_type, price, extra
    )
    fake._engine.perform(Verb("accept", state, (draft,)), "send()")
    return Message(fake._engine, state)


def submit(
    fake: Sender,
    type: str,  # noqa: A002 - as §2.3 names it
    content: Mapping[str, object],
    *,
    to: str | Recipient | None = None,
    conversation: Conversation | str | None = None,
    origin_type: str | None = None,
    price: Price | None = None,
    extra: Mapping[str, object] | None = None,
) -> Submission:
    """Submit a message of any type, and decide afterwards; arguments are those of :meth:`send`."""
    state, draft = fake._drafting.prepare(
        type, content, to, conversation, origin_type, price, extra
    )
    fake._engine.submitted(state)
    return Submission(fake._engine, state, draft)
