"""The unit tests' fake; and, as in ``tests/plugin``, runs in a test find all modules imported."""

from ..plugin import conftest  # noqa: F401
from ..unit.conftest import fake  # noqa: F401
