"""What happened in a fake, in order: the journal's bytes put together with their records.

Causes stand before effects. A cause is what is known to be one: a verb of its entries and events,
an event of its attempts, an attempt or a request of the verbs that its receiver or its route
called, a move of time of what fell due. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, repeat
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from ..base import notes
from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.triggers import Trigger
from ..domain.instants import SECOND
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..domain.reasons import DROPPED, RULES, Rule
from ..engine.engine import Engine
from ..engine.journal import ClockRecord, VerbRecord
from ..http_api.account import AccountApi
from ..http_api.request_log import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from ..wire.exact_json import number
from .hints import beginning, beginning_of_body
from .labels import Labels

Kind: TypeAlias = Literal[
    "verb", "hold", "charge", "release", "event", "attempt", "request", "clock", "drop", "fault"
]

#: The entries of the ledger that are happenings of their own; the others belong to a verb.
_POSTINGS: Final = {"hold", "charge", "release"}


#: The faults by which an attempt ends as the test said it should.
LOSING: Final = frozenset({"drop", "fail", "lose_answer"})


class Happening(NamedTuple):
    """One thing that happened.

    Attributes:
        number: Its place, from 1.
        moment: When, in nanoseconds since the epoch.
        kind: What kind of thing.
        text: What, in a few words, with labels.
        state: The message that it is about, if it is about one.
        cause: The number of what caused it, if that is known.
        line: Where the test asked for it; None if it did not.
        marks: What is not as the service would do it.
        failed: Whether it is an answer that was not 2xx, or none at all, and nobody asked for that.
        record: Its record: what exactly happened.
        rule: What it rests on, if it is an event or a drop of the service's own.
    """

    number: int
    moment: int
    kind: Kind
    text: str
    state: MessageState | None = None
    cause: int | None = None
    line: Line | None = None
    marks: tuple[str, ...] = ()
    failed: bool = False
    record: object = None
    rule: Rule | None = None

    @property
    def amount(self) -> Decimal | None:
        """The amount of a hold, a release or a charge."""
        return self.record.amount if isinstance(self.record, LedgerEntry) else None

    @property
    def endpoint(self) -> Endpoint | None:
        """Where an attempt went."""
        return self.record.endpoint if isinstance(self.record, (Attempt, InFlight)) else None


class InFlight(NamedTuple):
    """An attempt that has not ended.

    Attributes:
        event: The event.
        endpoint: Where it goes.
        number: 1 for the first attempt.
        marks: What faults did to it.
    """

    event: Event
    endpoint: Endpoint
    number: int
    marks: tuple[Mark, ...]


def happenings(engine: Engine, api: AccountApi, labels: Labels, since: int = 0) -> list[Happening]:
    """Read what happened in a fake so far.

    Args:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.
        labels: The short names.
        since: How many bytes of the journal to leave out.
    """
    with engine.lock:
        return _Reading(engine, api, labels).run(since)


class _Reading:
    """One pass over the journal. The n-th byte of a kind is the n-th record of that kind."""

    def __init__(self, engine: Engine, api: AccountApi, labels: Labels) -> None:
        journal, outbox = engine.journal, engine.outbox
        self._engine = engine
        self._labels = labels
        self._kinds = bytes(journal.kinds)
        self._causes = journal.causes
        self._ledger = iter(engine.account.ledger.entries)
        self._events = iter(outbox.events)
        attempts = list(outbox.attempts)
        made: list[Attempt | None] = [one for one in attempts if one.fault != "drop"]
        self._drops = iter(journal.drops)
        self._readers: dict[int, tuple[Iterator[Any], Callable[[Any], None]]] = {
            notes.VERB: (enumerate(journal.verbs), self._verb),
            notes.POSTING: (self._ledger, self._adjustment),
            notes.EVENT: (self._events, self._event),
            notes.ATTEMPT: (chain(made, repeat(None)), self._attempt),
            notes.LOSS: (iter([one for one in attempts if one.fault == "drop"]), self._attempt),
            notes.REQUEST: (iter(list(api._log)), self._request),
            notes.CLOCK: (iter(journal.moves), self._clock),
            notes.WEBHOOK_FAULT: (iter(list(outbox.faults.ever)), self._fault),
            notes.API_FAULT: (iter(list(api._faults.ever)), self._fault),
        }
        self._event_marks = _marks_of_events(engine)
        self._found: list[Happening] = []
        # What causes go by: the numbers of happenings.
        self._doer: int | None = None
        self._move: tuple[ClockRecord, int] | None = None
        self._by_event: dict[int, int] = {}
        self._by_attempt: dict[tuple[int, Endpoint, int], int] = {}
        self._by_request: list[int] = []
        self._by_byte: dict[int, int] = {}
        self._again: dict[int, int] = {}

    def run(self, since: int) -> list[Happening]:
        """Read everything; leave out what was noted before ``since``."""
        first = 0
        for place, code in enumerate(self._kinds):
            before = len(self._found)
            try:
                if code >= notes.FACT:
                    self._fact(code)
                else:
                    records, read = self._readers[code]
                    read(next(records))
            except StopIteration:  # another thread has noted it, and is about to add its record
                continue
            if len(self._found) > before:
                self._by_byte[place] = before + 1
            if place < since:
                first = len(self._found)
        return self._found[first:]

    def _add(self, kind: Kind, moment: int, text: str, **more: Any) -> int:
        number_ = len(self._found) + 1
        marks = tuple(str(mark) for mark in more.pop("marks", ()))
        text = self._labels.clean(text)
        marks = tuple(map(self._labels.clean, marks))
        self._found.append(Happening(number_, moment, kind, text, marks=marks, **more))
        return number_

    # Each kind

    def _verb(self, numbered: tuple[int, VerbRecord]) -> None:
        place, verb = numbered
        text, state, subject = verb.what, None, verb.subject
        if isinstance(subject, MessageState):
            state = subject
            text += f" {self._labels.message(state)}"
        elif isinstance(subject, Event):
            state = self._labels.message_of(subject)
            text += f" {self._labels.event(subject)}"
        elif isinstance(subject, PersonFact):
            text = _described(text, subject)
        cause = None
        if (found := self._causes.get(place)) is not None:
            kind, of = found
            if kind == notes.REQUEST:
                cause = self._by_request[of] if of < len(self._by_request) else None
            else:
                cause = self._by_byte.get(of)
        self._doer = self._add(
            "verb", verb.moment, text, state=state, cause=cause, line=verb.line, record=verb
        )
        if isinstance(subject, Event):
            self._again[subject._index] = self._doer

    def _adjustment(self, entry: LedgerEntry) -> None:
        """Let a verb about the whole account say what it posted."""
        if self._found and self._doer == len(self._found):
            verb = self._found[-1]
            self._found[-1] = verb._replace(text=f"{verb.text} {entry.amount:+f}")

    def _fact(self, code: int) -> None:
        rule = RULES[notes.FACT + (code - notes.FACT) % notes.ENTRY]
        entries = [next(self._ledger) for _ in range((code - notes.FACT) // notes.ENTRY)]
        if rule is DROPPED:
            self._drop(next(self._drops), rule)
            self._post(entries)
        else:
            self._post(entries)
            self._event(next(self._events), rule)

    def _post(self, entries: Sequence[LedgerEntry]) -> None:
        for entry in entries:
            state = self._engine.account.find(entry.message_id or "")
            label = "" if state is None else f" {self._labels.message(state)}"
            text = f"{number(entry.amount)}{label}"
            kind = cast("Kind", entry.kind)
            self._add(kind, entry.moment, text, state=state, cause=self._doer, record=entry)

    def _event(self, event: Event, rule: Rule | None = None) -> None:
        marks = self._event_marks.get(event._index, ())
        if event.synthetic:
            marks = (Mark("synthetic", event.line), *marks)
        self._by_event[event._index] = self._add(
            "event",
            event.moment,
            self._labels.event(event),
            state=self._labels.message_of(event),
            cause=self._doer,
            marks=marks,
            record=event,
            rule=rule,
        )

    def _attempt(self, attempt: Attempt | None) -> None:
        if attempt is None:
            in_flight = _in_flight(self._engine)
            if in_flight is not None:
                self._add_attempt(in_flight, self._engine.time.read(), "no answer yet", False)
            return
        outcome = "not attempted" if attempt.fault == "drop" else _outcome(attempt)
        failed = not attempt.ok and attempt.fault not in LOSING
        self._add_attempt(attempt, attempt.moment, outcome, failed)

    def _add_attempt(
        self, attempt: Attempt | InFlight, moment: int, outcome: str, failed: bool
    ) -> None:
        event, endpoint = attempt.event, attempt.endpoint
        marks: list[object] = list(attempt.marks)
        if attempt.number > 1:
            retry, planned = attempt.number - 1, len(endpoint._retries)
            marks.append(
                f"[retry {retry} of {planned}]" if retry <= planned else f"[retry {retry}]"
            )
        again = any(mark.text == "again" for mark in attempt.marks)
        cause = (
            self._by_attempt.get((event._index, endpoint, attempt.number - 1))
            or (again and self._again.get(event._index))
            or self._by_event.get(event._index)
        )
        to = self._labels.endpoint(endpoint)
        self._by_attempt[event._index, endpoint, attempt.number] = self._add(
            "attempt",
            moment,
            f"{self._labels.event(event)} -> {to}: {outcome}",
            state=self._labels.message_of(event),
            cause=cause or None,
            marks=marks,
            failed=failed,
            record=attempt,
        )

    def _request(self, request: ApiRequest) -> None:
        ok = request.status is not None and 200 <= request.status <= 299
        failed = not ok and not request.marks and request.status is not None
        self._by_request.append(
            self._add(
                "request",
                request.moment,
                str(request),
                marks=request.marks,
                failed=failed,
                record=request,
            )
        )

    def _clock(self, move: ClockRecord) -> None:
        text = f"{move.what} by {length(move.end - move.start)}"
        place = self._add("clock", move.start, text, line=move.line, record=move)
        self._move = (move, place)

    def _drop(self, message: MessageState, rule: Rule) -> None:
        at = message.dropped_at or 0
        cause = None
        if self._move is not None and self._move[0].start < at <= self._move[0].end:
            cause = self._move[1]
        text = f"{self._labels.message(message)} was not delivered in time; no event"
        self._doer = self._add(
            "drop", at, text, state=message, cause=cause, record=message, rule=rule
        )

    def _fault(self, fault: Trigger) -> None:
        moment = self._found[-1].moment if self._found else self._start()
        never = () if fault.fired else ("[never fired]",)
        self._add("fault", moment, fault.description, line=fault.line, marks=never, record=fault)

    def _start(self) -> int:
        return self._engine.account.ledger.entries[0].moment


def _described(what: str, fact: PersonFact) -> str:
    """Say who was described, and by ``recipient()`` as what."""
    address, own = fact.after.address, fact.after._asdict()
    if what != "recipient()":
        return f"{what} {address}"
    changed = {name: new for name, new in own.items() if new != getattr(fact.before, name)}
    given = "".join(f", {name}={new!r}" for name, new in changed.items())
    return f"recipient({address!r}{given})"


def _marks_of_events(engine: Engine) -> dict[int, tuple[Mark, ...]]:
    """Give the marks of events that faults hold back, by their places."""
    marks: dict[int, tuple[Mark, ...]] = {}
    for fault in engine.outbox.faults.ever:
        if fault.kind == "delay":
            for place in fault._hit:
                marks[place] = (*marks.get(place, ()), fault._mark)
    return marks


def _in_flight(engine: Engine) -> InFlight | None:
    outbox = engine.outbox
    dispatch, place = outbox._dispatch, outbox._next_endpoint - 1
    if dispatch is None or not 0 <= place < len(dispatch.endpoints):
        return None
    endpoint = dispatch.endpoints[place]
    return InFlight(dispatch.event, endpoint, dispatch.number, dispatch.overrides.marks)


def _outcome(attempt: Attempt) -> str:
    """Say how an attempt ended; of one that failed, the beginning of the answer, too."""
    if attempt.error is not None:
        return beginning(attempt.outcome)
    if attempt.ok:
        return str(attempt.status_code)
    return f"{attempt.status_code} {beginning_of_body(attempt)}".rstrip()


def length(nanoseconds: int) -> str:
    """Write a length of time as a person would: ``30 days``, ``1 h 30 min``, ``0.5 s``."""
    seconds, rest = divmod(nanoseconds, SECOND)
    parts: list[str] = []
    for size, unit in ((86_400, "day"), (3_600, "h"), (60, "min")):
        count, seconds = divmod(seconds, size)
        if count:
            plural = "s" if unit == "day" and count != 1 else ""
            parts.append(f"{count} {unit}{plural}")
    if seconds or rest or not parts:
        parts.append(f"{seconds + rest / SECOND:g} s")
    return " ".join(parts)
