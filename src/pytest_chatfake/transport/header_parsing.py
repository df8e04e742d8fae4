"""Header lines as bytes, as both sides of a connection read them where everything is plain."""

from __future__ import annotations

import re

TOKEN = rb"[\w!#$%&'*+.^`|~-]+"
FIELD_LINE = re.compile(rb"(%b):([^\r\n\0]*)\r?\n" % TOKEN)
"""One header line. A folded line is not one: HTTP/1.1 gave them up, and they hide other headers."""


def plain_fields(lines: bytes) -> dict[bytes, bytes] | None:
    """Return values by lower-case name, of lines that match; None if a name is there twice."""
    fields = FIELD_LINE.findall(lines)
    values = {name.lower(): value.strip(b" \t") for name, value in fields}
    return values if len(values) == len(fields) else None
