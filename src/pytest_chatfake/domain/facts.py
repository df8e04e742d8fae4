"""What happened, in the past tense, frozen: one fact feeds both the ledger and the webhook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    from .ledger import LedgerEntry
    from .messages import MessageState

__all__ = ["Fact", "Failure", "Happening", "PlatformError"]

#: The four statuses of §3, each with its event. A drop has none, and so is no fact.
Happening: TypeAlias = Literal["sent", "delivered", "read", "failed"]


class Fact(NamedTuple):
    """Something that happened to a message.

    Attributes:
        what: What happened.
        message: To which message.
        at: When, in nanoseconds since the epoch.
        entries: What it did to the money: the ledger takes these, and nothing else.
        expires_at: The ``expireTime`` that its event shows; None if it shows no conversation.
    """

    what: Happening
    message: MessageState
    at: int
    entries: tuple[LedgerEntry, ...] = ()
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class PlatformError:
    """The platform's own account of a failure (``chatApiError``, §2.5).

    Args:
        message: The platform's error text.
        type: The platform's error type.
        code: The platform's error code.
        trace_id: The platform's trace identifier.
        details: ``error_data.details``.

    Raises:
        TypeError: One of them is no text.
    """

    message: str
    type: str
    code: str
    trace_id: str
    details: str

    def __post_init__(self) -> None:
        for field in fields(self):
            value: object = getattr(self, field.name)
            if not isinstance(value, str):
                raise TypeError(
                    f"PlatformError: {field.name} must be text, "
                    f"not {type(value).__name__} {value!r}"
                )


class Failure(NamedTuple):
    """Why a message failed (§2.3, §7.2)."""

    code: str
    message: str
    platform_error: PlatformError | None
