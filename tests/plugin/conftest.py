"""Runs inside a test take modules that they import with them, so whatever is imported late is here.

Otherwise each run would import it anew, and a class that the package keeps from one run would be
another one than that of the next.
"""

import pkgutil
from importlib import import_module

import flask  # noqa: F401
import freezegun  # noqa: F401
import hypothesis  # noqa: F401 - its plugin imports it at the end of every run
import requests  # noqa: F401
import sqlalchemy.dialects.sqlite.aiosqlite
import sqlalchemy.orm  # noqa: F401

import pytest_chatfake

for module in pkgutil.walk_packages(pytest_chatfake.__path__, "pytest_chatfake."):
    import_module(module.name)
