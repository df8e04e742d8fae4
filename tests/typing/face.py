"""The face as a type checker sees it, but for what an annotation of ours says by itself.

That leaves unions, overloads, functions of the user, handles that are awaited or chained, and
misspellings. Checked by mypy and pyright, strict; never run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal, assert_type
from wsgiref.types import WSGIApplication

from werkzeug import Request, Response

from pytest_chatfake import (
    ApiFault,
    ChatFake,
    ChatFakeConfig,
    ChatFakeError,
    ChatMessageUpdated,
    Clock,
    ClockError,
    ClosedError,
    Edge,
    Event,
    Exploration,
    Explorer,
    Fault,
    HmacSigner,
    IllegalTransition,
    InboundMessage,
    Message,
    NotAwaited,
    NotRepeatable,
    Recipient,
    SendTests,
    StandardWebhooksSigner,
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
        opening_balance=Decimal(100),
        price=lambda message: "0.10" if message.to.startswith("+49") else 1,
        omit=["conversation"],
        conversation_length=timedelta(hours=24),
        drop_after=86_400,
        event_ids="per-message",
        mode="async",
        retry_after=[10, 30.5, timedelta(minutes=5)],
        signer=HmacSigner("secret", digest="sha512", offset=timedelta(minutes=-6)),
        inbound=lambda message: {"resource": assert_type(message, InboundMessage).resource},
        outbound=lambda event: {"statuses": [event["id"]]},
    )
    config.replace(price="0.10")
    assert_type(config.currency, str)
    # A choice that is none is an error already here.
    ChatFakeConfig(event_ids="same")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ChatFakeConfig(opening_balance=1.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ChatFake(config)


def scenario(chat_fake: ChatFake, chat_clock: Clock) -> None:
    message = chat_fake.send_text(price=lambda message: message.total_price, extra={"id": {"a": 1}})
    assert_type(message.deliver(devices=2, price="0.04").read().after(minutes=5).fail(), Message)
    with chat_fake.autopilot(
        deliver_after=(60, timedelta(hours=1)),
        read_after=lambda random: random.uniform(1, 2),
        replies=lambda message, _: message.body,
        seed=1,
    ) as pilot:
        pilot.end()
    person = chat_fake.recipient("+1", devices=2, online=False)
    assert_type(person.goes_offline().opens_chat().writes("STOP", tag=1), Recipient)
    chat_fake.submit_text("x", to=person, conversation=message.conversation)

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
    event = chat_fake.events[0]
    assert_type((event.body, event.status), tuple[bytes, str | None])
    model = ChatMessageUpdated.model_validate(event.json())
    assert_type(model.chat_message.read_time, datetime | None)
    if model.chat_message.status == "read":
        assert_type(model.chat_message.read_time, datetime)

    chat_fake.assert_charged("0.05")
    chat_fake.assert_held(Decimal(0), message=chat_fake.messages[0])
    with chat_fake.expect_charge(1) as nothing:
        assert_type(nothing, None)
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
    assert_type(show(Request({}), id="id"), Response)

    chat_fake.api.fail(body=b"{")
    chat_fake.api.delay(timedelta(seconds=1), times=3)
    chat_fake.api.lose_response(path="/v2/messages/<id>", method="POST", start=2).remove()
    with chat_fake.api.fail(503, code="DOWN", times=None) as inside:
        assert_type(inside, ApiFault)


def faults(chat_fake: ChatFake) -> None:
    hub, message = chat_fake.webhooks, chat_fake.send_text()
    hub.duplicate(after=0, times=None, message=message, status="read")
    hub.duplicate(pause=timedelta(hours=1), start=2)
    hub.tamper(lambda body: body[:-1])
    hub.sign(HmacSigner(b"wrong", offset=-600))
    hub.sign(lambda request: {})
    with hub.lose(status="read") as inside:
        assert_type(inside, Fault)
    assert_type(hub.concurrently(by=1, start=2), Fault)
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

    @chat_explore(deviations=["reorder"], seconds=0.5, only=["webhooks.reorder()"])
    def other(chat_fake: ChatFake) -> None: ...

    assert_type(other, Exploration)
    assert_type(explore(lambda fake: None, config=ChatFakeConfig(), depth=0), Exploration)


async def exploring_async(chat_explore: Explorer, chat_fake: ChatFake) -> None:
    async def world(chat_fake: ChatFake) -> None:
        await chat_fake.assert_idempotent(list)
        await chat_fake.webhooks.assert_rejects_forgeries(known={"unsigned": "reason"})

    assert_type(await chat_explore(world), Exploration)


def handler(request: WebhookRequest) -> int | None:
    return 500 if request.json()["type"] == "x" else None


async def async_handler(request: WebhookRequest) -> tuple[int, bytes]:
    return 200, request.body


def signer(request: WebhookRequest) -> dict[str, str]:
    return {"X-Signature": request.id}


def webhooks(chat_fake: ChatFake, app: WSGIApplication) -> None:
    hub = chat_fake.webhooks
    hub.connect(
        "http://127.0.0.1:8000/hooks",
        headers={"X-Tenant": "7"},
        events=["chat.message.updated"],
        signer=StandardWebhooksSigner("whsec_c2VjcmV0"),
    )
    hub.connect(wsgi=app, path="/hooks/chat", signer=signer)
    hub.connect(handler=handler)
    hub.connect(handler=async_handler, signer=HmacSigner(secrets=["new", b"old"]))


def events_by_hand(chat_fake: ChatFake) -> None:
    hub, message = chat_fake.webhooks, chat_fake.send_text()
    with hub.paused() as queue:
        assert_type(queue[0], Event)
        assert_type([event.status for event in queue], list[str | None])
        queue.release("shuffled", seed=7)
        queue.release([1, 0])
    hub.replay(Path("a.jsonl"), timing="at once")
    hub.replay("a.jsonl", timing="soon")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    hub.emit(message, "played", changes={"totalPrice": Decimal(1)}, remove=["currency"])


async def in_async_mode(chat_fake: ChatFake, chat_clock: Clock, app: Callable[..., Any]) -> None:
    assert_type(await chat_fake.send_text("x").deliver(devices=2).read(), Message)
    assert_type(await chat_fake.submit_text("x").accept(), Message)
    await chat_fake.settle()
    await chat_fake.wait_until(chat_fake.settle, timeout=0.5)
    await chat_fake.reset()
    await chat_clock.advance(hours=24)
    await chat_fake.webhooks.redeliver(chat_fake.events[0])
    chat_fake.webhooks.connect(asgi=app, path="/hooks/chat")
    async with chat_fake.webhooks.lifespan(app):
        pass
    async with chat_fake.webhooks.paused() as queue:
        await queue.release("reversed")


def without_pytest(app: Callable[..., Any]) -> None:
    with ChatFake(price="0.10", mode="sync") as fake:
        assert_type(fake, ChatFake)
        with fake.webhooks.lifespan(app):
            fake.send_text("Hello").deliver()


def errors() -> list[type[ChatFakeError]]:
    assert issubclass(WebhookWarning, UserWarning)
    return [
        *[IllegalTransition, NotAwaited, ClockError, ClosedError],
        *[NotRepeatable, UndeliveredWebhooks, UnusedFault],
    ]


class TestSending(SendTests):
    """All methods may be async."""

    crash_points: ClassVar = ["shop.save"]

    def connect(self, chat_fake: ChatFake) -> Callable[[], object]:
        chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
        return dict

    def restart(self, chat_fake: ChatFake) -> None: ...

    async def send(self, chat_fake: ChatFake) -> None:
        chat_fake.api.lose_response(reset=True)
        chat_fake.api.rate_limit("Wed, 21 Oct 2026 07:28:00 GMT")
        chat_fake.api.fail(503, headers={"Retry-After": "30"})

    def undecided(self, snapshot: dict[str, str]) -> bool:
        return "unclear" in snapshot.values()

    def rejected(self, snapshot: dict[str, str]) -> bool:
        return "sent" not in snapshot.values()


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
