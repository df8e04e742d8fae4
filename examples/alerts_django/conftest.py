"""Makes the app importable from the project's root, and sets Django up for the whole process.

In a project of your own this file has nothing to do: put ``DJANGO_SETTINGS_MODULE`` under
``[tool.pytest.ini_options]``. Here the same process also runs tests that know nothing of Django,
so the settings are loaded without leaving that variable to the processes which those start.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import pytest
from django.db import connections

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config: pytest.Config) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_SETTINGS_MODULE", "alerts_django.settings")
        django.setup()
    # Tests need no database that outlives a power cut: without waiting for the disk they are fast.
    connections.settings["default"]["OPTIONS"]["init_command"] = "PRAGMA synchronous=OFF"
    for name in (  # of chat_fake_mutants_ignore, in the same way
        "other-error-code",  # the team is mailed the message of the error
        "deliver-time-off",  # not kept
        "other-conversation",  # not kept either
        "other-text",  # as above
    ):
        config.addinivalue_line("chat_fake_mutants_ignore", name)


@pytest.fixture(autouse=True, scope="session")
def no_database_without_the_mark(django_db_blocker: Any) -> Iterator[None]:
    """What pytest-django does by itself, where it knows of Django from the start."""
    with django_db_blocker.block():
        yield
