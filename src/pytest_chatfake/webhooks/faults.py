"""Faults: what goes wrong on the way to an endpoint because the test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..base.arguments import unexpected
from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.triggers import Trigger
from ..domain.instants import SECOND
from ..domain.messages import MessageState
from .dispatch import Dispatch, Overrides
from .endpoints import Endpoint
from .events import Event
from .fault_kinds import FaultKind, effect_of


class Fault(Trigger):
    """Something that goes wrong with the events that match it, as ``duplicate`` & co. return it.

    Only an event's first attempt is concerned, never a retry.

    Attributes:
        kind: What goes wrong.
    """

    def __init__(
        self,
        kind: FaultKind,
        *,
        times: int | None,
        start: int,
        message: MessageState | None,
        status: str | None,
        endpoint: Endpoint | None,
        type: str | None,  # noqa: A002 - as §2.2 names it
        line: Line,
        **effect: Any,
    ) -> None:
        super().__init__(times, start, line)
        self.kind: FaultKind = kind
        self._effect = Overrides(kind, **effect)
        self._message = message
        self._status = status
        self._endpoint = endpoint
        self._hit: list[int] = []  # the places of the events that it concerned
        self._type = type

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        limits = {
            "message": self._message and (self._message.id or "a message"),
            "status": self._status,
            "type": self._type,
            "endpoint": self._endpoint and self._endpoint._shown,
            "start": self._start if self._start != 1 else None,
        }
        arguments = [f"{name}={value!r}" for name, value in limits.items() if value is not None]
        return f"{self.kind}({', '.join(arguments)})"

    @property
    def _mark(self) -> Mark:
        """What it does to an event, and the line that set it up."""
        delay = f" {self._effect.delay / SECOND:g} s" if self._effect.delay else ""
        return Mark(self.kind, effect_of(self.kind).mark + delay, self.line)

    def _fires(self, event: Event, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
        """Count an event if it matches; return the endpoints for which it goes wrong."""
        concerned = self._concerned(event, endpoints)
        if not (concerned and self._should_fire()):
            return ()
        self._fire()
        self._hit.append(event._index)
        return concerned

    def _concerned(self, event: Event, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
        """Return the endpoints at which an event matches."""
        matches = (
            self._type in (None, event.type)
            and self._status in (None, event.status)
            and (self._message is None or self._message.id == event.message_id)
        )
        return tuple(one for one in endpoints if matches and self._endpoint in (None, one))

    def _apply(self, dispatch: Dispatch, concerned: tuple[Endpoint, ...]) -> Iterator[Dispatch]:
        """Give what becomes of a dispatch: the part that goes on as it was, and the other."""
        hit = tuple(one for one in dispatch.endpoints if one in concerned)
        if not hit:
            yield dispatch
            return
        if rest := tuple(one for one in dispatch.endpoints if one not in hit):
            yield replace(dispatch, endpoints=rest)
        if self.kind == "duplicate":
            yield replace(dispatch, endpoints=hit)
        before, effect = dispatch.overrides, self._effect
        overrides = Overrides(
            fault=self.kind,
            delay=before.delay + effect.delay,
            change=effect.change or before.change,
            signer=effect.signer or before.signer,
            marks=(*before.marks, self._mark),
        )
        yield replace(dispatch, endpoints=hit, overrides=overrides)


def tampered(change: Callable[[bytes], bytes], body: bytes) -> bytes:
    """Return what a function of the test's makes of a body; raise a TypeError if not bytes."""
    result: object = change(body)
    if not isinstance(result, bytes):
        raise TypeError(
            unexpected("what the function of tamper() returned", "bytes such as body[:-1]", result)
        )
    return result


def shaped(dispatch: Dispatch, faults: Iterable[Fault]) -> list[Dispatch]:
    """Send a dispatch past the faults, in the order in which they were set up."""
    parts = [dispatch]
    for fault in faults:
        if concerned := fault._fires(dispatch.event, dispatch.endpoints):
            parts = [after for part in parts for after in fault._apply(part, concerned)]
    return parts
