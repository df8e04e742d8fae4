"""What a fault decides about an attempt, as data, and what an attempt waits for.

A fault is asked once about an attempt, and changes nothing itself. The :class:`.Drain` carries out
its decision: make the attempt :class:`Twice`, :class:`Hold` it back, post something else
(:class:`Changed`), let it fail (:class:`Failed`), or accompany the app's work (:class:`Call`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from ..base.faults import BaseFault
from ..base.marks import Mark
from ..transport.client.responses import Response
from .attending import Attend
from .endpoints import Signer


class Meaning(NamedTuple):
    """What faults mean for an attempt's result.

    Attributes:
        wanted: The test wants the attempt to fail, so that its failure needs no report.
        wrong: The app should refuse the request.
        unmade: No request is made.
        unseen: The app never sees the request.
        uncounted: Neither the endpoint nor other faults count the attempt, and it is not retried.
        crashed: The app crashed, even if it had responded.
    """

    wanted: bool = False
    wrong: bool = False
    unmade: bool = False
    unseen: bool = False
    uncounted: bool = False
    crashed: bool = False


NOTHING: Final = Meaning()


# What an attempt waits for


class Pause(NamedTuple):
    """Time passes; ``length`` in nanoseconds. The queue makes it an :class:`Until`.

    ``moves_clock`` says whether ``settle()`` moves the clock that far.
    """

    length: int
    moves_clock: bool = False


class Until(NamedTuple):
    """A moment in the fake's schedule, in nanoseconds since the epoch."""

    due: int
    moves_clock: bool = False


class Turn(NamedTuple):
    """Other attempts are made, or a barrier comes.

    Attributes:
        others: How many, counted from now.
        fault: The fault that wants it.
        together: Whether the attempt is made at the same time as the last of them.
        outlasts_barriers: Whether barriers don't end it.
    """

    others: int
    fault: BaseFault
    together: bool = False
    outlasts_barriers: bool = False


class AtCall(NamedTuple):
    """The app makes an API call, or a barrier comes; ``fault`` wants it."""

    fault: BaseFault


@dataclass(frozen=True, slots=True)
class AtBarrier:
    """A barrier comes, and nothing else waits for it."""


@dataclass(slots=True, eq=False)
class Held:
    """The test lets it go; one object for the attempts of an event.

    Attributes:
        by: The block that holds them back.
        then: What they wait for after that.
    """

    by: object
    then: Wait | None = None


@dataclass(slots=True, eq=False)
class Together:
    """Nothing: it is ready, and made at the same time as its neighbours that have this object.

    Attributes:
        mark: Says so in reports.
    """

    mark: Mark


#: What a queued attempt waits for.
Wait: TypeAlias = Until | Turn | AtCall | AtBarrier | Held | Together


# What faults decide


@dataclass(frozen=True, slots=True)
class Decision:
    """Base of the decisions.

    Attributes:
        fault: The fault that decided.
        mark: Says in reports what happened, once it did.
        meaning: What it means for the attempt's result.
    """

    fault: BaseFault
    mark: Mark
    meaning: Meaning = NOTHING

    @property
    def combines(self) -> bool:
        """Whether other faults can change the same attempt."""
        return False


@dataclass(frozen=True, slots=True)
class Twice(Decision):
    """The attempt is made twice.

    Attributes:
        wait: What the second one waits for once the first is made; None: both are made at the same
            time. If the app then refuses one of them, it is retried at once.
        new_id: Whether the second one has a new event id.
        attend: Makes the attendants of attempts at the same time; None: they have none.
    """

    wait: Turn | Pause | None = None
    new_id: bool = False
    attend: Attend | None = None

    @property
    def combines(self) -> bool:
        return self.wait is not None


@dataclass(frozen=True, slots=True)
class Repeat(Decision):
    """The attempt is the second one of ``twice``; the drain decides this."""

    twice: Twice = field(kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold(Decision):
    """The attempt is made later.

    Attributes:
        wait: What it waits for.
        attend: Makes the attendant of this attempt, and then that of the one with which it is made
            at the same time; None: they have none.
    """

    wait: Turn | Pause | AtCall
    attend: Attend | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed(Decision):
    """The request differs from the one that the service would post.

    Attributes:
        content: Changes the event's body; retries are changed as well.
        evolved: Writes the posted body as a later version of the service might; retries are changed
            as well.
        signer: Signs in place of the endpoint's own signer.
        tampered: Changes the signed body.
    """

    content: Callable[[bytes], bytes] | None = None
    evolved: Callable[[bytes], bytes] | None = None
    signer: Signer | None = None
    tampered: Callable[[bytes], bytes] | None = None

    @property
    def combines(self) -> bool:
        return True

    @property
    def is_of_event(self) -> bool:
        """Whether it changes the event, and not only this attempt to post it."""
        return self.evolved is not None or self.content is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(Decision):
    """The attempt fails.

    Attributes:
        response: What the service gets.
        is_after: Whether the app has done its work by then.
    """

    response: Response
    is_after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Decision):
    """The app's work is accompanied, and the attempt fails if the attendant interferes."""

    attend: Attend


def meaning_of(decisions: Iterable[Decision]) -> Meaning:
    """Return what several decisions about one attempt mean together."""
    return Meaning(*map(any, zip(*(decision.meaning for decision in decisions), strict=True)))
