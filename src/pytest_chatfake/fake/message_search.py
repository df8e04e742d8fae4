"""``fake.find_message()``: finds the only matching message, without reading all messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final, cast

from ..base.arguments import cited
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..webhooks.events import Event
from .handles import Message

#: How many messages a failed search lists.
_MAX_LISTED: Final = 5

_MISSING: Final = object()

#: Values of these types are looked up in an index; others, such as ``mock.ANY``, are compared.
_INDEXED: Final = frozenset({str, int, bool, Decimal, type(None)})


class MessageSearch:
    """Finds messages by recipient, text, and fields of their newest events, up to a reset."""

    def __init__(self, engine: Engine, message_key: str) -> None:
        self._engine = engine
        self._message_key = message_key
        self._read = 0
        self._shown: dict[MessageState, Mapping[str, object]] = {}
        # Messages with this value in any of their events; the newest may have another value.
        self._by_field = defaultdict[tuple[str, object], set[MessageState]](set)

    def find(self, to: str | None, body: str | None, fields: Mapping[str, object]) -> Message:
        """Return the only matching message; a LookupError lists the closest."""
        given: dict[str, object] = {"to": to, "body": body}
        wanted = {name: value for name, value in given.items() if value is not None} | {**fields}
        engine = self._engine
        with engine.core.lock:
            if fields:
                self._read_events()
            candidates = self._candidates(to, body, fields)
            fitting = [state for state in candidates if not self._difference(state, wanted)]
            if len(fitting) == 1:
                return Message(engine, fitting[0])
            states = sorted(fitting, key=attrgetter("number")) or engine.account.messages
            found = [(Message(engine, one), self._difference(one, wanted)) for one in states]
        raise LookupError(_failure(wanted, len(fitting), found))

    def _candidates(
        self, to: str | None, body: str | None, fields: Mapping[str, object]
    ) -> Collection[MessageState]:
        # The smallest set that certainly contains every match.
        account = self._engine.account
        found: list[Collection[MessageState]] = [account.messages]
        found += [self._by_field[one] for one in fields.items() if type(one[1]) in _INDEXED]
        if to is not None:
            found.append(account.people.messages_to(to))
        if body is not None:
            found.append(account.messages_with(body))
        return min(found, key=len)

    def _difference(self, message: MessageState, wanted: Mapping[str, object]) -> dict[str, object]:
        shown = self._shown.get(message, {})
        own = {"to": message.recipient, "body": message.body}
        values = {name: own.get(name, shown.get(name, _MISSING)) for name in wanted}
        return {name: value for name, value in values.items() if value != wanted[name]}

    def _read_events(self) -> None:
        events = self._engine.outbox.events
        for event in events[self._read :]:
            if (message := event._message) is not None:
                self._shown[message] = self._resource_of(event)
                for field in self._shown[message].items():
                    if type(field[1]) in _INDEXED:
                        self._by_field[field].add(message)
        self._read = len(events)

    def _resource_of(self, event: Event) -> Mapping[str, object]:
        # A synthetic event's body may be anything.
        try:
            resource: Any = event.json()[self._message_key]
        except (ValueError, TypeError, LookupError, RecursionError):
            return {}
        return cast("dict[str, object]", resource) if isinstance(resource, dict) else {}


def _failure(
    wanted: Mapping[str, object], fitting: int, found: list[tuple[Message, dict[str, object]]]
) -> str:
    texts = (f"{name}={cited(value)}" for name, value in wanted.items())
    asked = ", ".join(texts) or "no criteria"
    if fitting:
        lines = [f"expected one message ({asked}), got {fitting}:"]
        lines += [f"  {message!r}" for message, _ in found[:_MAX_LISTED]]
    elif found:
        lines = [f"no message matches ({asked}). The closest:"]
        for message, different in sorted(found, key=lambda pair: len(pair[1]))[:_MAX_LISTED]:
            values = (
                f"no {name}" if value is _MISSING else f"{name}={cited(value)}"
                for name, value in different.items()
            )
            lines.append(f"  {message!r} has {', '.join(values)}")
    else:
        lines = [f"no message matches ({asked}): none was sent"]
    return "\n".join(lines)
