"""What a target posts, and the response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class OutgoingRequest(Protocol):
    """The exact bytes to post, and all headers except ``Host`` and ``Content-Length``."""

    body: bytes
    headers: Mapping[str, str]


def timed_out(seconds: float, stopped: str = "") -> TimeoutError:
    """Return the error of an attempt that took too long.

    Args:
        seconds: The limit, in real seconds.
        stopped: How the app was stopped in an earlier attempt, if so, as the possible reason.
    """
    why = f"; the app had {stopped} before, and may have left a lock" if stopped else ""
    return TimeoutError(f"no complete response within {seconds:g} s{why}")


class Response(NamedTuple):
    """The response to an attempt, or why there is none.

    Attributes:
        status: The HTTP status; None if there was no complete response.
        body: The body; over a connection, its first 64 KiB.
        error: Why there was no response: refused, timed out, cut off. A target raises an in-process
            app's exception, which becomes the error when the attempt is recorded.
        late: The status of a response that came after the time was up.
    """

    status: int | None
    body: bytes = b""
    error: BaseException | None = None
    late: int | None = None

    @property
    def is_success(self) -> bool:
        """Whether the endpoint accepted the event, with a status from 200 to 299."""
        return self.status is not None and 200 <= self.status <= 299
