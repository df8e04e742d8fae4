"""Checks that each app refuses forgeries, for ``assert_rejects_forgeries()``.

A genuine copy is posted first: if the app refuses it, nothing is proven. Then comes each forgery,
and one that was accepted *got through*, unless

- it is *known* to the test;
- the app has verified a *substitute*, another signature that is genuine, as a control shows;
- it is *doubtful*: it rests on an assumption about the scheme, and its control, a change that no
  app has to notice, was accepted as well;
- it was refused by a rate *limit* (429), so that its signature may never have been looked at.

At the end, another genuine copy shows whether the forgeries have locked the service out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Final, TypeAlias, cast

from ..base.arguments import alternatives, cited
from ..base.calling_line import calling_line
from ..base.errors import ChatFakeError
from ..base.history import Record
from ..base.redaction import redacted
from ..base.views import listed
from ..domain.ids import other_id
from ..domain.instants import SECOND
from ..engine.engine import Engine
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint, Signer, WebhookRequest
from ..webhooks.events import Event, under_id
from ..webhooks.forgeries import GENUINE, UNSIGNED, WITHOUT, WRONG, Forged, Forgery, forgeries
from ..webhooks.outbox import Outbox
from ..webhooks.signing import sign
from .snapshots import Snapshot, taken

FORGING: Final = "assert_rejects_forgeries()"

#: How often a refused forgery is repeated if the snapshot has changed.
_REPEATS: Final = 2

#: Changes an event's body before it is posted.
_Content: TypeAlias = Callable[[bytes], bytes]


class ForgeryCheck:
    """Forges events of each type for each app with a signer, and reports the accepted forgeries.

    Attributes:
        notes: What could not be tried, and which known forgeries got through.
        refused: The forgeries that were refused: the name of each, and its event.
    """

    def __init__(self, engine: Engine, snapshot: Snapshot, known: Mapping[str, str]) -> None:
        self._engine = engine
        self._snapshot = snapshot
        self._known = known
        self._accepted: set[str] = set()  # known forgeries that got through
        self.notes: list[str] = []
        self.refused: set[tuple[str, Event]] = set()

    async def run(self) -> None:
        await self._engine.performed(self._engine.settle())
        outbox = self._engine.outbox
        to_forge = {
            endpoint: _last_of_each_type(outbox, endpoint)
            for endpoint in outbox.endpoints
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
        cases = [
            _Case(self, event, endpoint)
            for endpoint, events in to_forge.items()
            for event in events
        ]
        self._check_known(cases)
        no_longer: Iterable[str] = ()
        try:
            for case in cases:
                await case.forge()
        except ChatFakeError as error:
            if not any(case.passed for case in cases):
                raise
            self.notes.append(str(error))
        else:
            unclear = {what for case in cases for what in case.limited}
            no_longer = [what for what in self._known if what not in self._accepted | unclear]
        lines = [
            *_passed_lines(cases),
            *(f"{what} no longer gets through: remove it from known=" for what in no_longer),
        ]
        if lines:
            raise AssertionError("\n  ".join([*lines, *dict.fromkeys(self.notes)]))

    def _check_known(self, cases: Iterable[_Case]) -> None:
        possible = dict.fromkeys(what for case in cases for what in case.forged)
        for what in self._known:
            if what in possible:
                continue
            wrong = (
                f"{what} can't be tried with this signer"
                if any(what in case.impossible for case in cases)
                else f"unknown forgery {cited(what)}"
            )
            raise ValueError(f"known: {wrong}; use {alternatives(possible)}")


class _Case:
    """An event to forge for an endpoint.

    Attributes:
        forged: How to make each forgery.
        impossible: Why other forgeries can't be made.
        passed: The forgeries that got through so far: the attempt and the flaw of each.
        limited: The forgeries that got a 429, which says nothing about their signatures.
    """

    def __init__(self, check: ForgeryCheck, event: Event, endpoint: Endpoint) -> None:
        self._check = check
        self._engine = engine = check._engine
        self.event = event
        self._endpoint = endpoint
        self._outbox = outbox = engine.outbox
        now = engine.core.now() // SECOND
        id_ = other_id(event.id)
        own = event._posted(event.body)
        body = event._posted(under_id(event.body, event.id, id_))
        others = [other for other in outbox.events[::-1] if _may_be_forged(other, endpoint, outbox)]
        others.sort(key=lambda other: other.type != event.type)
        another = next((other for other in others if other._posted(other.body) != own), None)
        request = WebhookRequest(event, body, endpoint.headers, now, 1, endpoint, id_)
        headers = sign(cast("Signer", endpoint.signer), request)
        self._shows_id = body != own or any(id_ in value for value in headers.values())
        made = forgeries(request, another)
        self.forged = {what: how for what, how in made.items() if isinstance(how, Forged)}
        self.impossible = {what: why for what, why in made.items() if isinstance(why, str)}
        self._genuine = self.forged.pop(GENUINE)
        self.passed: dict[str, tuple[Forgery, str]] = {}
        self.limited: list[str] = []
        self._doubtful: dict[str, tuple[str, ...]] = {}  # the headers that may be unsigned
        self._is_judged = False  # whether a forgery got anything but a 429
        self._is_open = False  # whether the app accepted the last forgery, so it can't be locked

    async def forge(self) -> None:
        by_reason: dict[str, list[str]] = {}
        for what, why in self.impossible.items():
            by_reason.setdefault(why, []).append(what)
        left_out = "; ".join(
            ", ".join(names) + (f" ({why})" if why else "") for why, names in by_reason.items()
        )
        skipped = f", left out: {left_out}" if left_out else ""
        self._verb: Record = self._engine.note(f"{FORGING}{skipped}", calling_line())
        if left_out:
            self._leave_out(left_out)
        await self._post_genuine()
        await self._take_snapshot()
        try:
            for what, forged in self.forged.items():
                await self._try_one(what, forged)
        finally:
            self._judge()
        if self.limited:
            await self._leave_out_limited()
        elif self._are_new and not self._is_open:
            await self._require_open()

    async def _post_genuine(self) -> None:
        # Post the genuine event first: an app that refuses even that proves nothing. If a request
        # shows no id, a copy would be a duplicate, so it comes last.
        event, outbox = self.event, self._outbox
        others: dict[str, _Content] = {
            "of another message": partial(outbox.as_of_another_message, event),
            "with another status": partial(outbox.as_of_another_status, event),
        }
        contents: dict[str, _Content | None] = {"under a new id": None} if self._shows_id else {}
        contents |= {
            what: other
            for what, other in others.items()
            if event._seen(other(event.body), event.body) != event.body
        }
        contents |= {} if self._shows_id else {"unchanged": None}
        end = ""
        for what, content in contents.items():
            self._content = content
            made, _ = await self._attempt(GENUINE, self._genuine)
            # Whether each attempt is another event to the app.
            self._are_new = what not in {"with another status", "unchanged"}
            if made.ok and not self._are_new:
                label = redacted(self._endpoint.label)
                self._check.notes.append(f"forged as duplicates, as {label} refuses other messages")
            if made.ok:
                return
            end = made._end
        raise ChatFakeError(
            f"{FORGING} can't tell: {event._name} {', then '.join(contents)} was refused {end}, "
            f"although it was a genuine copy. So refusing forgeries proves nothing"
        )

    async def _try_one(self, what: str, forged: Forged) -> None:
        check = self._check
        made, forgery, flaw = await self._try(what, forged)
        self._is_open = made.ok
        if not flaw and _is_limited(made):
            self.limited.append(what)
            return
        self._is_judged = True
        if not flaw:
            check.refused.add((what, self.event))
        elif what in check._known:
            check._accepted.add(what)
            check.notes.append(f"known: {what} ({check._known[what]})")
        elif not await self._has_substitute(what, forged, made):
            self.passed[what] = forgery, flaw
            if forged.control is not None:
                await self._check_assumed(what, forged.assumed, Forged(forged.control))

    async def _try(self, what: str, forged: Forged) -> tuple[Attempt, Forgery, str]:
        # Return how the forgery got through, or nothing.
        before = self._value
        made, forgery = await self._attempt(what, forged)
        await self._take_snapshot()
        change = f"the snapshot changed from {cited(before)} to {cited(self._value)}"
        repeats = 0
        # An app may still be working on the genuine event in the background. A forgery that has
        # an effect has it every time, because each one has a new id.
        while self._value != before and _is_refused(made, forged) and repeats < _REPEATS:
            before, repeats = self._value, repeats + 1
            made, forgery = await self._attempt(what, forged)
            await self._take_snapshot()
        flaw = "" if _is_refused(made, forged) else f"{made._end}, expected 400 to 499"
        if self._value != before:
            flaw = f"{flaw or made._end}; {change}"
        elif repeats and not flaw:
            by_itself = (
                f"{change} by itself: the same forgery ({what}) was then refused without effect"
            )
            self._engine.note(f"{FORGING}: {by_itself}", calling_line())
            self._check.notes.append(by_itself)
        return made, forgery, flaw

    async def _has_substitute(self, what: str, forged: Forged, accepted: Attempt) -> bool:
        # Whether the app verified another signature, which was genuine.
        if forged.without_them is None:
            return False
        made = await self._control(what, Forged(forged.without_them))
        others = listed(forged.substitutes)
        if not accepted.ok or not _is_refused(made, forged):
            return False
        why = f"the app then verifies {others}, which is genuine"
        if _is_limited(made):
            why = f"accepted, but a 429 hides whether the app then verifies {others}"
        self._leave_out(f"{what} ({why})")
        return True

    async def _check_assumed(self, what: str, assumed: tuple[str, ...], control: Forged) -> None:
        made = await self._control(what, control)
        if made.ok:
            self._doubtful[what] = assumed
        elif _is_limited(made):
            _, flaw = self.passed.pop(what)
            why = f"a 429 hides whether the app accepts any {listed(assumed)}"
            self._leave_out(f"{what} ({flaw}, but {why})")

    async def _control(self, what: str, forged: Forged) -> Attempt:
        made, _ = await self._attempt(f"control for {what}", forged)
        await self._take_snapshot()
        return made

    def _judge(self) -> None:
        passed = {*self.passed, *self._check._accepted}
        doubtful: dict[tuple[str, ...], list[str]] = {}
        for what, assumed in self._doubtful.items():
            # If it accepts an unsigned event, each missing header counts.
            if UNSIGNED not in passed or not what.startswith(WITHOUT):
                doubtful.setdefault(assumed, []).append(what)
        if WRONG not in passed:  # it verifies signatures, but something may be unsigned
            for assumed, names in doubtful.items():
                for what in names:
                    del self.passed[what]
                why = f"the app accepts any {listed(assumed)}, so it may be unsigned"
                self._leave_out(f"{', '.join(names)} ({why})")
        for forgery, _ in self.passed.values():
            forgery._got_through = True

    async def _leave_out_limited(self) -> None:
        made, _ = await self._attempt(GENUINE, self._genuine)
        why = (
            "the app refuses everything for a while, even a genuine copy"
            if _is_limited(made)
            else "this may be a rate limit, and no refusal of the signature"
        )
        if not self._is_judged:
            raise ChatFakeError(
                f"{FORGING} can't tell: each forgery of {self.event._name} was refused at "
                f"{redacted(self._endpoint.label)} with 429; {why}. Switch the rate limit off in "
                f"this test"
            )
        left_out = f"{', '.join(self.limited)} (429: {why})"
        self._leave_out(left_out)
        self._engine.note(f"{FORGING}, left out: {left_out}", calling_line())

    async def _require_open(self) -> None:
        # An app may lock the service out after a forgery.
        made, _ = await self._attempt(GENUINE, self._genuine)
        if not made.ok and not _is_limited(made):
            raise ChatFakeError(
                f"{FORGING} can't tell: after the forgeries of {self.event._name}, a genuine copy "
                f"was refused as well, {made._end}. Does a forgery lock the service out? Switch "
                f"that off in this test"
            )

    async def _attempt(self, what: str, forged: Forged) -> tuple[Attempt, Forgery]:
        engine = self._engine
        attempt = Attempt(self.event, self._endpoint, 0, _cause=self._verb, _was_asked=True)
        forgery = Forgery(what, forged, self._content, calling_line())
        attempt._note(forgery._decide(attempt))
        step = partial(self._outbox.forge, attempt)
        await engine.performed(engine.step(FORGING, step))
        if not attempt._was_made or attempt not in engine.outbox.attempts:
            raise ChatFakeError(
                f"{FORGING} can't tell: {self.event._name} under a new id, {what}, was not posted"
            )
        return attempt, forgery

    async def _take_snapshot(self) -> None:
        self._value = await taken(self._check._snapshot, self._engine)

    def _leave_out(self, what: str) -> None:
        self._check.notes.append(redacted(f"left out: {what}, at {self._endpoint.label}"))


def _last_of_each_type(outbox: Outbox, endpoint: Endpoint) -> Iterable[Event]:
    # The last event that the endpoint accepted, for each type; for a type without one, the last
    # that it should have got.
    accepted = [a.event for a in outbox.attempts if a.ok and a.endpoint is endpoint]
    return {
        event.type: event
        for event in [*outbox.events, *accepted]
        if _may_be_forged(event, endpoint, outbox)
    }.values()


def _may_be_forged(event: Event, endpoint: Endpoint, outbox: Outbox) -> bool:
    is_heard = endpoint in outbox.endpoints.listening(event.type)
    return is_heard and event._is_posted and not event.synthetic


def _passed_lines(cases: Iterable[_Case]) -> Iterable[str]:
    # A head with the names of the forgeries, then a line for each.
    types = {case.event.type for case in cases}
    passed: dict[str, set[str]] = {}
    lines: list[str] = []
    for case in cases:
        of_type = f" ({case.event.type})" if len(types) > 1 else ""
        for what, (_, flaw) in case.passed.items():
            passed.setdefault(what, set()).add(case.event.type)
            lines.append(f"{what}{of_type}, {flaw}")
    together: dict[str, list[str]] = {}
    for what, found in passed.items():
        of_types = "" if found == types else f" of {' and '.join(sorted(found))}"
        together.setdefault(f"forgeries{of_types} got through", []).append(what)
    head = "; ".join(f"{begin}: {', '.join(names)}" for begin, names in together.items())
    return [head, *lines] if lines else []


def _is_refused(made: Attempt, forged: Forged) -> bool:
    if forged.may_break and not made.ok:
        return True
    return 400 <= (made.status_code or 0) <= 499


def _is_limited(made: Attempt) -> bool:
    # A rate limit refuses whatever the signature is.
    return made.status_code == HTTPStatus.TOO_MANY_REQUESTS
