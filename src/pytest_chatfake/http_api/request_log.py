"""What was asked of the API, as it was recorded."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..base.marks import Mark
from ..domain.instants import instant


class ApiRequest(NamedTuple):
    """One request that the fake answered.

    Attributes:
        method: For example ``GET``.
        path: The path, without the query string.
        key: The key it came with, by its last four characters; empty without one.
        accepted: Whether it was this fake's key.
        status: The status of the answer; None if there was none, or not yet.
        moment: When it was answered, in nanoseconds since the epoch.
        marks: What faults did to the answer, and the lines that set them up.
    """

    method: str
    path: str
    key: str
    accepted: bool
    status: int | None
    moment: int
    marks: tuple[Mark, ...] = ()

    @property
    def at(self) -> datetime:
        """When it was answered: aware, UTC, to the microsecond."""
        return instant(self.moment)

    def __str__(self) -> str:
        key = f"the key {self.key}" if self.key else "no X-API-Key"
        if self.key and not self.accepted:
            key += " (not this fake's)"
        status = "no answer" if self.status is None else self.status
        unknown = self.accepted and self.status == 404
        hint = " (an endpoint of your own? see chat_fake.route)" if unknown else ""
        return f"{self.method} {self.path} with {key}: {status}{hint}"
