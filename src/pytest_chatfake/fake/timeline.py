"""``fake.timeline``: a fake's history, as data, as text and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, overload

from ..base.views import View, counted
from ..domain.instants import instant
from ..report.entries import kind_of, number_of
from ..report.story import Story
from ..report.svg import svg
from ..report.timeline_text import entry_text, shown_marks, timeline_text
from .handles import Message

if TYPE_CHECKING:
    from ..base.history import Record
    from ..report.entries import RecordKind
    from ..report.labels import Labels


class TimelineEntry(NamedTuple):
    """An entry of the timeline.

    Attributes:
        number: The number of the entry, from 1.
        at: When it happened: aware, UTC, to the microsecond.
        kind: ``"verb"``, ``"hold"``, ``"charge"``, ``"release"``, ``"event"``, ``"attempt"``,
            ``"request"``, ``"clock"``, ``"drop"`` or ``"fault"``.
        text: What happened, in a few words, and what faults did.
        message: The message that the entry is about, if any.
        cause: The number of the entry that caused this one, if known.
    """

    number: int
    at: datetime
    kind: RecordKind
    text: str
    message: Message | None
    cause: int | None


class Timeline(Sequence[TimelineEntry]):
    """Everything that happened in a fake, causes before effects.

    The timeline is a live view that grows with the fake. ``print(chat_fake.timeline)`` shows it as
    text. Reading it has no side effects, so in async mode you can read it even while steps are
    pending.
    """

    __slots__ = ("_story",)

    def __init__(self, story: Story) -> None:
        self._story = story

    def __repr__(self) -> str:
        return f"<Timeline of {counted(len(self), 'entry', 'entries')}>"

    def __str__(self) -> str:
        return self.text()

    def __len__(self) -> int:
        return len(self._story.trace)

    def __iter__(self) -> Iterator[TimelineEntry]:
        return iter(self._entries())

    @overload
    def __getitem__(self, index: int) -> TimelineEntry: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[TimelineEntry, ...]: ...

    def __getitem__(self, index: int | slice) -> TimelineEntry | tuple[TimelineEntry, ...]:
        return self._entries()[index]

    def _entries(self) -> View[TimelineEntry]:
        return View(self._story.trace.records, partial(self._shown, self._story.labels))

    def _shown(self, labels: Labels, entry: Record) -> TimelineEntry:
        message = None if entry._message is None else Message(self._story.engine, entry._message)
        text = " ".join([entry_text(entry, labels), *shown_marks(entry, labels)])
        at = instant(entry._began)
        cause = None if entry._cause is None else number_of(entry._cause)
        return TimelineEntry(number_of(entry), at, kind_of(entry), text, message, cause)

    def text(self) -> str:
        """Return aligned text, one line for each entry, as ``str()`` does."""
        return timeline_text(self._story, folded=False)

    def svg(self) -> str:
        """Return an SVG picture: the text, shortened if long, next to lanes and the balance."""
        return svg(self._story, mentioned=self._story.mentioned)
