"""What one fake has to tell: its timeline, and the section of a failure's report.

There is one in every test, and hardly any tells: what that takes is imported when it does.
"""

from __future__ import annotations

import itertools
import traceback
from typing import TYPE_CHECKING, Final

from ..base.tracebacks import from_outside
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..http_api.account import AccountApi
from .labels import Labels

if TYPE_CHECKING:
    from .trace import Trace

_births = itertools.count()

TITLE: Final = "chat_fake timeline"

#: How many errors of routes have their tracebacks in a section.
_RAISED: Final = 3


class Story:
    """What one fake has to tell.

    Args:
        engine: The fake's engine.
        api: The fake's side of the HTTP API.

    Attributes:
        named: The messages that failed expectations are about.
        born: Its place among all of the process.
    """

    def __init__(self, engine: Engine, api: AccountApi) -> None:
        self.engine = engine
        self.api = api
        self.named: list[MessageState] = []
        self.born: int = next(_births)
        # Where in the history the running test began, and what was told of it.
        self._begun = self._told = 0
        self._records = engine.core.history.records
        self._trace: Trace | None = None

    @property
    def labels(self) -> Labels:
        """The short names of what is there now."""
        return Labels(self.engine, self.api)

    @property
    def trace(self) -> Trace:
        """What happened so far."""
        if self._trace is None or self._trace.is_outdated:
            from .trace import Trace

            self._trace = Trace(self.engine)
        return self._trace

    def text(self, start: int = 0, *, folded: bool = False) -> str:
        """Tell what happened from an entry on; if it is long, it may be folded."""
        from .timeline_text import timeline_text

        return timeline_text(self.engine, self.labels, self.trace, start, folded=folded)

    def picture(self, start: int = 0, *, styled: bool = True) -> str:
        """Draw what happened from an entry on, with its style inside or without it."""
        from .svg import svg

        return svg(self.engine, self.labels, self.trace, start, self.named, styled=styled)

    def skip(self) -> None:
        """Leave what happened so far out: it belongs to another test."""
        self._begun = self._told = len(self.engine.core.history.records)
        self._records = self.engine.core.history.records
        self.named.clear()

    def begin_of_test(self) -> int:
        """Return the first entry of the test that runs now."""
        self._notice_reset()
        return self._begun

    def section(self) -> str:
        """Tell what is new since the last section; empty if nothing is.

        It begins with what to look at.
        """
        engine, trace = self.engine, self.trace
        self._notice_reset()
        start, was_told = self._told, self._told > 0
        self._told = len(trace)
        is_new = start < self._told
        if not is_new and not engine.plan and not engine.core.errors:
            return ""
        from .highlights import Highlights
        from .timeline_text import timeline_text

        labels = self.labels
        highlights = Highlights(engine, self.api, labels, trace, start, self.named)
        lines = highlights.lines()
        parts = ["What to look at", *(f"  {line}" for line in lines), ""] if lines else []
        if is_new:
            parts += ["What happened, after what is told above" if was_told else "What happened"]
        named = [*self.named, *highlights.priced]
        parts += [timeline_text(engine, labels, trace, start, named=named, folded=True)]
        for raised in list(dict.fromkeys(map(self._traceback, engine.core.errors)))[:_RAISED]:
            parts += ["", "A route raised", raised]
        return "\n".join(parts)

    def _notice_reset(self) -> None:
        if self._records is not self.engine.core.history.records:  # all of it is new
            self._records = self.engine.core.history.records
            self._begun = self._told = 0

    def _traceback(self, error: BaseException) -> str:
        return self.labels.clean("".join(traceback.format_exception(from_outside(error)))).rstrip()
