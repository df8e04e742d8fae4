"""Apps as they should be, on the frameworks and databases of a real one, and their tests.

Each takes every status, in any order and any number of times, sends, replies to people, checks
signatures, and commits once. So no ready-made test of theirs may fail.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest.mock import ANY

import sqlalchemy as sa
from fastapi import Depends, FastAPI, HTTPException, Request
from flask import Flask, abort, request
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from pytest_chatfake import HmacSigner, WebhookTests

from .right_service import RANK, SECRET, Service, is_genuine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_chatfake import ChatFake

NUMBERS = itertools.count()

# FastAPI, with SQLAlchemy and endpoints that await nothing


class Base(DeclarativeBase):
    pass


class Message(Base):
    """A message of ours, as far as a response and the webhooks have told."""

    __tablename__ = "messages"
    id: Mapped[str] = mapped_column(primary_key=True)
    status: Mapped[str]
    rank: Mapped[int]
    price: Mapped[str]


class Note(Base):
    """What a person wrote."""

    __tablename__ = "notes"
    id: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str]


#: Store a message's status and price, if these are news.
Save: TypeAlias = "Callable[[Session, str, str, str], object]"


def save_at_once(session: Session, id: str, status: str, price: str) -> None:
    """Do it in one statement: no other thread can write between a look and a write."""
    new = insert(Message).values(id=id, status=status, rank=RANK.get(status, 0), price=price)
    session.execute(
        new.on_conflict_do_update(
            index_elements=["id"],
            set_={name: new.excluded[name] for name in ("status", "rank", "price")},
            where=new.excluded.rank > Message.rank,
        )
    )


def look_and_save(session: Session, id: str, status: str, price: str) -> None:
    """Look first, as most apps do: of two threads that insert, the database refuses one.

    And of two that update, the one that looked too early changes nothing.
    """
    values = {"status": status, "rank": RANK.get(status, 0), "price": price}
    if session.get(Message, id) is None:
        session.add(Message(id=id, **values))
    else:
        is_news = Message.rank < values["rank"]
        session.execute(sa.update(Message).where(Message.id == id, is_news).values(values))


def create_fastapi(engine: sa.Engine, service: Service, save: Save) -> FastAPI:
    """Return an app whose endpoint works in FastAPI's threads; it sends by its `state`."""
    app = FastAPI()

    async def raw(request: Request) -> bytes:
        return await request.body()

    def send(to: str, order: str) -> str:
        id = service.send(to, "On its way", order)
        with Session(engine) as session:
            save(session, id, "submitted", "0")
            session.commit()
        return id

    @app.post("/hooks/chat", status_code=204)
    def receive(request: Request, body: bytes = Depends(raw)) -> None:
        if not is_genuine(request.headers.get("X-Signature", ""), body):
            raise HTTPException(401)
        event = json.loads(body)
        with Session(engine) as session:
            if told := event.get("chatMessage"):
                save(session, told["id"], told["status"], str(told["totalPrice"]))
            elif wrote := event.get("chatInboundMessage"):
                note = {"id": wrote["id"], "text": wrote.get("text", {}).get("body", "")}
                session.execute(insert(Note).values(note).on_conflict_do_nothing())
            session.commit()

    app.state.send = send
    return app


class TestFastAPI(WebhookTests):
    """On a file: each thread has a connection of its own."""

    save = staticmethod(save_at_once)
    crash_points = (Session.commit,)

    @contextmanager
    def engine(self, folder: Path) -> Iterator[sa.Engine]:
        engine = sa.create_engine(f"sqlite:///{folder / f'{next(NUMBERS)}.db'}")
        sa.event.listen(engine, "connect", lambda c, _: c.execute("PRAGMA synchronous=OFF"))
        yield engine
        engine.dispose()

    def connect(self, chat_fake: ChatFake, tmp_path: Path) -> Iterator[Callable[[], object]]:
        chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
        with self.engine(tmp_path) as engine:
            Base.metadata.create_all(engine)
            service = Service(chat_fake.base_url, chat_fake.api_key)
            app = create_fastapi(engine, service, self.save)
            self.send = app.state.send
            chat_fake.webhooks.connect(
                asgi=app, path="/hooks/chat", events="*", signer=HmacSigner(SECRET)
            )

            def snapshot() -> object:
                with Session(engine) as session:
                    messages = session.query(Message.id, Message.status, Message.price)
                    notes = session.query(Note.id, Note.text)
                    return [sorted(tuple(row) for row in rows) for rows in (messages, notes)]

            yield snapshot

    def expected(self, chat_fake: ChatFake) -> object:
        return [[(one.id, one.status, f"{one.total_price}") for one in chat_fake.messages], ANY]

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        id = self.send("+4915550001", "order-17")
        yield chat_fake.settle()
        yield chat_fake.message(id).deliver().read()


class TestFastAPIOnOneConnection(TestFastAPI):
    """In memory: all threads share one connection, and so one transaction."""

    save = staticmethod(look_and_save)

    test_duplicates = test_duplicates_under_another_id = test_a_crash = test_forgeries = None

    @contextmanager
    def engine(self, folder: Path) -> Iterator[sa.Engine]:
        engine = sa.create_engine(
            "sqlite://", poolclass=sa.StaticPool, connect_args={"check_same_thread": False}
        )
        yield engine
        engine.dispose()


# Flask, with sqlite3, and replies that a thread sends after the response


class Bot:
    """Notes what a person writes, responds, and replies in a thread, once to each message."""

    def __init__(self, database: Path, service: Service) -> None:
        self.database = database
        self.service = service
        self.threads: list[threading.Thread] = []
        self.app = Flask("bot")
        self.app.post("/hooks/chat")(self.receive)
        with self.transaction() as rows:
            rows.execute("CREATE TABLE IF NOT EXISTS messages (id PRIMARY KEY, status, rank)")
            rows.execute("CREATE TABLE IF NOT EXISTS people (id PRIMARY KEY, replied DEFAULT 0)")
        self.begin()  # what the process before had left

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.database)) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            with connection:
                yield connection
                self.commits()

    def commits(self) -> None:
        """Do nothing: it is where the app may crash."""

    def save(self, id: str, status: str) -> None:
        with self.transaction() as rows:
            rows.execute(
                "INSERT INTO messages VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE "
                "SET status = excluded.status, rank = excluded.rank WHERE excluded.rank > rank",
                (id, status, RANK.get(status, 0)),
            )

    def receive(self) -> tuple[str, int]:
        if not is_genuine(request.headers.get("X-Signature", ""), request.get_data()):
            abort(401)
        event = request.get_json()
        if told := event.get("chatMessage"):
            self.save(told["id"], told["status"])
        elif wrote := event.get("chatInboundMessage"):
            with self.transaction() as rows:
                rows.execute("INSERT OR IGNORE INTO people (id) VALUES (?)", (wrote["id"],))
            self.begin()
        return "", 204

    def begin(self) -> None:
        thread = threading.Thread(target=self.reply)
        self.threads.append(thread)
        thread.start()

    def reply(self) -> None:
        """Reply to all whose reply is not known to be sent."""
        with self.transaction() as rows:
            waiting = rows.execute("SELECT id FROM people WHERE NOT replied").fetchall()
        for (person,) in waiting:
            self.save(self.service.send("+4915550001", "Thank you", person), "submitted")
            with self.transaction() as rows:
                rows.execute("UPDATE people SET replied = 1 WHERE id = ?", (person,))

    def wait(self) -> None:
        while self.threads:
            self.threads.pop().join()

    def state(self) -> object:
        self.wait()
        with self.transaction() as rows:
            return [
                sorted(rows.execute(f"SELECT * FROM {name}")) for name in ("messages", "people")
            ]


class TestFlask(WebhookTests):
    crash_points = (Bot.commits,)

    def connect(self, chat_fake: ChatFake, tmp_path: Path) -> Iterator[Callable[[], object]]:
        chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
        service = Service(chat_fake.base_url, chat_fake.api_key)
        database = tmp_path / f"{next(NUMBERS)}.db"
        bots: list[Bot] = []

        def start() -> Flask:
            for bot in bots[-1:]:
                bot.wait()
            bots.append(Bot(database, service))
            return bots[-1].app

        chat_fake.webhooks.connect(
            wsgi=start(),
            path="/hooks/chat",
            events="*",
            signer=HmacSigner(SECRET),
            restart=start,
        )

        def snapshot() -> object:
            for bot in bots:
                bot.wait()
            chat_fake.settle()
            return bots[-1].state()

        yield snapshot
        for bot in bots:
            bot.wait()

    def expected(self, chat_fake: ChatFake) -> object:
        return [[(one.id, one.status, RANK[one.status]) for one in chat_fake.messages], ANY]

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        yield chat_fake.recipient("+4915550001").writes("Where is it?")
        reply = chat_fake.wait_until(lambda: chat_fake.find_message(to="+4915550001"))
        yield reply.deliver().read()
