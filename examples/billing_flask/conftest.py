"""Makes the app importable from the project's root, where nothing is installed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config: pytest.Config) -> None:
    """Say what the ini option would: the app knows what it has sent, and reads no text."""
    config.addinivalue_line("chat_fake_mutants_ignore", "other-text")
