"""The door to Hypothesis, for what is imported only by those who have it."""

from __future__ import annotations

try:
    from hypothesis import stateful
    from hypothesis import strategies as st
except ImportError as _missing:
    raise ImportError(
        "this needs Hypothesis: pip install 'pytest-chatfake[hypothesis]', or hypothesis itself"
    ) from _missing

__all__ = ["st", "stateful"]
