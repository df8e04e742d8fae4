"""The faults of webhooks: which attempts each one matches, and what it decides about them.

Each kind is a class, and :class:`Fault` is their base. Tests set them up with the methods of
:class:`.Webhooks`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Final

from ..base.arguments import (
    check_bool,
    check_choice,
    check_function,
    check_int,
    shown_arguments,
)
from ..base.calling_line import Line
from ..base.faults import BaseFault
from ..base.marks import Mark
from ..domain.instants import parse_delay, parse_length, seconds
from ..transport.client.responses import Response
from .attempts import Attempt
from .attending import Attend
from .decisions import AtCall, Call, Changed, Decision, Failed, Hold, Meaning, Pause, Turn, Twice
from .endpoints import Endpoint, Signer
from .signing import check_signer
from .synthetic import UNKNOWN, evolved, with_unknown

#: Why two attempts at an endpoint can't overlap.
ONE_AT_A_TIME: Final = (
    "a plain function handles one event at a time: connect your app as wsgi=, asgi= or by its URL"
)

_WANTED: Final = Meaning(wanted=True)
_WRONG: Final = Meaning(wrong=True)
_NOT_MADE: Final = Response(None)


class Fault(BaseFault, ABC):
    """A fault that affects matching events, as returned by ``webhooks.duplicate()`` and others.

    An event matches at most once for each endpoint, at its first attempt there. Retries, repeats
    and ``redeliver()`` don't count.
    """

    _shown_as, _set_up_on = "Fault", "webhooks"
    _filters = ("message", "status", "type", "endpoint")

    #: What sets the fault up, if no method has its name.
    _set_up_by: ClassVar[str] = ""
    #: The mark's word or two.
    _text: ClassVar[str] = ""

    _details: str = ""  # details for the mark
    _mark: Mark

    @property
    def kind(self) -> str:
        """The name of the method that set up the fault."""
        return self._kind

    def _set_up(self, where: Mapping[str, Any], line: Line) -> None:
        super()._set_up(where, line)
        self._mark = Mark(self._kind, self._text + self._details, line)

    def _shown_filter(self, name: str, value: Any) -> object:
        if name == "message":
            return value.id or "a message"  # it has no id before it is sent
        return value._shown if name == "endpoint" else value

    def _ask(self, attempt: Attempt) -> Decision | None:
        # Counts a first attempt that matches; returns the decision if the fault should fire now.
        fires = not self._is_removed and self._concerns(attempt) and self._should_fire()
        return self._decide(attempt) if fires else None

    def _concerns(self, attempt: Attempt) -> bool:
        event = attempt.event
        has = {
            "message": event._message,
            "status": event.status,
            "type": event.type,
            "endpoint": attempt.endpoint,
        }
        return self._where.items() <= has.items()

    @abstractmethod
    def _decide(self, attempt: Attempt) -> Decision | None:
        # Changes nothing; returns None if there is nothing to do in this attempt.
        ...


# Kinds that combine with all others


class Duplicate(Fault):
    """Makes an attempt twice."""

    _kind, _text = "duplicate", "duplicate"
    _outlasts_barriers = False  # the second attempt waits past barriers, up to Queue.end_waits()

    def __init__(
        self,
        after: int | None,
        pause: timedelta | float | None,
        *,
        new_id: bool,
    ) -> None:
        check_bool(new_id, "new_id")
        if not (after is None or pause is None):
            raise ValueError("duplicate() takes after= or pause=, not both")
        self._steps = 0 if after is None else check_int(after, "after", 0)
        self._pause = 0 if pause is None else parse_delay(pause, "pause")
        if pause is not None and not self._pause:
            raise ValueError(
                "pause: expected a duration greater than 0; after=0 posts it again at once"
            )
        self._has_new_id = new_id
        super().__init__(
            *shown_arguments(after=after),
            *([] if pause is None else [f"pause={seconds(self._pause)}"]),
            *shown_arguments(new_id=new_id or None),
        )
        self._details = ", new id" if new_id else ""

    def _decide(self, attempt: Attempt) -> Decision:
        wait: Pause | Turn
        if self._pause:
            wait = Pause(self._pause, moves_clock=True)
        else:
            wait = Turn(self._steps + 1, self, outlasts_barriers=self._outlasts_barriers)
        return Twice(self, self._mark, wait=wait, new_id=self._has_new_id)


class Tamper(Fault):
    """Changes the body after it was signed; several such faults apply in turn."""

    _kind, _text = "tamper", "tampered"

    def __init__(self, change: Callable[[bytes], bytes] | None) -> None:
        if change is not None:
            check_function(change, "change", "lambda body: body[:-1]", "the body")
        super().__init__(*([] if change is None else [_name_of(change)]))
        self._change = with_a_space if change is None else change

    def _decide(self, attempt: Attempt) -> Decision:
        return Changed(self, self._mark, _WRONG, tampered=self._change)


class Sign(Fault):
    """Signs with another signer than the endpoint's; of several such faults, the last one signs."""

    _kind, _text = "sign", "wrong signature"

    def __init__(self, signer: Signer) -> None:
        if signer is None:
            raise TypeError(
                "signer: expected a function, got None. To sign nothing, write lambda request: {}"
            )
        check_signer(signer)
        super().__init__(_name_of(signer))
        self._signer = signer

    def _decide(self, attempt: Attempt) -> Decision:
        return Changed(self, self._mark, _WRONG, signer=self._signer)


class Evolve(Fault):
    """Writes events as a later version of the service might."""

    _kind, _text, _usual_times = "evolve", "evolved", None

    def __init__(
        self,
        unknown: str | None,
        resource: str,
        how: str,
        change: Callable[[bytes], bytes] | None = None,
    ) -> None:
        if unknown is not None and change is None:
            check_choice(unknown, "field in unknown=", [*UNKNOWN])
        super().__init__(*shown_arguments(unknown=unknown, how=None if how == "value" else how))
        self._unknown, self._resource, self._change = unknown, resource, change

    def _decide(self, attempt: Attempt) -> Decision | None:
        everywhere = attempt.event._outbound is not None
        if self._unknown is None or self._change is not None:
            change = self._change or partial(evolved, everywhere=everywhere)
            return Changed(self, self._mark, evolved=change)
        change = partial(with_unknown, path=self._unknown, resource=self._resource)
        if change(attempt._body) == attempt._body:
            return None  # the event has no such field
        return Changed(self, self._mark, content=change)


# Kinds that decide when an attempt is made


class Delay(Fault):
    """Makes an attempt later, on the fake's clock."""

    _kind, _text = "delay", "delayed"

    def __init__(self, duration: timedelta | float) -> None:
        self._pause = parse_length(duration, "duration")
        length = seconds(self._pause)
        super().__init__(length)
        self._details = f" {length} s"

    def _decide(self, attempt: Attempt) -> Decision:
        return Hold(self, self._mark, wait=Pause(self._pause))


class Reorder(Fault):
    """Makes an attempt only after others that were queued behind it."""

    _kind, _text = "reorder", "reordered"

    def __init__(self, by: int) -> None:
        self._steps = check_int(by, "by", 1)
        super().__init__(*shown_arguments(by=by))

    def _decide(self, attempt: Attempt) -> Decision:
        return Hold(self, self._mark, wait=Turn(self._steps, self))


class DuringCall(Fault):
    """Makes an attempt during the app's next API call, before its response."""

    _kind, _text = "during_call", "during a call"

    def _decide(self, attempt: Attempt) -> Decision:
        return Hold(self, self._mark, wait=AtCall(self))


class Concurrently(Fault):
    """Makes an attempt at the same time as another one, or as its own repeat."""

    _kind, _text = "concurrently", "at the same time"

    def __init__(self, by: int, point: str = "", meet: Callable[[], Attend] | None = None) -> None:
        self._steps = check_int(by, "by", 0)
        super().__init__(*shown_arguments(by=by), *[point] * (meet is not None))
        self._meet = meet  # makes what makes the attendants of one batch

    def _decide(self, attempt: Attempt) -> Decision | None:
        if not attempt.endpoint._target.overlaps:
            return None
        if not self._steps:
            return Twice(self, self._mark, attend=self._meet and self._meet())
        wait = Turn(self._steps, self, together=True)
        return Hold(self, self._mark, wait=wait, attend=self._meet and self._meet())


# Kinds that make an attempt fail


class Lose(Fault):
    """Loses an event on the way to an endpoint."""

    _kind, _text = "lose", "lost"

    def _decide(self, attempt: Attempt) -> Decision:
        meaning = Meaning(wanted=True, unmade=True, unseen=True)
        return Failed(self, self._mark, meaning, response=_NOT_MADE)


class Refuse(Fault):
    """Refuses the connection, so the app never sees the attempt."""

    _kind, _text = "refuse", "refused"

    def _decide(self, attempt: Attempt) -> Decision:
        error = ConnectionRefusedError("refused before it reached the app: refuse()")
        meaning = Meaning(wanted=True, unseen=True)
        return Failed(self, self._mark, meaning, response=Response(None, b"", error))


class LoseResponse(Fault):
    """Loses the response after the app has done its work."""

    _kind, _text = "lose_response", "response lost"

    def _decide(self, attempt: Attempt) -> Decision:
        lost = Response(None, b"", TimeoutError("lose_response() lost the app's response"))
        return Failed(self, self._mark, _WANTED, response=lost, is_after=True)


class Attended(Fault):
    """Base of the kinds that act at a point inside the app, which an attempt may not reach."""

    _meaning = _WANTED

    def __init__(self, point: str, attend: Attend) -> None:
        super().__init__(point)
        self._attend = attend

    def _decide(self, attempt: Attempt) -> Decision:
        return Call(self, self._mark, self._meaning, attend=self._attend)


class Crash(Attended):
    """Crashes the app in the middle of an attempt."""

    _kind, _text = "crash", "crashed"
    _meaning = Meaning(wanted=True, crashed=True)


class Error(Attended):
    """Raises an error at a call inside the app."""

    _kind, _text = "error", "error raised"


class Disabled(Fault):
    """Posts nothing to a disabled endpoint; no method sets it up."""

    _kind, _text, _set_up_by = "disable_after", "endpoint disabled", "connect(disable_after=)"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._mark = Mark(self._kind, self._text, endpoint._line)

    def _decide(self, attempt: Attempt) -> Decision:
        meaning = Meaning(wanted=True, unmade=True, unseen=True, uncounted=True)
        return Failed(self, self._mark, meaning, response=_NOT_MADE)


def with_a_space(body: bytes) -> bytes:
    """Return a body with other bytes that mean the same as JSON."""
    return body + b" "


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", None) or repr(function)


#: All kinds but forgeries, in the order in which reports list them.
FAULTS: Final[tuple[type[Fault], ...]] = (
    Duplicate,
    Lose,
    Delay,
    Reorder,
    DuringCall,
    LoseResponse,
    Refuse,
    Crash,
    Error,
    Concurrently,
    Evolve,
    Tamper,
    Sign,
    Disabled,
)


def shown_kind(kind: type[Fault]) -> tuple[str, str, str]:
    """Return a kind's name, the text of its mark, and the call that sets it up."""
    return kind._kind, kind._text, f"webhooks.{kind._set_up_by or f'{kind._kind}()'}"
