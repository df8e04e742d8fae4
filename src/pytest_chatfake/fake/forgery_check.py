"""Checks that each app refuses forgeries, for ``assert_rejects_forgeries()``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from ..base.arguments import cited
from ..base.calling_line import calling_line
from ..base.errors import ChatFakeError
from ..base.history import Record
from ..base.redaction import redacted
from ..domain.ids import other_id
from ..domain.instants import SECOND
from ..engine.engine import Engine
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint, WebhookRequest
from ..webhooks.events import Event, under_id
from ..webhooks.forgeries import GENUINE, Forgery, forgeries
from ..webhooks.outbox import Outbox
from .snapshots import Snapshot, taken

FORGING: Final = "assert_rejects_forgeries()"

#: How often a refused forgery is repeated if the snapshot has changed.
_REPEATS: Final = 2


class ForgeryCheck:
    """Forges events of each type for each app with a signer, and reports the accepted forgeries."""

    def __init__(self, engine: Engine, outbox: Outbox, snapshot: Snapshot) -> None:
        self._engine = engine
        self._outbox = outbox
        self._snapshot = snapshot
        self._types: set[str] = set()
        self._passed: dict[str, set[str]] = {}  # event types that got through, by forgery
        self._lines: list[str] = []
        self._left_out: list[str] = []

    async def run(self) -> None:
        await self._engine.performed(self._engine.settle())
        to_forge = {
            endpoint: self._last_of_each_type(endpoint)
            for endpoint in self._outbox.endpoints
            # A receiver accepts everything, by design.
            if endpoint.signer and not endpoint._is_receiver
        }
        if not to_forge:
            raise ChatFakeError(
                f"{FORGING} has nothing to forge: connect your app with a signer, as in "
                f"connect(wsgi=app, signer=HmacSigner(secret)), and cause an event first"
            )
        for endpoint, events in to_forge.items():
            if not events:
                raise ChatFakeError(
                    f"{FORGING} has nothing to forge for {endpoint.label}: first cause an event "
                    f"that it listens for"
                )
        self._types = {event.type for events in to_forge.values() for event in events}
        try:
            for endpoint, events in to_forge.items():
                for event in events:
                    await self._forge(event, endpoint)
        except ChatFakeError as error:
            if not self._passed:
                raise
            self._left_out.append(str(error))
        if self._passed:
            left_out = dict.fromkeys(self._left_out)
            raise AssertionError("\n  ".join([self._head(), *self._lines, *left_out]))

    def _last_of_each_type(self, endpoint: Endpoint) -> Iterable[Event]:
        # The last event that the endpoint accepted, for each type; for a type without one, the last
        # that it should have got.
        accepted = [a.event for a in self._outbox.attempts if a.ok and a.endpoint is endpoint]
        return {
            event.type: event
            for event in [*self._outbox.events, *accepted]
            if not event.synthetic and endpoint in self._outbox.endpoints.listening(event.type)
            if event._is_posted
        }.values()

    async def _forge(self, event: Event, endpoint: Endpoint) -> None:
        # First a genuine copy with a new id: an app that refuses even that proves nothing.
        now = self._engine.core.now() // SECOND
        id_ = other_id(event.id)
        body = event._posted(under_id(event.body, event.id, id_))
        found = forgeries(WebhookRequest(event, body, {}, now, 1, endpoint, id_))
        left_out = ", ".join(what for what in found if found[what] is None)
        skipped = f", left out: {left_out}" if left_out else ""
        verb = self._engine.note(f"{FORGING}{skipped}", calling_line())
        if left_out:
            self._left_out.append(redacted(f"left out: {left_out}, at {endpoint.label}"))
        before: object = None
        for what in [what for what in found if found[what] is not None]:
            made, forgery = await self._attempt(what, event, endpoint, verb)
            after = await taken(self._snapshot, self._engine)
            if what == GENUINE:
                before = after
                continue
            change = f"the snapshot changed from {cited(before)} to {cited(after)}"
            repeats = 0
            # An app may still be working on the genuine event in the background. A forgery that has
            # an effect has it every time, because each one has a new id.
            while after != before and _is_refused(made) and repeats < _REPEATS:
                before, repeats = after, repeats + 1
                made, forgery = await self._attempt(what, event, endpoint, verb)
                after = await taken(self._snapshot, self._engine)
            flaw = "" if _is_refused(made) else ", expected 400 to 499"
            if after != before:
                flaw += f"; {change}"
            elif repeats and not flaw:
                by_itself = (
                    f"{change} by itself: the same forgery ({what}) was then refused without effect"
                )
                self._engine.note(f"{FORGING}: {by_itself}", calling_line())
                self._left_out.append(by_itself)
            if flaw:
                forgery._got_through = True
                self._passed.setdefault(what, set()).add(event.type)
                shown_type = f" ({event.type})" if len(self._types) > 1 else ""
                self._lines.append(f"{what}{shown_type}, {made._end}{flaw}")
            before = after

    async def _attempt(
        self, what: str, event: Event, endpoint: Endpoint, verb: Record
    ) -> tuple[Attempt, Forgery]:
        attempt = Attempt(event, endpoint, 0, _cause=verb)
        forgery = Forgery(what, calling_line())
        attempt._note(forgery._decide(attempt))
        step = partial(self._outbox.forge, attempt)
        await self._engine.performed(self._engine.step(FORGING, step))
        is_made = attempt._was_made and attempt in self._outbox.attempts
        if not is_made or (what == GENUINE and not attempt.ok):
            end = f"accepted {attempt._end}" if is_made else "posted"
            raise ChatFakeError(
                f"{FORGING} can't tell: {event._name} under a new id, {what}, was not {end}"
            )
        return attempt, forgery

    def _head(self) -> str:
        together: dict[str, list[str]] = {}
        for what, types in self._passed.items():
            of_types = "" if types == self._types else f" of {' and '.join(sorted(types))}"
            together.setdefault(f"forgeries{of_types} got through", []).append(what)
        return "; ".join(f"{begin}: {', '.join(together[begin])}" for begin in together)


def _is_refused(made: Attempt) -> bool:
    return 400 <= (made.status_code or 0) <= 499
