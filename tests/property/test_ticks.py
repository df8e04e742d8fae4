"""One script with a tick and without: only the times that events show are different."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

from .scripts import micros, play_scripts
from .test_modes_agree import Run, pieces

TICK = timedelta(seconds=7)

#: Texts end with the millisecond.
CUT_OFF = timedelta(milliseconds=1)

#: The time in a message of its own event, by the event's status.
OWN_TIME = {"sent": "sendTime", "delivered": "deliverTime", "read": "readTime"}


def without_times(story):
    bodies = ("bodies", "attempted")
    texts = {key: [re.sub(rb'Time":"[^"]+"', b"", body) for body in story[key]] for key in bodies}
    return story | texts


def times(resource):
    """The times in an event, or in its message."""
    return {key: datetime.fromisoformat(value) for key, value in resource.items() if "Time" in key}


def check_times(events, session, paths):
    for before, after in pairwise(events):
        gap = times(after)["createTime"] - times(before)["createTime"]
        one, other = (event.get("chatMessage", {}) for event in (before, after))
        is_another_device = one.get("id") == other.get("id") and other.get("status") == "delivered"
        assert gap >= TICK or (is_another_device and not gap)
        paths["a tick apart"] += gap == TICK

    known, expiry = {}, {}
    for event in events:
        message = event.get("chatMessage", {})
        if message.get("status") not in OWN_TIME:
            continue
        shown = times(message)
        is_known = (own := OWN_TIME[message["status"]]) in known.setdefault(message["id"], {})
        assert is_known or shown[own] == times(event)["createTime"]
        assert known[message["id"]].items() <= shown.items()
        known[message["id"]] = shown
        conversation = message["conversation"]
        end = times(conversation)["expireTime"]
        if message["status"] == "sent":
            expected = expiry.get(conversation["id"], shown["sendTime"] + session)
        else:
            expected = expiry.setdefault(conversation["id"], shown["deliverTime"] + session)
            paths["times of expiry"] += 1
        assert abs(expected - end) <= CUT_OFF


def test_a_tick_changes_the_times_in_events_and_nothing_else(record_property):
    paths = Counter()

    def play(script):
        cut, ids = pieces(script), {}
        plain, ticking = (
            Run(script, "sync", reacts=True, tick=tick).run_sync(cut, ids) for tick in (None, TICK)
        )

        assert without_times(plain) == without_times(ticking)
        session = timedelta(microseconds=micros(script.config.conversation_length))
        check_times([json.loads(body) for body in ticking["bodies"]], session, paths)
        paths["charges"] += sum(kind == "charge" for kind, *_ in ticking["ledger"])

    play_scripts(30, play)

    record_property("chatfake paths", dict(paths))
    assert len(+paths) == 3
