"""Makes the app importable from the project's root, where nothing is installed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config: pytest.Config) -> None:
    """Name the false facts that do not concern the app, as ``chat_fake_mutants_ignore`` would."""
    for name in (
        "other-error-code",  # the team is shown the message of the error
        "deliver-time-off",  # shown to nobody
        "other-conversation",  # the app looks at its end, and not at its id
    ):
        config.addinivalue_line("chat_fake_mutants_ignore", name)
