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
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias, cast

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
from ..webhooks.signing import sign
from .snapshots import Snapshot, taken

FORGING: Final = "assert_rejects_forgeries()"

#: How often a refused forgery is repeated if the snapshot has changed.
_REPEATS: Final = 2


#: Changes an event's body before it is posted.
_Content: TypeAlias = Callable[[bytes], bytes]


class _Case(NamedTuple):
    """An event to forge for an endpoint, how, and whether a request shows the event's id."""

    event: Event
    endpoint: Endpoint
    forgeries: Mapping[str, Forged | str]
    has_id: bool


class _Posting(NamedTuple):
    """What the attempts of a case have in common, and whether each is another event to the app."""

    case: _Case
    verb: Record
    content: _Content | None
    are_new: bool


@dataclass
class _Found:
    """What got through in a case.

    Attributes:
        forgeries: The attempt and the flaw of each forgery.
        doubtful: The headers of which the app accepted other values as well, by forgery.
        limited: The forgeries that got a 429, which says nothing about their signatures.
        is_judged: Whether there are other forgeries.
        is_open: Whether the app accepted the last forgery, so that it can't be locked.
    """

    forgeries: dict[str, tuple[Forgery, str]] = field(
        default_factory=dict[str, tuple[Forgery, str]]
    )
    doubtful: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    limited: list[str] = field(default_factory=list[str])
    is_judged: bool = False
    is_open: bool = False


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
        self._types: set[str] = set()
        self._passed: dict[str, set[str]] = {}  # event types that got through, by forgery
        self._lines: list[str] = []
        self._accepted: set[str] = set()  # known forgeries that got through
        self._limited: set[str] = set()  # forgeries that got a 429
        self.notes: list[str] = []
        self.refused: set[tuple[str, Event]] = set()

    async def run(self) -> None:
        await self._engine.performed(self._engine.settle())
        self._outbox = self._engine.outbox
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
        cases = [
            self._case(event, endpoint) for endpoint, events in to_forge.items() for event in events
        ]
        self._check_known(cases)
        try:
            for case in cases:
                await self._forge(case)
        except ChatFakeError as error:
            if not self._passed:
                raise
            self.notes.append(str(error))
        else:
            self._lines += [
                f"{what} no longer gets through: remove it from known="
                for what in self._known
                if what not in self._accepted | self._limited
            ]
        if self._lines:
            head = [self._head()] if self._passed else []
            raise AssertionError("\n  ".join([*head, *self._lines, *dict.fromkeys(self.notes)]))

    def _last_of_each_type(self, endpoint: Endpoint) -> Iterable[Event]:
        # The last event that the endpoint accepted, for each type; for a type without one, the last
        # that it should have got.
        accepted = [a.event for a in self._outbox.attempts if a.ok and a.endpoint is endpoint]
        return {
            event.type: event
            for event in [*self._outbox.events, *accepted]
            if self._may_be_forged(event, endpoint)
        }.values()

    def _may_be_forged(self, event: Event, endpoint: Endpoint) -> bool:
        is_heard = endpoint in self._outbox.endpoints.listening(event.type)
        return is_heard and event._is_posted and not event.synthetic

    def _case(self, event: Event, endpoint: Endpoint) -> _Case:
        now = self._engine.core.now() // SECOND
        id_ = other_id(event.id)
        own = event._posted(event.body)
        body = event._posted(under_id(event.body, event.id, id_))
        others = [
            other for other in self._outbox.events[::-1] if self._may_be_forged(other, endpoint)
        ]
        others.sort(key=lambda other: other.type != event.type)
        another = next((other for other in others if other._posted(other.body) != own), None)
        request = WebhookRequest(event, body, endpoint.headers, now, 1, endpoint, id_)
        headers = sign(cast("Signer", endpoint.signer), request)
        has_id = body != own or any(id_ in value for value in headers.values())
        return _Case(event, endpoint, forgeries(request, another), has_id)

    def _check_known(self, cases: Iterable[_Case]) -> None:
        made = [each for case in cases for each in case.forgeries.items()]
        possible = dict.fromkeys(
            what for what, forged in made if isinstance(forged, Forged) and what != GENUINE
        )
        for what in self._known:
            if what in possible:
                continue
            is_impossible = what in dict(made) and what != GENUINE
            wrong = (
                f"{what} can't be tried with this signer"
                if is_impossible
                else f"unknown forgery {cited(what)}"
            )
            raise ValueError(f"known: {wrong}; use {alternatives(possible)}")

    async def _forge(self, case: _Case) -> None:
        by_reason: dict[str, list[str]] = {}
        for what, forged in case.forgeries.items():
            if isinstance(forged, str):
                by_reason.setdefault(forged, []).append(what)
        left_out = "; ".join(
            ", ".join(names) + (f" ({why})" if why else "") for why, names in by_reason.items()
        )
        skipped = f", left out: {left_out}" if left_out else ""
        verb = self._engine.note(f"{FORGING}{skipped}", calling_line())
        if left_out:
            self._leave_out(left_out, case)
        posting = await self._posted_genuine(case, verb)
        before = await taken(self._snapshot, self._engine)
        found = _Found()
        try:
            for what, forged in case.forgeries.items():
                if what != GENUINE and isinstance(forged, Forged):
                    before = await self._try_one(what, forged, posting, before, found)
        finally:
            self._report(case, found)
        if found.limited:
            await self._leave_out_limited(posting, found)
        elif posting.are_new and not found.is_open:
            await self._require_open(posting)

    async def _require_open(self, posting: _Posting) -> None:
        # An app may lock the service out after a forgery.
        case = posting.case
        made, _ = await self._attempt(GENUINE, cast("Forged", case.forgeries[GENUINE]), posting)
        if not made.ok and not _is_limited(made):
            raise ChatFakeError(
                f"{FORGING} can't tell: after the forgeries of {case.event._name}, a genuine copy "
                f"was refused as well, {made._end}. Does a forgery lock the service out? Switch "
                f"that off in this test"
            )

    async def _try_one(
        self, what: str, forged: Forged, posting: _Posting, before: object, found: _Found
    ) -> object:
        # Note whether the forgery got through, and return the snapshot afterwards.
        made, forgery, flaw, after = await self._try(what, forged, posting, before)
        found.is_open = made.ok
        if not flaw and _is_limited(made):
            found.limited.append(what)
            self._limited.add(what)
            return after
        found.is_judged = True
        if not flaw:
            self.refused.add((what, posting.case.event))
        elif what in self._known:
            self._accepted.add(what)
            self.notes.append(f"known: {what} ({self._known[what]})")
        else:
            if await self._has_substitute(what, forged, posting, made):
                return await taken(self._snapshot, self._engine)
            found.forgeries[what] = forgery, flaw
            if forged.control is not None:
                control = Forged(forged.control)
                made, _ = await self._attempt(f"control for {what}", control, posting)
                after = await taken(self._snapshot, self._engine)
                if made.ok:
                    found.doubtful[what] = forged.assumed
                elif _is_limited(made):
                    del found.forgeries[what]
                    why = f"a 429 hides whether the app accepts any {listed(forged.assumed)}"
                    self._leave_out(f"{what} ({flaw}, but {why})", posting.case)
        return after

    async def _has_substitute(
        self, what: str, forged: Forged, posting: _Posting, accepted: Attempt
    ) -> bool:
        # Whether the app verified another signature, which was genuine.
        if forged.without_them is None:
            return False
        made, _ = await self._attempt(f"control for {what}", Forged(forged.without_them), posting)
        others = listed(forged.substitutes)
        if not accepted.ok or not _is_refused(made, forged):
            return False
        why = f"the app then verifies {others}, which is genuine"
        if _is_limited(made):
            why = f"accepted, but a 429 hides whether the app then verifies {others}"
        self._leave_out(f"{what} ({why})", posting.case)
        return True

    def _report(self, case: _Case, found: _Found) -> None:
        passed = {*found.forgeries, *self._accepted}
        if UNSIGNED in passed:  # then each missing header counts
            found.doubtful = {
                what: found.doubtful[what]
                for what in found.doubtful
                if not what.startswith(WITHOUT)
            }
        if WRONG not in passed:  # it verifies signatures, but something may be unsigned
            for assumed in dict.fromkeys(found.doubtful.values()):
                names = [what for what in found.doubtful if found.doubtful[what] == assumed]
                for what in names:
                    del found.forgeries[what]
                why = f"the app accepts any {listed(assumed)}, so it may be unsigned"
                self._leave_out(f"{', '.join(names)} ({why})", case)
        shown_type = f" ({case.event.type})" if len(self._types) > 1 else ""
        for what, (forgery, flaw) in found.forgeries.items():
            forgery._got_through = True
            self._passed.setdefault(what, set()).add(case.event.type)
            self._lines.append(f"{what}{shown_type}, {flaw}")

    async def _leave_out_limited(self, posting: _Posting, found: _Found) -> None:
        case = posting.case
        made, _ = await self._attempt(GENUINE, cast("Forged", case.forgeries[GENUINE]), posting)
        is_locked = _is_limited(made)
        why = (
            "the app refuses everything for a while, even a genuine copy"
            if is_locked
            else "this may be a rate limit, and no refusal of the signature"
        )
        if not found.is_judged:
            raise ChatFakeError(
                f"{FORGING} can't tell: each forgery of {case.event._name} was refused at "
                f"{redacted(case.endpoint.label)} with 429; {why}. Switch the rate limit off in "
                f"this test"
            )
        left_out = f"{', '.join(found.limited)} (429: {why})"
        self._leave_out(left_out, case)
        self._engine.note(f"{FORGING}, left out: {left_out}", calling_line())

    def _leave_out(self, what: str, case: _Case) -> None:
        self.notes.append(redacted(f"left out: {what}, at {case.endpoint.label}"))

    async def _posted_genuine(self, case: _Case, verb: Record) -> _Posting:
        # Post the genuine event first: an app that refuses even that proves nothing. If a request
        # shows no id, a copy would be a duplicate, so it comes last.
        event, outbox = case.event, self._outbox
        others: dict[str, _Content] = {
            "of another message": partial(outbox.as_of_another_message, event),
            "with another status": partial(outbox.as_of_another_status, event),
        }
        contents: dict[str, _Content | None] = {"under a new id": None} if case.has_id else {}
        contents |= {
            what: other
            for what, other in others.items()
            if event._seen(other(event.body), event.body) != event.body
        }
        contents |= {} if case.has_id else {"unchanged": None}
        genuine, end = cast("Forged", case.forgeries[GENUINE]), ""
        for what, content in contents.items():
            are_new = what not in {"with another status", "unchanged"}
            posting = _Posting(case, verb, content, are_new)
            made, _ = await self._attempt(GENUINE, genuine, posting)
            if made.ok and not are_new:
                label = redacted(case.endpoint.label)
                self.notes.append(f"forged as duplicates, as {label} refuses other messages")
            if made.ok:
                return posting
            end = made._end
        raise ChatFakeError(
            f"{FORGING} can't tell: {event._name} {', then '.join(contents)} was refused {end}, "
            f"although it was a genuine copy. So refusing forgeries proves nothing"
        )

    async def _try(
        self, what: str, forged: Forged, posting: _Posting, before: object
    ) -> tuple[Attempt, Forgery, str, object]:
        # Return how the forgery got through, or nothing, and the snapshot afterwards.
        made, forgery = await self._attempt(what, forged, posting)
        after = await taken(self._snapshot, self._engine)
        change = f"the snapshot changed from {cited(before)} to {cited(after)}"
        repeats = 0
        # An app may still be working on the genuine event in the background. A forgery that has
        # an effect has it every time, because each one has a new id.
        while after != before and _is_refused(made, forged) and repeats < _REPEATS:
            before, repeats = after, repeats + 1
            made, forgery = await self._attempt(what, forged, posting)
            after = await taken(self._snapshot, self._engine)
        flaw = "" if _is_refused(made, forged) else f"{made._end}, expected 400 to 499"
        if after != before:
            flaw = f"{flaw or made._end}; {change}"
        elif repeats and not flaw:
            by_itself = (
                f"{change} by itself: the same forgery ({what}) was then refused without effect"
            )
            self._engine.note(f"{FORGING}: {by_itself}", calling_line())
            self.notes.append(by_itself)
        return made, forgery, flaw, after

    async def _attempt(
        self, what: str, forged: Forged, posting: _Posting
    ) -> tuple[Attempt, Forgery]:
        event, endpoint = posting.case.event, posting.case.endpoint
        attempt = Attempt(event, endpoint, 0, _cause=posting.verb, _was_asked=True)
        forgery = Forgery(what, forged, posting.content, calling_line())
        attempt._note(forgery._decide(attempt))
        step = partial(self._outbox.forge, attempt)
        await self._engine.performed(self._engine.step(FORGING, step))
        if not attempt._was_made or attempt not in self._engine.outbox.attempts:
            raise ChatFakeError(
                f"{FORGING} can't tell: {event._name} under a new id, {what}, was not posted"
            )
        return attempt, forgery

    def _head(self) -> str:
        together: dict[str, list[str]] = {}
        for what, types in self._passed.items():
            of_types = "" if types == self._types else f" of {' and '.join(sorted(types))}"
            together.setdefault(f"forgeries{of_types} got through", []).append(what)
        return "; ".join(f"{begin}: {', '.join(together[begin])}" for begin in together)


def _is_refused(made: Attempt, forged: Forged) -> bool:
    if forged.may_break and not made.ok:
        return True
    return 400 <= (made.status_code or 0) <= 499


def _is_limited(made: Attempt) -> bool:
    # A rate limit refuses whatever the signature is.
    return made.status_code == HTTPStatus.TOO_MANY_REQUESTS
