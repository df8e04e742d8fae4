"""Signs webhooks: a signer takes the request and returns the headers that sign it.

The service's description shows no signatures (§5 rule 4), so nothing is signed by default.
"""

from __future__ import annotations

import base64
import binascii
import copy
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from string import Formatter
from typing import Any, Literal, TypeAlias, cast

from ..base.arguments import (
    check_bytes,
    check_choice,
    check_function,
    check_str,
    cited,
    unexpected,
    utf8,
)
from ..base.views import listed
from ..domain.instants import SECOND, parse_offset
from ..transport.client.headers import check_header, complete_headers
from .endpoints import Signer, WebhookRequest
from .fields import GONE, fields_of, rewritten
from .outbound import body_of

#: The maximum length of the signed content in reports, in bytes.
_BEGINNING = 24


def check_signer(value: object) -> None:
    """Raise a TypeError unless the signer is None or a plain function that takes a request."""
    if isinstance(value, type):
        name = value.__name__
        raise TypeError(
            f"signer: expected a function of the request, got the class {name} (call it)"
        )
    if value is not None:
        check_function(value, "signer", 'lambda request: {"X-Signature": "..."}', "the request")


class Signature(dict[str, str]):
    """The headers of a signature and, if it is inside the body, its fields: ``body.signature``.

    Attributes:
        body: The body to post; it has these fields.
    """

    def __init__(self, values: Mapping[str, str], body: bytes) -> None:
        super().__init__(values)
        self.body = body

    @property
    def headers(self) -> dict[str, str]:
        return {name: value for name, value in self.items() if not is_field(name)}

    def forged(self, values: Mapping[str, str]) -> Signature:
        """Return other values, with the body that has them; fields without a value are left out."""

        def forge(name: str, value: Any) -> Any:
            if name not in self or values.get(name) == self[name]:
                return value
            return _of_the_type(value, values[name]) if name in values else GONE

        fields = {name: value for name, value in self.items() if is_field(name)}
        is_same = fields.items() <= values.items()  # the headers may sign the body's very bytes
        return Signature(values, self.body if is_same else rewritten(self.body, forge))


def sign(signer: Signer, request: WebhookRequest) -> Signature:
    """Return what a signer adds; raise a TypeError if a name or a value is not a string."""
    headers: Any = signer(request)
    if isinstance(headers, Signature):  # of a forgery
        return headers
    returned, signature = f"what the signer {cited(signer)} returned", Signature({}, request.body)
    if isinstance(headers, tuple) and len(headers) == 2:  # pyright: ignore[reportUnknownArgumentType] - a user's
        headers, body = cast("tuple[Any, object]", headers)
        signature = _inside(body_of(body, returned), request)
        if not signature:
            raise TypeError(f"{returned}: expected JSON or a form with a signature in it")
    items: list[Any] = [*headers.items()] if isinstance(headers, Mapping) else [(None,)]
    if not all(isinstance(part, str) for item in items for part in item):
        raise TypeError(
            unexpected(returned, "a mapping of header names to strings", cast("object", headers))
        )
    signature |= {str.__str__(name): str.__str__(value) for name, value in items}
    return signature


def _inside(body: bytes, request: WebhookRequest) -> Signature:
    # The signature inside a body that a signer has made: the fields that it has added or changed.
    before, after = fields_of(request.body), fields_of(body)
    added = {name: str(value) for name, value in after.items() if value != before.get(name)}
    return Signature(added, body)


def _of_the_type(value: Any, text: str) -> int | str:
    # A number stays a number, so that the app can still parse the body.
    return int(text) if isinstance(value, int) and text.isdecimal() else text


def is_field(name: str) -> bool:
    """Return whether this names a field of the body, not a header."""
    return name.startswith(("body.", "body["))


def flaw_of(signer: Signer, own: Signer | None, headers: Mapping[str, str]) -> str:
    """Describe what is wrong with a signature, compared with the endpoint's own signer."""
    if not headers:
        return "missing signature"
    if isinstance(signer, OwnSigner) and type(signer) is type(own):
        usual = vars(own)
        later = signer._offset - usual["_offset"]
        if later and vars(signer) == usual | {"_offset": signer._offset}:
            return f"{'stale' if later < 0 else 'early'} signature, {later:+} s"
    return "wrong signature"


def guessed(signer: Signer, request: WebhookRequest) -> dict[str, str] | None:
    """Sign with a different secret; None if the signer is a function, whose secret is unknown.

    Retired secrets are used if there are any, because an app may wrongly still accept them.
    """
    if not isinstance(signer, OwnSigner):
        return None
    ever: list[Any] = request.endpoint._signers
    former = dict.fromkeys(secret for own in ever for secret in own._secrets)
    for secret in signer._secrets:
        del former[secret]
    return _with(signer, (*former,) or (b"not " + b"".join(signer._secrets),))(request)


def how_signed(request: WebhookRequest) -> str:
    """Describe how an attempt was signed: the headers and the signed bytes, but no secrets."""
    signer, usual = request.endpoint.signer, request.endpoint.headers
    if isinstance(signer, OwnSigner):
        content = signer._content_of(request)
        over = f"{len(content):,} bytes, {content[:_BEGINNING]!r}..."
        return f"signed in {signer._scheme} over {over}"
    names = [name for name in request.headers if name not in usual]
    own = listed(names) if names else "its body"
    return f"signed in {own} by the signer= function"


def rotated(signer: OwnSigner, secret: str | bytes) -> OwnSigner:
    """Return a copy of a signer that signs with a new secret as well."""
    new = (_secret if isinstance(signer, HmacSigner) else _decoded)(secret)
    if new in signer._secrets:
        raise ValueError("secret: expected a new one, got one that signs already")
    return _with(signer, (new, *signer._secrets))


def retired(signer: OwnSigner) -> OwnSigner:
    """Return a copy of a signer that signs with its newest secret alone, if it has several."""
    return _with(signer, signer._secrets[:1]) if len(signer._secrets) > 1 else signer


def _with(signer: OwnSigner, secrets: tuple[bytes, ...]) -> OwnSigner:
    other = copy.copy(signer)
    other._secrets = secrets
    return other


class HmacSigner:
    """Signs webhooks with HMAC, by default SHA-256 over ``{timestamp}.{body}`` in hex (assumed).

    Example::

        signer = HmacSigner("the secret", header="X-Hub-Signature-256", format="sha256={signature}",
                            content="{body}")
        chat_fake.webhooks.connect(wsgi=app, path="/hooks/chat", signer=signer)

    Args:
        secret: The shared secret, a string or bytes.
        secrets: Several secrets in place of ``secret``, the newest first; each one signs.
        header: The name of the header.
        format: The value of the header. ``{timestamp}`` is in Unix seconds; ``{signature}`` is
            encoded as ``encoding`` says. With several secrets, only the part with the signature
            is repeated, separated as the format's parts are: ``t=1,s=...,s=...``,
            ``ts=1;h1=...;h1=...``. If the format has one part, commas separate the signatures.
        content: The template for what is signed; ``{body}`` stands for the exact bytes of the
            attempt.
        timestamp_header: The name of a second header, which has only the timestamp.
        digest: The name of the hash function, such as ``"sha256"``.
        encoding: ``"hex"``, in lower case, or ``"base64"``.
        offset: A ``timedelta`` or seconds to add to the timestamp: negative for a stale signature,
            positive for one from the future.
        rotation: What :meth:`Webhooks.rotate_secret` does: ``"overlap"`` signs with the old secret
            as well until it is retired, and ``"cutover"`` signs with the new one only. If None, a
            format with one part, such as ``sha256={signature}``, has no room for two signatures, so
            it cuts over, unless several ``secrets`` are given; every other format overlaps.

    Raises:
        TypeError: Both ``secret`` and ``secrets`` are given, or neither.
        ValueError: A secret is empty or given twice, HTTP does not allow a header's name or value,
            a template has an unknown field, or the timestamp is signed but not sent.
    """

    def __init__(
        self,
        secret: str | bytes | None = None,
        *,
        secrets: Sequence[str | bytes] | None = None,
        header: str = "X-Signature",
        format: str = "t={timestamp},s={signature}",  # noqa: A002 - a public name
        content: str = "{timestamp}.{body}",
        timestamp_header: str | None = None,
        digest: str = "sha256",
        encoding: Literal["hex", "base64"] = "hex",
        offset: timedelta | float = 0,
        rotation: Literal["overlap", "cutover"] | None = None,
    ) -> None:
        self._secrets = _keys(_secret, secret, secrets)
        self._header = check_header(header, "header")
        shown = _has_timestamp(format, "format", "signature")
        complete_headers([(self._header, format)], "")  # refuses what HTTP does not allow
        self._format = format
        signed = _has_timestamp(content, "content", "body")
        utf8(content, "content")  # refuses content that can't be encoded later
        self._content = content
        self._timestamp_header = timestamp_header
        if timestamp_header is not None:
            self._timestamp_header = check_header(timestamp_header, "timestamp_header")
            if timestamp_header.lower() == header.lower():
                raise ValueError(
                    f"header and timestamp_header must differ: both are {cited(header)}"
                )
        self._digest = check_choice(digest, "digest", _DIGESTS)
        self._encoding = check_choice(encoding, "encoding", ("hex", "base64"))
        self._offset = _whole_seconds(offset)
        carried = shown or timestamp_header is not None
        if signed and not carried:
            raise ValueError(
                f"format: expected {{timestamp}} in it, because the timestamp is signed, got "
                f"{cited(format)}. Or name a timestamp_header, or sign the body alone with "
                f'content="{{body}}".'
            )
        if self._offset and not carried:
            raise ValueError("offset: expected 0, because this scheme has no timestamp")
        self._separator, self._repeated = _repeated(format)
        has_room = self._separator or len(self._secrets) > 1
        usual = "overlap" if has_room else "cutover"
        choices = (None, "overlap", "cutover")
        self._overlaps = (check_choice(rotation, "rotation", choices) or usual) == "overlap"
        if len(self._secrets) > 1 and not self._overlaps:
            raise ValueError(
                "rotation: expected 'overlap' or None, because several secrets= sign at once, got "
                "'cutover'"
            )

    def __repr__(self) -> str:
        shift = f", offset={self._offset}" if self._offset else ""
        return f"HmacSigner(..., header={self._header!r}, format={self._format!r}{shift})"

    def __call__(self, request: WebhookRequest) -> dict[str, str]:
        timestamp, content = request.timestamp + self._offset, self._content_of(request)
        encode = bytes.hex if self._encoding == "hex" else _base64
        first, *others = (
            encode(hmac.digest(secret, content, self._digest)) for secret in _signing(self)
        )
        parts = [self._format.format(timestamp=timestamp, signature=first)]
        parts += [self._repeated.format(timestamp=timestamp, signature=mac) for mac in others]
        headers = {self._header: (self._separator or ",").join(parts)}
        if self._timestamp_header is not None:
            headers[self._timestamp_header] = str(timestamp)
        return headers

    @property
    def _scheme(self) -> str:
        time = f" (with {self._timestamp_header})" if self._timestamp_header else ""
        how = f"HMAC-{self._digest.upper()} in {self._encoding}"
        return f"{self._header}{time} as {self._format} by {how}"

    def _content_of(self, request: WebhookRequest) -> bytes:
        body = request.body.decode(errors="surrogateescape")  # restores any bytes exactly
        signed = self._content.format(timestamp=request.timestamp + self._offset, body=body)
        return signed.encode(errors="surrogateescape")


#: The hash functions that every Python has, except those with a variable length.
_DIGESTS = tuple(sorted(name for name in hashlib.algorithms_guaranteed if "shake" not in name))


class StandardWebhooksSigner:
    """Signs ``{id}.{timestamp}.{body}``, as the Standard Webhooks specification says (assumed).

    The headers are ``webhook-id``, ``webhook-timestamp`` and ``webhook-signature``. The signature
    is ``v1,`` and base64, or ``v1,... v1,...`` with several secrets.

    Args:
        secret: ``whsec_`` followed by base64, the base64 alone, or the secret's bytes.
        secrets: Several secrets in place of ``secret``, the newest first.
        offset: A ``timedelta`` or seconds to add to the timestamp, as for :class:`HmacSigner`.

    Raises:
        TypeError: Both ``secret`` and ``secrets`` are given, or neither.
        ValueError: A secret is empty, given twice, or not base64.
    """

    def __init__(
        self,
        secret: str | bytes | None = None,
        *,
        secrets: Sequence[str | bytes] | None = None,
        offset: timedelta | float = 0,
    ) -> None:
        self._secrets = _keys(_decoded, secret, secrets)
        self._offset = _whole_seconds(offset)

    def __repr__(self) -> str:
        shift = f", offset={self._offset}" if self._offset else ""
        return f"StandardWebhooksSigner(...{shift})"

    def __call__(self, request: WebhookRequest) -> dict[str, str]:
        timestamp, signed = request.timestamp + self._offset, self._content_of(request)
        macs = [hmac.digest(secret, signed, "sha256") for secret in _signing(self)]
        return {
            "webhook-id": request.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": " ".join("v1," + _base64(mac) for mac in macs),
        }

    _overlaps = True
    _scheme = "webhook-signature as v1,{signature} by HMAC-SHA256 in base64"

    def _content_of(self, request: WebhookRequest) -> bytes:
        timestamp = request.timestamp + self._offset
        return b"%b.%d.%b" % (request.id.encode(), timestamp, request.body)


#: Our own signers, whose secrets are known.
OwnSigner: TypeAlias = HmacSigner | StandardWebhooksSigner


def _signing(signer: OwnSigner) -> tuple[bytes, ...]:
    # After a cut-over, the old secret no longer signs, but an app may still know it.
    return signer._secrets if signer._overlaps else signer._secrets[:1]


def _repeated(format_: str) -> tuple[str, str]:
    """Return what separates several signatures in a header, and the part to repeat for each.

    If there is no room for several, that is nothing, and the whole.
    """
    if re.fullmatch(r"v\d+,{signature}", format_):  # as in Standard Webhooks
        return " ", format_
    before, _, after = format_.partition("{signature}")
    for separator in (";", "&", ",", " "):
        start, end = before.rfind(separator) + 1, after.find(separator)
        part = (before[start:] + "{signature}" + (after if end < 0 else after[:end])).strip()
        others = [each.strip() for each in format_.split(separator)]
        others.remove(part)
        # In "Bearer {signature}", the rest belongs to the signature, and a quoted parameter has one
        # value.
        are_parts = all("=" in each or each == "{timestamp}" for each in others)
        if others and are_parts and '"' not in part and " " not in "".join(others):
            return separator + " " * (f"{separator} " in format_), part
    return "", format_


def _keys(key: Callable[[object], bytes], secret: object, secrets: object) -> tuple[bytes, ...]:
    # No error may show a secret.
    given = [secret] if secrets is None else secrets
    if not isinstance(given, (list, tuple)) or not given or None not in (secret, secrets):
        raise TypeError("secrets: expected a list of at least one secret, and no secret= as well")
    keys = tuple(map(key, cast("Sequence[object]", given)))
    if len({*keys}) < len(keys):
        raise ValueError("secrets: expected different ones, got the same one twice")
    return keys


def _whole_seconds(offset: object) -> int:
    return int(parse_offset(offset, "offset") / SECOND)


def _base64(mac: bytes) -> str:
    return base64.b64encode(mac).decode()


def _decoded(secret: object) -> bytes:
    key = _secret(secret)
    if isinstance(secret, str):
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError):
            raise ValueError(
                "secret: expected 'whsec_' and base64, or the secret's own bytes, got text that is "
                "not base64"
            ) from None
    return _secret(key)


def _secret(secret: object) -> bytes:
    given = check_bytes(secret, "secret")
    if not given:
        raise ValueError("secret: expected a str or bytes that are not empty")
    return given


def _has_timestamp(template: object, what: str, needed: str) -> bool:
    text = check_str(template, what)
    try:
        parts = [*Formatter().parse(text)]
    except ValueError as error:
        raise ValueError(f"{what} can't be read: {error} in {cited(template)}") from None
    fields = {name for _, name, _, _ in parts if name is not None}
    plain = not any(spec or conversion for _, _, spec, conversion in parts)
    if needed not in fields or not fields <= {"timestamp", needed} or not plain:
        raise ValueError(
            f"{what}: expected {{{needed}}} in it, and no other field except {{timestamp}}, "
            f"got {cited(template)}"
        )
    return "timestamp" in fields
