"""Apps that read, wait for a database, and write: two attempts may both read before one writes."""

import asyncio
import contextlib
import inspect
import json
import sqlite3
from itertools import count

from fastapi import FastAPI, Response

from .apps import RANK, App, AsgiApp

_NUMBERS = count(1)


class InThreads(App):
    """A WSGI app with a database."""

    def __init__(self):
        super().__init__()
        self.file = f"file:/zoo{next(_NUMBERS)}?vfs=memdb"  # in memory, for all connections
        self.kept = self.database()
        self.kept.execute(self.table)

    @property
    def table(self):
        """The statement that creates the table."""
        raise NotImplementedError

    def database(self):
        return sqlite3.connect(self.file, uri=True, isolation_level=None, check_same_thread=False)

    def connect(self, chat_fake):
        chat_fake.webhooks.connect(wsgi=self.wsgi)

    def wsgi(self, environ, start):
        self.take("", json.loads(environ["wsgi.input"].read())["chatMessage"])
        start("204 No Content", [])
        return []


class ChecksThenInsertsInThreads(InThreads):
    """Looks for a row and then inserts one."""

    @property
    def table(self):
        return f"CREATE TABLE rows (id TEXT {'' if self.bug else 'UNIQUE'})"

    def take(self, id, message):
        database = self.database()
        found = database.execute("SELECT id FROM rows WHERE id = ?", [message["id"]]).fetchone()
        if found is None:
            database.execute("INSERT OR IGNORE INTO rows VALUES (?)", [message["id"]])
        database.close()

    def snapshot(self):
        return sorted(id for (id,) in self.kept.execute("SELECT id FROM rows"))

    def scene(self, chat_fake):
        message = chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert [message.id] == self.snapshot()


class ChecksThenInsertsInThePool(ChecksThenInsertsInThreads):
    """The same in an endpoint that FastAPI calls in a thread, because it is a plain function."""

    def connect(self, chat_fake):
        app = FastAPI()

        @app.post("/")
        def receive(event: dict):
            self.take("", event["chatMessage"])
            return Response(status_code=204)

        chat_fake.webhooks.connect(asgi=app)


class OverwritesInThreads(InThreads):
    """Reads a status, and writes the later one: `delivered` over the `read` of another thread."""

    table = "CREATE TABLE rows (id TEXT PRIMARY KEY, status TEXT)"

    def take(self, id, message):
        with contextlib.closing(self.database()) as database:
            if not self.bug:
                database.execute("BEGIN IMMEDIATE")
            rows = database.execute("SELECT status FROM rows WHERE id = ?", [message["id"]])
            known = rows.fetchone() or ("",)
            status = max(*known, message["status"], key=lambda each: RANK.get(each, 0))
            database.execute("REPLACE INTO rows VALUES (?, ?)", [message["id"], status])
            if not self.bug:
                database.commit()

    def snapshot(self):
        return dict(self.kept.execute("SELECT id, status FROM rows"))

    def scene(self, chat_fake):
        message = chat_fake.send_text("Sale").deliver().read()
        chat_fake.settle()
        assert {message.id: "read"} == self.snapshot()


class AddsUpInThreads(InThreads):
    """Reads how many messages were delivered, and writes one more."""

    table = "CREATE TABLE rows (id TEXT PRIMARY KEY, delivered INTEGER)"

    def take(self, id, message):
        if message["status"] != "delivered":
            return
        with contextlib.closing(self.database()) as database:
            added = database.execute("INSERT OR IGNORE INTO rows VALUES (?, 0)", [message["id"]])
            if not added.rowcount:
                return
            database.execute("INSERT OR IGNORE INTO rows VALUES ('all', 0)")
            sql = "SELECT delivered FROM rows WHERE id = 'all'"
            (known,) = database.execute(sql).fetchone()
            one_more = known + 1 if self.bug else "delivered + 1"
            database.execute(f"UPDATE rows SET delivered = {one_more} WHERE id = 'all'")

    def snapshot(self):
        rows = self.kept.execute("SELECT delivered FROM rows WHERE id = 'all'")
        return rows.fetchall()

    def scene(self, chat_fake):
        messages = [chat_fake.send_text(body) for body in ("Sale", "Last call")]
        chat_fake.settle()
        for message in messages:
            message.deliver()
        chat_fake.settle()
        assert self.snapshot() == [(2,)]


class OverwritesWhileItAwaits(AsgiApp):
    """Reads a row, waits for its database, and writes all of the row."""

    def __init__(self):
        super().__init__()
        self.rows = {}
        self.turn = asyncio.Lock()

    async def take_in_turn(self, message):
        async with contextlib.nullcontext() if self.bug else self.turn:
            row = {"status": "", "price": 0, **self.rows.get(message["id"], {})}
            await asyncio.sleep(0)
            if message["status"] in {"delivered", "read"}:
                row["price"] = message["totalPrice"]
            row["status"] = max(row["status"], message["status"], key=lambda s: RANK.get(s, 0))
            self.rows[message["id"]] = row

    def snapshot(self):
        return self.rows

    def scene(self, chat_fake):
        message = chat_fake.send_text("Sale").deliver().read()
        chat_fake.settle()
        assert self.rows[message.id]["status"] == "read"


_VERB = "webhooks.concurrently(by=0, before='sqlite3.Connection.execute', nth=None, start=1)"
_TWO = "webhooks.concurrently(by=1, before='sqlite3.Connection.execute', start=2)"
_WAITS = inspect.getsourcelines(OverwritesWhileItAwaits.take_in_turn)[1] + 3

#: Each app, the deviation that finds its bug, and the verb.
RACES = [
    (ChecksThenInsertsInThreads, "duplicate_at_once", _VERB),
    (ChecksThenInsertsInThePool, "duplicate_at_once", _VERB),
    (OverwritesInThreads, "two_events_at_once", _TWO),
    (AddsUpInThreads, "two_events_at_once", _TWO.replace("start=2", "start=3")),
    (
        OverwritesWhileItAwaits,
        "two_events_at_once",
        f"webhooks.concurrently(by=1, line='races.py:{_WAITS}', start=2)",
    ),
]
