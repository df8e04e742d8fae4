"""Small apps, each with one bug that its test body does not show, and a twin without it.

A body takes a fake; the app is made by `make`, which the zoo gives. Every app is a handler of
webhooks: it takes a request, and returns what it answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from werkzeug.test import Client

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chatfake import ChatFake, WebhookRequest

RANK = {"sent": 1, "delivered": 2, "read": 3, "failed": 3}


class App:
    """What the apps have in common: an event's message, and which events were taken."""

    bug = True

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __call__(self, request: WebhookRequest) -> int | None:
        event = json.loads(request.body, parse_float=Decimal)
        return self.take(event["id"], event["chatMessage"])

    def take(self, id: str, message: dict[str, Any]) -> int | None:
        raise NotImplementedError

    def is_news(self, id: str) -> bool:
        """Whether an event was not taken before; always, if the bug is that nobody asks."""
        known = id in self.seen
        self.seen.add(id)
        return self.bug or not known


class CountsDuplicates(App):
    """Adds the price of every delivery that it hears of, also of one that it has heard of."""

    def __init__(self) -> None:
        super().__init__()
        self.spend = Decimal(0)

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "delivered" and self.is_news(id):
            self.spend += message["totalPrice"]


def counts_duplicates(make: Callable[[], CountsDuplicates]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert chat_fake.balance.charged == app.spend

    return world


class AddsPricesUp(App):
    """Keeps estimates and prices in one sum: an estimate that comes late is never taken back."""

    def __init__(self) -> None:
        super().__init__()
        self.prices: dict[str, Decimal] = {}
        self.final: set[str] = set()

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "sent" and (self.bug or message["id"] not in self.final):
            self.prices[message["id"]] = self.prices.get(message["id"], Decimal(0)) * 0
            self.prices[message["id"]] += message["totalPrice"]
        elif message["status"] == "delivered":
            self.final.add(message["id"])
            self.prices[message["id"]] = message["totalPrice"]


def adds_prices_up(make: Callable[[], AddsPricesUp]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text("Sale", price="0.10").deliver(price="0.08")
        chat_fake.settle()
        assert chat_fake.balance.charged == sum(app.prices.values())

    return world


class LetsALateStatusWin(App):
    """Shows the status that it heard of last."""

    def __init__(self) -> None:
        super().__init__()
        self.statuses: dict[str, str] = {}

    def take(self, id: str, message: dict[str, Any]) -> None:
        known = self.statuses.get(message["id"], "")
        if self.bug or RANK[message["status"]] > RANK.get(known, 0):
            self.statuses[message["id"]] = message["status"]


def lets_a_late_status_win(make: Callable[[], LetsALateStatusWin]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        message = chat_fake.send_text("Sale").deliver().read()
        chat_fake.settle()
        assert {message.id: message.status} == app.statuses

    return world


class LooksUpTooEarly(App):
    """Sends by the API, and looks the message up before the answer has told its id."""

    def __init__(self) -> None:
        super().__init__()
        self.statuses: dict[str, str] = {}

    def send(self, fake: ChatFake) -> str:
        headers = {"X-API-Key": fake.api_key}
        body = {"to": "+15550100", "type": "text", "text": {"body": "Hello"}}
        answer = Client(fake.wsgi_app).post("/v2/messages", json=body, headers=headers)
        id = answer.json["id"]
        self.statuses.setdefault(id, "submitted")
        return id

    def take(self, id: str, message: dict[str, Any]) -> None:
        if self.bug:
            _ = self.statuses[message["id"]]
        self.statuses[message["id"]] = message["status"]


def looks_up_too_early(make: Callable[[], LooksUpTooEarly]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.send_endpoint()
        chat_fake.webhooks.connect(handler=app)
        id = app.send(chat_fake)
        chat_fake.settle()
        assert {id: "sent"} == app.statuses

    return world


class CommitsAfterItsAnswer(App):
    """Knows what it has taken only when the next request begins: its commit follows its answer."""

    def __init__(self) -> None:
        super().__init__()
        self.spend = Decimal(0)
        self.uncommitted: set[str] = set()

    def take(self, id: str, message: dict[str, Any]) -> None:
        known = id in self.seen or (not self.bug and id in self.uncommitted)
        self.seen |= self.uncommitted
        self.uncommitted = {id}
        if message["status"] == "delivered" and not known:
            self.spend += message["totalPrice"]


def commits_after_its_answer(
    make: Callable[[], CommitsAfterItsAnswer],
) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text("Sale").deliver().read()
        chat_fake.settle()
        assert chat_fake.balance.charged == app.spend

    return world


class ActsAgain(App):
    """Answers a delivery with a message of its own, whether it has done so already or not."""

    fake: ChatFake

    def take(self, id: str, message: dict[str, Any]) -> None:
        first = message["text"]["body"] == "Hello"
        if message["status"] == "delivered" and first and self.is_news(id):
            self.fake.send_text("How do you like it?")


def acts_again(make: Callable[[], ActsAgain]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        app.fake = chat_fake
        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert 2 == len(chat_fake.messages)

    return world


class IgnoresAnEarlyFailure(App):
    """Takes a failure for none of its own, if it has not heard of the message yet."""

    def __init__(self) -> None:
        super().__init__()
        self.statuses: dict[str, str] = {}

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "failed" and self.bug and message["id"] not in self.statuses:
            return
        known = self.statuses.get(message["id"], "")
        if RANK[message["status"]] > RANK.get(known, 0):
            self.statuses[message["id"]] = message["status"]


def ignores_an_early_failure(
    make: Callable[[], IgnoresAnEarlyFailure],
) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        message = chat_fake.send_text("Hello").fail()
        chat_fake.settle()
        assert "failed" == app.statuses[message.id]

    return world


class NeedsSentFirst(App):
    """Makes a row for a message when it is sent, and needs it from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, list[str]] = {}

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "sent" or not self.bug:
            self.rows.setdefault(message["id"], [])
        self.rows[message["id"]].append(message["status"])


def needs_sent_first(make: Callable[[], NeedsSentFirst]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        message = chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert "delivered" in app.rows[message.id]

    return world


class MarksByArrival(App):
    """Takes the message whose receipt came last for the one that was read last."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""
        self.when = ""

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "read" and (self.bug or message["readTime"] >= self.when):
            self.last, self.when = message["text"]["body"], message["readTime"]


def marks_by_arrival(make: Callable[[], MarksByArrival]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        first, second = chat_fake.send_text("first"), chat_fake.send_text("second")
        first.read()
        chat_fake.clock.advance(minutes=1)
        second.read()
        chat_fake.settle()
        assert "second" == app.last

    return world


class NotifiesPerEvent(App):
    """Tells somebody of every failure event, and not of every failure."""

    def __init__(self) -> None:
        super().__init__()
        self.notified: list[str] = []

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "failed" and (self.bug or message["id"] not in self.notified):
            self.notified.append(message["id"])


def notifies_per_event(make: Callable[[], NotifiesPerEvent]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        one, other = chat_fake.send_text(to="+1").fail(), chat_fake.send_text(to="+2").fail()
        chat_fake.settle()
        assert {one.id, other.id} == set(app.notified)
        assert 2 == len(app.notified)

    return world


class ClosesByAnEstimate(App):
    """Takes every expiry for the conversation's own, the estimate of a sent event included."""

    def __init__(self) -> None:
        super().__init__()
        self.until: dict[str, datetime] = {}
        self.opened: set[str] = set()

    def take(self, id: str, message: dict[str, Any]) -> None:
        conversation = message["conversation"]
        if message["status"] != "sent":
            self.opened.add(conversation["id"])
        elif conversation["id"] in self.opened and not self.bug:
            return
        self.until[conversation["id"]] = datetime.fromisoformat(conversation["expireTime"])


def closes_by_an_estimate(make: Callable[[], ClosesByAnEstimate]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        message = chat_fake.send_text("Hello")
        chat_fake.clock.advance(hours=1)
        message.deliver()
        chat_fake.settle()
        (conversation,) = chat_fake.conversations
        assert conversation.expires_at == app.until[conversation.id]

    return world


class CountsBelowNothing(App):
    """Counts what is unread down with every receipt."""

    def __init__(self) -> None:
        super().__init__()
        self.unread: set[str] = set()
        self.count = 0
        self.read: set[str] = set()

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "delivered" and message["id"] not in self.unread | self.read:
            self.unread.add(message["id"])
            self.count += 1
        elif message["status"] == "read" and (self.bug or message["id"] not in self.read):
            self.read.add(message["id"])
            if self.bug or message["id"] in self.unread:
                self.count -= 1


def counts_below_nothing(make: Callable[[], CountsBelowNothing]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        chat_fake.send_text("Hello").deliver().read()
        chat_fake.settle()
        assert 0 == app.count

    return world


class DropsWhatItDoesNotKnow(App):
    """Answers 200 to a delivery that it can't place, where it should ask for a retry."""

    def __init__(self) -> None:
        super().__init__()
        self.statuses: dict[str, str] = {}

    def take(self, id: str, message: dict[str, Any]) -> int:
        if message["status"] == "sent":
            self.statuses.setdefault(message["id"], "sent")
        elif message["id"] not in self.statuses:
            return 200 if self.bug else 409
        else:
            self.statuses[message["id"]] = message["status"]
        return 200


def drops_what_it_does_not_know(
    make: Callable[[], DropsWhatItDoesNotKnow],
) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app, retry_after=[60])
        message = chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert {message.id: "delivered"} == app.statuses

    return world


class ShowsTwoOutOfStep(App):
    """Pairs each delivery with the latest send, which is right while they take turns."""

    def __init__(self) -> None:
        super().__init__()
        self.latest = ""
        self.delivered: list[str] = []

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "sent":
            self.latest = message["id"]
        elif message["status"] == "delivered":
            mine = self.latest if self.bug else message["id"]
            if mine not in self.delivered:
                self.delivered.append(mine)


def shows_two_out_of_step(make: Callable[[], ShowsTwoOutOfStep]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        one = chat_fake.send_text(to="+1").deliver()
        other = chat_fake.send_text(to="+2").deliver()
        chat_fake.settle()
        assert {one.id, other.id} == set(app.delivered)

    return world


class ChecksThenInserts(App):
    """Looks for a row, waits for its database, and inserts one: two may do so at once."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[str] = []
        self.turn = asyncio.Lock()

    async def asgi(self, scope: Any, receive: Any, send: Any) -> None:
        message = json.loads((await receive())["body"])["chatMessage"]
        async with contextlib.nullcontext() if self.bug else self.turn:
            if message["id"] not in self.rows:
                await asyncio.sleep(0)
                self.rows.append(message["id"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def checks_then_inserts(make: Callable[[], ChecksThenInserts]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(asgi=app.asgi)
        message = chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert [message.id] == app.rows

    return world


def checks_then_inserts_awaited(make: Callable[[], ChecksThenInserts]) -> Callable[[ChatFake], Any]:
    async def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(asgi=app.asgi)
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

    def __init__(self) -> None:
        super().__init__()
        self.until = 0.0

    def take(self, id: str, message: dict[str, Any]) -> None:
        if message["status"] == "delivered":
            end = datetime.fromisoformat(message["conversation"]["expireTime"]).timestamp()
            self.until = time.time() + 86_400 if self.bug else end


def reopens_a_session(make: Callable[[], ReopensASession]) -> Callable[[ChatFake], None]:
    def world(chat_fake: ChatFake) -> None:
        app = make()
        chat_fake.webhooks.connect(handler=app)
        message = chat_fake.send_text("Hello").deliver()
        chat_fake.clock.advance(hours=30)
        chat_fake.settle()
        assert message.conversation is not None
        assert message.conversation.expires_at is not None
        is_open = message.conversation.expires_at > chat_fake.clock.now
        assert is_open == (app.until > time.time())

    return world


class Animal(NamedTuple):
    """An app of the zoo, and the body of its test."""

    app: type[App]
    body: Callable[[Any], Callable[[ChatFake], Any]]


ZOO = [
    Animal(CountsDuplicates, counts_duplicates),
    Animal(AddsPricesUp, adds_prices_up),
    Animal(LetsALateStatusWin, lets_a_late_status_win),
    Animal(LooksUpTooEarly, looks_up_too_early),
    Animal(CommitsAfterItsAnswer, commits_after_its_answer),
    Animal(ActsAgain, acts_again),
    Animal(IgnoresAnEarlyFailure, ignores_an_early_failure),
    Animal(NeedsSentFirst, needs_sent_first),
    Animal(MarksByArrival, marks_by_arrival),
    Animal(NotifiesPerEvent, notifies_per_event),
    Animal(ClosesByAnEstimate, closes_by_an_estimate),
    Animal(CountsBelowNothing, counts_below_nothing),
    Animal(DropsWhatItDoesNotKnow, drops_what_it_does_not_know),
    Animal(ShowsTwoOutOfStep, shows_two_out_of_step),
]

#: Those that only a deviation finds which is off unless it is asked for: its name, and the verb.
HIDDEN = [
    (
        Animal(ChecksThenInserts, checks_then_inserts),
        "concurrently",
        "webhooks.concurrently(by=0, start=1)",
    ),
    (
        Animal(ForgetsAfterAnHour, counts_duplicates),
        "duplicate_later",
        "webhooks.duplicate(pause=86400, start=2)",
    ),
    (
        Animal(ReopensASession, reopens_a_session),
        "duplicate_later",
        "webhooks.duplicate(pause=86400, start=2)",
    ),
]


def buggy(animal: Animal) -> Callable[[], App]:
    return animal.app


def correct(animal: Animal) -> Callable[[], App]:
    """The twin: the same class, and its bug is off."""
    return type(f"Correct{animal.app.__name__}", (animal.app,), {"bug": False})
