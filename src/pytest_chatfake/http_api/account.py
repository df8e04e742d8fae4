"""``fake.api``: one account's side of the HTTP API, with its responses, its log and its faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from werkzeug.exceptions import HTTPException

from ..base.arguments import check_bytes, check_int, check_str, cited
from ..base.calling_line import Line, calling_line
from ..base.marks import Mark
from ..base.notes import API_FAULT, REQUEST
from ..base.redaction import tail
from ..base.triggers import Trigger, Triggers
from ..base.views import counted
from ..domain.instants import SECOND, instant, parse_duration
from ..transport.server.replies import Reply, error_reply, server_error
from ..wire.bodies import balance_body
from .routes import BALANCE_PATH, Route, Routes

if TYPE_CHECKING:
    from werkzeug import Request, Response

#: The longest real wait that a declared delay may ask for, in seconds.
_MAX_DELAY = 60

ApiFaultKind: TypeAlias = Literal[
    "fail", "delay", "disconnect", "truncate", "rate_limit", "webhooks_first"
]

#: Takes the healthy reply and the present in nanoseconds; returns what is sent instead, or None
#: if the fault is over.
Damage: TypeAlias = "Callable[[Reply, int], Reply | None]"


class ApiRequest(NamedTuple):
    """One request to the fake.

    Attributes:
        method: For example ``GET``.
        path: The path, without the query string.
        key: The key it came with, by its last four characters; empty without one.
        accepted: Whether it was this fake's key.
        status: The status of the response; None if there was none, or not yet.
        moment: When it was responded to, in nanoseconds since the epoch.
        marks: What faults did to the response, and the lines that set them up.
    """

    method: str
    path: str
    key: str
    accepted: bool
    status: int | None
    moment: int
    marks: tuple[Mark, ...] = ()

    @property
    def at(self) -> datetime:
        """When it was responded to: aware, UTC, to the microsecond."""
        return instant(self.moment)

    def __str__(self) -> str:
        key = f"the key {self.key}" if self.key else "no X-API-Key"
        if self.key and not self.accepted:
            key += " (not this fake's)"
        status = "no response" if self.status is None else self.status
        unknown = self.accepted and self.status == 404
        hint = " (an endpoint of your own? see chat_fake.route)" if unknown else ""
        return f"{self.method} {self.path} with {key}: {status}{hint}"


class ApiFault(Trigger):
    """A fault of balance queries, as ``chat_fake.api.fail()`` returns it."""

    def __init__(
        self,
        kind: ApiFaultKind,
        argument: str,
        damage: Damage,
        times: int | None,
        start: int,
        line: Line,
    ) -> None:
        super().__init__(times, start, line)
        self._kind = kind
        self._argument = argument
        self._damage = damage

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        return f"api.{self._kind}({self._argument})"


class Responses(Protocol):
    """Knows whether the running code is part of a response."""

    def block(self, request: int | None, /) -> AbstractContextManager[None]:
        """Return a block in which verbs act at once, and only queue their events."""
        ...


class Port(Protocol):
    """What the API asks of the fake behind it, from many threads."""

    #: Errors to re-raise in the test's next call.
    errors: list[BaseException]

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held while faults are counted."""
        ...

    def reported_balance(self) -> tuple[Decimal, int]:
        """Return the amount that the query reports now, and the moment in nanoseconds."""
        ...

    @property
    def responses(self) -> Responses:
        """Knows who is part of a response."""
        ...

    def attempt_now(self) -> None:
        """Attempt queued webhooks, before a response leaves."""
        ...

    def retry_at_barriers(self) -> None:
        """Retry failed attempts at the next barrier, and not as time goes on."""
        ...

    def ensure_readable(self) -> None:
        """Refuse to show results while steps are pending."""
        ...

    def refuse_closed(self) -> None:
        """Refuse a call of a closed fake."""
        ...


class AccountApi:
    """``fake.api``: the requests to the HTTP API, and its faults.

    The faults, :meth:`fail` to :meth:`rate_limit`, concern balance queries with the fake's key:
    from the ``start``-th on (1 is the next), ``times`` times (None: until the fault is removed).
    Of several active ones, the first that responds wins, and delays add up. Each raises
    ``ValueError`` for an argument that is out of range. The service's description has one error,
    401 (§7.1): all of them are assumed.
    """

    def __init__(
        self,
        port: Port,
        now: Callable[[], int],
        note: Callable[[int], None],
        currency: str,
        key: str,
    ) -> None:
        self._port = port
        self._now = now
        self._note = note
        self._currency = currency
        self._keys: list[str] = []  # all that it ever had: none is shown
        self._set_key(key)
        self._log: list[ApiRequest] = []
        # Of each call of a route: the place of its request, and whether its webhooks come first.
        self._calls: list[tuple[int | None, bool]] = []
        self._arrivals: dict[int, int] = {}  # when each of these came: it is recorded as answered
        self._routes = Routes()
        self._faults: Triggers[ApiFault] = Triggers()

    def __repr__(self) -> str:
        return f"<chat_fake.api of the key {self._tail}: {counted(len(self._log), 'request')}>"

    @property
    def requests(self) -> Sequence[ApiRequest]:
        """The requests so far, in order: those with this fake's key, or with an unknown one."""
        self._port.ensure_readable()
        return tuple(self._log)

    def _forget(self) -> None:
        self._log.clear()
        self._calls.clear()
        self._arrivals.clear()
        self._faults.clear()

    def _set_key(self, key: str) -> None:
        self._key = key
        self._keys.append(key)
        self._tail = tail(key)

    def _record(self, method: str, path: str, key: str | None, status: int) -> None:
        """Record a request that was not a balance query with the right key."""
        shown, accepted = tail(key), key == self._key
        self._note(REQUEST)
        self._log.append(ApiRequest(method, path, shown, accepted, status, self._now()))

    def _arrived(self, method: str, path: str) -> ApiRequest:
        """Record a request that a route of the user's is about to respond to."""
        asked = ApiRequest(method, path, self._tail, True, None, self._now())
        self._note(REQUEST)
        self._log.append(asked)
        return asked

    def _answered(self, asked: ApiRequest, status: int) -> None:
        """Complete its record, unless a reset has removed it."""
        place = self._place_of(asked)
        if place is not None:
            self._log[place] = asked._replace(status=status, moment=self._now())

    def _place_of(self, asked: ApiRequest) -> int | None:
        """Return the place of a record; it is among the last ones, if it is there."""
        places = range(len(self._log) - 1, -1, -1)
        return next((place for place in places if self._log[place] is asked), None)

    # Responses

    def _answer_balance(self, method: str = "GET") -> Reply:
        """Answer a balance query that came with the right key (§4.1)."""
        value, now = self._port.reported_balance()
        reply = Reply(200, balance_body(value, self._currency))
        marks: list[Mark] = []
        if self._faults.active:
            with self._port.lock:
                reply = self._damaged(reply, now, marks)
        status = None if reply.disconnect else reply.status
        asked = ApiRequest(method, BALANCE_PATH, self._tail, True, status, now, tuple(marks))
        self._note(REQUEST)
        self._log.append(asked)
        return reply

    def _damaged(self, reply: Reply, now: int, marks: list[Mark]) -> Reply:
        delay = 0.0
        # Each counts every query, also one that another fault answers.
        asked = [one for one in self._faults.active if one._kind != "webhooks_first"]
        for fault in [one for one in asked if one._should_fire()]:
            damaged = fault._damage(reply, now)
            if damaged is None:
                fault.remove()
                continue
            fault._fire()
            marks.append(Mark(f"api.{fault._kind}", fault.description, fault.line))
            if damaged.delay:
                delay += damaged.delay
            else:
                return damaged._replace(delay=delay)
        return reply._replace(delay=delay)

    def _answer_route(
        self, asked: ApiRequest, request: Request, route: Route, variables: dict[str, Any]
    ) -> Response | Reply:
        """Answer with a route of the user's; its error is a 500, and comes back in the test."""
        place, last = self._place_of(asked), route.webhooks_first
        self._calls.append((place, last))
        if place is not None:
            self._arrivals[place] = asked.moment
        if self._faults.active:
            last = self._answers_last() or last
        try:
            with self._port.responses.block(place):
                response = route.answer(request, variables)
        except HTTPException as error:  # abort(422), or a body that is not JSON
            return error.get_response(request.environ)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # pytest.fail() is no Exception
            self._port.errors.append(error)
            return server_error(error)
        if last:
            try:
                self._port.attempt_now()
            except Exception as error:  # a receiver's, which is no failure of the route
                self._port.errors.append(error)
        return response

    def _answers_last(self) -> bool:
        """Count a call of a route; return whether its webhooks come before its response."""
        with self._port.lock:
            races = [one for one in self._faults.active if one._kind == "webhooks_first"]
            fired = [one for one in races if one._should_fire()]
            for fault in fired:
                fault._fire()
        return bool(fired)

    # Faults

    def fail(
        self,
        status: int = 503,
        *,
        code: str | None = None,
        message: str | None = None,
        body: str | bytes | None = None,
        times: int | None = 1,
        start: int = 1,
    ) -> ApiFault:
        """Respond with an error.

        Args:
            status: The status of the response.
            code: ``error.code``; by default the status's name, as ``SERVICE_UNAVAILABLE``.
            message: ``error.message``; by default the same.
            body: The exact body, in place of the error body of §7.1.
            times: How many queries; see :class:`AccountApi`.
            start: The first of them.
        """
        check_int(status, "status", 200, 599)
        if body is not None:
            if code is not None or message is not None:
                raise ValueError("body: expected either body= or code= and message=, got both")
            reply = Reply(status, check_bytes(body, "body"))
        else:
            code = _code_of(status) if code is None else check_str(code, "code")
            message = code if message is None else check_str(message, "message")
            reply = error_reply(status, code, message)
        return self._add("fail", str(status), lambda _, __: reply, times, start)

    def delay(
        self, duration: timedelta | float, *, times: int | None = 1, start: int = 1
    ) -> ApiFault:
        """Respond late by ``duration``, a ``timedelta`` or seconds, a minute at most.

        Over a socket this is real time; in process nothing waits.
        """
        seconds = parse_duration(duration, "duration") / SECOND
        if not 0 < seconds <= _MAX_DELAY:
            raise ValueError(
                f"duration: expected more than 0 and at most {_MAX_DELAY} s, got {seconds:g} s"
            )
        return self._add(
            "delay", f"{seconds:g}", lambda reply, _: reply._replace(delay=seconds), times, start
        )

    def disconnect(self, *, times: int | None = 1, start: int = 1) -> ApiFault:
        """Close the connection without a response. In process: ``ConnectionResetError``."""
        return self._add(
            "disconnect", "", lambda reply, _: reply._replace(disconnect=True), times, start
        )

    def truncate(
        self, length: int | None = None, *, times: int | None = 1, start: int = 1
    ) -> ApiFault:
        """Cut the body off after ``length`` bytes (None: half of them).

        The headers promise all of it.
        """
        if length is not None:
            check_int(length, "length", 0)

        def damage(reply: Reply, _: int) -> Reply:
            kept = len(reply.body) // 2 if length is None else length
            return reply._replace(body=reply.body[:kept], declared_length=len(reply.body))

        return self._add("truncate", "" if length is None else cited(length), damage, times, start)

    def rate_limit(
        self, retry_after: timedelta | float, *, times: int | None = None, start: int = 1
    ) -> ApiFault:
        """Respond with 429 and ``Retry-After`` until that time has passed on the fake's clock.

        It is a ``timedelta`` or seconds, and runs from the first query that gets it.
        """
        length = parse_duration(retry_after, "retry_after")
        if not length:
            raise ValueError("retry_after: expected more than 0 seconds, got 0")
        end: int | None = None

        def damage(_: Reply, now: int) -> Reply | None:
            nonlocal end
            end = now + length if end is None else end
            if now >= end:
                return None
            seconds = -((now - end) // SECOND)
            reply = error_reply(429, "TOO_MANY_REQUESTS", "RATE_LIMIT_EXCEEDED")
            return reply._replace(headers=(("Retry-After", str(seconds)),))

        return self._add("rate_limit", f"{length / SECOND:g}", damage, times, start)

    def webhooks_first(self, *, times: int | None = 1, start: int = 1) -> ApiFault:
        """Respond to a call of your own endpoint after the webhooks that it causes.

        The race that a fast service wins: as ``webhooks_first=True`` of a route, for single calls.

        Args:
            times: How many calls of endpoints of your own; None: all, until the fault is removed.
            start: The first of them; 1 is the next.
        """
        self._port.retry_at_barriers()
        return self._add("webhooks_first", "", lambda reply, _: reply, times, start)

    def _add(
        self, kind: ApiFaultKind, argument: str, damage: Damage, times: int | None, start: int
    ) -> ApiFault:
        self._port.refuse_closed()
        fault = ApiFault(kind, argument, damage, times, start, calling_line(3))
        self._note(API_FAULT)
        return self._faults.add(fault)


def _code_of(status: int) -> str:
    try:
        return HTTPStatus(status).name
    except ValueError:
        return f"STATUS_{status}"
