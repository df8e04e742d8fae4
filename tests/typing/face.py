"""The face as a type checker sees it, but for what an annotation of ours says by itself.

Checked by mypy and pyright, strict; never run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal, assert_type
from wsgiref.types import WSGIApplication

from werkzeug import Request, Response

from pytest_chatfake import (
    ApiFault,
    Autopilot,
    ChatFake,
    ChatFakeConfig,
    ChatFakeError,
    ChatMessageUpdated,
    Clock,
    ClockError,
    ClosedError,
    Edge,
    Endpoint,
    Event,
    Exploration,
    Explorer,
    Fault,
    HmacSigner,
    IllegalTransition,
    InboundMessage,
    Message,
    Naming,
    NotAwaited,
    NotRepeatable,
    PlatformError,
    Receiver,
    Recipient,
    StandardWebhooksSigner,
    Submission,
    TimelineEntry,
    UndeliveredWebhooks,
    UnusedFault,
    WebhookRequest,
    WebhookTests,
    WebhookWarning,
    edges,
    explore,
)


def configuration() -> None:
    config = ChatFakeConfig(
        api_key="key",
        opening_balance=Decimal(100),
        currency="EUR",
        price=lambda message: "0.10" if message.to.startswith("+49") else 1,
        charge_per="message",
        omit=["conversation"],
        origin_type="utility",
        conversation_type="REGULAR",
        conversation_length=timedelta(hours=24),
        drop_after=86_400,
        event_ids="per-message",
        balance_amount="total",
        on_insufficient_balance="fail",
        insufficient_balance_code="BALANCE",
        naming=Naming(
            event_type="a",
        ),
        webhook_url="http://127.0.0.1:8000/hooks",
        timeout=0.5,
        seed="seed",
        mode="async",
        retry_after=[10, 30.5, timedelta(minutes=5)],
        signer=HmacSigner(
            "secret",
            header="X-Signature",
            format="{signature}",
            content="{timestamp}.{body}",
            timestamp_header="X-Timestamp",
            digest="sha512",
            encoding="base64",
            offset=timedelta(minutes=-6),
        ),
        inbound=lambda message: {"resource": assert_type(message, InboundMessage).resource},
        outbound=lambda event: {"statuses": [event["id"]]},
        strict=True,
    )
    assert_type(config.replace(price="0.10"), ChatFakeConfig)
    assert_type(config.currency, str)
    # A choice that is none is an error already here.
    ChatFakeConfig(event_ids="same")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ChatFakeConfig(opening_balance=1.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(ChatFake(config), ChatFake)
    assert_type(ChatFake(price="0.10", mode="sync"), ChatFake)


def scenario(chat_fake: ChatFake, chat_clock: Clock) -> None:
    message = chat_fake.send_text("Sale ends today").deliver(devices=2).read()
    assert_type(message, Message)
    assert_type(
        chat_fake.send_text(
            "x",
            to="+1",
            conversation="c0ffee",
            origin_type="utility",
            price=lambda message: message.total_price,
            extra={"context": {"id": 1}},
        ),
        Message,
    )
    pilot = chat_fake.autopilot(
        to="+1", deliver_after=(60, timedelta(hours=1)), read_after=lambda r: r.uniform(1, 2)
    )
    assert_type(pilot, Autopilot)
    with chat_fake.autopilot(fail_share=0.1, replies=lambda one, _: one.body, seed=1) as pilot:
        pilot.end()
    person = chat_fake.recipient("+1", devices=2, read_receipts=False)
    assert_type(person, Recipient)
    chat_fake.recipient(
        "+1", online=False, blocked=True, chat_open=False, registered=True, withheld=False
    )
    person.goes_offline().comes_online().blocks().unblocks()
    assert_type(person.opens_chat().closes_chat(), Recipient)
    assert_type(person.writes("STOP", tag=1).sends("image", {"id": "1"}), Recipient)
    assert_type((person.address, person.devices, person.online), tuple[str, int, bool])
    submission = chat_fake.submit_text("x", to=person, price=1)
    assert_type(submission, Submission)
    assert_type(submission.accept(), Message)
    assert_type(submission.reject("100", "No", platform_error=True), Message)
    error = PlatformError("message", "type", "code", "trace", "details")
    assert_type(message.deliver(price="0.04").fail("999", "Own", platform_error=error), Message)

    assert_type(message.after(minutes=5).deliver().after(90).read().after(timedelta(1)), Message)
    assert_type(message.cancel(), Message)

    assert_type((message.id, message.charged, message.dropped), tuple[str, Decimal, bool])
    assert_type(message.origin_type, str | None)
    conversation = message.conversation
    if conversation is not None:
        chat_fake.send_text(conversation=conversation)

    assert_type(chat_fake.wait_until(lambda: 1, timeout=timedelta(seconds=1), settle=False), Any)
    chat_clock.advance(timedelta(days=1))
    chat_clock.advance(hours=1.5, microseconds=1)
    assert_type(edges("session", "drop"), list[Edge])
    edge = edges("drop")[0]
    chat_clock.advance_to(edge, message)
    assert_type((edge.kind, edge.over), tuple[Literal["session", "drop"], bool])
    edges("midnight")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    chat_clock.run_until(lambda: message.status == "read", limit=timedelta(days=1))
    chat_clock.move_to(chat_clock.now)


def what_happened(chat_fake: ChatFake) -> None:
    balance = chat_fake.balance
    assert_type(balance.available - balance.held, Decimal)
    event = chat_fake.events[0]
    assert_type((event.body, event.status), tuple[bytes, str | None])
    model = ChatMessageUpdated.model_validate(event.json())
    assert_type(model.chat_message.total_price, Decimal)
    assert_type(model.chat_message.read_time, datetime | None)
    if model.chat_message.status == "read":
        assert_type(model.chat_message.read_time, datetime)

    chat_fake.assert_charged("0.05")
    chat_fake.assert_charged(1, message=chat_fake.messages[0])
    chat_fake.assert_held(Decimal(0), message=chat_fake.messages[0])
    with chat_fake.expect_charge("0.05") as nothing:
        assert_type(nothing, None)
    assert_type(chat_fake.explain(chat_fake.messages[0]), str)
    assert_type(chat_fake.timeline[1:], tuple[TimelineEntry, ...])
    for happening in chat_fake.timeline:
        assert_type((happening.message, happening.cause), tuple[Message | None, int | None])


def misspellings(chat_fake: ChatFake, config: ChatFakeConfig) -> None:
    """A checker sees each of them: mypy takes an ignore that ignores nothing for an error."""
    chat_fake.send_txt()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    chat_fake.send_text().delivr()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    chat_fake.send_text(pric="1")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    chat_fake.webhooks.connect(app=print)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    chat_fake.events[0].jsn()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    _ = chat_fake.balance.availble  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    _ = config.pric  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


def api(chat_fake: ChatFake) -> None:
    chat_fake.http.expect_request("/x").respond_with_data("y")
    chat_fake.send("contacts", [{"name": "Ann"}])

    @chat_fake.route("/v2/messages", methods=["POST"], webhooks_first=True)
    def send(request: Request) -> tuple[dict[str, Any], int]:
        return {"id": chat_fake.send_text(request.get_data(as_text=True)).id}, 202

    @chat_fake.route("/v2/messages/<id>", ["GET"])
    def show(request: Request, id: str) -> Response:
        return Response(id)

    @chat_fake.route("/v2/some")
    def hand_on(request: Request) -> Any:
        return NotImplemented

    @chat_fake.route("/v2/messages/<id>", ["DELETE"])
    def delete(request: Request, id: str) -> None: ...

    @chat_fake.route("/v2/bytes")
    def exact(request: Request) -> tuple[bytes, int]:
        return b"{}", 201

    # A decorated function stays what it was.
    assert_type(send(Request({})), tuple[dict[str, Any], int])
    assert_type(show(Request({}), id="id"), Response)

    for fault in (
        chat_fake.api.fail(503, code="DOWN", message="Later", times=None, start=2),
        chat_fake.api.fail(body=b"{"),
        chat_fake.api.delay(timedelta(seconds=1), times=3),
        chat_fake.api.truncate(3),
        chat_fake.api.lose_response(path="/v2/messages/<id>", method="POST", times=2, start=2),
    ):
        assert_type(fault, ApiFault)
        assert_type(fault.fired, int)
        fault.remove()
    with chat_fake.api.fail() as inside:
        assert_type(inside, ApiFault)


def faults(chat_fake: ChatFake) -> None:
    hub, message = chat_fake.webhooks, chat_fake.send_text()
    endpoint = hub.connect(handler=handler)
    for fault in (
        hub.reorder(by=2, start=3),
        hub.duplicate(after=0, times=None, message=message, status="read", endpoint=endpoint),
        hub.evolve(unknown="type", status="sent"),
        hub.duplicate(pause=timedelta(hours=1), start=2),
        hub.concurrently(by=1, start=2),
        hub.delay(30),
        hub.tamper(lambda body: body[:-1]),
        hub.sign(HmacSigner(b"wrong", offset=-600)),
        hub.sign(lambda request: {}),
    ):
        assert_type(fault, Fault)
        assert_type(fault.fired, int)
        fault.remove()
    with hub.drop(status="read") as inside:
        assert_type(inside, Fault)
    with hub.concurrently():
        chat_fake.send_text()
    hub.concurrently(start=1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    hub.reorder(after=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def exploring(chat_explore: Explorer) -> None:
    @chat_explore
    def world(chat_fake: ChatFake) -> None:
        chat_fake.assert_idempotent(lambda: 1)
        chat_fake.assert_order_independent(lambda: {"a": 1})

    assert_type(world, Exploration)
    assert_type((world.worlds, world.complete), tuple[int, bool])

    @chat_explore(
        deviations=["reorder"], limit=3, depth=1, seconds=0.5, only=["webhooks.reorder()"]
    )
    def other(chat_fake: ChatFake) -> None: ...

    assert_type(other, Exploration)
    assert_type(explore(lambda fake: None, config=ChatFakeConfig(), depth=0), Exploration)


async def exploring_async(chat_explore: Explorer, chat_fake: ChatFake) -> None:
    async def world(chat_fake: ChatFake) -> None:
        await chat_fake.assert_idempotent(list)
        await chat_fake.webhooks.assert_rejects_forgeries()

    assert_type(await chat_explore(world), Exploration)


def handler(request: WebhookRequest) -> int | None:
    assert_type(request.event, Event)
    assert_type(request.headers, Mapping[str, str])
    return 500 if request.json()["type"] == "x" else None


async def async_handler(request: WebhookRequest) -> tuple[int, bytes]:
    return 200, request.body


def signer(request: WebhookRequest) -> dict[str, str]:
    return {"X-Signature": request.id}


def webhooks(chat_fake: ChatFake, chat_receiver: Receiver, app: WSGIApplication) -> None:
    hub = chat_fake.webhooks
    endpoint = hub.connect(
        "http://127.0.0.1:8000/hooks",
        headers={"X-Tenant": "7"},
        events=["chat.message.updated"],
        raise_exceptions=False,
        retry_after=[10],
        disable_after=3,
        signer=StandardWebhooksSigner("whsec_c2VjcmV0", offset=timedelta(minutes=-6)),
    )
    assert_type(endpoint, Endpoint)
    hub.connect(wsgi=app, path="/hooks/chat", signer=signer)
    hub.connect(handler=handler)
    hub.connect(handler=async_handler)
    hub.connect(handler=handler, signer=HmacSigner(secrets=["new", b"old"]))
    assert_type(hub.rotate_secret("newer"), None)
    chat_receiver.respond(500, times=2)


def events_by_hand(chat_fake: ChatFake) -> None:
    hub, message = chat_fake.webhooks, chat_fake.send_text()
    with hub.paused() as queue:
        assert_type(queue[0], Event)
        assert_type([event.status for event in queue], list[str | None])
        queue.release()
        queue.release("reversed")
        queue.release("shuffled", seed=7)
        queue.release([1, 0])
    hub.replay(Path("a.jsonl"), timing="at once")
    hub.replay("a.jsonl", timing="soon")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    hub.emit(message, "played", changes={"totalPrice": Decimal(1)}, remove=["currency"])
    hub.emit(message, "sent", raw=b"{")


async def in_async_mode(chat_fake: ChatFake, chat_clock: Clock, app: Callable[..., Any]) -> None:
    assert_type(await chat_fake.send_text("x").deliver(devices=2).read(), Message)
    assert_type(await chat_fake.submit_text("x").accept(), Message)
    await chat_fake.settle()
    await chat_fake.wait_until(chat_fake.settle, timeout=0.5)
    await chat_fake.reset()
    await chat_fake.top_up("10")
    await chat_clock.advance(hours=24)
    await chat_fake.webhooks.redeliver(chat_fake.events[0])
    await chat_fake.webhooks.emit(chat_fake.messages[0], "sent")
    chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")
    async with chat_fake.webhooks.lifespan(app):
        pass
    async with chat_fake.webhooks.paused() as queue:
        await queue.release("reversed")


def without_pytest(app: Callable[..., Any]) -> None:
    with ChatFake(price="0.10") as fake:
        assert_type(fake, ChatFake)
        with fake.webhooks.lifespan(app):
            fake.send_text("Hello").deliver()
    fake.close()


def errors() -> list[type[ChatFakeError]]:
    assert issubclass(WebhookWarning, UserWarning)
    return [
        *[IllegalTransition, NotAwaited, ClockError, ClosedError],
        *[NotRepeatable, UndeliveredWebhooks, UnusedFault],
    ]


class TestTyped(WebhookTests):
    """Further parameters of connect() are fixtures, and it may be async."""

    crash_points: ClassVar = {"shop.save": "sqlite3.OperationalError", "shop.hand_over": None}
    expected_failures: ClassVar = {"test_a_crash": "#12"}
    only: ClassVar = {"test_duplicates": ["webhooks.duplicate(after=0, start=1)"]}

    async def connect(self, chat_fake: ChatFake, tmp_path: Path) -> Callable[[], object]:
        chat_fake.webhooks.connect(handler=lambda _: None)
        return dict

    def scenario(self, chat_fake: ChatFake) -> Generator[object, Message, None]:
        message = yield chat_fake.send_text()
        yield message.deliver()
