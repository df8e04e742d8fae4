"""SQLite: one connection per application context, and the schema.

Every time stamp is written by Python. SQLite's own ``CURRENT_TIMESTAMP`` reads another clock, which
a test that moves time does not move.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from flask import current_app, g

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

SCHEMA = """
CREATE TABLE IF NOT EXISTS campaigns (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS messages (
    id TEXT PRIMARY KEY,
    campaign_id INTEGER REFERENCES campaigns (id),  -- unknown while only webhooks know the message
    recipient TEXT,
    status TEXT NOT NULL DEFAULT 'accepted',        -- until the first event
    price TEXT,                                     -- decimal text; an estimate while sent
    currency TEXT,
    conversation_id TEXT,
    sent_at TEXT,
    delivered_at TEXT,
    read_at TEXT,
    error_code TEXT,
    error_message TEXT
);
CREATE INDEX IF NOT EXISTS messages_by_campaign ON messages (campaign_id);
CREATE INDEX IF NOT EXISTS messages_by_conversation ON messages (conversation_id);
CREATE TABLE IF NOT EXISTS conversations (
    id TEXT PRIMARY KEY,
    expires_at TEXT NOT NULL,
    started INTEGER NOT NULL,                       -- 0: expires_at is only the estimate of `sent`
    reminded_at TEXT                                -- when its reminder was sent
);
CREATE TABLE IF NOT EXISTS webhooks (
    event_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    status TEXT NOT NULL,
    outcome TEXT NOT NULL,
    received_at TEXT NOT NULL,
    -- The service may give all events of a message one id, so the id alone is not enough.
    PRIMARY KEY (event_id, message_id, status)
);
CREATE TABLE IF NOT EXISTS alerts (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,                             -- low, recovered
    available TEXT NOT NULL,
    currency TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS skipped_checks (
    id INTEGER PRIMARY KEY,
    reason TEXT NOT NULL,
    retry_at TEXT,                                  -- the service asked us not to come before
    created_at TEXT NOT NULL
);
"""


def init_app(app: Flask) -> None:
    """Create the tables, and close each context's connection with it."""
    with closing(_open(app)) as connection:
        # Readers go on while a webhook is being stored.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")
    app.teardown_appcontext(_close)


def connection() -> sqlite3.Connection:
    """Return the connection of the current application context."""
    if "connection" not in g:
        g.connection = _open(current_app)
    opened: sqlite3.Connection = g.connection
    return opened


@contextmanager
def transaction() -> Iterator[sqlite3.Connection]:
    """Run a block as one write transaction.

    Never call the messaging service inside: the webhook that it may send before it answers would
    wait for our lock, and we for it.
    """
    opened = connection()
    # IMMEDIATE: what we read in here decides what we write, so nobody may write in between.
    opened.execute("BEGIN IMMEDIATE")
    try:
        yield opened
    except BaseException:
        opened.execute("ROLLBACK")
        raise
    opened.execute("COMMIT")


def _open(app: Flask) -> sqlite3.Connection:
    opened = sqlite3.connect(app.config["DATABASE"], timeout=5, isolation_level=None, uri=True)
    opened.row_factory = sqlite3.Row
    if not app.config["DATABASE_SYNC"]:
        opened.execute("PRAGMA synchronous = OFF")
    opened.execute("PRAGMA foreign_keys = ON")
    return opened


def _close(_: BaseException | None) -> None:
    opened = g.pop("connection", None)
    if opened is not None:
        opened.close()
