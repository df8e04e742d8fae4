"""Shows where the timelines of two fakes begin to differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat, zip_longest
from typing import Final

from ..base.history import Record
from ..report.entries import kind_of
from ..report.labels import Labels
from ..report.story import Story
from ..report.timeline_text import entry_text, lines_of

#: The numbers of lines shown before the difference, and from the difference on.
_SHARED: Final = 3
_OWN: Final = 5

#: Ids always differ, the fake's as well as the app's.
_ID: Final = re.compile("[0-9a-fA-F-]{16,}")


def timeline_diff(first: Story, second: Story) -> Iterator[str]:
    """Show both timelines around the first entry that differs; nothing if they are the same."""
    sides = {"At first": first, "With other ids": second}
    texts = (map(_text, story.trace.records, repeat(story.labels)) for story in sides.values())
    differences = (index for index, pair in enumerate(zip_longest(*texts)) if len({*pair}) > 1)
    index = next(differences, None)
    if index is None:
        return
    start, stop = max(index - _SHARED, 0), index + _OWN
    for name, story in sides.items():
        yield f"{name}:"
        for line in lines_of(story.trace.records[start:stop], story.labels, story.trace.begun):
            yield _ID.sub("...", line)
        if len(story.trace) > stop:
            yield f"  ... and {len(story.trace) - stop:,} more"


def _text(entry: Record, labels: Labels) -> str:
    return f"{kind_of(entry)} {_ID.sub('', entry_text(entry, labels))}"
