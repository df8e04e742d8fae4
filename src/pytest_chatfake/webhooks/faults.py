"""Faults of webhooks: what goes wrong on the way to an endpoint because a test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..base.arguments import unexpected
from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.triggers import Trigger
from ..domain.messages import MessageState
from .dispatch import Content, Dispatch, Overrides
from .endpoints import Endpoint
from .events import Event
from .fault_kinds import FaultKind, effect_of
from .synthetic import evolved


class Fault(Trigger):
    """A fault of matching events, as ``webhooks.duplicate()`` and others return it.

    It concerns only an event's first attempt, never a retry or what ``redeliver()`` sends again.

    Attributes:
        kind: The name of the method that set it up.
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
        self._of_message = message
        self._status = status
        self._endpoint = endpoint
        self._type = type
        self._more = ""  # of its mark

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        limits = {
            "message": self._of_message and (self._of_message.id or "a message"),
            "status": self._status,
            "type": self._type,
            "endpoint": self._endpoint and self._endpoint._shown,
            "start": self._start if self._start != 1 else None,
        }
        arguments = [f"{name}={value!r}" for name, value in limits.items() if value is not None]
        if self._times != (None if self.kind == "evolve" else 1):
            arguments.append(f"times={self._times}")
        return f"{self.kind}({', '.join([*self._own_arguments(), *arguments])})"

    def _own_arguments(self) -> Iterator[str]:
        """Write the arguments that are those of its kind alone."""
        for function in filter(None, (self._effect.change, self._effect.signer)):
            yield getattr(function, "__name__", None) or repr(function)

    @property
    def _mark(self) -> Mark:
        """The mark of the events that it changes."""
        return Mark(self.kind, effect_of(self.kind).mark + self._more, self.line)

    def _fires(self, event: Event, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
        """Count an event if it matches; return the endpoints for which the fault fires."""
        concerned = self._concerned(event, endpoints)
        if not (concerned and self._should_fire()):
            return ()
        self._fire()
        return concerned

    def _concerned(self, event: Event, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
        """Return the endpoints at which an event matches."""
        matches = (
            self._type in (None, event.type)
            and self._status in (None, event.status)
            and self._of_message in (None, event._message)
        )
        return tuple(one for one in endpoints if matches and self._endpoint in (None, one))

    def _apply(self, dispatch: Dispatch, concerned: tuple[Endpoint, ...]) -> Iterator[Dispatch]:
        """Yield the unchanged part of a dispatch, and the changed one."""
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
            change=effect.change or before.change,
            signer=effect.signer or before.signer,
            marks=(*before.marks, self._mark),
        )
        changed = replace(dispatch, endpoints=hit, overrides=overrides)
        if self.kind == "evolve":
            body, id_ = dispatch.posted
            changed.content = Content(evolved(body), id_)
        yield changed


def tampered(change: Callable[[bytes], bytes], body: bytes) -> bytes:
    """Return a body as a function of the test changes it."""
    result: object = change(body)
    if not isinstance(result, bytes):
        raise TypeError(
            unexpected("what the function of tamper() returned", "bytes such as body[:-1]", result)
        )
    return result


def shaped(dispatch: Dispatch, faults: Iterable[Fault]) -> list[Dispatch]:
    """Apply faults to a dispatch, in the order in which they were set up."""
    parts = [dispatch]
    for fault in faults:
        if concerned := fault._fires(dispatch.event, dispatch.endpoints):
            parts = [after for part in parts for after in fault._apply(part, concerned)]
    return parts
