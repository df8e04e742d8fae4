"""Faults: what goes wrong on the way to an endpoint because the test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, TypeAlias

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.triggers import Trigger
from ..domain.instants import SECOND
from ..domain.messages import MessageState
from .dispatch import Dispatch
from .endpoints import Endpoint, Signer
from .events import Event

FaultKind: TypeAlias = Literal["duplicate", "drop", "delay", "tamper", "sign"]


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
        delay: int = 0,
        change: Callable[[bytes], bytes] | None = None,
        signer: Signer | None = None,
    ) -> None:
        super().__init__(times, start, line)
        self.kind: FaultKind = kind
        self._delay = delay
        self._change = change
        self._signer = signer
        self._message = message
        self._status = status
        self._endpoint = endpoint
        self._hit: list[int] = []  # the places of the events that it concerned
        self._type = type

    def __repr__(self) -> str:
        return f"<Fault {self.description}, fired {self.fired} times>"

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        limits = {
            "message": self._message and (self._message.id or "a message"),
            "status": self._status,
            "type": self._type,
            "endpoint": self._endpoint and self._endpoint.name,
            "start": self._start if self._start != 1 else None,
        }
        arguments = [f"{name}={value!r}" for name, value in limits.items() if value is not None]
        return f"{self.kind}({', '.join(arguments)})"

    @property
    def mark(self) -> Mark:
        """What it does to an event, and the line that set it up."""
        text = f"delayed {self._delay / SECOND:g} s" if self._delay else _MARKS[self.kind]
        return Mark(text, self.line)

    def _fires(self, event: Event, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
        """Count an event if it matches; return the endpoints for which it goes wrong."""
        concerned = tuple(one for one in endpoints if self._endpoint in (None, one))
        if (
            not concerned
            or self._type not in (None, event.type)
            or self._status not in (None, event.status)
            or (self._message is not None and self._message.id != event.message_id)
        ):
            return ()
        if not self._should_fire():
            return ()
        self._fire()
        self._hit.append(event._index)
        return concerned

    def _apply(self, dispatch: Dispatch, concerned: tuple[Endpoint, ...]) -> Iterator[Dispatch]:
        """Give what becomes of a dispatch: the part that goes on as it was, and the other."""
        if dispatch.overrides.dropped:
            yield dispatch
            return
        rest = tuple(one for one in dispatch.endpoints if one not in concerned)
        if rest:
            yield dispatch.part(rest)
        hit = tuple(one for one in dispatch.endpoints if one in concerned)
        if not hit:
            return
        shaped = dispatch.part(hit)
        if self.kind == "duplicate":
            yield shaped
            shaped = dispatch.part(hit)
        overrides = shaped.overrides
        shaped.overrides = overrides._replace(
            fault=self.kind,
            delay=overrides.delay + self._delay,
            change=self._change or overrides.change,
            signer=self._signer or overrides.signer,
            marks=(*overrides.marks, self.mark),
        )
        yield shaped


_MARKS: Final = {
    "duplicate": "duplicate",
    "drop": "lost",
    "tamper": "tampered",
    "sign": "wrong signature",
}


def tampered(change: Callable[[bytes], bytes], body: bytes) -> bytes:
    """Return what a function makes of a body.

    Raises:
        TypeError: It returns no bytes.
    """
    result: object = change(body)
    if not isinstance(result, bytes):
        raise TypeError(
            f"tamper(): the function must return bytes, such as body[:-1], not {result!r:.200}"
        )
    return result


def shaped(dispatch: Dispatch, faults: Iterable[Fault]) -> list[Dispatch]:
    """Send a dispatch past the faults, in the order in which they were set up."""
    parts = [dispatch]
    for fault in faults:
        if concerned := fault._fires(dispatch.event, dispatch.endpoints):
            parts = [after for part in parts for after in fault._apply(part, concerned)]
    return parts
