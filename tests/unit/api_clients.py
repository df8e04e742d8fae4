"""Calls the API without a socket."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import NamedTuple

from werkzeug.test import Client

INVALID_KEY_BODY = {"error": {"status": 401, "code": "UNAUTHORIZED", "message": "INVALID_API_KEY"}}


class ApiResponse(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body, parse_float=Decimal)


def call_with_werkzeug(fake, method="GET", path="/v2/balance", key=..., body=None, **headers):
    headers |= _headers(fake, key)
    response = Client(fake.wsgi_app).open(path, method=method, headers=headers, data=body)
    return ApiResponse(response.status_code, _lower(response.headers.items()), response.data)


def send_call(fake, to="+1", body="Hello", **headers):
    """Call the ready-made send endpoint, as an app does."""
    order = {"to": to, "type": "text", "text": {"body": body}}
    order_as_json = json.dumps(order).encode()
    return call_with_werkzeug(fake, "POST", "/v2/messages", body=order_as_json, **headers)


def _headers(fake, key):
    """The header with the key: the fake's own unless another one is given, none if it is None."""
    key = fake.api_key if key is ... else key
    return {} if key is None else {"X-API-Key": key}


def _lower(headers):
    return {name.lower(): value for name, value in headers}
