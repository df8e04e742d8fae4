"""Forgeries: requests without a valid signature, which an app has to refuse.

A signer may be any function, so what it signs is found out by calling it. Say it returns::

    X-Time: 1767268800
    X-Signature: v1=7e0f7c115ec4c598

1. :class:`.Probe` takes that apart (``1767268800``, ``v1``, ``7e0f...``), and calls it once more:
   for another body, ``7e0f...`` changes; for another time, ``1767268800`` changes as well.
2. So :class:`.Scheme` says: ``7e0f...`` is the signature, and covers the body and X-Time.
3. So :func:`forgeries` can fill its table: ``v1=2b9a2d884bd5d408`` is *with a wrong signature*, no
   X-Time is *without X-Time*, yesterday's headers are *signed a day ago*. An app that verifies
   signatures accepts the genuine headers, and refuses each of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias, cast

from ..base.calling_line import Line
from ..base.marks import Mark
from ..base.views import listed
from ..domain.ids import other_id
from .attempts import Attempt
from .decisions import Changed, Decision, Meaning
from .endpoints import Signer, WebhookRequest
from .events import Event
from .faults import Fault
from .probes import DAY, Probe
from .schemes import Scheme, scheme_of
from .signing import Signature, guessed, is_field, sign

#: Not a forgery: an app that refuses this one doesn't refuse the others for their signatures.
GENUINE: Final = "genuine"

#: Each right app refuses this one, and only an app that verifies no signature accepts it.
WRONG: Final = "with a wrong signature"

UNSIGNED: Final = "unsigned"

#: How many seconds after its expiry an app may still accept a signature.
_LEEWAY: Final = 3_600

_UNEXPIRED: Final = "the signature is valid for longer"
_UNDATED: Final = "the signature only shows when it expires"

#: What the name of a forgery without one of several headers begins with.
WITHOUT: Final = "without "

#: A timestamp, a signature in hex or base64, or an id.
_LONG = re.compile(r"[\w+/]{9,}=*")

#: Returns other values for some headers of a genuine signature.
_Change: TypeAlias = Callable[[Mapping[str, str]], Mapping[str, str]]


class Control(NamedTuple):
    """What is posted after an accepted forgery, to see what the app verifies.

    Attributes:
        why: What it can show of the app, so that the forgery may be none.
        signer: Signs it.
    """

    why: str
    signer: Signer


@dataclass(frozen=True, slots=True)
class Forged:
    """How to make a forgery.

    Attributes:
        signer: Signs in place of the endpoint's own signer.
        assumed: Has other values in the headers that are assumed to belong to the signature. If an
            app that verifies signatures accepts it, they may not belong to it, so the forgery may
            be none. None: nothing is assumed.
        substitutes: Has wrong signatures in headers that an app may verify in place of what is
            missing. If the app refuses it, it does verify them, so the forgery is none.
        may_break: Whether an error is as good as a refusal, because it lets nobody in, and a
            provider's own SDK may raise it. Other forgeries find an app that breaks.
    """

    signer: Signer
    assumed: Control | None = None
    substitutes: Control | None = None
    may_break: bool = False


class Forgery(Fault):
    """An attempt of ``assert_rejects_forgeries()``: a forgery, or the genuine request."""

    _kind, _text, _set_up_by = "forgery", "forgery check", "assert_rejects_forgeries()"

    def __init__(
        self, what: str, signer: Signer, content: Callable[[bytes], bytes] | None, line: Line
    ) -> None:
        super().__init__()
        self._signer = signer
        self._content = content
        self._mark = Mark(self._kind, f"{self._text}, {what}", line)
        self.got_through = False

    def _decide(self, attempt: Attempt) -> Decision:
        meaning = Meaning(wanted=True, uncounted=True)
        return Changed(self, self._mark, meaning, content=self._content, signer=self._signer)


def forgery_of(attempt: Attempt) -> Forgery | None:
    """Return what an attempt of the check forges; None: it belongs to no check."""
    faults = (decision.fault for decision in attempt._decisions)
    return next((fault for fault in faults if isinstance(fault, Forgery)), None)


def forgeries(request: WebhookRequest, another: Event | None) -> dict[str, Forged | str]:
    """Return how each forgery of a request is made, or why it is impossible here.

    A right app refuses each one but the genuine request.

    Args:
        request: A genuine request, with a new event id.
        another: Another event that the endpoint may get, if there is one.

    Returns:
        Forgeries by their names. The reason is empty if the signer itself shows it.
    """
    forger = _Forger(request, another)
    scheme = forger.scheme
    table: dict[str, Forged | str | None] = {
        GENUINE: Forged(forger.sign),
        # Something is missing.
        UNSIGNED: Forged(forger.without(*scheme.signing)),
        **forger.without_each(),
        "with empty headers": forger.replacing(lambda _: dict.fromkeys(scheme.signing, "")),
        "with malformed headers": forger.malformed(),
        # It has another form; the right signature is no part of it.
        "with a bare signature": forger.bare(),
        "with another scheme's prefix": forger.replacing(scheme.renamed, may_break=True),
        WRONG: forger.replacing(scheme.wrong, may_break=True),
        # It is right, but for another secret, body or event, or in part.
        "signed with another secret": forger.with_another_secret(),
        "changed after it was signed": forger.changed_later(),
        "with its signature cut off": forger.cut_off(),
        "with another event's signature": forger.for_another_event(),
        # It is right, but for another time.
        "signed a day ago": forger.a_day_ago(),
        **forger.a_day_ago_under_new_clocks(),
        "signed a day ahead": forger.a_day_ahead(),
    }
    return {what: how for what, how in table.items() if how is not None}


class _Forger:
    """Knows how to make each forgery of a request.

    What makes a forgery returns why it is impossible here, or None if it would be another one.
    """

    def __init__(self, request: WebhookRequest, another: Event | None) -> None:
        self._request = request
        self._another = another
        self._signer = cast("Signer", request.endpoint.signer)
        probe = Probe(self._signer, request, another)
        self._headers = probe.headers
        self.scheme: Scheme = scheme_of(probe)

    def sign(self, request: WebhookRequest, **changes: Any) -> Signature:
        """Return the genuine signature of a request, or of a changed one."""
        return sign(self._signer, replace(request, **changes))

    def replacing(self, change: _Change, *, may_break: bool = False) -> Forged:
        """Replace some headers of a genuine signature."""

        def forge(request: WebhookRequest) -> Signature:
            found = self.sign(request)
            return found.forged({**found, **change(found)})

        return Forged(forge, may_break=may_break)

    # -- something is missing ----------------------------------------------------------------------

    def without(self, *names: str, wrong: Sequence[str] = ()) -> Signer:
        def forge(request: WebhookRequest) -> Signature:
            found = self.sign(request)
            spoilt = {k: v for k, v in self.scheme.wrong(found).items() if k in wrong}
            left = {k: v for k, v in {**found, **spoilt}.items() if k not in names}
            # Without fields, nothing is left of what the signer has made of the body.
            return found.forged(left) if any(map(is_field, left)) else Signature(left, request.body)

        return forge

    def without_each(self) -> dict[str, Forged]:
        names = self.scheme.signing
        return {WITHOUT + name: self._without_one(name) for name in names if len(names) > 1}

    def _without_one(self, name: str) -> Forged:
        scheme, forged = self.scheme, Forged(self.without(name))
        if others := scheme.substitutes(name):
            why = f"the app then verifies {listed(others)}"
            spoilt = Control(why, self.without(name, wrong=others))
            forged = replace(forged, substitutes=spoilt)
        # An app may read the time or the id somewhere else, such as beside the signature.
        is_sure = scheme.is_certain and scheme.signatures == [name]
        return self._assuming([] if is_sure else [name], forged)

    def malformed(self) -> Forged | str:
        def change(headers: Mapping[str, str]) -> dict[str, str]:
            return {name: _LONG.sub(_malformed, headers[name]) for name in self.scheme.signing}

        is_another = {**self._headers, **change(self._headers)} != self._headers
        return self.replacing(change) if is_another else ""

    # -- the signature has another form ------------------------------------------------------------

    def bare(self) -> Forged | None:
        # If nothing surrounds a signature, a wrong one is bare already.
        is_possible = self.scheme.bare(self._headers)
        return self.replacing(self.scheme.bare, may_break=True) if is_possible else None

    # -- it is right, but for something else or in part --------------------------------------------

    def with_another_secret(self) -> Forged | str:
        is_ours = guessed(self._signer, self._request) is not None
        return Forged(lambda request: guessed(self._signer, request) or {}) if is_ours else ""

    def changed_later(self) -> Forged | str:
        scheme, change = self.scheme, self.scheme.change
        if change is None:
            return scheme.uncovered

        def forge(request: WebhookRequest) -> Signature:
            posted = self.sign(request, body=change(request.body))
            return scheme.moved(self.sign(request), posted)

        return self._assuming(scheme.random, Forged(forge))

    def cut_off(self) -> Forged | str:
        scheme = self.scheme
        if not (cut := [*scheme.cut(self._headers)]):
            return ""
        is_sure = scheme.is_certain and len(scheme.signatures) == 1
        forged = self.replacing(scheme.cut, may_break=not scheme.is_certain)
        return self._assuming([] if is_sure else cut, forged)

    def for_another_event(self) -> Forged | str:
        scheme = self.scheme
        other = next((each for each in self._others() if scheme.has_another_for(**each)), None)
        if scheme.uncovered or other is None:
            return scheme.uncovered

        def forge(request: WebhookRequest) -> Signature:
            return scheme.moved(self.sign(request, **other), self.sign(request))

        return self._assuming(scheme.random, Forged(forge))

    def _others(self) -> Iterator[dict[str, Any]]:
        # What to change in a request for it to be another event of the fake, the same one under its
        # own id or, because a body may have no id, the same one with a change.
        for event in (self._another, self._request.event):
            if event is not None:
                yield {"event": event, "body": event._posted(event.body), "_id": event.id}
        if self.scheme.change is not None:
            yield {"body": self.scheme.change(self._request.body)}

    def a_day_ago(self) -> Forged | str:
        valid_until = self._request.timestamp + DAY - _LEEWAY
        is_unexpired = any(at > valid_until for at in self.scheme.moments)
        return _UNEXPIRED if is_unexpired else self._shifted(-DAY)

    def a_day_ago_under_new_clocks(self) -> dict[str, Forged | str]:
        clocks = self.scheme.clocks if self.scheme.is_dated else []
        return {
            f"signed a day ago under a new {name}": self._shifted(-DAY, name) for name in clocks
        }

    def a_day_ahead(self) -> Forged | str:
        moments = self.scheme.moments
        is_undated = moments and min(moments) > self._request.timestamp
        return _UNDATED if is_undated else self._shifted(DAY)

    def _shifted(self, seconds: int, *fresh: str) -> Forged | str:
        if not self.scheme.is_dated:
            return ""

        def forge(request: WebhookRequest) -> Signature:
            now = self.sign(request)
            then = self.sign(request, timestamp=request.timestamp + seconds)
            return then.forged({**then, **{name: now[name] for name in fresh}})

        return self._assuming(self.scheme.dating, Forged(forge))

    # -- what is assumed ---------------------------------------------------------------------------

    def _assuming(self, names: list[str], forged: Forged) -> Forged:
        # Add a control if it is assumed that these headers belong to the signature.
        if not names:
            return forged

        def other_values(request: WebhookRequest) -> Signature:
            found, id_ = self.sign(request), other_id(request.id)
            old = self.sign(request, timestamp=request.timestamp - DAY, _id=id_)
            others = {**old, **self.scheme.wrong(found)}
            return found.forged({**found, **{name: others[name] for name in names}})

        control = Control(f"the app accepts any {listed(names)}", other_values)
        return replace(forged, assumed=control)


def _malformed(value: re.Match[str]) -> str:
    # The header has neither a timestamp nor a signature.
    return "abc" if value[0].isdecimal() else "1"
