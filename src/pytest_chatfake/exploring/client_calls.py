"""The functions of HTTP clients that show where an app calls the API.

They run in the app's thread or task, so an app can crash there before a call takes effect, or after
it and before the app learns of it. Each one belongs to its library's public face, except aiohttp's,
which has no public one. A client that isn't listed is called nowhere that can be seen.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from types import FunctionType
from typing import Final

from .named_functions import find_function

#: Where a call has not begun, and where its response has arrived.
POINTS: Final = frozenset(
    {
        # Of the standard library, and so of urllib3, requests and most SDKs.
        ("before", "http.client.HTTPConnection.putrequest"),
        ("after", "http.client.HTTPConnection.getresponse"),
        *(
            (kind, f"{library}.{name}")
            for library in ("httpx", "httpx2")
            for name in ("HTTPTransport.handle_request", "AsyncHTTPTransport.handle_async_request")
            for kind in ("before", "after")
        ),
        ("before", "aiohttp.client.ClientSession._request"),
        ("after", "aiohttp.client.ClientSession._request"),
    }
)

_NAMES: Final = frozenset(name for _, name in POINTS)


def client_calls() -> dict[FunctionType, str]:
    """Return the functions of the clients that are imported, with their dotted names."""
    found: dict[FunctionType, str] = {}
    for name in sorted(_NAMES):
        if name.partition(".")[0] in sys.modules:
            with suppress(TypeError, ValueError):  # another tool has replaced it
                found[find_function(name, "client")[1]] = name
    return found


def is_client_call(name: str) -> bool:
    return name in _NAMES


def short_name(function: FunctionType, name: str) -> str:
    """Return a function's name in sentences, given its dotted one."""
    if name in _NAMES:
        return "the API call"
    return function.__qualname__.rpartition("<locals>.")[2]
