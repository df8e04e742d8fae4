"""An in-process fake of a chat messaging service, for pytest and beyond.

Under pytest nothing needs to be imported: ask for the ``chat_fake`` fixture. These names are for
type annotations, for configuration, and for use without pytest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clock import Clock
    from .config import ChatFakeConfig, Naming
    from .domain.facts import PlatformError
    from .domain.ledger import Balance, LedgerEntry
    from .exceptions import (
        ChatFakeError,
        ClockError,
        ClosedError,
        IllegalTransition,
        NotAwaited,
        UndeliveredWebhooks,
        WebhookWarning,
    )
    from .fake import ChatFake
    from .scenario import Conversation, Message, Recipient, Submission
    from .schema import ChatMessageUpdated
    from .server.faults import ApiFault
    from .server.log import ApiRequest
    from .webhooks.endpoints import Endpoint
    from .webhooks.events import Attempt, Event
    from .webhooks.faults import Fault
    from .webhooks.hub import Webhooks
    from .webhooks.receiver import Receiver
    from .webhooks.requests import WebhookRequest
    from .webhooks.signing import HmacSigner, StandardWebhooksSigner

__all__ = [
    "ApiFault",
    "ApiRequest",
    "Attempt",
    "Balance",
    "ChatFake",
    "ChatFakeConfig",
    "ChatFakeError",
    "ChatMessageUpdated",
    "Clock",
    "ClockError",
    "ClosedError",
    "Conversation",
    "Endpoint",
    "Event",
    "Fault",
    "HmacSigner",
    "IllegalTransition",
    "LedgerEntry",
    "Message",
    "Naming",
    "NotAwaited",
    "PlatformError",
    "Receiver",
    "Recipient",
    "StandardWebhooksSigner",
    "Submission",
    "UndeliveredWebhooks",
    "WebhookRequest",
    "WebhookWarning",
    "Webhooks",
]

# Where each name lives. They are imported when they are first used, so that a run of pytest that
# does not use the fixtures does not pay for them.
_HOMES = {
    "clock": ("Clock",),
    "config": ("ChatFakeConfig", "Naming"),
    "domain.facts": ("PlatformError",),
    "domain.ledger": ("Balance", "LedgerEntry"),
    "exceptions": (
        "ChatFakeError",
        "ClockError",
        "ClosedError",
        "IllegalTransition",
        "NotAwaited",
        "UndeliveredWebhooks",
        "WebhookWarning",
    ),
    "fake": ("ChatFake",),
    "scenario": ("Conversation", "Message", "Recipient", "Submission"),
    "schema": ("ChatMessageUpdated",),
    "server.faults": ("ApiFault",),
    "server.log": ("ApiRequest",),
    "webhooks.endpoints": ("Endpoint",),
    "webhooks.events": ("Attempt", "Event"),
    "webhooks.faults": ("Fault",),
    "webhooks.hub": ("Webhooks",),
    "webhooks.receiver": ("Receiver",),
    "webhooks.requests": ("WebhookRequest",),
    "webhooks.signing": ("HmacSigner", "StandardWebhooksSigner"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# No __dir__: freezegun gets every name that dir() lists, in every module, whenever it freezes time.
# It would import everything, and pydantic can't build its models while datetime is replaced.
