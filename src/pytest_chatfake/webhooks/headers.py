"""The headers of an attempt, complete and checked, the same for every kind of target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["complete_headers"]

# RFC 9110: a name is a token, and a value never ends its line.
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[^\x00\r\n]*")


def complete_headers(
    headers: Mapping[str, str], *, host: str, length: int
) -> list[tuple[str, str]]:
    """Return the headers to send: ``Host``, the given ones, ``Content-Length``, and no others.

    Args:
        headers: The attempt's headers. A ``Host`` among them, in any case, takes our place.
        host: The value of ``Host`` otherwise.
        length: The body's length in bytes.

    Raises:
        TypeError: A name or a value is not a ``str``.
        ValueError: HTTP does not allow a name or a value, or it says how long the body is.
    """
    complete = [("Host", host)]
    for name, value in headers.items():
        lower = _checked_name(name, value)
        if lower == "host":
            complete[0] = (name, value)
        elif lower in ("content-length", "transfer-encoding"):
            raise ValueError(f"leave {name} out of the headers: it is set from the body")
        else:
            complete.append((name, value))
    complete.append(("Content-Length", str(length)))
    return complete


def _checked_name(name: object, value: object) -> str:
    """Return the name in lower case, if HTTP allows the header."""
    if not isinstance(name, str) or not isinstance(value, str):
        raise TypeError(f"a header is a pair of str, not {name!r}: {value!r}")
    if not _NAME.fullmatch(name):
        raise ValueError(f"HTTP does not allow {name!r} as the name of a header")
    if not _VALUE.fullmatch(value):
        raise ValueError(f"the header {name} has a line break or a NUL in its value: {value!r}")
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        raise ValueError(
            f"the header {name} has letters that HTTP can't carry: {value!r}; encode them,"
            " with urllib.parse.quote() for example"
        ) from None
    return name.lower()
