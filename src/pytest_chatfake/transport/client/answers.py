"""What a target posts, and what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Post(Protocol):
    """What is posted: the exact bytes, and all headers but ``Host`` and ``Content-Length``."""

    body: bytes
    headers: Mapping[str, str]


class Answer(NamedTuple):
    """What came back from an attempt; of a body over a connection, the first 64 KiB.

    ``error`` is set, and ``status`` None, when no answer came: refused, timed out, cut off. An
    exception that leaves an in-process app is raised by the target, and becomes an ``error`` where
    the attempt is recorded.
    """

    status: int | None
    body: bytes = b""
    error: BaseException | None = None

    @property
    def ok(self) -> bool:
        """Whether the endpoint took the event: the status is from 200 to 299."""
        return self.status is not None and 200 <= self.status <= 299
