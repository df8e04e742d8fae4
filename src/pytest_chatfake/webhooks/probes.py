"""Finds out what the headers of a signer depend on, by calling it.

It is called twice with the same request, and then with one thing changed at a time: the body, the
time or the id. What differs between the first two calls is *random*: a nonce, or a signature such
as ECDSA's. Of the rest, a long part that changes is a signature, unless no secret is needed for it:
words, the id, the time, a field of the body, or a digest.

If something is random, the signer is called with the same random numbers each time, so that nothing
is. That can't be done for numbers that OpenSSL draws.
"""

from __future__ import annotations

import base64
import hashlib
import os
import random as stdlib_random
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from threading import get_ident
from typing import Any, Final
from urllib.parse import unquote

from ..base.forks import new_lock
from ..domain.ids import other_id
from .changed_bodies import LONGER, longer, with_another_field
from .endpoints import Signer, WebhookRequest
from .events import Event
from .faults import with_a_space
from .header_parts import (
    LONG,
    SHORTEST,
    Places,
    differing,
    json_in,
    names_of,
    opened,
    part_at,
    tokens,
    without_digits,
)
from .signing import Signature, sign

#: How far the timestamp of an old forgery is off, in seconds.
DAY: Final = 86_400

#: A moment in Unix seconds or milliseconds.
_MOMENT = re.compile(r"(\d{10})(?:\d{3})?")

#: A name, such as that of an event's type.
_WORDS = re.compile(r"(?:[A-Z]?[a-z]{2,}+[_/+-]?|[A-Z]{2,}+[_/+-]?)++")

#: Where Python's modules draw random bytes: for ``uuid``, and for ``secrets``.
_SOURCES: Final[Any] = (os, "urandom"), (stdlib_random, "_urandom")

#: Held while they are replaced.
_REPEATING: Final = new_lock()


class Probe:
    """Calls a signer with a request and with changed ones, and compares the headers.

    Attributes:
        body: The request's body.
        headers: The headers for the request as it is.
        random: The parts that differ in a second call.
        contents: The parts that have the body inside them, such as an encrypted one.
    """

    def __init__(self, signer: Signer, request: WebhookRequest) -> None:
        self._signer = signer
        self._request = request
        self.body: bytes = request.body
        self._public = request.id, *_digests(request.body), *_digests(request.id.encode())
        self._shown_in = request.body + request.event.body
        self.headers: Signature = sign(signer, request)
        self._again = self.signed()
        self.random: Places = differing(self.headers, self._again)
        with_more = self.signed(body=longer(request.body))
        self.contents: Places = {
            place
            for place in self.changed(with_more)
            if len(part_at(with_more, place)) >= len(part_at(self.headers, place)) + LONGER
        }

    def steadied(self) -> Probe:
        """Return a probe that draws the same random numbers at each call.

        If something is random even then, or nothing was before, it is this one.
        """
        if not self.random:
            return self
        steadied = Probe(_repeating(self._signer), self._request)
        return self if steadied.random else steadied

    def signed(self, **changes: Any) -> dict[str, str]:
        """Return the headers for a changed request."""
        try:
            return sign(self._signer, replace(self._request, **changes))
        except Exception:  # a signer that reads the body may not know other values
            return self.headers

    def parses_the_body(self) -> bool:
        """Whether it can't sign what is no JSON, so that it signs fields and not bytes."""
        try:
            sign(self._signer, replace(self._request, body=self.body + b"{"))
        except Exception:
            return True
        return False

    def changed(self, others: Mapping[str, str]) -> Places:
        """Return the parts that depend on a change."""
        return differing(self.headers, others) - self.random

    def signatures(self, others: Mapping[str, str]) -> Places:
        """Return the signatures that depend on a change."""
        return {
            place
            for place in self.changed(others) - self.contents
            if _may_sign(part := part_at(self.headers, place), part_at(others, place))
            and not self.is_public(part)
        }

    def differs_by_signatures(self, others: Mapping[str, str]) -> bool:
        """Whether only signatures depend on a change, so that an app has to verify these."""
        by = self.signatures(others)
        return bool(by) and by == self.changed(others)

    def is_public(self, text: str) -> bool:
        """Whether anybody can know a text: it is in the body, or shows an id or a digest."""
        text = unquote(text)
        is_shown = any(public in text for public in self._public if len(public) >= LONG)
        return is_shown or text.encode() in self._shown_in

    def may_sign_a_token(self, others: Mapping[str, str]) -> bool:
        """Whether a part may be a token that is made of the body, and only that is signed."""
        places = self.changed(others) - self.contents
        parts = [part_at(self.headers, place) for place in places - tokens(self.headers, places)]
        of_the_signer = [
            part for part in parts if len(part) >= LONG and part.encode() not in self._shown_in
        ]
        return self.headers.unsigned is not None and len(of_the_signer) > 1

    def dated(self, old: Mapping[str, str]) -> tuple[set[str], list[int]]:
        """Return the names of the headers that show a time, and the times, in Unix seconds."""
        clear = opened(self.headers)
        places = differing(clear, opened(old)) - differing(clear, opened(self._again))
        moments = [_MOMENT.fullmatch(part_at(clear, place)) for place in places]
        return names_of(places), [int(moment[1]) for moment in moments if moment]

    def with_another_body(self) -> tuple[int | None, dict[str, str]]:
        """Return the first field on which a signature depends, and the headers with another value.

        The field is None if a signature already depends on the body's bytes, or on no field.
        """
        others = self.signed(body=with_a_space(self.body))
        if self.signatures(others):
            return None, others
        for number, changed in enumerate(with_another_field(self.body)):
            others = self.signed(body=changed)
            if self.signatures(others):
                return number, others
        return None, others


@dataclass(frozen=True, slots=True)
class Answers:
    """What a signer has returned for a request, and for changed ones.

    Attributes:
        first: The first probe, with random numbers.
        probe: The one that was asked: if possible, nothing is random.
        old: The headers of a day ago.
        with_other_id: Those for another event id.
        with_other_body: Those for a change of the body.
        field: The field that was changed there; None: its bytes.
        with_another: Those for another event.
        dated: The names of the headers that show a time.
        moments: The times that they show, in Unix seconds, such as when a token expires.
    """

    first: Probe
    probe: Probe
    old: Mapping[str, str]
    with_other_id: Mapping[str, str]
    with_other_body: Mapping[str, str]
    field: int | None
    with_another: Mapping[str, str]
    dated: set[str]
    moments: list[int]

    @property
    def nonces(self) -> Places:
        """The random parts that may be nonces or signatures: the others say something."""
        random = self.first.random
        return random - self.probe.contents - tokens(self.first.headers, random)


def answers_of(signer: Signer, request: WebhookRequest, another: Event | None) -> Answers:
    """Ask a signer.

    Args:
        signer: The signer.
        request: A request to sign.
        another: Another event that the endpoint may get; without one, the same event under its own
            id takes its place.
    """
    first = Probe(signer, request)
    probe = first.steadied()
    field, with_other_body = probe.with_another_body()
    event = another or request.event
    old = probe.signed(timestamp=request.timestamp - DAY)
    dated, moments = probe.dated(old)
    return Answers(
        first,
        probe,
        old=old,
        with_other_id=probe.signed(_id=other_id(request.id)),
        with_other_body=with_other_body,
        field=field,
        with_another=probe.signed(event=event, body=event._posted(event.body)),
        dated=dated,
        moments=moments,
    )


def _may_sign(part: str, other: str) -> bool:
    return (
        len(part) >= SHORTEST
        and not _WORDS.fullmatch(part)
        and without_digits(part) != without_digits(other)
        and json_in(part) is None
    )


def _digests(body: bytes) -> Iterator[str]:
    for name in ("md5", "sha1", "sha256", "sha512"):
        digest = hashlib.new(name, body, usedforsecurity=False).digest()
        yield digest.hex()
        yield base64.b64encode(digest).decode().rstrip("=")


def _repeating(signer: Signer) -> Signer:
    def sign_again(request: WebhookRequest) -> Any:
        with _same_random_numbers():
            return signer(request)

    return sign_again


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
