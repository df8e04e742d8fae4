"""An in-process fake of a chat messaging service, for pytest and beyond.

Under pytest, use the ``chat_fake`` fixture without importing it. The names in here are for type
annotations, for configuration, and for use without pytest.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base.errors import ChatFakeError as ChatFakeError
    from .base.errors import ClockError as ClockError
    from .base.errors import ClosedError as ClosedError
    from .base.errors import IllegalTransition as IllegalTransition
    from .base.errors import InjectedError as InjectedError
    from .base.errors import NotAwaited as NotAwaited
    from .base.errors import NotRepeatable as NotRepeatable
    from .base.errors import UndeliveredWebhooks as UndeliveredWebhooks
    from .base.errors import UnusedFault as UnusedFault
    from .base.errors import WebhookWarning as WebhookWarning
    from .domain.failure_codes import PlatformError as PlatformError
    from .domain.ledger import Balance as Balance
    from .domain.ledger import LedgerEntry as LedgerEntry
    from .exploring.deviations import DEFAULT as DEFAULT
    from .exploring.exploration import Exploration as Exploration
    from .exploring.explorer import Explorer as Explorer
    from .exploring.explorer import explore as explore
    from .exploring.send_tests import SendTests as SendTests
    from .exploring.webhook_tests import WebhookTests as WebhookTests
    from .fake.agenda import AgendaEntry as AgendaEntry
    from .fake.clock import Clock as Clock
    from .fake.config import ChatFakeConfig as ChatFakeConfig
    from .fake.edges import Edge as Edge
    from .fake.edges import edges as edges
    from .fake.fake import ChatFake as ChatFake
    from .fake.handles import Conversation as Conversation
    from .fake.handles import Message as Message
    from .fake.handles import Submission as Submission
    from .fake.inbound import InboundMessage as InboundMessage
    from .fake.receiver import Receiver as Receiver
    from .fake.recipients import Recipient as Recipient
    from .fake.timeline import Timeline as Timeline
    from .fake.timeline import TimelineEntry as TimelineEntry
    from .fake.webhooks import Webhooks as Webhooks
    from .http_api.account_api import ApiRequest as ApiRequest
    from .http_api.faults import ApiFault as ApiFault
    from .people.autopilot import Autopilot as Autopilot
    from .webhooks.attempts import Attempt as Attempt
    from .webhooks.endpoints import Endpoint as Endpoint
    from .webhooks.endpoints import WebhookRequest as WebhookRequest
    from .webhooks.events import Event as Event
    from .webhooks.faults import Fault as Fault
    from .webhooks.signing import HmacSigner as HmacSigner
    from .webhooks.signing import StandardWebhooksSigner as StandardWebhooksSigner
    from .wire.models import ChatMessageUpdated as ChatMessageUpdated
    from .wire.naming import Naming as Naming
else:
    # Where each name lives. It is imported on first use, so a run of pytest without the fixtures
    # doesn't pay for it. Type checkers must not see this half, because they accept any name of a
    # module with __getattr__.
    _HOMES = {
        "AgendaEntry": "fake.agenda",
        "ApiFault": "http_api.faults",
        "ApiRequest": "http_api.account_api",
        "Attempt": "webhooks.attempts",
        "Autopilot": "people.autopilot",
        "Balance": "domain.ledger",
        "ChatFake": "fake.fake",
        "ChatFakeConfig": "fake.config",
        "ChatFakeError": "base.errors",
        "ChatMessageUpdated": "wire.models",
        "Clock": "fake.clock",
        "ClockError": "base.errors",
        "ClosedError": "base.errors",
        "Conversation": "fake.handles",
        "DEFAULT": "exploring.deviations",
        "Edge": "fake.edges",
        "Endpoint": "webhooks.endpoints",
        "Event": "webhooks.events",
        "Exploration": "exploring.exploration",
        "Explorer": "exploring.explorer",
        "Fault": "webhooks.faults",
        "HmacSigner": "webhooks.signing",
        "IllegalTransition": "base.errors",
        "InboundMessage": "fake.inbound",
        "InjectedError": "base.errors",
        "LedgerEntry": "domain.ledger",
        "Message": "fake.handles",
        "Naming": "wire.naming",
        "NotAwaited": "base.errors",
        "NotRepeatable": "base.errors",
        "PlatformError": "domain.failure_codes",
        "Receiver": "fake.receiver",
        "Recipient": "fake.recipients",
        "SendTests": "exploring.send_tests",
        "StandardWebhooksSigner": "webhooks.signing",
        "Submission": "fake.handles",
        "Timeline": "fake.timeline",
        "TimelineEntry": "fake.timeline",
        "UndeliveredWebhooks": "base.errors",
        "UnusedFault": "base.errors",
        "WebhookRequest": "webhooks.endpoints",
        "WebhookTests": "exploring.webhook_tests",
        "WebhookWarning": "base.errors",
        "Webhooks": "fake.webhooks",
        "edges": "fake.edges",
        "explore": "exploring.explorer",
    }
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # Whenever freezegun freezes time, it gets everything that dir() lists in every module. That
        # would import it all, and pydantic can't build models while datetime is replaced.
        if sys._getframe(1).f_globals.get("__name__") == "freezegun.api":
            raise AttributeError(f"{name!r} is not loaded yet")
        from .base.extras import extra

        value = globals()[name] = getattr(extra(_HOMES[name], f"{__name__}.{name}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
