"""Names that a test misspelt: which one was meant.

Attributes are looked up as ever, and only what is not there comes here. The arguments of a call are
checked by Python itself, before anything of ours runs, so that a call costs no more. Since 3.13 it
suggests the nearest one; before that, :func:`suggest` does where the error is shown.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final, TypeVar

from .tracebacks import text_of

_T = TypeVar("_T")

#: The classes of what a test holds, by their names.
_known: dict[str, type] = {}

_UNEXPECTED: Final = r"(\w+)\.(\w+)\(\) got an unexpected keyword argument '(\w+)'"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like another one; None if none is like it."""
    near = get_close_matches(name, names, 1)
    return near[0] if near else None


def meant(word: str, words: Iterable[str]) -> str | None:
    """Return the word that another one is for certain, but for a slip of the fingers.

    That is less than :func:`nearest`: a letter more, less or in the wrong place, the beginning of
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


def hint(name: str, names: Iterable[str]) -> str:
    """Return what an error about an attribute that is not there ends with.

    Args:
        name: The attribute's name.
        names: The names of those that are there.
    """
    if name.startswith("_"):  # libraries ask for such names to see what they have before them
        return ""
    near = nearest(name, (one for one in names if not one.startswith("_")))
    return f". Did you mean: {near!r}?" if near else ""


def known(cls: type[_T]) -> type[_T]:
    """Let :func:`suggest` know a class.

    Its methods are called by its name in Python's own errors, wherever they are written.
    """
    _known[cls.__name__] = cls
    for name, value in vars(cls).items():
        if inspect.isfunction(value):
            value.__qualname__ = f"{cls.__name__}.{name}"
    return cls


def spelt(cls: type[_T]) -> type[_T]:
    """Let the error itself suggest the nearest name, too, for an attribute that is not there.

    Not for what is read thousands of times: each attribute takes some 0.03 microseconds longer.
    Type checkers see nothing of this: to them, a class with ``__getattr__`` has any attribute.
    """
    type.__setattr__(known(cls), "__getattr__", _missing)
    return cls


def _missing(thing: object, name: str) -> object:
    """Refuse an attribute that is not there, as Python does."""
    cls = type(thing)
    if hasattr(cls, name):  # a property or a slot, and its own error is what counts
        return object.__getattribute__(thing, name)
    text = f"{cls.__name__!r} object has no attribute {name!r}"
    # Without the object, or Python would suggest once more.
    raise AttributeError(text + hint(name, dir(thing)), name=name, obj=None)


def _argument_hint(text: str) -> str:
    found = re.fullmatch(_UNEXPECTED, text)
    method = found and getattr(_known.get(found[1]), found[2], None)
    near = found and method and nearest(found[3], inspect.signature(method).parameters)
    return f". Did you mean {near!r}?" if near else ""


def suggest(error: BaseException) -> None:
    """Add the nearest name to Python's error about an attribute or an argument of ours.

    Args:
        error: What a test failed with, whatever it is.
    """
    more = ""
    if isinstance(error, TypeError):
        more = _argument_hint(text_of(error))
    elif isinstance(error, AttributeError) and type(error.obj) in _known.values():
        more = hint(str(error.name), dir(error.obj))
        error.obj = None  # or Python would suggest once more, where it can
    if more:
        error.args = (f"{error}{more}",)
