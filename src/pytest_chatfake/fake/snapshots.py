"""Snapshots of an app's state: taken, and compared with others."""

from __future__ import annotations

import copy
import inspect
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Any, Final

from ..base.arguments import check_takes, cited, shortened, written
from ..base.errors import ChatFakeError
from ..base.views import counted
from ..domain.facts import Verb
from ..engine.engine import Engine
from ..transport.client.asgi import AsgiTarget
from ..webhooks.events import Event

#: Returns an app's state in a form that can be compared; it may be async.
Snapshot = Callable[[], Any]


#: How many places are shown in which two snapshots differ.
_LISTED: Final = 5

#: How much two long texts show of what they share before they differ, and when they are long.
_SHARED: Final = 20
_LONG: Final = 80

_NOTHING: Final = object()

#: Where an object is in memory, as its ``repr()`` says.
_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")

#: Of snapshots, only these are looked into; to type checkers their contents are anything.
_DICT: Final[Any] = dict
_SEQUENCES: Final[Any] = (list, tuple)
_SETS: Final[Any] = (set, frozenset)
_COLLECTIONS: Final[Any] = (*_SEQUENCES, *_SETS)


class SnapshotError(TypeError):
    """A snapshot returned objects that equal nothing but themselves."""


class Baseline:
    """The snapshots of an exploration's first world, with which other worlds are compared.

    Args:
        until: After which of its steps the scenario ends; 0: it is played whole.
        only_waits: Whether the first world has moved time as far as the others, and no more.

    Attributes:
        until, only_waits: As given.
        values: The snapshots of the first world.
        learning: Whether a world's snapshots are kept.
        compares: Whether they are compared.
        last_step: How many steps the scenario of the first world has.
        learns_steps: Whether a world's snapshots after each step are kept.
        steps: By the numbers of steps: which attempts had been made, and the snapshot.
        differs_after: The steps after which this world is to be compared in a run that ends there.
    """

    def __init__(self, *, until: int = 0, only_waits: bool = False) -> None:
        self.until = until
        self.only_waits = only_waits
        self.values: list[Any] = []
        self._index = 0
        self._is_new = True
        self.learning: bool = True
        self.compares: bool = True
        self.last_step: int = 0
        self.learns_steps: bool = False
        self.steps: dict[int, tuple[dict[tuple[bytes, int], bool], Any]] = {}
        self.differs_after: list[int] = []
        self._threads = set(threading.enumerate())
        self._differing: tuple[BaseException | None, list[str]] = None, []

    def begin(self, *, compares: bool) -> None:
        """Begin a world: the snapshots of the first one are kept."""
        self._index = 0
        self.learning, self._is_new = self._is_new, False
        self.compares = compares
        self.differs_after = []

    async def compare(self, snapshot: Snapshot, engine: Engine) -> None:
        """Take a snapshot, and keep it while learning; else compare it with the one kept."""
        await engine.performed(engine.settle())
        # Later worlds may lose all events.
        if self.learning and not any(attempt._was_made for attempt in engine.outbox.attempts):
            raise ChatFakeError(
                "assert_order_independent() has nothing to compare: no event was attempted at an "
                "app. Connect your app inside the body and send something first"
            )
        value = await taken(snapshot, engine)
        index, self._index = self._index, self._index + 1
        if self.learning:
            self.values.append(value)
        elif index >= len(self.values):
            raise AssertionError(
                f"assert_order_independent() was called {index + 1} times in this world, and "
                f"{len(self.values)} times in the one as written: call it as often in each"
            )
        elif self.compares and value != self.values[index]:
            then = "without that" if self.only_waits else "as written"
            lines = difference(self.values[index], value, then, engine)
            if self.until:
                lines[0] = f"after step {self.until}: {lines[0]}"
            cause = "the snapshot depends on the order of events"
            error = AssertionError(_because(cause, lines))
            self._differing = error, lines
            raise error

    async def look(self, step: int, snapshot: Snapshot, engine: Engine) -> None:
        """Take a snapshot between two steps, and keep it or compare it, without a barrier.

        It is compared where the same attempts have ended in the same way as in the first world:
        elsewhere an event is still on its way. If it was on its way in the first world only, there
        is no snapshot to compare. A thread of the app may not have finished, and a message may have
        been delivered before its step.
        """
        if self.learning:
            self.last_step = step
        if self.learning or step >= self.last_step or self._has_threads() or not self.compares:
            return
        if any(message.is_early for message in engine.account.messages):
            return
        ever = [*engine.outbox.endpoints.ever]
        made = {(a.event.body, ever.index(a.endpoint)): a.ok for a in [*engine.outbox.attempts]}
        if self.learns_steps:
            self.steps[step] = made, await taken(snapshot, engine)
        elif step in self.steps:
            known, expected = self.steps[step]
            has_more = made.items() > known.items()
            if has_more or (made == known and await taken(snapshot, engine) != expected):
                self.differs_after.append(step)

    def _has_threads(self) -> bool:
        """Whether there are threads of the app."""
        new = {*threading.enumerate()} - self._threads
        return not all(thread.name.startswith("chatfake") for thread in new)

    def differs_by(self, error: BaseException) -> bool:
        """Return whether it is the last error that has said that a snapshot differs."""
        return self._differing[0] is error

    def blame(self, error: BaseException, cause: str) -> None:
        """Name the cause of an error, if it says that a snapshot differs."""
        if self.differs_by(error):
            error.args = (_because(cause, self._differing[1]),)


def _because(cause: str, lines: Sequence[str]) -> str:
    return f"{cause}; " + "\n  ".join(lines)


def difference(before: Any, after: Any, then: str, engine: Engine) -> list[str]:
    """Return a line for each place where two snapshots differ, with m1 for a message's id.

    Args:
        before: The snapshot with which the other one is compared.
        after: The other one.
        then: When the first was taken: ``"as written"``, or ``"before"``.
        engine: The fake's engine.
    """
    lines = list(_differences(before, after, "", then))
    if len(lines) > _LISTED:
        lines[_LISTED - 1 :] = [f"and {len(lines) - _LISTED + 1} more"]
    text = "\n".join(lines)
    for message in engine.account.messages:
        text = text.replace(message.id, f"m{message.number}")
    return text.split("\n")


def _differences(before: Any, after: Any, path: str, then: str) -> Iterator[str]:
    other_items = _other_items(before, after, then)
    if other_items:
        yield f"{path or 'snapshot'}: {other_items}"
        return
    is_told = False
    for name, old, new in _parts(before, after):
        if old is _NOTHING or new is _NOTHING or old != new:
            yield from _differences(old, new, path + name, then)
            is_told = True
    if not is_told:
        is_now, was = _shown(after, before)
        yield f"{path or 'snapshot'}: {is_now}; {then}: {was}"


def _parts(before: Any, after: Any) -> Iterable[tuple[str, Any, Any]]:
    """Give what two values of one type are made of, each part with its name and both its values."""
    if isinstance(before, _DICT) and isinstance(after, _DICT):
        for key in dict.fromkeys([*before, *after]):
            name = f'"{key}"' if isinstance(key, str) else repr(key)
            yield f"[{name}]", before.get(key, _NOTHING), after.get(key, _NOTHING)
    elif type(before) is not type(after):
        return
    elif isinstance(before, _SEQUENCES):
        for index, pair in enumerate(zip_longest(before, after, fillvalue=_NOTHING)):
            yield f"[{index}]", *pair
    elif is_dataclass(before) and not isinstance(before, type):
        for field in fields(before):
            if field.compare:
                yield f".{field.name}", getattr(before, field.name), getattr(after, field.name)


def _other_items(before: Any, after: Any, then: str) -> str:
    """Say which items one of two collections lacks; empty: one has other values in their place."""
    if type(before) is not type(after) or not isinstance(after, _COLLECTIONS):
        return ""
    missing, more = _without(before, after), _without(after, before)
    if not missing and not more:
        is_list = isinstance(after, list)
        return "the same items in another order: sort them in the snapshot?" * is_list
    if missing and more and isinstance(after, _SEQUENCES):
        return ""
    named = [
        f"{'one' if len(items) == 1 else f'{len(items):,}'} {what}: "
        f"{shortened(', '.join(map(_text, items[:_LISTED])))}{', ...' * (len(items) > _LISTED)}"
        for what, items in (("more", more), ("missing", missing))
        if items
    ]
    return "; ".join([*named, counted(len(after), "item"), f"{then}: {len(before):,}"])


def _without(items: Any, others: Any) -> list[Any]:
    if isinstance(items, _SETS):
        return sorted(items - others, key=_text)
    left, found = list(others), list[Any]()
    for item in items:
        if item in left:
            left.remove(item)
        else:
            found.append(item)
    return found


def _shown(*values: Any) -> Iterator[str]:
    """Write two values so that the reader sees how they differ."""
    texts = [_text(value) for value in values]
    pairs = enumerate(zip(*texts, strict=False))
    shared = next((index for index, (one, other) in pairs if one != other), 0)
    for value, text in zip(values, texts, strict=True):
        if len({*texts}) == 1:  # as of 0.1 and Decimal("0.1")
            yield f"{shortened(text)} ({type(value).__name__})"
        else:
            yield shortened(f"...{text[shared - _SHARED :]}" if shared > _LONG else text)


def _text(value: Any) -> str:
    if value is _NOTHING:
        return "missing"
    return str(value) if isinstance(value, Decimal) else written(value)


def without_texts(value: Any) -> object:
    """Return what of a snapshot is the same with other ids: its numbers, and how much it holds."""
    if isinstance(value, _DICT):
        return Counter(repr(without_texts(pair)) for pair in value.items())
    if isinstance(value, _COLLECTIONS):
        return Counter(repr(without_texts(one)) for one in value)
    return value if isinstance(value, int | float | Decimal) else type(value).__name__


def check_snapshot(snapshot: object) -> None:
    """Refuse a snapshot that is not a function without arguments."""
    check_takes(snapshot, "snapshot", "lambda: dict(app.statuses)")


async def taken(snapshot: Snapshot, engine: Engine) -> Any:
    """Return a copy of what a snapshot returns: an app may go on changing its dict."""
    value = snapshot()
    if engine.mode == "async" and inspect.isawaitable(value):
        value = await value
    if inspect.iscoroutine(value):
        value.close()  # or Python warns that nobody awaited it
        raise TypeError(
            "snapshot: expected a plain function: write `def`, not `async def`, in sync mode"
        )
    cause: Exception | None = None
    try:
        kept = copy.deepcopy(value)
        # The app may have changed the value since, so the copy is copied.
        unequal = _unequal(kept, copy.deepcopy(kept), "")
        if not unequal:
            return kept
        problem = f"equals nothing but itself: {unequal}"
    except Exception as error:
        problem, cause = f"can't be copied and compared: {cited(value)}", error
    raise SnapshotError(
        f"snapshot: expected plain values, such as a sum or a list of tuples, got what "
        f"{_ADDRESS.sub('', problem)}"
    ) from cause


def _unequal(value: Any, copied: Any, path: str) -> str:
    """Return the place of what no copy equals, and so no value of another world; empty: none is.

    NaN and functions are their own copies, and collections find equal what is the same object.
    """
    for name, one, other in _parts(value, copied):
        if place := _unequal(one, other, path + name):
            return place
    items = value if isinstance(value, _SETS) else [value]
    is_alone = any(
        item != item or (inspect.isfunction(item) and "<" in item.__qualname__)  # noqa: PLR0124
        for item in items
    )
    return f"{path or 'snapshot'}: {cited(value)}" if is_alone or value != copied else ""


async def expect_idempotent(engine: Engine, baseline: Baseline | None, snapshot: Snapshot) -> None:
    """Attempt each accepted event again; raise an AssertionError if that changes the snapshot."""
    await engine.performed(engine.settle())
    before = await taken(snapshot, engine)
    outbox = engine.outbox
    accepted = dict.fromkeys(attempt.event for attempt in list(outbox.attempts) if attempt.ok)
    if not accepted and (baseline is None or baseline.learning):
        raise ChatFakeError(
            "assert_idempotent() has nothing to attempt again: no endpoint has taken an event. "
            "Connect your app and send something first"
        )
    works_by_itself = _may_work_by_itself(engine)
    state, changed = before, ""
    for event in accepted:
        await _attempt_again(event, engine)
        after = await taken(snapshot, engine)
        if state != after and not changed:
            lines = difference(state, after, "before", engine)
            changed = _because(f"{event._name} came again and changed the snapshot", lines)
            if not (works_by_itself or _may_work_by_itself(engine)):
                raise AssertionError(changed)
        state = after
    if not changed:
        return
    # What an app does in the background for an earlier event, it does once.
    for event in accepted:
        await _attempt_again(event, engine)
        if state != await taken(snapshot, engine):
            raise AssertionError(changed)
    raise ChatFakeError(
        f"assert_idempotent() can't tell: the app may have done this in the background, for an "
        f"earlier event, as nothing changed when all came once more. Wait for that before, as in "
        f"chat_fake.wait_until(lambda: app.is_idle()). {changed}"
    )


async def _attempt_again(event: Event, engine: Engine) -> None:
    outbox = engine.outbox
    attempted = len(outbox.attempts)
    engine.perform(Verb("redeliver", None, (event,)), "redeliver()")
    await engine.performed(engine.settle())
    if not any(attempt.event is event for attempt in list(outbox.attempts)[attempted:]):
        raise ChatFakeError(
            f"assert_idempotent() can't tell: {event._name} did not come to the app again. "
            f"End the pause first, and leave the endpoint connected"
        )


def _may_work_by_itself(engine: Engine) -> bool:
    """Whether an app may do something between two attempts: it is elsewhere, or has a thread."""
    threads = [thread for thread in threading.enumerate() if not thread.name.startswith("chatfake")]
    targets = [endpoint._target for endpoint in engine.outbox.endpoints]
    return (
        engine.mode == "async"
        or len(threads) > 1
        or not all(target.in_process and not isinstance(target, AsgiTarget) for target in targets)
    )
