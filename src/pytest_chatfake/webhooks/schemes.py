"""How a signer signs: which parts of its headers are the signature, and what it covers.

A signer may be any function, so its scheme is only known by the headers that it returns. If a long
part of these depends on the body, the time, the id or the event, it is a signature, and the scheme
is *certain*. Otherwise, the signature is *assumed* to be one of the random parts, or a key that is
always the same, and some forgeries rest on that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .changed_bodies import Change, changes_of
from .header_parts import (
    LONG,
    Place,
    Places,
    names_of,
    numbers_in,
    part_at,
    parts_of,
    relabelled,
    with_another_end,
    with_parts,
    without_digits,
    without_its_end,
)
from .probes import Probe
from .signing import Signature, is_field

#: The name of a header that is likelier to have the signature than a nonce or a request's id.
_HINT = re.compile("sig|hmac|auth|key|token", re.IGNORECASE)

#: The name of a header for a signature, so that a key beside it only says which one has signed; and
#: the minimum length of one that OpenSSL makes from random numbers.
_NAMED = re.compile("sig|hmac|auth", re.IGNORECASE)
_RANDOM = 64

_UNCOVERED: Final = "the signature does not cover the body"
_UNCERTAIN: Final = "the signature may not cover the body"


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a signer signs the requests of one event, as far as its headers show it.

    Attributes:
        is_certain: Whether it is certain which parts are the signature. If not, they are random, or
            a key that is always the same.
        is_dated: Whether a timestamp is signed.
        uncovered: Why nobody can refuse this signature with another body; empty if one can.
        change: Changes what is signed in a body, which stays as valid as before; None: the
            signature doesn't depend on the body.
    """

    is_certain: bool
    is_dated: bool
    uncovered: str
    change: Change | None
    _probe: Probe
    _places: Places  # of what is the signature, or may be

    # -- which headers ---------------------------------------------------------------------------

    @property
    def signatures(self) -> list[str]:
        """The names of the headers that have a signature; an app may need only one of them."""
        return self._in_order(names_of(self._places))

    @property
    def signing(self) -> list[str]:
        """The names of all headers that belong to the signature."""
        probe, names = self._probe, names_of(self._places)
        if self._places & probe.random:
            names |= names_of(self._moving)
        if self.is_dated:
            names |= probe.dated
        if probe.with_other_id.signatures:
            names |= names_of(probe.with_other_id.changed)
        return self._in_order(names)

    @property
    def clocks(self) -> list[str]:
        """The names of those that only show a timestamp."""
        now, old = self._probe.headers, self._probe.old.headers
        return [
            name
            for name in self.signing
            if name in self._probe.dated
            and without_digits(now[name]) == without_digits(old.get(name, ""))
        ]

    @property
    def moments(self) -> list[int]:
        """The times that the headers show, in Unix seconds, such as when a token expires."""
        return self._probe.moments

    @property
    def random(self) -> list[str]:
        """The names of the headers with random parts, if the scheme is uncertain."""
        random = self._probe.nonces or self._probe.random
        return [] if self.is_certain else self._in_order(names_of(random))

    @property
    def dating(self) -> list[str]:
        """The names of the headers whose time may be unsigned, if the scheme is uncertain."""
        if self.is_certain or not self._probe.dated <= {*self.clocks}:
            return self.random
        return self.clocks

    def substitutes(self, name: str) -> list[str]:
        """Return other headers whose signatures cover as much: an app may verify one instead."""
        if not self.is_certain or name not in self.signatures:
            return []
        probe = self._probe
        answers = probe.with_other_body, probe.old, probe.with_other_id
        covered = [names_of(answer.signatures) for answer in answers]
        return [
            other
            for other in self.signatures
            if other != name and all(other in by for by in covered if name in by)
        ]

    @property
    def _moving(self) -> Places:
        # What goes together: a signature is only right beside its own nonce.
        return self._places | self._probe.nonces

    def _in_order(self, names: set[str]) -> list[str]:
        return [name for name in self._probe.headers if name in names]

    # -- other signatures -------------------------------------------------------------------------

    def has_another_for(self, **changes: Any) -> bool:
        """Whether the signature is another one for a changed request."""
        if self.is_certain:
            return bool(self._probe.ask(**changes).signatures)
        return bool(self.random) and changes["body"] != self._probe.body

    def wrong(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return wrong signatures of the same form, in their headers."""
        return self._with_others(headers, self._places, with_another_end)

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
        cut = self._with_others(headers, places, without_its_end)
        return {name: value for name, value in cut.items() if value != headers[name]}

    def _with_others(
        self, headers: Mapping[str, str], places: Places, change: Callable[[str], str]
    ) -> dict[str, str]:
        others: dict[str, str] = {}
        for name in self._in_order(names_of(places)):
            parts = {at: change(part_at(headers, (name, at))) for at in numbers_in(places, name)}
            others[name] = with_parts(headers[name], parts)
        return others

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
            moved[name], parts = signed[name], parts_of(signature.get(name, ""))
            if len(parts) == len(parts_of(signed[name])):
                others = {number: parts[number] for number in numbers_in(self._moving, name)}
                moved[name] = with_parts(signed[name], others)
        return signed.forged(moved)


def scheme_of(probe: Probe) -> Scheme:
    """Say how a signer signs, by what its answers show."""
    return _shown(probe) or _assumed(probe)


def _shown(probe: Probe) -> Scheme | None:
    # The scheme, if a signature has shown itself by what it depends on.
    by_body, by_time = probe.with_other_body.signatures, probe.old.signatures
    places = by_body | by_time | probe.with_other_id.signatures
    places = places or probe.with_other_event.signatures
    if not places:
        return None
    uncovered = ""
    if not by_body:
        # Then an app notices another body by the id or the event, if these are only in signatures.
        others = probe.with_other_id, probe.with_other_event
        if not any(other.signatures and other.signatures == other.changed for other in others):
            uncovered = _UNCOVERED
    elif probe.may_sign_a_token:
        uncovered = _UNCERTAIN
    return Scheme(
        is_certain=True,
        is_dated=bool(by_time),
        uncovered=uncovered,
        change=probe.change if by_body and not uncovered else None,
        _probe=probe,
        _places=places,
    )


def _assumed(probe: Probe) -> Scheme:
    # The scheme if the signature is any random part, or a key that is always the same.
    uncovered, change = "", None
    if probe.may_sign_a_token or (probe.random and probe.makes_body):
        uncovered = _UNCERTAIN
    elif probe.random and not probe.unsteady:
        uncovered = _UNCOVERED  # with the same random numbers, nothing has depended on the body
    elif probe.random:
        of_bytes, *of_fields = changes_of(probe.body)
        change = next(iter(of_fields), None) if probe.parses_the_body else of_bytes
    return Scheme(
        is_certain=False,
        is_dated=bool(probe.random and probe.dated),
        uncovered=uncovered,
        change=change,
        _probe=probe,
        _places=_likely_places(probe),
    )


def _likely_places(probe: Probe) -> Places:
    headers, random = probe.headers, probe.random
    found = probe.nonces or random
    if named := {place for place in found if _is_named_signature(headers, place)}:
        return named
    last = {(name, len(parts_of(value)) - 1) for name, value in headers.items()}
    usual = names_of(random) | probe.dated
    usual |= {name for name, value in headers.items() if probe.is_public(value)}
    keys = {(name, number) for name, number in last if name not in usual}
    long = {place for place in keys if len(part_at(headers, place)) >= LONG}
    return found | long or keys or last


def _is_named_signature(headers: Mapping[str, str], place: Place) -> bool:
    return bool(_NAMED.search(place[0])) and len(part_at(headers, place)) >= _RANDOM
