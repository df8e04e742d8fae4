"""What to look at first when a test fails: only what the fake has seen, and nothing guessed."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from typing import Final

from ..base.controls import one_line
from ..base.errors import ChatFakeError
from ..base.tracebacks import from_outside, text_of
from ..base.triggers import Trigger
from ..engine.engine import Engine
from ..http_api.account import AccountApi
from ..webhooks.attempts import Attempt
from ..webhooks.in_flight import InFlight
from .coming import still_to_come
from .happenings import Happening
from .hints import hint, why_idle, why_queued
from .labels import Labels
from .pasts import Past

#: How many lines of a kind are shown, and how many characters of what happened.
_MOST: Final = 5
_SHORT: Final = 120


def attention(
    engine: Engine, api: AccountApi, labels: Labels, found: Sequence[Happening]
) -> list[str]:
    """Return what to look at, a line for each thing; what happened last, if there is nothing.

    Args:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.
        labels: The short names.
        found: What happened.
    """
    lines = [engine.plan.remainder()] if engine.plan else []
    for error in engine.errors:
        step = isinstance(error, ChatFakeError)
        lines.append(
            f"{'a step of a script failed:' if step else 'a route raised'} {_error(error)}"
        )
    past = Past(labels, found)
    lines += _some([one for one in found if one.failed], past)
    lines += _unseen(engine, api)
    lines += _some([one for one in found if one.marks and not one.failed], past)
    if not lines and found:
        lines = [_line(one) + past.price(one) for one in past.last()]
    if not engine.outbox.endpoints.ever and any(one.kind == "event" for one in found):
        lines.append("no endpoint was connected: nothing was attempted")
    lines += still_to_come(engine, labels)
    return [one_line(labels.clean(line)) for line in lines]


def _some(odd: Sequence[Happening], past: Past) -> list[str]:
    """Write the first of them: an event whose attempt has its marks says nothing more."""
    shown = {
        (one.record.event, *one.marks) for one in odd if isinstance(one.record, (Attempt, InFlight))
    }
    odd = [one for one in odd if (one.record, *one.marks) not in shown]
    more = [f"... and {len(odd) - _MOST} more of these"] if len(odd) > _MOST else []
    return [*(_line(one) + past.before(one) for one in odd[:_MOST]), *more]


def _line(one: Happening) -> str:
    line = "" if one.line is None else f" at {one.line}"
    return " ".join([f"{one.number} {one.kind}: {_short(one)}{line}", *one.marks])


def _short(one: Happening) -> str:
    """Return what happened: less of an answer than the timeline has, and what it may mean."""
    text = one.text
    if one.failed and isinstance(one.record, Attempt) and (meaning := hint(one.record)):
        head, status, body = text.partition(f": {one.record.status_code}")
        text = f"{head}{status}{meaning}{body}"
    return text if len(text) <= _SHORT else f"{text[:_SHORT].rstrip()} ..."


def _unseen(engine: Engine, api: AccountApi) -> Iterator[str]:
    """Say what never came about: events that are queued, faults that did not fire."""
    outbox = engine.outbox
    queued = [one.event for one in outbox.queue if any(e.connected for e in one.endpoints)]
    if queued and engine.drain.thread is None:
        more = f" and {len(queued) - 1} more" if len(queued) > 1 else ""
        why = why_queued(engine.blocked)
        yield f"still queued, and not attempted: {queued[0]._subject}{more}{why}"
    for event in outbox.unheard[:_MOST]:
        yield f"no endpoint listens for {event.type}, caused at {event.line}"
    idle: list[Trigger] = [f for f in (*outbox.faults.ever, *api._faults.ever) if not f.fired]
    for fault in idle[:_MOST]:
        yield f"never fired: {fault.description}, set up at {fault.line}{why_idle(fault)}"


def _error(error: BaseException) -> str:
    place = ""
    frames = traceback.extract_tb(from_outside(error).__traceback__)
    if frames:
        place = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}"
    return f"{type(error).__name__}: {text_of(error)}{place}"
