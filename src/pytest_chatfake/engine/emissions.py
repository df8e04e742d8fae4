"""Verbs of which the account knows nothing: they only emit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias, cast

from ..base.arguments import cited
from ..base.calling_line import Line
from ..domain.account import Account
from ..domain.facts import Verb
from ..domain.messages import MessageState
from ..webhooks.outbox import Outbox

#: Gives more fields for an event of a message with a status, as JSON text; the lock is held.
FieldsOf: TypeAlias = Callable[[MessageState, str], str]

EMISSIONS: Final = frozenset({"redeliver", "emit", "emit_event"})


def prepared(
    verb: Verb, line: Line, now: int, outbox: Outbox, account: Account, fields_of: FieldsOf | None
) -> Callable[[], None]:
    """Do what may fail of a verb, and return what then emits its event.

    Raises:
        ValueError: The event to redeliver is not one of this fake's, or of before a reset.
    """
    if verb.name == "redeliver":
        (event,) = verb.arguments
        if event._log is not outbox.events:
            raise ValueError(f"{cited(event)} was not emitted by this fake")
        return partial(outbox.redeliver, event, line)
    if verb.name == "emit_event":
        (draft,) = verb.arguments
        draft, written = outbox.write_other(draft, now)
        return partial(outbox.emit_other, draft, written, line, now)
    message = cast("MessageState", verb.message)
    status, edit, type_ = verb.arguments
    fields = "" if fields_of is None else fields_of(message, status)
    fact = account.shown(message, status, now)
    written = outbox.write_synthetic(fact, fields, status, edit)
    return partial(outbox.emit_synthetic, fact, written, status, type_, line)
