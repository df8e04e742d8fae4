"""Deviations: the differences between worlds, each a public method of the fake."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..base.arguments import check_list, cited
from ..domain.instants import SECOND, parse_delay

if TYPE_CHECKING:
    from ..base.triggers import Trigger
    from ..fake.fake import ChatFake


class Kind(NamedTuple):
    """A kind of deviation.

    Attributes:
        verb: The method that a test calls for it, without the fake's name.
        argument: The name of its argument beside ``start``; empty: none.
        least: The least value of the argument, which is also its default.
        is_predictable: Whether the order of attempts that it makes is known before it is tried.
    """

    verb: str
    argument: str = ""
    least: int = 0
    is_predictable: bool = True


KINDS: Final[Mapping[str, Kind]] = {
    "duplicate": Kind("webhooks.duplicate", "after"),
    "reorder": Kind("webhooks.reorder", "by", 1),
    "lose_response": Kind("webhooks.lose_response"),
    "refuse": Kind("webhooks.refuse"),
    "webhooks_first": Kind("api.webhooks_first", is_predictable=False),
    "drop": Kind("webhooks.drop"),
    "duplicate_later": Kind("webhooks.duplicate", "pause", 1, is_predictable=False),
    "concurrently": Kind("webhooks.concurrently", "by", is_predictable=False),
}

#: Those that an exploration tries unless told otherwise.
DEFAULT: Final = ("duplicate", "reorder", "lose_response", "refuse", "webhooks_first")


class Deviation(NamedTuple):
    """One deviation of a world.

    Attributes:
        kind: One of :data:`KINDS`.
        start: Which attempt it concerns, counted from 1 where attempts are made; of
            ``webhooks_first``: which call.
        extent: Past how many attempts it moves one; of ``duplicate_later``: by how many
            nanoseconds.
    """

    kind: str
    start: int
    extent: int = 0

    def __str__(self) -> str:
        """Write it as a test does, without the fake's name."""
        arguments = ", ".join(f"{name}={value}" for name, value in self._arguments().items())
        return f"{KINDS[self.kind].verb}({arguments})"

    def _arguments(self) -> dict[str, Any]:
        name, extent = KINDS[self.kind].argument, self.extent
        if name == "pause":
            whole, rest = divmod(extent, SECOND)
            return {"pause": extent / SECOND if rest else whole, "start": self.start}
        own: dict[str, Any] = {name: extent} if name else {}
        if self.kind == "duplicate" and extent:  # after=0 leaves no room for a barrier
            own["past_barriers"] = True
        return {**own, "start": self.start}

    @property
    def is_of_an_attempt(self) -> bool:
        """Whether it concerns an attempt, and not a call."""
        return self.kind != "webhooks_first"

    def set_up(self, fake: ChatFake) -> Trigger:
        """Call its verb, and return the fault."""
        fault: Trigger = attrgetter(KINDS[self.kind].verb)(fake)(**self._arguments())
        return fault


def parse_deviations(only: Iterable[Any]) -> tuple[Deviation, ...]:
    """Return the deviations that a test lists as a failure printed them."""
    listed = check_list(only, "only", "deviations such as 'webhooks.reorder(by=1, start=2)'")
    return tuple(map(_parse, listed))


def _parse(text: object) -> Deviation:
    if not isinstance(text, str):
        raise TypeError(
            f"only: expected texts such as 'webhooks.reorder(by=1, start=2)', got {cited(text)}"
        )
    try:
        call = ast.parse(text.strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        assert not call.args
        given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
        start, verb = given.pop("start", 1), ast.unparse(call.func)
        crosses = given.pop("past_barriers", False)
        name, kind = next(
            (name, kind)
            for name, kind in KINDS.items()
            if kind.verb == verb and set(given) <= {kind.argument}
        )
        extent = given.get(kind.argument, kind.least)
        if kind.argument == "pause":
            extent = parse_delay(extent, "pause")
        assert type(start) is type(extent) is int
        assert start >= 1
        assert extent >= kind.least
        assert crosses is (name == "duplicate" and extent > 0)
    except (AssertionError, StopIteration, SyntaxError, TypeError, ValueError):
        verbs = ", ".join(f"{verb}(...)" for verb in dict.fromkeys(k.verb for k in KINDS.values()))
        raise ValueError(
            f"only: unknown deviation {cited(text)}. Copy the list that the failure printed. "
            f"The deviations are {verbs}."
        ) from None
    return Deviation(name, start, extent)


def check_kinds(deviations: Iterable[Any]) -> tuple[str, ...]:
    """Return the kinds of deviations that are to be tried."""
    kinds = tuple(check_list(deviations, "deviations", f"names such as {list(DEFAULT)}"))
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(
                f"deviations: unknown deviation {cited(kind)}. Use some of "
                f"{', '.join(map(repr, KINDS))}"
            )
    return kinds
