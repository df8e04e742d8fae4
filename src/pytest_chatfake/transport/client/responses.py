"""What a target posts, and what came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class OutgoingRequest(Protocol):
    """What is posted: the exact bytes, and all headers but ``Host`` and ``Content-Length``."""

    body: bytes
    headers: Mapping[str, str]


def timed_out(seconds: float, stopped: str = "") -> TimeoutError:
    """Return the error of an attempt whose time is up, and say how the app was stopped before."""
    why = f"; the app had {stopped} before, and may have left a lock" if stopped else ""
    return TimeoutError(f"no complete response within {seconds:g} s{why}")


class Response(NamedTuple):
    """What came back from an attempt; of a body over a connection, the first 64 KiB.

    ``error`` is set, and ``status`` None, when no response came: refused, timed out, cut off. An
    exception that leaves an in-process app is raised by the target, and becomes an ``error`` where
    the attempt is recorded. ``late`` is the status of a response that came after the time was up.
    """

    status: int | None
    body: bytes = b""
    error: BaseException | None = None
    late: int | None = None

    @property
    def is_success(self) -> bool:
        """Whether the endpoint accepted the event, with a status from 200 to 299."""
        return self.status is not None and 200 <= self.status <= 299
