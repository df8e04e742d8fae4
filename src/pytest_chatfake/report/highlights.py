"""What to look at first when a test fails: only what the fake has seen, and nothing guessed."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Final, cast

from ..base import tracebacks
from ..base.controls import one_line
from ..base.errors import ChatFakeError
from ..base.triggers import Trigger
from ..engine.engine import Engine
from ..http_api.account import AccountApi
from ..webhooks.attempts import Attempt
from ..webhooks.events import Event
from ..webhooks.in_flight import InFlight
from ..wire.exact_json import number
from .entries import Entry
from .hints import why_queued, why_unused
from .labels import Labels
from .pending import pending_lines
from .timeline_text import marks_of, text_of
from .trace import Trace

#: How many lines of a kind are shown, and how many characters of what happened.
_MOST: Final = 5
_SHORT: Final = 120

#: What the price in an event is, by its status (§2.3).
_PRICES: Final = {"sent": "an estimate", "delivered": "final", "read": "final"}


class Highlights:
    """What to look at in one fake's timeline.

    Args:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.
        labels: The short names.
        trace: What happened.
        start: The first entry that is news.
    """

    def __init__(
        self, engine: Engine, api: AccountApi, labels: Labels, trace: Trace, start: int
    ) -> None:
        self._engine = engine
        self._api = api
        self._labels = labels
        self._trace = trace
        self._start = start

    def lines(self) -> list[str]:
        """Return a line for each thing to look at; what happened last, if there is nothing."""
        engine, odd = self._engine, self._trace.odd(self._start)
        lines = [engine.plan.remainder()] if engine.plan else []
        lines += map(_error, engine.errors)
        lines += self._some([one for one in odd if one.failed])
        lines += self._unseen()
        lines += self._some([one for one in odd if not one.failed and not one.is_unused])
        lines += [] if lines else self._last()
        events = self._trace.last("event", self._start)
        if events is not None and not engine.outbox.endpoints.ever:
            lines.append("no endpoint was connected: nothing was attempted")
        lines += pending_lines(engine, self._labels)
        return [one_line(self._labels.clean(line)) for line in lines]

    def _some(self, odd: Sequence[Entry]) -> list[str]:
        """Write the first of them: an event whose attempt has its marks says nothing more."""
        shown = {
            (one.record.event, *one.marks)
            for one in odd
            if isinstance(one.record, (Attempt, InFlight))
        }
        odd = [one for one in odd if (one.record, *one.marks) not in shown]
        more = [f"... and {len(odd) - _MOST} more of these"] if len(odd) > _MOST else []
        return [*(self._line(one) + self._taken_before(one) for one in odd[:_MOST]), *more]

    def _line(self, entry: Entry) -> str:
        text = text_of(entry, self._labels, hinted=entry.failed)
        if len(text) > _SHORT:
            text = f"{text[:_SHORT].rstrip()} ..."
        line = "" if entry.line is None else f" at {entry.line}"
        marks = marks_of(entry, self._labels)
        return " ".join([f"{entry.number} {entry.kind}: {text}{line}", *marks])

    # What came before an attempt that is to be looked at

    def _taken_before(self, entry: Entry) -> str:
        """Say what the endpoint of an attempt had taken before: the event, or a later one."""
        attempt = entry.record
        if not isinstance(attempt, Attempt) or attempt.fault == "drop" or entry.state is None:
            return ""
        latest = ""
        for other in self._trace.of(entry.state):
            made = other.record
            if other.number >= entry.number:
                break
            if isinstance(made, Attempt) and made.ok and made.endpoint is attempt.endpoint:
                if made.event == attempt.event:
                    return f", which it took before ({other.number})"
                if made.event._index > attempt.event._index:
                    latest = f", after {self._labels.event(made.event)} ({other.number})"
        return latest

    # Where nothing is odd

    def _last(self) -> Iterator[str]:
        """Give the last charge, and the last event with the one that told its estimate."""
        charge, event = (self._trace.last(kind, self._start) for kind in ("charge", "event"))
        if charge is not None:
            yield self._line(charge)
        if event is None:
            return
        if event.state is not None and _status(event) in {"delivered", "read"}:
            told = (one for one in self._trace.of(event.state) if _status(one) == "sent")
            yield from (self._line(one) + _price(one) for one in list(told)[:1])
        yield self._line(event) + _price(event)

    def _unseen(self) -> Iterator[str]:
        """Say what never came about: events that are queued, faults that did not fire."""
        outbox = self._engine.outbox
        queued = [one.event for one in outbox.queue if any(e.connected for e in one.endpoints)]
        if queued and self._engine.drain.thread is None:
            more = f" and {len(queued) - 1} more" if len(queued) > 1 else ""
            why = why_queued(self._engine.blocked)
            yield f"still queued: {queued[0]._subject}{more}{why}"
        for event in outbox.unheard[:_MOST]:
            yield f"no endpoint listens for {event.type}, caused at {event.line}"
        unused: list[Trigger] = [
            one for one in (*outbox.faults.ever, *self._api._faults.ever) if not one.fired
        ]
        for fault in unused[:_MOST]:
            yield f"unused fault: {fault.description}, set up at {fault.line}{why_unused(fault)}"


def _error(error: BaseException) -> str:
    what = "a step of a script failed:" if isinstance(error, ChatFakeError) else "a route raised"
    frames = traceback.extract_tb(tracebacks.from_outside(error).__traceback__)
    place = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return f"{what} {type(error).__name__}: {tracebacks.text_of(error)}{place}"


def _price(entry: Entry) -> str:
    """Say what an event told of money; empty if it is none, or told nothing."""
    status = _status(entry)
    if not isinstance(entry.record, Event) or entry.state is None or status not in _PRICES:
        return ""
    body: object = None
    with suppress(ValueError):  # it may have been emitted so
        body = entry.record.json()
    for resource in _object(body).values():
        price = _object(resource).get("totalPrice")
        if isinstance(price, (int, Decimal)):
            return f", totalPrice {number(Decimal(price))}, {_PRICES[status]} (§2.3)"
    return ""


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _status(entry: Entry) -> str:
    return (entry.record.status or "") if isinstance(entry.record, Event) else ""
