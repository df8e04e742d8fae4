"""Redacts texts: all of a key except its last four characters, and the secret parts of URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: A header is secret if its name contains one of these.
_HIDDEN_HEADERS = "authorization|cookie|key|secret|token|signature"
_URL = (
    r"\b(https?:/{0,2}|[a-z][a-z0-9+.-]*://)([^\s/?#\"'<>]*@)?([^\s?;#\"'<>]*)([?;#][^\s\"'<>]+)?"
)

#: A shorter key would be found inside ordinary words.
_SHORTEST_SECRET = 8


def tail(key: str | None) -> str:
    """Return what may be shown of a key: its last four characters; nothing of a short key."""
    if not key:
        return ""
    return "..." + key[-4:] if len(key) > 8 else "..."


def is_secret_header(name: str) -> bool:
    """Return whether the value of a header with this name has to be hidden."""
    return re.search(_HIDDEN_HEADERS, name, re.IGNORECASE) is not None


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without these secrets, and without userinfo, query and fragment of URLs."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, tail(secret))
    if not re.search("://|https?:", text, re.IGNORECASE):  # much faster, as most texts have no URL
        return text
    return re.sub(_URL, _hidden, text, flags=re.IGNORECASE)


def redacted_place(place: str) -> str:
    """Redact a URL, or an app's name and path, without its query."""
    return re.sub("([?;#]).+", r"\1...", redacted(place))


def _hidden(match: re.Match[str]) -> str:
    scheme, userinfo, place, rest = match.groups()
    return f"{scheme}{'...@' if userinfo else ''}{place}{f'{rest[0]}...' if rest else ''}"
