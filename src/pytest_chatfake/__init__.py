"""An in-process fake of a chat messaging service, for pytest and beyond.

Under pytest nothing needs to be imported: ask for the ``chat_fake`` fixture. These names are for
type annotations, for configuration, and for use without pytest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base.errors import (
        ChatFakeError,
        ClockError,
        ClosedError,
        IllegalTransition,
        NotAwaited,
        UndeliveredWebhooks,
        WebhookWarning,
    )
    from .domain.failures import PlatformError
    from .domain.ledger import Balance, LedgerEntry
    from .fake.clock import Clock
    from .fake.config import ChatFakeConfig
    from .fake.fake import ChatFake
    from .fake.messages import Conversation, Message, Submission
    from .fake.receiver import Receiver
    from .fake.recipients import Recipient
    from .fake.timeline import Timeline, TimelineEntry
    from .fake.webhooks import Webhooks
    from .http_api.faults import ApiFault
    from .http_api.request_log import ApiRequest
    from .webhooks.attempts import Attempt
    from .webhooks.endpoints import Endpoint, WebhookRequest
    from .webhooks.events import Event
    from .webhooks.faults import Fault
    from .webhooks.signing import HmacSigner, StandardWebhooksSigner
    from .wire.models import ChatMessageUpdated
    from .wire.naming import Naming

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
    "Timeline",
    "TimelineEntry",
    "UndeliveredWebhooks",
    "WebhookRequest",
    "WebhookWarning",
    "Webhooks",
]

# Where each name lives. They are imported when they are first used, so that a run of pytest that
# does not use the fixtures does not pay for them.
_HOMES = {
    "fake.clock": ("Clock",),
    "fake.config": ("ChatFakeConfig",),
    "wire.naming": ("Naming",),
    "domain.failures": ("PlatformError",),
    "domain.ledger": ("Balance", "LedgerEntry"),
    "base.errors": (
        "ChatFakeError",
        "ClockError",
        "ClosedError",
        "IllegalTransition",
        "NotAwaited",
        "UndeliveredWebhooks",
        "WebhookWarning",
    ),
    "fake.fake": ("ChatFake",),
    "fake.messages": ("Conversation", "Message", "Submission"),
    "fake.recipients": ("Recipient",),
    "fake.timeline": ("Timeline", "TimelineEntry"),
    "wire.models": ("ChatMessageUpdated",),
    "http_api.faults": ("ApiFault",),
    "http_api.request_log": ("ApiRequest",),
    "webhooks.endpoints": ("Endpoint", "WebhookRequest"),
    "webhooks.attempts": ("Attempt",),
    "webhooks.events": ("Event",),
    "webhooks.faults": ("Fault",),
    "fake.webhooks": ("Webhooks",),
    "fake.receiver": ("Receiver",),
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
