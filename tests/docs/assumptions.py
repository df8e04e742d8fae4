"""What the fake does where the description is silent, one check for each row of the page on it.

A check does what its row says with a fake that is configured by nothing, and returns what the row's
column "in short" must say.
"""

from functools import partial

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake, HmacSigner, IllegalTransition

ANNA = "+4915550001"


def call(fake, path="/v2/balance", method="GET", **options):
    key = {"X-API-Key": fake.api_key}
    return Client(fake.wsgi_app).open(path, method=method, **{"headers": key} | options)


def resource(message, index=-1):
    return message.events[index].json()["chatMessage"]


def failed_and_rejected(fake):
    return [resource(one) for one in (fake.send_text().fail(), fake.submit_text().reject())]


def refusal(verb):
    with pytest.raises(IllegalTransition) as refused:
        verb()
    return type(refused.value).__name__


#: The checks, by the names of their rows. What takes more than an expression is a function below.
CHECKS = {
    "opening-balance": lambda fake: str(fake.balance.available),
    "currency": lambda fake: call(fake).json["currency"],
    "conversation-type": lambda fake: resource(fake.send_text().deliver())["conversation"]["type"],
    "after-read": lambda fake: refusal(fake.send_text().deliver().read().deliver),
    "fail-after-delivery": lambda fake: refusal(fake.send_text().deliver().fail),
    "failed-hold": lambda fake: "held" if fake.send_text().fail().held else "released",
    "error-text": lambda fake: resource(fake.send_text().fail())["errorMessage"],
    "platform-text": lambda fake: resource(fake.send_text().fail())["chatApiError"]["message"],
    "platform-tried": lambda fake: tuple(
        "chatApiError" in one for one in failed_and_rejected(fake)
    ),
    "inbound-refused": lambda fake: refusal(
        partial(fake.recipient(ANNA, blocked=True).writes, "STOP")
    ),
    "omitted-fields": lambda fake: [*fake.config.omit],
    "timeout": lambda fake: fake.config.timeout,
    "addresses": lambda fake: (
        "absent" if {"to", "from"}.isdisjoint(resource(fake.send_text())) else "there"
    ),
    "other-types": lambda fake: list(resource(fake.send("template", {"name": "sale"})))[-2:],
}


def row(check):
    """Register the check of the row of that name."""
    CHECKS[check.__name__.replace("_", "-")] = check
    return check


@row
def price(fake):
    assert str(fake.send_text(origin_type="utility", to="+44").total_price) == "0.05"
    return str(fake.send_text().total_price)


@row
def held_in_balance(fake):
    fake.send_text()
    return {99.95: "available", 100: "total"}[call(fake).json["amount"]]


@row
def no_key(fake):
    found = [call(fake, headers=key) for key in ({"X-API-Key": "wrong"}, {"X-API-Key": ""}, {})]
    ((status, _),) = {(response.status_code, response.text) for response in found}
    return status


@row
def other_paths(fake):
    path, method = call(fake, "/v2/messages"), call(fake, method="POST")
    errors = path.json["error"], method.json["error"]
    assert [path.status_code, method.status_code] == [404, 405]
    assert [error["status"] for error in errors] == [404, 405]
    return tuple(error["code"] for error in errors)


@row
def event_ids(fake):
    fake.webhooks.connect(
        handler=lambda request: 500 if request.number == 1 else 200, retry_after=[1]
    )
    message = fake.send_text().deliver().read()
    fake.clock.advance(1)
    ids = [attempt.event.id for attempt in fake.webhooks.attempts]
    assert ids[:3] == ids[3:]
    return "unique" if len({event.id for event in message.events}) == 3 else "per-message"


@row
def event_order(fake):
    receivers = [fake.webhooks.receiver(), fake.webhooks.receiver()]
    fake.send_text().deliver().read()
    assert [
        (status, receiver.endpoint)
        for status in ("sent", "delivered", "read")
        for receiver in receivers
    ] == [(attempt.event.status, attempt.endpoint) for attempt in fake.webhooks.attempts]
    return "as emitted"


@row
def grouping(fake):
    first, second = fake.send_text(to="+1"), fake.send_text(to="+1")
    other, typed = fake.send_text(to="+2"), fake.send_text(to="+1", origin_type="utility")
    assert first.conversation == second.conversation
    first.deliver()
    assert first.conversation == fake.send_text(to="+1").conversation
    fake.clock.advance(hours=24)
    later = fake.send_text(to="+1")
    assert len({one.conversation for one in (first, other, typed, later)}) == 4
    return "recipient and origin type"


@row
def default_recipient(fake):
    (address,) = {fake.send_text().to, fake.send_text(origin_type="utility").to}
    return address


@row
def failed_conversation(fake):
    conversation = fake.send_text().fail().conversation
    return "used again" if fake.send_text().conversation == conversation else "left"


@row
def expired_conversation(fake):
    conversation = fake.send_text().deliver().conversation
    fake.clock.advance(hours=24)
    return refusal(lambda: fake.send_text(conversation=conversation))


@row
def origin_type(fake):
    assert fake.send_text(origin_type="anything").origin_type == "anything"
    return resource(fake.send_text())["conversation"]["originType"]


@row
def expiry_instant(fake):
    fake.send_text().deliver()
    fake.clock.advance(hours=24, microseconds=-1)
    assert fake.conversations[0].state == "open"
    fake.clock.advance(microseconds=1)
    return fake.conversations[0].state


@row
def drop_instant(fake):
    message = fake.send_text()
    fake.clock.advance(days=30, microseconds=-1)
    assert not message.dropped
    fake.clock.advance(microseconds=1)
    return "dropped" if message.dropped else message.status


@row
def dropped_status(fake):
    message = fake.send_text()
    fake.clock.advance(days=30)
    fake.assert_statuses(message, "sent")
    return message.status


@row
def open_price(fake):
    fake.send_text().deliver()
    message = fake.send_text(price="7")
    estimate = resource(message)["totalPrice"]
    message.deliver(price="7")
    fake.assert_charged("0.05")
    assert estimate == resource(message)["totalPrice"]
    return estimate


@row
def charge_per(fake):
    fake.send_text().deliver()
    return "message" if fake.send_text().deliver().charged else "conversation"


@row
def two_pending(fake):
    first, second = fake.send_text(), fake.send_text()
    second.deliver()
    fake.assert_held("0.05", message=first)
    first.deliver()
    fake.assert_held("0")
    return str(second.charged), str(first.charged)


@row
def late_delivery(fake):
    fake.send_text().deliver()
    late = fake.send_text()
    fake.clock.advance(days=2)
    return late.deliver().charged


@row
def failed_price(fake):
    (price,) = {one["totalPrice"] for one in failed_and_rejected(fake)}
    return price


@row
def failed_create_time(fake):
    failed, rejected = failed_and_rejected(fake)
    return "present" if "createTime" in {*failed, *rejected} else "absent"


@row
def after_failed(fake):
    message = fake.send_text().fail()
    (kind,) = {refusal(verb) for verb in (message.deliver, message.read, message.fail)}
    return kind


@row
def read_at_once_times(fake):
    message = fake.send_text()
    fake.clock.advance(60)
    shown = resource(message.read())
    return "the same" if shown["deliverTime"] == shown["readTime"] else "another"


@row
def second_device_time(fake):
    message = fake.send_text().deliver()
    fake.clock.advance(60)
    message.deliver()
    first, second = resource(message, 1)["deliverTime"], resource(message, 2)["deliverTime"]
    return "the first" if first == second else "its own"


@row
def read_in_private(fake):
    message = fake.send_text(to=fake.recipient(ANNA, read_receipts=False)).read()
    fake.assert_statuses(message, "sent", "delivered")
    return message.status


@row
def sent_while_blocked(fake):
    person = fake.recipient(ANNA).blocks()
    blocked = fake.send_text(to=person)
    person.unblocks()
    withheld = fake.send_text(to=fake.recipient("+2", withheld=True))
    fake.recipient("+2", withheld=False).goes_offline().comes_online()
    assert blocked.status == withheld.status
    return blocked.status


@row
def back_online(fake):
    person = fake.recipient(ANNA, online=False)
    messages = [fake.send_text(to=person) for _ in range(2)]
    person.comes_online()
    assert [one.id for one in messages] == [event.message_id for event in fake.events[2:]]
    return [message.status for message in messages]


@row
def scripted_delivery(fake):
    person = fake.recipient(ANNA, online=False)
    message = fake.send_text(to=person).after(60).deliver()
    person.comes_online()
    return message.status


@row
def scripted_reading(fake):
    message = fake.send_text(to=ANNA).deliver().after(60).read()
    fake.recipient(ANNA).opens_chat()
    return message.status


@row
def let_through(fake):
    person = fake.recipient(ANNA, online=False)
    message = fake.send_text(to=person)
    fake.recipient(ANNA, withheld=True)
    person.comes_online()
    refusal(message.deliver)
    found = [message.status]
    fake.recipient(ANNA, withheld=False)
    return [*found, message.status]


@row
def arrival_in_chat(fake):
    message, other = fake.send_text(to=ANNA), fake.send_text(to="+2")
    fake.recipient(ANNA).blocks().opens_chat().unblocks()
    fake.recipient("+2").goes_offline()
    fake.recipient("+2", online=True, chat_open=True)
    assert [event.status for event in message.events] == [event.status for event in other.events]
    return [event.status for event in message.events]


@row
def open_chat(fake):
    message = fake.send_text(to=ANNA)
    fake.recipient(ANNA).opens_chat()
    return [event.status for event in message.deliver().events]


@row
def not_registered(fake):
    message = fake.send_text(to=fake.recipient(ANNA, registered=False))
    return [event.status for event in message.events]


@row
def devices(fake):
    message = fake.send_text(to=fake.recipient(ANNA, devices=3))
    message.deliver(devices=1).deliver().deliver()
    fake.assert_statuses(message, "sent", *["delivered"] * 4)
    return len(fake.send_text().deliver().events) - 1


@row
def balance_too_low(fake):
    fake.set_balance("0.01")
    message = fake.send_text()
    fake.assert_available("-0.04")
    return message.status


@row
def balance_code(fake):
    with ChatFake(on_insufficient_balance="fail", opening_balance="0") as poor:
        return resource(poor.send_text())["errorCode"]


@row
def no_money_event(fake):
    fake.send_text()
    fake.top_up("1")
    fake.set_balance("2")
    fake.clock.advance(days=30)
    return len(fake.events) - 1


@row
def receivers_response(fake):
    receiver = fake.webhooks.receiver()
    for status in (200, 204, 299, 300, 404, 500):
        receiver.respond(status, times=1)
        fake.send_text()
    assert len(fake.webhooks.attempts) == 6
    return [attempt.status_code for attempt in fake.webhooks.attempts if attempt.ok]


@row
def retries(fake):
    fake.webhooks.receiver().respond(500)
    fake.send_text()
    fake.clock.advance(days=1)
    return len(fake.webhooks.attempts)


@row
def redelivery(fake):
    receiver = fake.webhooks.receiver()
    message = fake.send_text()
    with fake.webhooks.lose(times=None), fake.webhooks.tamper(times=None):
        fake.webhooks.redeliver(message.events[0])
        message.deliver()
    assert [message.events[0].body] * 2 == [request.body for request in receiver.requests]
    return [attempt.fault for attempt in fake.webhooks.attempts[1:2]]


@row
def barriers(fake):
    receiver = fake.webhooks.receiver()
    fake.webhooks.lose_response()
    fake.send_text()
    fake.settle()
    return [request.number for request in receiver.requests]


@row
def disabling(fake):
    fake.webhooks.connect(handler=lambda _: 500)
    for _ in range(20):
        fake.send_text()
    return sum(one.status_code == 500 for one in fake.webhooks.attempts)


@row
def signing(fake):
    receiver = fake.webhooks.receiver()
    fake.send_text()
    return list(receiver.requests[0].headers)


@row
def rotation(fake):
    receiver = fake.webhooks.receiver()
    fake.webhooks.connect(handler=receiver, signer=HmacSigner("old"))
    fake.webhooks.rotate_secret("new")
    fake.send_text()
    request = receiver.requests[-1]
    signatures = request.headers["X-Signature"].split(",s=")[1:]
    names = {HmacSigner(one)(request)["X-Signature"].split(",s=")[1]: one for one in ("old", "new")}
    return [names[signature] for signature in signatures]


@row
def names(fake):
    event = fake.send_text().fail().events[-1].json()
    named = {event["type"], *event, *event["chatMessage"]}
    assert {"chat.message.updated", "chatMessage", "chatMessageId", "chatApiError"} <= named
    return event["chatMessage"]["bizType"]


@row
def other_events(fake):
    receiver = fake.webhooks.receiver(events="*")
    fake.webhooks.emit_event("chat.inbound_message.received", {})
    return list(receiver.events[-1].json())[-1]


@row
def inbound_messages(fake):
    receiver = fake.webhooks.receiver(events="*")
    fake.recipient(ANNA).writes("STOP")
    return [receiver.events[0].type, *receiver.events[0].json()["chatInboundMessage"]]


@row
def send_call(fake):
    fake.send_endpoint()
    order = {"to": "+1", "type": "text", "text": {"body": "Hello"}}
    response = call(fake, "/v2/messages", "POST", json=order)
    fake.settle()
    return response.status_code, response.json["status"]


def send_with_a_key(fake, to):
    order = {"to": to, "type": "text", "text": {"body": "Hello"}}
    headers = {"X-API-Key": fake.api_key, "Idempotency-Key": "order-17"}
    response = call(fake, "/v2/messages", "POST", json=order, headers=headers)
    fake.settle()
    return int(response.status_code)


@row
def repeated_send(fake):
    fake.send_endpoint()
    send_with_a_key(fake, "+1")
    send_with_a_key(fake, "+1")
    return len(fake.messages)


@row
def idempotency_key(fake):
    fake.send_endpoint(idempotency_header="Idempotency-Key")
    return [send_with_a_key(fake, to) for to in ("", "+1", "+1", "+2")]


@row
def extra_fields(fake):
    plain, more = fake.send_text(), fake.send_text(extra={"tag": 1})
    return "absent" if {"tag"} == set(resource(more)) - set(resource(plain)) else "present"


@row
def milliseconds(fake):
    fake.clock.advance(microseconds=999_999)
    return resource(fake.send_text())["sendTime"]
