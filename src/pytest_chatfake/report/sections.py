"""What the report of a failure shows of one fake.

There is one in every test, and hardly any tells: what that takes is imported when it does.
"""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from ..base.tracebacks import from_outside
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..http_api.account import AccountApi
from .labels import Labels

if TYPE_CHECKING:
    from .happenings import Happening
    from .places import Places

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
        self._begun = self._shown = 1  # after the opening balance
        self._log = engine.outbox.events
        self._places: Places | None = None

    @property
    def labels(self) -> Labels:
        """The short names of what is there now."""
        return Labels(self.engine, self.api)

    def happenings(self) -> list[Happening]:
        """What happened so far."""
        return self._read()

    def of(self, message: MessageState) -> list[Happening]:
        """What happened to one message; it is found without a look at all the others."""
        return self._read(message=message)

    def _read(self, since: int = 0, *, message: MessageState | None = None) -> list[Happening]:
        from .reading import happenings

        return happenings(self.engine, self.api, self.labels, self.places, since, message=message)

    @property
    def places(self) -> Places:
        """Where in the journal things are."""
        if self._places is None or self._places.outdated:
            from .places import Places

            self._places = Places(self.engine)
        return self._places

    def text(self) -> str:
        """All of it, as text."""
        return self._told(self.happenings(), folded=False)

    def _told(
        self, found: list[Happening], *, named: Collection[MessageState] = (), folded: bool = True
    ) -> str:
        from .told import told

        return told(self.engine, self.labels, found, named=named, folded=folded)

    def skip(self) -> None:
        """Leave what happened so far out: it belongs to another test."""
        self._begun = self._shown = len(self.engine.journal.kinds)
        self._log = self.engine.outbox.events
        self.named.clear()

    def _new(self) -> tuple[bool, list[Happening]]:
        """Return whether something was told before, and what is new."""
        engine = self.engine
        self._notice_reset()
        since, self._shown = self._shown, len(engine.journal.kinds)
        return since > 1, self._read(since)

    def _notice_reset(self) -> None:
        if self._log is not self.engine.outbox.events:  # all of it is new
            self._log = self.engine.outbox.events
            self._begun = self._shown = 1

    def of_the_test(self) -> list[Happening]:
        """What happened in the test that runs now."""
        self._notice_reset()
        return self._read(self._begun)

    def picture(self, *, styled: bool = True) -> str:
        """Draw what happened in the test that runs now; empty if nothing did.

        Args:
            styled: Whether the picture has its style inside; a page has it once.
        """
        from .svg import svg

        found = self.of_the_test()
        return svg(self.engine, self.labels, found, styled=styled) if found else ""

    def full_text(self, *, folded: bool) -> str:
        """Tell what happened in the test that runs now."""
        return self._told(self.of_the_test(), named=self.named, folded=folded)

    def section(self) -> str:
        """Tell what is new since the last section; empty if nothing is.

        It begins with what to look at.
        """
        engine, labels = self.engine, self.labels
        before, found = self._new()
        if not found and not engine.plan and not engine.errors:
            return ""
        from .attention import attention

        looked = attention(engine, self.api, labels, found)
        parts = ["What to look at", *(f"  {line}" for line in looked), ""] if looked else []
        if found:
            parts += ["What happened, after what is told above" if before else "What happened"]
        parts += [self._told(found, named=self.named)]
        for error in engine.errors:
            parts += ["", "A route raised", self._traceback(error)]
        return "\n".join(parts)

    def _traceback(self, error: BaseException) -> str:
        return self.labels.clean("".join(traceback.format_exception(from_outside(error)))).rstrip()
