"""Whether a function takes so many arguments is told as `inspect` tells it, whatever it is."""

# Asserts read `expected == actual`.

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock, create_autospec

import pytest

from pytest_chatfake.base.arguments import takes


class App:
    def __call__(self, environ: object, start_response: object) -> None: ...

    def method(self, request: object) -> None: ...

    @classmethod
    def made(cls, request: object) -> None: ...

    @staticmethod
    def plain(request: object, again: object = None) -> None: ...


class Starred:
    def __call__(self, *arguments: object) -> None: ...


class Static:
    __call__ = staticmethod(lambda one: None)


def wrapping_app() -> App:
    app = App()
    functools.update_wrapper(app, lambda one, two, three: None)
    return app


class Slotted:
    __slots__ = ()

    def __call__(self, one: object, *, name: object) -> None: ...


def passed_on(function: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(function)
    def wrapper(*arguments: object) -> object:
        return function(*arguments)

    return wrapper


def told_otherwise() -> Callable[..., object]:
    def function(one: object) -> None: ...

    function.__signature__ = inspect.signature(lambda one, two: None)  # type: ignore[attr-defined]
    return function


def told_otherwise_by_the_app() -> App:
    app: Any = App()
    app.__signature__ = inspect.signature(lambda one: None)
    return app  # type: ignore[no-any-return]


FUNCTIONS: dict[str, Any] = {
    "a function of none": lambda: None,
    "a function of one": lambda one: None,
    "a function of two": lambda one, two: None,
    "a function with a default": lambda one, two=None: None,
    "a function of defaults": lambda one=None, two=None: None,
    "a positional function": eval("lambda one, /, two: None"),
    "a starred function": lambda one, *more: None,
    "a function of keywords": lambda one, **more: None,
    "a function with a keyword": eval("lambda one, *, name: None"),
    "a function with an optional keyword": eval("lambda one, *, name=None: None"),
    "an app": App(),
    "an app's class": App,
    "a starred app": Starred(),
    "an app of a static method": Static(),
    "an app that wraps another": wrapping_app(),
    "an app with a keyword": Slotted(),
    "a method": App().method,
    "a class method": App.made,
    "a static method": App.plain,
    "a wrapped function": passed_on(lambda one: None),
    "a partial": functools.partial(lambda one, two: None, 1),
    "a mock": MagicMock(),
    "a mock of a function": create_autospec(lambda one, two: None),
    "a function that says otherwise": told_otherwise(),
    "an app that says otherwise": told_otherwise_by_the_app(),
    "a function of C": len,
    "a class of C": dict,
}


@pytest.mark.parametrize("given", range(5))
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_a_function_takes_is_told_as_inspect_tells_it(
    function: Callable[..., object], given: int
) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:
        assert takes(function, *range(given))
        return
    try:
        signature.bind(*range(given))
    except TypeError:
        assert not takes(function, *range(given))
    else:
        assert takes(function, *range(given))
