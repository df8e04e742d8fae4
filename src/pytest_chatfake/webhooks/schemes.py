"""How a signer signs: which parts of its headers are the signature, and what it covers.

A signer may be any function, so its scheme is only known by the headers that it returns. If a long
part of these depends on the body, the time, the id or the event, it is a signature, and the scheme
is *certain*. Otherwise, the signature is *assumed* to be one of the random parts, or a key that is
always the same, and some forgeries rest on that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from .changed_bodies import with_another_field
from .endpoints import Signer, WebhookRequest
from .events import Event
from .faults import with_a_space
from .header_parts import (
    LAST,
    LONG,
    Place,
    Places,
    names_of,
    numbers_in,
    part_at,
    relabelled,
    with_another_end,
    with_changed_parts,
    with_parts_of,
    without_digits,
    without_its_end,
)
from .probes import Answers, answers_of
from .signing import Signature, is_field

#: The name of a header that is likelier to have the signature than a nonce or a request's id.
_HINT = re.compile("sig|hmac|auth|key|token", re.IGNORECASE)

#: The name of a header for a signature, so that a key beside it only says which one has signed; and
#: the minimum length of one that OpenSSL makes from random numbers.
_NAMED = re.compile("sig|hmac|auth", re.IGNORECASE)
_RANDOM = 64

_UNCOVERED: Final = "the signature does not cover the body"
_UNCERTAIN: Final = "the signature may not cover the body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """How a signer signs the requests of one event, as far as its headers show it.

    Attributes:
        is_certain: Whether it is certain which parts are the signature. If not, they are random, or
            a key that is always the same.
        is_dated: Whether a timestamp is signed.
        signs_body: Whether the signature depends on the body.
        uncovered: Why nobody can refuse this signature with another body; empty if one can.
    """

    is_certain: bool
    is_dated: bool
    signs_body: bool
    uncovered: str
    _answers: Answers
    _places: Places  # of what is the signature, or may be
    _field: int | None  # to change in a body that the signature covers; None: its bytes

    # -- which headers ---------------------------------------------------------------------------

    @property
    def signatures(self) -> list[str]:
        """The names of the headers that have a signature."""
        return self._in_order(names_of(self._places))

    @property
    def alternatives(self) -> list[str]:
        """If several headers have signatures, their names: an app may need only one of them."""
        return self.signatures if len(self.signatures) > 1 else []

    @property
    def signing(self) -> list[str]:
        """The names of all headers that belong to the signature."""
        answers = self._answers
        names = names_of(self._places)
        if self._places & answers.first.random:
            names |= names_of(self._moving)
        if self.is_dated:
            names |= answers.dated
        if answers.probe.signatures(answers.with_other_id):
            names |= names_of(answers.probe.changed(answers.with_other_id))
        return self._in_order(names)

    @property
    def clocks(self) -> list[str]:
        """The names of those that only show a timestamp."""
        answers = self._answers
        now, old = answers.first.headers, answers.old
        return [
            name
            for name in self.signing
            if name in answers.dated
            and without_digits(now[name]) == without_digits(old.get(name, ""))
        ]

    @property
    def is_dated_apart(self) -> bool:
        """Whether only the clocks show the time."""
        return self._answers.dated <= {*self.clocks}

    @property
    def moments(self) -> list[int]:
        """The times that the headers show, in Unix seconds, such as when a token expires."""
        return self._answers.moments

    @property
    def random(self) -> list[str]:
        """The names of the headers with random parts, if the scheme is uncertain."""
        random = self._answers.nonces or self._answers.first.random
        return [] if self.is_certain else self._in_order(names_of(random))

    def substitutes(self, name: str) -> list[str]:
        """Return other alternatives that cover as much: an app may verify one in its place."""
        if not self.is_certain or name not in self.alternatives:
            return []
        answers = self._answers
        changes = answers.with_other_body, answers.old, answers.with_other_id
        covered = [names_of(answers.probe.signatures(headers)) for headers in changes]
        return [
            other
            for other in self.alternatives
            if other != name and all(other in by for by in covered if name in by)
        ]

    @property
    def _moving(self) -> Places:
        # What goes together: a signature is only right beside its own nonce.
        return self._places | self._answers.nonces

    def _in_order(self, names: set[str]) -> list[str]:
        return [name for name in self._answers.first.headers if name in names]

    # -- what a signature covers ------------------------------------------------------------------

    def changed(self, body: bytes) -> bytes:
        """Return a body that differs in what is signed, and is as valid as before."""
        if self._field is None:
            return with_a_space(body)
        return next(islice(with_another_field(body), self._field, None))

    def has_another_for(self, **changes: Any) -> bool:
        """Whether the signature is another one for a changed request."""
        probe = self._answers.probe
        if self.is_certain:
            return bool(probe.signatures(probe.signed(**changes)))
        return bool(self.random) and changes["body"] != probe.body

    # -- other signatures -------------------------------------------------------------------------

    def wrong(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return wrong signatures of the same form, in their headers."""
        return {
            name: with_changed_parts(
                headers[name], numbers_in(self._places, name), with_another_end
            )
            for name in self.signatures
        }

    def bare(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return wrong signatures without what usually surrounds them; empty if nothing does."""
        wrong = self.wrong(headers)
        bare = {name: part_at(wrong, (name, max(numbers_in(self._places, name)))) for name in wrong}
        return {} if bare == wrong else bare

    def renamed(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return wrong signatures of another scheme, such as ``sha1=...``."""
        wrong = self.wrong(headers)
        return {name: relabelled(wrong[name], numbers_in(self._places, name)) for name in wrong}

    def cut(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return signatures without their ends, in their headers; empty if they are too short."""
        places = self._places if self.is_certain else self._likeliest(headers)
        cut: dict[str, str] = {}
        for name in self._in_order(names_of(places)):
            value = with_changed_parts(headers[name], numbers_in(places, name), without_its_end)
            if value != headers[name]:
                cut[name] = value
        return cut

    def _likeliest(self, headers: Mapping[str, str]) -> Places:
        # The longest parts of one header, because a nonce has to stay the same.
        if not self._places:
            return set()

        def likelihood(place: Place) -> tuple[bool, int, str]:
            return bool(_HINT.search(place[0])), len(part_at(headers, place)), place[0]

        _, length, name = max(map(likelihood, self._places))
        return {
            place
            for place in self._places
            if place[0] == name and len(part_at(headers, place)) > 0.9 * length
        }

    def moved(self, signature: Signature, signed: Signature) -> Signature:
        """Return a signature on something else: what a signer has written into ``signed``.

        A signer that makes the whole body writes the event as well, such as in base64, and perhaps
        into the same field.
        """
        moved = {**signature}
        for name in filter(is_field, signed):
            numbers = numbers_in(self._moving, name)
            moved[name] = with_parts_of(signed[name], signature.get(name, ""), numbers)
        return signed.forged(moved)


def scheme_of(signer: Signer, request: WebhookRequest, another: Event | None) -> Scheme:
    """Find out how a signer signs.

    Args:
        signer: The signer.
        request: A request to sign.
        another: Another event that the endpoint may get, if there is one.
    """
    answers = answers_of(signer, request, another)
    return _shown(answers) or _assumed(answers)


def _shown(answers: Answers) -> Scheme | None:
    # The scheme, if a signature has shown itself by what it depends on.
    signatures = answers.probe.signatures
    by_body = signatures(answers.with_other_body)
    by_time = signatures(answers.old)
    places = by_body | by_time | signatures(answers.with_other_id)
    places = places or signatures(answers.with_another)
    if not places:
        return None
    uncovered = ""
    if not by_body:
        # Then an app notices another body by the id or the event, if these are only in signatures.
        others = answers.with_other_id, answers.with_another
        if not any(map(answers.probe.differs_by_signatures, others)):
            uncovered = _UNCOVERED
    elif answers.probe.may_sign_a_token(answers.with_other_body):
        uncovered = _UNCERTAIN
    return Scheme(
        is_certain=True,
        is_dated=bool(by_time),
        signs_body=bool(by_body) and not uncovered,
        uncovered=uncovered,
        _answers=answers,
        _places=places,
        _field=answers.field,
    )


def _assumed(answers: Answers) -> Scheme:
    # The scheme if the signature is any random part, or a key that is always the same.
    first, probe = answers.first, answers.probe
    is_random = bool(first.random)
    uncovered = ""
    if probe.may_sign_a_token(answers.with_other_body) or (
        is_random and first.headers.unsigned is not None
    ):
        uncovered = _UNCERTAIN
    elif is_random and not probe.random:
        uncovered = _UNCOVERED  # with the same random numbers, nothing has depended on the body
    field = 0 if probe.parses_the_body() else None
    is_changeable = field is None or any(with_another_field(probe.body))
    return Scheme(
        is_certain=False,
        is_dated=is_random and bool(answers.dated),
        signs_body=is_random and is_changeable and not uncovered,
        uncovered=uncovered,
        _answers=answers,
        _places=_likely_places(answers),
        _field=field,
    )


def _likely_places(answers: Answers) -> Places:
    headers, random = answers.first.headers, answers.first.random
    found = answers.nonces or random
    if named := {place for place in found if _is_named_signature(headers, place)}:
        return named
    usual = names_of(random) | answers.dated
    keys = {
        (name, LAST)
        for name, value in headers.items()
        if name not in usual and not answers.probe.is_public(value)
    }
    long = {place for place in keys if len(part_at(headers, place)) >= LONG}
    return found | long or keys or {(name, LAST) for name in headers}


def _is_named_signature(headers: Mapping[str, str], place: Place) -> bool:
    return bool(_NAMED.search(place[0])) and len(part_at(headers, place)) >= _RANDOM
