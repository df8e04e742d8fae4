"""The message that an app has sent: a method of the fake, written as a function of it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

from ..base.arguments import cited
from ..engine.engine import Engine
from .config import ChatFakeConfig
from .messages import Message
from .recipients import Recipient, address_of

#: How many messages a failed search lists.
_MAX_LISTED = 5

_MISSING = object()


class Searched(Protocol):
    """The fake whose messages are searched."""

    config: ChatFakeConfig
    _engine: Engine


def find_message(
    fake: Searched, to: str | Recipient | None = None, body: str | None = None, **fields: object
) -> Message:
    """Return the one message that fits: the one that the app has sent, for example.

    Args:
        to: The recipient, or the address.
        body: The text.
        **fields: Fields of the message resource of its newest event, such as
            ``externalId="order-17"``.

    Raises:
        LookupError: None fits, or more than one does; the nearest are listed.
        NotAwaited: Async mode: steps are pending.
    """
    engine = fake._engine
    engine.ensure_readable()
    address = None if to is None else address_of(to, engine)
    given: dict[str, object] = {"to": address, "body": body}
    wanted = {name: value for name, value in given.items() if value is not None} | fields
    key = fake.config.naming.message_key
    candidates: list[tuple[int, Message, dict[str, object]]] = []
    for state in engine.account.messages:
        events = engine.outbox.events_of(state.number)
        shown: dict[str, Any] = {}
        if fields and events:
            with suppress(ValueError, TypeError, KeyError):  # a synthetic one may be anything
                shown = events[-1].json()[key]
        found: dict[str, object] = {"to": state.recipient, "body": state.body}
        found |= {name: shown.get(name, _MISSING) for name in fields}
        different = {n: found[n] for n, value in wanted.items() if found[n] != value}
        candidates.append((len(different), Message(engine, state), different))
    fitting = [message for count, message, _ in candidates if not count]
    if len(fitting) == 1:
        return fitting[0]
    texts = (f"{name}={cited(value)}" for name, value in wanted.items())
    asked = ", ".join(texts) or "nothing asked for"
    if fitting:
        listed = "\n".join(f"  {message!r} to {message.to}" for message in fitting[:_MAX_LISTED])
        raise LookupError(f"{len(fitting)} messages fit ({asked}), and one was expected:\n{listed}")
    if not candidates:
        raise LookupError(f"no message fits ({asked}): none was sent")
    nearest = sorted(candidates, key=lambda one: one[0])[:_MAX_LISTED]
    lines = [f"  {message!r} {_differences(different)}" for _, message, different in nearest]
    raise LookupError("\n".join([f"no message fits ({asked}). The nearest:", *lines]))


def _differences(different: dict[str, object]) -> str:
    return "has " + ", ".join(
        f"no {name}" if value is _MISSING else f"{name}={cited(value)}"
        for name, value in different.items()
    )
