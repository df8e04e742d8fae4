"""What to look at first when a test fails: only what the fake has seen, never a guess."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Final

from ..base import tracebacks
from ..base.faults import BaseFault
from ..base.history import Record
from ..base.tracebacks import LoggedError
from ..base.views import folded, listed
from ..domain.messages import MessageState
from ..domain.reasons import READ_AT_ONCE, TOO_DEAR
from ..engine.engine import Engine
from ..engine.records import VerbRecord
from ..http_api.account_api import ApiRequest
from ..webhooks.attempts import Attempt
from ..webhooks.events import Event, events_are
from ..webhooks.forgeries import forgery_of
from ..wire.exact_json import number
from .entries import fold_key, has_failed, is_unused, kind_of, line_of, pointer_to
from .explanations import Explanations
from .final_checks import retried
from .hints import (
    SKIPPED,
    UNSEEN,
    awaited,
    background_lines,
    hint,
    logged_error,
    missed,
    shown_error,
    unused_faults,
    unused_line,
    why_queued,
)
from .labels import Labels
from .pending import pending_lines
from .story import Story
from .timeline_text import entry_text, shown_marks
from .trace import Trace

#: The maximum number of lines of each kind, and of characters about what happened.
_MAX_LINES: Final = 5
_SHORT: Final = 120

#: The maximum number of mentioned messages whose price is explained.
_PRICED: Final = 2

#: Errors that mean wrong code, whatever the fake did.
_MISTAKES: Final = (AttributeError, ImportError, NameError, SyntaxError, TypeError)

#: An amount of money: a decimal number that is not part of a time, an address or a version.
_AMOUNT: Final = re.compile(r"(?<![\w.:])\d+\.\d+(?!\w|\.\w)")

#: The rules that let a message be read without a delivery.
_READ_AT_ONCE: Final = frozenset(READ_AT_ONCE.values())


#: The rules by which a message fails for lack of money.
_TOO_DEAR: Final = frozenset(TOO_DEAR.values())


class Highlights:
    """What to look at in one fake's timeline.

    Prices are only explained if no webhook failed and the test failed over an amount. "Responded
    with 2xx to all events" is only shown if there is nothing else to say.

    Args:
        story: The fake's story.
        start: The first new entry.
        error: The test's error; None: the test did not fail.

    Attributes:
        lines: A line for each thing to look at, the likeliest cause first.
        cause: The first line if it is about something odd, else empty.
        labels: The short names that the lines use.
        priced_messages: The messages whose price the lines explain.
    """

    def __init__(self, story: Story, start: int, error: BaseException | None = None) -> None:
        self._story = story
        self._engine: Engine = story.engine
        self._trace: Trace = story.trace
        self._start = start
        self._records = story.trace.records[start:]
        self._retried = retried(story.engine)
        notes: list[str] = getattr(error, "__notes__", [])
        self._told = "" if error is None else "\n".join([tracebacks.text_of(error), *notes])
        self.labels: Labels = story.labels
        self._explanations = Explanations(story, self.labels)
        self.priced_messages: Sequence[MessageState] = ()
        odd = self._trace.odd(start)
        failed = [*self._failed(odd)]
        lines = [*failed, *self._marked(odd), *self._queued()]
        is_odd = bool(lines)
        was_attempted = any(isinstance(entry, Attempt) for entry in self._records)
        is_own = tracebacks.is_own(error)
        if (
            not failed
            and (was_attempted or (error is not None and not is_own))
            and _is_about_money(error)
        ):
            lines += self._prices()
        if not failed and was_attempted:
            lines = lines or [*self._responses()]
        if not is_own and not isinstance(error, _MISTAKES):
            lines += self._unconnected()
        self.lines: list[str] = [*map(self.labels.clean_line, lines)]
        self.cause: str = self.lines[0] if is_odd else ""

    def _failed(self, odd: Sequence[Record]) -> Iterator[str]:
        engine = self._engine
        if engine.plan:
            yield engine.plan.remainder()
        yield from folded(map(_error, engine.state.errors), _MAX_LINES)
        yield from folded(self._unheard(), _MAX_LINES)
        unused = unused_faults(engine, self._story.api)
        late = [fault for fault in unused if missed(fault, engine) is not None]
        yield from folded(map(self._unused, late), _MAX_LINES)
        yield from self._first_of_each([entry for entry in odd if has_failed(entry)])
        yield from folded(background_lines(engine), _MAX_LINES)
        yield from folded(
            (self._unused(fault) for fault in unused if fault not in late), _MAX_LINES
        )

    def _marked(self, odd: Sequence[Record]) -> Iterator[str]:
        yield from self._first_of_each(
            [entry for entry in odd if not (has_failed(entry) or is_unused(entry))]
        )
        yield from self._left_out()
        yield from pending_lines(self._engine, self.labels)

    def _first_of_each(self, odd: Sequence[Record]) -> Iterator[str]:
        # An event is left out if its attempt has the same marks.
        shown = {
            (attempt.event, *attempt._marks) for attempt in odd if isinstance(attempt, Attempt)
        }
        alike: dict[Hashable, list[Record]] = {}
        for entry in odd:
            if (entry, *entry._marks) not in shown:
                alike.setdefault(fold_key(entry), []).append(entry)
        kinds = list(alike.values())
        for first, *others in kinds[:_MAX_LINES]:
            more_of_it = f", and {len(others):,} more like it" if others else ""
            yield self._line(first) + self._taken_before(first) + more_of_it
        if more := sum(map(len, kinds[_MAX_LINES:])):
            yield f"... and {more:,} more of these"

    def _line(self, entry: Record) -> str:
        text = entry_text(entry, self.labels, hinted=has_failed(entry))
        most = _SHORT + (len(hint(entry)) if isinstance(entry, Attempt) else 0)
        if len(text) > most:
            text = f"{text[:most].rstrip()} ..."
        where = line_of(entry)
        line = "" if where is None else f" {where.place}"
        marks = shown_marks(entry, self.labels)
        if isinstance(entry, Attempt) and entry.error is not None:
            text += hint(entry)
        if isinstance(entry, Attempt) and (entry.event, entry.endpoint) in self._retried:
            text += " (another attempt is pending)"
        return " ".join([f"{pointer_to(entry)} ({kind_of(entry)}) {text}{line}", *marks])

    # What happened before

    def _taken_before(self, attempt: Record) -> str:
        # A failed attempt is easier to judge if you know what the endpoint accepted before: the
        # same event, or a later one of the message.
        if not (isinstance(attempt, Attempt) and attempt._was_made and attempt._message):
            return ""
        # A forgery has a new id, so nothing happened before.
        if forgery_of(attempt) is not None:
            return ""
        latest = ""
        for before in self._trace.of(attempt._message):
            if before is attempt:
                break
            if isinstance(before, Attempt) and before.ok and before.endpoint is attempt.endpoint:
                if before.event is attempt.event:
                    return f", already accepted at {pointer_to(before)}"
                if before.event._index > attempt.event._index:
                    latest = f", after {before.event._name} ({pointer_to(before)})"
        return latest

    # What never happened

    def _unheard(self) -> Iterator[str]:
        endpoints = self._engine.outbox.endpoints
        if not endpoints:  # no endpoint was connected, or none is any more
            return
        types: dict[str, list[Event]] = {}
        for event in self._new_unheard():
            types.setdefault(event.type, []).append(event)
        for type_, (first, *others) in types.items():
            more = f" and {len(others):,} more" if others else ""
            is_late = endpoints.listening(type_)
            how = "before the verb" if is_late else 'with events="*"'
            what = f"no endpoint listened for {type_} (caused {first.line.place}){more}"
            yield f"{what}: connect the app {how}"

    def _unconnected(self) -> Iterator[str]:
        # An app that only sends may need no webhooks.
        unheard = (event for event in self._new_unheard() if not _is_of_an_api_call(event))
        if any(unheard) and not self._engine.outbox.endpoints.ever:
            yield (
                "no endpoint was connected, so no webhook was posted: call "
                "chat_fake.webhooks.connect()"
            )

    def _new_unheard(self) -> list[Event]:
        return [event for event in self._engine.outbox.unheard if event._index >= self._start]

    def _queued(self) -> Iterator[str]:
        queued = self._engine.outbox.queued
        if queued and self._engine.drain.thread is None:
            why = why_queued(self._engine.state.blocked)
            settle = f" ({awaited(self._engine)}chat_fake.settle() posts what is queued)"
            yield f"{events_are(queued)} still queued{why or settle}"

    def _unused(self, fault: BaseFault) -> str:
        return f"unused fault: {unused_line(fault, self._engine)}"

    def _left_out(self) -> Iterator[str]:
        at_once: list[MessageState] = []
        unseen: list[MessageState] = []
        poor: list[MessageState] = []
        for entry in self._records:
            message: MessageState | None = entry._message
            if message is None:
                continue
            if entry._rule in _TOO_DEAR:
                poor.append(message)
            is_read = isinstance(entry, VerbRecord) and entry.what == "read()"
            if entry._rule in _READ_AT_ONCE:
                at_once.append(message)
            elif is_read and message.state == "delivered":
                unseen.append(message)
        if at_once:
            names = self.labels.messages(at_once)
            yield f"{names} {SKIPPED}: call deliver() before read() to get one"
        if poor:
            code = self._engine.settings.rules.insufficient_balance.code
            yield f"{self.labels.messages(poor)} failed with {code}: there was too little money"
        if unseen:
            yield f"{self.labels.messages(unseen)} {UNSEEN}"

    # If nothing is odd

    def _prices(self) -> Iterator[str]:
        mentioned = [*self._story.mentioned]
        self.priced_messages = mentioned[:_PRICED] or self._likely_messages()
        yield from filter(None, map(self._price, self.priced_messages))

    def _likely_messages(self) -> list[MessageState]:
        # A wrong sum is most likely due to the last message that was charged, or the last free one.
        events = (entry for entry in self._records if isinstance(entry, Event))
        messages = {event._message for event in events if event._message is not None}
        in_order = sorted(messages, key=attrgetter("number"))
        charged = [message for message in in_order if message.charged] or in_order
        free = [message for message in in_order if not (message.held or message.charged)]
        return [message for message in in_order if message in (*charged[-1:], *free[-1:])]

    def _price(self, message: MessageState) -> str:
        # The reason is left out if the test's error has given it already.
        label, happened = self.labels.message(message), self._trace.of(message)
        prices = [
            (pointer_to(entry), entry.status, price)
            for entry in happened
            if isinstance(entry, Event) and (price := self._price_in(entry))
        ]
        estimates = [(at, price) for at, status, price in prices if status == "sent"]
        finals = [at for at, status, _ in prices if status != "sent"]
        charges = [entry for entry in happened if kind_of(entry) == "charge"]
        if charges and finals:
            charged = number(message.charged)
            shown = [
                f"{at} (estimate{'' if price == charged else f', {price}'})"
                for at, price in estimates
            ]
            places = listed([*shown, *finals[:-1], f"{finals[-1]} (final)"])
            reported = f"event {places} reports it"
            if len(prices) > 1:
                reported = f"events {places} report it"
            return f"{label} was charged {charged} once, at {pointer_to(charges[0])}; {reported}"
        told = self._story.explained.get(message)
        known = told is not None and all(sentence in self._told for sentence in told)
        parts = [] if known else [*self._explanations.charges(message)]
        if message.state == "sent" and message.held:
            parts += [
                f"the price of {label} in {at}, {price}, is an estimate (§2.3)"
                for at, price in estimates
            ]
        return "; ".join(parts)

    def _price_in(self, event: Event) -> str:
        # Empty if the event has no price, or the test wrote the event itself.
        if event.synthetic:
            return ""
        message = event.json()[self._engine.settings.naming.message_key]
        return number(Decimal(message["totalPrice"])) if "totalPrice" in message else ""

    def _responses(self) -> Iterator[str]:
        # The app accepted everything, so the bug is in the app or in the test.
        accepted = [entry for entry in self._records if isinstance(entry, Attempt) and entry.ok]
        for endpoint, times in Counter(attempt.endpoint for attempt in accepted).items():
            what = "the event" if times == 1 else f"all {times:,} events"
            logged = (
                f", but logged {error} ({pointer_to(attempt)})"
                for attempt in accepted
                if attempt.endpoint is endpoint and (error := logged_error(attempt))
            )
            but = next(logged, "")
            yield f"{self.labels.endpoint(endpoint)} responded with 2xx to {what}{but}"


def _is_of_an_api_call(event: Event) -> bool:
    return event._cause is not None and isinstance(event._cause._cause, ApiRequest)


def _is_about_money(error: BaseException | None) -> bool:
    if error is None:
        return True
    # Every message's repr() has an amount.
    text = re.sub("<[^<>]*>", "", tracebacks.text_of(error))
    return isinstance(error, AssertionError) and bool(_AMOUNT.search(text))


def _error(error: BaseException) -> str:
    return f"not raised in the test yet: {shown_error(LoggedError.of(error))}"
