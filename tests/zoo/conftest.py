"""Runs inside a test take modules that they import with them: so whatever the apps use is here.

Half of SQLAlchemy would stay, and its classes would not be those of the next run.
"""

import fastapi  # noqa: F401
import flask  # noqa: F401
import sqlalchemy.dialects.sqlite.aiosqlite
import sqlalchemy.ext.asyncio
import sqlalchemy.orm  # noqa: F401
