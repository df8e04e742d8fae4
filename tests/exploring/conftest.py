"""The fixtures of the unit tests, as the tests of this folder use them."""

from ..unit.conftest import fake  # noqa: F401
