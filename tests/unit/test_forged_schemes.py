"""Forgeries for signers of any scheme: no right verifier is accused, and each flaw is found."""

import base64
import hmac
import json
import os
import time
import uuid
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode

import pytest

from .fakes import frozen_fake
from .test_forgeries import got_through, verdict


def mac(*parts, key=b"secret"):
    signed = b".".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    return hmac.new(key, signed, sha256)


def b64(data):
    return base64.urlsafe_b64encode(data).decode()


class Scheme:
    """A scheme: how to sign a request, and a verifier that may have a flaw."""

    dated = False
    outbound = None

    def sign(self, request):
        raise NotImplementedError

    def signature(self, headers, body):
        """Return the given signature, the right one for a body, and the time that was signed."""
        raise NotImplementedError

    def accepts(self, request, flaw):
        if flaw == "accepts everything":
            return True
        try:
            given, right, at = self.signature(request.headers, request.body)
        except (LookupError, ValueError, TypeError):
            return flaw == "skips what it can't read"
        if flaw == "compares nothing":
            return len(given) == len(right)
        if flaw == "compares a prefix" and len(given) >= len(right) - 4:
            right = right[: len(given)]
        is_fresh = at is None or flaw == "ignores age" or abs(time.time() - at) < 300
        return bool(given) and hmac.compare_digest(right, given) and is_fresh


class Nonce(Scheme):
    """A nonce in a header, and no timestamp."""

    def sign(self, request):
        nonce = uuid.uuid4().hex
        return {"X-Nonce": nonce, "X-Signature": mac(nonce, request.body).hexdigest()}

    def signature(self, headers, body):
        return headers["X-Signature"], mac(headers["X-Nonce"], body).hexdigest(), None


class NonceAndTime(Scheme):
    """A nonce and a timestamp in headers."""

    dated = True

    def sign(self, request):
        nonce, at = uuid.uuid4().hex, str(request.timestamp)
        signature = mac(at, nonce, request.body).hexdigest()
        return {"X-Nonce": nonce, "X-Timestamp": at, "X-Signature": signature}

    def signature(self, headers, body):
        at, nonce = headers["X-Timestamp"], headers["X-Nonce"]
        return headers["X-Signature"], mac(at, nonce, body).hexdigest(), int(at)


class Inside(Scheme):
    """All in one header."""

    dated = True

    def sign(self, request):
        nonce, at = uuid.uuid4().hex, str(request.timestamp)
        signature = mac(at, nonce, request.body).hexdigest()
        return {"X-Signature": f"t={at},nonce={nonce},v1={signature}"}

    def signature(self, headers, body):
        parts = dict(part.split("=") for part in headers["X-Signature"].split(","))
        at = parts["t"]
        return parts["v1"], mac(at, parts["nonce"], body).hexdigest(), int(at)


class Salted(Scheme):
    """A signature that differs at each call, in base64, beside a time and a request's id."""

    dated = True

    def sign(self, request):
        salt, at = os.urandom(9), datetime.fromtimestamp(request.timestamp, UTC).isoformat()
        signature = salt + mac(salt, at, request.body).digest()
        return {
            "X-Request-Id": f"{uuid.uuid4()}-{uuid.uuid4()}",  # unsigned, and long
            "X-Sent-At": at,
            "X-Signature": "ecdsa " + base64.b64encode(signature).decode(),
        }

    def signature(self, headers, body):
        word, _, given = headers["X-Signature"].partition(" ")
        if word != "ecdsa":
            raise ValueError
        at, salt = headers["X-Sent-At"], base64.b64decode(given)[:9]
        right = base64.b64encode(salt + mac(salt, at, body).digest()).decode()
        return given, right, datetime.fromisoformat(at).timestamp()


class SaltedBody(Scheme):
    """The same over a body alone, beside an unsigned timestamp."""

    def sign(self, request):
        salt = os.urandom(9)
        signature = b64(salt + mac(salt, request.body).digest())
        return {"X-Sent-At": str(request.timestamp), "X-Signature": signature}

    def signature(self, headers, body):
        given = headers["X-Signature"]
        salt = base64.urlsafe_b64decode(given)[:9]
        return given, b64(salt + mac(salt, body).digest()), None


class Fields(Scheme):
    """The fields of a JSON body."""

    def sign(self, request):
        return {"X-Signature": b64(mac(self.canonical(request.body)).digest())}

    def signature(self, headers, body):
        return headers["X-Signature"], b64(mac(self.canonical(body)).digest()), None

    def canonical(self, body):
        return json.dumps(json.loads(body), sort_keys=True)


class SomeFields(Fields):
    """A few of the fields."""

    def canonical(self, body):
        message = json.loads(body)["chatMessage"]
        return f"{message['id']}:{message['status']}"


class Picky(SomeFields):
    """The same, by a signer that knows no other values."""

    def canonical(self, body):
        message = json.loads(body)["chatMessage"]
        if message["status"] not in {"sent", "delivered"} or message["bizType"] != "chat":
            raise LookupError
        return super().canonical(body)


class FormFields(Fields):
    """The fields of a form without an id, whose blanks are stripped."""

    @staticmethod
    def outbound(event):
        message = event["chatMessage"]
        return urlencode({"Sid": message["id"], "Status": message["status"]})

    def canonical(self, body):
        return "".join(key + value.strip() for key, value in sorted(parse_qsl(body.decode())))


class RandomFields(Fields):
    """The fields of a JSON body, and a nonce."""

    def sign(self, request):
        nonce = uuid.uuid4().hex
        return {
            "X-Nonce": nonce,
            "X-Signature": mac(nonce, self.canonical(request.body)).hexdigest(),
        }

    def signature(self, headers, body):
        right = mac(headers["X-Nonce"], self.canonical(body)).hexdigest()
        return headers["X-Signature"], right, None


class Token(Scheme):
    """A JSON Web Token with a random id, the time, and the digest of the body."""

    dated = True

    def sign(self, request):
        claims = {
            "iat": request.timestamp,
            "jti": self.jti(),
            "sha": sha256(request.body).hexdigest(),
        }
        signed = ".".join(b64(json.dumps(part).encode()) for part in ({"alg": "HS256"}, claims))
        return {"Authorization": f"Bearer {signed}.{b64(mac(signed).digest())}"}

    def jti(self):
        return str(uuid.uuid4())

    def signature(self, headers, body):
        word, _, token = headers["Authorization"].partition(" ")
        signed, _, given = token.rpartition(".")
        claims = json.loads(base64.urlsafe_b64decode(signed.partition(".")[2]))
        if word != "Bearer" or claims["sha"] != sha256(body).hexdigest():
            return given, "", None
        return given, b64(mac(signed).digest()), claims["iat"]


class PlainToken(Token):
    """A JSON Web Token without a random id."""

    def jti(self):
        return "1"


class Digest(Scheme):
    """A public digest of the body, which a random signature covers."""

    def sign(self, request):
        salt, digest = os.urandom(9), base64.b64encode(sha256(request.body).digest()).decode()
        return {
            "Content-Digest": f"sha-256=:{digest}:",
            "X-Signature": b64(salt + mac(salt, digest).digest()),
        }

    def signature(self, headers, body):
        digest, given = base64.b64encode(sha256(body).digest()).decode(), headers["X-Signature"]
        salt = base64.urlsafe_b64decode(given)[:9]
        return given, b64(salt + mac(salt, digest).digest()), None


class Twice(Scheme):
    """Two secrets sign, as in a rotation."""

    dated = True

    def sign(self, request):
        at = str(request.timestamp)
        macs = [mac(at, request.body, key=key).hexdigest() for key in (b"new", b"secret")]
        return {"X-Signature": ",".join([f"t={at}", *(f"v1={each}" for each in macs)])}

    def signature(self, headers, body):
        first, *others = headers["X-Signature"].split(",")
        at, right = first.removeprefix("t="), mac(first.removeprefix("t="), body).hexdigest()
        given = [other.removeprefix("v1=") for other in others]
        return right if right in given else given[-1], right, int(at)


class Event(Scheme):
    """Signs what it knows of the event, and not the body."""

    def sign(self, request):
        about = f"{request.event.message_id}:{request.event.status}"
        return {"X-Signature": mac(about).hexdigest()}

    def signature(self, headers, body):
        message = json.loads(body)["chatMessage"]
        right = mac(f"{message['id']}:{message['status']}").hexdigest()
        return headers["X-Signature"], right, None


class Key(Scheme):
    """A key that is always the same, beside a version."""

    def sign(self, request):
        return {"Authorization": "Bearer 0123456789", "X-Version": "2"}

    def signature(self, headers, body):
        word, _, given = headers["Authorization"].partition(" ")
        return given if word == "Bearer" else "", "0123456789", None


class KeyAndId(Key):
    """The same, beside a random id."""

    def sign(self, request):
        return super().sign(request) | {
            "X-Request-Id": str(uuid.uuid4()),
            "X-At": str(request.timestamp),
        }


class Named(Key):
    """The same, beside the name of the event and the id of the message."""

    def sign(self, request):
        message = json.loads(request.body)["chatMessage"]
        name = f"{request.event.type}.{request.event.status}_by_phone"
        return super().sign(request) | {"X-Event": name, "X-Message": message["id"]}


class OldAndNew(Scheme):
    """Signatures with an old and a new hash function, of which the app needs the new one."""

    def sign(self, request):
        digests = {name: hmac.new(b"secret", request.body, name) for name in ("sha1", "sha256")}
        return {f"X-Hub-{name}": f"{name}={mac.hexdigest()}" for name, mac in digests.items()}

    def signature(self, headers, body):
        given = headers["X-Hub-sha256"].removeprefix("sha256=")
        return given, hmac.new(b"secret", body, "sha256").hexdigest(), None


SCHEMES = [Nonce, NonceAndTime, Inside, Salted, SaltedBody, Fields, SomeFields, Picky, FormFields]
SCHEMES += [RandomFields, Token, PlainToken, Digest, Twice, Event, Key, KeyAndId, Named]
SCHEMES += [OldAndNew]
SCHEME_NAMES = [each.__name__ for each in SCHEMES]


def verdict_on(scheme, flaw=""):
    """What the check says of an app that verifies a scheme, and the forgeries that it tried."""
    with frozen_fake(outbound=scheme.outbound) as fake, fake.webhooks.paused():
        fake.webhooks.connect(
            handler=lambda request: 204 if scheme.accepts(request, flaw) else 401,
            signer=scheme.sign,
        )
        fake.send_text().deliver()
        lines = verdict(fake)
        marks = [mark.text for attempt in fake.webhooks.attempts for mark in attempt.marks]
    tried = [text.removeprefix("forgery check, ") for text in marks if text.startswith("forgery")]
    return got_through(lines), [what for what in tried[1:] if not what.startswith("control")]


every_scheme = pytest.mark.parametrize("scheme", [each() for each in SCHEMES], ids=SCHEME_NAMES)


@every_scheme
def test_a_right_verifier_of_any_scheme_passes(scheme):
    got, tried = verdict_on(scheme)

    assert got == []
    assert len(tried) >= 7


@every_scheme
def test_an_app_that_verifies_nothing_lets_everything_through(scheme):
    got, tried = verdict_on(scheme, "accepts everything")

    assert got == tried


@every_scheme
def test_a_prefix_of_a_signature_is_found_to_be_accepted(scheme):
    got, _ = verdict_on(scheme, "compares a prefix")

    assert got == ["with its signature cut off"]


@every_scheme
def test_an_app_that_ignores_the_age_is_found_if_the_time_is_signed(scheme):
    got, _ = verdict_on(scheme, "ignores age")

    assert got == ["signed a day ago", "signed a day ahead"] * scheme.dated


@every_scheme
def test_an_app_that_only_looks_at_the_form_is_found(scheme):
    got, _ = verdict_on(scheme, "compares nothing")

    assert "with a wrong signature" in got


@every_scheme
def test_an_app_that_goes_on_without_a_signature_is_found(scheme):
    got, _ = verdict_on(scheme, "skips what it can't read")

    assert got[0] == "unsigned"
