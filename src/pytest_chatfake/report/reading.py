"""What happened in a fake, in order: the journal's bytes put together with their records.

Causes stand before effects. A cause is what is known to be one: a verb of its entries and events,
an event of its attempts, an attempt or a request of the verbs that its receiver or its route
called, a move of time of what fell due. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from ..base import notes
from ..base.controls import one_line
from ..base.marks import Mark
from ..base.triggers import Trigger
from ..base.views import Records, View
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.people import PersonFact
from ..domain.reasons import DROPPED, RULES, Rule
from ..engine.engine import Engine
from ..engine.journal import ClockRecord, VerbRecord
from ..http_api.account import AccountApi, ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from ..webhooks.fault_kinds import effect_of
from ..webhooks.in_flight import InFlight
from ..wire.exact_json import number
from .happenings import Happening, Kind, length
from .hints import beginning, beginning_of_body
from .labels import Labels
from .places import DROP, HAPPENING, Places


def happenings(
    engine: Engine,
    api: AccountApi,
    labels: Labels,
    places: Places,
    since: int = 0,
    *,
    message: MessageState | None = None,
) -> list[Happening]:
    """Read what happened in a fake so far.

    Args:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.
        labels: The short names.
        places: Where in the journal things are.
        since: How many bytes of the journal to leave out.
        message: Read only what happened to this one.
    """
    with engine.lock:
        places.read()
        reading = _Reading(engine, api, labels, places)
        if message is None:
            return reading.run(since)
        return [one for one in reading.pick(places.of(message)) if one.state is message]


class _NotYetError(Exception):
    """A thread has noted a byte, and is about to add its record."""


class _Cursor:
    """Gives the records of a kind one after another."""

    def __init__(self, records: Records) -> None:
        self.at = 0
        self._records = records

    def take(self) -> Any:
        """Return the next one.

        Raises:
            _NotYetError: There is none.
        """
        if self.at >= len(self._records):
            raise _NotYetError
        self.at += 1
        return self._records[self.at - 1]


class _Reading:
    """One pass over the journal. The n-th byte of a kind is the n-th record of that kind."""

    def __init__(self, engine: Engine, api: AccountApi, labels: Labels, places: Places) -> None:
        journal, outbox = engine.journal, engine.outbox
        self._engine = engine
        self._labels = labels
        self._places = places
        self._kinds = journal.kinds
        self._causes = journal.causes
        self._arrivals = api._arrivals
        attempt = outbox.attempts.__getitem__
        self._cursors = {
            notes.VERB: _Cursor(journal.verbs),
            notes.POSTING: _Cursor(engine.account.ledger.entries),
            notes.EVENT: _Cursor(outbox.events),
            notes.ATTEMPT: _Cursor(View(places.made, attempt)),
            notes.LOSS: _Cursor(View(places.lost, attempt)),
            notes.REQUEST: _Cursor(api._log),
            notes.CLOCK: _Cursor(journal.moves),
            notes.WEBHOOK_FAULT: _Cursor(outbox.faults.ever),
            notes.API_FAULT: _Cursor(api._faults.ever),
            DROP: _Cursor(journal.drops),
        }
        self._readers: dict[int, Callable[[Any], None]] = {
            notes.VERB: self._verb,
            notes.POSTING: self._adjustment,
            notes.EVENT: self._event,
            notes.LOSS: self._attempt,
            notes.REQUEST: self._request,
            notes.CLOCK: self._clock,
            notes.WEBHOOK_FAULT: self._fault,
            notes.API_FAULT: self._fault,
        }
        self._event_marks = _marks_of_events(engine)
        self._found: list[Happening] = []
        self._number = 0  # of the last one
        # What causes go by: the numbers of happenings.
        self._doer: int | None = None
        self._move: tuple[ClockRecord, int] | None = None
        self._by_event: dict[int, int] = {}
        self._by_attempt: dict[tuple[int, Endpoint, int], int] = {}
        self._by_request: dict[int, int] = {}
        self._by_byte: dict[int, int] = {}
        self._again: dict[int, int] = {}

    def run(self, since: int) -> list[Happening]:
        """Read everything; leave out what was noted before ``since``."""
        first = 0
        for byte in range(len(self._kinds)):
            self._read(byte)
            if byte < since:
                first = len(self._found)
        return self._found[first:]

    def pick(self, wanted: Sequence[int]) -> list[Happening]:
        """Read some of the bytes, in order."""
        for byte in wanted:
            counts = self._places.before(byte)
            for kind, cursor in self._cursors.items():
                cursor.at = counts[kind]
            self._number = counts[HAPPENING]
            self._read(byte)
        return self._found

    def _read(self, byte: int) -> None:
        code, before = self._kinds[byte], self._number
        with suppress(_NotYetError):
            if code >= notes.FACT:
                self._fact(code)
            elif code == notes.ATTEMPT:
                self._begun()
            else:
                self._readers[code](self._cursors[code].take())
        if self._number > before:
            self._by_byte[byte] = before + 1

    def _add(self, kind: Kind, moment: int, text: str, **more: Any) -> int:
        self._number = number_ = self._number + 1
        given = more.pop("marks", ())
        kinds = tuple(mark.kind for mark in given if isinstance(mark, Mark))
        marks = tuple(str(mark) for mark in given)
        text = one_line(self._labels.clean(text))
        marks = tuple(one_line(self._labels.clean(mark)) for mark in marks)
        self._found.append(
            Happening(number_, moment, kind, text, marks=marks, mark_kinds=kinds, **more)
        )
        return number_

    # Each kind

    def _verb(self, verb: VerbRecord) -> None:
        text, state, subject = verb.what, None, verb.subject
        if isinstance(subject, MessageState):
            state = subject
            text += f" {self._labels.message(state)}"
        elif isinstance(subject, Event):
            state = self._labels.message_of(subject)
            text += f" {self._labels.event(subject)}"
        elif isinstance(subject, PersonFact):
            text = _described(text, subject)
        found = self._causes.get(self._cursors[notes.VERB].at - 1)
        cause = None if found is None else self._cause(*found)
        self._doer = self._add(
            "verb", verb.moment, text, state=state, cause=cause, line=verb.line, record=verb
        )
        if isinstance(subject, Event):
            self._again[subject._index] = self._doer

    def _cause(self, kind: int, place: int) -> int | None:
        """Return the number of the request or the attempt inside which a verb was called."""
        if kind == notes.ATTEMPT:
            return self._by_byte.get(place) or self._places.before(place)[HAPPENING] + 1
        if place in self._by_request:
            return self._by_request[place]
        byte = self._places.byte(notes.REQUEST, place)
        return None if byte is None else self._places.before(byte)[HAPPENING] + 1

    def _adjustment(self, entry: LedgerEntry) -> None:
        """Let a verb about the whole account say what it posted."""
        if self._found and self._doer == self._number:
            verb = self._found[-1]
            self._found[-1] = verb._replace(text=f"{verb.text} {entry.amount:+f}")

    def _fact(self, code: int) -> None:
        rule = RULES[notes.FACT + (code - notes.FACT) % notes.ENTRY]
        ledger = self._cursors[notes.POSTING]
        entries = [ledger.take() for _ in range((code - notes.FACT) // notes.ENTRY)]
        if rule is DROPPED:
            self._drop(self._cursors[DROP].take(), rule)
            self._post(entries)
        else:
            self._post(entries)
            self._event(self._cursors[notes.EVENT].take(), rule)

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

    def _begun(self) -> None:
        """Read an attempt, which has a record once it has ended."""
        cursor, in_flight = self._cursors[notes.ATTEMPT], self._engine.drain.in_flight
        try:
            self._attempt(cursor.take())
        except _NotYetError:
            place = cursor.at - len(self._places.made)
            cursor.at += 1
            if place < len(in_flight):
                now = self._engine.time.read()
                self._add_attempt(in_flight[place], now, "no answer yet", False)

    def _attempt(self, attempt: Attempt) -> None:
        outcome = "not attempted" if attempt.fault == "drop" else _outcome(attempt)
        failed = not attempt.ok and not effect_of(attempt.fault).fails
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
        again = any(mark.kind == "again" for mark in attempt.marks)
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
        place = self._cursors[notes.REQUEST].at - 1
        self._by_request[place] = self._add(
            "request",
            self._arrivals.get(place, request.moment),
            str(request),
            marks=request.marks,
            failed=failed,
            record=request,
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


def _outcome(attempt: Attempt) -> str:
    """Say how an attempt ended; of one that failed, the beginning of the answer, too."""
    if attempt.error is not None:
        return beginning(attempt.outcome)
    if attempt.ok:
        return str(attempt.status_code)
    return f"{attempt.status_code} {beginning_of_body(attempt)}".rstrip()
