"""What the fake does where the description is silent, one check for each row of the page on it.

A check does what its row says with a fake that is configured by nothing, and returns what the row's
column "in short" must say.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.test import Client

from pytest_chatfake import ChatFake, IllegalTransition, Message

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from pytest_chatfake import Receiver

    Check: TypeAlias = Callable[[ChatFake, Receiver], object]

#: The checks, by the names of their rows.
CHECKS: dict[str, Check] = {}


def row(check: Check) -> Check:
    """Register the check of the row of that name."""
    CHECKS[check.__name__.replace("_", "-")] = check
    return check


def query(fake: ChatFake, path: str = "/v2/balance", method: str = "GET", **headers: str) -> Any:
    headers = {"X-API-Key": fake.api_key} | {k.replace("_", "-"): v for k, v in headers.items()}
    return Client(fake.wsgi_app).open(path, method=method, headers=headers)


def resource(message: Message, index: int = -1) -> dict[str, Any]:
    found: dict[str, Any] = message.events[index].json()["chatMessage"]
    return found


def refusal(verb: Callable[[], object]) -> str:
    with pytest.raises(IllegalTransition) as refused:
        verb()
    return type(refused.value).__name__


@row
def opening_balance(fake: ChatFake, receiver: Receiver) -> object:
    return str(fake.balance.available)


@row
def currency(fake: ChatFake, receiver: Receiver) -> object:
    return query(fake).json["currency"]


@row
def price(fake: ChatFake, receiver: Receiver) -> object:
    assert "0.05" == str(fake.send_text(origin_type="utility", to="+44").total_price)
    return str(fake.send_text().total_price)


@row
def held_in_balance(fake: ChatFake, receiver: Receiver) -> object:
    fake.send_text()
    return {99.95: "available", 100: "total"}[query(fake).json["amount"]]


@row
def no_key(fake: ChatFake, receiver: Receiver) -> object:
    wrong, empty = query(fake, X_API_Key="wrong"), query(fake, X_API_Key="")
    missing = Client(fake.wsgi_app).get("/v2/balance")
    assert wrong.json == empty.json == missing.json
    (status,) = {wrong.status_code, empty.status_code, missing.status_code}
    return status


@row
def other_paths(fake: ChatFake, receiver: Receiver) -> object:
    answers = query(fake, "/v2/messages"), query(fake, method="POST")
    assert [404, 405] == [answer.status_code for answer in answers]
    assert [404, 405] == [answer.json["error"]["status"] for answer in answers]
    return tuple(answer.json["error"]["code"] for answer in answers)


@row
def event_ids(fake: ChatFake, receiver: Receiver) -> object:
    receiver.endpoint.disconnect()
    fake.webhooks.connect(
        handler=lambda request: 500 if request.number == 1 else 200, retry_after=[1]
    )
    message = fake.send_text().deliver().read()
    fake.clock.advance(1)
    ids = [attempt.event.id for attempt in fake.webhooks.attempts]
    assert ids[:3] == ids[3:]
    return "unique" if len({event.id for event in message.events}) == 3 else "per-message"


@row
def event_order(fake: ChatFake, receiver: Receiver) -> object:
    fake.webhooks.connect(handler=lambda request: None)
    fake.send_text().deliver().read()
    order = [(attempt.event.status, attempt.endpoint) for attempt in fake.webhooks.attempts]
    first, second = receiver.endpoint, order[1][1]
    assert order == [
        (status, endpoint)
        for status in ("sent", "delivered", "read")
        for endpoint in (first, second)
    ]
    return "as emitted"


@row
def grouping(fake: ChatFake, receiver: Receiver) -> object:
    first, second = fake.send_text(to="+1"), fake.send_text(to="+1")
    other, typed = fake.send_text(to="+2"), fake.send_text(to="+1", origin_type="utility")
    assert first.conversation == second.conversation
    first.deliver()
    assert first.conversation == fake.send_text(to="+1").conversation
    fake.clock.advance(hours=24)
    later = fake.send_text(to="+1")
    assert 4 == len({one.conversation for one in (first, other, typed, later)})
    return "recipient and origin type"


@row
def default_recipient(fake: ChatFake, receiver: Receiver) -> object:
    (address,) = {fake.send_text().to, fake.send_text(origin_type="utility").to}
    return address


@row
def failed_conversation(fake: ChatFake, receiver: Receiver) -> object:
    first = fake.send_text()
    conversation = first.conversation
    first.fail()
    return "used again" if fake.send_text().conversation == conversation else "left"


@row
def expired_conversation(fake: ChatFake, receiver: Receiver) -> object:
    conversation = fake.send_text().deliver().conversation
    fake.clock.advance(hours=24)
    return refusal(lambda: fake.send_text(conversation=conversation))


@row
def origin_type(fake: ChatFake, receiver: Receiver) -> object:
    assert "anything" == fake.send_text(origin_type="anything").origin_type
    return resource(fake.send_text())["conversation"]["originType"]


@row
def conversation_type(fake: ChatFake, receiver: Receiver) -> object:
    return resource(fake.send_text().deliver())["conversation"]["type"]


@row
def expiry_instant(fake: ChatFake, receiver: Receiver) -> object:
    conversation = fake.send_text().deliver().conversation
    assert conversation is not None
    fake.clock.advance(timedelta(hours=24) - timedelta(microseconds=1))
    assert "open" == conversation.state
    fake.clock.advance(timedelta(microseconds=1))
    return conversation.state


@row
def drop_instant(fake: ChatFake, receiver: Receiver) -> object:
    message = fake.send_text()
    fake.clock.advance(timedelta(days=30) - timedelta(microseconds=1))
    assert not message.dropped
    fake.clock.advance(timedelta(microseconds=1))
    return "dropped" if message.dropped else message.status


@row
def dropped_status(fake: ChatFake, receiver: Receiver) -> object:
    message = fake.send_text()
    fake.clock.advance(days=30)
    assert message.dropped
    fake.assert_statuses(message, "sent")
    return message.status


@row
def open_price(fake: ChatFake, receiver: Receiver) -> object:
    fake.send_text().deliver()
    message = fake.send_text(price="7")
    estimate = resource(message)["totalPrice"]
    message.deliver(price="7")
    fake.assert_charged("0.05")
    assert estimate == resource(message)["totalPrice"]
    return estimate


@row
def two_pending(fake: ChatFake, receiver: Receiver) -> object:
    first, second = fake.send_text(), fake.send_text()
    second.deliver()
    fake.assert_held("0.05", message=first)
    first.deliver()
    fake.assert_held("0")
    return str(second.charged), str(first.charged)


@row
def late_delivery(fake: ChatFake, receiver: Receiver) -> object:
    fake.send_text().deliver()
    late = fake.send_text()
    fake.clock.advance(days=2)
    return late.deliver().charged


@row
def failed_hold(fake: ChatFake, receiver: Receiver) -> object:
    message = fake.send_text().fail()
    assert "release" == fake.ledger[-1].kind
    return "released" if not message.held else "held"


@row
def failed_price(fake: ChatFake, receiver: Receiver) -> object:
    failed, rejected = fake.send_text().fail(), fake.submit_text().reject()
    (price,) = {resource(failed)["totalPrice"], resource(rejected)["totalPrice"]}
    return price


@row
def failed_create_time(fake: ChatFake, receiver: Receiver) -> object:
    failed, rejected = fake.send_text().fail(), fake.submit_text().reject()
    found = [one for one in (failed, rejected) if "createTime" in resource(one)]
    return "present" if found else "absent"


@row
def after_failed(fake: ChatFake, receiver: Receiver) -> object:
    message = fake.send_text().fail()
    (kind,) = {refusal(verb) for verb in (message.deliver, message.read, message.fail)}
    return kind


@row
def after_read(fake: ChatFake, receiver: Receiver) -> object:
    return refusal(fake.send_text().deliver().read().deliver)


@row
def fail_after_delivery(fake: ChatFake, receiver: Receiver) -> object:
    return refusal(fake.send_text().deliver().fail)


@row
def read_at_once_times(fake: ChatFake, receiver: Receiver) -> object:
    message = fake.send_text()
    fake.clock.advance(60)
    shown = resource(message.read())
    return "the same" if shown["deliverTime"] == shown["readTime"] else "another"


@row
def second_device_time(fake: ChatFake, receiver: Receiver) -> object:
    message = fake.send_text().deliver()
    fake.clock.advance(60)
    message.deliver()
    first, second = resource(message, 1)["deliverTime"], resource(message, 2)["deliverTime"]
    return "the first" if first == second else "its own"


@row
def read_in_private(fake: ChatFake, receiver: Receiver) -> object:
    private = fake.recipient("+4915550001", read_receipts=False)
    message = fake.send_text(to=private).read()
    fake.assert_statuses(message, "sent", "delivered")
    return message.status


@row
def sent_while_blocked(fake: ChatFake, receiver: Receiver) -> object:
    person = fake.recipient("+4915550001").blocks()
    blocked = fake.send_text(to=person)
    person.unblocks()
    withheld = fake.send_text(to=fake.recipient("+4915550002", withheld=True))
    fake.recipient("+4915550002", withheld=False).goes_offline().comes_online()
    assert blocked.status == withheld.status
    return blocked.status


@row
def back_online(fake: ChatFake, receiver: Receiver) -> object:
    person = fake.recipient("+4915550001", online=False)
    messages = [fake.send_text(to=person) for _ in range(2)]
    person.comes_online()
    assert [one.id for one in messages] == [event.message_id for event in fake.events[2:]]
    return [message.status for message in messages]


@row
def scripted_delivery(fake: ChatFake, receiver: Receiver) -> object:
    person = fake.recipient("+4915550001", online=False)
    message = fake.send_text(to=person).after(60).deliver()
    person.comes_online()
    return message.status


@row
def open_chat(fake: ChatFake, receiver: Receiver) -> object:
    person = fake.recipient("+4915550001")
    message = fake.send_text(to=person)
    person.opens_chat()
    return [event.status for event in message.deliver().events]


@row
def not_registered(fake: ChatFake, receiver: Receiver) -> object:
    message = fake.send_text(to=fake.recipient("+4915550001", registered=False))
    return [event.status for event in message.events]


@row
def devices(fake: ChatFake, receiver: Receiver) -> object:
    fake.recipient("+4915550001", devices=3)
    message = fake.send_text(to="+4915550001").deliver(devices=1).deliver().deliver()
    fake.assert_statuses(message, "sent", *["delivered"] * 4)
    return len(fake.send_text().deliver().events) - 1


@row
def error_text(fake: ChatFake, receiver: Receiver) -> object:
    return resource(fake.send_text().fail())["errorMessage"]


@row
def platform_text(fake: ChatFake, receiver: Receiver) -> object:
    return resource(fake.send_text().fail())["chatApiError"]["message"]


@row
def platform_tried(fake: ChatFake, receiver: Receiver) -> object:
    failed, rejected = fake.send_text().fail(), fake.submit_text().reject()
    return "chatApiError" in resource(failed), "chatApiError" in resource(rejected)


@row
def balance_too_low(fake: ChatFake, receiver: Receiver) -> object:
    fake.set_balance("0.01")
    message = fake.send_text()
    fake.assert_available("-0.04")
    return message.status


@row
def balance_code(fake: ChatFake, receiver: Receiver) -> object:
    with ChatFake(on_insufficient_balance="fail", opening_balance="0") as poor:
        return resource(poor.send_text())["errorCode"]


@row
def no_money_event(fake: ChatFake, receiver: Receiver) -> object:
    fake.send_text()
    before = len(fake.events)
    fake.top_up("1")
    fake.set_balance("2")
    fake.clock.advance(days=30)
    return len(fake.events) - before


@row
def receivers_answer(fake: ChatFake, receiver: Receiver) -> object:
    for status in (200, 204, 299, 300, 404, 500):
        receiver.respond(status)
    for _ in range(6):
        fake.send_text()
    assert 6 == len(fake.webhooks.attempts)
    return [attempt.status_code for attempt in fake.webhooks.attempts if attempt.ok]


@row
def retries(fake: ChatFake, receiver: Receiver) -> object:
    receiver.respond(500)
    fake.send_text()
    fake.clock.advance(days=1)
    return len(fake.webhooks.attempts)


@row
def barriers(fake: ChatFake, receiver: Receiver) -> object:
    fake.webhooks.lose_response()
    fake.send_text()
    fake.settle()
    return [request.number for request in receiver.requests]


@row
def timeout(fake: ChatFake, receiver: Receiver) -> object:
    return fake.config.timeout


@row
def signing(fake: ChatFake, receiver: Receiver) -> object:
    fake.send_text()
    return list(receiver.requests[0].headers)


@row
def names(fake: ChatFake, receiver: Receiver) -> object:
    event = fake.send_text().fail().events[-1].json()
    named = [event["type"], *event, *event["chatMessage"]]
    for name in ("chat.message.updated", "chatMessage", "chatMessageId", "chatApiError"):
        assert name in named
    return event["chatMessage"]["bizType"]


@row
def addresses(fake: ChatFake, receiver: Receiver) -> object:
    return "absent" if {"to", "from"}.isdisjoint(resource(fake.send_text())) else "there"


@row
def other_types(fake: ChatFake, receiver: Receiver) -> object:
    return list(resource(fake.send("template", {"name": "sale"})))[-2:]


@row
def other_events(fake: ChatFake, receiver: Receiver) -> object:
    more = fake.webhooks.receiver(events="*")
    fake.webhooks.emit_event("chat.inbound_message.received", {})
    return list(more.events[-1].json())[-1]


@row
def send_call(fake: ChatFake, receiver: Receiver) -> object:
    fake.send_endpoint()
    order = {"to": "+1", "type": "text", "text": {"body": "Hello"}}
    answer = Client(fake.wsgi_app).post(
        "/v2/messages", json=order, headers={"X-API-Key": fake.api_key}
    )
    fake.settle()
    return answer.status_code, answer.json["status"]


@row
def extra_fields(fake: ChatFake, receiver: Receiver) -> object:
    plain, more = fake.send_text(), fake.send_text(extra={"tag": 1})
    return "absent" if {"tag"} == set(resource(more)) - set(resource(plain)) else "present"


@row
def milliseconds(fake: ChatFake, receiver: Receiver) -> object:
    fake.clock.advance(timedelta(microseconds=999_999))
    return resource(fake.send_text())["sendTime"]
