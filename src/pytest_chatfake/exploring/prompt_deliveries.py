"""Finds the messages that could have been delivered as soon as they were sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice, takewhile

from ..base.history import Record
from ..engine.records import VerbRecord
from ..fake.details import is_posted, message_of
from ..fake.inside import Inside
from ..report.entries import cause_of
from ..webhooks.events import Event


def prompt_deliveries(inside: Inside) -> Iterator[tuple[Record | None, tuple[int, ...]]]:
    """Yield what sent each message, and the deliveries that could have happened at once.

    Each is a number of devices. The conversation's next events are these deliveries, by verbs about
    the message, at the same moment, and for the estimated price.
    """
    key = inside.settings.naming.message_key
    for index, sent in enumerate(inside.events):
        message, verb = message_of(sent), cause_of(sent)
        if sent.status != "sent" or message is None or verb is None:
            continue
        later = (
            event
            for event in islice(inside.events, index + 1, None)
            if (about := message_of(event)) and about.conversation is message.conversation
            if is_posted(event)
        )
        at_once = takewhile(partial(_could_be_at_once, key, sent), later)
        yield cause_of(verb), (*Counter(id(cause_of(event)) for event in at_once).values(),)


def _could_be_at_once(key: str, sent: Event, later: Event) -> bool:
    message, verb = message_of(sent), cause_of(later)
    return (
        (message_of(later), later.status, later.moment) == (message, "delivered", sent.moment)
        and isinstance(verb, VerbRecord)
        and verb.subject is message
        and _price_in(later, key) == _price_in(sent, key)
    )


def _price_in(event: Event, key: str) -> object:
    return event.json()[key].get("totalPrice")
