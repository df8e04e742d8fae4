"""The hook that plugins may implement to run a test with explorations again."""

from __future__ import annotations

import pytest


@pytest.hookspec(firstresult=True)
def pytest_chatfake_repeat(item: pytest.Item) -> bool | None:
    """Say that a test runs again, so that its explorations have the results of its first run.

    The hook is called while ``chat_explore`` is set up.

    Args:
        item: The test.

    Returns:
        True to explore again; False to run only the world that failed or, if none did, the body as
        written; None if the test doesn't run again.
    """
