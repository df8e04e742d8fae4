"""The unit tests' fake; and, as in ``tests/plugin``, runs in a test find all modules imported."""

import pytest

from ..plugin import conftest  # noqa: F401
from ..unit.conftest import fake  # noqa: F401


@pytest.fixture
def run(pytester, monkeypatch, request):
    """Runs classes below the ``MODULE`` of the test's own module, and returns the result."""
    monkeypatch.setenv("COLUMNS", "400")

    def run_classes(classes, *arguments):
        pytester.makepyfile(request.module.MODULE + classes)
        return pytester.runpytest("-p", "no:inline_snapshot", *arguments)

    return run_classes
