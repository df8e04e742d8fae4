"""As in ``tests/plugin``, runs inside a test find all modules imported: those of the apps as well.

Half of SQLAlchemy would stay, and its classes would not be those of the next run.
"""

import fastapi  # noqa: F401

from ..plugin import conftest  # noqa: F401
