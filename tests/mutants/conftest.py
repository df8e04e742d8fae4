"""What the tests of the core have: a fake, and whatever runs inside a test would import late."""

from ..plugin import conftest  # noqa: F401
from ..unit.conftest import fake, receiver  # noqa: F401
