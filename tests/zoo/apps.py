"""Small apps, each with one bug that its own scene does not show, and each with a correct twin.

Every app is a handler of webhooks. Its scene is what a test would write: it makes something happen,
and says what the app must know then.
"""

import asyncio
import contextlib
import inspect
import json
import time
from decimal import Decimal

from werkzeug.test import Client

RANK = {"sent": 1, "delivered": 2, "read": 3, "failed": 3}


class App:
    """What the apps have in common: which events were taken, and what most make of them."""

    bug = True
    crash_points = ()

    def __init__(self):
        self.seen = set()
        self.spend = Decimal(0)
        self.statuses = {}

    def __call__(self, request):
        event = json.loads(request.body, parse_float=Decimal)
        return self.take(event["id"], event["chatMessage"])

    def connect(self, chat_fake):
        chat_fake.webhooks.connect(handler=self)

    def take(self, id, message):
        raise NotImplementedError

    def scene(self, chat_fake):
        message = chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert {message.id: "delivered"} == self.statuses

    def snapshot(self):
        """What it has made of its events."""
        return self.spend, self.statuses

    def is_news(self, key):
        """Whether it was not taken before; always, if the bug is that nobody asks."""
        known = key in self.seen
        self.seen.add(key)
        return self.bug or not known

    def rank_of(self, message):
        """How far a message has come, as far as the app knows."""
        return RANK.get(self.statuses.get(message["id"], ""), 0)


def world_of(make):
    """The body that is explored."""

    def world(chat_fake):
        app = make()
        app.connect(chat_fake)
        app.scene(chat_fake)

    return world


class CountsDuplicates(App):
    """Adds the price of every delivery that it hears of, also of one that it has heard of."""

    def take(self, id, message):
        if message["status"] == "delivered" and self.is_news(message["id"]):
            self.spend += message["totalPrice"]

    def scene(self, chat_fake):
        chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert chat_fake.balance.charged == self.spend


class LetsALateStatusWin(App):
    """Shows the status that it heard of last."""

    def take(self, id, message):
        if self.bug or RANK[message["status"]] > self.rank_of(message):
            self.statuses[message["id"]] = message["status"]

    def scene(self, chat_fake):
        message = chat_fake.send_text("Sale").deliver().read()
        chat_fake.settle()
        assert {message.id: message.status} == self.statuses


class LooksUpTooEarly(App):
    """Sends by the API, and looks the message up before the response has told its id."""

    def take(self, id, message):
        if self.bug:
            _ = self.statuses[message["id"]]
        self.statuses[message["id"]] = message["status"]

    def send(self, chat_fake):
        """Send a message, and return its id."""
        chat_fake.send_endpoint()
        headers = {"X-API-Key": chat_fake.api_key}
        body = {"to": "+15550100", "type": "text", "text": {"body": "Hello"}}
        status = 503
        while status == 503:
            response = Client(chat_fake.wsgi_app).post("/v2/messages", json=body, headers=headers)
            status = response.status_code
        self.statuses.setdefault(response.json["id"], "submitted")
        return str(response.json["id"])

    def scene(self, chat_fake):
        id = self.send(chat_fake)
        chat_fake.settle()
        assert {id: "sent"} == self.statuses


class WaitsForTheResponseWithSentOnly(LooksUpTooEarly):
    """Lets `sent` come again until it knows the message, and loses what comes at once after it."""

    def connect(self, chat_fake):
        chat_fake.webhooks.connect(handler=self, retry_after=[10])

    def take(self, id, message):
        if self.bug and message["id"] not in self.statuses:
            return 503 if message["status"] == "sent" else None
        if RANK[message["status"]] > self.rank_of(message):
            self.statuses[message["id"]] = message["status"]
        return None

    def scene(self, chat_fake):
        id = self.send(chat_fake)
        chat_fake.messages[-1].deliver()
        chat_fake.settle()
        assert self.statuses[id] == "delivered"


class NeedsSentFirst(App):
    """Makes a row for a message when it is sent, and needs it from then on."""

    def __init__(self):
        super().__init__()
        self.rows = {}

    def take(self, id, message):
        if message["status"] == "sent" or not self.bug:
            self.rows.setdefault(message["id"], [])
        self.rows[message["id"]].append(message["status"])

    def snapshot(self):
        return {id: {*statuses} for id, statuses in self.rows.items()}

    def scene(self, chat_fake):
        message = chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert "delivered" in self.rows[message.id]


class LosesWhatItDoesNotKnow(App):
    """Responds with 200 to a delivery that it can't place, where it should ask for a retry."""

    def connect(self, chat_fake):
        chat_fake.webhooks.connect(handler=self, retry_after=[60])

    def take(self, id, message):
        if message["status"] == "sent":
            self.statuses.setdefault(message["id"], "sent")
        elif message["id"] not in self.statuses:
            return 200 if self.bug else 409
        else:
            self.statuses[message["id"]] = message["status"]
        return 200


class TakesNoRetry(LetsALateStatusWin):
    """Takes a retry for a duplicate, by its number: what was refused on its way is lost."""

    def __call__(self, request):
        if request.number > 1 if self.bug else request.id in self.seen:
            return 200
        self.seen.add(request.id)
        return super().__call__(request)

    def take(self, id, message):
        if RANK[message["status"]] > self.rank_of(message):
            self.statuses[message["id"]] = message["status"]


class StoresThenRefuses(LosesWhatItDoesNotKnow):
    """Stores the price of a delivery that it can't place, asks for a retry, and stores it again."""

    def take(self, id, message):
        if message["status"] == "sent":
            self.statuses.setdefault(message["id"], "sent")
        elif message["id"] not in self.seen:
            self.spend += message["totalPrice"]
            is_placed = message["id"] in self.statuses
            if is_placed or not self.bug:
                self.seen.add(message["id"])
            return 200 if is_placed else 503
        return 200

    def scene(self, chat_fake):
        chat_fake.send_text("Hello").deliver()
        chat_fake.settle()
        assert chat_fake.balance.charged == self.spend


class KeepsTwoIds(App):
    """Keeps rows by the service's id, and looks them up by the platform's, once it knows that."""

    def __init__(self):
        super().__init__()
        self.ids = {}

    def take(self, id, message):
        if message["status"] == "sent":
            self.ids[message["chatMessageId"]] = message["id"]
        key = message["id"]
        if self.bug:
            key = self.ids.get(message["chatMessageId"], message["chatMessageId"])
        if RANK[message["status"]] > RANK.get(self.statuses.get(key, ""), 0):
            self.statuses[key] = message["status"]


class AsgiApp(App):
    """An app that awaits: what it does with a message, and then its response."""

    def connect(self, chat_fake):
        chat_fake.webhooks.connect(asgi=self.asgi)

    async def asgi(self, scope, receive, send):
        await self.take_in_turn(json.loads((await receive())["body"])["chatMessage"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def take_in_turn(self, message):
        raise NotImplementedError


class ChecksThenInserts(AsgiApp):
    """Looks for a row, waits for its database, and inserts one: two may do so at once."""

    def __init__(self):
        super().__init__()
        self.rows = []
        self.turn = asyncio.Lock()

    def snapshot(self):
        return self.rows

    async def take_in_turn(self, message):
        async with contextlib.nullcontext() if self.bug else self.turn:
            if message["id"] not in self.rows:
                await asyncio.sleep(0)
                self.rows.append(message["id"])

    def scene(self, chat_fake):
        message = chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert [message.id] == self.rows


def awaited_world_of(make):
    async def world(chat_fake):
        app = make()
        app.connect(chat_fake)
        message = await chat_fake.send_text("Sale").deliver()
        await chat_fake.settle()
        assert [message.id] == app.rows

    return world


class ForgetsAfterADay(CountsDuplicates):
    """Keeps the ids it has taken for 24 hours, which is shorter than some services retry."""

    def __init__(self):
        super().__init__()
        self.taken = {}

    def take(self, id, message):
        if message["status"] != "delivered":
            return
        taken_at = self.taken.get(message["id"])
        if taken_at is None or (self.bug and time.time() - taken_at >= 86_400):
            self.taken[message["id"]] = time.time()
            self.spend += message["totalPrice"]


#: One for each way in which an app can be wrong: it counts a repeat, lets a late status win, needs
#: the response before the webhook, or before the second one, needs `sent` first, loses what a retry
#: would repair, or the retry, takes a retry for something new, or takes one message for two.
ZOO = [
    CountsDuplicates,
    LetsALateStatusWin,
    LooksUpTooEarly,
    WaitsForTheResponseWithSentOnly,
    NeedsSentFirst,
    LosesWhatItDoesNotKnow,
    TakesNoRetry,
    StoresThenRefuses,
    KeepsTwoIds,
]

#: Where the app waits for its database.
_WAITS = inspect.getsourcelines(ChecksThenInserts.take_in_turn)[1] + 3
_AT_ONCE = f"webhooks.concurrently(by=0, line='apps.py:{_WAITS}', start=1)"

#: Those that only a deviation finds which is off unless it is asked for: its name, and the verb.
HIDDEN = [
    (ChecksThenInserts, "duplicate_at_once", _AT_ONCE),
    (ForgetsAfterADay, "duplicate_later", "webhooks.duplicate(pause=86400, start=2)"),
]


def correct(app):
    """The twin: the same class, and its bug is off."""
    return type(f"Correct{app.__name__}", (app,), {"bug": False})
