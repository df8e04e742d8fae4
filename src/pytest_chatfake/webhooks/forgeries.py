"""Forgeries: requests without a valid signature, which an app has to refuse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from ..base.calling_line import Line
from ..base.marks import Mark
from .attempts import Attempt
from .decisions import Changed, Decision, Meaning
from .endpoints import Signer, WebhookRequest
from .faults import Fault, with_a_space
from .signing import OwnSigner, guessed, retired, sign

#: Not a forgery: an app that refuses this one doesn't refuse the others for their signatures.
GENUINE: Final = "genuine"

#: The forgery with a changed body.
CHANGED: Final = "changed after it was signed"

_DAY = 86_400  # in seconds

#: A timestamp, a signature in hex or base64, or an id.
_LONG = re.compile(r"[\w+/]{9,}=*")


class Forgery(Fault):
    """An attempt of ``assert_rejects_forgeries()``: a forgery, or the genuine request."""

    _kind, _text, _set_up_by = "forgery", "forgery check", "assert_rejects_forgeries()"

    def __init__(self, what: str, line: Line) -> None:
        super().__init__()
        self._what = what
        self._mark = Mark(self._kind, f"{self._text}, {what}", line)
        self._got_through = False

    def _decide(self, attempt: Attempt) -> Decision:
        def signed(request: WebhookRequest) -> Mapping[str, str]:
            return forgeries(request)[self._what] or {}

        tampered = with_a_space if self._what == CHANGED else None
        meaning = Meaning(wanted=True, uncounted=True)
        return Changed(self, self._mark, meaning, signer=signed, tampered=tampered)


def forgery_of(attempt: Attempt) -> Forgery | None:
    """Return what an attempt of the check forges; None: it belongs to no check."""
    faults = (decision.fault for decision in attempt._decisions)
    return next((fault for fault in faults if isinstance(fault, Forgery)), None)


def forgeries(request: WebhookRequest) -> dict[str, dict[str, str] | None]:
    """Return the headers for each forgery of a request; None if the forgery is impossible here."""
    signer = cast("Signer", request.endpoint.signer)

    def signed(**changes: Any) -> dict[str, str]:
        return sign(signer, replace(request, **changes))

    headers, longer = signed(), signed(body=with_a_space(request.body))
    old, ahead = (signed(timestamp=request.timestamp + shift) for shift in (-_DAY, _DAY))
    event = request.event
    again, signing = signed(), [*headers]
    if not isinstance(signer, OwnSigner):  # a function's headers may not all be about the signature
        signing = [
            name
            for name, value in headers.items()
            if again.get(name) == value and {longer.get(name), old.get(name)} != {value}
        ] or signing
    is_dated = any(
        re.sub(r"\d", "", headers[name]) != re.sub(r"\d", "", old.get(name, "")) for name in signing
    )
    # One secret only, or another one's signature would stay valid.
    newest = sign(retired(signer), request)
    cut = {name: value[:-4] for name, value in newest.items() - longer.items()}
    others = signed(body=event._posted(event.body), _id=event.id)  # the same if no id is signed
    times = [name for name in signing if is_dated and headers[name].isdecimal()]
    malformed = headers | {name: _LONG.sub(_malformed, headers[name]) for name in signing}
    return {
        GENUINE: headers,
        "unsigned": {name: headers[name] for name in headers if name not in signing},
        **{
            f"without {name}": {other: headers[other] for other in headers if other != name}
            for name in signing
            if len(signing) > 1
        },
        "with empty headers": headers | dict.fromkeys(signing, ""),
        "with malformed headers": malformed if malformed != headers else None,
        "signed with another secret": guessed(signer, request),
        CHANGED: headers if cut else None,
        "with its signature cut off": headers | cut if cut else None,
        "with another event's signature": others if cut and others != headers else None,
        "signed a day ago": old if is_dated else None,
        **{f"signed a day ago under a new {name}": old | {name: headers[name]} for name in times},
        "signed a day ahead": ahead if is_dated else None,
    }


def _malformed(value: re.Match[str]) -> str:
    # The header has neither a timestamp nor a signature.
    return "abc" if value[0].isdecimal() else "1"
