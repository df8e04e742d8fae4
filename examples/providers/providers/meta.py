"""WhatsApp, by Meta's Cloud API or by 360dialog, which posts the same bodies."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pytest_chatfake import (
    ChatFake,
    ChatFakeConfig,
    HmacSigner,
    InboundMessage,
    Message,
    Naming,
)

PHONE = "106540352242922"

#: Meta's codes are numbers. Those of the fake that aren't have one here.
CODES = {"BALANCE_INSUFFICIENT": 131042}
UNKNOWN_ERROR = 131000


def _change(**value: Any) -> dict[str, Any]:
    metadata = {"display_phone_number": "15550783881", "phone_number_id": PHONE}
    value = {"messaging_product": "whatsapp", "metadata": metadata, **value}
    changes = [{"field": "messages", "value": value}]
    return {"object": "whatsapp_business_account", "entry": [{"id": "7", "changes": changes}]}


def _contact(number: str) -> dict[str, Any]:
    user = f"US.{number.removeprefix('+')}"
    return {"profile": {"name": "Ada"}, "wa_id": number, "user_id": user}


def _error_code(code: str) -> int:
    return int(code) if code.isdecimal() else CODES.get(code, UNKNOWN_ERROR)


def outbound(event: Any) -> dict[str, Any]:
    message = event["chatMessage"]
    status = {
        "id": message["chatMessageId"],
        "status": message["status"],
        "timestamp": str(int(datetime.fromisoformat(event["createTime"]).timestamp())),
        "recipient_id": message["to"],
    }
    if "conversation" in message:
        category = message["conversation"]["originType"]
        status["conversation"] = {
            "id": message["conversation"]["id"],
            "origin": {"type": category},
        }
        status["pricing"] = {"billable": True, "pricing_model": "PMP", "category": category}
    if "errorCode" in message:
        text = message["errorMessage"]
        error = {"code": _error_code(message["errorCode"]), "title": text, "message": text}
        status["errors"] = [{**error, "error_data": {"details": text}}]
    return _change(contacts=[_contact(message["to"])], statuses=[status])


def inbound(message: InboundMessage) -> dict[str, Any]:
    written = {
        "from": message.from_,
        "id": message.id,
        "timestamp": str(int(message.at.timestamp())),
        "type": message.type,
        message.type: message.content,
    }
    return {"body": _change(contacts=[_contact(message.from_)], messages=[written])}


def send_endpoint(chat_fake: ChatFake, path: str = f"/v23.0/{PHONE}/messages") -> None:
    def parse(request: Any) -> dict[str, Any]:
        order = request.get_json()
        kind = order.get("type", "text")
        return {"type": kind, "content": order[kind], "to": order["to"]}

    def reply(message: Message) -> dict[str, Any]:
        return {
            "messaging_product": "whatsapp",
            "contacts": [{"input": message.to, "wa_id": message.to}],
            "messages": [{"id": message.chat_message_id}],
        }

    chat_fake.send_endpoint(path, parse=parse, reply=reply)


def config(app_secret: str = "app secret") -> ChatFakeConfig:
    return ChatFakeConfig(
        api_key_header="Authorization: Bearer {api_key}",
        naming=Naming(to_key="to", from_key="from"),
        outbound=outbound,
        inbound=inbound,
        signer=HmacSigner(
            app_secret,
            header="X-Hub-Signature-256",
            format="sha256={signature}",
            content="{body}",
        ),
    )


def config_360dialog() -> ChatFakeConfig:
    """360dialog signs nothing; its send call is ``/messages``."""
    return config().replace(api_key_header="D360-API-KEY: {api_key}", signer=None)
