"""Apps that send, each with one bug that webhooks before the response show, and right twins."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from pytest_chatfake import WebhookTests

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_chatfake import ChatFake, WebhookRequest

RANK = ("submitted", "sent", "delivered", "read", "failed")


def call(fake: ChatFake, timeout: float, to: str = "+1") -> str:
    """Send a message by the API, and return its id."""
    body = {"to": to, "type": "text", "text": {"body": "Hi"}}
    headers = {**fake.headers, "Content-Type": "application/json"}
    request = Request(f"{fake.base_url}/v2/messages", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=timeout) as response:
        id: str = json.load(response)["id"]
    return id


class Shop:
    """Knows the last status of each message that it sent."""

    timeout = 30.0
    to = "+1"

    def __init__(self, fake: ChatFake, *, bug: bool) -> None:
        self.fake = fake
        self.bug = bug
        self.rows: dict[str, str] = {}

    def send(self) -> None:
        self.store(call(self.fake, self.timeout), "submitted")

    def take(self, id: str, status: str) -> None:
        self.store(id, status)

    def store(self, id: str, status: str) -> None:
        self.rows[id] = max(self.rows.get(id, "submitted"), status, key=RANK.index)

    def handle(self, request: WebhookRequest) -> int:
        message = request.json()["chatMessage"]
        self.take(message["id"], message["status"])
        return 204

    def app(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        message = json.load(environ["wsgi.input"])["chatMessage"]
        self.take(message["id"], message["status"])
        start_response("204 No Content", [])
        return []

    def snapshot(self) -> object:
        return dict(self.rows)

    def close(self) -> None:
        pass


class Overwrites(Shop):
    """Its thread waits for work; the bug overwrites the status that came first."""

    def __init__(self, fake: ChatFake, *, bug: bool) -> None:
        super().__init__(fake, bug=bug)
        self.work: queue.Queue[tuple[str, str] | None] = queue.Queue()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while (job := self.work.get()) is not None:
            self.store(*job)
            self.work.task_done()
        self.work.task_done()

    def take(self, id: str, status: str) -> None:
        self.work.put((id, status))

    def send(self) -> None:
        id = call(self.fake, self.timeout)
        self.work.join()
        if self.bug:
            self.rows[id] = "submitted"
        else:
            self.store(id, "submitted")

    def snapshot(self) -> object:
        self.work.join()
        return super().snapshot()

    def close(self) -> None:
        self.work.put(None)
        self.thread.join()


class IgnoresUnknown(Shop):
    """The bug ignores webhooks of messages that it does not know yet."""

    def take(self, id: str, status: str) -> None:
        if id in self.rows or not self.bug:
            self.store(id, status)

    def send(self) -> None:
        self.store(call(self.fake, self.timeout, self.to), "sent")


class ShowsNoIds(IgnoresUnknown):
    """Its snapshot does not say which message is which."""

    def snapshot(self) -> object:
        return sorted(self.rows.values())


class HoldsALock(Shop):
    """Webhooks wait until it has sent; the bug takes the client's time-out for a refusal."""

    timeout = 1.0  # on a busy machine, a call may take a while

    def __init__(self, fake: ChatFake, *, bug: bool) -> None:
        super().__init__(fake, bug=bug)
        self.lock = threading.Lock()

    def send(self) -> None:
        with self.lock:
            try:
                super().send()
            except TimeoutError as error:
                if not self.bug:
                    raise RuntimeError("the service does not respond") from error
                self.rows["refused"] = "failed"

    def take(self, id: str, status: str) -> None:
        with self.lock:
            super().take(id, status)


class OfAShop(WebhookTests):
    """The scenario that all of them play."""

    __test__ = False
    make: type[Shop]
    bug = True

    def connect(self, chat_fake: ChatFake) -> Iterator[Any]:
        chat_fake.send_endpoint()
        self.shop = self.make(chat_fake, bug=self.bug)
        chat_fake.webhooks.connect(wsgi=self.shop.app)
        yield self.shop.snapshot
        self.shop.close()

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        self.shop.send()
        yield
        for message in chat_fake.messages:
            yield message.deliver(devices=2)
            yield message.read()


class TestOverwrites(OfAShop):
    __test__ = True
    make = Overwrites


class TestOverwritesNothing(TestOverwrites):
    bug = False


class TestIgnoresUnknown(OfAShop):
    __test__ = True
    make = IgnoresUnknown


class TestIgnoresNothing(TestIgnoresUnknown):
    bug = False


class TestIgnoresUnknownOfTwo(TestIgnoresUnknown):
    """Sends both before either is delivered, so that later events have other times."""

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        self.shop.send()
        self.shop.to = "+2"
        yield
        yield from super().scenario(chat_fake)


class TestIgnoresNothingOfTwo(TestIgnoresUnknownOfTwo):
    bug = False


class TestSendsInAnotherOrder(TestIgnoresNothing):
    """As two workers might, but for certain: as written in one order, then in the other."""

    make = ShowsNoIds
    worlds = 0

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        type(self).worlds += 1
        for to in ("+1", "+2") if self.worlds <= 4 else ("+2", "+1"):
            self.shop.to = to
            self.shop.send()
        yield
        yield chat_fake.find_message(to="+1").deliver()
        yield chat_fake.find_message(to="+2").fail()


class TestBooksATimeout(OfAShop):
    __test__ = True
    make = HoldsALock


class TestHoldsALock(TestBooksATimeout):
    bug = False


class TestHoldsATransaction(WebhookTests):
    """On SQLite, which refuses a webhook's transaction."""

    busy = 0.1

    def connect(self, chat_fake: ChatFake, tmp_path: Path) -> Any:
        self.fake, self.file = chat_fake, tmp_path / f"{id(chat_fake)}.sqlite"
        with closing(self.open()) as rows:
            rows.execute("CREATE TABLE messages (id PRIMARY KEY, status)")
        chat_fake.send_endpoint()
        chat_fake.webhooks.connect(wsgi=self.app)
        return self.snapshot

    def open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.file, timeout=self.busy, isolation_level=None)

    def store(self, rows: sqlite3.Connection, id: str, status: str) -> None:
        found = rows.execute("SELECT status FROM messages WHERE id = ?", (id,)).fetchone()
        newest = max(status, *(found or ["submitted"]), key=RANK.index)
        rows.execute("INSERT OR REPLACE INTO messages VALUES (?, ?)", (id, newest))
        rows.execute("COMMIT")

    def app(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        message = json.load(environ["wsgi.input"])["chatMessage"]
        with closing(self.open()) as rows:
            rows.execute("BEGIN IMMEDIATE")
            self.store(rows, message["id"], message["status"])
        start_response("204 No Content", [])
        return []

    def snapshot(self) -> object:
        with closing(self.open()) as rows:
            return dict(rows.execute("SELECT * FROM messages").fetchall())

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        with closing(self.open()) as rows:
            rows.execute("BEGIN IMMEDIATE")
            self.store(rows, call(chat_fake, 30), "submitted")
        yield
        yield chat_fake.messages[-1].deliver().read()
