"""Where the timelines of two fakes part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat, zip_longest
from typing import Final

from ..base.history import Record
from .entries import kind_of
from .labels import Labels
from .story import Story
from .timeline_text import lines_of, text_of

#: How many lines are shown that both have, and how many that follow.
_SHARED: Final = 3
_OWN: Final = 5

#: Ids differ anyway: the fake's own, and the app's.
_ID: Final = re.compile("[0-9a-fA-F-]{16,}")


def parting(first: Story, second: Story) -> Iterator[str]:
    """Show two timelines around the entry from which they differ; nothing if they do not."""
    sides = {"At first": first, "With other ids": second}
    told = (map(_words_of, story.trace.records, repeat(story.labels)) for story in sides.values())
    places = (place for place, pair in enumerate(zip_longest(*told)) if len({*pair}) > 1)
    place = next(places, None)
    if place is None:
        return
    start, stop = max(place - _SHARED, 0), place + _OWN
    for name, story in sides.items():
        yield f"{name}:"
        for line in lines_of(story.trace.records[start:stop], story.labels, story.trace.begun):
            yield _ID.sub("...", line)
        if len(story.trace) > stop:
            yield f"  ... and {len(story.trace) - stop:,} more"


def _words_of(entry: Record, labels: Labels) -> str:
    return f"{kind_of(entry)} {_ID.sub('', text_of(entry, labels))}"
