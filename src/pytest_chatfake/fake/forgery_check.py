"""Checks that each app refuses forgeries, for ``assert_rejects_forgeries()``.

A genuine copy is posted first: if the app refuses it, nothing is proven. Then comes each forgery.
If the app accepts one, a control may show that it was right to. What becomes of a forgery is a
:class:`_Result`. At the end, another genuine copy shows whether the forgeries have locked the
service out, unless the app has accepted the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from http import HTTPStatus
from typing import Final, TypeAlias, cast

from ..base.arguments import alternatives, cited
from ..base.calling_line import calling_line
from ..base.errors import ChatFakeError
from ..base.history import Record
from ..base.redaction import redacted
from ..domain.ids import other_id
from ..domain.instants import SECOND
from ..engine.engine import Engine
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint, Signer, WebhookRequest
from ..webhooks.events import Event, under_id
from ..webhooks.forgeries import (
    GENUINE,
    UNSIGNED,
    WITHOUT,
    WRONG,
    Control,
    Forged,
    Forgery,
    forgeries,
    forgery_of,
)
from ..webhooks.outbox import Outbox
from ..webhooks.signing import sign
from .snapshots import Snapshot, taken

FORGING: Final = "assert_rejects_forgeries()"

#: How often a refused forgery is repeated if the snapshot has changed.
_REPEATS: Final = 2

#: Changes an event's body before it is posted.
_Content: TypeAlias = Callable[[bytes], bytes]

#: Why a genuine copy may be refused after the forgeries, and what to do about it.
_LOCKED_OUT: Final = "Does a forgery lock the service out? Switch that off in this test"
_ALIKE: Final = (
    "Does the app refuse a duplicate with the same status as a forgery, or does a forgery lock the "
    "service out? Let it respond to duplicates with another status in this test"
)


class _Result(Enum):
    """What became of a forgery."""

    #: Refused.
    REFUSED = auto()

    #: Refused with a 429: its signature may never have been looked at.
    LIMITED = auto()

    #: Accepted, and the test knows it.
    KNOWN = auto()

    #: Accepted, but it may be genuine: the app may have verified another signature, or what the
    #: forgery has changed may be unsigned. A control has shown that, or was hidden by a 429.
    LEFT_OUT = auto()

    #: Accepted, and so was its control, a change that no app has to notice. If the app verifies
    #: signatures at all, it is left out.
    DOUBTFUL = auto()

    #: Accepted, so the test fails.
    GOT_THROUGH = auto()


@dataclass(slots=True, eq=False)
class _Trial:
    """A forgery that was posted.

    Attributes:
        what: Its name.
        forged: How it was made.
        made: The attempt.
        flaw: How the app accepted it; empty if the app refused it.
        result: What became of it; until it is judged, it counts as accepted.
        why: Why it is left out, or would be.
    """

    what: str
    forged: Forged
    made: Attempt
    flaw: str
    result: _Result = _Result.GOT_THROUGH
    why: str = ""


class ForgeryCheck:
    """Forges events of each type for each app with a signer, and reports the accepted forgeries.

    Attributes:
        notes: What could not be tried, and which known forgeries got through.
    """

    def __init__(self, engine: Engine, snapshot: Snapshot, known: Mapping[str, str]) -> None:
        self._engine = engine
        self._snapshot = snapshot
        self._known = known
        self._cases: list[_Case] = []
        self.notes: list[str] = []

    @property
    def refused(self) -> set[tuple[str, Event]]:
        """The forgeries that were refused: the name of each, and its event."""
        return {
            (trial.what, case.event)
            for case in self._cases
            for trial in case.trials
            if trial.result is _Result.REFUSED
        }

    async def run(self) -> None:
        await self._engine.performed(self._engine.settle())
        self._cases = [
            _Case(self, event, endpoint)
            for endpoint, events in self._events_to_forge().items()
            for event in events
        ]
        self._check_known()
        is_complete = True
        try:
            for case in self._cases:
                await case.forge()
        except ChatFakeError as error:
            if not self._trials_with(_Result.GOT_THROUGH):
                raise
            self.notes.append(str(error))
            is_complete = False
        lines = _lines_of(self._cases)
        if is_complete:
            still = {t.what for t in self._trials_with(_Result.KNOWN, _Result.LIMITED)}
            no_longer = [what for what in self._known if what not in still]
            lines += [f"{what} no longer gets through: remove it from known=" for what in no_longer]
        if lines:
            raise AssertionError("\n  ".join([*lines, *dict.fromkeys(self.notes)]))

    def _events_to_forge(self) -> dict[Endpoint, list[Event]]:
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
        return to_forge

    def _check_known(self) -> None:
        possible = dict.fromkeys(what for case in self._cases for what in case.forged)
        for what in self._known:
            if what in possible:
                continue
            wrong = (
                f"{what} can't be tried with this signer"
                if any(what in case.impossible for case in self._cases)
                else f"unknown forgery {cited(what)}"
            )
            raise ValueError(f"known: {wrong}; use {alternatives(possible)}")

    def _trials_with(self, *results: _Result) -> list[_Trial]:
        return [trial for case in self._cases for trial in case.with_result(*results)]


class _Case:
    """An event to forge for an endpoint.

    Attributes:
        event: The event.
        forged: How to make each forgery.
        impossible: Why other forgeries can't be made.
        trials: The forgeries that were posted so far.
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
        others = (
            other
            for other in outbox.events[::-1]
            if _may_be_forged(other, endpoint, outbox) and other._posted(other.body) != own
        )
        # A signer may know events of one type only.
        another = min(others, key=lambda other: other.type != event.type, default=None)
        request = WebhookRequest(event, body, endpoint.headers, now, 1, endpoint, id_)
        headers = sign(cast("Signer", endpoint.signer), request)
        self._shows_id = body != own or any(id_ in value for value in headers.values())
        made = forgeries(request, another)
        self.forged = {what: how for what, how in made.items() if isinstance(how, Forged)}
        self.impossible = {what: why for what, why in made.items() if isinstance(why, str)}
        self._genuine = self.forged.pop(GENUINE).signer
        self.trials: list[_Trial] = []

    def with_result(self, *results: _Result) -> list[_Trial]:
        return [trial for trial in self.trials if trial.result in results]

    async def forge(self) -> None:
        self._begin()
        await self._post_genuine()
        try:
            for what, forged in self.forged.items():
                trial = await self._try(what, forged)
                self.trials.append(trial)
                await self._judge(trial)
        finally:
            self._settle_doubts()
            for trial in self.with_result(_Result.GOT_THROUGH):
                if forgery := forgery_of(trial.made):
                    forgery.got_through = True
        await self._post_genuine_again()

    def _begin(self) -> None:
        left_out = "; ".join(_by_reason(self.impossible))
        skipped = f", left out: {left_out}" if left_out else ""
        self._verb: Record = self._engine.note(f"{FORGING}{skipped}", calling_line())
        if left_out:
            self._leave_out(left_out)

    async def _post_genuine(self) -> None:
        # Post the genuine event first: an app that refuses even that proves nothing.
        tried: list[str] = []
        end = ""
        for what, content in self._contents():
            tried.append(what)
            self._content = content
            made = await self._attempt(GENUINE, self._genuine)
            # Whether each attempt is another event to the app.
            self._are_new = what not in {"with another status", "unchanged"}
            if made.ok and not self._are_new:
                label = redacted(self._endpoint.label)
                self._check.notes.append(f"forged as duplicates, as {label} refuses other messages")
            if made.ok:
                return
            end = made._end
        raise ChatFakeError(
            f"{FORGING} can't tell: {self.event._name} {', then '.join(tried)} was refused {end}, "
            f"although it was a genuine copy. So refusing forgeries proves nothing"
        )

    def _contents(self) -> Iterator[tuple[str, _Content | None]]:
        # If a request shows no id, a copy would be a duplicate, so it comes last.
        event, outbox = self.event, self._outbox
        if self._shows_id:
            yield "under a new id", None
        for what, other in (
            ("of another message", outbox.as_of_another_message),
            ("with another status", outbox.as_of_another_status),
        ):
            if event._seen(other(event, event.body), event.body) != event.body:
                yield what, partial(other, event)
        if not self._shows_id:
            yield "unchanged", None

    async def _try(self, what: str, forged: Forged) -> _Trial:
        before = self._value
        made = await self._attempt(what, forged.signer)
        change = f"the snapshot changed from {cited(before)} to {cited(self._value)}"
        repeats = 0
        # An app may still be working on the genuine event in the background. A forgery that has
        # an effect has it every time, because each one has a new id.
        while self._value != before and _is_refused(made, forged) and repeats < _REPEATS:
            before, repeats = self._value, repeats + 1
            made = await self._attempt(what, forged.signer)
        flaw = "" if _is_refused(made, forged) else f"{made._end}, expected 400 to 499"
        if self._value != before:
            flaw = f"{flaw or made._end}; {change}"
        elif repeats and not flaw:
            by_itself = (
                f"{change} by itself: the same forgery ({what}) was then refused without effect"
            )
            self._engine.note(f"{FORGING}: {by_itself}", calling_line())
            self._check.notes.append(by_itself)
        return _Trial(what, forged, made, flaw)

    async def _judge(self, trial: _Trial) -> None:
        what, known = trial.what, self._check._known
        if not trial.flaw:
            trial.result = _Result.LIMITED if _is_limited(trial.made) else _Result.REFUSED
        elif what in known:
            trial.result = _Result.KNOWN
            self._check.notes.append(f"known: {what} ({known[what]})")
        else:
            await self._doubt(trial)

    async def _doubt(self, trial: _Trial) -> None:
        # Has the app verified another signature, which was genuine? If not, does what was changed
        # belong to the signature, as is assumed?
        substitutes, assumed = trial.forged.substitutes, trial.forged.assumed
        if substitutes is not None and trial.made.ok:
            made = await self._attempt(f"control for {trial.what}", substitutes.signer)
            if _is_refused(made, trial.forged):
                trial.result = _Result.LEFT_OUT
                trial.why = _seen(made, substitutes, "which is genuine")
                return
        if assumed is not None:
            made = await self._attempt(f"control for {trial.what}", assumed.signer)
            if made.ok or _is_limited(made):
                trial.result = _Result.DOUBTFUL if made.ok else _Result.LEFT_OUT
                trial.why = _seen(made, assumed, "so it may be unsigned")

    def _settle_doubts(self) -> None:
        accepted = {
            trial.what
            for trial in self.with_result(_Result.KNOWN, _Result.DOUBTFUL, _Result.GOT_THROUGH)
        }
        for trial in self.with_result(_Result.DOUBTFUL):
            # An app that accepts a wrong signature verifies none. For one that accepts an unsigned
            # event, each missing header counts.
            is_missing = trial.what.startswith(WITHOUT)
            verifies = WRONG not in accepted and not (is_missing and UNSIGNED in accepted)
            trial.result = _Result.LEFT_OUT if verifies else _Result.GOT_THROUGH
        for left_out in _by_reason({t.what: t.why for t in self.with_result(_Result.LEFT_OUT)}):
            self._leave_out(left_out)

    async def _post_genuine_again(self) -> None:
        # An app may lock the service out after a forgery, or limit requests.
        limited = self.with_result(_Result.LIMITED)
        if not limited and self.trials[-1].made.ok:
            return
        made = await self._attempt(GENUINE, self._genuine)
        refusals = {trial.made.status_code for trial in self.with_result(_Result.REFUSED)}
        if not (made.ok or _is_limited(made)) and (self._are_new or made.status_code in refusals):
            raise ChatFakeError(
                f"{FORGING} can't tell: after the forgeries of {self.event._name}, a genuine copy "
                f"was refused as well, {made._end}. {_LOCKED_OUT if self._are_new else _ALIKE}"
            )
        if limited:
            why = (
                "the app refuses everything for a while, even a genuine copy"
                if _is_limited(made)
                else "this may be a rate limit, and no refusal of the signature"
            )
            if len(limited) == len(self.trials):
                raise ChatFakeError(
                    f"{FORGING} can't tell: each forgery of {self.event._name} was refused at "
                    f"{redacted(self._endpoint.label)} with 429; {why}. Switch the rate limit off "
                    f"in this test"
                )
            left_out = f"{', '.join(trial.what for trial in limited)} (429: {why})"
            self._leave_out(left_out)
            self._engine.note(f"{FORGING}, left out: {left_out}", calling_line())

    async def _attempt(self, what: str, signer: Signer) -> Attempt:
        engine = self._engine
        attempt = Attempt(self.event, self._endpoint, 0, _cause=self._verb, _was_asked=True)
        forgery = Forgery(what, signer, self._content, calling_line())
        attempt._note(forgery._decide(attempt))
        step = partial(self._outbox.forge, attempt)
        await engine.performed(engine.step(FORGING, step))
        if not attempt._was_made or attempt not in engine.outbox.attempts:
            raise ChatFakeError(
                f"{FORGING} can't tell: {self.event._name} under a new id, {what}, was not posted"
            )
        self._value = await taken(self._check._snapshot, engine)
        return attempt

    def _leave_out(self, what: str) -> None:
        self._check.notes.append(redacted(f"left out: {what}, at {self._endpoint.label}"))


def _by_reason(reasons: Mapping[str, str]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for what, why in reasons.items():
        by_reason.setdefault(f" ({why})" if why else "", []).append(what)
    return [", ".join(names) + why for why, names in by_reason.items()]


def _last_of_each_type(outbox: Outbox, endpoint: Endpoint) -> list[Event]:
    # The last event that the endpoint accepted, for each type; for a type without one, the last
    # that it should have got.
    accepted = [a.event for a in outbox.attempts if a.ok and a.endpoint is endpoint]
    by_type = {
        event.type: event
        for event in [*outbox.events, *accepted]
        if _may_be_forged(event, endpoint, outbox)
    }
    return [*by_type.values()]


def _may_be_forged(event: Event, endpoint: Endpoint, outbox: Outbox) -> bool:
    is_heard = endpoint in outbox.endpoints.listening(event.type)
    return is_heard and event._is_posted and not event.synthetic


def _lines_of(cases: Iterable[_Case]) -> list[str]:
    # A head with the names of the forgeries that got through, then a line for each.
    types = {case.event.type for case in cases}
    of_types: dict[str, set[str]] = {}  # of the events, by forgery
    lines: list[str] = []
    for case in cases:
        of_type = f" ({case.event.type})" if len(types) > 1 else ""
        for trial in case.with_result(_Result.GOT_THROUGH):
            of_types.setdefault(trial.what, set()).add(case.event.type)
            lines.append(f"{trial.what}{of_type}, {trial.flaw}")
    together: dict[str, list[str]] = {}
    for what, found in of_types.items():
        these = "" if found == types else f" of {' and '.join(sorted(found))}"
        together.setdefault(f"forgeries{these} got through", []).append(what)
    head = "; ".join(f"{begin}: {', '.join(names)}" for begin, names in together.items())
    return [head, *lines] if lines else []


def _is_refused(made: Attempt, forged: Forged) -> bool:
    if forged.may_break and not made.ok:
        return True
    return 400 <= (made.status_code or 0) <= 499


def _seen(control: Attempt, shows: Control, so: str) -> str:
    if _is_limited(control):
        return f"accepted, but a 429 hides whether {shows.why}"
    return f"{shows.why}, {so}"


def _is_limited(made: Attempt) -> bool:
    # A rate limit refuses whatever the signature is.
    return made.status_code == HTTPStatus.TOO_MANY_REQUESTS
