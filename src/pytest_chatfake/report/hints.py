"""Short hints on what a response may mean, and why a fault did not fire."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final

from ..base.arguments import shortened
from ..base.faults import BaseFault
from ..base.tracebacks import NO_LIFESPAN, LoggedError, text_of
from ..base.views import counted, listed
from ..domain.messages import STATUSES
from ..engine.engine import Engine
from ..http_api.account_api import AccountApi
from ..http_api.faults import ApiFault
from ..webhooks.attempts import Attempt
from ..webhooks.endpoints import are_one_by_one
from ..webhooks.faults import ONE_AT_A_TIME, Concurrently, Fault
from ..webhooks.frameworks import how_to_see
from ..webhooks.signing import how_signed
from .entries import pointer_to

#: How many bytes of a failed attempt's response are examined.
_MAX_BYTES: Final = 1_000

#: The maximum number of other paths named if a fault waited for a path in vain.
_MAX_PATHS: Final = 3

#: asyncio's message for an object that belongs to another loop.
_OTHER_LOOP: Final = ("is bound to a different event loop", "attached to a different loop")

#: sqlite3's message for an object that belongs to another thread.
_OTHER_THREAD: Final = "created in a thread can only be used in that same thread"

#: asyncio's message for a loop that has ended, such as an earlier test's.
_CLOSED_LOOP: Final = "Event loop is closed"

#: Why a message was read without a delivered event, or without a read event.
SKIPPED: Final = "went from sent to read, so there is no delivered event (§3)"
UNSEEN: Final = "went to a person without read receipts, so there is no read event (§3 rule 3)"

_HINTS: Final = {
    301: " (does the path end in a slash?)",
    302: " (does it redirect, e.g. to a login page?)",
    307: " (does the path end in a slash?)",
    308: " (does the path end in a slash?)",
    401: " (does it require a signature or a login?)",
    403: " (does it require a CSRF token or a signature?)",
    404: " (is path= right?)",
    405: " (does that path accept POST?)",
}


#: A 500 that the app did not write itself: no body, a page, or a standard text.
_OF_A_FRAMEWORK: Final = re.compile(rb"$|\s*<|.*Server ?Error", re.DOTALL)


def hint(attempt: Attempt) -> str:
    """Return what a response or an error may mean; empty if there is nothing to say."""
    if attempt._meaning.uncounted:
        return ""
    if attempt.error is not None:
        if NO_LIFESPAN in getattr(attempt.error, "__notes__", ()):
            return f" ({NO_LIFESPAN})"
        cause = attempt.error.__cause__
        if cause is None or not attempt.endpoint._target.in_process:
            return ""
        return f" (from {shown_error(LoggedError.of(cause))})"
    if attempt.status_code in {401, 403} and attempt.endpoint.signer is not None:
        if attempt._meaning.wrong or attempt._post is None:  # the app is right to refuse it
            return ""
        signed = how_signed(attempt._post.request)
        return f" ({signed}; does the app verify exactly that, with the same secret?)"
    if logged := logged_error(attempt):
        return f" (the app logged {logged})"
    if attempt.status_code == 503 and not attempt.endpoint.retry_after:
        return " (connect(retry_after=[10]) would retry it)"
    if attempt.status_code == 500 and _OF_A_FRAMEWORK.match(attempt.body):
        how = how_to_see(attempt.endpoint._target, attempt.body)
        return f" (did it raise? {how})" if how else ""
    return _HINTS.get(attempt.status_code or 0, "")


def logged_error(attempt: Attempt) -> str:
    """Return the exception that the app logged, and where it was raised; empty if there is none."""
    return "" if attempt._logged is None else shown_error(attempt._logged)


def shown_error(error: LoggedError) -> str:
    """Return an exception's class, text and place."""
    name, text, place = error
    return beginning(f"{name}: {text}".rstrip(": ")) + (place and f" at {place}")


def background_lines(engine: Engine) -> Iterator[str]:
    """Return a line for each different exception that was raised in the background."""
    for error in dict.fromkeys(engine.state.background):
        yield f"{shown_error(error)} was raised in the background"


def why_foreign(error: BaseException) -> str:
    """Explain why an app fails in a thread or an event loop other than its own.

    Returns:
        A sentence; empty if the error is about something else.
    """
    text = text_of(error)
    other_loop = any(part in text for part in _OTHER_LOOP)
    if "starlette.testclient" in sys.modules and (other_loop or _OTHER_THREAD in text):
        return (
            "TestClient runs the app in its own thread and event loop, but the fake calls the same "
            "app in the test's. A connection, lock or pool that was created in one can't be used "
            "in the other: write an async test, and call the app with httpx.ASGITransport(app)."
        )
    if other_loop or _CLOSED_LOOP in text:
        return (
            "The app uses a client or a lock from an earlier test's event loop. Create it in the "
            "app's lifespan, or set chat_fake_loop_scope = session in pytest's ini file."
        )
    return ""


def awaited(engine: Engine) -> str:
    return "await " if engine.mode == "async" else ""


def unused_faults(engine: Engine, api: AccountApi) -> list[BaseFault]:
    faults = (*engine.state.faults, *api._faults)
    return [fault for fault in faults if not fault.fired]


def why_queued(blocked: bool) -> str:
    """Explain, if possible, why the events of a ``webhooks_first`` route are still queued."""
    if not blocked:
        return ""
    return (
        " (a blocking call stopped the test's loop, so webhooks_first could not post them: use an "
        "async client, or make the call in a thread)"
    )


def missed(fault: BaseFault, engine: Engine) -> Attempt | None:
    """Return the last attempt that a fault would have changed, had it been set up earlier."""
    if not isinstance(fault, Fault) or fault._matched:
        return None
    for attempt in reversed(engine.outbox.attempts):
        if attempt._index < fault._index and fault._concerns(attempt):
            return attempt
    return None


def unused_line(fault: BaseFault, engine: Engine) -> str:
    return f"{fault.description}, set up at {fault.line}{_why_unused(fault, engine)}"


def _why_unused(fault: BaseFault, engine: Engine) -> str:
    if isinstance(fault, ApiFault):
        return f" ({_requests_instead(fault)})"
    if isinstance(fault, Concurrently) and are_one_by_one(engine.outbox.endpoints):
        return f" ({ONE_AT_A_TIME})"
    if (attempt := missed(fault, engine)) is not None:
        missed_event = f"{attempt.event._name} ({pointer_to(attempt)})"
        return f", too late for {missed_event}: a fault only affects later events"
    if not isinstance(fault, Fault) or fault._matched:
        return ""
    status = fault._where.get("status", "sent")
    if status in STATUSES:
        return ""
    return f" (unknown status {status!r}: the service has {listed(STATUSES)})"


def _requests_instead(fault: ApiFault) -> str:
    if fault._matched:
        early = fault._matched < fault._start
        why = f"the fault starts with number {fault._start:,}" if early else "got another response"
        return f"{counted(fault._matched, 'request')} matched, but {why}"
    others = [f"{count:,} {target}" for target, count in fault._others.most_common(_MAX_PATHS)]
    was = "was" if fault._others.total() == 1 else "were"
    instead = f"; there {was} {', '.join(others)}" if others else ""
    return " ".join(filter(None, ["no request", fault._target, "after that"])) + instead


def beginning_of_body(body: bytes) -> str:
    """Return the beginning of a response's body on one line; a page's title."""
    text = body[:_MAX_BYTES].decode("utf-8", "replace")
    title = re.search("<title>(.+?)</title>", text, re.DOTALL)
    return beginning(title[1] if title else text)


def beginning(text: str) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shortened(" ".join(shown.split()))
