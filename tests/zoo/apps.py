"""Small apps, each with one bug that its own scene does not show, and each with a correct twin.

Every app is a handler of webhooks. Its scene is what a test would write: it makes something happen,
and says what the app must know then.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from werkzeug.test import Client

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chatfake import ChatFake, WebhookRequest

RANK = {"sent": 1, "delivered": 2, "read": 3, "failed": 3}


class App:
    """What the apps have in common: which events were taken, and what most make of them."""

    bug = True
    crash_points: tuple[Callable[..., Any], ...] = ()

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.spend = Decimal(0)
        self.statuses: dict[str, str] = {}

    def __call__(self, request: WebhookRequest) -> int | None:
        event = json.loads(request.body, parse_float=Decimal)
        return self.take(event["id"], event["chatMessage"])

    def connect(self, chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=self)

    def take(self, id: str, message: dict[str, Any]) -> int | None:
        raise NotImplementedError

    def scene(self, chat_fake: ChatFake) -> None:
        raise NotImplementedError

    def is_news(self, id: str) -> bool:
        """Whether an event was not taken before; always, if the bug is that nobody asks."""
        known = id in self.seen
        self.seen.add(id)
        return self.bug or not known

    def rank_of(self, message: dict[str, Any]) -> int:
        """How far a message has come, as far as the app knows."""
        return RANK.get(self.statuses.get(message["id"], ""), 0)


def world_of(make: Callable[[], App]) -> Callable[[ChatFake], None]:
    """The body that is explored."""

    def world(chat_fake: ChatFake) -> None:
        app = make()
        app.connect(chat_fake)
        app.scene(chat_fake)

    return world


class CountsDuplicates(App):
    """Adds the price of every delivery that it hears of, also of one that it has heard of."""

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "delivered" and self.is_news(id):
            self.spend += message["totalPrice"]

    def scene(self, chat_fake: ChatFake) -> None:
        chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert chat_fake.balance.charged == self.spend


class AddsPricesUp(App):
    """Keeps estimates and prices in one sum: an estimate that comes late is never taken back."""

    def __init__(self) -> None:
        super().__init__()
        self.prices: dict[str, Decimal] = {}

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "delivered":
            self.seen.add(message["id"])
        if message["status"] == "delivered" or self.bug or message["id"] not in self.seen:
            self.prices[message["id"]] = message["totalPrice"]

    def scene(self, chat_fake: ChatFake) -> None:
        chat_fake.send_text("Sale", price="0.10").deliver(price="0.08")
        chat_fake.settle()
        assert chat_fake.balance.charged == sum(self.prices.values())


class LetsALateStatusWin(App):
    """Shows the status that it heard of last."""

    def take(self, id: str, message: dict[str, Any]) -> None:
        if self.bug or RANK[message["status"]] > self.rank_of(message):
            self.statuses[message["id"]] = message["status"]

    def scene(self, chat_fake: ChatFake) -> None:
        message = chat_fake.send_text("Sale").deliver().read()
        chat_fake.settle()
        assert {message.id: message.status} == self.statuses


class LooksUpTooEarly(App):
    """Sends by the API, and looks the message up before the response has told its id."""

    def take(self, id: str, message: dict[str, Any]) -> None:
        if self.bug:
            _ = self.statuses[message["id"]]
        self.statuses[message["id"]] = message["status"]

    def scene(self, chat_fake: ChatFake) -> None:
        chat_fake.send_endpoint()
        headers = {"X-API-Key": chat_fake.api_key}
        body = {"to": "+15550100", "type": "text", "text": {"body": "Hello"}}
        response = Client(chat_fake.wsgi_app).post("/v2/messages", json=body, headers=headers)
        self.statuses.setdefault(response.json["id"], "submitted")
        chat_fake.settle()
        assert {response.json["id"]: "sent"} == self.statuses


class CommitsAfterItsResponse(App):
    """Knows what it has taken only when the next request begins: it commits too late."""

    def __init__(self) -> None:
        super().__init__()
        self.uncommitted: set[str] = set()

    def take(self, id: str, message: dict[str, Any]) -> None:
        known = id in self.seen or (not self.bug and id in self.uncommitted)
        self.seen |= self.uncommitted
        self.uncommitted = {id}
        if message["status"] == "delivered" and not known:
            self.spend += message["totalPrice"]

    def scene(self, chat_fake: ChatFake) -> None:
        chat_fake.send_text("Sale").deliver().read()
        chat_fake.settle()
        assert chat_fake.balance.charged == self.spend


class ActsAgain(App):
    """Answers a delivery with a message of its own, whether it has done so already or not."""

    def connect(self, chat_fake: ChatFake) -> None:
        super().connect(chat_fake)
        self.fake = chat_fake

    def take(self, id: str, message: dict[str, Any]) -> None:
        first = message["text"]["body"] == "Hello"
        if message["status"] == "delivered" and first and self.is_news(id):
            self.fake.send_text("How do you like it?")

    def scene(self, chat_fake: ChatFake) -> None:
        chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert 2 == len(chat_fake.messages)


class IgnoresAnEarlyFailure(App):
    """Takes a failure for none of its own, if it has not heard of the message yet."""

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "failed" and self.bug and message["id"] not in self.statuses:
            return
        if RANK[message["status"]] > self.rank_of(message):
            self.statuses[message["id"]] = message["status"]

    def scene(self, chat_fake: ChatFake) -> None:
        message = chat_fake.send_text("Hello").fail()
        chat_fake.settle()
        assert "failed" == self.statuses[message.id]


class NeedsSentFirst(App):
    """Makes a row for a message when it is sent, and needs it from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, list[str]] = {}

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "sent" or not self.bug:
            self.rows.setdefault(message["id"], [])
        self.rows[message["id"]].append(message["status"])

    def scene(self, chat_fake: ChatFake) -> None:
        message = chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert "delivered" in self.rows[message.id]


class MarksByArrival(App):
    """Takes the message whose receipt came last for the one that was read last."""

    last, when = "", ""

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "read" and (self.bug or message["readTime"] >= self.when):
            self.last, self.when = message["text"]["body"], message["readTime"]

    def scene(self, chat_fake: ChatFake) -> None:
        first, second = chat_fake.send_text("first"), chat_fake.send_text("second")
        first.read()
        chat_fake.clock.advance(minutes=1)
        second.read()
        chat_fake.settle()
        assert "second" == self.last


class NotifiesPerEvent(App):
    """Tells somebody of every failure event, and not of every failure."""

    def __init__(self) -> None:
        super().__init__()
        self.notified: list[str] = []

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "failed" and (self.bug or message["id"] not in self.notified):
            self.notified.append(message["id"])

    def scene(self, chat_fake: ChatFake) -> None:
        ids = [chat_fake.send_text(to=to).fail().id for to in ("+1", "+2")]
        chat_fake.settle()
        assert sorted(ids) == sorted(self.notified)


class ClosesByAnEstimate(App):
    """Takes every expiry for the conversation's own, the estimate of a sent event included."""

    def __init__(self) -> None:
        super().__init__()
        self.until: dict[str, datetime] = {}

    def take(self, id: str, message: dict[str, Any]) -> None:
        conversation = message["conversation"]
        if message["status"] != "sent":
            self.seen.add(conversation["id"])
        elif conversation["id"] in self.seen and not self.bug:
            return
        self.until[conversation["id"]] = datetime.fromisoformat(conversation["expireTime"])

    def scene(self, chat_fake: ChatFake) -> None:
        message = chat_fake.send_text("Hello")
        chat_fake.clock.advance(hours=1)
        message.deliver()
        chat_fake.settle()
        (conversation,) = chat_fake.conversations
        assert conversation.expires_at == self.until[conversation.id]


class CountsBelowNothing(App):
    """Counts what is unread down with every receipt."""

    count = 0

    def __init__(self) -> None:
        super().__init__()
        self.unread: set[str] = set()

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "delivered" and message["id"] not in self.unread | self.seen:
            self.unread.add(message["id"])
            self.count += 1
        elif message["status"] == "read" and (self.bug or message["id"] not in self.seen):
            self.seen.add(message["id"])
            if self.bug or message["id"] in self.unread:
                self.count -= 1

    def scene(self, chat_fake: ChatFake) -> None:
        chat_fake.send_text("Hello").deliver().read()
        chat_fake.settle()
        assert 0 == self.count


class DropsWhatItDoesNotKnow(App):
    """Answers 200 to a delivery that it can't place, where it should ask for a retry."""

    def connect(self, chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(handler=self, retry_after=[60])

    def take(self, id: str, message: dict[str, Any]) -> int:
        if message["status"] == "sent":
            self.statuses.setdefault(message["id"], "sent")
        elif message["id"] not in self.statuses:
            return 200 if self.bug else 409
        else:
            self.statuses[message["id"]] = message["status"]
        return 200

    def scene(self, chat_fake: ChatFake) -> None:
        message = chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert {message.id: "delivered"} == self.statuses


class ShowsTwoOutOfStep(App):
    """Pairs each delivery with the latest send, which is right while they take turns."""

    latest = ""

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "sent":
            self.latest = message["id"]
        elif message["status"] == "delivered":
            self.seen.add(self.latest if self.bug else message["id"])

    def scene(self, chat_fake: ChatFake) -> None:
        ids = {chat_fake.send_text(to=to).deliver().id for to in ("+1", "+2")}
        chat_fake.settle()
        assert ids == self.seen


class ChecksThenInserts(App):
    """Looks for a row, waits for its database, and inserts one: two may do so at once."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[str] = []
        self.turn = asyncio.Lock()

    def connect(self, chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(asgi=self.asgi)

    async def asgi(self, scope: Any, receive: Any, send: Any) -> None:
        message = json.loads((await receive())["body"])["chatMessage"]
        async with contextlib.nullcontext() if self.bug else self.turn:
            if message["id"] not in self.rows:
                await asyncio.sleep(0)
                self.rows.append(message["id"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def scene(self, chat_fake: ChatFake) -> None:
        message = chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert [message.id] == self.rows


def awaited_world_of(make: Callable[[], ChecksThenInserts]) -> Callable[[ChatFake], Any]:
    async def world(chat_fake: ChatFake) -> None:
        app = make()
        app.connect(chat_fake)
        message = await chat_fake.send_text("Sale").deliver()
        await chat_fake.settle()
        assert [message.id] == app.rows

    return world


class ForgetsAfterAnHour(CountsDuplicates):
    """Keeps the ids that it has taken for an hour, and counts what comes again after that."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: dict[str, float] = {}

    def take(self, id: str, message: dict[str, Any]) -> None:
        since = time.time() - self.taken.get(id, -10_000)
        self.taken.setdefault(id, time.time())
        if message["status"] == "delivered" and (since > 3_600 if self.bug else since > 10**8):
            self.spend += message["totalPrice"]


class ReopensASession(App):
    """Takes a session for open whenever it hears of a delivery, also of one of yesterday."""

    until = 0.0

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "delivered":
            end = datetime.fromisoformat(message["conversation"]["expireTime"]).timestamp()
            self.until = time.time() + 86_400 if self.bug else end

    def scene(self, chat_fake: ChatFake) -> None:
        chat_fake.send_text("Hello").deliver()
        chat_fake.clock.advance(hours=30)
        chat_fake.settle()
        assert self.until <= time.time()


ZOO: list[type[App]] = [
    CountsDuplicates,
    AddsPricesUp,
    LetsALateStatusWin,
    LooksUpTooEarly,
    CommitsAfterItsResponse,
    ActsAgain,
    IgnoresAnEarlyFailure,
    NeedsSentFirst,
    MarksByArrival,
    NotifiesPerEvent,
    ClosesByAnEstimate,
    CountsBelowNothing,
    DropsWhatItDoesNotKnow,
    ShowsTwoOutOfStep,
]

#: Those that only a deviation finds which is off unless it is asked for: its name, and the verb.
HIDDEN: list[tuple[type[App], str, str]] = [
    (ChecksThenInserts, "concurrently", "webhooks.concurrently(by=0, start=1)"),
    (ForgetsAfterAnHour, "duplicate_later", "webhooks.duplicate(pause=86400, start=2)"),
    (ReopensASession, "duplicate_later", "webhooks.duplicate(pause=86400, start=2)"),
]


def correct(app: type[App]) -> type[App]:
    """The twin: the same class, and its bug is off."""
    return type(f"Correct{app.__name__}", (app,), {"bug": False})
