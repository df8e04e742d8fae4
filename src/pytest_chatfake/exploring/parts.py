"""Parts of explorations: jobs of a CI that share the worlds among them."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple

from ..base.arguments import check_str, unexpected


class Part(NamedTuple):
    """One of several parts of an exploration; as it stands: the whole.

    Attributes:
        number: Which, counted from 1.
        total: How many there are.
    """

    number: int = 1
    total: int = 1

    def __str__(self) -> str:
        """Begin a text about it; the whole needs no beginning."""
        return "" if self.total == 1 else f"part {self.number} of {self.total}: "

    def has(self, world: object) -> bool:
        """Return whether a world belongs to it, by what identifies the world in every process."""
        # hash() of a text is another one in each process.
        digest = sha256(repr(world).encode()).digest()
        return int.from_bytes(digest) % self.total == self.number - 1


def parse_part(text: str | None, what: str) -> Part:
    """Return the part that a text such as ``"2/5"`` names; None: the whole."""
    if text is None:
        return Part()
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", check_str(text, what))
    part = Part(*map(int, match.groups())) if match else Part(0)
    if not 1 <= part.number <= part.total:
        raise ValueError(unexpected(what, "K/N such as 2/5, the second part of five", text))
    return part
