"""What an app asks the API over real sockets."""

from __future__ import annotations

import json
from decimal import Decimal

import requests

SECONDS = 60


def balance(fake):
    """What an app sees of the money, digit for digit."""
    answer = requests.get(
        f"{fake.base_url}/v2/balance", headers={"X-API-Key": fake.api_key}, timeout=SECONDS
    )
    answer.raise_for_status()
    return str(json.loads(answer.content, parse_float=Decimal)["amount"])
