"""Recorded events, attempted again: a method of webhooks, as a function of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from operator import add
from os import PathLike
from typing import Any, Final, Literal, Protocol, cast

from ..base.arguments import check_choice, cited
from ..domain.facts import Verb
from ..engine.engine import Engine
from ..engine.performer import PendingPlan
from ..webhooks.events import OtherEvent
from ..wire.naming import Naming

_TIMINGS: Final = ("recorded", "at once")


class Replaying(Protocol):
    """The webhooks that attempt them."""

    _engine: Engine


def replay(
    webhooks: Replaying,
    path: str | PathLike[str],
    *,
    timing: Literal["recorded", "at once"] = "recorded",
) -> PendingPlan:
    """Attempt recorded events at the endpoints, in the order of the file, byte for byte (assumed).

    They are signed afresh, and belong to no message of this fake: they cost nothing. Those that
    tell of a message have the status that was recorded.

    Args:
        path: A file of JSON or JSON lines: bodies as they were received, or objects with ``body``
            and ``at``, the moment when it was.
        timing: ``"recorded"``: the first now, and before each other the clock is moved by as much
            as lay between them, by ``at``, else by the event's ``createTime``. What came before
            the one above it comes at once. ``"at once"``: time stands.

    Returns:
        Something to ``await`` in async mode.

    Raises:
        TypeError: The path is none.
        ValueError: ``timing`` is none of the two, or an entry is not JSON, or no event: the file
            and the line are named, and nothing was attempted.
        OSError: The file can't be read.
    """
    check_choice(timing, "timing", _TIMINGS)
    if not isinstance(path, (str, PathLike)):
        raise TypeError(f"replay() takes the path of a file, not {cited(path)}")
    try:
        os.fsencode(path)
        named = "\0" not in str(path)
    except UnicodeEncodeError:
        named = False
    if not named:
        raise ValueError(f"replay() takes the path of a file, and {cited(path)} can't be one")
    engine = webhooks._engine
    engine.refuse_closed()
    events: list[tuple[OtherEvent, int | None]] = []
    from ..wire.recordings import recorded

    for entry in recorded(path):
        kind = None if entry.problem else entry.json.get("type")
        if not (isinstance(kind, str) and kind):
            problem = entry.problem or "has no type, so no endpoint listens for it"
            raise ValueError(f"{entry.where} {problem}")
        id_ = entry.json.get("id")
        given = id_ if isinstance(id_, str) and id_ else None
        told = _told(entry.json, engine.settings.naming)
        events.append((OtherEvent(kind, given, "", "", entry.body, *told), entry.at))
    latest: int | None = None
    for event, at in events:
        if at is not None and timing == "recorded":
            if latest is not None and at > latest:
                engine.move_time(partial(add, at - latest), "replay()")
            latest = max(at, latest or at)
        engine.perform(Verb("emit_event", None, (event,)), "replay()")
    return PendingPlan(engine.performer)


def _told(event: Mapping[str, Any], naming: Naming) -> tuple[str, str]:
    """Return the status that a recorded event tells, and the id of the message it tells it of."""
    resource: object = event.get(naming.message_key)
    if event["type"] != naming.event_type or not isinstance(resource, dict):
        return "", ""
    fields = cast("dict[str, object]", resource)
    status, id_ = fields.get("status"), fields.get("id")
    if not isinstance(status, str):
        return "", ""
    return status, id_ if isinstance(id_, str) else ""
