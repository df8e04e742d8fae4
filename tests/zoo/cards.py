"""What the cards of ready-made tests say after a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def cards_of(result: pytest.RunResult) -> dict[str, dict[str, set[str]]]:
    """The rows of each class's card by how they ended: "ok", "FAILED" or "skipped"."""
    names_and_cards = re.split(r"^=+ \S+::(\w+) =+$", result.stdout.str(), flags=re.MULTILINE)[1:]
    cards = {}
    for name, card in zip(names_and_cards[::2], names_and_cards[1::2], strict=True):
        cards[name] = rows = {"ok": set[str](), "FAILED": set[str](), "skipped": set[str]()}
        for outcome, row in re.findall(r"^(ok|FAILED|skipped) +(\w+)(?::|$)", card, re.MULTILINE):
            rows[outcome].add(row)
    return cards
