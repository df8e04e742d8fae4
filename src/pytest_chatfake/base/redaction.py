"""Redaction of texts: keys except their last four characters, and what URLs may have in secret."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Parts of the names of headers whose values are secret.
_HIDDEN_HEADERS = "authorization|cookie|key|secret|token|signature"
_URL = (
    r"\b(https?:/{0,2}|[a-z][a-z0-9+.-]*://)([^\s/?#\"'<>]*@)?([^\s?;#\"'<>]*)([?;#][^\s\"'<>]+)?"
)

#: A shorter key is found in ordinary words, where it is no key.
_SHORTEST_SECRET = 8


def tail(key: str | None) -> str:
    """Return the part of a key that may be shown: its last four characters."""
    if not key:
        return ""
    return "..." + key[-4:] if len(key) > 8 else "..."


def is_secret_header(name: str) -> bool:
    """Return whether the value of a header of that name is to be hidden."""
    return re.search(_HIDDEN_HEADERS, name, re.IGNORECASE) is not None


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without secrets: the given ones, and all of URLs but their host and path."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, tail(secret))
    if not re.search("://|https?:", text, re.IGNORECASE):  # far quicker where there is no URL
        return text
    return re.sub(_URL, _hidden, text, flags=re.IGNORECASE)


def redacted_place(place: str) -> str:
    """Return a URL, or an app's name and path, without what may be secret in it."""
    return re.sub("([?;#]).+", r"\1...", redacted(place))


def _hidden(match: re.Match[str]) -> str:
    scheme, userinfo, place, rest = match.groups()
    return f"{scheme}{'...@' if userinfo else ''}{place}{f'{rest[0]}...' if rest else ''}"
