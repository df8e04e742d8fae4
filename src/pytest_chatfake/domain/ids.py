"""Identifiers: the same seed gives the same ids in every run, alone or in parallel."""

from __future__ import annotations

import re
from hashlib import sha256
from string import ascii_letters
from typing import NamedTuple


class Ids(NamedTuple):
    """Templates of one account's identifiers: ``ids.message % 3`` is message 3's.

    Attributes:
        message: The service's id of a message (§2.3).
        original: The platform's id of the same message (§2.3).
        inbound: The id of a message that a person wrote (assumed).
        event: The id of an event about a message, ``evt_<id>`` (§2.2).
        other_event: The id of an event of another type.
        conversation: The id of a conversation, a hex string (§2.4).
    """

    message: str
    original: str
    inbound: str
    event: str
    other_event: str
    conversation: str


def ids_of(seed: str, id_prefix: str) -> Ids:
    """Derive the templates from a seed.

    Args:
        seed: Any text, such as a test's node id.
        id_prefix: The prefix of the platform's message ids (§2.3).
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
    """Return a different id that looks alike, usually with the same length, prefix and alphabet."""
    other = _LAST_PART.sub(lambda part: part[0].translate(_OTHER_WORDS | _OTHER), id_)
    return f"{id_}2" if other == id_ else other


#: The part that differs between ids: everything after the prefix, or a UUID's last group.
_LAST_PART = re.compile(r"[^_-]+$")


def lookalike(text: str) -> str:
    """Return a different text of the same length and alphabet, such as a wrong signature."""
    return text.translate(_OTHER_LETTERS | _OTHER)


#: Maps each digit, decimal or hexadecimal, to another one.
_OTHER = str.maketrans("0123456789abcdefABCDEF", "9876543210fedcbaFEDCBA")

#: Maps each letter to another one of its case.
_OTHER_WORDS = str.maketrans(ascii_letters, ascii_letters[::-1].swapcase())

#: Maps each letter to the other case.
_OTHER_LETTERS = str.maketrans(ascii_letters, ascii_letters.swapcase())


def derived_key(seed: str) -> str:
    """Derive an API key from a seed; every seed has a different key."""
    return "key_" + sha256(b"api-key:" + seed.encode("utf-8", "surrogatepass")).hexdigest()[:32]
