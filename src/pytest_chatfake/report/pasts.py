"""What came before something that is to be looked at, and what its event told of money."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

from ..webhooks.attempts import Attempt
from ..webhooks.events import Event
from ..wire.exact_json import number
from .happenings import Happening
from .labels import Labels

#: What the price in an event is, by its status (§2.3).
_PRICES: Final = {"sent": "an estimate", "delivered": "final", "read": "final"}


class Past:
    """What has happened, as far as one of its happenings is concerned.

    Args:
        labels: The short names.
        found: What happened.
    """

    def __init__(self, labels: Labels, found: Sequence[Happening]) -> None:
        self._labels = labels
        self._found = found

    def before(self, one: Happening) -> str:
        """Say what the endpoint of an attempt had taken before: the event, or a later one."""
        attempt = one.record
        if not isinstance(attempt, Attempt) or attempt.fault == "drop":
            return ""
        latest = ""
        for number_, other in self._taken(one, attempt):
            if other.event == attempt.event:
                return f", which it took before ({number_})"
            if other.event._index > attempt.event._index:
                latest = f", after {self._labels.event(other.event)} ({number_})"
        return latest

    def _taken(self, one: Happening, attempt: Attempt) -> Iterator[tuple[int, Attempt]]:
        for other in self._found:
            if other.number >= one.number:
                return
            made = other.record
            if not isinstance(made, Attempt) or other.state is not one.state or not made.ok:
                continue
            if made.endpoint is attempt.endpoint:
                yield other.number, made

    def last(self) -> Iterator[Happening]:
        """Give the last charge, and the last event with the one that told its estimate."""
        charges = [one for one in self._found if one.kind == "charge"]
        events = [one for one in self._found if one.kind == "event"]
        yield from charges[-1:]
        if events and _status(events[-1]) in {"delivered", "read"}:
            yield from [
                one for one in events if one.state is events[-1].state and _status(one) == "sent"
            ][:1]
        yield from events[-1:]

    def price(self, one: Happening) -> str:
        """Say what an event told of money; empty if it is none, or told nothing."""
        if not isinstance(one.record, Event) or _status(one) not in _PRICES:
            return ""
        with suppress(ValueError):  # the test may have emitted anything
            body: Any = one.record.json()
            for resource in body.values() if isinstance(body, dict) else ():
                price: Any = resource.get("totalPrice") if isinstance(resource, dict) else None
                if isinstance(price, (int, Decimal)):
                    amount = number(Decimal(price))
                    return f", totalPrice {amount}, {_PRICES[_status(one)]} (§2.3)"
        return ""


def _status(one: Happening) -> str:
    return (one.record.status or "") if isinstance(one.record, Event) else ""
