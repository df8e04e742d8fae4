"""SendGrid: lists of events, signed with ECDSA."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Any

from werkzeug import Response

from pytest_chatfake import ChatFake, ChatFakeConfig, Message, Naming, WebhookRequest

EVENTS = {"sent": "processed", "delivered": "delivered", "read": "open", "failed": "bounce"}


def outbound(event: Any) -> list[dict[str, Any]]:
    message = event["chatMessage"]
    posted = {
        "email": message["to"],
        "timestamp": int(datetime.fromisoformat(event["createTime"]).timestamp()),
        "event": EVENTS.get(message["status"], message["status"]),
        "sg_event_id": event["id"],
        "sg_message_id": f"{message['id']}.recvd-1",
    }
    if posted["event"] == "bounce":
        posted |= {"status": "5.1.1", "type": "bounce", "reason": "no such mailbox"}
    return [posted]


def signer(sign: Callable[[bytes], bytes]) -> Any:
    """Sign with a function: ECDSA over P-256 with SHA-256, by ``cryptography`` for example."""

    def signed(request: WebhookRequest) -> dict[str, str]:
        timestamp = str(request.timestamp)
        signature = b64encode(sign(timestamp.encode() + request.body)).decode()
        name = "X-Twilio-Email-Event-Webhook"
        return {f"{name}-Signature": signature, f"{name}-Timestamp": timestamp}

    return signed


def send_endpoint(chat_fake: ChatFake) -> None:
    def parse(request: Any) -> dict[str, Any]:
        order = request.get_json()
        to = order["personalizations"][0]["to"][0]["email"]
        return {"type": "text", "content": {"body": order["content"][0]["value"]}, "to": to}

    def reply(message: Message) -> Response:
        return Response(status=202, headers={"X-Message-Id": message.id})

    chat_fake.send_endpoint("/v3/mail/send", parse=parse, reply=reply)


def config(sign: Callable[[bytes], bytes]) -> ChatFakeConfig:
    return ChatFakeConfig(
        api_key_header="Authorization: Bearer {api_key}",
        naming=Naming(to_key="to", from_key="from"),
        outbound=outbound,
        signer=signer(sign),
    )
