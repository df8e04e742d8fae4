"""Fault injection: what goes wrong with balance queries because the test says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from ..base.calling_line import Line
from ..base.triggers import Trigger
from ..domain.instants import SECOND
from ..transport.server.replies import Reply, error_reply

ApiFaultKind: TypeAlias = Literal[
    "fail", "delay", "disconnect", "truncate", "rate_limit", "webhooks_first"
]

#: Takes the healthy reply and the present in nanoseconds; returns what is sent instead, or None
#: if the fault is over.
Damage: TypeAlias = "Callable[[Reply, int], Reply | None]"


class ApiFault(Trigger):
    """Something that goes wrong with balance queries, as ``chat_fake.api.fail()`` returns it."""

    def __init__(
        self,
        kind: ApiFaultKind,
        argument: str,
        damage: Damage,
        times: int | None,
        start: int,
        line: Line,
    ) -> None:
        super().__init__(times, start, line)
        self._kind = kind
        self._argument = argument
        self._damage = damage

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        return f"api.{self._kind}({self._argument})"


def rate_limited(length: int) -> Damage:
    """Return the damage of a rate limit: 429 until ``length`` has passed on the fake's clock."""
    over: int | None = None

    def damage(_: Reply, now: int) -> Reply | None:
        nonlocal over
        over = now + length if over is None else over
        if now >= over:
            return None
        seconds = -((now - over) // SECOND)
        reply = error_reply(429, "TOO_MANY_REQUESTS", "RATE_LIMIT_EXCEEDED")
        return reply._replace(headers=(("Retry-After", str(seconds)),))

    return damage
