"""Identifiers: the same seed gives the same ids, run after run, alone or in parallel."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final, NamedTuple


class Ids(NamedTuple):
    """Templates of the identifiers of one account: ``ids.message % number`` is one.

    Attributes:
        message: The service's id of the message of that number (§2.3).
        original: The platform's id of that message (§2.3).
        inbound: The id of the message of that number that a person has written (assumed).
        event: The id of the event of that number, ``evt_<id>`` (§2.2).
        other_event: The id of the event of another type of that number.
        conversation: The id of the conversation of that number, a hex string (§2.4).
    """

    message: str
    original: str
    inbound: str
    event: str
    other_event: str
    conversation: str


def ids_of(seed: str, id_prefix: str) -> Ids:
    """Return the templates that belong to a seed.

    Args:
        seed: Any text; a test's node id, for example.
        id_prefix: What the platform's message ids begin with (§2.3).
    """
    digest = sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()
    return Ids(
        message=digest[:16] + "%08x",
        original=id_prefix.replace("%", "%%") + digest[16:32].upper() + "%08X",
        inbound=digest[8:24] + "%08x",
        event="evt_" + digest[32:48] + "%08x",
        other_event="evt_" + digest[8:16] + digest[48:56] + "%08x",
        conversation=digest[40:64] + "%08x",
    )


def other_id(id_: str) -> str:
    """Return another id of the same length, prefix and alphabet."""
    return _LAST_PART.sub(lambda part: part[0].translate(_OTHER), id_)


#: The part in which ids differ: all after the prefix, and in a UUID the last group.
_LAST_PART: Final = re.compile(r"[^_-]+$")

#: Each digit, decimal or hexadecimal, and another digit.
_OTHER: Final = str.maketrans("0123456789abcdefABCDEF", "9876543210fedcbaFEDCBA")


def derived_key(seed: str) -> str:
    """Return an API key that belongs to ``seed`` alone."""
    return "key_" + sha256(b"api-key:" + seed.encode("utf-8", "surrogatepass")).hexdigest()[:32]
