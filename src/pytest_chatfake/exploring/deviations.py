"""Deviations: what can go wrong in a world. Each one is a call of a public method of the fake."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ..base.arguments import check_choice, check_list, cited
from ..base.faults import BaseFault, verb_of
from ..domain.instants import SECOND, parse_delay
from ..fake.fake import ChatFake
from ..http_api import faults as api
from ..webhooks.faults import (
    ONE_AT_A_TIME,
    Attended,
    Concurrently,
    Crash,
    Delay,
    Duplicate,
    DuringCall,
    Error,
    Evolve,
    Lose,
    LoseResponse,
    Refuse,
    Reorder,
)
from ..webhooks.synthetic import OPEN
from .database_calls import find_call
from .injected_errors import find_error
from .named_functions import find_function
from .posted_fields import Way


class Call(NamedTuple):
    """A path and a method, as arguments for a fault that only affects such requests.

    Attributes:
        path: An exact path.
        method: The method, such as ``GET``.
    """

    path: str
    method: str

    @classmethod
    def of(cls, path: str, method: str) -> Call | None:
        """Return a request's path and method; None if no fault can select only such requests."""
        plain = re.fullmatch("((?:/[^/<?]+)*)/?", path)  # faults ignore a trailing slash
        if not plain or not (method.isalpha() and method.isupper()):
            return None
        return cls(plain[1] or "/", method)


def _no_move(_after: int, _near: int) -> range:
    return range(1)


def _any_later(after: int, _near: int) -> range:
    return range(after + 1)


def _before_the_barrier(_after: int, near: int) -> range:
    return range(1, near + 1)


def _past_the_barrier(_after: int, near: int) -> range:
    # The service retries it at the next barrier, behind everything that is queued.
    return range(near, near + 1)


class Kind(NamedTuple):
    """A kind of deviation.

    Attributes:
        fault: The class of the fault that a test sets up for it.
        sentence: What happened, with gaps that :mod:`.description` fills; empty if it depends on
            more.
        distances: Allowed shifts, given ``after`` later attempts, ``near`` of them before the next
            barrier.
        extent: The argument that says how far it goes; empty: there is none.
        least: That argument's minimum, and its default if the verb has one.
        most: That argument's maximum.
        is_time: Whether that argument is a duration.
        moves_time: Whether it moves time further than the body does.
        is_late: Whether it holds an event back while the app goes on, which may change what a
            correct app does.
        ways: The values of its further arguments, one set for each way; those of crash points and
            calls vary.
        more: The names of arguments about crash points.
        concerns: An ``"attempt"`` or a ``"call"`` of the app, which ``start=`` counts; or
            ``"everything"``.
        is_unseen: Whether the order and the moments of attempts don't show that it fired.
        is_alone: Whether it is never combined with another deviation.
        compares: Whether a correct app ends with the same snapshot as in the world as written.
        judges: Whether ``expected()`` holds in such a world.
        is_in_all: Whether ``"all"`` tries it; not if no app survives it, or if it is about sending.
        needs: What a body lacks if it has nothing to try.
        unchanged: Why webhooks may look unchanged despite it; empty: they never do, or may.
        twin: The kind that looks the same to the app from the next barrier on. If both are tried,
            this one is not combined with others.
    """

    fault: type[BaseFault]
    sentence: str = ""
    distances: Callable[[int, int], range] = _no_move
    extent: str = ""
    least: int = 0
    most: float = math.inf
    is_time: bool = False
    moves_time: bool = False
    is_late: bool = False
    ways: tuple[Way, ...] = ((),)
    more: tuple[str, ...] = ()
    concerns: str = "attempt"
    is_unseen: bool = False
    is_alone: bool = False
    compares: bool = True
    judges: bool = True
    is_in_all: bool = True
    needs: str = "no event is posted to your app"
    unchanged: str = ""
    twin: str = ""

    @property
    def verb(self) -> str:
        """The method that a test calls, without the fake's name."""
        return verb_of(self.fault)


def _of_a_call(
    fault: type[BaseFault],
    sentence: str,
    *ways: Way,
    needs: str = "your scenario makes no API call",
    is_in_all: bool = True,
) -> Kind:
    return Kind(
        fault,
        sentence,
        ways=ways,
        is_in_all=is_in_all,
        concerns="call",
        is_unseen=True,
        needs=needs,
    )


_NO_TWO: Final = (
    "no event can overtake another: cause two without settle(), an assertion or a clock move "
    "between them"
)

#: What a load balancer shows while the service is down.
_PAGE: Final = "<html><body><h1>503 Service Unavailable</h1></body></html>"

#: Where an app can crash, by argument name.
PLACES: Final = ("line", "before", "after")

KINDS: Final[Mapping[str, Kind]] = {
    "duplicate": Kind(
        Duplicate,
        "{event} was redelivered{after}",
        _any_later,
        extent="after",
    ),
    "reorder": Kind(
        Reorder,
        "{event} arrived late",  # if no other event overtook it
        distances=_before_the_barrier,
        extent="by",
        least=1,
        needs=_NO_TWO,
    ),
    "lose_response": Kind(
        LoseResponse,
        "the response to {event} was lost, so it was retried{after}",
        _past_the_barrier,
        twin="duplicate",
    ),
    "refuse": Kind(
        Refuse,
        "{event} was refused before it reached the app, so it was retried{after}",
        _past_the_barrier,
        twin="reorder",
    ),
    "webhooks_first": _of_a_call(
        api.WebhooksFirst,
        "the webhooks of {call}{delivered} arrived before its response",
        (),
        (("delivered", True),),  # or numbers of devices
        needs="your scenario makes no API call that sends a message",
    ),
    "during_call": Kind(
        DuringCall,
        "{event} arrived before the response to {call}",
        is_late=True,
        is_unseen=True,
        needs="no API call follows an event before a settle(), an assertion or a clock move",
    ),
    "lose": Kind(Lose, "{event} was lost", is_in_all=False),
    "read_at_once": Kind(
        Lose,
        extent="times",
        least=1,
        ways=((("status", "delivered"),),),
        is_alone=True,
        needs="your scenario never delivers a message and then reads it, with no other delivery in "
        "between: message.deliver().read()",
    ),
    "duplicate_later": Kind(
        Duplicate,
        "{event} was redelivered {later} later",
        extent="pause",
        least=1,
        is_time=True,
        moves_time=True,
    ),
    "duplicate_at_once": Kind(
        Concurrently,
        extent="by",
        most=0,
        more=("nth", *PLACES),
        needs=ONE_AT_A_TIME,
    ),
    "concurrently": Kind(
        Concurrently,
        distances=_before_the_barrier,
        extent="by",
        least=1,
        needs=_NO_TWO,
    ),
    "two_events_at_once": Kind(
        Concurrently,
        extent="by",
        least=1,
        more=("held", "nth", *PLACES),
        is_alone=True,
        needs=_NO_TWO,
    ),
    "crash": Kind(
        Crash,
        "the app {crash} while it handled {event}{again}",
        more=("nth", *PLACES),
        is_unseen=True,
        is_alone=True,
    ),
    "error": Kind(
        Error,
        "the app {crash} while it handled {event}{again}",
        more=("nth", "before", "raises"),
        is_unseen=True,
        is_alone=True,
        needs="no call that can fail; name your database or broker calls: crash_points = "
        "[Session.commit]",
    ),
    "delay": Kind(
        Delay,
        "{event} arrived {later} late",
        extent="duration",
        least=1,
        is_time=True,
        needs="your scenario never moves the clock after an event: "
        "chat_fake.clock.advance(minutes=5)",
    ),
    "duplicate_new_id": Kind(
        Duplicate,
        "{event} was redelivered with a new id",
        ways=((("new_id", True),),),
        is_unseen=True,
        unchanged="your webhooks have no event id, so a new one would change nothing",
    ),
    "evolve": Kind(
        Evolve,
        "every event had unknown fields",
        concerns="everything",
        is_unseen=True,
        is_alone=True,
        unchanged="your webhooks are neither JSON nor forms, so they can't have unknown fields",
    ),
    "unknown_value": Kind(
        Evolve,
        "every {unknown} had an unknown value",
        ways=tuple((("unknown", path),) for path in OPEN),
        concerns="everything",
        is_unseen=True,
        is_alone=True,
        compares=False,  # an app may keep the value, or map it to one of its own
        judges=False,
        unchanged=f"your webhooks have none of the fields {', '.join(OPEN)}",
    ),
    "unknown_type": Kind(
        Evolve,
        "every {unknown} changed its type: from a number to text, or back",
        ways=(),
        concerns="everything",
        is_unseen=True,
        is_alone=True,
        compares=False,  # an app may keep the text of an amount
        needs="outbound= writes no JSON with numbers",
    ),
    "unknown_event": Kind(
        Evolve,
        "every list began with another event, whose {unknown} had an unknown value",
        ways=(),
        concerns="everything",
        is_unseen=True,
        is_alone=True,
        needs="outbound= writes no lists of events",
    ),
    "api.fail": _of_a_call(api.Fail, "{call} was refused with {status}", (("status", 503),)),
    "api.lose_response": _of_a_call(
        api.LoseResponse, "", (), (("status", 502),), (("reset", True),)
    ),
    "api.rate_limit": _of_a_call(
        api.RateLimit,
        "{call} was refused with 429 and Retry-After",
        (("retry_after", 30), ("times", 1)),
        (("retry_after", 30), ("as_date", True), ("times", 1)),
        is_in_all=False,
    ),
    "api.disconnect": _of_a_call(
        api.Disconnect,
        "the connection of {call} was closed before it took effect",
        (),
        is_in_all=False,
    ),
    "api.truncate": _of_a_call(
        api.Truncate, "the response to {call} was cut off", (), is_in_all=False
    ),
    "api.fail_page": _of_a_call(
        api.Fail,
        "{call} was refused with {status} and an HTML page",
        (("status", 503), ("body", _PAGE)),
        is_in_all=False,
    ),
    "api.fail_400": _of_a_call(
        api.Fail,
        "{call} and all later ones were refused with {status}",
        (("status", 400), ("times", None)),
        is_in_all=False,
    ),
    "api.fail_401": _of_a_call(
        api.Fail,
        "{call} was refused with {status}",
        (("status", 401),),
        is_in_all=False,
    ),
}

#: The kinds that end a call's connection, of which there is none in process.
OVER_A_SOCKET: Final = ("api.lose_response", "api.disconnect", "api.truncate")

#: The kinds that post webhooks before the response to a call.
EARLY: Final = ("webhooks_first", "during_call")

#: The kinds that change a field of the body that ``outbound=`` wrote, and how.
POSTED: Final = {"unknown_value": "value", "unknown_type": "type", "unknown_event": "event"}

#: The kinds that fail at crash points.
CRASHING: Final = frozenset(name for name in KINDS if issubclass(KINDS[name].fault, Attended))


#: The kinds whose attempts at the same time meet at such points.
MEETING: Final = frozenset(
    name for name, kind in KINDS.items() if kind.fault is Concurrently and kind.more
)


def has_points(kinds: Iterable[str]) -> bool:
    """Return whether one of the kinds happens at crash points."""
    return any(KINDS[kind].more for kind in kinds)


#: More attempts than any body makes, so that what waits for them is made at the next barrier.
_NEVER: Final = 10**9

#: The kinds that an exploration tries by default.
DEFAULT: Final = ("duplicate", "reorder", "lose_response", "refuse", "webhooks_first")


class Deviation(NamedTuple):
    """One deviation of a world.

    Attributes:
        kind: One of :data:`KINDS`.
        start: Which attempt it affects, counted from 1; or which call with that method and path.
        extent: How many attempts it moves past; for how many it waits, the last one included, to
            be made at the same time; or how many nanoseconds it waits.
        more: Further arguments of its verb.
    """

    kind: str
    start: int
    extent: int = 0
    more: Way = ()

    def __str__(self) -> str:
        """Write the call as a test does, without the fake's name."""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._arguments().items())
        return f"{self.traits.verb}({arguments})"

    def _arguments(self) -> dict[str, Any]:
        kind, extent = self.traits, self.extent
        if kind.is_time:
            own = {kind.extent: extent / SECOND if extent % SECOND else extent // SECOND}
        else:
            own = {kind.extent: extent} if kind.extent else {}
        place = {} if kind.concerns == "everything" else {"start": self.start}
        return {**own, **dict(self.more), **place}

    @property
    def traits(self) -> Kind:
        """What all deviations of its kind have in common."""
        return KINDS[self.kind]

    @property
    def is_of_an_attempt(self) -> bool:
        """Whether it affects an attempt."""
        return self.traits.concerns == "attempt"

    @property
    def place(self) -> Way:
        """The argument that names a point inside the app, if there is one."""
        return tuple(pair for pair in self.more if pair[0] in PLACES)

    @property
    def is_alone(self) -> bool:
        """Whether it is never combined with another deviation."""
        return self.traits.is_alone or bool(self.place)

    @property
    def is_unseen(self) -> bool:
        """Whether the order and the moments of attempts don't show that it fired."""
        return self.traits.is_unseen or bool(self.place)

    @property
    def what(self) -> str:
        """The deviation's name in a finding: its kind or, if it affects everything, its call."""
        return str(self) if self.traits.concerns == "everything" else self.kind

    @property
    def call(self) -> Call | None:
        """The path and method of the call that it affects; None: it affects an attempt."""
        more = dict(self.more)
        return Call(more["path"], more["method"]) if {*Call._fields} <= {*more} else None

    def set_up(self, fake: ChatFake, *, only_waits: bool = False) -> BaseFault:
        """Call the verb, and return the fault.

        If it ``only_waits``, an event that would be held back for an API call is only held back.
        """
        if only_waits and self.traits.is_late:
            return fake.webhooks.reorder(by=_NEVER, start=self.start)
        fault: BaseFault = attrgetter(self.traits.verb)(fake)(**self._arguments())
        return fault


def parse_deviations(only: Iterable[Any]) -> tuple[Deviation, ...]:
    """Return the deviations that a test lists, as printed by a failure."""
    listed = check_list(only, "only", "deviations such as 'webhooks.reorder(by=1, start=2)'")
    return tuple(map(_parse, listed))


def _parse(text: object) -> Deviation:
    if not isinstance(text, str):
        raise TypeError(
            f"only: expected texts such as 'webhooks.reorder(by=1, start=2)', got {cited(text)}"
        )
    found = None
    with suppress(StopIteration, SyntaxError, TypeError, ValueError):
        found = _read(text)
    if found is None:
        verbs = ", ".join(f"{verb}(...)" for verb in dict.fromkeys(k.verb for k in KINDS.values()))
        raise ValueError(
            f"only: unknown deviation {cited(text)}. Copy the list that the failure printed. "
            f"The deviations are {verbs}."
        )
    return found


def _read(text: str) -> Deviation | None:
    call = ast.parse(text.strip(), mode="eval").body
    if not isinstance(call, ast.Call) or call.args:
        return None
    given = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    start, verb = given.pop("start", 1), ast.unparse(call.func)
    for name, kind in KINDS.items():
        if kind.verb != verb:
            continue
        # delay(duration) and concurrently(by=) have no default.
        if kind.extent not in given and (kind.is_time or kind.fault is Concurrently):
            continue
        extent = given.get(kind.extent, kind.least)
        if kind.is_time:
            extent = parse_delay(extent, kind.extent)
        more = tuple((key, value) for key, value in given.items() if key != kind.extent)
        is_whole = type(start) is type(extent) is int
        if is_whole and start >= 1 and kind.least <= extent <= kind.most:
            found = Deviation(name, start, extent, more)
            if _is_possible(found):
                return found
    return None


def _is_possible(deviation: Deviation) -> bool:
    kind, more = deviation.traits, dict(deviation.more)
    if kind.more:
        is_anywhere = deviation.kind not in CRASHING
        for place, name in deviation.place:
            if place != "line":
                find_call(name, place) if is_anywhere else find_function(name, place)
        if "raises" in more:
            find_error(more["raises"], "raises")
        if more.get("held", "later") != "later":
            return False
        places = len(deviation.place)
        return {*more} <= {*kind.more} and (places == 1 or (is_anywhere and not more))
    if kind.concerns == "call":
        call = deviation.call
        if call is None or Call.of(*map(str, call)) != call:
            return False
    way = tuple(pair for pair in deviation.more if pair[0] not in Call._fields)
    if deviation.kind == "webhooks_first" and "delivered" in more:
        api.devices_of(more["delivered"])
        way = kind.ways[1]
    is_in_place = deviation.start == 1 or kind.concerns != "everything"
    if re.match(r"body[.\[]", str(more.get("unknown"))):
        return more.get("how", "value") == POSTED.get(deviation.kind) and is_in_place
    return way in kind.ways and is_in_place


def check_kinds(deviations: Iterable[Any]) -> tuple[str, ...]:
    """Return the kinds to try; ``"all"`` leaves out those that no app can survive."""
    if deviations == "all":
        return tuple(name for name, kind in KINDS.items() if kind.is_in_all)
    kinds = tuple(check_list(deviations, "deviations", f"'all', or names such as {list(DEFAULT)}"))
    for kind in kinds:
        check_choice(kind, "deviation in deviations=", [*KINDS])
    return kinds
