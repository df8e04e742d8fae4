"""Moves: the single deviations that worlds are made of, each a public verb of the fake."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..base.arguments import check_list, cited

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.triggers import Trigger
    from ..fake.fake import ChatFake

#: The deviations that an exploration may try, and those that it tries unless told otherwise.
KINDS: Final = ("twice", "late", "lost", "retry", "race", "never")
DEFAULT: Final = ("twice", "late", "lost", "retry", "race")


class Move(NamedTuple):
    """One deviation.

    Attributes:
        kind: One of :data:`KINDS`.
        start: Which attempt it concerns, counted from 1 where attempts are made; of a race: which
            call.
        steps: Past how many attempts, if it is one of those that move.
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
            "twice": f"webhooks.duplicate(after={self.steps}, ",
            "late": f"webhooks.late(by={self.steps}, ",
            "lost": "webhooks.lose_answer(",
            "retry": "webhooks.fail(",
            "never": "webhooks.fail(again=False, ",
            "race": "api.answer_last(",
        }[self.kind]
        return f"{own}start={self.start})"

    @property
    def of_attempts(self) -> bool:
        """Whether it concerns an attempt, and not a call."""
        return self.kind != "race"

    def apply(self, fake: ChatFake) -> Trigger:
        """Set it up, and return the fault."""
        webhooks = fake.webhooks
        setters: dict[str, Callable[[], Trigger]] = {
            "twice": lambda: webhooks.duplicate(after=self.steps, start=self.start),
            "late": lambda: webhooks.late(by=self.steps, start=self.start),
            "lost": lambda: webhooks.lose_answer(start=self.start),
            "retry": lambda: webhooks.fail(start=self.start),
            "never": lambda: webhooks.fail(again=False, start=self.start),
            "race": lambda: fake.api.answer_last(start=self.start),
        }
        return setters[self.kind]()


#: What the verbs take beside ``start``, and what the moves are called.
_VERBS: Final[dict[str, tuple[str, str | None]]] = {
    "webhooks.duplicate": ("twice", "after"),
    "webhooks.late": ("late", "by"),
    "webhooks.lose_answer": ("lost", None),
    "webhooks.fail": ("retry", "again"),
    "api.answer_last": ("race", None),
}


def parsed(only: Iterable[Any]) -> tuple[Move, ...]:
    """Return the moves that a test lists as a failure printed them.

    Raises:
        TypeError: It is no list of texts.
        ValueError: One of them is no deviation; the error lists what is.
    """
    return tuple(
        map(_parsed, check_list(only, "only", "deviations such as webhooks.late(start=2)"))
    )


def _parsed(text: object) -> Move:
    if not isinstance(text, str):
        raise TypeError(
            f"only must be a list of texts such as 'webhooks.late(by=1, start=2)', "
            f"not {cited(text)}"
        )
    try:
        call = ast.parse(text.strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        kind, name = _VERBS[ast.unparse(call.func)]
        given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
        assert not call.args
        assert set(given) <= {"start", name}
        start = given.get("start", 1)
        steps = given.get(name, 1 if kind == "late" else 0) if name in {"after", "by"} else 0
        assert type(start) is int
        assert start >= 1
        assert type(steps) is int
        assert steps >= (kind == "late")
    except (AssertionError, KeyError, SyntaxError, ValueError):
        verbs = ", ".join(f"{verb}(...)" for verb in _VERBS)
        raise ValueError(
            f"only has {cited(text)}, which is no deviation: copy the list that the failure "
            f"printed; deviations are {verbs}"
        ) from None
    return Move("never" if given.get("again") is False else kind, start, steps)


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
