"""Small apps with a bug that shows when time passes, ids change, or the service grows."""

import asyncio
import time
from decimal import Decimal

from .apps import RANK, App, AsgiApp, CountsDuplicates

#: The fields of a message that is sent or delivered.
KNOWN = {
    *("id", "chatMessageId", "status", "conversation", "totalPrice", "currency", "createTime"),
    *("sendTime", "deliverTime", "bizType", "type", "text"),
}


class ForgetsWhatItShowed(App):
    """Knows for an hour how far a message has come; what is told later moves it back."""

    def __init__(self):
        super().__init__()
        self.told_at = {}

    def take(self, id, message):
        if id in self.seen:
            return
        self.seen.add(id)
        is_old = time.time() - self.told_at.get(message["id"], 0) > 3_600
        if (is_old and self.bug) or self.rank_of(message) < RANK[message["status"]]:
            self.statuses[message["id"]] = message["status"]
            self.told_at[message["id"]] = time.time()

    def scene(self, chat_fake):
        message = chat_fake.send_text("Sale").deliver().read()
        chat_fake.settle()
        chat_fake.clock.advance(days=1)
        chat_fake.settle()
        assert {message.id: "read"} == self.statuses


class ForgetsByATimer(AsgiApp, CountsDuplicates):
    """Forgets a message after a day by a timer, which runs in real time; the twin never does."""

    async def take_in_turn(self, message):
        if message["status"] != "delivered" or message["id"] in self.seen:
            return
        self.seen.add(message["id"])
        self.spend += Decimal(str(message["totalPrice"]))
        if self.bug:
            asyncio.get_running_loop().call_later(86_400, self.seen.discard, message["id"])

    def forget(self):
        """Do what the timers would have done by now."""
        if self.bug:
            self.seen.clear()


class TrustsEventIds(CountsDuplicates):
    """Adds a price once for each event id, where it should be once for each message."""

    def take(self, id, message):
        key = id if self.bug else message["id"]
        if message["status"] == "delivered" and key not in self.seen:
            self.seen.add(key)
            self.spend += message["totalPrice"]


class RefusesAnUnknownField(CountsDuplicates):
    """Builds its own object from a message, and fails if that has a field it does not know."""

    def take(self, id, message):
        if unknown := self.bug and {*message} - KNOWN:
            raise TypeError(f"unexpected fields: {unknown}")
        if message["status"] == "delivered" and message["id"] not in self.seen:
            self.seen.add(message["id"])
            self.spend += message["totalPrice"]


class RefusesAnUnknownValue(CountsDuplicates):
    """Knows each origin of a conversation by its name, where new ones may come."""

    def take(self, id, message):
        origin = message.get("conversation", {}).get("originType", "marketing")
        self.statuses[message["id"]] = "marketing" if origin == "marketing" else "other"
        if self.bug and origin != "marketing":
            raise ValueError(f"{origin} is no origin")
        if message["status"] == "delivered":
            self.spend = message["totalPrice"]


class BooksAtDelivery(CountsDuplicates):
    """Books a price once it is told of the delivery, where a read may come without that (§3)."""

    def take(self, id, message):
        if message["status"] == "delivered" or (message["status"] == "read" and not self.bug):
            self.spend = message["totalPrice"]

    def scene(self, chat_fake):
        chat_fake.send_text("Sale").deliver(devices=2).read()
        chat_fake.settle()
        assert chat_fake.balance.charged == self.spend


#: Each with the deviation that finds it, and its verb.
DAYS = [
    (ForgetsWhatItShowed, "delay", "webhooks.delay(duration=86400, start=2)"),
    (TrustsEventIds, "duplicate_new_id", "webhooks.duplicate(new_id=True, start=2)"),
    (RefusesAnUnknownField, "evolve", "webhooks.evolve()"),
    (
        RefusesAnUnknownValue,
        "unknown_value",
        "webhooks.evolve(unknown='conversation.originType')",
    ),
    (
        BooksAtDelivery,
        "read_at_once",
        "webhooks.lose(times=2, status='delivered', start=1)",
    ),
]
