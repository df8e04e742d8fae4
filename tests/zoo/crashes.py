"""Apps that lose or repeat something when they crash between two commits, each with its twin."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from fastapi import BackgroundTasks, FastAPI
from flask import Flask, request
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from .apps import RANK, App

if TYPE_CHECKING:
    from pytest_chatfake import ChatFake


#: Numbers of databases: one lives on while a thread has yet to close what a crash has left open, so
#: no later app may come upon it, as it would by an address that is used again.
NUMBERS = count()


class Base(DeclarativeBase):
    pass


class Taken(Base):
    """An event that was taken."""

    __tablename__ = "taken"
    id: Mapped[str] = mapped_column(primary_key=True)


class Sale(Base):
    """What a message has cost."""

    __tablename__ = "sales"
    id: Mapped[str] = mapped_column(primary_key=True)
    price: Mapped[str]


class CommitsTwice(App):
    """A Flask app that notes an event in one transaction, and acts on it in the next."""

    crash_points = (Session.commit,)

    def connect(self, chat_fake: ChatFake) -> None:
        app = Flask("shop")
        app.post("/")(self.hook)
        self.engine = sa.create_engine(
            "sqlite://", poolclass=sa.StaticPool, connect_args={"check_same_thread": False}
        )
        self.turn = threading.Lock()  # all threads share that one connection
        Base.metadata.create_all(self.engine)
        chat_fake.webhooks.connect(wsgi=app)

    def key_of(self, message: dict[str, Any]) -> str:
        """What an event says: one that comes again may have another id."""
        return f"{message['id']} {message['status']}"

    def sales_of(self, message: dict[str, Any]) -> list[Sale]:
        if message["status"] != "delivered":
            return []
        return [Sale(id=message["id"], price=str(message["totalPrice"]))]

    def hook(self) -> tuple[str, int]:
        message = request.get_json()["chatMessage"]
        key = self.key_of(message)
        with self.turn, Session(self.engine) as session:
            if session.get(Taken, key) is None:
                sales = self.sales_of(message)
                session.add_all([Taken(id=key), *(sales * (not self.bug))])
                session.commit()
                session.add_all(sales)
                session.commit()
        return "", 204

    def scene(self, chat_fake: ChatFake) -> None:
        message = chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert {message.id: message.total_price} == self.snapshot()

    def snapshot(self) -> dict[str, Decimal]:
        with Session(self.engine) as session:
            return {sale.id: Decimal(sale.price) for sale in session.scalars(sa.select(Sale))}


class AwaitsBetweenCommits(CommitsTwice):
    """The same in FastAPI: each of its lines that await is a place to crash at."""

    crash_points = ()

    def connect(self, chat_fake: ChatFake) -> None:
        # A crash in the middle of a call costs its connection, so each session has its own.
        database = f"/file:{next(NUMBERS)}?mode=memory&cache=shared&uri=true"
        self.engine = sa.create_engine(f"sqlite://{database}", poolclass=sa.StaticPool)
        Base.metadata.create_all(self.engine)
        self.awaited_turn = asyncio.Lock()  # SQLite refuses a second writer
        self.awaited = create_async_engine(f"sqlite+aiosqlite://{database}", poolclass=sa.NullPool)
        app = FastAPI()
        app.post("/", status_code=204)(self.take_event)
        chat_fake.webhooks.connect(asgi=app)

    async def take_event(self, event: dict[str, Any]) -> None:
        message = event["chatMessage"]
        key = self.key_of(message)
        async with self.awaited_turn, AsyncSession(self.awaited) as session:
            if await session.get(Taken, key) is not None:
                return
            sales = self.sales_of(message)
            session.add_all([Taken(id=key), *(sales * (not self.bug))])
            await session.commit()
            session.add_all(sales)
            await session.commit()


class WorksAfterItResponded(App):
    """Notes an event, responds, and works in the background; the twin notes what is to be done."""

    def __init__(self) -> None:
        super().__init__()
        self.to_do: dict[str, str] = {}  # in its database, as all that it knows

    def connect(self, chat_fake: ChatFake) -> None:
        chat_fake.webhooks.connect(asgi=self.create(), restart=self.create)

    def create(self) -> FastAPI:
        for id in [] if self.bug else [*self.to_do]:  # what the process before had left
            self.finish(id)
        app = FastAPI()
        app.post("/", status_code=204)(self.take_event)
        return app

    async def take_event(self, event: dict[str, Any], background: BackgroundTasks) -> None:
        message = event["chatMessage"]
        await asyncio.sleep(0)  # for its database
        if message["status"] == "delivered" and message["id"] not in self.seen:
            self.seen.add(message["id"])
            self.to_do[message["id"]] = message["status"]
            background.add_task(self.work, message["id"])

    async def work(self, id: str) -> None:
        await asyncio.sleep(0)
        self.finish(id)

    def finish(self, id: str) -> None:
        self.statuses[id] = self.to_do.pop(id)

    def scene(self, chat_fake: ChatFake) -> None:
        message = chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert {message.id: "delivered"} == self.statuses


class LogsAndGoesOn(App):
    """Takes an event as done though its database has failed; the twin refuses it."""

    def save(self, message: dict[str, Any]) -> None:
        known = self.statuses.get(message["id"], message["status"])
        self.statuses[message["id"]] = max(known, message["status"], key=lambda each: RANK[each])

    crash_points = (save,)

    def take(self, id: str, message: dict[str, Any]) -> int:
        if id not in self.seen:
            try:
                self.save(message)
            except Exception:
                if not self.bug:
                    return 500
                logging.getLogger("shop").exception("can't save %s", id)
            self.seen.add(id)
        return 200

    def scene(self, chat_fake: ChatFake) -> None:
        message = chat_fake.send_text("Sale").deliver()
        chat_fake.settle()
        assert {message.id: "delivered"} == self.statuses


def _line(method: Any, code: str) -> str:
    lines, first = inspect.getsourcelines(method)
    return f"crashes.py:{first + next(n for n, line in enumerate(lines) if code in line)}"


COMMIT = _line(AwaitsBetweenCommits.take_event, "await session.commit()")
WORK = _line(WorksAfterItResponded.work, "await asyncio.sleep(0)")

#: Each with the deviation that finds it, and its verb.
CRASHES: list[tuple[type[App], str, str]] = [
    (
        CommitsTwice,
        "crash",
        "webhooks.crash(after='sqlalchemy.orm.session.Session.commit', start=2)",
    ),
    (AwaitsBetweenCommits, "crash", f"webhooks.crash(line='{COMMIT}', start=2)"),
    (WorksAfterItResponded, "crash", f"webhooks.crash(line='{WORK}', start=2)"),
    (
        LogsAndGoesOn,
        "error",
        "webhooks.error(before='tests.zoo.crashes.LogsAndGoesOn.save', start=2)",
    ),
]
