"""Finds out what the headers of a signer depend on, by calling it.

It is called twice with the same request, and then with one thing changed at a time: the body, the
time, the id or the event. What differs between the first two calls is *random*: a nonce, or a
signature such as ECDSA's. Of the rest, a long part that changes is a signature, unless no secret is
needed for it: words, the id, the time, a field of the body, or a digest.

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
from dataclasses import replace
from random import Random
from threading import get_ident
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from ..base.forks import new_lock
from ..domain.ids import other_id
from .changed_bodies import LONGER, Change, changes_of, longer
from .endpoints import Signer, WebhookRequest
from .events import Event
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
from .signing import sign

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


class Answer(NamedTuple):
    """What a signer returned for a changed request.

    Attributes:
        headers: Its headers.
        changed: The parts that depend on the change.
        signatures: Those that nobody can make without the secret.
    """

    headers: Mapping[str, str]
    changed: Places
    signatures: Places


class Probe:
    """Calls a signer with a request and with changed ones, and compares the headers.

    Args:
        signer: The signer.
        request: The request.
        another: Another event that the endpoint may get; without one, the same event under its own
            id takes its place.

    Attributes:
        body: The request's body.
        headers: The headers for the request as it is.
        makes_body: Whether the signer makes the whole body.
        random: The parts that differ in a second call.
        unsteady: Those that do so even if the same random numbers are drawn.
        contents: The parts that have the body inside them, such as an encrypted one.
        with_other_body: The answer to a body that was changed by ``change``; if a signature depends
            on the body, it depends on that.
        with_other_id: The answer to another event id.
        with_other_event: The answer to another event.
        old: The answer to the time of a day ago.
        dated: The names of the headers that show a time.
        moments: The times that they show, in Unix seconds, such as when a token expires.
    """

    def __init__(self, signer: Signer, request: WebhookRequest, another: Event | None) -> None:
        self._signer = signer
        self._request = request
        self.body: bytes = request.body
        self._public = request.id, *_digests(request.body), *_digests(request.id.encode())
        self._shown_in = request.body + request.event.body
        genuine = sign(signer, request)
        self.makes_body: bool = genuine.body != request.body
        self.headers: Mapping[str, str] = genuine
        self._steady: Mapping[str, str] = genuine  # what answers are compared with
        self.unsteady: Places = set()
        self.contents: Places = set()
        again = self.ask()
        self.random: Places = again.changed
        if self.random:
            self._signer = _repeating(signer)
            self._steady = self.ask().headers
            again = self.ask()
        self.unsteady = again.changed
        grown = self.ask(body=longer(request.body))
        self.contents = {
            place
            for place in grown.changed
            if len(part_at(grown.headers, place)) >= len(part_at(self._steady, place)) + LONGER
        }
        answer, change = self._find_change()
        self.with_other_body: Answer = answer
        self.change: Change = change
        self.with_other_id: Answer = self.ask(_id=other_id(request.id))
        event = another or request.event
        self.with_other_event: Answer = self.ask(event=event, body=event._posted(event.body))
        self.old: Answer = self.ask(timestamp=request.timestamp - DAY)
        clear = opened(self._steady)
        times = differing(clear, opened(self.old.headers)) - differing(clear, opened(again.headers))
        shown = [_MOMENT.fullmatch(part_at(clear, place)) for place in times]
        self.dated: set[str] = names_of(times)
        self.moments: list[int] = [int(moment[1]) for moment in shown if moment]

    def ask(self, **changes: Any) -> Answer:
        """Return what the signer returns for a changed request."""
        try:
            headers: Mapping[str, str] = sign(self._signer, replace(self._request, **changes))
        except Exception:  # a signer that reads the body may not know other values
            headers = self._steady
        changed = differing(self._steady, headers) - self.unsteady
        signatures = {
            place
            for place in changed - self.contents
            if _may_sign(part := part_at(self._steady, place), part_at(headers, place))
            and not self.is_public(part)
        }
        return Answer(headers, changed, signatures)

    def _find_change(self) -> tuple[Answer, Change]:
        # The first change of the body on which a signature depends, or else the last.
        *changes, last = changes_of(self.body)
        for change in changes:
            if (answer := self.ask(body=change(self.body))).signatures:
                return answer, change
        return self.ask(body=last(self.body)), last

    @property
    def nonces(self) -> Places:
        """The random parts that may be nonces or signatures: the others say something."""
        return self.random - self.contents - tokens(self.headers, self.random)

    @property
    def parses_the_body(self) -> bool:
        """Whether it can't sign what is no JSON, so that it signs fields and not bytes."""
        try:
            sign(self._signer, replace(self._request, body=self.body + b"{"))
        except Exception:
            return True
        return False

    @property
    def may_sign_a_token(self) -> bool:
        """Whether a part may be a token that is made of the body, and only that is signed."""
        places = self.with_other_body.changed - self.contents
        parts = [part_at(self._steady, place) for place in places - tokens(self._steady, places)]
        of_the_signer = [
            part for part in parts if len(part) >= LONG and part.encode() not in self._shown_in
        ]
        return self.makes_body and len(of_the_signer) > 1

    def is_public(self, text: str) -> bool:
        """Whether anybody can know a text: it is in the body, or shows an id or a digest."""
        text = unquote(text)
        is_shown = any(public in text for public in self._public if len(public) >= LONG)
        return is_shown or text.encode() in self._shown_in


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
    thread, draw = get_ident(), Random(0).randbytes  # noqa: S311

    def urandom(size: int, /) -> bytes:
        return draw(size) if get_ident() == thread else genuine(size)

    with _REPEATING:
        genuine, before = os.urandom, [getattr(module, name) for module, name in _SOURCES]
        state = stdlib_random.getstate()
        stdlib_random.seed(0)
        for module, name in _SOURCES:
            setattr(module, name, urandom)
        try:
            yield
        finally:
            for (module, name), source in zip(_SOURCES, before, strict=True):
                setattr(module, name, source)
            stdlib_random.setstate(state)
