"""Postmark: one event per body, nothing when a mail is sent, and Basic authentication."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from zlib import crc32

from pytest_chatfake import ChatFake, ChatFakeConfig, Message, Naming


def outbound(event: Any) -> dict[str, Any] | None:
    message, now = event["chatMessage"], event["createTime"]
    common = {"MessageID": message["id"], "ServerID": 23, "MessageStream": "outbound", "Tag": ""}
    match message["status"]:
        case "delivered":
            sent = {"Recipient": message["to"], "DeliveredAt": now, "Details": "OK"}
            return {"RecordType": "Delivery", **common, **sent}
        case "read":
            opened = {"Recipient": message["to"], "ReceivedAt": now, "FirstOpen": True}
            return {"RecordType": "Open", **common, **opened}
        case "failed":
            bounce = {"Type": "HardBounce", "TypeCode": 1, "Email": message["to"], "BouncedAt": now}
            number = crc32(message["id"].encode())
            return {"RecordType": "Bounce", "ID": number, **common, **bounce}
        case _:
            return None  # nothing is posted


def send_endpoint(chat_fake: ChatFake) -> None:
    def parse(request: Any) -> dict[str, Any]:
        order = request.get_json()
        content = {"body": order.get("TextBody") or order.get("HtmlBody") or ""}
        return {"type": "text", "content": content, "to": order["To"]}

    def reply(message: Message) -> dict[str, Any]:
        return {"ErrorCode": 0, "Message": "OK", "MessageID": message.id, "To": message.to}

    chat_fake.send_endpoint("/email", parse=parse, reply=reply)


def config() -> ChatFakeConfig:
    """Connect with the headers of :func:`headers`: Postmark signs nothing."""
    return ChatFakeConfig(
        api_key_header="X-Postmark-Server-Token: {api_key}",
        naming=Naming(to_key="to", from_key="from"),
        outbound=outbound,
    )


def headers(user: str = "postmark", password: str = "secret") -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}
