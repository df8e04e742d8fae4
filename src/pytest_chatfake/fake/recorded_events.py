"""Reads the events of a recording, for ``replay()``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from typing import Any, cast

from ..base.arguments import unexpected, utf8
from ..domain.instants import stamp
from ..engine.due_runner import LAST
from ..webhooks.events import CustomEvent
from ..wire.naming import Naming
from ..wire.recordings import read_recording


def check_file(path: str | PathLike[str]) -> None:
    if not isinstance(path, (str, PathLike)):
        raise TypeError(unexpected("path", "the path of a file", path))
    try:
        os.fsencode(path)
        is_valid = "\0" not in str(path)
    except UnicodeEncodeError:
        is_valid = False
    if not is_valid:
        raise ValueError(unexpected("path", "the path of a file", path))


def recorded_events(
    path: str | PathLike[str], naming: Naming, usual_type: str | None
) -> list[tuple[CustomEvent, int | None]]:
    """Return the events of a file, each with the moment when it was received, if known.

    An event without a type gets ``usual_type``.
    """
    events: list[tuple[CustomEvent, int | None]] = []
    for entry in read_recording(path):
        kind = None if entry.problem else entry.json.get("type", usual_type)
        if not (isinstance(kind, str) and kind):
            problem = entry.problem or "no type, so no endpoint would get it"
            raise ValueError(f"{entry.where}: {problem}")
        id_ = entry.json.get("id")
        given = id_ if isinstance(id_, str) and id_ else None
        for name, text in (("type", kind), ("id", given or "")):
            utf8(text, f"{entry.where}: {name}")
        subject = _status_and_message(entry.json, naming)
        events.append((CustomEvent(kind, given, "", "", entry.body, *subject), entry.at))
    return events


def _status_and_message(event: Mapping[str, Any], naming: Naming) -> tuple[str, str]:
    resource: object = event.get(naming.message_key)
    if event.get("type") != naming.event_type or not isinstance(resource, dict):
        return "", ""
    fields = cast("dict[str, object]", resource)
    status, id_ = fields.get("status"), fields.get("id")
    if not isinstance(status, str):
        return "", ""
    return status, id_ if isinstance(id_, str) else ""


def check_span(events: list[tuple[CustomEvent, int | None]], now: int) -> None:
    moments = [at for _, at in events if at is not None]
    if moments and now + max(moments) - moments[0] > LAST:
        raise ValueError(
            f"timing: the recording would go past {stamp(LAST)}, where the calendar ends. Use "
            f"timing='at once'."
        )
