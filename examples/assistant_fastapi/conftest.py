"""Makes the app importable from the project's root, where nothing is installed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config: pytest.Config) -> None:
    """Name the false facts that do not concern the app, as ``chat_fake_mutants_ignore`` would."""
    for name in (
        "price-times-ten",  # the assistant does not look at money
        "price-last-digit",  # as above
        "first-delivery-free",  # as above
        "open-session-priced",  # as above
        "other-currency",  # as above
        "deliver-time-off",  # nor at times
        "other-conversation",  # nor at sessions
        "other-text",  # it knows what it has sent
    ):
        config.addinivalue_line("chat_fake_mutants_ignore", name)
