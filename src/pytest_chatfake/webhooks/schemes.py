"""What a signer's headers depend on, found out by calling the signer.

A signer may be any function, so its scheme is only known by the headers that it returns. It is
called twice with the same request, and then with one thing changed at a time: the body, the time or
the id. What differs between the first two calls is *random*: a nonce, or a signature such as
ECDSA's. Of the rest, a long part that changes is a signature, unless no secret is needed for it:
words, the id, the time, a field of the body, or a digest.

If something is random, the signer is called with the same random numbers each time, so that nothing
is. If that can't be done, such as for numbers that OpenSSL draws, and there is no other signature,
the signature is one of the random parts, or a key, and some forgeries rest on an assumption.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import random as stdlib_random
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from random import Random
from threading import get_ident
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from ..base.forks import new_lock
from ..domain.ids import lookalike, other_id
from .endpoints import Signer, WebhookRequest
from .events import Event
from .faults import with_a_space
from .signing import Signature, is_field, sign

#: How far the timestamp of an old forgery is off, in seconds.
DAY: Final = 86_400

#: A part of a header: a word, a number, or a signature in hex or base64, maybe percent-encoded.
_PART = re.compile(r"(?:[\w+/-]|%[\dA-Fa-f]{2})+(?:=+(?![\w+/-]))?")

#: A moment in Unix seconds or milliseconds.
_MOMENT = re.compile(r"\d{10}(?:\d{3})?")

#: A name, such as that of an event's type.
_WORDS = re.compile(r"(?:[A-Z]?[a-z]{2,}+[_/+-]?|[A-Z]{2,}+[_/+-]?)++")

#: The minimum length of a signature, and of one that can be cut off.
_SHORTEST, _LONG = 16, 9

#: How much longer a body is made to see which parts have it inside them; more than ECDSA varies by.
_LONGER: Final = 64

#: What comes before a signature, such as ``sha256=`` or ``Bearer ``.
_LABEL = re.compile(r"\b([A-Za-z][\w-]{0,14})(?=[=:, ]+$)")

#: The name of a header that is likelier to have the signature than a nonce or a request's id.
_HINT = re.compile("sig|hmac|auth|key|token", re.IGNORECASE)

#: The name of a header for a signature, so that a key beside it only says which one has signed; and
#: the minimum length of one that OpenSSL makes from random numbers.
_NAMED = re.compile("sig|hmac|auth", re.IGNORECASE)
_RANDOM = 64

#: How many fields of a body are tried until one is found that is signed.
_MOST_FIELDS = 50

#: A string or a number in JSON (with a second group, it is a key), and a value in a form.
_IN_JSON = re.compile(rb'("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*')
_IN_FORM = re.compile(rb"(?<==)[^&]+")

#: The last digit of a value, and the last letter, unless it is part of an escape.
_LAST_DIGIT = re.compile(rb"\d(?=\D*$)")
_LAST_LETTER = re.compile(rb"(?<![\\%])[A-Za-z](?=[^A-Za-z]*$)")

_DATE = re.compile(rb"\d{4}-\d\d-\d\d")

_UNCOVERED: Final = "the signature does not cover the body"
_UNCERTAIN: Final = "the signature may not cover the body"

#: Where Python's modules draw random bytes: for ``uuid``, and for ``secrets``.
_SOURCES: Final[Any] = (os, "urandom"), (stdlib_random, "_urandom")

#: Held while they are replaced.
_REPEATING: Final = new_lock()

#: Parts of headers: the name of each one's header, and its number there.
_Places: TypeAlias = set[tuple[str, int]]


class _Original:
    """The headers for a request as it is, to compare with those for changed ones.

    Attributes:
        headers: The headers.
        again: Those of a second call.
        random: The parts in which these two differ.
        contents: The parts that have the body inside them, such as an encrypted one.
    """

    def __init__(self, signer: Signer, request: WebhookRequest) -> None:
        self._signer = signer
        self._request = request
        self.body: bytes = request.body
        self.headers: Signature = sign(signer, request)
        self.again: dict[str, str] = self.signed()
        self.random: _Places = _differing(self.headers, self.again)
        self._public = request.id, *_digests(request.body), *_digests(request.id.encode())
        self._shown_in = request.body + request.event.body
        longer = self.signed(body=_longer(request.body))
        grown = {place: len(_part(longer, place)) for place in self.changed(longer)}
        self.contents: _Places = {
            place
            for place, length in grown.items()
            if length >= len(_part(self.headers, place)) + _LONGER
        }

    def signed(self, **changes: Any) -> dict[str, str]:
        """Return the headers for a changed request."""
        try:
            return sign(self._signer, replace(self._request, **changes))
        except Exception:  # a signer that reads the body may not know other values
            return self.headers

    def changed(self, others: dict[str, str]) -> _Places:
        """Return the parts that depend on a change."""
        return _differing(self.headers, others) - self.random

    def signatures(self, others: dict[str, str]) -> _Places:
        """Return the signatures that depend on a change."""
        return {
            place
            for place in self.changed(others) - self.contents
            if _may_sign(part := _part(self.headers, place), _part(others, place))
            and not self.is_public(part)
        }

    def differs_by_signatures(self, others: dict[str, str]) -> bool:
        """Whether only signatures differ, so that an app can't verify by clear parts alone."""
        by = self.signatures(others)
        return bool(by) and by == self.changed(others)

    def dated(self, old: dict[str, str]) -> tuple[set[str], list[int]]:
        """Return the names of the headers that depend on the time, and the times they show."""
        clear = _opened(self.headers)
        places = _differing(clear, _opened(old)) - _differing(clear, _opened(self.again))
        parts = [_part(clear, place) for place in places]
        return _names(places), [int(part[:10]) for part in parts if _MOMENT.fullmatch(part)]

    def may_sign_a_token(self, others: dict[str, str]) -> bool:
        """Whether a part may be a token that is made of the body, and only that is signed."""
        parts = [_part(self.headers, place) for place in self.changed(others) - self.contents]
        tokens = [
            part
            for part in parts
            if len(part) >= _LONG and part.encode() not in self._shown_in and _json_in(part) is None
        ]
        return self.headers.unsigned is not None and len(tokens) > 1

    def is_public(self, text: str) -> bool:
        """Whether anybody can know a text: it is in the body, or shows an id or a digest."""
        text = unquote(text)
        is_shown = any(public in text for public in self._public if len(public) >= _LONG)
        return is_shown or text.encode() in self._shown_in

    def with_another_body(self) -> tuple[int | None, dict[str, str]]:
        """Return the first field on which a signature depends, and the headers with another value.

        If it already depends on the body's bytes, or on no field, the field is None.
        """
        body = self._request.body
        others = self.signed(body=with_a_space(body))
        is_of_bytes = self.signatures(others)
        for number, changed in enumerate(() if is_of_bytes else _changed_fields(body)):
            others = self.signed(body=changed)
            if self.signatures(others):
                return number, others
        return None, others


class Scheme:
    """How a signer signs the requests of one event, as far as its headers show it.

    Args:
        signer: The signer.
        request: A request to sign.
        another: Another event that the endpoint may get, if there is one.

    Attributes:
        signing: The names of the headers that belong to the signature.
        signatures: The names of those that have a signature.
        clocks: The names of those that only show a timestamp.
        signs_body: Whether the signature depends on the body.
        uncovered: Why nobody can refuse this signature with another body; empty if one can.
        is_dated: Whether a timestamp is signed.
        is_certain: Whether it is certain which parts are the signature. If not, they are random, or
            a key that is always the same.
        alternatives: If several headers have signatures, their names, because an app may need only
            one of them.
        substitutes: By the name of each of these, others whose signatures cover as much, because an
            app may verify one of them in its place.
        random: If it is uncertain, the names of the headers with random parts.
        is_dated_apart: Whether only ``clocks`` show the timestamp.
        moments: The times that the headers show, in Unix seconds, such as when a token expires.
    """

    def __init__(self, signer: Signer, request: WebhookRequest, another: Event | None) -> None:
        original = _Original(signer, request)
        headers, random = original.headers, original.random
        if random and not (repeated := _Original(_repeating(signer), request)).random:
            original = repeated
        self._original = original
        old = original.signed(timestamp=request.timestamp - DAY)
        with_other_id = original.signed(_id=other_id(request.id))
        by_time, by_id = original.signatures(old), original.signatures(with_other_id)
        # The field to change in a body; None: its bytes.
        self._field, with_other_body = original.with_another_body()
        by_body = original.signatures(with_other_body)
        found = by_body | by_time | by_id
        if not found and another is not None:
            posted = another._posted(another.body)
            with_another = original.signed(event=another, body=posted, _id=another.id)
            found = original.signatures(with_another)
        shown, moments = original.dated(old)
        self.moments: list[int] = moments
        self.is_certain: bool = bool(found)
        self.is_dated: bool = bool(by_time)
        self.signs_body: bool = bool(by_body)
        self.uncovered: str = ""
        self.random: list[str] = []
        # Can an app notice another body?
        if found and not by_body:
            event = another or request.event
            with_another = original.signed(event=event, body=event._posted(event.body))
            if not any(map(original.differs_by_signatures, (with_other_id, with_another))):
                self.uncovered = _UNCOVERED
        elif original.may_sign_a_token(with_other_body):
            self.signs_body, self.uncovered = False, _UNCERTAIN
        # If no signature was found, it is a random part or a key.
        if not found:
            self._field = 0 if _reads_fields(signer, request) else None
            found = self._assume(original, random, shown)
        # The headers that show it.
        self._places: dict[str, set[int]] = {}  # of what may be the signature, by header
        for name, number in found:
            self._places.setdefault(name, set()).add(number)
        self.alternatives: list[str] = [*self._places] if len(self._places) > 1 else []
        covered = [_names(by_body), _names(by_time), _names(by_id)]
        self.substitutes: dict[str, list[str]] = {
            name: [
                other
                for other in self.alternatives
                if other != name and all(other in by for by in covered if name in by)
            ]
            for name in self.alternatives
            if self.is_certain
        }
        self.signatures: frozenset[str] = frozenset(self._places)
        names = {*self._places}
        # A signature is only right beside its own nonce.
        self._moving: _Places = found | (random - original.contents - _tokens(headers, random))
        if found & random:
            names |= _names(self._moving)
        if self.is_dated:
            names |= shown
        if by_id:
            names |= _names(original.changed(with_other_id))
        self.signing: list[str] = [name for name in headers if name in names]
        self.clocks: list[str] = [
            name
            for name in self.signing
            if name in shown and _shape(headers[name]) == _shape(old.get(name, ""))
        ]
        self.is_dated_apart: bool = shown <= {*self.clocks}

    def _assume(self, original: _Original, random: _Places, shown: set[str]) -> _Places:
        # The signature may be any random part, or a key that is always the same.
        headers, body = original.headers, original.body
        if random and headers.unsigned is not None:
            self.uncovered = _UNCERTAIN
        elif random and not original.random:
            self.uncovered = _UNCOVERED
        is_changeable = self._field is None or any(_changed_fields(body))
        self.signs_body = bool(random) and is_changeable and not self.uncovered
        self.is_dated = bool(random and shown)
        found = (random - _tokens(headers, random) - original.contents) or random
        self.random = [name for name in headers if name in _names(found)]
        if signatures := {place for place in found if _is_named_signature(headers, place)}:
            return signatures
        usual = _names(random) | shown
        keys = {
            (name, -1)
            for name, value in headers.items()
            if name not in usual and not original.is_public(value)
        }
        long = {place for place in keys if len(_part(headers, place)) >= _LONG}
        return found | long or keys or {(name, -1) for name in headers}

    def changed(self, body: bytes) -> bytes:
        """Return a body that differs in what is signed, and is as valid as before."""
        if self._field is None:
            return with_a_space(body)
        return next(islice(_changed_fields(body), self._field, None))

    def wrong(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return wrong signatures of the same form, in their headers."""
        return {
            name: _rewritten(headers[name], numbers, _with_another_end)
            for name, numbers in self._places.items()
        }

    def has_another_for(self, **changes: Any) -> bool:
        """Whether the signature is another one for a changed request."""
        if self.is_certain:
            return bool(self._original.signatures(self._original.signed(**changes)))
        return bool(self.random) and changes["body"] != self._original.body

    def moved(self, signature: Signature, signed: Signature) -> Signature:
        """Return a signature on something else: what a signer has written into ``signed``.

        A signer that makes the whole body writes the event as well, such as in base64, and perhaps
        into the same field.
        """
        moved = {**signature}
        for name in filter(is_field, signed):
            parts = _PART.findall(signature.get(name, ""))
            others = [*_PART.finditer(signed[name])]
            moved[name] = signed[name]
            if len(parts) == len(others):
                moving = {number for place, number in self._moving if place == name}
                for number in sorted(moving, reverse=True):
                    start, end = others[number].span()
                    moved[name] = moved[name][:start] + parts[number] + moved[name][end:]
        return signed.forged(moved)

    def bare(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return wrong signatures without what usually surrounds them; empty if nothing does."""
        wrong = self.wrong(headers)
        bare = {name: _part(wrong, (name, max(self._places[name]))) for name in wrong}
        return {} if bare == wrong else bare

    def renamed(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return wrong signatures of another scheme, such as ``sha1=...``."""
        return {
            name: _labelled(value, self._places[name])
            for name, value in self.wrong(headers).items()
        }

    def cut(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return signatures without their ends, in their headers; empty if they are too short."""
        places = self._places
        # Only the longest part, because a nonce has to stay the same.
        if places and not self.is_certain:
            _, length, name = max(
                (bool(_HINT.search(name)), len(part), name)
                for name, numbers in places.items()
                for part in (_part(headers, (name, number)) for number in numbers)
            )
            numbers = places[name]
            is_as_long = {n for n in numbers if len(_part(headers, (name, n))) > 0.9 * length}
            places = {name: is_as_long}
        cut = {name: _rewritten(headers[name], places[name], _without_its_end) for name in places}
        return {name: value for name, value in cut.items() if value != headers[name]}


@contextmanager
def _same_random_numbers() -> Generator[None]:
    """Let this thread draw the same random numbers each time; other threads draw any."""
    thread, draw, genuine = get_ident(), Random(0).randbytes, os.urandom  # noqa: S311

    def urandom(size: int, /) -> bytes:
        return draw(size) if get_ident() == thread else genuine(size)

    with _REPEATING:
        state = stdlib_random.getstate()
        stdlib_random.seed(0)
        for module, name in _SOURCES:
            setattr(module, name, urandom)
        try:
            yield
        finally:
            for module, name in _SOURCES:
                setattr(module, name, genuine)
            stdlib_random.setstate(state)


def _repeating(signer: Signer) -> Signer:
    def sign_again(request: WebhookRequest) -> Any:
        with _same_random_numbers():
            return signer(request)

    return sign_again


def _differing(headers: Mapping[str, str], others: Mapping[str, str]) -> _Places:
    places: _Places = set()
    for name, value in headers.items():
        parts, other_parts = _PART.findall(value), _PART.findall(others.get(name, ""))
        is_similar = len(parts) == len(other_parts)
        places |= {
            (name, number)
            for number, part in enumerate(parts)
            if not is_similar or part != other_parts[number]
        }
    return places


def _names(places: _Places) -> set[str]:
    return {name for name, _ in places}


def _part(headers: Mapping[str, str], place: tuple[str, int]) -> str:
    name, number = place
    parts = _PART.findall(headers.get(name, ""))
    return parts[number] if -1 <= number < len(parts) and parts else ""


def _is_named_signature(headers: Mapping[str, str], place: tuple[str, int]) -> bool:
    return bool(_NAMED.search(place[0])) and len(_part(headers, place)) >= _RANDOM


def _may_sign(part: str, other: str) -> bool:
    return (
        len(part) >= _SHORTEST
        and not _WORDS.fullmatch(part)
        and _shape(part) != _shape(other)
        and _json_in(part) is None
    )


def _shape(text: str) -> str:
    return re.sub(r"\d", "", text)


def _digests(body: bytes) -> Iterator[str]:
    for name in ("md5", "sha1", "sha256", "sha512"):
        digest = hashlib.new(name, body, usedforsecurity=False).digest()
        yield digest.hex()
        yield base64.b64encode(digest).decode().rstrip("=")


def _json_in(part: str) -> str | None:
    # The parts of a JSON Web Token are JSON in base64.
    with_padding = part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4)
    try:
        text = base64.urlsafe_b64decode(with_padding).decode()
    except (binascii.Error, ValueError):
        return None
    return text if text.startswith("{") else None


def _opened(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name: _PART.sub(lambda part: _json_in(part[0]) or part[0], value)
        for name, value in headers.items()
    }


def _tokens(headers: Mapping[str, str], places: _Places) -> _Places:
    return {place for place in places if _json_in(_part(headers, place)) is not None}


def _reads_fields(signer: Signer, request: WebhookRequest) -> bool:
    # A function that signs fields has to parse the body.
    try:
        sign(signer, replace(request, body=request.body + b"{"))
    except Exception:
        return True
    return False


def _longer(body: bytes) -> bytes:
    more = b"0" * _LONGER
    if body.lstrip()[:1] == b"{":
        return body.replace(b"{", b'{"more":"%b",' % more, 1)
    return body + b"&more=" + more


def _changed_fields(body: bytes) -> Iterator[bytes]:
    """Yield bodies in which one field has another valid value; amounts and times come first."""
    is_json = body.lstrip()[:1] in {b"{", b"["}
    found = (_IN_JSON if is_json else _IN_FORM).finditer(body)
    values = [value for value in found if not is_json or value[2] is None]
    values.reverse()  # ids, which come first, are often looked up
    for value in sorted(values, key=_rank)[:_MOST_FIELDS]:
        start, end = value.span()
        changed = _LAST_DIGIT.sub(_other_digit, value[0])
        if changed == value[0]:
            changed = _LAST_LETTER.sub(lambda letter: letter[0].swapcase(), changed)
        if changed != value[0]:
            yield body[:start] + changed + body[end:]


def _rank(value: re.Match[bytes]) -> int:
    if value[0][:1] not in b'"' and value.re is _IN_JSON:
        return 0
    return 1 if _DATE.search(value[0]) else 2


def _other_digit(digit: re.Match[bytes]) -> bytes:
    return lookalike(digit[0].decode()).encode()


def _rewritten(value: str, numbers: Iterable[int], change: Callable[[str], str]) -> str:
    """Return a header's value with some of its parts changed."""
    parts = [*_PART.finditer(value)]
    chosen = {number % len(parts) for number in numbers if number < len(parts)} if parts else ()
    for number in sorted(chosen, reverse=True):
        start, end = parts[number].span()
        value = value[:start] + change(value[start:end]) + value[end:]
    return value


def _labelled(value: str, numbers: Iterable[int]) -> str:
    parts = [*_PART.finditer(value)]
    there = [parts[number] for number in numbers if parts and number < len(parts)]
    labels = {label.span() for part in there if (label := _LABEL.search(value[: part.start()]))}
    if not labels:
        return f"sha1={value}"
    for start, end in sorted(labels, reverse=True):
        value = value[:start] + ("md5" if value[start:end] == "sha1" else "sha1") + value[end:]
    return value


def _with_another_end(signature: str) -> str:
    # It can still be decoded: the last letter of base64 has unused bits, and the beginning may have
    # the lengths of what follows.
    end = len(signature.rstrip("=")) - (len(signature) >= _LONG)
    start = max(0, end - _SHORTEST)
    return signature[:start] + lookalike(signature[start:end]) + signature[end:]


def _without_its_end(signature: str) -> str:
    return signature[:-4] if len(signature) >= _LONG else signature
