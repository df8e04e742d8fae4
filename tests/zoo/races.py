"""Apps in threads with a database: two attempts may look for a row before one inserts it."""

import json
import sqlite3
from itertools import count

from fastapi import FastAPI, Response

from .apps import App

_NUMBERS = count(1)


class ChecksThenInsertsInThreads(App):
    """Looks for a row and then inserts one, as a WSGI app."""

    def __init__(self):
        super().__init__()
        self.file = f"file:/zoo{next(_NUMBERS)}?vfs=memdb"  # in memory, for all connections
        self.kept = self.database()
        self.kept.execute(f"CREATE TABLE rows (id TEXT {'' if self.bug else 'UNIQUE'})")

    def database(self):
        return sqlite3.connect(self.file, uri=True, isolation_level=None, check_same_thread=False)

    def connect(self, chat_fake):
        chat_fake.webhooks.connect(wsgi=self.wsgi)

    def wsgi(self, environ, start):
        self.take("", json.loads(environ["wsgi.input"].read())["chatMessage"])
        start("204 No Content", [])
        return []

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


_VERB = "webhooks.concurrently(by=0, before='sqlite3.Connection.execute', nth=None, start=1)"

#: Each app, the deviation that finds its bug, and the verb.
RACES = [
    (ChecksThenInsertsInThreads, "duplicate_at_once", _VERB),
    (ChecksThenInsertsInThePool, "duplicate_at_once", _VERB),
]
