"""Extras: folders of the package that may be missing, because nothing else needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import ChatFakeError

_PACKAGE = __name__.partition(".")[0]


def extra(module: str, what: str) -> Any:
    """Import an extra's module.

    Args:
        module: Its name inside the package, such as ``pages.merge``.
        what: What needs the module, for the error.

    Raises:
        ChatFakeError: The extra is not installed.
    """
    folder = f"{_PACKAGE}.{module.partition('.')[0]}"
    try:
        return import_module(f"{_PACKAGE}.{module}")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(folder):
            raise
        raise ChatFakeError(f"{what} needs {folder}, which is not installed") from None
