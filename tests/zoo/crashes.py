"""Apps that lose or repeat something when they crash between two commits, each with its twin."""

from __future__ import annotations

from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from fastapi import FastAPI
from flask import Flask, request
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from .apps import App

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
        self.engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
        Base.metadata.create_all(self.engine)
        chat_fake.webhooks.connect(wsgi=app)

    def sales_of(self, message: dict[str, Any]) -> list[Sale]:
        if message["status"] != "delivered":
            return []
        return [Sale(id=message["id"], price=str(message["totalPrice"]))]

    def hook(self) -> tuple[str, int]:
        event = request.get_json()
        message = event["chatMessage"]
        with Session(self.engine) as session:
            if session.get(Taken, event["id"]) is None:
                sales = self.sales_of(message)
                session.add_all([Taken(id=event["id"]), *(sales * (not self.bug))])
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
            return {one.id: Decimal(one.price) for one in session.scalars(sa.select(Sale))}


class AwaitsBetweenCommits(CommitsTwice):
    """The same in FastAPI: each of its lines that await is a place to crash at."""

    crash_points = ()

    def connect(self, chat_fake: ChatFake) -> None:
        # A crash in the middle of a call costs its connection, so each session has its own.
        database = f"/file:{next(NUMBERS)}?mode=memory&cache=shared&uri=true"
        self.engine = sa.create_engine(f"sqlite://{database}", poolclass=sa.StaticPool)
        Base.metadata.create_all(self.engine)
        self.awaited = create_async_engine(f"sqlite+aiosqlite://{database}", poolclass=sa.NullPool)
        app = FastAPI()
        app.post("/", status_code=204)(self.take_event)
        chat_fake.webhooks.connect(asgi=app)

    async def take_event(self, event: dict[str, Any]) -> None:
        message = event["chatMessage"]
        async with AsyncSession(self.awaited) as session:
            if await session.get(Taken, event["id"]) is not None:
                return
            sales = self.sales_of(message)
            session.add_all([Taken(id=event["id"]), *(sales * (not self.bug))])
            await session.commit()
            session.add_all(sales)
            await session.commit()


#: Each with the deviation that finds it, and its verb.
CRASHES: list[tuple[type[App], str, str]] = [
    (
        CommitsTwice,
        "crash",
        "webhooks.crash(after='sqlalchemy.orm.session.Session.commit', start=2)",
    ),
    (AwaitsBetweenCommits, "crash", "webhooks.crash(line='crashes.py:106', start=2)"),
]
