"""Moves: the single deviations that worlds are made of, each a public verb of the fake."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..base.arguments import check_list, cited
from ..domain.instants import planned, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.triggers import Trigger
    from ..fake.fake import ChatFake

#: The deviations that an exploration may try, and those that it tries unless told otherwise.
KINDS: Final = (
    "duplicate",
    "reorder",
    "lose_response",
    "refuse",
    "webhooks_first",
    "drop",
    "duplicate_later",
    "concurrently",
)
DEFAULT: Final = ("duplicate", "reorder", "lose_response", "refuse", "webhooks_first")


class Move(NamedTuple):
    """One deviation.

    Attributes:
        kind: One of :data:`KINDS`.
        start: Which attempt it concerns, counted from 1 where attempts are made; of a race: which
            call.
        steps: Past how many attempts, if it is one of those that move; of a pause: how long it is,
            in nanoseconds.
    """

    kind: str
    start: int
    steps: int = 0

    def __str__(self) -> str:
        return self.verb

    @property
    def verb(self) -> str:
        """What a test writes for it, without the fake's name."""
        own = {
            "duplicate": f"webhooks.duplicate(after={self.steps}, ",
            "reorder": f"webhooks.reorder(by={self.steps}, ",
            "lose_response": "webhooks.lose_response(",
            "refuse": "webhooks.refuse(",
            "drop": "webhooks.drop(",
            "webhooks_first": "api.webhooks_first(",
            "duplicate_later": f"webhooks.duplicate(pause={seconds(self.steps)}, ",
            "concurrently": f"webhooks.concurrently(by={self.steps}, ",
        }[self.kind]
        return f"{own}start={self.start})"

    @property
    def of_attempts(self) -> bool:
        """Whether it concerns an attempt, and not a call."""
        return self.kind != "webhooks_first"

    @property
    def is_foreseen(self) -> bool:
        """Whether the order of attempts that it makes is known before it is tried."""
        return self.kind not in {"webhooks_first", "duplicate_later", "concurrently"}

    def apply(self, fake: ChatFake) -> Trigger:
        """Set it up, and return the fault."""
        webhooks = fake.webhooks
        setters: dict[str, Callable[[], Trigger]] = {
            "duplicate": lambda: webhooks.duplicate(after=self.steps, start=self.start),
            "reorder": lambda: webhooks.reorder(by=self.steps, start=self.start),
            "lose_response": lambda: webhooks.lose_response(start=self.start),
            "refuse": lambda: webhooks.refuse(start=self.start),
            "drop": lambda: webhooks.drop(start=self.start),
            "webhooks_first": lambda: fake.api.webhooks_first(start=self.start),
            "duplicate_later": lambda: webhooks.duplicate(
                pause=timedelta(microseconds=self.steps // 1_000), start=self.start
            ),
            "concurrently": lambda: webhooks.concurrently(by=self.steps, start=self.start),
        }
        return setters[self.kind]()


#: What the verbs take beside ``start``, and what the moves are called.
_VERBS: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "webhooks.duplicate": ("duplicate", frozenset({"after", "pause"})),
    "webhooks.reorder": ("reorder", frozenset({"by"})),
    "webhooks.lose_response": ("lose_response", frozenset()),
    "webhooks.refuse": ("refuse", frozenset()),
    "webhooks.drop": ("drop", frozenset()),
    "webhooks.concurrently": ("concurrently", frozenset({"by"})),
    "api.webhooks_first": ("webhooks_first", frozenset()),
}

#: How many attempts each passes if the verb is given none, and at least.
_LEAST: Final = {"reorder": 1}


def parsed(only: Iterable[Any]) -> tuple[Move, ...]:
    """Return the moves that a test lists as a failure printed them.

    Raises:
        TypeError: It is no list of texts.
        ValueError: One of them is no deviation; the error lists what is.
    """
    return tuple(
        map(_parsed, check_list(only, "only", "deviations such as webhooks.reorder(start=2)"))
    )


def _parsed(text: object) -> Move:
    if not isinstance(text, str):
        raise TypeError(
            f"only must be a list of texts such as 'webhooks.reorder(by=1, start=2)', "
            f"not {cited(text)}"
        )
    try:
        call = ast.parse(text.strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        kind, names = _VERBS[ast.unparse(call.func)]
        given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
        assert not call.args
        assert set(given) <= {"start", *names}
        assert not {"after", "pause"} <= set(given)
        start, least = given.get("start", 1), _LEAST.get(kind, 0)
        steps = given.get("by", given.get("after", least))
        if "pause" in given:
            kind, least, steps = "duplicate_later", 1, planned(given["pause"], "pause")
        assert type(start) is int
        assert start >= 1
        assert type(steps) is int
        assert steps >= least
    except (AssertionError, KeyError, SyntaxError, TypeError, ValueError):
        verbs = ", ".join(f"{verb}(...)" for verb in _VERBS)
        raise ValueError(
            f"only has {cited(text)}, which is no deviation: copy the list that the failure "
            f"printed; deviations are {verbs}"
        ) from None
    return Move(kind, start, steps)


def check_kinds(deviations: Iterable[Any]) -> tuple[str, ...]:
    """Return the kinds of deviations that are to be tried.

    Raises:
        TypeError: It is no list of texts.
        ValueError: One of them is no deviation; the error lists those that are.
    """
    kinds = tuple(check_list(deviations, "deviations", f"names such as {list(DEFAULT)}"))
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"deviations are {', '.join(map(repr, KINDS))}, and not {cited(kind)}")
    return kinds
