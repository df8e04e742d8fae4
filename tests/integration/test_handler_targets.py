"""A function of the test as a target, in every form that Python has for one."""

import functools

import anyio
import pytest

from pytest_chatfake.transport.client.responses import Response
from pytest_chatfake.transport.client.targets import HandlerTarget

from ..unit.both_frameworks import hard_limit  # noqa: F401
from .target_support import EVENT, THREE


@THREE
def test_a_function_gets_the_request_and_returns_the_response(attempt, closing, portal):
    seen = []
    target = closing(HandlerTarget(seen.append, portal=portal))

    assert Response(200) == attempt(target)
    assert seen == [EVENT]


async def responds_201(request):
    await anyio.sleep(0)
    return 201, request.body


class Callable:
    async def __call__(self, request):
        return await responds_201(request)

    async def method(self, request):
        return await responds_201(request)


async def with_more(status, request):
    return status, request.body


@THREE
@pytest.mark.parametrize(
    "function",
    [
        responds_201,
        Callable(),
        Callable().method,
        functools.partial(with_more, 201),
        lambda request: with_more(201, request),
    ],
    ids=["function", "object", "method", "partial", "lambda"],
)
def test_an_async_function_in_any_form_is_awaited(attempt, function, closing, portal):
    target = closing(HandlerTarget(function, portal=portal))

    assert Response(201, EVENT.body) == attempt(target)
