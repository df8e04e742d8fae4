"""As in ``tests/plugin``, runs inside a test find all modules imported."""

from ..plugin import conftest  # noqa: F401
