"""Redaction of texts: keys except their last four characters, and the secrets of URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Parts of the names of headers whose values are secret.
_HIDDEN_HEADERS = "authorization|cookie|key|secret|token|signature"
_URL = r"\b([a-z][a-z0-9+.-]*://)([^\s/?#\"'<>]*@)?([^\s?#\"'<>]*)(\?[^\s#\"'<>]*)?"
_VALUE = "=[^&;]*"


def tail(key: str | None) -> str:
    """Return the part of a key that may be shown: its last four characters."""
    if not key:
        return ""
    return "..." + key[-4:] if len(key) > 8 else "..."


def is_secret_header(name: str) -> bool:
    """Return whether the value of a header of that name is to be hidden."""
    return re.search(_HIDDEN_HEADERS, name, re.IGNORECASE) is not None


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without secrets: the given ones, and userinfo and query values of URLs."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, tail(secret))
    return re.sub(_URL, _hidden, text, flags=re.IGNORECASE) if "://" in text else text


def redacted_place(place: str) -> str:
    """Return a URL, or an app's name and path, without what its query carries in secret."""
    head, mark, query = redacted(place).partition("?")
    return head + mark + _without_values(query)


def _hidden(match: re.Match[str]) -> str:
    scheme, userinfo, place, query = match.groups()
    return f"{scheme}{'...@' if userinfo else ''}{place}{_without_values(query)}"


def _without_values(query: str | None) -> str:
    return re.sub(_VALUE, "=...", query) if query else ""
