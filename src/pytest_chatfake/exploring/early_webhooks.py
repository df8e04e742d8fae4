"""Early webhooks: those that should come before an API call's response, and why they may not."""

from __future__ import annotations

import re
from typing import Final

from ..base.tracebacks import related, text_of
from ..fake.details import call_before, is_given_up, target_of
from ..report.hints import logged_error
from ..webhooks.attempts import Attempt
from .deviations import KINDS
from .world_observer import WorldObserver

#: What databases say if a transaction waits for a lock in vain.
_LOCKED: Final = re.compile("database (.* )?is locked|lock (wait )?timeout", re.IGNORECASE)

#: What sqlite3 says of a connection.
_OTHER_THREAD: Final = "created in a thread can only be used in that same thread"

_TOO_EARLY: Final = "the webhook can't be handled before the response"

_BLOCKED: Final = (
    "your app blocks its event loop while it {}, so no webhook can arrive before the response: "
    "await the call, or make it in asyncio.to_thread()"
)


class EarlyWebhooks:
    """What became of the early webhooks of a world that has ended.

    Args:
        seen: The world's observer.
        error: The body's error.
        failed_at: When it was raised, in nanoseconds of real time.
        hit_another: Whether another message was delivered early than should have been.
    """

    def __init__(
        self,
        seen: WorldObserver,
        error: BaseException | None,
        failed_at: int,
        *,
        hit_another: bool,
    ) -> None:
        self._seen = seen
        self._hit_another = hit_another
        self._inside = inside = seen.inside
        self._error = error
        self._failed_at = failed_at
        # The calls whose own webhooks should come first.
        kind = KINDS["webhooks_first"].verb
        self._calls = [call for call in inside.calls if any(m.kind == kind for m in call.marks)]
        # Attempts before the response to another call, including those that have not ended.
        records = inside.records
        self._during = [each for each in records if isinstance(each, Attempt) and call_before(each)]

    @property
    def why_not_first(self) -> str:
        """Why no webhook came before its call's response; empty if one did, or none had to."""
        if self._hit_another:
            return (
                "the app's API calls sent its messages in another order than as written, so one "
                "was delivered too early that the scenario does not deliver. Let the scenario wait "
                "for each send"
            )
        if not self._calls or any(map(self._inside.has_webhooks_before, self._calls)):
            return ""
        if self._inside.is_blocked:
            return _BLOCKED.format("sends")
        return (
            "no webhook could arrive before the response: your app sends while it handles another "
            "webhook, or webhooks are paused. Let it send in the scenario itself"
        )

    @property
    def why_not_during(self) -> str:
        """Why no webhook came before the response to another call; empty if one did."""
        if self._inside.is_blocked:
            return _BLOCKED.format("calls the API")
        return "" if self._during else KINDS["during_call"].needs

    @property
    def why_too_early(self) -> str:
        """Why the app could not handle webhooks before a call's response; empty if it could."""
        first, during = self._calls, self._during
        calls = first + [call for each in during if (call := call_before(each))]
        attempts = [attempt for call in first for attempt in self._inside.attempts_of(call)]
        attempts += during
        errors = [error for error in (self._error, *self._inside.errors) if error is not None]
        gave_up = any(map(_is_timeout, errors)) and (
            any(map(is_given_up, calls)) or any(map(self._is_held_up, attempts))
        )
        if any(_OTHER_THREAD in text for each in attempts for text in _texts_of(each)):
            return f"{_TOO_EARLY}: your app's SQLite connection belongs to another thread"
        if not (gave_up or any(map(self._is_locked_out, attempts))):
            return ""
        why = f"your app holds a lock or a transaction while it {'sends' if first else 'calls'}"
        if not all(target_of(attempt.endpoint).in_process for attempt in attempts):
            why += ", or its server handles one request at a time (serve it in threads)"
        return f"{_TOO_EARLY}: {why}"

    def _is_held_up(self, attempt: Attempt) -> bool:
        # Some clients keep their connection. Then, was the attempt running when the body failed, or
        # had it only just ended? As the failure frees a lock, it ends a moment before.
        began, ended = self._seen.times.get(attempt, (0, None))
        return ended is None or self._failed_at - ended < ended - began

    def _is_locked_out(self, attempt: Attempt) -> bool:
        # A database may refuse a transaction, and then the app may cope with a retry.
        error = attempt.error
        is_refused = not attempt.ok and any(map(_LOCKED.search, _texts_of(attempt)))
        return (is_refused and self._error is not None) or (
            error is not None and _is_timeout(error)
        )


def _texts_of(attempt: Attempt) -> list[str]:
    # Of the error that the app raised or logged.
    error = attempt.error
    errors = [] if error is None else [*related(error, hidden=True)]
    return [logged_error(attempt), *map(text_of, errors)]


def _is_timeout(error: BaseException) -> bool:
    # Whichever HTTP client or database raised it, and whatever the app raised in its place.
    return any(
        "timed out" in text_of(one) or any("Timeout" in kind.__name__ for kind in type(one).__mro__)
        for one in related(error, hidden=True)
    )
