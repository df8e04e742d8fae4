"""Apps that send, over a socket and with a database in a file; each has one bug, and a right twin."""

import hashlib
import json
import sqlite3
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from pytest_chatfake import SendTests

#: The customers that get a message.
ORDERS = ["order-1", "order-2"]


class Refused(Exception):
    """The service refused a message; it was not sent."""

    def __init__(self, status, code=""):
        super().__init__(f"{status} {code}".rstrip())
        self.status, self.code = status, code


class Unclear(Exception):
    """The message may have been sent."""


class Outbox:
    """Writes down what to send, and sends it later, with an idempotency key for each row.

    The methods below are where the apps with bugs differ.
    """

    def __init__(self, path, url, key):
        self.host, self.key = urlsplit(url).netloc, key
        self.db = sqlite3.connect(path, timeout=5, isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS box (id PRIMARY KEY, state, tries DEFAULT 0)")

    def close(self):
        self.db.close()

    def states(self):
        return dict(self.db.execute("SELECT id, state FROM box ORDER BY id"))

    def add(self, orders=ORDERS):
        rows = [(order, "new") for order in orders]
        self.db.executemany("INSERT OR IGNORE INTO box (id, state) VALUES (?, ?)", rows)

    def save(self, id, state):
        self.db.execute("UPDATE box SET state = ? WHERE id = ?", (state, id))

    def claim(self, id):
        """Make a row this worker's; False if another one has it."""
        claimed = self.db.execute(
            "UPDATE box SET state = 'sending', tries = tries + 1 WHERE id = ? AND state = 'new'",
            (id,),
        )
        return claimed.rowcount == 1

    def ready(self):
        query = "SELECT id FROM box WHERE state IN ('new', 'sending') ORDER BY id"
        return [id for (id,) in self.db.execute(query)]

    def work(self):
        for id in self.ready():
            self.send(id)

    def send(self, id):
        """A row that is in the state of sending was left by a crash, and its key still holds."""
        self.claim(id)
        try:
            self.post(id)
        except Unclear:
            self.save(id, "new")
        except Refused as error:
            self.save(id, "failed" if error.status == 400 else "new")
        else:
            self.save(id, "sent")

    def key_for(self, id):
        return id

    def call(self, method, path, body=None, headers=None):
        """Return a response's status and body; raise ``Unclear`` if there is none."""
        headers = {"X-API-Key": self.key(), **(headers or {})}
        with closing(HTTPConnection(self.host, timeout=60)) as connection:
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, HTTPException) as error:
                raise Unclear(str(error)) from error

    def post(self, id):
        order = {"to": f"+{id[-1]}", "type": "text", "text": {"body": f"{id} is on its way"}}
        order |= {"reference": id}
        headers = {"Idempotency-Key": key} if (key := self.key_for(id)) else {}
        status, body = self.call("POST", "/v2/messages", json.dumps(order), headers)
        return self.read(status, body)

    def read(self, status, body):
        if status in (500, 502, 504):
            raise Unclear(status)
        try:
            found = json.loads(body)
        except ValueError:
            found = {}
        if status != 200:
            raise Refused(status, found.get("error", {}).get("code", ""))
        if found.get("status") == "failed":
            raise Refused(402, found["errorCode"])
        return found["id"]


class Tests(SendTests):
    """Ready-made tests for an outbox."""

    make = Outbox
    header = "Idempotency-Key"

    def connect(self, chat_fake, tmp_path_factory):
        chat_fake.send_endpoint(idempotency_header=self.header, echo=["reference"])
        self.path = tmp_path_factory.mktemp("outbox") / "outbox.db"
        self.restart(chat_fake)
        yield lambda: self.box.states()
        self.box.close()

    def restart(self, chat_fake):
        self.box = self.make(self.path, chat_fake.base_url, lambda: chat_fake.api_key)

    def send(self, chat_fake):
        self.box.add()

    def work(self, chat_fake):
        self.box.work()


class TestWithKey(Tests):
    crash_points = [Outbox.save]
