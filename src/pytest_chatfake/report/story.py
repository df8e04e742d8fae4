"""``Story``: a fake's data for reports."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..http_api.account_api import AccountApi
from ..webhooks.attempts import Attempt
from .labels import Labels
from .trace import Trace

_sequence = itertools.count()


class Story:
    """A fake's data for reports.

    Attributes:
        mentioned: The messages that failed expectations are about.
        explained: The messages whose charge failed expectations have explained, with the sentences.
        number: Its number among all stories of the process.
    """

    def __init__(self, engine: Engine, api: AccountApi) -> None:
        self.engine = engine
        self.api = api
        self.mentioned: dict[MessageState, None] = {}
        self.explained: dict[MessageState, Sequence[str]] = {}
        self.number: int = next(_sequence)

    @property
    def labels(self) -> Labels:
        """The short names of everything so far."""
        return Labels(self.engine, self.api)

    @property
    def trace(self) -> Trace:
        return self.engine.state.part(Trace, partial(Trace, self.engine))

    def attempt_of(self, error: BaseException) -> Attempt | None:
        """Return the attempt in which an app raised an error."""
        attempts = self.engine.outbox.attempts
        return next((attempt for attempt in attempts if attempt.error is error), None)

    def mention(self, *messages: MessageState) -> None:
        self.mentioned.update(dict.fromkeys(messages))

    def skip(self) -> None:
        """Leave out what happened so far, because it belongs to another test."""
        part = self._part
        part.begun = part.shown = len(self.engine.state.history)
        self.mentioned.clear()
        self.explained.clear()

    def begin_of_test(self) -> int:
        """Return the index of the running test's first entry."""
        return self._part.begun

    def take_new(self) -> int:
        """Return the index of the first new entry, and count all entries as shown."""
        part = self._part
        start, part.shown = part.shown, len(self.engine.state.history)
        return start

    @property
    def _part(self) -> _Part:
        return self.engine.state.part(Story, _Part)


@dataclass(slots=True)
class _Part:
    # What belongs to the running test, as indexes in the history since the last reset.
    begun: int = 0  # where the test began
    shown: int = 0  # the end of what sections have shown
