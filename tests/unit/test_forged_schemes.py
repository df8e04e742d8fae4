"""Forgeries for signers of any scheme: no right verifier is accused, and each flaw is found."""

import base64
import hmac
import json
import os
import random
import secrets
import time
import uuid
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime
from hashlib import sha256
from itertools import count
from urllib.parse import parse_qsl, quote, unquote, urlencode

import pytest

from .fakes import frozen_fake, send_to
from .test_forgeries import got_through, verdict

NUMBERS = count(10**30)
URANDOM = os.urandom


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


class Truncated(Fields):
    """The bytes of a body, with the shortest signature."""

    def sign(self, request):
        return {"X-Signature": mac(request.body).hexdigest()[:16]}

    def signature(self, headers, body):
        return headers["X-Signature"], mac(body).hexdigest()[:16], None


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


class KeyName(Scheme):
    """The name of a key, beside a signature with random numbers that Python doesn't draw."""

    def sign(self, request):
        salt = str(next(NUMBERS))
        return {
            "X-Key-Id": "0123456789abcdef",
            "X-Signature": salt + mac(salt, request.body).hexdigest(),
        }

    def signature(self, headers, body):
        if headers["X-Key-Id"] != "0123456789abcdef":
            raise ValueError
        given = headers["X-Signature"]
        salt = given[: len(str(next(NUMBERS)))]
        return given, salt + mac(salt, body).hexdigest(), None


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


class NewOrOld(OldAndNew):
    """The same, but the old one will do if the new one is missing."""

    def signature(self, headers, body):
        if "X-Hub-sha256" in headers:
            return super().signature(headers, body)
        given = headers["X-Hub-sha1"].removeprefix("sha1=")
        return given, hmac.new(b"secret", body, "sha1").hexdigest(), None


class Envelope(Scheme):
    """The signer makes the whole body: the event in base64, and its signature."""

    def sign(self, request):
        payload = b64(request.body)
        return {}, {"payload": payload, "signature": mac(payload).hexdigest()}

    def signature(self, headers, body):
        fields = json.loads(body)
        return str(fields["signature"]), mac(fields["payload"]).hexdigest(), None


class Wrapped(Fields):
    """The event in an object of the signer's, next to a signature of its id."""

    def sign(self, request):
        signature = b64(mac(self.canonical(request.body)).digest())
        return {}, {"event": request.json(), "signature": signature}

    def signature(self, headers, body):
        fields = json.loads(body)
        right = b64(mac(self.canonical(json.dumps(fields["event"]))).digest())
        return str(fields["signature"]), right, None

    def canonical(self, body):
        return json.loads(body)["chatMessage"]["id"]


class Notification(Scheme):
    """The event is text in JSON, with spaces of its own, next to a time."""

    dated = True

    def sign(self, request):
        text, at = json.dumps(request.json(), indent=1), str(request.timestamp)
        return {}, {"message": text, "meta": {"at": at, "sign": mac(at, text).hexdigest()}}

    def signature(self, headers, body):
        fields = json.loads(body)
        at, given = str(fields["meta"]["at"]), str(fields["meta"]["sign"])
        return given, mac(at, fields["message"]).hexdigest(), int(at)


class Assertion(Scheme):
    """The whole body is a token that says the event."""

    dated = True

    def sign(self, request):
        claims = json.dumps({"iat": request.timestamp, "event": request.json()})
        signed = f"{b64(b'{}')}.{b64(claims.encode())}"
        return {}, {"assertion": f"{signed}.{b64(mac(signed).digest())}"}

    def signature(self, headers, body):
        signed, _, given = json.loads(body)["assertion"].rpartition(".")
        claims = json.loads(base64.urlsafe_b64decode(signed.partition(".")[2]))
        return given, b64(mac(signed).digest()), claims["iat"]


class SignedEnvelope(Scheme):
    """The signer writes the body with spaces of its own, and a header signs its bytes."""

    dated = True

    def sign(self, request):
        at, body = str(request.timestamp), json.dumps({"event": request.json()}, indent=1).encode()
        return {"X-At": at, "X-Signature": mac(at, body).hexdigest()}, body

    def signature(self, headers, body):
        at = headers["X-At"]
        return headers["X-Signature"], mac(at, body).hexdigest(), int(at)


class Encrypted(Scheme):
    """The event is encrypted with a random salt, and signed with a nonce and a time."""

    dated = True

    def sign(self, request):
        nonce, at, salt = uuid.uuid4().hex, str(request.timestamp), os.urandom(16)
        secret = b64(salt + bytes(byte ^ salt[0] for byte in request.body))
        signed = {"nonce": nonce, "at": at, "encrypted": secret}
        return {}, {**signed, "signature": mac(at, nonce, secret).hexdigest()}

    def signature(self, headers, body):
        fields = json.loads(body)
        at, nonce, given = (str(fields[name]) for name in ("at", "nonce", "signature"))
        return given, mac(at, nonce, fields["encrypted"]).hexdigest(), int(at)


class EncryptedFields(Scheme):
    """The event is parsed, written again and encrypted, and that is signed."""

    def read(self, body):
        return json.loads(body)

    def sign(self, request):
        text = json.dumps(self.read(request.body)).encode()
        secret = b64(bytes(byte ^ 7 for byte in text))
        return {}, {"encrypted": secret, "signature": mac(secret).hexdigest()}

    def signature(self, headers, body):
        fields = json.loads(body)
        secret = str(fields["encrypted"])
        json.loads(bytes(byte ^ 7 for byte in base64.urlsafe_b64decode(secret)))
        return str(fields["signature"]), mac(secret).hexdigest(), None


class EncryptedForm(EncryptedFields):
    """The same with a form."""

    outbound = staticmethod(FormFields.outbound)

    def read(self, body):
        return parse_qsl(body.decode())


class InAList(Envelope):
    """The same as an envelope, with a list of signatures."""

    def sign(self, request):
        headers, fields = super().sign(request)
        return headers, {**fields, "signature": [fields["signature"]]}

    def signature(self, headers, body):
        fields = json.loads(body)
        return str(fields["signature"][0]), mac(fields["payload"]).hexdigest(), None


class KeyBesideAnEvent(Key):
    """A key that is always the same, in a body around the event."""

    def sign(self, request):
        return {}, {"state": "0123456789", "events": [request.json()]}

    def signature(self, headers, body):
        return str(json.loads(body)["state"]), "0123456789", None


class Percents(Scheme):
    """A signature in base64 whose letters are percent-encoded, beside a nonce and a time."""

    dated = True

    def sign(self, request):
        nonce, at = b64(os.urandom(9)), str(request.timestamp)
        signature = base64.b64encode(mac(at, nonce, request.body).digest()).decode()
        return {"X-Signature": f"t={at}&n={nonce}&v1={quote(signature, safe='')}"}

    def signature(self, headers, body):
        parts = dict(part.split("=") for part in headers["X-Signature"].split("&"))
        right = base64.b64encode(mac(parts["t"], parts["n"], body).digest()).decode()
        return unquote(parts["v1"]), right, int(parts["t"])


class SignedDigest(Scheme):
    """A nonce and a public digest are signed, and the app compares the digest with the body's."""

    def sign(self, request):
        nonce, digest = uuid.uuid4().hex, base64.b64encode(sha256(request.body).digest()).decode()
        return {
            "Content-Digest": f"sha-256=:{digest}:",
            "Signature-Input": f'sig1=("content-digest");nonce="{nonce}"',
            "Signature": f"sig1=:{b64(mac(nonce, digest).digest())}:",
        }

    def signature(self, headers, body):
        digest = base64.b64encode(sha256(body).digest()).decode()
        if headers["Content-Digest"] != f"sha-256=:{digest}:":
            raise ValueError
        given = headers["Signature"]
        if not given.startswith("sig1=:"):
            raise ValueError
        nonce = headers["Signature-Input"].split('nonce="')[1].removesuffix('"')
        return given[6:].removesuffix(":"), b64(mac(nonce, digest).digest()), None


# Schemes with random numbers that Python doesn't draw, so that they are others at each call.


class FieldsByNumber(RandomFields):
    """The fields of a JSON body, and a nonce."""

    def sign(self, request):
        nonce = str(next(NUMBERS))
        signature = mac(nonce, self.canonical(request.body)).hexdigest()
        return {"X-Nonce": nonce, "X-Signature": signature}


class InsideByNumber(Inside):
    """All in one header, with a short signature."""

    def sign(self, request):
        nonce, at = str(next(NUMBERS)), str(request.timestamp)
        signature = mac(at, nonce, request.body).hexdigest()[:48]
        return {"X-Signature": f"t={at},nonce={nonce},v1={signature}"}

    def signature(self, headers, body):
        given, right, at = super().signature(headers, body)
        return given, right[:48], at


class UnsignedTime(Scheme):
    """A body, beside a time that isn't signed."""

    def sign(self, request):
        salt = str(next(NUMBERS))
        return {
            "X-At": str(request.timestamp),
            "X-Signature": salt + mac(salt, request.body).hexdigest(),
        }

    def signature(self, headers, body):
        given = headers["X-Signature"]
        salt = given[: len(str(next(NUMBERS)))]
        return given, salt + mac(salt, body).hexdigest(), None


class KeyAndIds(Key):
    """A key that is always the same, beside ids that may be taken for signatures."""

    def sign(self, request):
        number = str(next(NUMBERS))
        return {**super().sign(request), "X-Auth-Id": number, "X-Request-Id": f"{number}-{number}A"}


class Sealed(Scheme):
    """JSON in base64, with a nonce and a signature."""

    def sign(self, request):
        nonce = str(next(NUMBERS))
        fields = {"nonce": nonce, "mac": mac(nonce, request.body).hexdigest()}
        return {"X-Seal": b64(json.dumps(fields).encode()), "X-Client": "shop-backend"}

    def signature(self, headers, body):
        given = headers["X-Seal"]
        fields = json.loads(base64.urlsafe_b64decode(given))
        nonce = fields["nonce"]
        right = {"nonce": nonce, "mac": mac(nonce, body).hexdigest()}
        return given, b64(json.dumps(right).encode()), None


SCHEMES = [Nonce, Inside, Salted, SaltedBody, Fields, SomeFields, Picky, FormFields]
SCHEMES += [RandomFields, Token, PlainToken, Digest, Twice, Event, Key, KeyAndId, Named]
SCHEMES += [OldAndNew, NewOrOld, Envelope, Notification, Assertion, SignedEnvelope, Encrypted]
SCHEMES += [InAList, KeyBesideAnEvent, Percents, SignedDigest, KeyName]
SCHEMES += [EncryptedFields, EncryptedForm, Wrapped, FieldsByNumber, InsideByNumber, UnsignedTime]
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


class TwoKeys(Key):
    """Two keys that are always the same, of which the app needs one."""

    def sign(self, request):
        return {**super().sign(request), "X-Other-Key": "abcdefghijkl"}


class TwoSignaturesAndADate(Scheme):
    """Two hash functions sign a date as well, which an app with a flaw doesn't need."""

    dated = True

    def sign(self, request):
        at = str(request.timestamp)
        signed = f"{at}.".encode() + request.body
        macs = {f"X-{name}": hmac.new(b"secret", signed, name).hexdigest() for name in HASHES}
        return {"X-Date": at, **macs}

    def signature(self, headers, body):
        at = int(headers["X-Date"])
        signed = f"{at}.".encode() + body
        return headers["X-sha256"], hmac.new(b"secret", signed, "sha256").hexdigest(), at


HASHES = ("sha1", "sha256")


@pytest.mark.parametrize("scheme", [KeyAndIds(), Sealed(), TwoKeys(), TwoSignaturesAndADate()])
def test_no_right_app_is_accused_for_a_part_that_is_taken_for_a_signature(scheme):
    assert verdict_on(scheme)[0] == []
    assert "unsigned" in verdict_on(scheme, "accepts everything")[0]


def test_a_missing_date_is_found_although_two_signatures_cover_it():
    class TakesTheTime(TwoSignaturesAndADate):
        def signature(self, headers, body):
            return super().signature({"X-Date": str(int(time.time())), **headers}, body)

    assert verdict_on(TakesTheTime())[0] == ["without X-Date"]


def headers_of(tried):
    return [what.removeprefix("without ") for what in tried if what.startswith("without ")]


@pytest.mark.parametrize(
    ("scheme", "names"),
    [
        (Nonce(), ["X-Nonce", "X-Signature"]),
        (FieldsByNumber(), ["X-Nonce", "X-Signature"]),
        (SignedDigest(), ["Signature-Input", "Signature"]),
        (Salted(), ["X-Request-Id", "X-Sent-At", "X-Signature"]),
        (KeyAndId(), ["Authorization", "X-Request-Id", "X-At"]),
        (TwoKeys(), ["Authorization", "X-Other-Key"]),
        (TwoSignaturesAndADate(), ["X-Date", "X-sha1", "X-sha256"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_header_of_a_signature_is_left_out_once(scheme, names):
    assert headers_of(verdict_on(scheme)[1]) == names


def test_a_date_that_is_not_signed_belongs_to_no_signature():
    class DateBesideFields(Fields):
        def sign(self, request):
            return {"X-Date": str(request.timestamp), **super().sign(request)}

    assert headers_of(verdict_on(DateBesideFields())[1]) == []


@pytest.mark.parametrize(
    ("scheme", "what"),
    [
        (Event(), "with another event's signature"),
        (KeyName(), "with another event's signature"),
        (KeyName(), "changed after it was signed"),
        (FieldsByNumber(), "changed after it was signed"),
        (UnsignedTime(), "changed after it was signed"),
        (Wrapped(), "changed after it was signed"),
        (SomeFields(), "changed after it was signed"),
        (Truncated(), "changed after it was signed"),
        (Sealed(), "with another event's signature"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_can_be_told_by_a_signature_is_tried(scheme, what):
    assert what in verdict_on(scheme)[1]


def test_an_app_that_encodes_a_body_again_is_found_by_its_bytes():
    class EncodesAgain(KeyName):
        def signature(self, headers, body):
            again = json.dumps(json.loads(body), separators=(",", ":")).encode()
            return super().signature(headers, again)

    assert verdict_on(EncodesAgain())[0] == ["changed after it was signed"]


def test_a_key_beside_a_random_id_covers_no_body():
    assert "changed after it was signed" not in verdict_on(KeyAndId())[1]


@pytest.mark.parametrize(
    ("scheme", "value", "expected"),
    [(FieldsByNumber(), True, False), (FieldsByNumber(), "yes", True), (KeyName(), True, True)],
)
def test_a_body_without_values_is_only_changed_if_its_bytes_are_signed(scheme, value, expected):
    scheme.outbound = lambda _: {"ok": value}

    assert ("changed after it was signed" in verdict_on(scheme)[1]) == expected


def test_an_app_that_only_looks_at_the_time_beside_a_key_is_found():
    class TakesAnyKey(KeyAndId):
        def signature(self, headers, body):
            return "any", "any", int(headers["X-At"])

    assert "with a wrong signature" in verdict_on(TakesAnyKey())[0]


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        (9, "the app then verifies X-Hub-sha256, which is genuine"),
        (1, "accepted, but a 429 hides whether the app then verifies X-Hub-sha256"),
    ],
)
def test_a_429_does_not_show_that_another_signature_is_verified(limit, why, fake):
    scheme, refused = NewOrOld(), count()

    def receive(request):
        if scheme.accepts(request, ""):
            return 204
        return 401 if next(refused) < limit else 429

    send_to(fake, receive, signer=scheme.sign)
    assert verdict(fake) == []
    notes = fake.webhooks._forgery_check.notes

    assert f"left out: without X-Hub-sha1 ({why}), at receive()" in notes


@every_scheme
def test_one_429_at_any_time_accuses_no_right_app(scheme):
    def verdict_with(turn):
        requests = count()

        def receive(request):
            if next(requests) == turn:
                return 429
            return 204 if scheme.accepts(request, "") else 401

        with frozen_fake(outbound=scheme.outbound) as fake:
            send_to(fake, receive, signer=scheme.sign)
            return verdict(fake)

    assert [lines for turn in range(2, 20) if (lines := verdict_with(turn))] == []


class Expiring(Scheme):
    """The header shows when its signature expires, and not when it was made."""

    def __init__(self, seconds):
        self.seconds = seconds

    def sign(self, request):
        end = str(request.timestamp + self.seconds)
        return {"X-Signature": f"{end}.{mac(end, request.body).hexdigest()}"}

    def signature(self, headers, body):
        end, given = headers["X-Signature"].split(".")
        at = time.time() if time.time() < int(end) else 0
        return given, mac(end, body).hexdigest(), at


@pytest.mark.parametrize(
    ("seconds", "flaw", "expected"),
    [
        (600, "", []),
        (600, "ignores age", ["signed a day ago"]),
        (7 * 86_400, "", []),
    ],
)
def test_a_signature_that_expires_has_no_age(seconds, flaw, expected):
    assert verdict_on(Expiring(seconds), flaw)[0] == expected


# -- signatures that don't cover the body ----------------------------------------------------------


def _signed_token(request, token):
    at = str(request.timestamp)
    return {"t": at, "token": token, "mac": mac(at, token).hexdigest()}


def of_a_token(token):
    return lambda request: ({}, {**request.json(), "by": _signed_token(request, token(request))})


def in_headers(token):
    return lambda request: {
        f"X-{name}": value for name, value in _signed_token(request, token(request)).items()
    }


TOKENS = {
    "random": lambda _: secrets.token_hex(25),
    "uuid": lambda _: str(uuid.uuid4()),
    "random numbers": lambda _: "".join(random.choices("0123456789abcdef", k=30)),
    "id": lambda request: request.id[-12:],
    "id of the event": lambda request: request.event.id[-12:],
    "made of the body": lambda request: sha256(request.body).hexdigest()[:30],
    "drawn elsewhere": lambda _: str(next(NUMBERS)),
}


def verdict_on_tokens(signer, *, ignores_age=False):
    def receive(request):
        found = request.json().get("by") or {
            name: request.headers.get(f"X-{name}", "") for name in ("t", "token", "mac")
        }
        try:
            right = mac(found["t"], found["token"]).hexdigest()
            is_fresh = ignores_age or abs(time.time() - float(found["t"])) < 300
            genuine = hmac.compare_digest(right, found["mac"]) and is_fresh
        except (LookupError, ValueError, TypeError):
            genuine = False
        return 204 if genuine else 406

    with frozen_fake() as fake, fake.webhooks.paused():
        fake.webhooks.connect(handler=receive, signer=signer)
        fake.send_text().deliver()
        return got_through(verdict(fake)), str(fake.timeline)


@pytest.mark.parametrize("token", TOKENS)
def test_a_signature_of_a_token_in_the_body_accuses_no_right_app(token):
    got, timeline = verdict_on_tokens(of_a_token(TOKENS[token]))

    assert got == []
    assert "changed after it was signed, with another event's signature (the signature" in timeline
    assert "not cover the body)" in timeline


@pytest.mark.parametrize("token", list(TOKENS)[:5])
def test_a_signature_of_a_token_in_headers_accuses_no_right_app(token):
    got, timeline = verdict_on_tokens(in_headers(TOKENS[token]))

    assert got == []
    assert "event's signature (the signature does not cover the body)" in timeline


@pytest.mark.parametrize("where", [of_a_token, in_headers])
@pytest.mark.parametrize("token", list(TOKENS)[:4])
def test_the_age_of_a_signature_of_a_token_is_still_checked(token, where):
    got, _ = verdict_on_tokens(where(TOKENS[token]), ignores_age=True)

    assert got == ["signed a day ago", "signed a day ahead"]


class NonceInside(Nonce):
    """A nonce and a signature of the message in the body."""

    def sign(self, request):
        found, nonce = request.json(), uuid.uuid4().hex
        about = json.dumps(found["chatMessage"])
        return {}, {**found, "by": {"nonce": nonce, "mac": mac(nonce, about).hexdigest()}}

    def signature(self, headers, body):
        found = json.loads(body)
        about = json.dumps(found["chatMessage"])
        return found["by"]["mac"], mac(found["by"]["nonce"], about).hexdigest(), None


def test_a_random_signature_of_fields_is_tried_with_one_of_these_changed():
    got, tried = verdict_on(NonceInside())

    assert got == []
    assert {"changed after it was signed", "with another event's signature"} <= {*tried}


def test_random_numbers_are_random_again_after_the_check():
    random.random()  # or it would be in the state that the check begins with
    state = random.getstate()
    verdict_on_tokens(of_a_token(TOKENS["random"]))

    assert random.getstate() == state
    assert [os.urandom, random._urandom] == [URANDOM, URANDOM]


# -- headers for information -----------------------------------------------------------------------


def dated(request):
    at = str(request.timestamp)
    return {
        "X-Date": formatdate(request.timestamp, usegmt=True),
        "X-Event-Id": request.id,
        "X-Sig": f"t={at},id={request.id},v={mac(at, request.id, request.body).hexdigest()}",
    }


@pytest.mark.parametrize(
    ("flaw", "expected"),
    [
        ("", []),
        ("needs a date to check the age", ["without X-Date"]),
        ("wants a date", ["without X-Sig", "with empty headers"]),
    ],
)
def test_a_header_that_an_app_need_not_read_may_be_missing(flaw, expected):
    def receive(request):
        headers = request.headers
        if flaw == "wants a date" and not headers.get("X-Sig"):
            return 204 if "X-Date" in headers else 401
        try:
            fields = dict(part.split("=", 1) for part in headers["X-Sig"].split(","))
            right = mac(fields["t"], fields["id"], request.body).hexdigest()
            at = int(fields["t"])
            if flaw == "needs a date to check the age":
                date = headers.get("X-Date")
                at = parsedate_to_datetime(date).timestamp() if date else time.time()
        except (LookupError, ValueError):
            return 401
        is_fresh = abs(time.time() - at) < 300
        return 204 if hmac.compare_digest(right, fields["v"]) and is_fresh else 401

    with frozen_fake() as fake, fake.webhooks.paused():
        fake.webhooks.connect(handler=receive, signer=dated)
        fake.send_text().deliver()
        assert got_through(verdict(fake)) == expected
