"""Misspelt names, and the nearest known ones."""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType
from typing import Final

from .tracebacks import text_of

_PACKAGE: Final = __name__.partition(".")[0]

_UNEXPECTED: Final = r"(\w+)\.(\w+)\(\) got an unexpected keyword argument '(\w+)'"

#: What others call our arguments.
_SYNONYMS: Final = {"recipient": "to", "phone": "to", "text": "body", "message": "body"}

#: Properties of the fake that look like methods, by the type of what they return.
_PROPERTIES: Final = {"datetime.datetime": "now", "Balance": "balance"}


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar name; None if no name is similar."""
    near = get_close_matches(name, names, 1)
    return near[0] if near else None


def meant(word: str, words: Iterable[str]) -> str | None:
    """Return the word of which another one is certainly a misspelling.

    It is stricter than :func:`nearest`: a letter more, less or in the wrong place, the beginning of
    the word, or capitals. ``seen`` is not ``sent``.
    """
    if word in words:
        return None
    for one in words:
        lower = word.lower()
        is_begun = len(lower) > 2 and one.startswith(lower)
        if is_begun or sorted(lower) == sorted(one) or get_close_matches(lower, [one], 1, 0.85):
            return one
    return None


def suggest(error: BaseException) -> None:
    """Add the nearest name to Python's error about an attribute or an argument of ours.

    Python suggests by itself in its own tracebacks, but not in a report of pytest, and an argument
    only since 3.13.
    """
    more = None
    if isinstance(error, TypeError):
        more = _argument_hint(text_of(error)) or _call_hint(error)
    elif isinstance(error, AttributeError) and _is_ours(error.obj):
        public = (name for name in dir(error.obj) if not name.startswith("_"))
        near = nearest(str(error.name), public)
        more = near and f". Did you mean: {near!r}?"
        error.obj = None  # or Python would suggest once more, where it can
    if more:
        error.args = (f"{error}{more}",)


def _argument_hint(text: str) -> str | None:
    found = re.fullmatch(_UNEXPECTED, text)
    method = found and getattr(_class_named(found[1]), found[2], None)
    if not (found and method):
        return None
    names = inspect.signature(method).parameters
    synonym = _SYNONYMS.get(found[3])
    near = synonym if synonym in names else nearest(found[3], names)
    return near and f". Did you mean {near!r}?"


def _call_hint(error: TypeError) -> str | None:
    """Say that a property of ours is no method, if the line that failed calls it."""
    found = re.fullmatch(r"'(.+)' object is not callable", text_of(error))
    name = found and _PROPERTIES.get(found[1])
    lines = traceback.extract_tb(error.__traceback__)
    called = name and lines and f".{name}()" in (lines[-1].line or "")
    return f". {name} is a property: write it without ()" if called else None


def _class_named(name: str) -> type | None:
    modules = (module for path, module in sys.modules.items() if _in_package(path))
    found = (vars(module).get(name) for module in modules)
    return next((one for one in found if isinstance(one, type)), None)


def _is_ours(thing: object) -> bool:
    home = thing.__name__ if isinstance(thing, ModuleType) else type(thing).__module__
    return _in_package(home)


def _in_package(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE
