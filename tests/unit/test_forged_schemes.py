"""Forgeries for signers of any scheme: no right verifier is accused, and each flaw is found."""

import base64
import hmac
import json
import os
import random
import secrets
import time
import uuid
from dataclasses import replace
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


def digest_of(body):
    return base64.b64encode(sha256(body).digest()).decode()


class Scheme:
    """What a signer signs, and a verifier of it that may have a flaw.

    Attributes:
        dated: Whether a time is signed, in ``X-At`` or ``at``.
        outbound: Writes the event.
    """

    dated = False
    outbound = None

    def fields(self, request):
        """Return the headers beside the signature."""
        return {}

    def signed(self, fields, body):
        """Return what is signed, or raise an error if an app would refuse that."""
        raise NotImplementedError

    def mac(self, fields, body):
        return mac(*self.signed(fields, body)).hexdigest()

    def sign(self, request):
        fields = self.fields(request)
        return {**fields, "X-Signature": self.mac(fields, request.body)}

    def signature(self, headers, body):
        """Return the given signature, the right one for a body, and the time that was signed."""
        at = int(headers["X-At"]) if self.dated else None
        return headers["X-Signature"], self.mac(headers, body), at

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

    def fields(self, request):
        return {"X-Nonce": uuid.uuid4().hex}

    def signed(self, fields, body):
        return fields["X-Nonce"], body


class Inside(Scheme):
    """All in one header."""

    dated = True

    def nonce(self):
        return uuid.uuid4().hex

    def sign(self, request):
        fields = {"t": str(request.timestamp), "nonce": self.nonce()}
        fields["v1"] = self.mac(fields, request.body)
        return {"X-Signature": ",".join(map("=".join, fields.items()))}

    def signature(self, headers, body):
        fields = dict(part.split("=") for part in headers["X-Signature"].split(","))
        return fields["v1"], self.mac(fields, body), int(fields["t"])

    def signed(self, fields, body):
        return fields["t"], fields["nonce"], body


class Salted(Scheme):
    """A signature that differs at each call, beside an unsigned timestamp."""

    def salt(self):
        return os.urandom(9).hex()

    def fields(self, request):
        return {"X-At": str(request.timestamp)}

    def signed(self, fields, body):
        return (body,)

    def sign(self, request):
        fields, salt = self.fields(request), self.salt()
        return {**fields, "X-Signature": self.salted(salt, fields, request.body)}

    def signature(self, headers, body):
        given = headers["X-Signature"]
        return given, self.salted(given[: len(self.salt())], headers, body), None

    def salted(self, salt, fields, body):
        return salt + mac(salt, *self.signed(fields, body)).hexdigest()


class SaltedBytes(Scheme):
    """The same in base64, with a signed time and an unsigned id of the request."""

    dated = True

    def fields(self, request):
        at = datetime.fromtimestamp(request.timestamp, UTC).isoformat()
        return {"X-Request-Id": f"{uuid.uuid4()}-{uuid.uuid4()}", "X-Sent-At": at}

    def sign(self, request):
        fields = self.fields(request)
        signature = self.salted(os.urandom(9), fields["X-Sent-At"], request.body)
        return {**fields, "X-Signature": f"ecdsa {signature}"}

    def signature(self, headers, body):
        word, _, given = headers["X-Signature"].partition(" ")
        if word != "ecdsa":
            raise ValueError
        at = headers["X-Sent-At"]
        right = self.salted(base64.b64decode(given)[:9], at, body)
        return given, right, datetime.fromisoformat(at).timestamp()

    def salted(self, salt, at, body):
        return base64.b64encode(salt + mac(salt, at, body).digest()).decode()


class Fields(Scheme):
    """The fields of a JSON body, in base64."""

    def mac(self, fields, body):
        return b64(mac(*self.signed(fields, body)).digest())

    def signed(self, fields, body):
        return (self.canonical(body),)

    def canonical(self, body):
        return json.dumps(json.loads(body), sort_keys=True)


class Truncated(Scheme):
    """The bytes of a body, with the shortest signature."""

    def mac(self, fields, body):
        return mac(body).hexdigest()[:16]


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

    fields = Nonce.fields

    def signed(self, fields, body):
        return fields["X-Nonce"], self.canonical(body)


class Token(Scheme):
    """A JSON Web Token with a random id, the time, and the digest of the body."""

    dated = True

    def claims(self, request):
        return {"iat": request.timestamp, "jti": str(uuid.uuid4()), "sha": digest_of(request.body)}

    def token(self, request):
        parts = {"alg": "HS256"}, self.claims(request)
        signed = ".".join(b64(json.dumps(part).encode()) for part in parts)
        return f"{signed}.{b64(mac(signed).digest())}"

    def sign(self, request):
        return {"Authorization": f"Bearer {self.token(request)}"}

    def signature(self, headers, body):
        word, _, token = headers["Authorization"].partition(" ")
        given, right, claims = self.read(token)
        if word != "Bearer" or claims["sha"] != digest_of(body):
            right = ""
        return given, right, claims["iat"]

    def read(self, token):
        signed, _, given = token.rpartition(".")
        claims = json.loads(base64.urlsafe_b64decode(signed.partition(".")[2]))
        return given, b64(mac(signed).digest()), claims


class PlainToken(Token):
    """A JSON Web Token without a random id."""

    def claims(self, request):
        return super().claims(request) | {"jti": "1"}


class Assertion(Token):
    """The whole body is a token that says the event."""

    def claims(self, request):
        return {"iat": request.timestamp, "event": request.json()}

    def sign(self, request):
        return {}, {"assertion": self.token(request)}

    def signature(self, headers, body):
        given, right, claims = self.read(json.loads(body)["assertion"])
        return given, right, claims["iat"]


class Digest(Salted):
    """A public digest of the body, which a random signature covers."""

    def fields(self, request):
        return {"Content-Digest": f"sha-256=:{digest_of(request.body)}:"}

    def signed(self, fields, body):
        return (digest_of(body),)


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


class Event(SomeFields):
    """Signs what it knows of the event, and not the body."""

    def sign(self, request):
        return {"X-Signature": self.mac({}, request.event.body)}


class Key(Scheme):
    """A key that is always the same, beside a version."""

    def sign(self, request):
        return {"Authorization": "Bearer 0123456789", "X-Version": "2", **self.fields(request)}

    def signature(self, headers, body):
        word, _, given = headers["Authorization"].partition(" ")
        return given if word == "Bearer" else "", "0123456789", None


class KeyAndId(Key):
    """The same, beside a random id."""

    def fields(self, request):
        return {"X-Request-Id": str(uuid.uuid4()), "X-At": str(request.timestamp)}


class Named(Key):
    """The same, beside the name of the event and the id of the message."""

    def fields(self, request):
        message = json.loads(request.body)["chatMessage"]
        name = f"{request.event.type}.{request.event.status}_by_phone"
        return {"X-Event": name, "X-Message": message["id"]}


class KeyBesideAnEvent(Key):
    """A key that is always the same, in a body around the event."""

    def sign(self, request):
        return {}, {"state": "0123456789", "events": [request.json()]}

    def signature(self, headers, body):
        return str(json.loads(body)["state"]), "0123456789", None


class OldAndNew(Scheme):
    """Signatures with an old and a new hash function, of which the app needs the new one."""

    def sign(self, request):
        return {f"X-Hub-{name}": self.hashed(name, request.body) for name in ("sha1", "sha256")}

    def signature(self, headers, body):
        return self.by("sha256", headers, body)

    def by(self, name, headers, body):
        return headers[f"X-Hub-{name}"], self.hashed(name, body), None

    def hashed(self, name, body):
        return f"{name}={hmac.new(b'secret', body, name).hexdigest()}"


class NewOrOld(OldAndNew):
    """The same, but the old one will do if the new one is missing."""

    def signature(self, headers, body):
        return self.by("sha256" if "X-Hub-sha256" in headers else "sha1", headers, body)


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
        nonce, digest = uuid.uuid4().hex, digest_of(request.body)
        return {
            "Content-Digest": f"sha-256=:{digest}:",
            "Signature-Input": f'sig1=("content-digest");nonce="{nonce}"',
            "Signature": f"sig1=:{b64(mac(nonce, digest).digest())}:",
        }

    def signature(self, headers, body):
        digest, given = digest_of(body), headers["Signature"]
        if headers["Content-Digest"] != f"sha-256=:{digest}:" or not given.startswith("sig1=:"):
            raise ValueError
        nonce = headers["Signature-Input"].split('nonce="')[1].removesuffix('"')
        return given[6:].removesuffix(":"), b64(mac(nonce, digest).digest()), None


# Schemes whose signer makes the body.


class Envelope(Scheme):
    """The event in base64, and its signature."""

    def fields(self, request):
        return {"payload": b64(request.body)}

    def signed(self, fields, body):
        return (fields["payload"],)

    def sign(self, request):
        fields = self.fields(request)
        return {}, {**fields, "signature": self.mac(fields, b"")}

    def signature(self, headers, body):
        fields = json.loads(body)
        at = int(fields["at"]) if self.dated else None
        return str(fields["signature"]), self.mac(fields, b""), at


class InAList(Envelope):
    """The same, with a list of signatures."""

    def sign(self, request):
        headers, fields = super().sign(request)
        return headers, {**fields, "signature": [fields["signature"]]}

    def signature(self, headers, body):
        fields = json.loads(body)
        return str(fields["signature"][0]), self.mac(fields, b""), None


class Wrapped(Envelope):
    """The event in an object of the signer's, next to a signature of its id."""

    def fields(self, request):
        return {"event": request.json()}

    def signed(self, fields, body):
        return (fields["event"]["chatMessage"]["id"],)


class NonceInside(Envelope):
    """A nonce and a signature of the message in the body."""

    def fields(self, request):
        return {**request.json(), "by": {"nonce": uuid.uuid4().hex}}

    def signed(self, fields, body):
        return fields["by"]["nonce"], json.dumps(fields["chatMessage"])


class Notification(Envelope):
    """The event is text in JSON, with spaces of its own, next to a time."""

    dated = True

    def fields(self, request):
        return {"message": json.dumps(request.json(), indent=1), "at": str(request.timestamp)}

    def signed(self, fields, body):
        return str(fields["at"]), fields["message"]


class SignedEnvelope(Scheme):
    """The signer writes the body with spaces of its own, and a header signs its bytes."""

    dated = True

    def sign(self, request):
        at, body = str(request.timestamp), json.dumps({"event": request.json()}, indent=1).encode()
        return {"X-At": at, "X-Signature": mac(at, body).hexdigest()}, body

    def signed(self, fields, body):
        return fields["X-At"], body


class Encrypted(Envelope):
    """The event is encrypted with a random salt, and signed with a nonce and a time."""

    dated = True

    def fields(self, request):
        salt = os.urandom(16)
        secret = b64(salt + bytes(byte ^ salt[0] for byte in request.body))
        return {"nonce": uuid.uuid4().hex, "at": str(request.timestamp), "encrypted": secret}

    def signed(self, fields, body):
        return str(fields["at"]), str(fields["nonce"]), fields["encrypted"]


class EncryptedFields(Envelope):
    """The event is parsed, written again and encrypted, and that is signed."""

    def read(self, body):
        return json.loads(body)

    def fields(self, request):
        text = json.dumps(self.read(request.body)).encode()
        return {"encrypted": b64(bytes(byte ^ 7 for byte in text))}

    def signed(self, fields, body):
        secret = str(fields["encrypted"])
        json.loads(bytes(byte ^ 7 for byte in base64.urlsafe_b64decode(secret)))
        return (secret,)


class EncryptedForm(EncryptedFields):
    """The same with a form."""

    outbound = staticmethod(FormFields.outbound)

    def read(self, body):
        return parse_qsl(body.decode())


# Schemes with random numbers that Python doesn't draw, so that they are others at each call.


class FieldsByNumber(RandomFields):
    """The fields of a JSON body, and a nonce."""

    def fields(self, request):
        return {"X-Nonce": str(next(NUMBERS))}

    mac = Scheme.mac


class InsideByNumber(Inside):
    """All in one header, with a short signature."""

    def nonce(self):
        return str(next(NUMBERS))

    def mac(self, fields, body):
        return super().mac(fields, body)[:48]


class UnsignedTime(Salted):
    """A body, beside a time that isn't signed."""

    def salt(self):
        return str(next(NUMBERS))


class KeyName(UnsignedTime):
    """The name of a key, beside a signature."""

    def fields(self, request):
        return {"X-Key-Id": "0123456789abcdef"}

    def signed(self, fields, body):
        if fields["X-Key-Id"] != "0123456789abcdef":
            raise ValueError
        return (body,)


class KeyAndIds(Key):
    """A key that is always the same, beside ids that may be taken for signatures."""

    def fields(self, request):
        number = str(next(NUMBERS))
        return {"X-Auth-Id": number, "X-Request-Id": f"{number}-{number}A"}


class Sealed(Scheme):
    """JSON in base64, with a nonce and a signature."""

    def sign(self, request):
        return {"X-Seal": self.sealed(str(next(NUMBERS)), request.body), "X-Client": "shop-backend"}

    def signature(self, headers, body):
        given = headers["X-Seal"]
        nonce = json.loads(base64.urlsafe_b64decode(given))["nonce"]
        return given, self.sealed(nonce, body), None

    def sealed(self, nonce, body):
        fields = {"nonce": nonce, "mac": mac(nonce, body).hexdigest()}
        return b64(json.dumps(fields).encode())


SCHEMES = [Nonce, Inside, Salted, SaltedBytes, Fields, SomeFields, Picky, FormFields]
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

    def fields(self, request):
        return {"X-Other-Key": "abcdefghijkl"}


class TwoSignaturesAndADate(OldAndNew):
    """Two hash functions sign a date as well, which an app with a flaw doesn't need."""

    dated = True

    def sign(self, request):
        at = str(request.timestamp)
        dated = replace(request, body=f"{at}.".encode() + request.body)
        return {"X-Date": at, **super().sign(dated)}

    def signature(self, headers, body):
        at = headers["X-Date"]
        given, right, _ = self.by("sha256", headers, f"{at}.".encode() + body)
        return given, right, int(at)


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
        (SaltedBytes(), ["X-Request-Id", "X-Sent-At", "X-Signature"]),
        (KeyAndId(), ["Authorization", "X-Request-Id", "X-At"]),
        (TwoKeys(), ["Authorization", "X-Other-Key"]),
        (TwoSignaturesAndADate(), ["X-Date", "X-Hub-sha1", "X-Hub-sha256"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_header_of_a_signature_is_left_out_once(scheme, names):
    assert headers_of(verdict_on(scheme)[1]) == names


def test_a_date_that_is_not_signed_belongs_to_no_signature():
    class DateBesideFields(Fields):
        def fields(self, request):
            return {"X-Date": str(request.timestamp)}

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
            again = json.dumps(json.loads(body), separators=(",", ":"))
            return super().signature(headers, again.encode())

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
    ("scheme", "turn", "left_out"),
    [
        (NewOrOld(), 99, "X-Hub-sha1 (the app then verifies X-Hub-sha256, which is genuine)"),
        (
            NewOrOld(),
            4,
            "X-Hub-sha1 (accepted, but a 429 hides whether the app then verifies X-Hub-sha256)",
        ),
        (
            KeyAndId(),
            99,
            "X-Request-Id (the app accepts any X-Request-Id, so it may be unsigned)",
        ),
        (
            KeyAndId(),
            5,
            "X-Request-Id (accepted, but a 429 hides whether the app accepts any X-Request-Id)",
        ),
    ],
)
def test_what_a_control_has_shown_is_said_unless_a_429_hides_it(scheme, turn, left_out, fake):
    requests = count()

    def receive(request):
        if next(requests) == turn:
            return 429
        return 204 if scheme.accepts(request, "") else 401

    send_to(fake, receive, signer=scheme.sign)
    assert verdict(fake) == []
    notes = fake.webhooks._forgery_check.notes

    assert f"left out: without {left_out}, at receive()" in notes


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


class TokenInBody(Envelope):
    """A token and the time in a body are signed, and not the event, as by Mailgun."""

    dated = True

    def __init__(self, token):
        self.token = token

    def fields(self, request):
        token, at = self.token(request), str(request.timestamp)
        return {**request.json(), "at": at, "token": token}

    def signed(self, fields, body):
        return str(fields["at"]), fields["token"]


class TokenInHeaders(Scheme):
    """The same in headers."""

    dated = True

    def __init__(self, token):
        self.token = token

    def fields(self, request):
        return {"X-At": str(request.timestamp), "X-Token": self.token(request)}

    def signed(self, fields, body):
        return fields["X-At"], fields["X-Token"]


TOKENS = {
    "random": lambda _: secrets.token_hex(25),
    "uuid": lambda _: str(uuid.uuid4()),
    "random numbers": lambda _: "".join(random.choices("0123456789abcdef", k=30)),
    "id": lambda request: request.id[-12:],
    "id of the event": lambda request: request.event.id[-12:],
    "made of the body": lambda request: sha256(request.body).hexdigest()[:30],
    "drawn elsewhere": lambda _: str(next(NUMBERS)),
}


OF_THE_BODY = {"changed after it was signed", "with another event's signature"}


@pytest.mark.parametrize("token", TOKENS)
def test_a_signature_of_a_token_in_the_body_accuses_no_right_app(token):
    got, tried = verdict_on(TokenInBody(TOKENS[token]))

    assert (got, OF_THE_BODY & {*tried}) == ([], set())


@pytest.mark.parametrize("token", list(TOKENS)[:5])
def test_a_signature_of_a_token_in_headers_accuses_no_right_app(token):
    got, tried = verdict_on(TokenInHeaders(TOKENS[token]))

    assert (got, "with another event's signature" in tried) == ([], False)


@pytest.mark.parametrize("where", [TokenInBody, TokenInHeaders])
@pytest.mark.parametrize("token", list(TOKENS)[:4])
def test_the_age_of_a_signature_of_a_token_is_still_checked(token, where):
    got, _ = verdict_on(where(TOKENS[token]), "ignores age")

    assert got == ["signed a day ago", "signed a day ahead"]


@pytest.mark.parametrize(
    ("scheme", "how"),
    [(TokenInBody(TOKENS["made of the body"]), "may"), (TokenInHeaders(TOKENS["id"]), "does")],
)
def test_a_signature_that_covers_no_body_is_said_to_be_left_out(fake, scheme, how):
    send_to(fake, lambda _: 204, signer=scheme.sign)
    left_out = "changed after it was signed, with another event's signature"

    told = f"{left_out} (the signature {how} not cover the body)"
    assert told in "\n".join(verdict(fake))


def test_a_random_signature_of_fields_is_tried_with_one_of_these_changed():
    got, tried = verdict_on(NonceInside())

    assert (got, OF_THE_BODY - {*tried}) == ([], set())


def test_a_signature_may_follow_a_text_of_any_length(fake):
    def sign(request):
        text = request.json()["chatMessage"]["text"]["body"]
        return {}, {**request.json(), "sign": f"{text} {mac(request.body).hexdigest()}"}

    send_to(fake, lambda _: 204, signer=sign)
    fake.send_text("A longer one")

    told = "with another event's signature, at <lambda>(): status 204, expected 400 to 499"
    assert told in verdict(fake)


def test_random_numbers_are_random_again_after_the_check():
    random.random()  # or it would be in the state that the check begins with
    state = random.getstate()
    verdict_on(TokenInBody(TOKENS["random"]))

    assert random.getstate() == state
    assert [os.urandom, random._urandom] == [URANDOM, URANDOM]


def test_what_a_test_puts_in_place_of_random_numbers_stays_in_one_place(monkeypatch):
    monkeypatch.setattr(os, "urandom", bytes)
    verdict_on(TokenInBody(TOKENS["random"]))

    assert [os.urandom, random._urandom] == [bytes, URANDOM]


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
