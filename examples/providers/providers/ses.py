"""Amazon SES, whose events come through SNS: JSON inside JSON, signed inside the body."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from pytest_chatfake import ChatFake, ChatFakeConfig, Message, Naming, WebhookRequest

TYPES = {"sent": "Send", "delivered": "Delivery", "read": "Open", "failed": "Bounce"}
TOPIC = "arn:aws:sns:eu-west-1:123456789012:mail"


def outbound(event: Any) -> dict[str, Any]:
    message, now = event["chatMessage"], event["createTime"]
    type_ = TYPES.get(message["status"], message["status"])
    mail = {
        "messageId": message["id"],
        "timestamp": now,
        "source": message["from"],
        "destination": [message["to"]],
    }
    details: dict[str, Any] = {"timestamp": now}
    if type_ == "Delivery":
        details["recipients"] = [message["to"]]
    if type_ == "Bounce":
        recipient = {"emailAddress": message["to"], "status": "5.1.1"}
        details |= {"bounceType": "Permanent", "bounceSubType": "General"}
        details["bouncedRecipients"] = [recipient]
    return {
        "Type": "Notification",
        "MessageId": event["id"],
        "TopicArn": TOPIC,
        "Message": json.dumps({"eventType": type_, "mail": mail, type_.lower(): details}),
        "Timestamp": now,
        "SignatureVersion": "2",
    }


def signed_text(fields: dict[str, Any]) -> bytes:
    """Return what SNS signs of a notification without a subject."""
    names = ("Message", "MessageId", "Timestamp", "TopicArn", "Type")
    return "".join(f"{name}\n{fields[name]}\n" for name in names if name in fields).encode()


def signer(sign: Callable[[bytes], bytes]) -> Any:
    """Sign with a function: RSA with SHA-256 and PKCS #1 v1.5, by ``cryptography`` for example."""

    def signed(request: WebhookRequest) -> tuple[dict[str, str], dict[str, Any]]:
        fields = request.json()
        headers = {
            "x-amz-sns-message-type": fields.get("Type", "Notification"),
            "x-amz-sns-message-id": fields.get("MessageId", request.id),
            "Content-Type": "text/plain; charset=UTF-8",
        }
        signature = b64encode(sign(signed_text(fields))).decode()
        url = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0.pem"
        return headers, {**fields, "Signature": signature, "SigningCertURL": url}

    return signed


def access_key(headers: Any) -> str | None:
    """Find the key in the signature of an AWS client, which isn't verified itself."""
    found = re.search(r"Credential=([^/]+)/", headers.get("Authorization", ""))
    return found[1] if found else None


def send_endpoint(chat_fake: ChatFake) -> None:
    def parse(request: Any) -> dict[str, Any]:
        order = request.get_json()
        text = order["Content"]["Simple"]["Body"]["Text"]["Data"]
        (to,) = order["Destination"]["ToAddresses"]
        return {"type": "text", "content": {"body": text}, "to": to}

    def reply(message: Message) -> dict[str, Any]:
        return {"MessageId": message.id}

    chat_fake.send_endpoint("/v2/email/outbound-emails", parse=parse, reply=reply)


def config(sign: Callable[[bytes], bytes]) -> ChatFakeConfig:
    return ChatFakeConfig(
        api_key_header=access_key,
        naming=Naming(to_key="to", from_key="from"),
        outbound=outbound,
        signer=signer(sign),
    )
