"""An outbox: orders are written down in SQLite, and a worker sends a message about each."""

import json
import sqlite3
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from urllib.parse import quote, urlsplit

#: After so many seconds, a row that a worker has claimed counts as left behind by a crash.
LEASE = 600


class UnclearError(Exception):
    """The service may have sent the message."""


class Outbox:
    """Sends each message once.

    A row is ``new`` until a worker claims it, then ``sending``, and at last ``sent`` or
    ``rejected``.
    """

    def __init__(self, path, url, api_key, *, looks_up=False):
        self.host, self.api_key, self.looks_up = urlsplit(url).netloc, api_key, looks_up
        self.db = sqlite3.connect(path, isolation_level=None)
        columns = "name PRIMARY KEY, recipient, state DEFAULT 'new', claimed DEFAULT 0"
        self.db.execute(f"CREATE TABLE IF NOT EXISTS outbox ({columns})")

    def close(self):
        self.db.close()

    def add(self, name, recipient):
        """Write an order down, once; in your app, in the transaction that makes the order."""
        self.db.execute(
            "INSERT OR IGNORE INTO outbox (name, recipient) VALUES (?, ?)", (name, recipient)
        )

    def states(self):
        return dict(self.db.execute("SELECT name, state FROM outbox"))

    def work(self):
        """Send what is ready; cron runs this every few minutes."""
        old = time.time() - LEASE
        ready = "state = 'new' OR state = 'sending' AND claimed < ?"
        rows = self.db.execute(f"SELECT name, recipient, state FROM outbox WHERE {ready}", (old,))
        for name, recipient, state in rows.fetchall():
            # Of two workers, only one changes the row.
            claimed = self.db.execute(
                f"UPDATE outbox SET state = 'sending', claimed = ? WHERE name = ? AND ({ready})",
                (time.time(), name, old),
            )
            if claimed.rowcount:
                self.send(name, recipient, is_first=state == "new")

    def send(self, name, recipient, *, is_first):
        try:
            if self.looks_up and not is_first and self.was_sent(name):
                self.save(name, "sent")
            else:
                self.save(name, self.post(name, recipient))
        except UnclearError:
            pass  # it stays as it is until the lease ends

    def save(self, name, state):
        self.db.execute("UPDATE outbox SET state = ? WHERE name = ?", (state, name))

    def was_sent(self, name):
        status, _ = self.call("GET", f"/v2/messages/by-reference/{quote(name)}")
        if status not in (200, 404):
            raise UnclearError
        return status == 200

    def post(self, name, recipient):
        """Send, and return the row's new state."""
        text = {"body": f"Your {name} is on its way"}
        order = {"to": recipient, "type": "text", "text": text, "reference": name}
        status, body = self.call("POST", "/v2/messages", json.dumps(order))
        if status == 400:
            return "rejected"
        if status in (401, 429, 503):
            return "new"
        if status != 200:
            raise UnclearError
        try:
            return "new" if json.loads(body)["status"] == "failed" else "sent"
        except ValueError:
            raise UnclearError from None

    def call(self, method, path, body=None):
        headers = {"X-API-Key": self.api_key()}
        if body is not None and not self.looks_up:
            headers["Idempotency-Key"] = json.loads(body)["reference"]
        with closing(HTTPConnection(self.host, timeout=30)) as connection:
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, HTTPException) as error:
                raise UnclearError from error
