"""``Story``: a fake's data for reports.

Every test has a story but few tests fail, so the code that writes reports is imported late.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..http_api.account_api import AccountApi
from ..webhooks.attempts import Attempt
from .labels import Labels

if TYPE_CHECKING:
    from .trace import Trace

_sequence = itertools.count()


class Story:
    """A fake's data for reports.

    Attributes:
        mentioned: The messages that failed expectations are about.
        explained: The messages whose charge a failed expectation has explained.
        number: Its number among all stories of the process.
    """

    def __init__(self, engine: Engine, api: AccountApi) -> None:
        self.engine = engine
        self.api = api
        self.mentioned: list[MessageState] = []
        self.explained: set[MessageState] = set()
        self.number: int = next(_sequence)
        # The start of the running test in the history, and the end of what sections have shown.
        self._begun = self._shown = 0
        self._records = engine.core.history.records
        self._trace: Trace | None = None

    @property
    def labels(self) -> Labels:
        """The short names of everything so far."""
        return Labels(self.engine, self.api)

    @property
    def trace(self) -> Trace:
        self._notice_reset()
        if self._trace is None:
            from .trace import Trace

            self._trace = Trace(self.engine)
        return self._trace

    def attempt_of(self, error: BaseException) -> Attempt | None:
        """Return the attempt in which an app raised an error."""
        attempts = self.engine.outbox.attempts
        return next((attempt for attempt in attempts if attempt.error is error), None)

    def skip(self) -> None:
        """Leave out what happened so far, because it belongs to another test."""
        self._notice_reset()
        self._begun = self._shown = len(self._records)
        self.mentioned.clear()
        self.explained.clear()

    def begin_of_test(self) -> int:
        """Return the index of the running test's first entry."""
        self._notice_reset()
        return self._begun

    def take_new(self) -> int:
        """Return the index of the first new entry, and count all entries as shown."""
        self._notice_reset()
        start, self._shown = self._shown, len(self._records)
        return start

    def _notice_reset(self) -> None:
        if self._records is not self.engine.core.history.records:  # everything is new
            self._records = self.engine.core.history.records
            self._begun = self._shown = 0
            self._trace = None
