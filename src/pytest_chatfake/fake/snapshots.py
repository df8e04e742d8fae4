"""Takes and compares snapshots of an app's state."""

from __future__ import annotations

import copy
import inspect
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from itertools import zip_longest
from traceback import walk_tb
from typing import Any, Final

from ..base.arguments import check_takes, cited, shortened, written
from ..base.errors import ChatFakeError
from ..base.views import counted
from ..domain.instants import SECOND
from ..domain.messages import MessageState
from ..engine.engine import Engine
from ..engine.verbs import Redeliver
from ..webhooks.events import Event

#: Returns an app's state, in a form that can be compared; may be async.
Snapshot = Callable[[], Any]


#: The maximum number of differences shown between two snapshots.
_LISTED: Final = 5

#: The characters of context shown before two long texts differ, and how long a long text is.
_SHARED: Final = 20
_LONG: Final = 80

_NOTHING: Final = object()

#: A hint if all that differs are times.
_LEAVE_OUT: Final = "the time of the last change? Leave it out of the snapshot"

#: A number counts as a time if it is that close to the present, two years.
_CLOSE: Final = 2 * 365 * 86_400 * SECOND

#: The address in an object's ``repr()``.
_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")

#: How a private name begins, also one that Python has mangled.
_PRIVATE: Final = re.compile(r"^_+(?:[^_]\w*?__)?")

#: How the name of an attribute ends that only says which object it is, as in ``tenant_id``.
_IDENTIFIER: Final = re.compile(r"(^|_)(?i:id|pk|key|uuid|guid)$|[a-z]Id$")

#: Only these types are compared item by item. For type checkers, their items may be anything.
DICT: Final[Any] = dict
_SEQUENCES: Final[Any] = (list, tuple)
_SETS: Final[Any] = (set, frozenset)
_HASHED: Final[Any] = (*_SETS, dict)
COLLECTIONS: Final[Any] = (*_SEQUENCES, *_SETS)


class SnapshotError(TypeError):
    """A snapshot returned objects that can't be compared by value."""


def because(cause: str, lines: Sequence[str]) -> str:
    """Return the message of an error: what happened, and where the snapshots differ."""
    return f"{cause}; " + "\n  ".join(lines)


def difference(before: Any, after: Any, then: str, engine: Engine) -> list[str]:
    """Return a line for each place where two snapshots differ.

    Args:
        before: The snapshot to compare with.
        after: The snapshot to compare.
        then: When ``before`` was taken: ``"as written"``, or ``"before"``.
        engine: The fake's engine.
    """
    lines = list(_differences(before, after, "", then))
    now = engine.core.now()
    if all(_is_time(value, now) for pair in unequal_parts(before, after) for value in pair):
        lines[0] += f" ({_LEAVE_OUT})"
    if len(lines) > _LISTED:
        lines[_LISTED - 1 :] = [f"and {len(lines) - _LISTED + 1} more"]
    return lines


def named(text: str, messages: Iterable[MessageState]) -> str:
    """Write m1 for a message's id."""
    for message in messages:
        text = text.replace(message.id, f"m{message.number}")
    return text


def _differences(before: Any, after: Any, path: str, then: str) -> Iterator[str]:
    if other_items := _other_items(before, after, then):
        yield f"{path or 'snapshot'}: {other_items}"
    elif unequal := _unequal_parts(before, after):
        for name, old, new in unequal:
            yield from _differences(old, new, path + name, then)
    else:
        is_now, was = _shown(after, before)
        yield f"{path or 'snapshot'}: {is_now}; {then}: {was}"


def _is_time(value: Any, now: int) -> bool:
    if isinstance(value, str):
        with suppress(ValueError):
            return len(value) > len("20260101") and bool(datetime.fromisoformat(value))
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        # Since the epoch, in seconds, milliseconds, microseconds or nanoseconds.
        number: Any = value
        return any(abs(number * unit - now) < _CLOSE for unit in (SECOND, 10**6, 10**3, 1))
    return isinstance(value, date | time)


def parts(before: Any, after: Any) -> Iterable[tuple[str, Any, Any]]:
    """Yield the parts of two values of one type: the code that gets each, and its two values."""
    if isinstance(before, DICT) and isinstance(after, DICT):
        for key in dict.fromkeys([*before, *after]):
            name = f'"{key}"' if isinstance(key, str) else repr(key)
            yield f"[{name}]", before.get(key, _NOTHING), after.get(key, _NOTHING)
    elif type(before) is not type(after):
        return
    elif isinstance(before, _SEQUENCES):
        for index, pair in enumerate(zip_longest(before, after, fillvalue=_NOTHING)):
            yield f"[{index}]", *pair
    elif not isinstance(before, type):
        for name in _compared_fields(before):
            yield f".{name}", getattr(before, name), getattr(after, name)


def _compared_fields(value: Any) -> Iterator[str]:
    # Those of a dataclass, or of an attrs class.
    if is_dataclass(value):
        yield from (field.name for field in fields(value) if field.compare)
    else:
        yield from (field.name for field in getattr(value, "__attrs_attrs__", ()) if field.eq)


def unequal_parts(before: Any, after: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the innermost values in which two snapshots differ; a missing one is an object."""
    unequal = _unequal_parts(before, after)
    if not unequal:
        yield before, after
    for _, old, new in unequal:
        yield from unequal_parts(old, new)


def _unequal_parts(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    return [(name, old, new) for name, old, new in parts(before, after) if old != new]


def _other_items(before: Any, after: Any, then: str) -> str:
    # Which items one of the two collections lacks; empty if they differ in another way.
    if type(before) is not type(after) or not isinstance(after, COLLECTIONS):
        return ""
    missing, more = _without(before, after), _without(after, before)
    if not missing and not more:
        is_list = isinstance(after, list)
        return "the same items in a different order (sort them in the snapshot?)" * is_list
    if missing and more and isinstance(after, _SEQUENCES):
        return ""
    found = [
        f"{'one' if len(items) == 1 else f'{len(items):,}'} {what} "
        f"({shortened(', '.join(map(_text, items[:_LISTED])))}{', ...' * (len(items) > _LISTED)})"
        for what, items in (("more", more), ("missing", missing))
        if items
    ]
    return "; ".join([*found, counted(len(after), "item"), f"{then}: {len(before):,}"])


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
    # Long texts start shortly before the place where they differ.
    texts = [_text(value) for value in values]
    pairs = enumerate(zip(*texts, strict=False))
    shared = next((index for index, (one, other) in pairs if one != other), 0)
    for value, text in zip(values, texts, strict=True):
        if len({*texts}) == 1:  # such as 0.1 and Decimal("0.1")
            yield f"{shortened(text)} ({type(value).__name__})"
        else:
            yield shortened(f"...{text[shared - _SHARED :]}" if shared > _LONG else text)


def _text(value: Any) -> str:
    if value is _NOTHING:
        return "missing"
    return str(value) if isinstance(value, Decimal) else written(value)


def check_snapshot(snapshot: object) -> None:
    check_takes(snapshot, "snapshot", "lambda: dict(app.statuses)")


async def taken(snapshot: Snapshot, engine: Engine) -> Any:
    """Return a copy of a snapshot's result, because the app may go on changing its dict."""
    value = snapshot()
    if engine.mode == "async" and inspect.isawaitable(value):
        value = await value
    if inspect.iscoroutine(value):
        value.close()  # or Python warns that it was never awaited
        raise TypeError("snapshot: expected a plain function in sync mode (`def`, not `async def`)")
    cause: Exception | None = None
    try:
        kept = copy.deepcopy(value)
        # The app may have changed the value by now, so the copy is compared with a copy of itself.
        unequal = _unequal(kept, copy.deepcopy(kept), "")
        if not unequal:
            return kept
        problem = f"compared by value: {unequal}"
    except Exception as error:
        problem, cause = f"copied: {cited(value)}", error
    raise SnapshotError(
        f"snapshot: expected plain values, such as a sum or a list of tuples, got objects that "
        f"can't be {_ADDRESS.sub('', problem)}"
    ) from cause


def is_of_a_snapshot(error: BaseException) -> bool:
    """Return whether an error is about a snapshot's values, or was raised while it was taken."""
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    return isinstance(error, SnapshotError) or any(f.f_code is taken.__code__ for f in frames)


def _unequal(value: Any, copied: Any, path: str) -> str:
    # The place of a value that never equals its copy, so no two snapshots can agree, or that equals
    # others with other values; empty if there is none. NaN and functions are their own copies, and
    # collections treat the same object as equal.
    for name, one, other in parts(value, copied):
        if place := _unequal(one, other, path + name):
            return place
    items = value if isinstance(value, _HASHED) else [value]
    for item in items:
        if name := _ignored_attribute(item):
            return f"{path or 'snapshot'}: {cited(item)}, which equals others with another {name}"
    is_alone = any(
        item != item or (inspect.isfunction(item) and "<" in item.__qualname__)  # noqa: PLR0124
        for item in items
    )
    return f"{path or 'snapshot'}: {cited(value)}" if is_alone or value != copied else ""


def _ignored_attribute(value: object) -> str:
    # An attribute that doesn't count, if a class's own `==` looks at one attribute at most, or at
    # identifiers alone: two objects of a Django model are equal if their keys are. A phone number,
    # say, may compare its area and its digits, and leave out how it was written.
    if not _has_own_equality(value):
        return ""
    own: dict[str, Any] = getattr(value, "__dict__", {})
    known: dict[str, Any] = {}
    for cls in type(value).__mro__[::-1]:
        known |= vars(cls)
    slots = [name for name, part in known.items() if inspect.ismemberdescriptor(part)]
    counted = [name for name in (*own, *slots) if not _is_ignored(name, value)]
    if len(counted) > 1 and not all(map(_IDENTIFIER.search, counted)):
        return ""
    for name in (*own, *known):
        public, part = _PRIVATE.sub("", name), known.get(name)
        if name in own:
            is_shown = name == public or isinstance(known.get(public), property)
            is_shown = is_shown and not isinstance(part, cached_property)
        else:  # some models keep their values elsewhere, and set them by descriptors
            is_field = inspect.isdatadescriptor(part) and not isinstance(part, property)
            is_shown = is_field and name == public
        if is_shown and _is_ignored(name, value):
            return public
    return ""


def _has_own_equality(value: object) -> bool:
    # What a dataclass or attrs class leaves out by itself was chosen; collections compare items.
    equals = type(value).__eq__
    is_own = inspect.isfunction(equals) and not equals.__code__.co_filename.startswith("<")
    return is_own and not isinstance(value, (AbstractSet, Mapping, Sequence))


def _is_ignored(name: str, value: Any) -> bool:
    own = getattr(value, "__dict__", {})
    twin = copy.copy(value) if name in own else copy.deepcopy(value)
    with suppress(Exception):  # it never changes, or `==` looks at it
        if name in own:
            vars(twin)[name] = _NOTHING
        else:
            setattr(twin, name, _NOTHING)
        return bool(value == twin)
    return False


async def expect_idempotent(
    engine: Engine, snapshot: Snapshot, once_more: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Attempt each accepted event again, and fail if the snapshot changes.

    Args:
        engine: The fake's engine.
        snapshot: The app's state.
        once_more: Makes for a second try what was made for the first: an app that forgets after a
            time changes again only if that time has passed again.
    """
    await engine.performed(engine.settle())
    before = await taken(snapshot, engine)
    attempts = list(engine.outbox.attempts)
    accepted = dict.fromkeys(attempt.event for attempt in attempts if attempt.ok)
    observer = engine.drain.observer
    if not accepted and (observer is None or observer.expects_events):
        raise ChatFakeError(
            "assert_idempotent() has nothing to redeliver: no endpoint has accepted an event. "
            "Connect your app and send something first"
        )
    works_by_itself = _may_work_by_itself(engine)
    changed = ""
    # Background work for an earlier event happens only once, so a second try tells them apart.
    for is_again in (False, True):
        if is_again and once_more is not None:
            await once_more()
            before = await taken(snapshot, engine)
        for event in accepted:
            await _attempt_again(event, engine)
            after = await taken(snapshot, engine)
            if before != after:
                lines = difference(before, after, "before", engine)
                cause = because(f"redelivering {event._name} changed the snapshot", lines)
                changed = changed or named(cause, engine.account.messages)
                works_by_itself = works_by_itself or _may_work_by_itself(engine)
                if is_again or not works_by_itself:
                    raise AssertionError(changed)
            before = after
        if not changed:
            return
    raise ChatFakeError(
        f"assert_idempotent() can't tell: redelivering all events again changed nothing, so the "
        f"app may have made this change in the background, for an earlier event. Wait for it "
        f"first, as in chat_fake.wait_until(lambda: app.is_idle()). {changed}"
    )


async def _attempt_again(event: Event, engine: Engine) -> None:
    attempted = len(engine.outbox.attempts)
    engine.perform(Redeliver(None, event), "redeliver()")
    await engine.performed(engine.settle())
    if not any(attempt.event is event for attempt in list(engine.outbox.attempts)[attempted:]):
        raise ChatFakeError(
            f"assert_idempotent() can't tell: {event._name} was not redelivered. Leave the "
            f"paused() block first, and keep the endpoint connected"
        )


def runs_elsewhere(engine: Engine) -> bool:
    """Return whether an app may run beside the test: in another process, or in a thread."""
    threads = [thread for thread in threading.enumerate() if not thread.name.startswith("chatfake")]
    targets = [endpoint._target for endpoint in engine.outbox.endpoints]
    return len(threads) > 1 or not all(target.in_process for target in targets)


def _may_work_by_itself(engine: Engine) -> bool:
    # Between two attempts, or during the next one: until then, a task that the app has left on the
    # private loop rests.
    has_tasks = any(endpoint._target.on_loop for endpoint in engine.outbox.endpoints)
    return engine.mode == "async" or has_tasks or runs_elsewhere(engine)
