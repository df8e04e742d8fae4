"""``fake.webhooks``: endpoints, attempts and faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from operator import add
from os import PathLike
from types import MappingProxyType
from typing import Any, Literal, Unpack, overload

from ..base.arguments import (
    check_bool,
    check_choice,
    check_function,
    check_int,
    check_mapping,
    check_str,
    cited,
    unexpected,
)
from ..base.calling_line import Line, calling_line
from ..base.errors import ChatFakeError, InjectedError
from ..base.extras import extra
from ..base.views import counted
from ..engine.engine import Engine
from ..engine.performer import Pending
from ..engine.verbs import Emit, EmitEvent, Redeliver
from ..transport.client.lifespan import Lifespan
from ..transport.client.portal import Portal
from ..transport.client.watchdog import watchdog
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint, PathFunction, Signer, WebhookRequest, retry_delays
from ..webhooks.events import Event
from ..webhooks.faults import (
    Concurrently,
    Crash,
    Delay,
    Duplicate,
    DuringCall,
    Error,
    Evolve,
    Fault,
    Lose,
    LoseResponse,
    Refuse,
    Reorder,
    Sign,
    Tamper,
)
from ..webhooks.signing import OwnSigner, check_signer, retired, rotated
from ..webhooks.synthetic import custom_event, edits
from .config import ChatFakeConfig
from .endpoint_arguments import (
    check_asgi,
    event_types,
    headers_of,
    refuse_other_names,
    target_of,
)
from .event_filters import EventFilter, checked
from .forgery_check import FORGING, ForgeryCheck
from .handles import Message, state_of
from .paused import Concurrent, Paused, refuse_one_by_one
from .receiver import Receiver
from .recorded_events import check_file, check_span, recorded_events
from .snapshots import Snapshot, check_snapshot


class Webhooks:
    """A fake's webhooks: endpoints, attempts and faults (§4.2, §6).

    Example::

        chat_fake.webhooks.connect(wsgi=app, path="/hooks/chat")
        chat_fake.webhooks.duplicate(status="delivered")
        chat_fake.send_text("Hello").deliver()
        assert [attempt.status_code for attempt in chat_fake.webhooks.attempts] == [200, 200, 200]

    The description says nothing about the order, retries and signatures of events (§5 rule 4, §6
    rule 4), so faults are assumed. They hold events back until the next *barrier* at the latest:
    ``settle()``, a clock move or, in sync mode, an assertion of the fake. Only :meth:`delay` and
    ``duplicate(pause=)`` wait for the clock. Every method that returns a :class:`Fault` takes these
    arguments in addition to its own:

    - ``times``: how many events to affect, 1 by default; if None, all until the fault is removed.
    - ``start``: the first matching event to affect; 1 is the next.
    - ``message``, ``status``, ``type``: affect only events of this message, with this status, or of
      this type.
    - ``endpoint``: affect only this endpoint.

    For ``times`` and ``start``, an event counts once for each endpoint, at its first attempt.
    :meth:`duplicate`, :meth:`tamper`, :meth:`sign` and :meth:`evolve` combine with every other
    fault; if several of the others match an attempt, the one that was set up first wins.

    Each of these methods returns the fault, which is also a context manager that removes the fault
    after the block. Each raises ``ValueError`` for an argument that is out of range or belongs to
    another fake.
    """

    def __init__(self, engine: Engine, config: ChatFakeConfig, portal: Portal) -> None:
        self._engine = engine
        self._config = config
        self._portal = portal
        self._forgery_check: ForgeryCheck | None = None  # the last one

    def __repr__(self) -> str:
        outbox = self._engine.outbox
        return (
            f"<Webhooks: {counted(len(outbox.endpoints), 'endpoint')}, "
            f"{counted(len(outbox.events), 'event')}, {counted(len(outbox.attempts), 'attempt')}>"
        )

    # Endpoints

    @refuse_other_names
    def connect(
        self,
        url: str | None = None,
        /,
        *,
        wsgi: Callable[..., Any] | None = None,
        asgi: Callable[..., Any] | None = None,
        handler: Callable[[WebhookRequest], object] | None = None,
        path: str | PathFunction | None = None,
        client: tuple[str, int] | None = None,
        headers: Mapping[str, str] | None = None,
        events: Iterable[str] | None = None,
        raise_exceptions: bool = True,
        retry_after: Iterable[timedelta | float] | None = None,
        signer: Signer | None = None,
        restart: Callable[[], Callable[..., Any]] | None = None,
        disable_after: int | None = None,
    ) -> Endpoint:
        """Post events to an endpoint from now on: a URL, an in-process app, or a function.

        Args:
            url: The URL of a running server: ``http`` or ``https``, over one keep-alive connection.
            wsgi: A WSGI app, called in process: in the test's thread or, in async mode, in one of
                the fake's threads.
            asgi: An ASGI app, called in process: in async mode, on the test's own loop; in sync
                mode, on the fake's loop, or on the session's (``chat_fake_loop_scope``).
            handler: A function, or an async one, that takes a
                :class:`~pytest_chatfake.WebhookRequest` and returns None (200), a status,
                ``(status, body)``, or a response.
            path: The path to post to; only with ``wsgi`` or ``asgi``. Default ``"/"``. If each
                message has its own callback URL, pass a function that takes the
                :class:`~pytest_chatfake.Event` and returns the path (assumed); with a URL, it
                replaces the URL's path.
            client: The caller's IP address and port; only with ``wsgi`` or ``asgi``. Default
                ``("127.0.0.1", 50000)`` (assumed). Pass a public address to find out whether
                your app only works because it trusts callers from its own machine.
            headers: The headers of every attempt. In process, ``Host`` is ``testserver`` unless you
                give another one.
            events: The event types to listen for (§4.2): the service's one type if None, and every
                type if ``"*"``.
            raise_exceptions: Whether an exception from an app or a function is raised in the test.
                If not, it is recorded in ``attempt.error``, and the attempt counts as failed. An
                endpoint with retries only records exceptions, except a function's
                ``AssertionError``.
            retry_after: When failed attempts are retried, in place of the configuration's setting.
            signer: Signs webhooks, in place of the configuration's.
            restart: A function that makes a new app after a :meth:`crash`, as in ``lambda:
                create_app(db)``; not with a URL. If None, the app's memory survives a crash.
                If the :meth:`lifespan` of the stopped app is running, that of the new one has to
                be running too.
            disable_after: After this many failed attempts in a row, retries included, the endpoint
                is disabled: its retries are cancelled, and events are recorded but not posted,
                until ``endpoint.enable()`` (assumed). If None, it is never disabled.

        Returns:
            The endpoint; its ``disconnect()`` stops the posting.

        Raises:
            TypeError: No target or more than one is given, or an ASGI app is given as
                ``wsgi=``, or vice versa.
            ValueError: The URL, the path or the client is invalid.
            ClosedError: The fake is closed.
        """
        self._engine.refuse_closed()
        config = self._config
        target, name, label, place = target_of(
            url,
            wsgi,
            asgi,
            handler,
            path,
            client,
            portal=self._portal,
            timeout=self._engine.settings.timeout,
        )
        if restart is not None:
            check_function(restart, "restart", "lambda: create_app()")
            if not target.in_process:
                raise TypeError("restart= goes with wsgi=, asgi= or handler= only, not with a URL")
        check_bool(raise_exceptions, "raise_exceptions")
        check_signer(signer)
        if disable_after is not None:
            check_int(disable_after, "disable_after", 1)
        endpoint = Endpoint(
            name=name,
            label=label,
            headers=MappingProxyType(headers_of(headers)),
            events=event_types([config.naming.event_type] if events is None else events),
            raise_exceptions=raise_exceptions,
            _target=target,
            _retries=retry_delays(config.retry_after if retry_after is None else retry_after),
            _signer=config.signer if signer is None else signer,
            _is_test_function=handler is not None,
            _is_receiver=isinstance(handler, Receiver),
            _restart=restart,
            _disable_after=disable_after,
            _line=calling_line(),
            _path=place,
            _note=self._note,
            _core=self._engine.core,
        )
        self._engine.outbox.endpoints.connect(endpoint)
        watchdog.add(self._engine.drain.overdue)
        return endpoint

    def _note(self, what: str, line: Line) -> None:
        self._engine.refuse_closed()
        self._engine.note(what, line)

    def receiver(self, *, events: Iterable[str] | None = None) -> Receiver:
        """Connect a receiver that records webhooks, for tests without an app.

        Args:
            events: The event types to listen for, as for :meth:`connect`.
        """
        receiver = Receiver(self._engine)
        receiver.endpoint = self.connect(handler=receiver, events=events)
        return receiver

    def disconnect(self) -> None:
        """Disconnect all endpoints."""
        for endpoint in self._engine.outbox.endpoints:
            endpoint.disconnect()

    def lifespan(self, app: Callable[..., Any]) -> Lifespan:
        """Run an ASGI app's start-up and shutdown around a block.

        Use ``with`` in sync mode, and ``async with`` in async mode, on the test's own loop.

        Args:
            app: The ASGI app that you also connect, or the one inside its middleware.

        Raises:
            TypeError: ``app`` is not an ASGI app, or the block is entered with ``with`` in async
                mode or with ``async with`` in sync mode.
        """
        self._engine.refuse_closed()
        check_asgi(app, "app")
        block = Lifespan(app, portal=self._portal, check=self._engine.enter)
        self._engine.expect_entry(block, "lifespan(app)")
        return block

    @property
    def attempts(self) -> Sequence[Attempt]:
        """The attempts so far, in order. Failed attempts that a test reads don't fail the test."""
        self._engine.ensure_readable()
        outbox = self._engine.outbox
        outbox.seen = len(outbox.attempts)
        return tuple(outbox.attempts)

    # Order and loss

    def paused(self) -> Paused:
        """Hold events back inside a block, and release them in any order.

        Write ``with fake.webhooks.paused() as queue:``, or ``async with`` in async mode. The queue
        is a sequence of events; without an endpoint, it stays empty. ``queue.release(order, seed)``
        posts all of them in the order ``"emitted"`` (the default), ``"reversed"`` or
        ``"shuffled"``; a list of indices selects events and their order. At the end of the block,
        the rest are posted in the order in which they were emitted.

        Raises:
            ClosedError: The fake is closed.
            RuntimeError: The block is entered inside another one.
            TypeError: The block is entered with ``with`` in async mode, or with ``async with`` in
                sync mode.
        """
        self._engine.refuse_closed()
        return Paused(self._engine)

    def duplicate(
        self,
        *,
        after: int | None = None,
        pause: timedelta | float | None = None,
        new_id: bool = False,
        **where: Unpack[EventFilter],
    ) -> Fault:
        """Post an event twice, by default with the same id and the same bytes.

        Args:
            after: How many other attempts to post events are made in between, by default none.
                There are fewer if the next barrier (see :class:`Webhooks`) comes first.
            pause: How much time passes in between, in place of ``after``: a ``timedelta`` or
                seconds. The next ``settle()`` moves the clock that far, unless the test does.
            new_id: Whether the second attempt has a new event id, derived from the first; the other
                bytes stay the same.
            **where: Selects the events; see :class:`Webhooks`.
        """
        return self._fault(Duplicate(after, pause, new_id=new_id), where)

    @overload
    def concurrently(self) -> Concurrent: ...
    @overload
    def concurrently(
        self,
        *,
        by: int,
        line: str | None = None,
        before: Callable[..., Any] | str | None = None,
        after: Callable[..., Any] | str | None = None,
        nth: int | None = 1,
        held: Literal["earlier", "later"] = "earlier",
        **where: Unpack[EventFilter],
    ) -> Fault: ...
    def concurrently(
        self,
        *,
        by: int | None = None,
        line: str | None = None,
        before: Callable[..., Any] | str | None = None,
        after: Callable[..., Any] | str | None = None,
        nth: int | None = 1,
        held: Literal["earlier", "later"] = "earlier",
        **where: Unpack[EventFilter],
    ) -> Concurrent | Fault:
        """Post events at the same time (assumed).

        Write ``with fake.webhooks.concurrently():``, or ``async with`` in async mode: at the end of
        the block, all its events are posted at the same time. ASGI apps and async functions run as
        tasks on one loop. URLs and WSGI apps are called in threads, so the order may differ from
        run to run. Plain functions and receivers handle one event at a time: a block calls them
        first, and with ``by``, the fault never affects their events.

        Args:
            by: Without a block, how many other attempts, at any endpoint, an event waits for, as
                with :meth:`reorder`. It is posted at the same time as the last of them or, if that
                one can't overlap with it, as the next that can. With 0, an event is posted twice at
                the same time. If the app refuses one of the two attempts, it is retried before
                anything else happens, even without ``retry_after``.
            line: Let the two attempts meet. With ``by=0``, the one that first comes to this line of
                an in-process app is held until the other one is there as well, has ended, or 0.2
                real seconds are over (with a short ``timeout``, a fifth of it). With another
                ``by``, one is held there for a second at most, and the other one only begins then.
                Such a line awaits, as in :meth:`crash`.
            before: Let them meet before a call of this function, as in :meth:`crash`, or of a
                database's method: ``sqlite3.Connection.execute``. A plain function that runs on an
                event loop holds nothing.
            after: Let them meet after such a call.
            nth: Let them meet at the nth time that each comes to the point; with ``by=0``, None
                means each time.
            held: Whose attempt is held if ``by`` isn't 0: that of the ``"earlier"`` event, or that
                of the ``"later"`` one.
            **where: Selects the events if ``by`` is given; see :class:`Webhooks`.

        Raises:
            ChatFakeError: For a block, only plain functions and receivers are connected, or only
                they got its events.
            ClosedError: The fake is closed.
            TypeError: ``where`` or a point is given without ``by``, or several points are; or the
                block is entered with ``with`` in async mode or with ``async with`` in sync mode.
            ValueError: ``held`` is given with ``by=0``, or ``nth=None`` with another ``by``.
            RuntimeError: The block is entered inside another one, or inside ``paused()``.
        """
        given = {"line": line, "before": before, "after": after}
        points = [name for name, value in given.items() if value is not None]
        points += ["nth"] * (nth is None or check_int(nth, "nth", 1) != 1)
        points += ["held"] * (check_choice(held, "held", ["earlier", "later"]) == "later")
        if by is not None and points:
            crashes = extra("exploring.crashes", "concurrently()")
            point = crashes.meet_at(by, nth, held, self._engine.settings.timeout, **given)
            return self._fault(Concurrently(by, *point), where)
        if by is not None:
            return self._fault(Concurrently(by), where)
        if where or points:
            text = f"concurrently() takes {', '.join([*points, *where])} only with by="
            raise TypeError(f"{text}, as in concurrently(by=1, start=2)")
        self._engine.refuse_closed()
        refuse_one_by_one(self._engine.outbox.endpoints)
        return Concurrent(self._engine)

    def delay(self, duration: timedelta | float, **where: Unpack[EventFilter]) -> Fault:
        """Delay an event, and any duplicate of it, by a duration on the fake's clock.

        Args:
            duration: A ``timedelta`` or seconds.
            **where: Selects the events; see :class:`Webhooks`.
        """
        return self._fault(Delay(duration), where)

    def tamper(
        self, change: Callable[[bytes], bytes] | None = None, **where: Unpack[EventFilter]
    ) -> Fault:
        """Change an event's body after it is signed.

        If several of these faults match an event, they apply in turn.

        Args:
            change: A function that takes the body and returns the changed one; if None, a space is
                added.
            **where: Selects the events; see :class:`Webhooks`.
        """
        return self._fault(Tamper(change), where)

    def sign(self, signer: Signer, **where: Unpack[EventFilter]) -> Fault:
        """Sign an event with another signer: with a wrong secret, a stale time, or not at all.

        If several of these faults match an event, the last one set up signs it.

        Args:
            signer: The signer to use in place of the usual one; ``lambda request: {}`` leaves the
                signature out.
            **where: Selects the events; see :class:`Webhooks`.
        """
        return self._fault(Sign(signer), where)

    def evolve(
        self,
        *,
        unknown: str | None = None,
        how: Literal["value", "type", "event"] = "value",
        **where: Unpack[EventFilter],
    ) -> Fault:
        """Write events as a later version of the service might, with fields that don't exist yet.

        The envelope, the resource and its conversation each get a field ``addedLater``, and their
        keys change order (assumed). If ``outbound=`` writes the event, every JSON object in it is
        changed like that, also in JSON inside JSON, and a form gets a field. The bodies in
        ``fake.events`` stay the same, and so does a body that is neither JSON nor a form.

        Args:
            unknown: A field of the message that gets an unknown value instead, in events that have
                the field (assumed): ``"conversation.originType"``, ``"conversation.type"``,
                ``"errorCode"``, ``"status"`` or ``"type"``. Or a field of the posted body, as
                failures print it: ``"body.entry[0].status.group"``.
            how: What is unknown about a field of the posted body: its ``"value"``, its ``"type"``
                (a number is written as text, or a text as a number), or the ``"event"`` around it:
                the body, a list, then begins with a copy of the event, with an unknown value.
            **where: Selects the events; see :class:`Webhooks`. ``times`` is None by default, so
                every event is affected until the fault is removed.

        Raises:
            ValueError: ``unknown`` isn't one of these fields, or ``how`` is given with another one
                than a field of the posted body.
        """
        check_choice(how, "how", ("value", "type", "event"))
        change = None
        if isinstance(unknown, str) and re.match(r"body[.\[]", unknown):
            change = extra("exploring.posted_fields", "evolve()").change_of(unknown, how)
        elif how != "value":
            raise ValueError(
                f"how: expected 'value', unless unknown= is a field of the posted body, such as "
                f"'body.status', got {how!r}"
            )
        return self._fault(Evolve(unknown, self._config.naming.message_key, how, change), where)

    # Faults that decide whether and when an attempt is made

    def reorder(self, *, by: int = 1, **where: Unpack[EventFilter]) -> Fault:
        """Post an event after others that were queued behind it (assumed).

        The event waits at most until the next barrier (see :class:`Webhooks`).

        Args:
            by: How many other attempts, at any endpoint, the event waits for; at least 1.
            **where: Selects the events; see :class:`Webhooks`.
        """
        return self._fault(Reorder(by), where)

    def during_call(self, **where: Unpack[EventFilter]) -> Fault:
        """Post an event during your app's next API call, before the response (assumed).

        Any call counts, the balance query as well, except one that your app makes while it handles
        an event. The response doesn't wait longer than the attempt's ``timeout``. The event waits
        at most until the next barrier (see :class:`Webhooks`).

        Args:
            **where: Selects the events; see :class:`Webhooks`.
        """
        return self._fault(DuringCall(), where)

    def lose_response(self, **where: Unpack[EventFilter]) -> Fault:
        """Lose the app's response to an event that it has handled, and retry the event (assumed).

        The service sees a failure, and retries the event at the next ``settle()``, assertion or
        clock move, even without ``retry_after``.

        Args:
            **where: Selects the events; see :class:`Webhooks`.
        """
        return self._fault(LoseResponse(), where)

    def refuse(self, **where: Unpack[EventFilter]) -> Fault:
        """Refuse an event before it reaches the app, and retry the event (assumed).

        The retry is made at the next barrier (see :class:`Webhooks`), even without ``retry_after``.

        Args:
            **where: Selects the events; see :class:`Webhooks`.
        """
        return self._fault(Refuse(), where)

    def crash(
        self,
        *,
        line: str | None = None,
        before: Callable[..., Any] | str | None = None,
        after: Callable[..., Any] | str | None = None,
        nth: int = 1,
        **where: Unpack[EventFilter],
    ) -> Fault:
        """Crash the app while it handles an event, and retry the event (assumed).

        The app has to run in process. The service sees a closed connection and, unless the response
        was complete, retries the event at the next barrier (see :class:`Webhooks`), even without
        ``retry_after``. What the app keeps in memory survives, unless the app was connected with
        ``restart=``; its locks and transactions end. If an attempt doesn't reach the crash point,
        the next attempt can crash instead.

        Args:
            line: A line of the app that awaits, such as ``"app.py:41"``. When the app suspends at
                that line, all tasks that the attempt has started are cancelled.
            before: A function that is written in Python, or its dotted name, such as
                ``"shop.queue.put"``: the app crashes when it calls the function, before the
                function has done anything.
            after: Like ``before``, but the app crashes once the function has returned.
            nth: Crash at the nth suspension at the line, or at the nth call of the function, in an
                attempt.
            **where: Selects the events; see :class:`Webhooks`.

        Raises:
            TypeError: Not exactly one of ``line``, ``before`` and ``after`` is given, or a function
                is not written in Python.
        """
        crashes = extra("exploring.crashes", "crash()")
        point = crashes.crash_at(nth, line=line, before=before, after=after)
        return self._fault(Crash(*point), where)

    def error(
        self,
        *,
        before: Callable[..., Any] | str,
        raises: type[Exception] | str = InjectedError,
        nth: int = 1,
        **where: Unpack[EventFilter],
    ) -> Fault:
        """Raise an exception at a call inside the app, as if its database couldn't be reached.

        The app has to run in process. If the exception escapes the app, the service sees a 500.
        Unless the app responds with 2xx, the event is retried at the next barrier (see
        :class:`Webhooks`), even without ``retry_after`` (assumed). If the app doesn't call
        the function in an attempt, the fault waits for the next one.

        Args:
            before: A function that is written in Python, or its dotted name: a call raises the
                exception instead of running. But an ``__exit__`` does run, as if its block had
                raised, so that it rolls back.
            raises: An exception class, or its dotted name, such as ``"sqlite3.OperationalError"``.
            nth: Raise the exception at the nth call of the function in an attempt.
            **where: Selects the events; see :class:`Webhooks`.

        Raises:
            TypeError: The function is not written in Python, or ``raises`` isn't a subclass of
                ``Exception``.
        """
        point = extra("exploring.crashes", "error()").error_at(nth, before, raises)
        return self._fault(Error(*point), where)

    def lose(self, **where: Unpack[EventFilter]) -> Fault:
        """Lose an event: the endpoint never gets it.

        Args:
            **where: Selects the events; see :class:`Webhooks`.
        """
        return self._fault(Lose(), where)

    def _fault(self, fault: Fault, where: EventFilter) -> Fault:
        concerned = checked(where, f"{fault.kind}()", self._engine)
        fault._set_up(concerned, calling_line(3))
        fault.moment = self._engine.catch_up()
        with self._engine.core.lock:  # so that neither a reset nor a verb comes between
            state = self._engine.state
            state.faults.append(state.history.add(fault))
        return fault

    # Past events, and events that the service would not send

    def replay(
        self,
        path: str | PathLike[str],
        *,
        timing: Literal["recorded", "at once"] = "recorded",
    ) -> Pending[None]:
        """Post recorded events to the endpoints, in the file's order (assumed).

        Bodies are posted byte for byte, but a ``body`` that is a JSON object, not a string, is
        encoded again. The events get new signatures. They belong to no message of this fake, so
        they cost nothing, and the timeline calls their messages ``r1``, ``r2`` and so on. Faults
        match the recorded status, as in ``lose(status="delivered")``. ``outbound=`` is not called,
        because the bodies have your provider's shape already. If ``outbound=`` is configured, a
        body without ``type`` counts as a status event.

        Args:
            path: A file of JSON or JSON lines: bodies as they were received, or objects with
                ``body`` and ``at``, the moment when the body arrived.
            timing: With ``"recorded"``, the first event is posted now. Before each later event, the
                clock moves by the time since the previous event, according to ``at`` or else
                ``createTime``; it never moves back. With ``"at once"``, time does not move.

        Raises:
            ValueError: ``timing`` is unknown, or would move time past the end of the calendar; or
                an entry is not JSON, or not an event (the error names the file and the line).
                In that case, nothing has been posted.
            OSError: The file can't be read.
        """
        check_choice(timing, "timing", ("recorded", "at once"))
        engine = self._engine
        engine.refuse_closed()
        check_file(path)
        naming, has_form = self._config.naming, self._config.outbound is not None
        events = recorded_events(path, naming, naming.event_type if has_form else None)
        if timing == "recorded":
            check_span(events, engine.time.read())
        latest: int | None = None
        for event, at in events:
            if at is not None and timing == "recorded":
                if latest is not None and at > latest:
                    engine.move_time(partial(add, at - latest), "replay()")
                latest = max(at, latest or at)
            engine.perform(EmitEvent(None, event), "replay()")
        return engine.pending()

    def redeliver(self, event: Event) -> Pending[None]:
        """Post a past event again, byte for byte, with a new signature and no faults (assumed).

        Args:
            event: One of ``fake.events``.

        Raises:
            TypeError: The argument is not an event.
            ValueError: The event belongs to another fake.
        """
        if not isinstance(event, Event):
            raise TypeError(unexpected("event", "one of fake.events", event))
        self._engine.perform(Redeliver(None, event), "redeliver()")
        return self._engine.pending()

    def emit(
        self,
        message: Message,
        status: str,
        *,
        changes: Mapping[str, object] | None = None,
        remove: Iterable[str] = (),
        raw: str | bytes | None = None,
    ) -> Pending[None]:
        """Emit an event that the service would not send, with no effect on status or money.

        The body is that of an event with this status, plus your changes. A delivery or failure that
        never happened is dated now.

        Fields are named by their path: ``"totalPrice"`` or ``"conversation.expireTime"`` in the
        message, ``"event.id"`` in the envelope.

        Args:
            message: A message that was sent or rejected.
            status: Any string; an unknown status has the fields of a ``sent`` event. Once an
                unknown status has been emitted, filters and expectations accept it.
            changes: New values of fields, or new fields.
            remove: Fields to leave out.
            raw: A whole body to post instead, which may be cut off, huge, or not JSON.

        Raises:
            ValueError: A field to remove doesn't exist, or ``raw`` is given with ``changes`` or
                ``remove``.
        """
        check_str(status, "status")
        edit = edits(changes, remove, raw, self._config.naming.message_key)
        changed = (changes or {}).get("event.type")
        routed = changed if isinstance(changed, str) else self._config.naming.event_type
        verb = Emit(state_of(message, self._engine), status, edit, routed)
        self._engine.perform(verb, "emit()")
        return self._engine.pending()

    def emit_event(
        self,
        type: str,  # noqa: A002 - as §2.2 names it
        resource: Mapping[str, object] | None = None,
        /,
        *,
        key: str | None = None,
        id: str | None = None,  # noqa: A002 - likewise
        body: Mapping[str, object] | str | bytes | None = None,
    ) -> Pending[None]:
        """Emit an event of another type, which belongs to no message and costs nothing (assumed).

        The description has one type (§6), so you define the shape of the others. The event goes to
        endpoints that listen for its type: connect the app with ``events="*"``. If no endpoint
        listens, the test fails when its function ends. Signatures, retries, faults and
        :meth:`redeliver` work as usual.

        Args:
            type: The event's type.
            resource: The object next to ``id``, ``type``, ``apiVersion`` and ``createTime`` in the
                envelope of §2.2; an empty object if None.
            key: The resource's key. If None, it is the type without its last part, in camel case:
                ``chatInboundMessage`` for ``chat.inbound_message.received``.
            id: The event's id. If None, it is the ``id`` of a mapping that is passed as ``body``,
                or else the next id of a separate sequence.
            body: A whole body to post in place of the envelope.

        Raises:
            TypeError: A value can't be written as JSON.
            ValueError: An argument is empty, the key belongs to the envelope, or ``body`` is given
                with ``resource`` or ``key``.
        """
        draft = custom_event(type, resource, key, id, body)
        self._engine.perform(EmitEvent(None, draft), "emit_event()")
        return self._engine.pending()

    # Signatures

    def rotate_secret(self, secret: str | bytes) -> None:
        """From now on, sign with a new secret, as a provider does in a rotation (assumed).

        The old secrets sign as well, if the header has room for several signatures: see
        ``HmacSigner(rotation=)``. All secrets stay valid until :meth:`retire_secret` or a reset.

        The rotation takes effect immediately, even in async mode, at all endpoints that are
        connected now with an :class:`~pytest_chatfake.HmacSigner` or a
        :class:`~pytest_chatfake.StandardWebhooksSigner`. The signer object itself doesn't change,
        and endpoints that are connected with it later sign with its own secrets. Queued events and
        retries are signed when they are posted.

        Args:
            secret: The new secret, in the signer's format; its signature comes first.

        Raises:
            ValueError: The secret is empty, or already in use.
            ChatFakeError: No endpoint is connected with such a signer.
            ClosedError: The fake is closed.
        """
        self._change_secrets("rotate_secret()", lambda signer: rotated(signer, secret))

    def retire_secret(self) -> None:
        """From now on, sign with the newest secret only, at all endpoints connected so far.

        After a cut-over, this only lets the forgery check use the old secret.

        Raises:
            ChatFakeError: No endpoint has several secrets.
            ClosedError: The fake is closed.
        """
        self._change_secrets("retire_secret()", retired)

    def _change_secrets(self, what: str, change: Callable[[OwnSigner], OwnSigner]) -> None:
        self._engine.refuse_closed()
        endpoints = self._engine.outbox.endpoints
        signers = {
            endpoint: change(endpoint.signer)
            for endpoint in endpoints
            if isinstance(endpoint.signer, OwnSigner)
        }
        if all(endpoint.signer is signer for endpoint, signer in signers.items()):
            raise ChatFakeError(
                f"webhooks.{what}: expected a connected endpoint with a secret to change, got "
                f"none. Write connect(wsgi=app, signer=HmacSigner(secret)), and rotate_secret() "
                f"before retire_secret()"
            )
        self._engine.note(f"webhooks.{what}", calling_line())
        for endpoint, signer in signers.items():
            self._engine.state.signers[endpoint] = [*endpoint._signers, signer]

    def assert_rejects_forgeries(
        self, snapshot: Snapshot | None = None, *, known: Mapping[str, str] | None = None
    ) -> Pending[None]:
        """Assert that every app that is connected with a signer refuses forged webhooks.

        The fake settles first. Then it takes the last event of each type that the app accepted, and
        posts it with new ids: first a genuine copy, which the app has to accept, then forgeries. If
        the posted body has no event id, a copy would be a duplicate, so the same event of another
        message, which doesn't exist, is posted instead; if the app refuses that, another status of
        its own message, and then the copy.

        Each forgery has one flaw: it is unsigned, lacks one of several headers, has empty or
        malformed headers, has a wrong signature (of the same form, bare, or with another scheme's
        prefix), is signed with another secret (a retired one, if there is one), has a timestamp a
        day in the past or in the future, was changed after signing, or has a signature that is cut
        off or belongs to another event. The app has to refuse each with a status from 400 to 499.
        Forgeries that make no sense for the signer are left out, and so are those that get a 429,
        because a rate limit proves nothing. The timeline and a failure name them.

        Forgeries are not events of the fake: they cost nothing, don't move the clock and are not
        retried, and no fault, pause or exploration affects them.

        Args:
            snapshot: As for :meth:`ChatFake.assert_idempotent`. A forgery must not change it. If
                the snapshot changes, the forgery is repeated, to tell its effect from the app's own
                background work. If None, only the responses count.
            known: Reasons why some forgeries get through for now, by the names that a failure
                shows: ``{"signed a day ahead": "the SDK only checks the past"}``. If one of them
                no longer gets through, that counts as a failure.

        Raises:
            AssertionError: Forgeries got through; the error has a line for each.
            ChatFakeError: No app is connected with a signer, or such an app got no event, refused
                a genuine one, before the forgeries or after them, or refused all forgeries with
                429.
            TypeError: The snapshot can't be copied.
            ValueError: ``known`` names something that is not tried.
        """
        snapshot = list if snapshot is None else snapshot
        check_snapshot(snapshot)
        reasons = {
            check_str(what, "the name of a forgery in known"): check_str(
                reason, f"known[{cited(what)}]"
            )
            for what, reason in check_mapping({} if known is None else known, "known").items()
        }
        self._forgery_check = ForgeryCheck(self._engine, snapshot, reasons)
        return self._engine.check(FORGING, self._forgery_check.run)
