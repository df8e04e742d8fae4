"""The header in which requests carry the account's key: ``ChatFakeConfig(api_key_header=)``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from ..base.arguments import check_function
from ..base.errors import ChatFakeError
from ..transport.client.headers import check_header

if TYPE_CHECKING:
    from werkzeug.datastructures import Headers

#: Takes a request's headers, and returns the key, or None if they have none.
KeyFunction: TypeAlias = "Callable[[Headers], str | None]"

_KEY: Final = "{api_key}"
_EXAMPLES: Final = "'X-API-Key: {api_key}' or 'Authorization: Bearer {api_key}'"


class KeyHeader:
    """Finds the key in requests.

    Args:
        given: A header with ``{api_key}`` in its value, or a function of the request's headers.

    Attributes:
        shown: The header's name in reports.
    """

    def __init__(self, given: str | KeyFunction) -> None:
        self._find: re.Pattern[str] | KeyFunction
        self._value = ""
        self.shown: str = "API key"
        if not isinstance(given, str):
            check_function(given, "api_key_header", f"{_EXAMPLES}, a text", "the request's headers")
            self._find = given
            return
        self.shown, _, value = given.partition(":")
        self._value = value.strip()
        is_ascii = re.fullmatch("[ -~]*", self._value)
        if self._value.count(_KEY) != 1 or not is_ascii:  # not cited, because it may have the key
            raise ValueError(
                f"api_key_header: expected a header with {_KEY} once in its ASCII value, as in "
                f"{_EXAMPLES}"
            )
        check_header(self.shown, "the name in api_key_header")
        pattern = re.escape(self._value).replace(re.escape(_KEY), "(.*)")
        self._find = re.compile(pattern, re.IGNORECASE)

    def key_in(self, headers: Headers) -> str:
        """Return the key in a request's headers; empty without a key."""
        if isinstance(self._find, re.Pattern):
            match = self._find.fullmatch(headers.get(self.shown, ""))
            found: object = match and match[1]
        else:
            found = self._find(headers)
        if not isinstance(found, str | None):  # not cited, because it may be the key
            expected = "what the api_key_header= function returned: expected a str or None"
            raise TypeError(f"{expected}, got {type(found).__name__}")
        return (found or "").strip(" \t")

    def headers(self, key: str) -> dict[str, str]:
        """Return the header that carries a key; raise an error if a function would find it."""
        if not self._value:
            raise ChatFakeError(
                "chat_fake.headers: api_key_header= is a function, so only your client knows the "
                "header. Write it yourself, with chat_fake.api_key in it"
            )
        return {self.shown: self._value.replace(_KEY, key)}


def hint_about(headers: Headers, key: str) -> str:
    """Say which header has the key, alone or after a scheme; empty: none has."""
    for name, value in headers.items():
        written = value.replace(key, _KEY)
        if re.fullmatch(rf"([\w-]+ )?{re.escape(_KEY)}", written):
            return (
                f' (write @pytest.mark.chat_fake(api_key_header="{name}: {written}") above the '
                f"test or class, because the key came in that header)"
            )
    return ""
