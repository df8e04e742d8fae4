"""What the world as written showed, and the comparison of other worlds with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..base.errors import ChatFakeError
from ..base.views import counted
from ..fake.details import was_made
from ..fake.inside import Inside
from ..fake.snapshots import COLLECTIONS, DICT, Snapshot, because
from ..report.explanations import Explanations
from ..transport.client.loops import has_other_tasks
from ..webhooks.events import Event
from .amounts import hint

#: Real seconds between two snapshots of an app that may still be busy in the background.
_APART: Final = 0.005

#: After so many of these pauses, 0.3 s, such an app counts as having finished its work.
_PATIENCE: Final = 60

#: Added to the refusal of an event, if it did no harm.
HARMLESS: Final = ", and the snapshot is as written: return 2xx, or the service keeps retrying"


class Content(NamedTuple):
    """What a message says.

    Attributes:
        to: Its recipient.
        type: Its type.
        text: Its content, with names for ids.
        quotes_ids: Whether it says an id, which differs in each world.
    """

    to: str
    type: str
    text: str
    quotes_ids: bool


#: Whether attempts were accepted, by event and endpoint.
_Made: TypeAlias = dict[tuple[Hashable, int], bool]

#: No two snapshots in a row were equal.
_RESTLESS: Final = object()


@dataclass
class Baseline:
    """What a first world showed, with which later worlds are compared.

    Attributes:
        until: The step after which the scenario ends; 0: at its end.
        only_waits: Whether time moves as far in the first world as in the others, without
            deviations.
        is_new: Whether there was no first world yet.
        values: Its snapshots.
        last_step: The number of steps in its scenario.
        steps: By step: which attempts had been made, by body and by status, and the snapshot.
        is_restless: Whether the snapshot never came to rest after the step.
        messages: How often each message was sent.
    """

    until: int = 0
    only_waits: bool = False
    is_new: bool = True
    values: list[Any] = field(default_factory=list[Any])
    last_step: int = 0
    steps: dict[int, tuple[_Made, _Made, Any]] = field(default_factory=dict[int, Any])
    is_restless: bool = False
    messages: Counter[Content] = field(default_factory=Counter[Content])


class Difference(NamedTuple):
    """How a world differs from what is right; not at all, if there are no lines.

    Attributes:
        lines: Say what differs.
        basis: From what it differs: from the snapshot ``"as written"``, from what
            :meth:`.WebhookTests.expected` returns, or from the ``"messages"``.
        note: What the fake's books say of amounts.
        messages: If they are the basis, what should have been sent.
        code: The lines of a test that show it; None: the test compares with the basis.
    """

    lines: list[str]
    basis: Literal["as written", "expected", "messages"] = "as written"
    note: str = ""
    messages: Mapping[Content, int] = {}
    code: list[str] | None = None


class Comparison:
    """Compares the snapshots of a world with a baseline.

    Args:
        baseline: The baseline; without a first world, this world becomes that.
        inside: The world's fake.
        compares: Whether a correct app has the same snapshots.
        judges: Whether ``expected()`` holds.
        learns_steps: Whether it keeps the snapshots after each step.

    Attributes:
        baseline, compares, judges: As given.
        learning: Whether this is the first world.
        remark: What to add to the refusal of an event; empty unless the last snapshot was as
            written.
        suspects: The steps after which the snapshot differed, or more attempts had been made than
            in the first world. Then only a world that ends there shows whether it differs.
        had_background: Whether the app's code may have run by itself, as of the last snapshot.
        difference: The last difference that was found.
    """

    def __init__(
        self,
        baseline: Baseline,
        inside: Inside,
        *,
        compares: bool,
        judges: bool,
        learns_steps: bool,
    ) -> None:
        self.baseline = baseline
        self.learning: bool = baseline.is_new
        baseline.is_new = False
        self.compares = compares
        self.judges = judges
        self.remark: str = ""
        self.suspects: list[int] = []
        self.had_background: bool = False
        self.difference: Difference = Difference([])
        self._error: BaseException | None = None  # which says that it differs
        self._inside = inside
        self._learns_steps = learns_steps
        self._index = 0
        self._was_early = False  # a message was delivered before its step

    async def compare(self, snapshot: Snapshot) -> None:
        """Take a snapshot; keep it while learning, else compare it with the one that was kept."""
        baseline, inside = self.baseline, self._inside
        await inside.settle()
        # Later worlds may lose every event.
        if self.learning and not any(map(was_made, inside.attempts)):
            raise ChatFakeError(
                "assert_order_independent() has nothing to compare: no event was posted to an app. "
                "Connect your app inside the body and send something first"
            )
        index, self._index = self._index, self._index + 1
        value = await self._take(snapshot, index)
        is_comparable = self.compares and not (baseline.until and inside.has_delivered_early)
        self.remark = HARMLESS * (is_comparable and not self.learning)  # unless it differs
        if self.learning:
            baseline.values.append(value)
        elif index >= len(baseline.values):
            raise AssertionError(
                f"assert_order_independent(): expected {counted(len(baseline.values), 'call')}, as "
                f"in the world as written, got {index + 1}; call it equally often in each world"
            )
        elif is_comparable and value != baseline.values[index]:
            then = "otherwise" if baseline.only_waits else "as written"
            lines = inside.difference(baseline.values[index], value, then)
            if baseline.until:
                lines[0] = f"after step {baseline.until}, {lines[0]}"
            self.require_none(Difference(lines), "the snapshot depends on the order of events")

    async def judge(self, expected: object, snapshot: Snapshot, cause: str) -> None:
        """Take a snapshot, and compare it with what it has to be."""
        self.require_none(self.unexpected(expected, await self._inside.taken(snapshot)), cause)

    def unexpected(self, expected: object, value: object) -> Difference:
        """Return where a value isn't as expected."""
        if value == expected:
            return Difference([])
        lines = self._inside.difference(expected, value, "expected")
        return Difference(lines, "expected", _books_about(expected, value, self._inside))

    def require_none(self, difference: Difference, cause: str) -> None:
        """Fail if the world differs."""
        if not difference.lines:
            return
        error = AssertionError(because(cause, difference.lines))
        if difference.note:
            error.add_note(difference.note)
        self.difference, self._error = difference, error
        raise error

    async def look(self, step: int, snapshot: Snapshot) -> None:
        """Take a snapshot between two steps, without a barrier, and keep it or compare it.

        Snapshots can only be compared if the same attempts ended in the same way as in the first
        world, or an event may still be on its way. If there were more, such as a duplicate, the
        step is a suspect without a look. They aren't compared while a message has been
        delivered before its step; after that, its events have other times than in the first world.
        If the app may be busy in the background, it gets time.
        """
        baseline, inside = self.baseline, self._inside
        if self.learning:
            baseline.last_step = step
        if self.learning or step >= baseline.last_step or not self.compares:
            return
        if inside.has_delivered_early:
            self._was_early = True
            return
        made = self._made(lambda event: event.body)
        if self._learns_steps:
            by_status, value = self._made(_status_in(inside)), await self._take_at_rest(snapshot)
            if value is not _RESTLESS:
                baseline.steps[step] = made, by_status, value
        elif step in baseline.steps:
            known, known_by_status, expected = baseline.steps[step]
            if self._was_early:
                made, known = self._made(_status_in(inside)), known_by_status
            has_more = made.items() > known.items()
            if has_more or (
                made == known and await self._take_until(snapshot, expected, _PATIENCE) != expected
            ):
                self.suspects.append(step)

    def _made(self, name: Callable[[Event], Hashable]) -> _Made:
        attempts, ever = self._inside.attempts, [*self._inside.endpoints]
        return {(name(a.event), ever.index(a.endpoint)): a.ok for a in [*attempts]}

    async def _take(self, snapshot: Snapshot, index: int) -> Any:
        # At the end of the whole scenario, the snapshot itself has to wait for the app.
        baseline, inside = self.baseline, self._inside
        if not baseline.until:
            return await inside.taken(snapshot)
        if self.learning:
            if has_background(inside):
                await inside.pause(_PATIENCE * _APART)
            value = await self._take_at_rest(snapshot)
            baseline.is_restless = value is _RESTLESS
            return value
        # Longer than the first world has waited, which may have seen the end of some work.
        expected = baseline.values[index] if index < len(baseline.values) else None
        return await self._take_until(snapshot, expected, 2 * _PATIENCE)

    async def _take_at_rest(self, snapshot: Snapshot) -> Any:
        # A snapshot that was the same twice, if the app may be busy in the background.
        value = await self._take_now(snapshot)
        self.had_background = has_background(self._inside)
        for _ in range(_PATIENCE * self.had_background):
            await self._inside.pause(_APART)
            before, value = value, await self._take_now(snapshot)
            if before == value:
                return value
        return _RESTLESS if self.had_background else value

    async def _take_until(self, snapshot: Snapshot, expected: Any, pauses: int) -> Any:
        # A snapshot that is as expected, if the app gets there by itself.
        value = await self._take_now(snapshot)
        self.had_background = has_background(self._inside)
        for _ in range(pauses * self.had_background):
            if value == expected:
                break
            await self._inside.pause(_APART)
            value = await self._take_now(snapshot)
        return value

    async def _take_now(self, snapshot: Snapshot) -> Any:
        # After the scenario, with the events of what the app has sent in the background.
        if self.baseline.until:
            await self._inside.settle()
        return await self._inside.taken(snapshot)

    def differs_by(self, error: BaseException) -> bool:
        """Return whether this is the error which says that a snapshot differs."""
        return self._error is error

    def shown(self, error: BaseException) -> str:
        """Return where a snapshot differs, or the text of another error."""
        return "; ".join(self.difference.lines) if self.differs_by(error) else str(error)

    def blame(self, error: BaseException, cause: str) -> None:
        """Name an error's cause, if the error says that a snapshot differs."""
        if self.differs_by(error):
            error.args = (because(cause, self.difference.lines),)


def _status_in(inside: Inside) -> Callable[[Event], Hashable]:
    # Names an event by its message and status, and by how many it has had before.
    names, counts = dict[Event, Hashable](), Counter[Hashable]()
    for event in inside.events:
        kind = event.type, event.message_id, event.status
        counts[kind] += 1
        names[event] = kind, counts[kind]
    return lambda event: names.get(event, event.body)


def _books_about(expected: object, value: object, inside: Inside) -> str:
    # Empty unless a snapshot has other amounts than expected.
    how = hint(expected, value)
    if how is None:
        return ""
    messages, story = inside.account.messages, inside.story
    charges = [*Explanations(story, story.labels).charges(*messages)]
    story.explained.update(dict.fromkeys(messages, charges))
    return "\n  ".join(["The fake's books:", *charges]) + how


def has_background(inside: Inside) -> bool:
    """Return whether the app's code may run while the test waits."""
    # On the private loop, tasks rest until the next attempt.
    return has_other_tasks() or inside.runs_elsewhere


def without_texts(value: Any) -> object:
    """Return a snapshot with strings replaced by their type, so that ids don't matter."""
    if isinstance(value, DICT):
        return Counter(repr(without_texts(pair)) for pair in value.items())
    if isinstance(value, COLLECTIONS):
        return Counter(repr(without_texts(one)) for one in value)
    return value if isinstance(value, int | float | Decimal) else type(value).__name__
