"""``fake.api``: one account's part of the HTTP API, with its responses, log and faults.

A call is answered in this order: it is recorded; the faults that match it are chosen, and of these
the last one decides what damages the response; the newest route responds, or passes the call on to
an older one, and at last to the fake's own handler; with ``webhooks_first``, the webhooks that the
call has caused are attempted; then those that a ``during_call()`` held back for it; then the
response is damaged. If a route raises, there is no response to damage, so the faults count as not
fired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack

from werkzeug.exceptions import HTTPException

from ..base.calling_line import calling_line
from ..base.current_test import current
from ..base.errors import IllegalTransition
from ..base.history import Record
from ..base.marks import Mark
from ..base.redaction import tail
from ..base.views import counted
from ..domain.instants import instant
from ..domain.verbs import Deliver
from ..engine.engine import Engine
from ..transport.server.replies import (
    Reply,
    copied,
    error_reply,
    has_hung_up,
    plain,
    server_error,
)
from ..wire.bodies import balance_body
from .faults import (
    NO_REPLY,
    ApiFault,
    Body,
    Delay,
    Delivered,
    Disconnect,
    Fail,
    LoseResponse,
    RateLimit,
    RequestFilter,
    Truncate,
    WebhooksFirst,
    damaged,
    shown_method,
)
from .idempotency import FirstCalls, Repeat, respond
from .key_header import KeyHeader
from .routes import BALANCE_PATH, Route, Routes

if TYPE_CHECKING:
    from socket import socket

    from werkzeug import Request, Response

    from ..transport.server.listener import ByHandler

_NOT_FOUND = error_reply(404, "NOT_FOUND", "NOT_FOUND")
_NOT_ALLOWED = error_reply(405, "METHOD_NOT_ALLOWED", "METHOD_NOT_ALLOWED")

#: Where clients send an idempotency key, whether the route knows it or not.
_USUAL_HEADER: Final = "Idempotency-Key"

_NO_ROUTE: Final = "add it: chat_fake.send_endpoint() or route()"

#: The key, in a request's environment, of the function that completes its record.
COMPLETE: Final = "pytest_chatfake.complete"


@dataclass(slots=True, eq=False)
class ApiRequest(Record):
    """A request to the fake. The status is set when the response leaves.

    Attributes:
        method: The method, such as ``GET``.
        path: The path, without the query string.
        key: The last four characters of the key in the request; empty without a key.
        accepted: Whether the key is this fake's.
        status: The status of the response; None while there is none, or if the client never got
            one.
        moment: When the request was answered, or else when it arrived: nanoseconds since the epoch.
        body: The body of your route's response, if its status is not 2xx; else empty.
        in_process: Whether the request was made through ``chat_fake.wsgi_app``, not over a socket.
    """

    method: Final[str]
    path: Final[str]
    key: Final[str]
    accepted: Final[bool]
    status: int | None = None
    moment: int = 0
    body: bytes = b""
    in_process: Final[bool] = False
    _marks: tuple[Mark, ...] = ()
    _arrived: int = 0
    _has_webhooks_first: bool = False  # as its route says
    _awaits_webhooks: bool = False  # its response waits for them
    _is_given_up: bool = False  # the client did not wait any longer
    _last_attempt: Record | None = None  # the last one that it caused before its response
    _key_sent: str = ""  # its idempotency key
    _takes_key: bool = False  # as its route says
    _repeat: Repeat | None = None  # if an earlier call had its idempotency key
    _hint: str = ""  # about a 401 or a 404
    _key_header: str = "X-API-Key"  # where the key was expected

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The faults that changed the response, with the lines that set them up."""
        return self._marks

    @property
    def at(self) -> datetime:
        """The ``moment`` as a datetime: aware, UTC, to the microsecond."""
        return instant(self.moment)

    @property
    def _began(self) -> int:
        return self._arrived

    @property
    def _is_balance(self) -> bool:
        return self.path == BALANCE_PATH and self.method in {"GET", "HEAD"}

    def __str__(self) -> str:
        key = f"the API key {self.key}" if self.key else f"no {self._key_header}"
        if self.key and not self.accepted:
            key += " (not this fake's)"
        status = "no response" if self.status is None else self.status
        if self._is_given_up:
            status = f"{status}, but its client had given up"
        hint = self._hint if self.status in {401, 404} else ""
        if self._repeat is not None:
            hint = f" ({self._repeat})"
        return f"{shown_method(self.method)} {self.path} with {key}: {status}{hint}"


class AccountApi:
    """The HTTP API as ``fake.api``: the requests, and faults in their responses.

    Example::

        chat_fake.api.rate_limit(30, path="/v2/messages")
        shop.send_reminders()
        assert [request.status for request in chat_fake.api.requests] == [429]

    The faults, :meth:`fail` to :meth:`rate_limit`, apply to every request with the fake's key: the
    balance request, the send call, your own routes, handlers of ``chat_fake.http``, and unknown
    paths. :meth:`webhooks_first` only applies to calls of your own routes. All faults are assumed,
    as the description has one error, 401 (§7.1). They take these arguments besides their own:

    - ``path``: affect only requests to this path, or to routes with this rule, such as
      ``/v2/messages/<id>``.
    - ``method``: affect only requests with this method.
    - ``start``: the first matching request for which the fault fires; 1 is the next.
    - ``times``: for how many requests the fault fires, 1 by default. If None, as is the default of
      :meth:`rate_limit`, it fires until it is removed.

    If several faults match a request, the one that was set up first decides the response, and
    delays that were set up before it add up. If a route raises, its error is the response, and the
    fault does not fire. Each fault raises ``ValueError`` for an argument that is out of range.
    """

    def __init__(self, engine: Engine, key: str, key_header: KeyHeader) -> None:
        self._engine = engine
        self._core = engine.core
        self._keys: list[str] = []  # all keys so far, which no text may show
        self._set_key(key)
        self._key_header = key_header
        self._routes = Routes()

    def __repr__(self) -> str:
        return f"<chat_fake.api of the key {self._tail}: {counted(len(self._log), 'request')}>"

    @property
    def requests(self) -> Sequence[ApiRequest]:
        """The requests so far, in order: those with this fake's key, or with an unknown one."""
        self._engine.ensure_readable()
        return tuple(self._log)

    @property
    def _log(self) -> list[ApiRequest]:
        return self._core.state.part(ApiRequest, list[ApiRequest])

    @property
    def _faults(self) -> list[ApiFault]:
        return self._core.state.part(ApiFault, list[ApiFault])

    def _set_key(self, key: str) -> None:
        self._key = key
        self._keys.append(key)
        self._tail = tail(key)

    def _record(self, asked: ApiRequest) -> None:
        asked._arrived = asked.moment = self._engine.catch_up()
        with self._core.lock:  # so that no reset comes between
            self._log.append(self._core.state.history.add(asked))

    def _responded(
        self, asked: ApiRequest, faults: list[ApiFault], status: int | None, body: bytes
    ) -> None:
        asked._marks = tuple(fault._mark for fault in faults)
        asked.status, asked.moment, asked.body = status, self._core.now(), body
        asked._last_attempt = self._engine.last_attempt_of(asked)

    # Responses

    def _respond(
        self, asked: ApiRequest, request: Request, by_handler: ByHandler
    ) -> Response | Reply:
        self._record(asked)
        method, path = asked.method, asked.path
        is_balance = asked._is_balance
        routes: list[tuple[Route, dict[str, Any]]] = []
        if not is_balance:
            routes = self._routes.matching(path, method)
            header = routes[0][0].idempotency_header if routes else None
            asked._takes_key = header is not None
            asked._key_sent = request.headers.get(header or _USUAL_HEADER, "")
        faults = self._due(method, path, asked.moment, calls_route=bool(routes))
        request.environ[COMPLETE] = partial(self._responded, asked, faults)
        client = request.environ.get("werkzeug.socket")
        if faults and not faults[-1]._takes_effect:
            self._attempt_during(asked, client)
            return damaged(NO_REPLY, faults, asked.moment)
        races = [fault for fault in faults if isinstance(fault, WebhooksFirst)]
        is_routed = True
        try:
            for route, variables in routes:
                response = self._call(asked, request, route, variables, races=races)
                if response is not None:
                    break
            else:
                is_routed = False
                if is_balance:
                    response = self._balance()
                else:
                    response = by_handler(request) or self._not_found(asked)
            self._attempt_during(asked, client)
            if faults:
                response = damaged(plain(response, request.environ), faults, asked.moment)
        except BaseException as error:  # pytest.fail() isn't an Exception
            self._core.scopes.end(asked)  # an interrupt may have kept _call() from it
            self._take_back(faults)
            if not is_routed or isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            self._core.state.errors.append(error)
            return server_error(error)
        if faults and faults[-1]._decides:
            return response
        return self._replaced(asked, request, response)

    def _replaced(
        self, asked: ApiRequest, request: Request, response: Response | Reply
    ) -> Response | Reply:
        # By another plugin's response, which the record of the request doesn't show.
        is_balance, method = asked._is_balance, asked.method
        is_accepted = method == "POST" and str(response.status).startswith("2")
        if not (is_accepted or (is_balance and method == "GET")):
            return response
        sent = partial(copied, response, request.environ)  # reads a streamed response
        other: Reply | None = current().other_reply(self, sent, is_balance=is_balance)
        if other is None:
            return response
        reply = plain(response, request.environ)
        request.environ.pop(COMPLETE)(reply.status, b"")
        return other._replace(delay=reply.delay)

    def _balance(self) -> Reply:
        engine = self._engine
        return Reply(200, balance_body(engine.reported_balance(), engine.settings.currency))

    def _call(
        self,
        asked: ApiRequest,
        request: Request,
        route: Route,
        variables: dict[str, Any],
        *,
        races: Sequence[WebhooksFirst],
    ) -> Response | Reply | None:
        try:
            self._core.scopes.begin(asked)
            found = respond(
                self._core.state.part(FirstCalls, FirstCalls),
                route,
                request,
                variables,
                asked,
                has_failed=self._has_failed,
            )
            if races or route.webhooks_first:
                self._engine.catch_up()  # an autopilot may deliver at once
            for race in races:
                self._deliver(asked, race)
        except HTTPException as error:  # abort(422), or a body that is not JSON
            return error.get_response(request.environ)
        finally:
            self._core.scopes.end(asked)
        if isinstance(found, Repeat):
            asked._repeat = found
        response = found.reply if isinstance(found, Repeat) else found
        if response is None:
            return None
        if route.webhooks_first:
            asked._has_webhooks_first = True
        if races or route.webhooks_first:
            asked._marks = tuple(race._mark for race in races)  # the client may not wait for it
            self._attempt(asked, request.environ.get("werkzeug.socket"))
        return response

    def _attempt(self, asked: ApiRequest, client: socket | None) -> None:
        asked._awaits_webhooks = True
        try:
            self._engine.attempt_now(apart=not asked.in_process)
        except Exception as error:  # a receiver's error, not the route's
            self._core.state.errors.append(error)
        asked._is_given_up = has_hung_up(client)
        asked._awaits_webhooks = False

    def _attempt_during(self, asked: ApiRequest, client: socket | None) -> None:
        # Once the response is known, so that it can't show what the app does with the event.
        queue = self._engine.outbox.queue
        if attempts := self._engine.drain.take_for(asked):
            with queue.holding_ready():
                queue.ready.extend(attempts)
                self._attempt(asked, client)

    def _has_failed(self, asked: Record) -> bool:
        messages = (effect._message for effect in self._core.state.history.effects_of(asked))
        return any(message is not None and message.state == "failed" for message in messages)

    def _deliver(self, asked: ApiRequest, race: WebhooksFirst) -> None:
        # This replaces the next deliveries that the test asks for.
        with self._core.lock:
            caused = (record._message for record in self._core.state.history.effects_of(asked))
            for message in dict.fromkeys(one for one in caused if one and one.state == "sent"):
                early = 0
                with suppress(IllegalTransition):  # the phone may be off
                    for devices in race._devices:
                        verb = Deliver(message, devices)
                        now = self._core.now()
                        self._engine.executor.execute(verb, "deliver()", race.line, now)
                        early += devices
                if early:
                    self._core.state.early[message] = early

    def _not_found(self, asked: ApiRequest) -> Reply:
        methods = self._routes.methods(asked.path)
        if not methods or asked.method in methods:  # all routes for this method passed it on
            served = ", ".join(self._routes.shown())
            known = f"your routes: {served}" if served else _NO_ROUTE
            asked._hint = f" ({known})"
            return _NOT_FOUND
        return _NOT_ALLOWED._replace(headers=(("Allow", ", ".join(methods)),))

    # The faults of a request

    def _due(self, method: str, path: str, now: int, *, calls_route: bool) -> list[ApiFault]:
        # The last of the returned faults decides the response. Each fault counts every matching
        # request, even if another fault responds.
        fired: list[ApiFault] = []
        with self._core.lock:
            due = [
                fault
                for fault in self._faults
                if not fault._is_removed
                and (calls_route or not fault._is_race)
                and fault._is_due(method, path)
            ]
            for fault in sorted(due, key=lambda fault: not fault._is_race):
                if fault._is_over(now):
                    fault.remove()
                    continue
                fired.append(fault)
                if fault._decides:
                    break
            if fired and not fired[-1]._takes_effect:  # without a call, there are no webhooks
                fired = [fault for fault in fired if not fault._is_race]
            for fault in fired:
                fault._fire()
        return fired

    def _take_back(self, faults: list[ApiFault]) -> None:
        # The route raised, so there was no response to damage.
        with self._core.lock:
            for fault in faults:
                fault._take_back()
            faults.clear()

    # Faults

    def fail(
        self,
        status: int = 503,
        *,
        code: str | None = None,
        message: str | None = None,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
        **where: Unpack[RequestFilter],
    ) -> ApiFault:
        """Respond with an error, without running any route.

        Args:
            status: The status of the response.
            code: The ``error.code``; if None, the name of the status, such as
                ``SERVICE_UNAVAILABLE``.
            message: The ``error.message``; the same as the code if None.
            body: The whole body, in place of the error of §7.1; a mapping is written as JSON. If
                it begins with ``<``, its ``Content-Type`` is ``text/html``.
            headers: Further headers, such as ``{"Retry-After": "30"}``.
            **where: Selects the requests; see :class:`AccountApi`.
        """
        return self._add(Fail(status, code, message, body, headers), where)

    def delay(
        self,
        duration: timedelta | float,
        **where: Unpack[RequestFilter],
    ) -> ApiFault:
        """Respond late, by a ``timedelta`` or seconds of real time, a minute at most.

        The request takes effect first, and other requests are not held up. Only a response over a
        socket is late; in process, nothing waits.
        """
        return self._add(Delay(duration), where)

    def disconnect(
        self,
        **where: Unpack[RequestFilter],
    ) -> ApiFault:
        """Close the connection without a response, and without running any route.

        In process, the client gets a ``ConnectionResetError``.
        """
        return self._add(Disconnect(), where)

    def lose_response(
        self,
        *,
        status: int | None = None,
        body: Body | None = None,
        reset: bool = False,
        **where: Unpack[RequestFilter],
    ) -> ApiFault:
        """Carry out the request, and close the connection without a response.

        The message is sent, money is held and events are queued, but the client can't know. In
        process, the client gets a ``ConnectionResetError``.

        Args:
            status: Respond with this error instead, as a gateway does that has timed out.
            body: Respond with this body instead, as for :meth:`fail`; with 200 if no ``status`` is
                given.
            reset: Reset the connection in place of closing it.
            **where: Selects the requests; see :class:`AccountApi`.
        """
        return self._add(LoseResponse(status, body, reset=reset), where)

    def truncate(
        self,
        length: int | None = None,
        **where: Unpack[RequestFilter],
    ) -> ApiFault:
        """Cut the body off after ``length`` bytes, or after half of it if None.

        The headers promise the whole body. The request takes effect first.
        """
        return self._add(Truncate(length), where)

    def rate_limit(
        self,
        retry_after: timedelta | float | str,
        *,
        as_date: bool = False,
        **where: Unpack[RequestFilter],
    ) -> ApiFault:
        """Respond with 429 and ``Retry-After`` until ``retry_after`` has passed.

        In the meantime, no route runs.

        Args:
            retry_after: A ``timedelta`` or seconds on the fake's clock, counted from the first
                request that gets a 429; or the date at which the limit ends, as HTTP writes it:
                ``"Wed, 21 Oct 2026 07:28:00 GMT"``.
            as_date: Whether the header is a date in any case, not a number of seconds.
            **where: Selects the requests; see :class:`AccountApi`.
        """
        return self._add(RateLimit(retry_after, as_date=as_date), where)

    def webhooks_first(
        self,
        *,
        delivered: Delivered = False,
        **where: Unpack[RequestFilter],
    ) -> ApiFault:
        """Respond to a call of your route only after posting the webhooks that the call causes.

        A fast service wins this race. A route with ``webhooks_first=True`` always does so; this
        fault does it for single calls. Only calls of your own routes count.

        Args:
            delivered: Whether to deliver the message before the response as well, in place of the
                next delivery in your test: to one device if True, else to that many. In place of
                several deliveries, pass a tuple.
            **where: Selects the requests; see :class:`AccountApi`.
        """
        return self._add(WebhooksFirst(delivered=delivered), where)

    def _add(self, fault: ApiFault, where: RequestFilter) -> ApiFault:
        self._engine.refuse_closed()
        fault._set_up(where, calling_line(3))
        fault.moment = now = self._engine.catch_up()
        if isinstance(fault, RateLimit) and fault._end is not None and fault._end <= now:
            raise ValueError(f"retry_after: expected a date after {instant(now)}, the fake's time")
        self._engine.await_retries()  # an app whose call fails may refuse the event that it handles
        with self._core.lock:  # so that no reset comes between
            self._faults.append(self._core.state.history.add(fault))
        return fault
