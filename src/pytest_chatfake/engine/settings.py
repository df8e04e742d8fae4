"""The engine's settings, in its own units."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeAlias

from ..domain.account import Rules
from ..wire.naming import Naming

#: In sync mode, a verb waits for its attempts; in async mode, the ``await`` does.
Mode: TypeAlias = Literal["sync", "async"]


class Settings(NamedTuple):
    """The settings of one fake, which :class:`.ChatFakeConfig` explains.

    The timeout is in seconds, the tick in nanoseconds.
    """

    mode: Mode
    seed: str
    rules: Rules
    opening_balance: Decimal
    currency: str
    balance_amount: Literal["available", "total"]
    conversation_type: str
    sender: str
    naming: Naming
    omit: tuple[str, ...]
    inbound: Callable[..., object] | None
    outbound: Callable[[Any], object] | None
    event_ids: Literal["unique", "per-message"]
    timeout: float
    tick: int
