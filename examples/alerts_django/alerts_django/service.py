"""The messaging service's HTTP API, as far as we use it."""

from __future__ import annotations

import json
from decimal import Decimal
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from django.conf import settings


class ServiceError(Exception):
    """The service could not be asked, or its answer is no use."""


def balance() -> tuple[Decimal, str]:
    """Read the account's balance: an amount and its currency.

    Raises:
        ServiceError: There is none to be had now; the message says why.
    """
    request = Request(
        f"{settings.MESSAGING_URL}/v2/balance", headers={"X-API-Key": settings.MESSAGING_KEY}
    )
    try:
        with urlopen(request, timeout=2) as response:
            answer = json.load(response, parse_float=Decimal)
        return Decimal(answer["amount"]), str(answer["currency"])
    except HTTPError as error:
        with error:
            raise ServiceError(f"the service answered {error.code}") from None
    except OSError as error:
        raise ServiceError(f"no answer ({type(error).__name__})") from None
    except (ArithmeticError, KeyError, TypeError, ValueError):
        raise ServiceError("the answer is not a balance") from None
