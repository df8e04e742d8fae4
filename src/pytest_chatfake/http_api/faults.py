"""Faults of the HTTP API: which requests they affect, and what happens to the response.

Each kind is a class, and :class:`ApiFault` is their base. Tests set them up with the methods of
:class:`.AccountApi`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from http import HTTPStatus
from typing import Any, ClassVar, Final, TypeAlias, TypedDict

from werkzeug.routing import Rule

from ..base.arguments import (
    check_bool,
    check_bytes,
    check_int,
    check_mapping,
    check_names,
    check_str,
    cited,
    shortened,
    unexpected,
)
from ..base.calling_line import Line
from ..base.faults import BaseFault, verb_of
from ..base.marks import Mark
from ..domain.instants import (
    SECOND,
    aware,
    instant,
    nanoseconds,
    parse_duration,
    parse_length,
)
from ..domain.messages import MAX_DEVICES
from ..transport.client.headers import complete_headers
from ..transport.server.replies import Reply, error_reply
from ..wire.exact_json import encode
from .routes import bound, check_path, map_of

#: The reply that a fault changes if no route or handler was called.
NO_REPLY: Final = Reply(200, b"")

_CUT_OFF: Final = NO_REPLY._replace(disconnect=True)

#: The maximum length of a method in texts.
_MAX_SHOWN: Final = 20

#: The longest delay of a response, in real seconds.
_MAX_DELAY: Final = 60


#: What a test may pass as a whole body.
Body: TypeAlias = str | bytes | Mapping[str, object]

#: Whether a message is delivered before the response, or to how many devices by each delivery.
Delivered: TypeAlias = bool | int | tuple[int, ...]


class RequestFilter(TypedDict, total=False):
    """The arguments of all API faults that select which requests they affect.

    Attributes:
        times: For how many requests the fault fires, 1 by default. If None, as is the default of
            :meth:`.AccountApi.rate_limit`, it fires until it is removed.
        start: The first matching request for which the fault fires; 1, the default, is the next.
        path: Affect only requests to this path, or to routes with this rule.
        method: Affect only requests with this method.
    """

    times: int | None
    start: int
    path: str | None
    method: str | None


class ApiFault(BaseFault):
    """A fault for requests with the fake's key, as returned by ``api.fail()`` and others."""

    _shown_as, _set_up_on = "ApiFault", "api"
    _filters = ("path", "method")

    #: Whether the request takes effect first; if not, no route or handler is called.
    _takes_effect: ClassVar[bool] = True
    #: Whether it decides the response, so that no later fault can.
    _decides: ClassVar[bool] = True
    #: Whether webhooks are posted before the response, which only applies to the user's routes.
    _is_race: ClassVar[bool] = False
    #: The requests that it waits for, if the test names none.
    _usual_target: ClassVar[str] = "with the fake's key"

    _error: Reply | None = None  # replaces the response

    def _set_up(self, where: Mapping[str, Any], line: Line) -> None:
        check_names(where, RequestFilter.__annotations__, f"{verb_of(type(self))}()")
        super()._set_up(where, line)
        path, method = where.get("path"), where.get("method")
        self._rules = None if path is None else map_of(Rule(check_path(path)))
        self._method = None if method is None else _check_method(method)
        if self._method is not None:
            self._where["method"] = self._method
        self._target = _target(path, self._method) or self._usual_target
        self._others: Counter[str] = Counter()  # the targets of requests that did not match

    @property
    def description(self) -> str:
        """The call that set the fault up, as a test would write it."""
        return f"api.{super().description}"

    @property
    def _mark(self) -> Mark:
        return Mark(verb_of(type(self)), self.description, self.line)

    def _is_due(self, method: str, path: str) -> bool:
        # Every matching request counts, even if the fault doesn't fire for it.
        if self._method in (None, method) and (
            self._rules is None or bound(self._rules, path).test(path)
        ):
            return self._should_fire()
        self._others[_target(shortened(path), shown_method(method) if self._method else None)] += 1
        return False

    def _is_over(self, now: int) -> bool:  # noqa: ARG002 - RateLimit needs it
        # A rate limit may end before a request for which it would fire.
        return False

    def _damage(self, reply: Reply, now: int) -> Reply:  # noqa: ARG002 - likewise
        return reply if self._error is None else self._error._replace(delay=reply.delay)


class Fail(ApiFault):
    """Responds with an error, without calling a route."""

    _kind, _takes_effect = "fail", False

    def __init__(
        self,
        status: int,
        code: str | None,
        message: str | None,
        body: Body | None,
        headers: Mapping[str, str] | None,
    ) -> None:
        check_int(status, "status", 200, 599)
        if body is None:
            error = _error_reply(status, code, message)
        elif code is not None or message is not None:
            raise ValueError("body: expected either body= or code= and message=, got both")
        else:
            error = _reply_with(body, status)
        self._error = error if headers is None else _with_headers(error, headers)
        shown = headers and dict(headers)
        super().__init__(str(status), code=code, message=message, body=body, headers=shown)


class Delay(ApiFault):
    """Responds late."""

    _kind, _decides = "delay", False

    def __init__(self, duration: timedelta | float) -> None:
        self._seconds = parse_duration(duration, "duration") / SECOND
        shown = f"{self._seconds:g}"
        if not 0 < self._seconds <= _MAX_DELAY:
            raise ValueError(
                f"duration: expected more than 0 and at most {_MAX_DELAY} s, got {shown} s"
            )
        super().__init__(shown)

    def _damage(self, reply: Reply, now: int) -> Reply:  # noqa: ARG002 - likewise
        return reply._replace(delay=reply.delay + self._seconds)


class Disconnect(ApiFault):
    """Closes the connection, without calling a route."""

    _kind, _takes_effect, _error = "disconnect", False, _CUT_OFF


class LoseResponse(ApiFault):
    """Carries the request out, and closes the connection or responds with an error."""

    _kind, _error = "lose_response", _CUT_OFF

    def __init__(self, status: int | None, body: Body | None, *, reset: bool) -> None:
        check_bool(reset, "reset")
        if reset and (status is not None or body is not None):
            raise ValueError("reset: expected either reset=True or a response, got both")
        if status is not None:
            self._error = _error_reply(check_int(status, "status", 200, 599))
        if body is not None:
            self._error = _reply_with(body, 200 if status is None else status)
        elif reset:
            self._error = _CUT_OFF._replace(reset=True)
        super().__init__(status=status, body=body, reset=reset or None)


class Truncate(ApiFault):
    """Cuts the body off."""

    _kind = "truncate"

    def __init__(self, length: int | None) -> None:
        self._length = None if length is None else check_int(length, "length", 0)
        super().__init__(*([] if length is None else [cited(length)]))

    def _damage(self, reply: Reply, now: int) -> Reply:  # noqa: ARG002 - likewise
        return reply.cut_off(self._length)


class RateLimit(ApiFault):
    """Responds with 429 until some time has passed, without calling a route."""

    _kind, _usual_times, _takes_effect = "rate_limit", None, False

    def __init__(self, retry_after: timedelta | float | str, *, as_date: bool) -> None:
        self._end: int | None = None  # the limit starts with the first request that it refuses
        check_bool(as_date, "as_date")
        self._as_date = as_date or isinstance(retry_after, str)
        if isinstance(retry_after, str):
            self._end, shown = _parse_date(retry_after), repr(retry_after)
        else:
            self._length = parse_length(retry_after, "retry_after")
            shown = f"{self._length / SECOND:g}"
        super().__init__(shown, as_date=as_date or None)

    def _left(self, now: int) -> int:
        if self._end is None:
            self._end = now + self._length
        return self._end - now

    def _is_over(self, now: int) -> bool:
        return self._left(now) <= 0

    def _damage(self, reply: Reply, now: int) -> Reply:
        error = error_reply(429, "TOO_MANY_REQUESTS", "RATE_LIMIT_EXCEEDED")
        seconds = -(-self._left(now) // SECOND)
        after = str(seconds)
        if self._as_date:
            after = format_datetime(instant(now + seconds * SECOND), usegmt=True)
        return error._replace(headers=(("Retry-After", after),), delay=reply.delay)


class WebhooksFirst(ApiFault):
    """Responds after the webhooks that the request causes."""

    _kind, _decides, _is_race = "webhooks_first", False, True
    _usual_target = "to a route of yours"

    def __init__(self, *, delivered: Delivered) -> None:
        self._devices = devices_of(delivered)  # that get the message that the request has sent
        super().__init__(delivered=delivered if self._devices else None)


def devices_of(delivered: object) -> tuple[int, ...]:
    """Return to how many devices each delivery before the response goes."""
    if isinstance(delivered, bool):
        return (1,) * delivered
    anything: Any = delivered  # `isinstance` would make its items unknown
    given: list[Any] = [*anything] if isinstance(delivered, tuple) else [anything]
    return tuple(check_int(devices, "delivered", 1, MAX_DEVICES) for devices in given)


def shown_method(method: str) -> str:
    """Return a method, cut off because a client may send anything."""
    return method[:_MAX_SHOWN]


def damaged(reply: Reply, faults: Iterable[ApiFault], now: int) -> Reply:
    """Return the reply to send in place of another one."""
    for fault in faults:
        reply = fault._damage(reply, now)
    return reply


def _target(path: str | None, method: str | None) -> str:
    words = [f"to {path}"] if path is not None else []
    return " ".join([*words, f"by {method}"] if method is not None else words)


def _check_method(method: object) -> str:
    name = check_str(method, "method")
    if not name.isalpha():
        raise ValueError(unexpected("method", "a name such as 'POST'", name))
    return name.upper()


def _reply_with(body: Body, status: int) -> Reply:
    text = encode(dict(body)) if isinstance(body, Mapping) else body
    found = check_bytes(text, "body")
    is_page = found.lstrip().startswith(b"<")
    reply = Reply(status, found)
    return reply._replace(content_type="text/html; charset=utf-8") if is_page else reply


def _with_headers(reply: Reply, headers: Mapping[str, str]) -> Reply:
    check_mapping(headers, "headers")
    _, *given = complete_headers(headers.items(), "")
    kinds = [value for name, value in given if name.lower() == "content-type"]
    others = tuple(pair for pair in given if pair[0].lower() != "content-type")
    return reply._replace(headers=others, content_type=(*kinds, reply.content_type)[0])


def _parse_date(text: str) -> int:
    try:
        return nanoseconds(aware(parsedate_to_datetime(text), "retry_after"))
    except (TypeError, ValueError):
        expected = "seconds, or a date such as 'Wed, 21 Oct 2026 07:28:00 GMT'"
        raise ValueError(unexpected("retry_after", expected, text)) from None


def _error_reply(status: int, code: str | None = None, message: str | None = None) -> Reply:
    # By default, the code is the status's name.
    if code is None:
        code = HTTPStatus(status).name if status in list(HTTPStatus) else f"STATUS_{status}"
    check_str(code, "code")
    return error_reply(status, code, code if message is None else check_str(message, "message"))


#: The kinds that reports list, in their order.
API_FAULTS: Final[tuple[type[ApiFault], ...]] = (
    Fail,
    Delay,
    Disconnect,
    Truncate,
    RateLimit,
    LoseResponse,
)
