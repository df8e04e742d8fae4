"""What an app asks the API over real sockets."""

from __future__ import annotations

import json
from decimal import Decimal

import requests

SECONDS = 60


def balance(fake):
    """What an app sees of the money, digit for digit."""
    response = requests.get(
        f"{fake.base_url}/v2/balance", headers={"X-API-Key": fake.api_key}, timeout=SECONDS
    )
    response.raise_for_status()
    return str(json.loads(response.content, parse_float=Decimal)["amount"])
