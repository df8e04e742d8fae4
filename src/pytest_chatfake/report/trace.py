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
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..base import notes
from ..base.growing_index import GrowingIndex
from ..base.marks import Mark
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
_DROP, _HOLD, _RELEASE, _CHARGE = range(16, 20)
_POSTINGS: Final = {"hold": _HOLD, "release": _RELEASE, "charge": _CHARGE}

_KINDS: Final[dict[int, Kind]] = {
    notes.VERB: "verb",
    notes.EVENT: "event",
    notes.ATTEMPT: "attempt",
    notes.REQUEST: "request",
    notes.CLOCK: "clock",
    notes.WEBHOOK_FAULT: "fault",
    notes.API_FAULT: "fault",
    _DROP: "drop",
    _HOLD: "hold",
    _RELEASE: "release",
    _CHARGE: "charge",
}


class Trace:
    """The entries of one fake, by their indices: the first one has 0, and the number 1.

    Args:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.
    """

    def __init__(self, engine: Engine, api: AccountApi) -> None:
        outbox, journal = engine.outbox, engine.journal
        self._engine = engine
        self._api = api
        self._events = outbox.events  # a reset brings others
        self._attempts = outbox.attempts
        self._bytes = journal.kinds
        self._ledger = engine.account.ledger
        self._ledger_read = 0
        self._logs: dict[int, Records] = {
            notes.VERB: journal.verbs,
            notes.EVENT: outbox.events,
            notes.ATTEMPT: outbox.attempts,
            notes.REQUEST: api._log,
            notes.CLOCK: journal.moves,
            notes.WEBHOOK_FAULT: outbox.faults.ever,
            notes.API_FAULT: api._faults.ever,
            _DROP: journal.drops,
            **dict.fromkeys(_POSTINGS.values(), self._ledger.entries),
        }
        # Of each byte: how many entries are before it.
        self._begins = array("Q")
        # Of each entry: its code, and the place of its record.
        self._codes = bytearray()
        self._places = array("Q")
        # Of each record, by its code and place: its entry.
        self._indices: dict[int, array[int]] = {code: array("Q") for code in self._logs}
        # What a verb about the whole account posted, by the verb's number.
        self._posted: dict[int, LedgerEntry] = {}
        # Of each request that has its response, by its place: the first entry after that.
        self._responses: dict[int, int] = {}
        self._attempts_of = GrowingIndex(outbox.attempts._events, int)

    @property
    def begun(self) -> int:
        """When the fake was begun, or reset."""
        return self._ledger.entries[0].moment

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
                    self._posted[len(self._codes)] = self._ledger.entries[self._ledger_read]
                    self._ledger_read += 1
                elif code == notes.RESPONSE:
                    request = self._api._ended[len(self._responses)]
                    self._responses[request] = len(self._codes)
                else:
                    self._add(code)
        return len(self._codes)

    def _read_fact(self, code: int) -> None:
        is_drop = _rule_of(code) is DROPPED
        if is_drop:
            self._add(_DROP)
        for _ in range((code - notes.FACT) // notes.ENTRY):
            self._codes.append(_POSTINGS[self._ledger.kind(self._ledger_read)])
            self._places.append(self._ledger_read)
            self._ledger_read += 1
        if not is_drop:
            self._add(notes.EVENT)

    def _add(self, code: int) -> None:
        indices = self._indices[code]
        self._places.append(len(indices))
        indices.append(len(self._codes))
        self._codes.append(code)

    def begin_of(self, byte: int) -> int:
        """Return the first entry that was noted from a byte of the journal on."""
        total = self.read()
        return self._begins[byte] if byte < len(self._begins) else total

    # What they are

    def entries(self, start: int = 0, stop: int | None = None) -> list[Entry]:
        """Return the entries of a range: all, if none is given."""
        return self._made_of(range(self.read())[start:stop])

    def of(self, message: MessageState) -> list[Entry]:
        """Return what happened to one message; it is found without a look at all the others.

        That is its facts, the attempts at their events, and the verbs that caused these.
        """
        with self._engine.lock:
            self.read()
            events = self._events._by_message.places(message.number)
            facts = [self._indices[notes.EVENT][place] for place in events]
            if message.state == "dropped":
                drop = self._engine.journal.drops.index(message)
                facts.append(self._indices[_DROP][drop])
            places = [at for event in events for at in self._attempts_of.places(event)]
            attempts = self._indices[notes.ATTEMPT]
            indices = {*self._in_flight(), *(attempts[place] for place in places)}
            indices.update(*map(self._beside, facts))
            effects = self._made_of(indices)
            causes = {one.cause - 1 for one in effects if one.cause is not None} - indices
            found = [*effects, *self._made_of(causes)]
        return sorted(entry for entry in found if entry.state is message)

    def _beside(self, fact: int) -> range:
        """Return the entries of a fact: an event or a drop, and what the ledger took with it."""
        byte = bisect(self._begins, fact)
        return range(self._begins[byte - 1], self.begin_of(byte))

    def _in_flight(self) -> Iterable[int]:
        """Return the attempts that have no record yet."""
        return self._indices[notes.ATTEMPT][len(self._attempts) :]

    def odd(self, start: int = 0) -> list[Entry]:
        """Return what is not as usual: what failed, and what has marks."""
        self.read()
        indices = sorted({index for index in self._suspects() if index >= start})
        return [entry for entry in self._made_of(indices) if entry.is_odd]

    def _suspects(self) -> Iterator[int]:
        """Give the entries among which the odd ones are."""
        attempts, events = self._indices[notes.ATTEMPT], self._indices[notes.EVENT]
        for index, one in zip(attempts, self._attempts._results, strict=False):
            is_usual = one.number == 1 and is_success(one.answer) and not one.overrides.marks
            if not is_usual and one.overrides.fault != "forgery":  # its check says more
                yield index
        yield from self._in_flight()
        for place in self._events._synthetic.union(*(one._hit for one in self._delays())):
            yield events[place]
        for code in (notes.REQUEST, notes.WEBHOOK_FAULT, notes.API_FAULT):
            yield from self._indices[code]

    def priced(self, start: int = 0) -> list[MessageState]:
        """Return the messages whose price is worth a look, of those with events since an entry.

        They are the last one that was charged, and the last one that costs nothing.
        """
        told = sorted({*self._events._numbers[self.count(0, start)["event"] :]})
        messages = list(filter(None, map(self._engine.account.numbered, told)))
        charged = [one for one in messages if one.charged] or messages
        free = [one for one in messages if not (one.held or one.charged)]
        return [one for one in messages if one in (*charged[-1:], *free[-1:])]

    def attempted(self, start: int = 0) -> Counter[Endpoint]:
        """Count the attempts that each endpoint has responded to with 2xx, since an entry."""
        results = self._attempts._results[self.count(0, start)["attempt"] :]
        return Counter(
            one.endpoint
            for one in results
            if is_success(one.answer) and one.overrides.fault != "forgery"
        )

    def postings(self, stop: int) -> int:
        """Count what the ledger had posted when an entry was noted, by the entry's number."""
        about_messages = sum(map(self._codes[:stop].count, _POSTINGS.values()))
        return about_messages + sum(number <= stop for number in self._posted)

    def count(self, start: int, stop: int | None = None) -> Counter[Kind]:
        """Count the entries of a range by their kinds, in the order in which these come."""
        counts: Counter[Kind] = Counter()
        for code, times in Counter(self._codes[start:stop]).items():
            counts[_KINDS[code]] += times
        return counts

    # How one is made

    def _made_of(self, indices: Iterable[int]) -> list[Entry]:
        with self._engine.lock:
            return [entry for entry in map(self._entry, indices) if entry is not None]

    def _entry(self, index: int) -> Entry | None:
        """Make an entry; None while a thread has noted it, and is about to add its record."""
        place, record = self._places[index], self._record(index)
        if record is None:
            return None
        entry = Entry(index + 1, 0, _KINDS[self._codes[index]], record, self._message_of(record))
        match record:
            case VerbRecord(moment=at):
                posted = self._posted.get(entry.number)
                return entry._replace(moment=at, cause=self._caller(place), posted=posted)
            case LedgerEntry(moment=at):
                return entry._replace(moment=at, cause=self._doer(index))
            case Event(moment=at):
                cause, marks = self._doer(index), tuple(self._marks_of(record))
                rule = _rule_of(self._bytes[bisect(self._begins, index) - 1])
                return entry._replace(moment=at, cause=cause, marks=marks, rule=rule)
            case Attempt(moment=at) | InFlight(moment=at):
                cause = self._origin(index, record)
                return entry._replace(moment=at, cause=cause, marks=record.marks)
            case ApiRequest():
                at = self._api._arrivals.get(place, record.moment)
                until = self._attempt_before_response(index, place)
                return entry._replace(moment=at, marks=record.marks, until=until)
            case MessageState(dropped_at=int(at)):
                cause = self._move_over(index, at)
                return entry._replace(moment=at, cause=cause, rule=DROPPED)
            case ClockRecord(start=at):
                return entry._replace(moment=at)
            case _:
                return entry._replace(moment=self._moment_before(index))

    def _marks_of(self, event: Event) -> Iterator[Mark]:
        if event.synthetic:
            yield Mark("emit", "synthetic", event.line)
        yield from (one._mark for one in self._delays() if event._index in one._hit)

    def _record(self, index: int) -> Any:
        log, place = self._logs[self._codes[index]], self._places[index]
        if place < len(log):
            return log[place]
        # Of attempts, those that have no record yet.
        in_flight = self._engine.drain.in_flight if log is self._attempts else []
        return next(iter(in_flight[place - len(log) :]), None)

    def _message_of(self, record: object) -> MessageState | None:
        """Return the message that a record is about, if it is about one."""
        match record:
            case VerbRecord(subject=subject) | Attempt(event=subject) | InFlight(event=subject):
                return self._message_of(subject)
            case Event() as event:
                return self._engine.account.numbered(event._log._numbers[event._index])
            case LedgerEntry(message_id=str(id_)):
                return self._engine.account.find(id_)
            case _:
                return record if isinstance(record, MessageState) else None

    def _delays(self) -> list[AttemptFault]:
        """Return the faults that hold events back."""
        faults = self._engine.outbox.faults.ever
        return [one for one in faults if isinstance(one, AttemptFault) and one.kind == "delay"]

    # What caused one: its number

    def _doer(self, index: int) -> int | None:
        """Return the last verb or drop before an entry."""
        verb = self._codes.rfind(notes.VERB, 0, index)
        return max(verb, self._codes.rfind(_DROP, verb + 1, index)) + 1 or None

    def _caller(self, verb: int) -> int | None:
        """Return the request or the attempt inside which a verb was called."""
        kind, place = self._engine.journal.causes.get(verb, (0, 0))
        if kind == notes.ATTEMPT:
            return self._begins[place] + 1
        return self._indices[kind][place] + 1 if kind else None

    def _attempt_before_response(self, index: int, place: int) -> int | None:
        """Return the last attempt that a request caused before its response."""
        last, end = None, self._responses.get(place, index)
        if self.count(index, end)["attempt"]:
            caused = {index + 1}
            for entry in self._made_of(range(index + 1, end)):
                if entry.cause in caused:
                    caused.add(entry.number)
                    last = entry.number if entry.kind == "attempt" else last
        return last

    def _origin(self, index: int, attempt: Attempt | InFlight) -> int:
        """Return the attempt before a retry, what asked for an event again, or the event."""
        event, before = attempt.event, (attempt.endpoint, attempt.number - 1)
        entries = self._indices[notes.ATTEMPT]
        for place in reversed(self._attempts_of.places(event._index)):
            made = self._attempts[place]
            if entries[place] < index and (made.endpoint, made.number) == before:
                return entries[place] + 1
        if any(mark.kind == "redeliver" for mark in attempt.marks):
            while (index := self._codes.rfind(notes.VERB, 0, index)) >= 0:
                if self._record(index).subject == event:
                    return index + 1
        return self._indices[notes.EVENT][event._index] + 1

    def _move_over(self, index: int, moment: int) -> int | None:
        """Return the last move of time, if what happened in it was due in it."""
        move = self._codes.rfind(notes.CLOCK, 0, index)
        return move + 1 if move >= 0 and moment <= self._record(move).end else None

    def _moment_before(self, index: int) -> int:
        """Return when that happened which a fault, which has no moment, was set up after."""
        others = (one for one in range(index - 1, -1, -1) if _KINDS[self._codes[one]] != "fault")
        before = next(map(self._entry, others), None)
        return self.begun if before is None else before.moment


def _rule_of(byte: int) -> Rule | None:
    """Return the rule that a byte names, if it is that of a fact."""
    return RULES[notes.FACT + (byte - notes.FACT) % notes.ENTRY] if byte >= notes.FACT else None
