"""Identifiers: the same seed gives the same ids, run after run, alone or in parallel."""

from __future__ import annotations

from hashlib import sha256

__all__ = ["Ids", "derived_key"]


class Ids:
    """Writes the identifiers of one account, each from a digest of the seed and a number.

    Args:
        seed: Any text; a test's node id, for example.
        id_prefix: What the platform's message ids begin with (§2.3).
    """

    __slots__ = ("_conversation", "_event", "_message", "_original")

    def __init__(self, seed: str, id_prefix: str) -> None:
        digest = sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()
        self._message = digest[:16] + "%08x"
        self._original = id_prefix.replace("%", "%%") + digest[16:32].upper() + "%08X"
        self._event = "evt_" + digest[32:48] + "%08x"
        self._conversation = digest[40:64] + "%08x"

    def message(self, number: int) -> str:
        """Return the service's id of the account's message of that number (§2.3)."""
        return self._message % number

    def number(self, message_id: str) -> int:
        """Return the number in a message's id; 0 if it is none of this account's."""
        return _number(message_id, self._message)

    def original(self, number: int) -> str:
        """Return the platform's id of the message (§2.3)."""
        return self._original % number

    def event(self, number: int) -> str:
        """Return the id of the event of that number, ``evt_<id>`` (§2.2)."""
        return self._event % number

    def conversation(self, number: int) -> str:
        """Return the id of the conversation of that number, a hex string (§2.4)."""
        return self._conversation % number

    def conversation_number(self, conversation_id: str) -> int:
        """Return the number in a conversation's id; 0 if that id was given by somebody else."""
        return _number(conversation_id, self._conversation)


def _number(id_: str, template: str) -> int:
    try:
        number = int(id_[-8:], 16)
    except ValueError:
        return 0
    return number if id_ == template % number else 0


def derived_key(seed: str) -> str:
    """Return an API key that belongs to ``seed`` alone."""
    return "key_" + sha256(b"api-key:" + seed.encode("utf-8", "surrogatepass")).hexdigest()[:32]
