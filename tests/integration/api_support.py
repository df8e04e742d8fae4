"""What asks the API over real sockets, and does not hang."""

from __future__ import annotations

import http.client
import json
import threading
from decimal import Decimal
from urllib.parse import urlsplit

import requests

SECONDS = 60


def in_time(function):
    """Run the function in a thread, and fail instead of hanging."""
    outcome = []

    def run():
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert outcome, f"nothing came of it within {SECONDS} s"
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def ask(fake, method="GET", path="/v2/balance", **headers):
    address = urlsplit(fake.base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=SECONDS)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def balance(fake):
    """What an app sees of the money, digit for digit."""
    answer = requests.get(
        f"{fake.base_url}/v2/balance", headers={"X-API-Key": fake.api_key}, timeout=SECONDS
    )
    answer.raise_for_status()
    return str(json.loads(answer.content, parse_float=Decimal)["amount"])
