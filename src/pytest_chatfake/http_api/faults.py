"""Faults of the HTTP API: which requests they concern, and what becomes of the response."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, Literal, TypeAlias, TypedDict

from werkzeug.routing import Rule

from ..base.arguments import check_str, shortened, shown_arguments, unexpected
from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.triggers import Trigger
from ..transport.server.replies import Reply
from .routes import bound, check_path, map_of

ApiFaultKind: TypeAlias = Literal[
    "fail", "delay", "disconnect", "truncate", "rate_limit", "lose_response", "webhooks_first"
]

#: With these the request takes effect first; with the others nothing of the user's is called.
TAKES_EFFECT: Final = {"delay", "truncate", "lose_response", "webhooks_first"}

#: Takes the response, and how long a fault that ends by itself still lasts, in
#: nanoseconds; returns what is sent.
Damage: TypeAlias = Callable[[Reply, int], Reply]

#: The reply that a fault damages if nothing was called.
NO_REPLY: Final = Reply(200, b"")

#: How many characters are shown of a method.
_MAX_SHOWN: Final = 20


class RequestFilter(TypedDict, total=False):
    """Which requests a fault concerns, and for which of them it fires.

    Attributes:
        times: For how many of them, 1 by default; None: until it is removed, which is the default
            of :meth:`.AccountApi.rate_limit`.
        start: The first of them; 1, the default, is the next.
        path: A path, or a rule as of a route; None: any.
        method: None: any.
    """

    times: int | None
    start: int
    path: str | None
    method: str | None


class ApiFault(Trigger):
    """A fault of requests with the fake's key, as ``chat_fake.api.fail()`` returns it."""

    def __init__(
        self,
        kind: ApiFaultKind,
        arguments: Iterable[str],
        damage: Damage,
        where: RequestFilter,
        lasts: int,
        line: Line,
        *,
        delivers: bool = False,
    ) -> None:
        times = where.get("times", None if lasts else 1)
        super().__init__(times, where.get("start", 1), line)
        path, method = where.get("path"), where.get("method")
        self._kind: ApiFaultKind = kind
        self._arguments = tuple(arguments)
        self._damage = damage
        self._delivers = delivers  # what the request has sent, before its response
        self._path = path
        self._rules = None if path is None else map_of([Rule(check_path(path))])
        self._method = None if method is None else _check_method(method)
        self._lasts = lasts
        self._end: int | None = None
        self._target = _target(path, self._method) or (
            "to an endpoint of your own" if kind == "webhooks_first" else "with the fake's key"
        )
        self._others: Counter[str] = Counter()  # the targets of requests that did not match

    @property
    def description(self) -> str:
        """The call that set the fault up, as a test would write it."""
        shown = [*self._arguments, *shown_arguments(path=self._path, method=self._method)]
        if self._times != (None if self._lasts else 1):
            shown.append(f"times={self._times}")
        if self._start != 1:
            shown.append(f"start={self._start}")
        return f"api.{self._kind}({', '.join(shown)})"

    @property
    def _mark(self) -> Mark:
        """The mark of the requests for which it fired."""
        return Mark(f"api.{self._kind}", self.description, self.line)

    def _is_due(self, method: str, path: str) -> bool:
        """Count a request, and return whether to fire for it."""
        if self._method in (None, method) and (
            self._rules is None or bound(self._rules, path).test(path)
        ):
            return self._should_fire()
        self._others[_target(shortened(path), shown_method(method) if self._method else None)] += 1
        return False

    def _left(self, now: int) -> int:
        """Return how long it lasts still, counted from the first request that it was due for."""
        if self._end is None:
            self._end = now + self._lasts
        return self._end - now

    def _is_over(self, now: int) -> bool:
        return self._left(now) <= 0 < self._lasts


def shown_method(method: str) -> str:
    """Return what texts show of a method, which a client may choose freely."""
    return method[:_MAX_SHOWN]


def damaged(reply: Reply, faults: Iterable[ApiFault], now: int) -> Reply:
    """Return what is sent in place of a reply."""
    for fault in faults:
        reply = fault._damage(reply, fault._left(now))
    return reply


def _target(path: str | None, method: str | None) -> str:
    """Return what requests are for, in words; empty: for anything."""
    words = [f"to {path}"] if path is not None else []
    return " ".join([*words, f"by {method}"] if method is not None else words)


def _check_method(method: object) -> str:
    name = check_str(method, "method")
    if not name.isalpha():
        raise ValueError(unexpected("method", "a name such as 'POST'", name))
    return name.upper()
