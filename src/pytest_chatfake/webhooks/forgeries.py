"""Forgeries: requests without a valid signature, which an app has to refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

from ..base.calling_line import Line
from ..base.marks import Mark
from ..domain.ids import other_id
from .attempts import Attempt
from .decisions import Changed, Decision, Meaning
from .endpoints import Signer, WebhookRequest
from .events import Event
from .faults import Fault
from .probes import DAY
from .schemes import Scheme, scheme_of
from .signing import Signature, guessed, sign

#: Not a forgery: an app that refuses this one doesn't refuse the others for their signatures.
GENUINE: Final = "genuine"

#: Each right app refuses this one, and only an app that verifies no signature accepts it.
WRONG: Final = "with a wrong signature"

UNSIGNED: Final = "unsigned"

_UNEXPIRED: Final = "the signature is valid for longer"
_UNDATED: Final = "the signature only shows when it expires"

#: What the name of a forgery without one of several headers begins with.
WITHOUT: Final = "without "

#: A timestamp, a signature in hex or base64, or an id.
_LONG = re.compile(r"[\w+/]{9,}=*")

#: Returns the headers of the signature for a request.
_Sign: TypeAlias = Callable[[WebhookRequest], Mapping[str, str]]

#: Returns other values for some headers of a genuine signature.
_Change: TypeAlias = Callable[[Mapping[str, str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Forged:
    """How to make a forgery.

    Attributes:
        signer: Signs in place of the endpoint's own signer.
        tampered: Changes the signed body; None: it stays the same.
        control: Signs a forgery with other values of ``assumed``. If the app verifies signatures,
            but accepts that, it is wrong to assume that these headers belong to the signature, so
            this forgery may be no forgery. None: nothing is assumed.
        assumed: The names of these headers.
        substitutes: The names of headers that an app may verify in place of what is missing.
        without_them: Signs a forgery in which these are wrong. An app that refuses it does verify
            them, so this forgery is none.
        may_break: Whether an error is as good as a refusal, because it lets nobody in, and a
            provider's own SDK may raise it. Other forgeries find an app that breaks.
    """

    signer: _Sign
    tampered: Callable[[bytes], bytes] | None = None
    control: _Sign | None = None
    assumed: tuple[str, ...] = ()
    substitutes: tuple[str, ...] = ()
    without_them: _Sign | None = None
    may_break: bool = False


class Forgery(Fault):
    """An attempt of ``assert_rejects_forgeries()``: a forgery, or the genuine request."""

    _kind, _text, _set_up_by = "forgery", "forgery check", "assert_rejects_forgeries()"

    def __init__(
        self, what: str, forged: Forged, content: Callable[[bytes], bytes] | None, line: Line
    ) -> None:
        super().__init__()
        self._forged = forged
        self._content = content
        self._mark = Mark(self._kind, f"{self._text}, {what}", line)
        self.got_through = False

    def _decide(self, attempt: Attempt) -> Decision:
        forged, meaning = self._forged, Meaning(wanted=True, uncounted=True)
        return Changed(
            self,
            self._mark,
            meaning,
            content=self._content,
            signer=forged.signer,
            tampered=forged.tampered,
        )


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
        UNSIGNED: forger.without(*scheme.signing),
        **forger.without_each(),
        "with empty headers": forger.replacing(forger.emptied),
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
        self.scheme: Scheme = scheme_of(self._signer, request, another)
        self._headers = self.sign(request)

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

    def without(self, *names: str) -> Forged:
        def forge(request: WebhookRequest) -> Signature:
            found = self.sign(request)
            return found.forged({k: v for k, v in found.items() if k not in names})

        return Forged(forge)

    def without_each(self) -> dict[str, Forged]:
        names = self.scheme.signing
        return {WITHOUT + name: self._without_one(name) for name in names if len(names) > 1}

    def _without_one(self, name: str) -> Forged:
        scheme, forged = self.scheme, self.without(name)
        if others := scheme.substitutes(name):

            def spoilt(request: WebhookRequest) -> Signature:
                found = self.sign(request)
                wrong = scheme.wrong(found)
                rest = {k: wrong[k] if k in others else v for k, v in found.items() if k != name}
                return found.forged(rest)

            forged = replace(forged, substitutes=(*others,), without_them=spoilt)
        # An app may read the time or the id somewhere else, such as beside the signature.
        return self._assuming([name], forged, is_sure=name in scheme.signatures)

    def emptied(self, _: object) -> dict[str, str]:
        return dict.fromkeys(self.scheme.signing, "")

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
        scheme = self.scheme
        if not scheme.signs_body:
            return scheme.uncovered

        def forge(request: WebhookRequest) -> Signature:
            posted = self.sign(request, body=scheme.changed(request.body))
            return scheme.moved(self.sign(request), posted)

        return self._assuming(scheme.random, Forged(forge, scheme.changed))

    def cut_off(self) -> Forged | str:
        scheme = self.scheme
        if not (cut := scheme.cut(self._headers)):
            return ""
        return self._assuming([*cut], self.replacing(scheme.cut, may_break=not scheme.is_certain))

    def for_another_event(self) -> Forged | str:
        scheme, others = self.scheme, [*self._as_others(self._request)]
        number = next(
            (n for n, other in enumerate(others) if scheme.has_another_for(**other)), None
        )
        if scheme.uncovered or number is None:
            return scheme.uncovered

        def forge(request: WebhookRequest) -> Signature:
            other = [*self._as_others(request)][number]
            return scheme.moved(self.sign(request, **other), self.sign(request))

        return self._assuming(scheme.random, Forged(forge))

    def _as_others(self, request: WebhookRequest) -> Iterator[dict[str, Any]]:
        # What to change in a request for it to be another event of the fake, the same one under its
        # own id or, because a body may have no id, the same one with a change.
        own, another = request.event, self._another
        if another is not None:
            yield {"event": another, "body": another._posted(another.body), "_id": another.id}
        yield {"body": own._posted(own.body), "_id": own.id}
        if self.scheme.signs_body:
            yield {"body": self.scheme.changed(request.body)}

    def a_day_ago(self) -> Forged | str:
        is_unexpired = any(at > self._request.timestamp + DAY for at in self.scheme.moments)
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
        scheme = self.scheme
        if not scheme.is_dated:
            return ""

        def forge(request: WebhookRequest) -> Signature:
            now = self.sign(request)
            then = self.sign(request, timestamp=request.timestamp + seconds)
            return then.forged({**then, **{name: now[name] for name in fresh}})

        names = scheme.clocks if scheme.is_dated_apart else scheme.random
        return self._assuming(names, Forged(forge))

    # -- what is assumed ---------------------------------------------------------------------------

    def _assuming(self, names: Sequence[str], forged: Forged, *, is_sure: bool = True) -> Forged:
        # Add a control if it is assumed that these headers belong to the signature.
        scheme = self.scheme
        is_one_of_several = {*names} <= {*scheme.alternatives}
        if not names or (is_sure and scheme.is_certain and not is_one_of_several):
            return forged

        def other_values(request: WebhookRequest) -> Signature:
            found, id_ = self.sign(request), other_id(request.id)
            old = self.sign(request, timestamp=request.timestamp - DAY, _id=id_)
            others = {**old, **scheme.wrong(found)}
            return found.forged({**found, **{name: others[name] for name in names}})

        return replace(forged, control=other_values, assumed=(*names,))


def _malformed(value: re.Match[str]) -> str:
    # The header has neither a timestamp nor a signature.
    return "abc" if value[0].isdecimal() else "1"
