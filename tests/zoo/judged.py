"""Apps that are wrong in every world alike, or in one that no other row has, and right twins."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pytest_chatfake import WebhookTests

from ..unit.api_clients import call_with_werkzeug, send_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chatfake import ChatFake, WebhookRequest

RANK = ("submitted", "sent", "delivered", "read", "failed")


class Judged(WebhookTests):
    """An app in the class of its tests; the twin has no bug."""

    __test__ = False
    bug = True
    retry_after: tuple[int, ...] = ()

    def connect(self, chat_fake: ChatFake) -> Any:
        self.fake = chat_fake
        self.rows: dict[str, Any] = {}
        self.start()
        chat_fake.send_endpoint()
        chat_fake.webhooks.connect(handler=self.handle, retry_after=self.retry_after)
        return self.snapshot

    def start(self) -> None:
        pass

    def handle(self, request: WebhookRequest) -> int:
        event = json.loads(request.body, parse_float=Decimal)
        return self.take(event["chatMessage"], event) or 204

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> int | None:
        raise NotImplementedError

    def store(self, key: str, status: str) -> None:
        self.rows[key] = max(self.rows.get(key, status), status, key=RANK.index)

    def snapshot(self) -> object:
        return dict(self.rows)


class TestNeverReleases(Judged):
    """Holds the price until it learns more; nobody tells it of the drop after 30 days (§3 rule 6).

    A nightly job has to release it. As written, each message arrives or fails.
    """

    __test__ = True

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> None:
        price = message["totalPrice"] if message["status"] == "sent" else Decimal(0)
        known = self.rows.setdefault(message["id"], (price, datetime.now(UTC)))
        self.rows[message["id"]] = min(known, (price, datetime.now(UTC)))

    def snapshot(self) -> object:
        old = datetime.now(UTC) - timedelta(days=30)
        held = [price for price, since in self.rows.values() if self.bug or since > old]
        return {"held": sum(held)}

    def expected(self, chat_fake: ChatFake) -> object:
        return {"held": chat_fake.balance.held}


class TestReleases(TestNeverReleases):
    bug = False


class TestReleasesInLocalTime(TestReleases):
    """Compares UTC with the time of a zone that is an hour ahead, and so releases too early."""

    bug = True
    ahead = timedelta(hours=1)

    def snapshot(self) -> object:
        old = datetime.now(UTC) + self.ahead - timedelta(days=30)
        return {"held": sum(price for price, since in self.rows.values() if since > old)}


class TestReleasesInUtc(TestReleasesInLocalTime):
    bug = False
    ahead = timedelta(0)


class TestGivesUpAfterAWeek(TestReleasesInLocalTime):
    """Has a time-out of its own, after which it counts nothing as held."""

    bug = False
    ahead = timedelta(days=23)


class TestCountsWhatIsReserved(TestReleases):
    """Counts as spent what is reserved, until it is released."""

    def snapshot(self) -> object:
        return {"spent": super().snapshot()["held"]}  # type: ignore[index]

    def expected(self, chat_fake: ChatFake) -> object:
        return {"spent": Decimal(0)}


class TestChargesDevices(Judged):
    """Adds up the prices of all deliveries, though a second device costs nothing (§1)."""

    __test__ = True

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> None:
        if message["status"] in {"delivered", "read"}:
            key = event["id"] if self.bug and message["status"] == "delivered" else message["id"]
            self.rows[key] = message["totalPrice"]

    def snapshot(self) -> object:
        return sum(self.rows.values())

    def expected(self, chat_fake: ChatFake) -> object:
        return chat_fake.balance.charged


class TestChargesOnce(TestChargesDevices):
    bug = False


class TestKeepsFloats(TestChargesOnce):
    """Keeps its money as floats."""

    def snapshot(self) -> object:
        return sum(map(float, self.rows.values()))


class TestKeepsTwoDecimals(TestChargesOnce):
    """Keeps its money as some databases do."""

    def snapshot(self) -> object:
        return sum((round(price, 2) for price in self.rows.values()), Decimal(0))


class TestThanksTwice(Judged):
    """Thanks for each message that arrives; the bug thanks again, and its own books hide that."""

    __test__ = True

    def start(self) -> None:
        self.thanked = set[str]()

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> None:
        thanks = message["text"]["body"] == "Thanks"
        if message["status"] == "delivered" and not thanks:
            if self.bug or message["id"] not in self.thanked:
                send_call(self.fake, to="+1", body="Thanks")
            self.thanked.add(message["id"])

    def snapshot(self) -> object:
        return {"thanked": len(self.thanked)}

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        yield chat_fake.send_text("An order").deliver()
        yield chat_fake.settle()

    def expected(self, chat_fake: ChatFake) -> object:
        return {"thanked": sum(message.body == "Thanks" for message in chat_fake.messages)}


class TestThanksOnce(TestThanksTwice):
    bug = False


class TestWaitsForEver(Judged):
    """Waits some minutes for its own row; the bug counts them from now."""

    __test__ = True
    retry_after = (60, 600)

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> int | None:
        now = datetime.now(UTC)
        if message["id"] not in self.rows:
            made = now if self.bug else datetime.fromisoformat(event["createTime"])
            return 503 if now - made < timedelta(minutes=5) else None
        self.store(message["id"], message["status"])
        return None

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        self.store(send_call(chat_fake).json()["id"], "submitted")
        yield chat_fake.messages[-1].deliver()


class TestGivesUp(TestWaitsForEver):
    bug = False


class TestRaisesForOthers(TestWaitsForEver):
    """Takes for granted what it has added to its own messages."""

    def start(self) -> None:
        self.fake.send_endpoint("/v2/orders", echo=["order"])

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> None:
        order = message["order"] if self.bug else message.get("order")
        if order is not None:
            self.store(str(order), message["status"])

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        body = {"to": "+1", "type": "text", "text": {"body": "Hi"}, "order": 7}
        call_with_werkzeug(chat_fake, "POST", "/v2/orders", body=json.dumps(body).encode())
        yield chat_fake.messages[-1].deliver()


class TestIgnoresOthers(TestRaisesForOthers):
    bug = False


class TestPolls(Judged):
    """Asks for the status of what is pending; the bug trusts what it knew before it asked."""

    __test__ = True
    method = "GET"

    def start(self) -> None:
        self.mails: list[str] = []

        @self.fake.route("/v2/messages/<id>", methods=[self.method])
        def status(request: object, id: str) -> dict[str, str]:
            return {"status": self.fake.message(id).status}

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> None:
        self.rows.setdefault(message["id"], "pending")
        if message["status"] in {"delivered", "read"}:
            self.confirm(message["id"], self.rows[message["id"]])

    def confirm(self, id: str, known: str) -> None:
        if (known if self.bug else self.rows[id]) == "pending":
            self.rows[id] = "confirmed"
            self.mails.append(id)

    def poll(self) -> None:
        for id, known in list(self.rows.items()):
            response = call_with_werkzeug(self.fake, self.method, f"/v2/messages/{id}")
            if known == "pending" and response.json()["status"] == "delivered":
                self.confirm(id, known)

    def snapshot(self) -> object:
        return {"mails": sorted(self.mails)}

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        message = yield chat_fake.send_text()
        yield message.deliver()
        self.poll()
        yield


class TestPollsAgain(TestPolls):
    bug = False


class TestSearches(TestPolls):
    """Asks with another method."""

    method = "PUT"


class TestSearchesAgain(TestSearches):
    bug = False


class TestOverwritesItsSpend(Judged):
    """Stores what it has spent together with the balance that it asks for."""

    __test__ = True

    def start(self) -> None:
        self.spent = Decimal(0)

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> None:
        if message["status"] in {"delivered", "read"}:
            self.rows[message["id"]] = message["totalPrice"]
            self.spent = sum(self.rows.values(), Decimal(0))

    def refresh(self) -> None:
        spent = self.spent
        call_with_werkzeug(self.fake)
        if self.bug:
            self.spent = spent

    def snapshot(self) -> object:
        return self.spent

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        yield chat_fake.send_text(to="+1").deliver()
        self.refresh()
        yield


class TestKeepsItsSpend(TestOverwritesItsSpend):
    bug = False


class TestReminds(Judged):
    """Reminds people whose message has not arrived, so a late event leads to one more reminder.

    That is right. Only where events change places, the end depends on their order.
    """

    __test__ = True
    test_another_order = None

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> None:
        self.store(message["id"], message["status"])

    def remind(self) -> None:
        for id, status in list(self.rows.items()):
            if status == "sent":
                self.store(send_call(self.fake, to=id[-4:]).json()["id"], "sent")

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        yield chat_fake.send_text(to="+1").deliver()
        yield chat_fake.send_text(to="+2")
        self.remind()
        yield

    def expected(self, chat_fake: ChatFake) -> object:
        return {message.id: message.status for message in chat_fake.messages}


class TestCountsAnotherDay(Judged):
    """Counts the messages of each day, by its own clock; the bug has another time zone."""

    __test__ = True

    def take(self, message: dict[str, Any], event: dict[str, Any]) -> None:
        sent = datetime.fromisoformat(event["createTime"])
        shift = timedelta(hours=1) if self.bug else timedelta(0)
        self.rows[message["id"]] = f"{sent - shift:%Y-%m-%d}"

    def snapshot(self) -> object:
        return dict(Counter(self.rows.values()))

    def expected(self, chat_fake: ChatFake) -> object:
        return dict(Counter(f"{m.sent_at:%Y-%m-%d}" for m in chat_fake.messages))


class TestCountsTheDay(TestCountsAnotherDay):
    bug = False
