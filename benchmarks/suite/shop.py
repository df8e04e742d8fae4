"""The app under test, the same in both suites: a small shop that tells customers of its sales."""

from __future__ import annotations

import json
import time
from datetime import datetime
from decimal import Decimal
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, request


def make_app(base_url: str, api_key: str) -> Flask:
    """Build the app; ``base_url`` is where it believes the messaging service to be."""
    app = Flask("shop")
    app.config.update(BASE_URL=base_url, API_KEY=api_key, STATUSES={}, SPENT={}, EXPIRIES={})

    @app.post("/hooks/chat")
    def receive() -> tuple[str, int]:
        message = json.loads(request.get_data(), parse_float=Decimal)["chatMessage"]
        app.config["STATUSES"].setdefault(message["id"], []).append(message["status"])
        if message["status"] != "sent":
            app.config["SPENT"][message["id"]] = message["totalPrice"]
        conversation = message["conversation"]
        app.config["EXPIRIES"][conversation["id"]] = datetime.fromisoformat(
            conversation["expireTime"]
        )
        return "", 204

    return app


def balance(app: Flask) -> Decimal:
    """Ask the service what is left."""
    base = urlsplit(app.config["BASE_URL"])
    connection = HTTPConnection(str(base.hostname), base.port, timeout=5)
    try:
        connection.request("GET", "/v2/balance", headers={"X-API-Key": app.config["API_KEY"]})
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read(), parse_float=Decimal)
    finally:
        connection.close()
    assert response.status == 200, answer
    return Decimal(answer["amount"])


def is_open(app: Flask, conversation_id: str) -> bool:
    """Whether the shop may still write to the customer."""
    return time.time() < app.config["EXPIRIES"][conversation_id].timestamp()
