"""An endpoint: where attempts go, which events it gets, and how its attempts are made."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..fake.config import Signer
    from ..transport.client.targets import Target

__all__ = ["Endpoint"]


class Endpoint:
    """Where attempts go, as ``connect`` returned it.

    Attributes:
        name: What it is, in a few words: its URL, or the app or function.
        headers: What every attempt carries beside a signature.
        events: The event types that it listens for (§4.2).
        raise_exceptions: Whether an exception of an in-process app comes back in the test.
        signer: Signs its attempts.
        connected: Whether it still gets events.
    """

    __slots__ = (
        "_disconnect",
        "_retries",
        "_scripted",
        "_target",
        "connected",
        "events",
        "headers",
        "name",
        "raise_exceptions",
        "signer",
    )

    def __init__(
        self,
        name: str,
        target: Target,
        *,
        headers: Mapping[str, str],
        events: frozenset[str],
        raise_exceptions: bool,
        retries: tuple[int, ...],
        signer: Signer | None,
        scripted: bool,
        disconnect: Callable[[Endpoint], None],
    ) -> None:
        self.name = name
        self._target = target
        self.headers: Mapping[str, str] = MappingProxyType(dict(headers))
        self.events = events
        self.raise_exceptions = raise_exceptions
        self._retries = retries
        self.signer = signer
        self._scripted = scripted  # the test writes its answers: a failed attempt is no news
        self.connected = True
        self._disconnect = disconnect

    def __repr__(self) -> str:
        return f"<Endpoint {self.name}{'' if self.connected else ' (disconnected)'}>"

    @property
    def retry_after(self) -> tuple[timedelta, ...]:
        """How long after each failure an attempt is made again."""
        return tuple(timedelta(microseconds=delay // 1_000) for delay in self._retries)

    def disconnect(self) -> None:
        """Stop attempts to this endpoint, planned retries included. Twice does no harm."""
        self._disconnect(self)
