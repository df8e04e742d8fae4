"""The kinds of webhook faults: what each one does, and when.

Each kind is a class, and :class:`.Fault` is their base. Tests set them up with the methods of
:class:`.Webhooks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

from ..base.arguments import (
    check_bool,
    check_choice,
    check_function,
    check_int,
    shown_arguments,
)
from ..base.marks import Mark
from ..domain.ids import other_id
from ..domain.instants import parse_delay, parse_length, seconds
from ..transport.client.responses import Response
from .attempts import Attempt, Delays, Fault
from .attending import Attend
from .endpoints import Endpoint, Signer
from .signing import check_signer, flaw_of
from .synthetic import UNKNOWN, with_unknown

#: The outcome of an attempt that is not made.
_NOT_MADE = Response(None)

#: Why two attempts at an endpoint can't overlap.
ONE_AT_A_TIME: Final = (
    "a plain function handles one event at a time: connect your app as wsgi=, asgi= or by its URL"
)

# Kinds that combine with all others


class Duplicate(Fault):
    """Makes an attempt twice."""

    _kind, _text, _combines = "duplicate", "duplicate", True
    _waits_on = False  # even past barriers, for some explorations

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

    def _shape(self, attempt: Attempt) -> None:
        attempt._flight.repeats += (self,)

    def _repeat(self, attempt: Attempt, delays: Delays, *, in_batch: bool) -> Attempt | None:
        repeat = attempt._repeated(self)
        if self._has_new_id:
            repeat._put_under_id(other_id(repeat._id))
        if self._pause:
            delays.repeat(repeat, self._pause, self)
        elif in_batch and not self._steps:
            return repeat
        else:
            delays.backlog.repeat(repeat, self._steps, self, waits_on=self._waits_on)
        return None


class Tamper(Fault):
    """Changes the body after it was signed; several such faults apply in turn."""

    _kind, _text, _combines, _is_wrong = "tamper", "tampered", True, True

    def __init__(self, change: Callable[[bytes], bytes] | None) -> None:
        if change is not None:
            check_function(change, "change", "lambda body: body[:-1]", "the body")
        super().__init__(*([] if change is None else [_name_of(change)]))
        self._change = with_a_space if change is None else change

    def _shape(self, attempt: Attempt) -> None:
        super()._shape(attempt)
        attempt._flight.changes += (self._change,)


class Sign(Fault):
    """Signs with another signer than the endpoint's; of several such faults, the last one signs."""

    _kind, _text, _combines, _is_wrong = "sign", "wrong signature", True, True

    def __init__(self, signer: Signer) -> None:
        if signer is None:
            raise TypeError(
                "signer: expected a function, got None. To sign nothing, write lambda request: {}"
            )
        check_signer(signer)
        super().__init__(_name_of(signer))
        self._signer = signer

    def _shape(self, attempt: Attempt) -> None:
        super()._shape(attempt)
        attempt._flight.signer = self._signer

    def _signed(self, attempt: Attempt, headers: Mapping[str, str]) -> None:
        if attempt._flight.signer is not self._signer:  # a later fault signs
            return
        flaw = flaw_of(self._signer, attempt.endpoint.signer, headers)
        attempt._marks = tuple(
            mark._replace(text=flaw) if mark.kind == self._kind else mark for mark in attempt._marks
        )


class Evolve(Fault):
    """Writes events as a later version of the service might."""

    _kind, _text, _combines, _usual_times = "evolve", "evolved", True, None

    def __init__(self, unknown: str | None, resource: str) -> None:
        if unknown is not None:
            check_choice(unknown, "field in unknown=", [*UNKNOWN])
        super().__init__(*shown_arguments(unknown=unknown))
        self._unknown, self._resource = unknown, resource

    def _shape(self, attempt: Attempt) -> None:
        if self._unknown is None:
            attempt._flight.is_evolved = True
        else:
            change = partial(with_unknown, path=self._unknown, resource=self._resource)
            if change(attempt._body) == attempt._body:
                self._take_back()  # the event has no such field
                return
            attempt._flight.unknown += (change,)
        super()._shape(attempt)


# Kinds that decide when an attempt is made


class Delay(Fault):
    """Makes an attempt later, on the fake's clock."""

    _kind, _text = "delay", "delayed"

    def __init__(self, duration: timedelta | float) -> None:
        self._pause = parse_length(duration, "duration")
        length = seconds(self._pause)
        super().__init__(length)
        self._details = f" {length} s"

    def _meet(self, attempt: Attempt, delays: Delays) -> bool:
        self._shape(attempt)
        if self._mark not in attempt.event._marks:
            attempt.event._marks += (self._mark,)
        delays.delay(attempt, self._pause)
        return False


class Reorder(Fault):
    """Makes an attempt only after others that were queued behind it."""

    _kind, _text = "reorder", "reordered"

    def __init__(self, by: int) -> None:
        self._steps = check_int(by, "by", 1)
        super().__init__(*shown_arguments(by=by))

    def _meet(self, attempt: Attempt, delays: Delays) -> bool:
        self._shape(attempt)
        delays.backlog.delay(attempt, self._steps, self)
        return False


class Concurrently(Fault):
    """Makes an attempt at the same time as another one, or as its own repeat."""

    _kind, _text = "concurrently", "at the same time"

    def __init__(self, by: int) -> None:
        self._steps = check_int(by, "by", 0)
        super().__init__(*shown_arguments(by=by))

    def _strikes(self, attempt: Attempt, *, is_taken: bool) -> bool:
        can_overlap = attempt.endpoint._target.overlaps
        return super()._strikes(attempt, is_taken=is_taken or not can_overlap)

    def _meet(self, attempt: Attempt, delays: Delays) -> bool:
        if not self._steps:
            attempt._flight.repeats += (self,)
            return True
        attempt._faults += (self,)  # marked once another attempt is made with it
        delays.backlog.await_peer(attempt, self._steps, self)
        return False


# Kinds that make an attempt fail


class Drop(Fault):
    """Drops an event on the way to an endpoint."""

    _kind, _text = "drop", "dropped"
    _is_made, _reaches_app, _fails = False, False, True

    def _shape(self, attempt: Attempt) -> None:
        super()._shape(attempt)
        attempt._flight.outcome = _NOT_MADE


class Refuse(Fault):
    """Refuses the connection, so the app never sees the attempt."""

    _kind, _text, _reaches_app, _fails = "refuse", "refused", False, True

    def _shape(self, attempt: Attempt) -> None:
        super()._shape(attempt)
        error = ConnectionRefusedError("refused before it reached the app: refuse()")
        attempt._flight.outcome = Response(None, b"", error)


class LoseResponse(Fault):
    """Loses the response after the app has done its work."""

    _kind, _text, _fails = "lose_response", "response lost", True

    def _end(self, attempt: Attempt, response: Response) -> Response:
        super()._end(attempt, response)
        if response.error is not None:
            return response
        return Response(None, b"", TimeoutError("the app's response was lost: lose_response()"))


class Attended(Fault):
    """Base of the kinds that act at a point inside the app, which an attempt may not reach."""

    _fails = True

    def __init__(self, point: str, attend: Attend) -> None:
        super().__init__(point)
        self._attend = attend

    def _end(self, attempt: Attempt, response: Response) -> Response:
        if attempt._flight.attendant is None or not attempt._flight.attendant.deed:
            self._take_back()
            attempt._flight.failure = None
            return response
        return super()._end(attempt, response)


class Crash(Attended):
    """Crashes the app in the middle of an attempt."""

    _kind, _text, _crashes_app = "crash", "crashed", True


class Error(Attended):
    """Raises an error at a call inside the app."""

    _kind, _text = "error", "error raised"


class Disabled(Fault):
    """Drops attempts at a disabled endpoint; no method sets it up."""

    _kind, _text, _set_up_by = "disable_after", "endpoint disabled", "connect(disable_after=)"
    _is_made, _reaches_app, _fails, _counts = False, False, True, False

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._mark = Mark(self._kind, self._text, endpoint._line)

    def _shape(self, attempt: Attempt) -> None:
        attempt._faults, attempt._marks = (self,), (self._mark,)
        attempt._flight.outcome = _NOT_MADE


def with_a_space(body: bytes) -> bytes:
    """Return a body with other bytes that mean the same as JSON."""
    return body + b" "


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", None) or repr(function)


#: All kinds, in the order in which reports list them.
FAULTS: Final[tuple[type[Fault], ...]] = (
    Duplicate,
    Drop,
    Delay,
    Reorder,
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
