"""The door to Hypothesis, for what is imported only by those who have it."""

from __future__ import annotations

try:
    from hypothesis import stateful
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "this needs Hypothesis: pip install 'pytest-chatfake[hypothesis]', or hypothesis itself"
    ) from error

__all__ = ["st", "stateful"]
