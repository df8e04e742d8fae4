"""Apps that verify signatures with a bug each, next to a correct twin."""

import base64
import hmac
import json
import secrets
import time
import uuid
from typing import ClassVar
from urllib.parse import urlencode

import pytest

from pytest_chatfake import ChatFakeConfig, HmacSigner, WebhookTests


def mac(*parts):
    return hmac.new(b"secret", b".".join(map(as_bytes, parts)), "sha256")


def as_bytes(part):
    return part if isinstance(part, bytes) else part.encode()


class Verifying(WebhookTests):
    """Keeps the last status of each message, if its signature is right."""

    __test__ = False
    bug: ClassVar = False

    def connect(self, chat_fake):
        self.rows = {}
        chat_fake.webhooks.connect(handler=self.receive, signer=self.sign)
        return lambda: self.rows

    def receive(self, request):
        if not self.is_genuine(request.headers, request.body):
            return 401
        return self.take(request)

    def take(self, request):
        message = request.json()["chatMessage"]
        self.rows[message["id"]] = message["status"]
        return 204

    def sign(self, request):
        raise NotImplementedError

    def is_genuine(self, headers, body):
        raise NotImplementedError


class TestNonce(Verifying):
    """A random nonce and the time; with the bug, an old request can be replayed."""

    __test__ = True

    def sign(self, request):
        nonce, at = uuid.uuid4().hex, str(request.timestamp)
        signature = mac(at, nonce, request.body).hexdigest()
        return {"X-Nonce": nonce, "X-Timestamp": at, "X-Signature": signature}

    def is_genuine(self, headers, body):
        at, nonce, given = (
            headers.get(f"X-{name}", "") for name in ("Timestamp", "Nonce", "Signature")
        )
        is_right = hmac.compare_digest(mac(at, nonce, body).hexdigest(), given)
        return is_right and (self.bug or abs(time.time() - int(at)) < 300)


class TestIgnoresTheAge(TestNonce):
    bug = True


class TestFields(Verifying):
    """The fields of the body are signed; with the bug, any signature will do."""

    __test__ = True

    def sign(self, request):
        return {"X-Signature": self.signature(request.body)}

    def is_genuine(self, headers, body):
        given, right = headers.get("X-Signature", ""), self.signature(body)
        return len(given) == len(right) if self.bug else hmac.compare_digest(given, right)

    def signature(self, body):
        fields = json.dumps(json.loads(body), sort_keys=True)
        return base64.b64encode(mac(fields).digest()).decode()


class TestComparesNothing(TestFields):
    bug = True


class TestPrefix(Verifying):
    """The header has a prefix; with the bug, what has another one is not verified."""

    __test__ = True
    sign = HmacSigner(
        "secret", header="X-Hub-Signature-256", format="sha256={signature}", content="{body}"
    )

    def is_genuine(self, headers, body):
        word, _, given = headers.get("X-Hub-Signature-256", "").partition("=")
        if word != "sha256":
            return self.bug and bool(word)
        return hmac.compare_digest(given, mac(body).hexdigest())


class TestVerifiesOneForm(TestPrefix):
    bug = True


def form(event):
    message = event["chatMessage"]
    return urlencode({"Sid": message["id"], "Status": message["status"]})


class TestUnique(Verifying):
    """Refuses what it has already, as a database does; with the bug, before it verifies."""

    __test__ = True
    sign = HmacSigner("secret", format="{signature}", content="{body}")

    @pytest.fixture
    def chat_fake_config(self):
        return ChatFakeConfig(outbound=form)

    def scenario(self, chat_fake):
        yield chat_fake.send_text().deliver()

    def receive(self, request):
        if request.body in self.rows:
            return 409
        return super().receive(request)

    def take(self, request):
        self.rows[request.body] = True
        return 204

    def is_genuine(self, headers, body):
        return self.bug or hmac.compare_digest(
            headers.get("X-Signature", ""), mac(body).hexdigest()
        )


class TestOnlyRefusesDuplicates(TestUnique):
    bug = True


class TestToken(Verifying):
    """A random token and the time are signed inside the body; with the bug, they never expire."""

    __test__ = True

    def sign(self, request):
        token, at = secrets.token_hex(25), str(request.timestamp)
        signature = {"timestamp": at, "token": token, "signature": mac(at, token).hexdigest()}
        return {}, {**request.json(), "signature": signature}

    def is_genuine(self, headers, body):
        found = json.loads(body).get("signature", {})
        at, token, given = (found.get(name, "") for name in ("timestamp", "token", "signature"))
        is_right = hmac.compare_digest(mac(at, token).hexdigest(), given)
        return is_right and (self.bug or abs(time.time() - int(at)) < 300)


class TestTokenNeverExpires(TestToken):
    bug = True


class TestKnown(TestIgnoresTheAge):
    """Its provider's SDK knows no limit of age, which the team knows."""

    known_forgeries: ClassVar = dict.fromkeys(["signed a day ago", "signed a day ahead"], "SDK")
