"""What came before something that is to be looked at, and what its event told of money."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Final, cast

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
        if events and events[-1].state and _status(events[-1]) in {"delivered", "read"}:
            yield from [
                one for one in events if one.state is events[-1].state and _status(one) == "sent"
            ][:1]
        yield from events[-1:]

    def price(self, one: Happening) -> str:
        """Say what an event told of money; empty if it is none, or told nothing."""
        if one.state is None or not isinstance(one.record, Event) or _status(one) not in _PRICES:
            return ""
        price = _total_price(one.record)
        return "" if price is None else f", totalPrice {price}, {_PRICES[_status(one)]} (§2.3)"


def _total_price(event: Event) -> str | None:
    """Return the price that an event told; None if it told none: it may have been emitted so."""
    body: object = None
    with suppress(ValueError):
        body = event.json()
    for resource in _object(body).values():
        price = _object(resource).get("totalPrice")
        if isinstance(price, (int, Decimal)):
            return number(Decimal(price))
    return None


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _status(one: Happening) -> str:
    return (one.record.status or "") if isinstance(one.record, Event) else ""
