"""The assumptions that a test has exercised: what the service's description does not say.

Each has the name of its row on the page about fidelity, in the documentation. What a configuration
says is the user's own decision, and is no assumption any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..domain.messages import DEFAULT_ADDRESS, DEFAULT_PRICE
from .happenings import Happening
from .scenes import EXERCISED, Scene
from .sections import Story

#: What the fake does, in a sentence, and what changes it; empty if nothing does.
ASSUMPTIONS: Final[dict[str, tuple[str, str]]] = {
    "opening-balance": ("an account begins with 100", "opening_balance="),
    "currency": ("its currency is USD", "currency="),
    "held-in-balance": (
        "the balance query reports what can be spent, without what is held",
        'balance_amount="total"',
    ),
    "no-key": ("a key header that is missing is answered as a wrong key is", ""),
    "other-paths": (
        "other paths and methods are answered in the shape of the 401",
        "route(), http",
    ),
    "balance-too-low": (
        "a message that the balance can't cover is accepted",
        'on_insufficient_balance="fail"',
    ),
    "balance-code": ("its error code is BALANCE_INSUFFICIENT", "insufficient_balance_code="),
    "grouping": (
        "messages to one recipient with one origin type share a conversation",
        "conversation=",
    ),
    "default-recipient": (f"messages without to= go to one person, {DEFAULT_ADDRESS}", "to="),
    "expired-conversation": (
        "a message can't be sent into a conversation that is over",
        "",
    ),
    "failed-conversation": (
        "a pending conversation whose messages all failed is used again",
        "conversation=",
    ),
    "origin-type": ("conversations are of origin type marketing", "origin_type="),
    "conversation-type": ("conversations are of type REGULAR", "conversation_type="),
    "expiry-instant": (
        "at the instant at which its time is up, a session is over",
        "conversation_length=",
    ),
    "price": (f"starting a conversation costs {DEFAULT_PRICE}", "price="),
    "open-price": ("a message into an open conversation costs nothing", ""),
    "two-pending": (
        "of two messages on their way, the one that is delivered second keeps its hold until then",
        "",
    ),
    "late-delivery": ("a message that is delivered after its session costs nothing", ""),
    "devices": ("deliver() arrives on one device, unless recipient() says more", "devices="),
    "drop-instant": ("at the instant at which its time is up, a message is dropped", "drop_after="),
    "dropped-status": ("a dropped message stays sent", ""),
    "after-failed": ("nothing follows a failure", "emit()"),
    "after-read": ("a message that was read is delivered no more", "emit()"),
    "fail-after-delivery": ("a message that was delivered can't fail", "emit()"),
    "read-at-once-times": ("a message read at once is delivered when it is read", ""),
    "second-device-time": ("the event of a second device has the first delivery's time", ""),
    "back-online": (
        "a phone that is on again gets what was sent meanwhile, at once and in order",
        "recipient()",
    ),
    "open-chat": (
        "a delivery by hand into an open chat is delivered, and read at once",
        "recipient()",
    ),
    "scripted-delivery": (
        "what has a scripted delivery waits for it, and not for the phone to come back",
        "",
    ),
    "not-registered": (
        "a message to a number that is not registered is sent first, and then fails",
        "submit_text()",
    ),
    "sent-while-blocked": (
        "what was sent while the sender was blocked, or withheld, never arrives by itself",
        "",
    ),
    "read-in-private": ("a message that is read without read receipts is seen to be delivered", ""),
    "failed-hold": ("what is held for a message comes back when it fails", ""),
    "failed-price": ("a failed message has the price 0", ""),
    "failed-create-time": ("a failed message has no createTime", "emit()"),
    "error-text": ("the text of 131026 is ours", "message="),
    "platform-text": ("the texts of the platform's error are ours", "platform_error="),
    "platform-tried": (
        "the platform was tried if a message failed after it was sent",
        "platform_error=",
    ),
    "event-ids": ("each event has an id of its own", 'event_ids="per-message"'),
    "event-order": (
        "events are attempted in the order in which they happened",
        "paused(), delay()",
    ),
    "barriers": (
        "an attempt that a test has failed is made again at the next settle(), assertion or move",
        "reorder() and its like",
    ),
    "no-money-event": ("no event tells of a top-up, an adjustment or a drop", ""),
    "receivers-answer": ("a receiver takes an event by any answer from 200 to 299", ""),
    "retries": ("an attempt that failed is not made again", "retry_after="),
    "timeout": ("an attempt over a socket may take five seconds", "timeout="),
    "signing": ("attempts are not signed", "signer="),
    "names": ("the channel's own names are the neutral word chat", "naming="),
    "extra-fields": ("a message has no fields beyond the description", "extra="),
    "addresses": ("events do not say who a message is from and to", "naming="),
    "other-types": ("a message that is no text has its object under a key of its type", "send()"),
    "other-events": ("an event of another type has the envelope of §2.2", "emit_event()"),
    "send-call": ("the send call is a POST that answers the message resource", "send_endpoint()"),
    "milliseconds": ("digits beyond the millisecond are cut off, not rounded", ""),
}


def assumptions(story: Story, found: Sequence[Happening]) -> list[str]:
    """Return the names of the assumptions that were exercised.

    Args:
        story: The fake's story.
        found: What happened in the test that runs now.
    """
    scene = Scene(story.engine, story.api, found, story.refused())
    return [row for row, is_shown in EXERCISED.items() if found and is_shown(scene)]


def line_of(row: str) -> str:
    """Return the line that a list of assumptions has for one."""
    text, knob = ASSUMPTIONS[row]
    return f"assumed: {text}{f' (change it with {knob})' if knob else ''}"
