"""Checks and completes an attempt's headers, for every kind of target."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from ...base.arguments import check_str, cited, unexpected
from ...base.redaction import is_secret_header, tail

#: Names and values, in order. A tuple, because targets use it as a cache key.
Headers: TypeAlias = "tuple[tuple[str, str], ...]"

# RFC 9110: a name is a token, and a value contains no line break. Both are sent as Latin-1.
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x01-\x09\x0b\x0c\x0e-\xff]*")


def check_header(header: object, what: str) -> str:
    """Return a header's name; raise a TypeError or ValueError if HTTP does not allow the header."""
    name = check_str(header, what)
    if not _NAME.fullmatch(name):
        raise ValueError(unexpected(what, "a header's name such as 'X-Signature'", name))
    complete_headers([(name, "")], "")
    return str.__str__(name)  # a plain str, even of a StrEnum


def complete_headers(headers: Iterable[tuple[str, str]], host: str) -> Headers:
    """Return the given headers and ``Host``, which is all headers except ``Content-Length``.

    Args:
        headers: The attempt's headers. A ``Host`` among them replaces ours.
        host: The value of ``Host`` otherwise.

    Raises:
        TypeError: A name or a value is not a string.
        ValueError: HTTP does not allow a name or a value, or a header states the body's length.
    """
    complete = [("Host", host)]
    for name, value in headers:
        _check(name, value)
        if name.lower() == "host":
            complete[0] = (name, value)
        elif name.lower() in ("content-length", "transfer-encoding"):
            raise ValueError(f"headers: omit {name}, which is set from the body")
        else:
            complete.append((name, value))
    return tuple(complete)


def _check(name: object, value: object) -> None:
    if not isinstance(name, str) or not isinstance(value, str):
        raise TypeError(f"headers: expected pairs of str, got {cited(name)} with {cited(value)}")
    if not _NAME.fullmatch(name):
        raise ValueError(f"headers: HTTP does not allow the name {cited(name)}")
    if not _VALUE.fullmatch(value):
        shown = repr(tail(value)) if is_secret_header(name) else cited(value)
        raise ValueError(
            f"headers: HTTP can't carry the value {shown} of {name}. Encode line breaks, NUL and "
            f"letters beyond Latin-1, with urllib.parse.quote() for example."
        )
