"""Forgeries: requests without a valid signature, which an app has to refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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
from .schemes import DAY, Scheme
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
        self._got_through = False

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


def forgeries(  # noqa: PLR0915 - one forgery after the other
    request: WebhookRequest, another: Event | None
) -> dict[str, Forged | str]:
    """Return how each forgery of a request is made, or why it is impossible here.

    Args:
        request: A genuine request, with a new event id.
        another: Another event that the endpoint may get, if there is one.

    Returns:
        Forgeries by their names. The reason is empty if the signer itself shows it.
    """
    signer = cast("Signer", request.endpoint.signer)
    scheme, headers = Scheme(signer, request, another), sign(signer, request)
    signing, clocks, random = scheme.signing, scheme.clocks, scheme.random

    def signed(request: WebhookRequest, **changes: Any) -> Signature:
        return sign(signer, replace(request, **changes))

    def without(*names: str) -> Forged:
        def forge(request: WebhookRequest) -> Signature:
            found = signed(request)
            return found.forged({k: v for k, v in found.items() if k not in names})

        return Forged(forge)

    def without_one(name: str) -> Forged:
        others = tuple(scheme.substitutes.get(name, ()))

        def spoilt(request: WebhookRequest) -> Signature:
            found = signed(request)
            wrong = scheme.wrong(found)
            rest = {k: wrong[k] if k in others else v for k, v in found.items() if k != name}
            return found.forged(rest)

        return replace(without(name), substitutes=others, without_them=spoilt if others else None)

    def replaced(
        change: Callable[[dict[str, str]], dict[str, str]], *, may_break: bool = False
    ) -> Forged:
        # Changes some headers of a genuine request.
        def forge(request: WebhookRequest) -> Signature:
            found = signed(request)
            return found.forged(found | change(found))

        return Forged(forge, may_break=may_break)

    def emptied(_: object) -> dict[str, str]:
        return dict.fromkeys(signing, "")

    def malformed(headers: dict[str, str]) -> dict[str, str]:
        return {name: _LONG.sub(_malformed, headers[name]) for name in signing}

    def shifted(seconds: int, *fresh: str) -> Forged:
        def forge(request: WebhookRequest) -> Signature:
            now = signed(request)
            then = signed(request, timestamp=request.timestamp + seconds)
            return then.forged(then | {name: now[name] for name in fresh})

        return assuming(clocks if scheme.is_dated_apart else random, Forged(forge))

    def changed(request: WebhookRequest) -> Signature:
        on = signed(request, body=scheme.changed(request.body))
        return scheme.moved(signed(request), on)

    def another_secret(request: WebhookRequest) -> dict[str, str]:
        return guessed(signer, request) or {}

    def assuming(names: Sequence[str], forged: Forged, *, is_sure: bool = True) -> Forged:
        def other_values(request: WebhookRequest) -> Signature:
            found, id_ = signed(request), other_id(request.id)
            old = signed(request, timestamp=request.timestamp - DAY, _id=id_)
            others = old | scheme.wrong(found)
            return found.forged(found | {name: others[name] for name in names})

        is_certain = is_sure and scheme.is_certain and not {*names} <= {*scheme.alternatives}
        if is_certain or not names:
            return forged
        return replace(forged, control=other_values, assumed=(*names,))

    cut, of_another = scheme.cut(headers), _signed_for_another(signer, scheme, request, another)
    found: dict[str, Forged | str] = {GENUINE: Forged(signed), UNSIGNED: without(*signing)}
    if len(signing) > 1:
        for name in signing:
            # An app may read the time or the id somewhere else, such as beside the signature.
            is_signature = name in scheme.signatures
            found[f"{WITHOUT}{name}"] = assuming([name], without_one(name), is_sure=is_signature)
    found["with empty headers"] = replaced(emptied)
    is_long = headers | malformed(headers) != headers
    found["with malformed headers"] = replaced(malformed) if is_long else ""
    if scheme.bare(headers):  # otherwise, a wrong signature is bare already
        found["with a bare signature"] = replaced(scheme.bare, may_break=True)
    found["with another scheme's prefix"] = replaced(scheme.renamed, may_break=True)
    found[WRONG] = replaced(scheme.wrong, may_break=True)
    is_ours = guessed(signer, request) is not None
    found["signed with another secret"] = Forged(another_secret) if is_ours else ""
    found["changed after it was signed"] = (
        assuming(random, Forged(changed, scheme.changed)) if scheme.signs_body else scheme.uncovered
    )
    shorter = replaced(scheme.cut, may_break=not scheme.is_certain)
    found["with its signature cut off"] = assuming([*cut], shorter) if cut else ""
    found["with another event's signature"] = (
        assuming(random, Forged(of_another)) if of_another else scheme.uncovered
    )
    is_dated, moments = scheme.is_dated, scheme.moments
    is_unexpired = any(moment > request.timestamp + DAY for moment in moments)
    found["signed a day ago"] = _UNEXPIRED if is_unexpired else shifted(-DAY) if is_dated else ""
    if is_dated:
        for name in clocks:
            found[f"signed a day ago under a new {name}"] = shifted(-DAY, name)
    is_undated = moments and min(moments) > request.timestamp
    found["signed a day ahead"] = _UNDATED if is_undated else shifted(DAY) if is_dated else ""
    return found


def _signed_for_another(
    signer: Signer, scheme: Scheme, request: WebhookRequest, another: Event | None
) -> _Sign | None:
    """Return what signs as for another event; None if no other event has another signature.

    That is another event of the fake, the same one under its own id or, if a body has no id, the
    same one with a change.
    """

    def as_another(_: WebhookRequest) -> dict[str, Any]:
        other = cast("Event", another)
        return {"event": other, "body": other._posted(other.body), "_id": other.id}

    def as_its_own(request: WebhookRequest) -> dict[str, Any]:
        event = request.event
        return {"body": event._posted(event.body), "_id": event.id}

    def as_changed(request: WebhookRequest) -> dict[str, Any]:
        return {"body": scheme.changed(request.body)}

    if scheme.uncovered:
        return None
    ways = [*[as_another] * (another is not None), as_its_own, *[as_changed] * scheme.signs_body]
    for changes in ways:
        if scheme.has_another_for(**changes(request)):
            return lambda request: scheme.moved(
                sign(signer, replace(request, **changes(request))), sign(signer, request)
            )
    return None


def _malformed(value: re.Match[str]) -> str:
    # The header has neither a timestamp nor a signature.
    return "abc" if value[0].isdecimal() else "1"
