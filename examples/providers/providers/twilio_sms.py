"""Twilio: form-encoded callbacks, to the URL that the send call named."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pytest_chatfake import ChatFake, ChatFakeConfig, Event, Message, Naming, WebhookRequest

ACCOUNT = "AC" + "0" * 32

#: Your app's own address, as Twilio knows it: the whole URL is signed.
HOST = "https://testserver"

STATUSES = {"sent": "sent", "delivered": "delivered", "read": "read", "failed": "undelivered"}


def sid_of(id_: str) -> str:
    return f"SM{id_:0>32}"


def outbound(event: Any) -> str:
    message = event["chatMessage"]
    status = STATUSES.get(message["status"], message["status"])
    fields = {
        "AccountSid": ACCOUNT,
        "ApiVersion": "2010-04-01",
        "From": message["from"],
        "MessageSid": sid_of(message["id"]),
        "MessageStatus": status,
        "SmsSid": sid_of(message["id"]),
        "SmsStatus": status,
        "To": message["to"],
    }
    if "errorCode" in message:
        fields["ErrorCode"] = "30003"
    return urlencode(fields)


def callback(event: Event) -> str:
    """For ``connect(path=)``: the path of the message's ``StatusCallback``."""
    return str(event.json()["chatMessage"].get("callback", "/"))


def signer(token: str) -> Any:
    def sign(request: WebhookRequest) -> dict[str, str]:
        fields = sorted(parse_qsl(request.body.decode(), keep_blank_values=True))
        signed = HOST + request.path + "".join(name + value for name, value in fields)
        mac = hmac.digest(token.encode(), signed.encode(), "sha1")
        return {"X-Twilio-Signature": b64encode(mac).decode()}

    return sign


def send_endpoint(chat_fake: ChatFake) -> None:
    def parse(request: Any) -> dict[str, Any]:
        url = urlsplit(request.form.get("StatusCallback", "/"))
        path = url.path + (f"?{url.query}" if url.query else "")
        content = {"body": request.form["Body"]}
        to = request.form["To"]
        return {"type": "text", "content": content, "to": to, "extra": {"callback": path}}

    def reply(message: Message) -> tuple[dict[str, Any], int]:
        return {"sid": sid_of(message.id), "status": "queued", "to": message.to}, 201

    chat_fake.send_endpoint(
        f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json", parse=parse, reply=reply
    )


def basic_password(headers: Any) -> str | None:
    """Find the key in Basic authentication, where it is the password."""
    scheme, _, encoded = headers.get("Authorization", "").partition(" ")
    return b64decode(encoded).decode().partition(":")[2] if scheme == "Basic" else None


def config(token: str = "auth-token") -> ChatFakeConfig:
    """Connect with ``path=callback`` and the headers of :data:`HEADERS`."""
    return ChatFakeConfig(
        api_key=token,  # it also signs
        api_key_header=basic_password,
        naming=Naming(to_key="to", from_key="from"),
        outbound=outbound,
        signer=signer(token),
    )


HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}
