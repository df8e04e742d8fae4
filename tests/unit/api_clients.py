"""Calls the API without a socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from werkzeug.test import Client

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake

INVALID_KEY_BODY = {"error": {"status": 401, "code": "UNAUTHORIZED", "message": "INVALID_API_KEY"}}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body, parse_float=Decimal)


CallApi = Callable[..., Answer]


def call_with_werkzeug(
    fake: ChatFake,
    method: str = "GET",
    path: str = "/v2/balance",
    key: Any = ...,
    body: bytes | None = None,
    **headers: str,
) -> Answer:
    headers |= _headers(fake, key)
    answer = Client(fake.wsgi_app).open(path, method=method, headers=headers, data=body)
    return Answer(answer.status_code, _lower(answer.headers.items()), answer.data)


def send_call(fake: ChatFake, to: str | None = "+1", body: str = "Hello", **headers: str) -> Answer:
    """Call the ready-made send endpoint, as an app does."""
    order = {"to": to, "type": "text", "text": {"body": body}}
    order_as_json = json.dumps(order).encode()
    return call_with_werkzeug(fake, "POST", "/v2/messages", body=order_as_json, **headers)


def _headers(fake: ChatFake, key: Any) -> dict[str, str]:
    """The header with the key: the fake's own unless another one is given, none if it is None."""
    key = fake.api_key if key is ... else key
    return {} if key is None else {"X-API-Key": key}


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}
