"""What the report of a failure shows of one fake."""

from __future__ import annotations

import itertools
import traceback
from typing import Final

from ..base.tracebacks import from_outside
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..http_api.account import AccountApi
from .attention import attention
from .happenings import Happening, happenings
from .labels import Labels
from .told import told

_births = itertools.count()

TITLE: Final = "chat_fake timeline"


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
        self._shown = 1  # after the opening balance
        self._log = engine.outbox.events

    @property
    def labels(self) -> Labels:
        """The short names of what is there now."""
        return Labels(self.engine, self.api)

    def happenings(self) -> list[Happening]:
        """What happened so far."""
        return happenings(self.engine, self.api, self.labels)

    def text(self) -> str:
        """All of it, as text."""
        return told(self.engine, self.labels, self.happenings(), folded=False)

    def skip(self) -> None:
        """Leave what happened so far out of the next section: it belongs to another test."""
        self._shown = len(self.engine.journal.kinds)
        self._log = self.engine.outbox.events
        self.named.clear()

    def _new(self) -> tuple[bool, list[Happening]]:
        """Return whether something was told before, and what is new."""
        engine = self.engine
        if self._log is not engine.outbox.events:  # a reset: all of it is new
            self._log, self._shown = engine.outbox.events, 1
        since, self._shown = self._shown, len(engine.journal.kinds)
        return since > 1, happenings(engine, self.api, self.labels, since)

    def section(self) -> str:
        """Tell what is new since the last section; empty if nothing is.

        It begins with what to look at.
        """
        engine, labels = self.engine, self.labels
        before, found = self._new()
        if not found and not engine.plan and not engine.errors:
            return ""
        looked = attention(engine, self.api, labels, found)
        parts = ["What to look at", *(f"  {line}" for line in looked), ""] if looked else []
        parts += ["What happened, after what is told above" if before else "What happened"]
        parts += [told(engine, labels, found, named=self.named)]
        for error in engine.errors:
            parts += ["", "A route raised", self._traceback(error)]
        return "\n".join(parts)

    def _traceback(self, error: BaseException) -> str:
        return self.labels.clean("".join(traceback.format_exception(from_outside(error)))).rstrip()
