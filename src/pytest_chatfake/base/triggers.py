"""Faults of any kind: when each fires, and the list of those that are set up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

from .arguments import check_int, shown_arguments
from .calling_line import Line, is_in_fixture
from .history import History, Record
from .views import counted


class Trigger(Record):
    """A fault that fires ``times`` times (None: always), from the ``start``-th match on.

    Each kind is a class, which says all that concerns it. It is made of the arguments of its kind;
    those that all kinds take are set up later. Usable as a context manager, which removes it at the
    end.

    Attributes:
        fired: How often it fired so far.
        line: Where the test set it up.
    """

    #: The name of the public class.
    _face: ClassVar[str]
    #: Where its method is, without the fake's name; and the method's name.
    _home: ClassVar[str]
    _kind: ClassVar[str] = ""
    #: How often it fires, unless the test says how often.
    _usual_times: ClassVar[int | None] = 1

    fired: int
    line: Line

    def __init__(self, *arguments: str) -> None:
        self.fired = 0
        self._arguments = arguments  # those of its kind alone, as a test would write them
        self._matched = 0
        self._is_removed = False
        self._is_short = False  # a barrier came before as many attempts as it waited for

    def _set_up(self, where: Mapping[str, Any], line: Line) -> None:
        """Note what it concerns, and where the test has said so."""
        times = where.get("times", self._usual_times)
        self._times = None if times is None else check_int(times, "times", 1)
        self._start = check_int(where.get("start", 1), "start", 1)
        self.line = line
        self._is_shared = is_in_fixture()  # a fixture may set it up for other tests

    def __repr__(self) -> str:
        return f"<{self._face} {self.description}, fired {counted(self.fired, 'time')}>"

    @property
    def description(self) -> str:
        """What it is, as a test would write it."""
        shown = [*self._arguments, *shown_arguments(**self._limits())]
        if self._start != 1:
            shown.append(f"start={self._start}")
        if self._times != self._usual_times:
            shown.append(f"times={self._times}")
        return f"{self._kind}({', '.join(shown)})"

    def _limits(self) -> Mapping[str, object]:
        """Return the arguments that say what it concerns, as a test would write them."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Stop the fault; changes that it made stay. Calling it again has no effect."""
        self._is_removed = True

    def _should_fire(self) -> bool:
        """Count a match, and return whether to fire on it."""
        self._matched += 1
        return self._matched >= self._start and (self._times is None or self.fired < self._times)

    def _fire(self) -> None:
        """Count that it fired."""
        self.fired += 1


def verb_of(kind: type[Trigger]) -> str:
    """Return the method that sets up a kind of fault, without the fake's name."""
    return f"{kind._home}.{kind._kind}"


_T = TypeVar("_T", bound=Trigger)


class Triggers(Generic[_T]):
    """Triggers, in the order in which they were set up.

    Args:
        history: Records each.

    Attributes:
        ever: All of them, removed or not: some may be unused.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self.ever: list[_T] = []

    @property
    def active(self) -> list[_T]:
        """Those that are not removed."""
        return [trigger for trigger in self.ever if not trigger._is_removed]

    def add(self, trigger: _T, now: int) -> _T:
        """Set a trigger up, and return it."""
        trigger.moment = now
        self._history.add(trigger)
        self.ever.append(trigger)
        return trigger

    def clear(self) -> None:
        """Forget all of them."""
        self.ever.clear()
