"""What happened in one fake, in order: the journal's bytes put together with their records.

Causes stand before effects. A cause is what is known to be one: a verb of its entries and events,
an event of its attempts, an attempt or a request of the verbs that its receiver or its route
called, a move of time of what fell due. Nothing is guessed.

The n-th byte of a kind stands for the n-th record of that kind. So one pass over the bytes tells of
each entry which record it has, and of each record which entry it is. An entry itself is made when
it is asked for: a report of a few lines costs a few entries, however much happened.
"""

from __future__ import annotations

from array import array
from bisect import bisect, bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..base import notes
from ..base.growing_index import GrowingIndex
from ..base.marks import Mark
from ..base.triggers import Trigger
from ..base.views import Records
from ..domain.ledger import LedgerEntry
from ..domain.messages import MessageState
from ..domain.reasons import DROPPED, RULES, Rule
from ..engine.engine import Engine
from ..engine.journal import ClockRecord, VerbRecord
from ..http_api.account import AccountApi, ApiRequest
from ..webhooks.attempt_faults import AttemptFault
from ..webhooks.attempts import Attempt, is_success
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from ..webhooks.in_flight import InFlight
from .entries import Entry, Kind

#: What an entry can be, beside the kinds of :mod:`~pytest_chatfake.base.notes`.
_DROP: Final = 16
_HOLD: Final = 17
_RELEASE: Final = 18
_CHARGE: Final = 19

_KINDS: Final[dict[int, Kind]] = {
    notes.VERB: "verb",
    notes.EVENT: "event",
    notes.ATTEMPT: "attempt",
    notes.LOSS: "attempt",
    notes.REQUEST: "request",
    notes.CLOCK: "clock",
    notes.WEBHOOK_FAULT: "fault",
    notes.API_FAULT: "fault",
    _DROP: "drop",
    _HOLD: "hold",
    _RELEASE: "release",
    _CHARGE: "charge",
}
_POSTINGS: Final = {"hold": _HOLD, "release": _RELEASE, "charge": _CHARGE}


class Trace:
    """The entries of one fake, by their indices: the first one has 0, and the number 1.

    Args:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.
    """

    def __init__(self, engine: Engine, api: AccountApi) -> None:
        outbox, journal, entries = engine.outbox, engine.journal, engine.account.ledger.entries
        self._engine = engine
        self._api = api
        self._events = outbox.events  # a reset brings others
        self._bytes = journal.kinds
        self._logs: dict[int, Records] = {
            notes.VERB: journal.verbs,
            notes.EVENT: outbox.events,
            notes.ATTEMPT: outbox.attempts,
            notes.LOSS: outbox.attempts,
            notes.REQUEST: api._log,
            notes.CLOCK: journal.moves,
            notes.WEBHOOK_FAULT: outbox.faults.ever,
            notes.API_FAULT: api._faults.ever,
            _DROP: journal.drops,
            **dict.fromkeys(_POSTINGS.values(), entries),
        }
        # Of each byte: how many entries are before it.
        self._begins = array("Q")
        # Of each entry: its code.
        self._codes = bytearray()
        # Of each record, by its code and place: its entry.
        self._indices: defaultdict[int, array[int]] = defaultdict(lambda: array("Q"))
        # Of each posting of a fact: its entry, and its place in the ledger.
        self._postings = array("Q")
        self._posting_places = array("Q")
        self._posted: dict[int, int] = {}  # of verbs: the places of what they posted
        self._ledger_read = 0
        # Of each request that has its response, by its place: the first entry after that.
        self._responses: dict[int, int] = {}
        # Places in the log of attempts: of those that were made, and of those that were lost.
        self._made: dict[int, array[int]] = {notes.ATTEMPT: array("Q"), notes.LOSS: array("Q")}
        self._attempts_of = GrowingIndex(outbox.attempts._events, int)
        self._verbs_about = GrowingIndex(journal.subjects, _known)
        self._drops_of: dict[int, int] = {}

    @property
    def is_outdated(self) -> bool:
        """Whether the fake was reset since."""
        return self._events is not self._engine.outbox.events

    # Which entries there are

    def read(self) -> int:
        """Take in what is new, and return how many entries there are."""
        with self._engine.lock:
            for code in self._bytes[len(self._begins) :]:
                self._begins.append(len(self._codes))
                if code >= notes.FACT:
                    self._read_fact(code)
                elif code == notes.POSTING:
                    if self._codes and self._codes[-1] == notes.VERB:
                        self._posted[len(self._indices[notes.VERB]) - 1] = self._ledger_read
                    self._ledger_read += 1
                elif code == notes.RESPONSE:
                    request = self._api._ended[len(self._responses)]
                    self._responses[request] = len(self._codes)
                else:
                    self._add(code)
            self._read_attempts()
        return len(self._codes)

    def _add(self, code: int) -> None:
        self._indices[code].append(len(self._codes))
        self._codes.append(code)

    def _read_fact(self, code: int) -> None:
        is_drop = RULES[_rule_in(code)] is DROPPED
        if is_drop:
            message = self._engine.journal.drops[len(self._indices[_DROP])]
            self._drops_of[message.number] = len(self._codes)
            self._add(_DROP)
        for _ in range((code - notes.FACT) // notes.ENTRY):
            self._postings.append(len(self._codes))
            self._posting_places.append(self._ledger_read)
            self._codes.append(_POSTINGS[self._engine.account.ledger.kind(self._ledger_read)])
            self._ledger_read += 1
        if not is_drop:
            self._add(notes.EVENT)

    def _read_attempts(self) -> None:
        log = self._engine.outbox.attempts
        made, lost = self._made[notes.ATTEMPT], self._made[notes.LOSS]
        for place in range(len(made) + len(lost), len(log)):
            code = notes.LOSS if log._results[place].overrides.fault == "drop" else notes.ATTEMPT
            self._made[code].append(place)

    def begin_of(self, byte: int) -> int:
        """Return the first entry that was noted from a byte of the journal on."""
        total = self.read()
        return self._begins[byte] if byte < len(self._begins) else total

    # What they are

    def entries(self, start: int = 0, stop: int | None = None) -> list[Entry]:
        """Return the entries of a range: all, if none is given."""
        total = self.read()
        return self._made_of(range(start, total if stop is None else min(stop, total)))

    def of(self, message: MessageState) -> list[Entry]:
        """Return what happened to one message; it is found without a look at all the others."""
        self.read()
        found = self._made_of(sorted(set(self._indices_of(message))))
        return [entry for entry in found if entry.state is message]

    def odd(self, start: int = 0) -> list[Entry]:
        """Return what is not as usual: what failed, and what has marks."""
        self.read()
        indices = sorted({index for index in self._odd_indices() if index >= start})
        return [entry for entry in self._made_of(indices) if entry.is_odd]

    def last(self, kind: Kind, start: int = 0) -> Entry | None:
        """Return the last entry of a kind, if there is one."""
        total = self.read()
        found = max(
            self._codes.rfind(code, start, total) for code, of in _KINDS.items() if of == kind
        )
        return next(iter(self._made_of([found] if found >= 0 else [])), None)

    def priced(self, start: int = 0) -> list[MessageState]:
        """Return the messages whose price is worth a look, of those with events since an entry.

        They are the charged one with most events, and the last one that costs nothing.
        """
        first = bisect_left(self._indices[notes.EVENT], start)
        told = Counter(self._events._numbers[first:])
        messages = [
            one for one in map(self._engine.account.numbered, sorted(told)) if one is not None
        ]
        charged = [one for one in messages if one.charged] or messages
        free = [one for one in messages if not (one.held or one.charged)]
        most = max(charged, key=lambda one: (told[one.number], one.number), default=None)
        return [one for one in messages if one is most or one in free[-1:]]

    def attempted(self, start: int = 0) -> Counter[Endpoint]:
        """Count the attempts at each endpoint since an entry."""
        results, made = self._engine.outbox.attempts._results, self._made[notes.ATTEMPT]
        first = bisect_left(self._indices[notes.ATTEMPT], start)
        shown = [results[place] for place in made[first:]]
        return Counter(one.endpoint for one in shown if one.overrides.fault != "forgery")

    def count(self, start: int, stop: int) -> Counter[Kind]:
        """Count the entries of a range by their kinds, in the order in which these come."""
        counts: Counter[Kind] = Counter()
        for code, times in Counter(self._codes[start:stop]).items():
            counts[_KINDS[code]] += times
        return counts

    def _indices_of(self, message: MessageState) -> Iterator[int]:
        """Give what may be about a message: its records, and what the ledger took beside them."""
        verbs, events = self._indices[notes.VERB], self._events.of(message.number)
        subjects: list[MessageState | Event] = [message, *events]
        for subject in subjects:
            known = self._verbs_about.places(subject)
            yield from (verbs[place] for place in known if place < len(verbs))
        for event in events:
            yield from map(self._attempt, self._attempts_of.places(event._index))
            if event._index < len(self._indices[notes.EVENT]):
                index = self._indices[notes.EVENT][event._index]
                yield index
                yield from self._postings_beside(index, -1)
        yield from self._indices[notes.ATTEMPT][len(self._made[notes.ATTEMPT]) :]  # in flight
        if message.number in self._drops_of:
            yield self._drops_of[message.number]
            yield from self._postings_beside(self._drops_of[message.number], 1)

    def _attempt(self, place: int) -> int:
        """Return the entry of an attempt, by its place in the log."""
        code = notes.LOSS if place in self._made[notes.LOSS] else notes.ATTEMPT
        return self._indices[code][bisect_left(self._made[code], place)]

    def _postings_beside(self, index: int, step: int) -> Iterator[int]:
        """Give the entries of the ledger right before an entry, or right after it."""
        index += step
        while 0 <= index < len(self._codes) and self._codes[index] in _POSTINGS.values():
            yield index
            index += step

    def _odd_indices(self) -> Iterator[int]:
        results = self._engine.outbox.attempts._results
        for code, places in self._made.items():
            for at, place in enumerate(places):
                one = results[place]
                if one.overrides.fault == "forgery":
                    continue  # its check says more
                if one.overrides.marks or one.number > 1 or not is_success(one.answer):
                    yield self._indices[code][at]
        yield from self._indices[notes.ATTEMPT][len(self._made[notes.ATTEMPT]) :]
        for place in {*self._events._synthetic, *self._delayed()}:
            yield self._indices[notes.EVENT][place]
        for code in (notes.REQUEST, notes.WEBHOOK_FAULT, notes.API_FAULT):
            yield from self._indices[code]

    # How one is made

    def _made_of(self, indices: Iterable[int]) -> list[Entry]:
        with self._engine.lock:
            delayed = self._delayed()
            made = (self._entry(index, delayed) for index in indices)
            return [entry for entry in made if entry is not None]

    def _entry(self, index: int, delayed: dict[int, tuple[Mark, ...]]) -> Entry | None:
        """Make an entry; None while a thread has noted it, and is about to add its record."""
        number, kind, place = index + 1, _KINDS[self._codes[index]], self._place(index)
        match self._record(index):
            case VerbRecord() as verb:
                state, posted = self._message_of(verb.subject), self._posted.get(place)
                entry = None if posted is None else self._logs[_HOLD][posted]
                cause = self._caller(place)
                return Entry(number, verb.moment, kind, verb, state, cause, posted=entry)
            case LedgerEntry() as entry:
                state = self._engine.account.find(entry.message_id or "")
                return Entry(number, entry.moment, kind, entry, state, self._doer(index))
            case Event() as event:
                marks = delayed.get(event._index, ())
                if event.synthetic:
                    marks = (Mark("emit", "synthetic", event.line), *marks)
                state, rule = self._message_of(event), self._rule(index)
                cause = self._doer(index)
                return Entry(number, event.moment, kind, event, state, cause, marks, rule)
            case Attempt() | InFlight() as attempt:
                now = self._engine.time.read()
                moment = attempt.moment if isinstance(attempt, Attempt) else now
                state, cause = self._message_of(attempt.event), self._origin(index, attempt)
                return Entry(number, moment, kind, attempt, state, cause, attempt.marks)
            case ApiRequest() as request:
                moment = self._api._arrivals.get(place, request.moment)
                until = self._attempt_before_response(index, place)
                return Entry(number, moment, kind, request, marks=request.marks, until=until)
            case ClockRecord() as move:
                return Entry(number, move.start, kind, move)
            case MessageState() as message:
                at, cause = message.dropped_at or 0, self._move_over(index, message)
                return Entry(number, at, kind, message, message, cause, rule=DROPPED)
            case Trigger() as fault:
                return Entry(number, self._moment_before(index), kind, fault)
            case _:
                return None

    def _place(self, index: int) -> int:
        """Return the place of an entry's record."""
        code = self._codes[index]
        if code in _POSTINGS.values():
            return self._posting_places[bisect_left(self._postings, index)]
        return bisect_left(self._indices[code], index)

    def _rule(self, index: int) -> Rule | None:
        byte = self._bytes[bisect(self._begins, index) - 1]
        return RULES[_rule_in(byte)] if byte >= notes.FACT else None

    def _record(self, index: int) -> Any:
        code, place = self._codes[index], self._place(index)
        if code in self._made:
            made = self._made[code]
            if place >= len(made):
                in_flight, place = self._engine.drain.in_flight, place - len(made)
                return in_flight[place] if place < len(in_flight) else None
            place = made[place]
        log = self._logs[code]
        return log[place] if place < len(log) else None

    def _message_of(self, subject: object) -> MessageState | None:
        if isinstance(subject, Event):
            return self._engine.account.numbered(subject._log._numbers[subject._index])
        return subject if isinstance(subject, MessageState) else None

    def _delayed(self) -> dict[int, tuple[Mark, ...]]:
        """Give the marks of events that faults hold back, by their places."""
        marks: dict[int, tuple[Mark, ...]] = {}
        for fault in self._engine.outbox.faults.ever:
            if isinstance(fault, AttemptFault) and fault.kind == "delay":
                for place in fault._hit:
                    marks[place] = (*marks.get(place, ()), fault._mark)
        return marks

    # What caused one: its number

    def _doer(self, index: int) -> int | None:
        """Return the last verb or drop before an entry."""
        doers = (self._indices[notes.VERB], self._indices[_DROP])
        before = [known[at - 1] + 1 for known in doers if (at := bisect_left(known, index))]
        return max(before, default=None)

    def _caller(self, verb: int) -> int | None:
        """Return the request or the attempt inside which a verb was called."""
        kind, place = self._engine.journal.causes.get(verb, (0, 0))
        if kind == notes.ATTEMPT:
            return self._begins[place] + 1
        known = self._indices[notes.REQUEST]
        return known[place] + 1 if kind == notes.REQUEST and place < len(known) else None

    def _attempt_before_response(self, index: int, place: int) -> int | None:
        """Return the last attempt that a request caused before its response."""
        end = self._responses.get(place, index)
        if self._codes.find(notes.ATTEMPT, index, end) < 0:
            return None
        causes = {one.number: one.cause for one in self._made_of(range(index + 1, end))}
        attempts = (number for number in causes if self._codes[number - 1] == notes.ATTEMPT)
        early = [number for number in attempts if _first_cause(causes, number) == index + 1]
        return max(early, default=None)

    def _origin(self, index: int, attempt: Attempt | InFlight) -> int | None:
        """Return the attempt before a retry, what asked for an event again, or the event."""
        event = attempt.event
        for place in reversed(self._attempts_of.places(event._index) if attempt.number > 1 else ()):
            before = self._attempt(place)
            if before < index:
                made = self._record(before)
                if (made.endpoint, made.number) == (attempt.endpoint, attempt.number - 1):
                    return before + 1
        if any(mark.kind == "redeliver" for mark in attempt.marks):
            end = bisect_left(self._indices[notes.VERB], index)
            places = [one for one in self._verbs_about.places(event) if one < end]
            if places:
                return self._indices[notes.VERB][places[-1]] + 1
        known = self._indices[notes.EVENT]
        return known[event._index] + 1 if event._index < len(known) else None

    def _move_over(self, index: int, message: MessageState) -> int | None:
        """Return the last move of time, if a message was dropped in it."""
        moves = self._indices[notes.CLOCK]
        last = bisect_left(moves, index) - 1
        if last < 0 or message.dropped_at is None:
            return None
        move: ClockRecord = self._record(moves[last])
        return moves[last] + 1 if move.start < message.dropped_at <= move.end else None

    def _moment_before(self, index: int) -> int:
        """Return when that happened which a fault, which has no moment, was set up after."""
        while index > 0:
            index -= 1
            if self._codes[index] not in {notes.WEBHOOK_FAULT, notes.API_FAULT}:
                before = self._entry(index, {})
                return before.moment if before is not None else self._begun()
        return self._begun()

    def _begun(self) -> int:
        moment: int = self._logs[_HOLD][0].moment
        return moment


def _known(subject: object) -> MessageState | Event | None:
    """Return what a verb was about, if that can be looked for."""
    return subject if isinstance(subject, (MessageState, Event)) else None


def _first_cause(causes: Mapping[int, int | None], number: int) -> int:
    """Return where a chain of causes began."""
    while (cause := causes.get(number)) is not None:
        number = cause
    return number


def _rule_in(byte: int) -> int:
    """Return the code of the rule that the byte of a fact names."""
    return notes.FACT + (byte - notes.FACT) % notes.ENTRY
