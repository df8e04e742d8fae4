"""Faults of any kind, and when each one fires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from .arguments import check_int, shown_arguments
from .calling_line import Line, is_in_fixture
from .history import Record
from .views import counted


class BaseFault(Record):
    """Base of all faults; fires ``times`` times (None: always), from match number ``start`` on.

    Each kind of fault is a subclass. A subclass's constructor takes the arguments of its kind;
    ``_set_up`` takes those that all kinds share. As a context manager, a fault is removed at the
    end of the block.

    Attributes:
        fired: How often the fault has fired so far.
        line: The line of the test that set it up.
    """

    #: The name of the public class.
    _shown_as: ClassVar[str]
    #: The object that has its method (``webhooks``), and the method's name (``duplicate``).
    _set_up_on: ClassVar[str]
    _kind: ClassVar[str] = ""
    #: The default of ``times=``.
    _usual_times: ClassVar[int | None] = 1
    #: The arguments that select events or requests.
    _filters: ClassVar[tuple[str, ...]]

    fired: int
    line: Line

    def __init__(self, *arguments: str, **named: object) -> None:
        self.fired = 0
        # As a test would write them; what is None was not given.
        self._arguments = [*arguments, *shown_arguments(**named)]
        self._matched = 0
        self._is_removed = False
        self._was_cut_short = False  # a barrier came before the attempts or the call it waited for

    def _set_up(self, where: Mapping[str, Any], line: Line) -> None:
        times = where.get("times", self._usual_times)
        self._times = None if times is None else check_int(times, "times", 1)
        self._start = check_int(where.get("start", 1), "start", 1)
        self._where = {name: where[name] for name in self._filters if where.get(name) is not None}
        self.line = line
        self._is_shared = is_in_fixture()  # so it may be meant for other tests

    def __repr__(self) -> str:
        return f"<{self._shown_as} {self.description}, fired {counted(self.fired, 'time')}>"

    @property
    def description(self) -> str:
        """The call that set the fault up: ``duplicate(after=2)``."""
        where = {name: self._shown_filter(name, value) for name, value in self._where.items()}
        shown = [*self._arguments, *shown_arguments(**where)]
        if self._start != 1:
            shown.append(f"start={self._start}")
        if self._times != self._usual_times:
            shown.append(f"times={self._times}")
        return f"{self._kind}({', '.join(shown)})"

    def _shown_filter(self, name: str, value: Any) -> object:  # noqa: ARG002 - most are shown as they are
        return value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Stop the fault; what it has done stays. Calling this again is a no-op."""
        self._is_removed = True

    def _should_fire(self) -> bool:
        self._matched += 1
        return self._matched >= self._start and (self._times is None or self.fired < self._times)

    def _fire(self) -> None:
        self.fired += 1

    def _take_back(self) -> None:
        self.fired -= 1  # it had no effect

    def _cut_short(self) -> None:
        self._was_cut_short = True


def verb_of(kind: type[BaseFault]) -> str:
    """Return the method that sets up a kind of fault: ``webhooks.duplicate``."""
    return f"{kind._set_up_on}.{kind._kind}"
