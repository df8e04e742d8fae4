"""Two ways to ask the API without a socket: werkzeug's client, and httpx over a WSGI transport."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import pytest
from werkzeug.test import Client

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake

INVALID_KEY = {"error": {"status": 401, "code": "UNAUTHORIZED", "message": "INVALID_API_KEY"}}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body, parse_float=Decimal)


Ask = Callable[..., Answer]


def by_werkzeug(
    fake: ChatFake, method: str, path: str, headers: dict[str, str], body: bytes | None = None
) -> Answer:
    answer = Client(fake.wsgi_app).open(path, method=method, headers=headers, data=body)
    return Answer(answer.status_code, _lower(answer.headers.items()), answer.data)


def by_httpx(
    fake: ChatFake, method: str, path: str, headers: dict[str, str], body: bytes | None = None
) -> Answer:
    transport = httpx.WSGITransport(app=fake.wsgi_app)
    raw = [(name, value.encode("latin-1")) for name, value in headers.items()]
    with httpx.Client(transport=transport, base_url="http://testserver") as client:
        answer = client.request(method, path, headers=raw, content=body)
    return Answer(answer.status_code, _lower(answer.headers.items()), answer.content)


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


def _ask(
    way: Callable[..., Answer],
    fake: ChatFake,
    method: str = "GET",
    path: str = "/v2/balance",
    key: Any = ...,
    **more: Any,
) -> Answer:
    key = fake.api_key if key is ... else key
    headers = {} if key is None else {"X-API-Key": key}
    return way(fake, method, path, headers, **more)


by_one_way = partial(_ask, by_werkzeug)
BOTH_WAYS = pytest.mark.parametrize(
    "ask", [partial(_ask, by_werkzeug), partial(_ask, by_httpx)], ids=["werkzeug", "httpx"]
)
