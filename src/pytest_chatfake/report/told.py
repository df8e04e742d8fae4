"""The timeline as text: a line for each happening, aligned, and folded where it is long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ..base.controls import one_line
from ..base.views import counted
from ..domain.conversations import ConversationRecord
from ..domain.instants import MILLISECOND, SECOND, stamp
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..webhooks.endpoints import Endpoint
from ..webhooks.events import Event
from ..wire.exact_json import number
from .happenings import Happening
from .labels import Labels

_DAY: Final = 86_400 * SECOND

#: What folding keeps: the first lines, the last ones, and so many of each kind of what matters
#: between them: what a failed expectation names, and what is marked or failed.
_FIRST: Final = 20
_LAST: Final = 40
_MATTERING: Final = 60


def told(
    engine: Engine,
    labels: Labels,
    found: Sequence[Happening],
    *,
    named: Collection[MessageState] = (),
    folded: bool = True,
) -> str:
    """Tell a timeline: the balance, one line for each happening, and what the labels stand for.

    Args:
        engine: The fake's engine.
        labels: The short names.
        found: What happened.
        named: The messages that matter most: folding keeps what is about them.
        folded: Whether a long timeline is folded in the middle.
    """
    if not found:
        return "nothing happened"
    rows = list(_kept(found, named)) if folded else list(found)
    start = engine.account.ledger.entries[0].moment
    shown = [one for one in rows if isinstance(one, Happening)]
    lines = iter(lines_of(shown, start))
    return "\n".join(
        [
            heading(engine, start),
            *(next(lines) if isinstance(one, Happening) else f"  {one}" for one in rows),
            *_legend(labels, shown),
        ]
    )


def heading(engine: Engine, start: int) -> str:
    """Say what there is on the account, and from when times are counted."""
    ledger, currency = engine.account.ledger, engine.settings.currency
    return (
        f"available {number(ledger.available)}, held {number(ledger.held)}, "
        f"charged {number(ledger.charged)} {currency}; times are from {stamp(start)}"
    )


def _kept(found: Sequence[Happening], named: Collection[MessageState]) -> Iterator[Happening | str]:
    """Give what is kept of a timeline; a text stands for what is left out, counted by kinds."""
    if len(found) <= _FIRST + _LAST:
        yield from found
        return
    middle = found[_FIRST:-_LAST]
    named_ones = [one for one in middle if one.state in named]
    odd = [one for one in middle if one.marks or one.failed]
    keep = {one.number for one in (*named_ones[:_MATTERING], *odd[:_MATTERING])}
    yield from found[:_FIRST]
    left: list[Happening] = []
    for one in [*middle, found[-_LAST]]:
        if one.number in keep or one is found[-_LAST]:
            if left:
                yield _left_out(left)
            left = []
            if one is not found[-_LAST]:
                yield one
        else:
            left.append(one)
    yield from found[-_LAST:]


def _left_out(left: Sequence[Happening]) -> str:
    kinds = Counter(one.kind for one in left)
    counts = ", ".join(
        counted(count, kind, "moves of the clock" if kind == "clock" else None)
        for kind, count in kinds.items()
    )
    return f"... {len(left)} left out: {counts} ..."


def lines_of(shown: Sequence[Happening], start: int) -> list[str]:
    """Align happenings in columns: number, time since ``start``, kind, what, line."""
    days = any(one.moment - start >= _DAY for one in shown)
    times = [_absolute(one.moment) if days else _relative(one.moment - start) for one in shown]
    amounts = [number(one.amount) for one in shown if one.amount is not None]
    widths = (
        max((len(str(one.number)) for one in shown), default=0),
        max(map(len, times), default=0),
        max((len(one.kind) for one in shown), default=0),
        max(map(len, amounts), default=0),
    )
    lines: list[str] = []
    before = ""
    for one, time in zip(shown, times, strict=True):
        text = one.text
        if one.amount is not None:
            text = text.rjust(len(text) + widths[3] - len(number(one.amount)))
        when = "" if time == before else time
        before = time
        if one.line is not None:
            text += f"  at {one.line}"
        lines.append(
            "  ".join(
                [
                    f"  {one.number:>{widths[0]}}",
                    when.rjust(widths[1]),
                    one.kind.ljust(widths[2]),
                    " ".join([text, *one.marks]),
                ]
            )
        )
    return lines


def _relative(nanoseconds: int) -> str:
    """Write a time since the start: ``+0:00.000``, with hours where there are any."""
    sign = "-" if nanoseconds < 0 else "+"
    seconds, rest = divmod(abs(nanoseconds), SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{sign}{clock}:{seconds:02}.{rest // MILLISECOND:03}"


def _absolute(moment: int) -> str:
    return stamp(moment).replace("T", " ").removesuffix("Z")


def _legend(labels: Labels, shown: Sequence[Happening]) -> Iterator[str]:
    """Explain each label that is shown, once."""
    messages: dict[int, MessageState] = {}
    conversations: dict[int, ConversationRecord] = {}
    endpoints: dict[int, Endpoint] = {}
    recorded: dict[str, None] = {}
    for one in shown:
        if isinstance(one.record, Event) and (name := labels.legend_of_recorded(one.record)):
            recorded[name] = None
        if one.state is not None:
            messages[one.state.number] = one.state
            if one.state.conversation is not None:
                conversations[id(one.state.conversation)] = one.state.conversation
        if one.endpoint is not None:
            endpoints[id(one.endpoint)] = one.endpoint
    names = [
        *(labels.legend_of_message(messages[place]) for place in sorted(messages)),
        *recorded,
        *map(labels.legend_of_conversation, conversations.values()),
        *filter(None, map(labels.legend_of_endpoint, endpoints.values())),
    ]
    for name in names:
        yield f"  {one_line(labels.clean(name))}"
