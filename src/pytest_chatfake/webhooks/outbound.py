"""``outbound=``: the test's function gives status events another form (assumed)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from ..base.arguments import check_bytes, unexpected
from ..wire.exact_json import encode
from .core import Core

_WHAT = "what the outbound= function returned"


class Outbound:
    """Asks ``ChatFakeConfig(outbound=)`` what to post instead of the service's own bodies.

    The function is called once for each body, so all attempts to post an event have the same bytes.
    """

    def __init__(self, core: Core[Any], function: Callable[[Any], object]) -> None:
        self._core = core
        self._function = function
        self._posted: dict[bytes, bytes | None] = {}

    def posted(self, body: bytes) -> bytes | None:
        """Return the body to post in place of the service's; None: nothing is posted."""
        if body not in self._posted:  # if two threads call it at once, the first result counts
            self._posted.setdefault(body, self._ask(body))
        return self._posted[body]

    def posts(self, body: bytes) -> bool:
        """Return whether this body, of an event that was emitted, is posted at all."""
        return self._posted.get(body, b"") is not None

    def prepare(self, body: bytes, title: str) -> bool:
        """Shape a body that is about to be emitted, with the lock released.

        Args:
            body: The service's own body.
            title: The name of its event in an error.

        Returns:
            False if the result was known already.
        """
        if body in self._posted:
            return False
        call = partial(self.posted, body)
        try:
            self._core.call_back("the outbound= function", "a body", call)
        except Exception as error:
            error.add_note(f"raised while outbound= wrote the body of {title}")
            raise
        return True

    def _ask(self, body: bytes) -> bytes | None:
        found = self._function(json.loads(body, parse_float=Decimal))
        return None if found is None else body_of(found, _WHAT, " or None")


def body_of(found: object, what: str, more: str = "") -> bytes:
    """Return a mapping or a list as JSON, and a string or bytes as they are."""
    if isinstance(found, Mapping | list):
        return encode({**found} if isinstance(found, Mapping) else found).encode()
    if not isinstance(found, (str, bytes)):
        raise TypeError(unexpected(what, f"a mapping, a list, a str or bytes{more}", found))
    return check_bytes(found, what)
