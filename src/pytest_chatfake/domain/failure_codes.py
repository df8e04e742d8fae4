"""Failure codes: why messages fail (§2.3, §2.5, §7.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

from ..base.arguments import unexpected

#: The failure codes of §7.2 with their ``errorMessage``. The text for ``100`` is the service's; the
#: one for ``131026`` is ours (assumed).
CATALOGUE: Final[Mapping[str, str]] = {
    "131026": "Message Undeliverable",
    "100": "Parameter Invalid",
}


@dataclass(frozen=True, slots=True)
class PlatformError:
    """The channel platform's own error when a message fails (``chatApiError``, §2.5).

    Args:
        message: The platform's error text.
        type: The platform's error type.
        code: The platform's error code.
        trace_id: The platform's trace identifier.
        details: The details in ``error_data``.
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
                raise TypeError(unexpected(f"PlatformError.{field.name}", "a str", value))


class Failure(NamedTuple):
    """Why a message failed (§2.3, §7.2)."""

    code: str
    message: str
    platform_error: PlatformError | None


#: ``error_data.details`` for these codes (assumed: our words).
_DETAILS: Final[Mapping[str, str]] = {
    "131026": "The recipient cannot receive this message: the number is not registered, "
    "or its client is out of date.",
    "100": "A parameter of the request is not valid.",
}


def failure(code: str, message: str | None = None) -> Failure:
    """Return the failure with a code; the platform's part of it is in our words (assumed).

    Raises:
        KeyError: The description does not have the code, and no message is given.
    """
    text = CATALOGUE[code] if message is None else message
    error = PlatformError(
        message=f"(#{code}) {text}",
        type="PlatformException",
        code=code,
        trace_id=f"trace-{code}",
        details=_DETAILS.get(code, text),
    )
    return Failure(code, text, error)
