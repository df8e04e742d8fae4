"""Vonage's Messages API: a JSON Web Token signs a digest of the body."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64decode, urlsafe_b64encode
from typing import Any

from pytest_chatfake import ChatFake, ChatFakeConfig, Message, Naming, WebhookRequest

STATUSES = {
    "sent": "submitted",
    "delivered": "delivered",
    "read": "read",
    "failed": "undeliverable",
}


def outbound(event: Any) -> dict[str, Any]:
    message = event["chatMessage"]
    status = {
        "message_uuid": message["id"],
        "to": message["to"],
        "from": message["from"],
        "timestamp": event["createTime"],
        "status": STATUSES.get(message["status"], message["status"]),
        "channel": "sms",
    }
    if "totalPrice" in message:
        price = format(message["totalPrice"], "f")
        status["usage"] = {"currency": message["currency"], "price": price}
    return status


def _encoded(part: bytes) -> str:
    return urlsafe_b64encode(part).rstrip(b"=").decode()


def signer(secret: str) -> Any:
    def sign(request: WebhookRequest) -> dict[str, str]:
        claims = {
            "iat": request.timestamp,
            "jti": request.id,
            "iss": "Vonage",
            "payload_hash": hashlib.sha256(request.body).hexdigest(),
        }
        parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
        signed = ".".join(map(_encoded, parts))
        mac = hmac.digest(secret.encode(), signed.encode(), "sha256")
        return {"Authorization": f"Bearer {signed}.{_encoded(mac)}"}

    return sign


def send_endpoint(chat_fake: ChatFake) -> None:
    def parse(request: Any) -> dict[str, Any]:
        order = request.get_json()
        return {"type": "text", "content": {"body": order["text"]}, "to": order["to"]}

    def reply(message: Message) -> tuple[dict[str, Any], int]:
        return {"message_uuid": message.id}, 202

    chat_fake.send_endpoint("/v1/messages", parse=parse, reply=reply)


def basic_password(headers: Any) -> str | None:
    """Find the key in Basic authentication, where it is the password."""
    scheme, _, encoded = headers.get("Authorization", "").partition(" ")
    return b64decode(encoded).decode().partition(":")[2] if scheme == "Basic" else None


def config(secret: str = "the signature secret of the account") -> ChatFakeConfig:
    return ChatFakeConfig(
        api_key_header=basic_password,
        naming=Naming(to_key="to", from_key="from"),
        outbound=outbound,
        signer=signer(secret),
    )
