"""What is kept of the events: the furthest status of each message."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine

from .models import Base, Message, Reading

if TYPE_CHECKING:
    from .events import Event
    from .service import Balance

REPLACES = {
    "sent": (),
    "delivered": ("sent",),
    "read": ("sent", "delivered"),
    "failed": ("sent",),
}
"""Which statuses an event may replace; read and failed are final."""


class Store:
    """The database; it belongs to the loop in which it is used.

    Args:
        url: An SQLAlchemy URL with an async driver.
    """

    def __init__(self, url: str) -> None:
        self._engine = create_async_engine(url)
        self._session = async_sessionmaker(self._engine, expire_on_commit=False)

    async def open(self) -> None:
        """Create the tables that are not there."""
        async with self._engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)

    async def close(self) -> None:
        """Give up the connections."""
        await self._engine.dispose()

    async def apply(self, event: Event) -> bool:
        """Apply an event in one transaction; return whether it was news.

        An event that comes again, or late, finds a status that it may not replace.
        """
        told = event.message
        values: dict[str, Any] = {
            "status": told.status,
            "price": told.price,
            "currency": told.currency,
            "problem": told.problem,
        }
        if told.conversation is not None and told.status != "sent":  # there it is an estimate
            values["conversation_ends"] = told.conversation.ends
        async with self._session.begin() as session:
            # Writing first takes SQLite's lock: of two events at once, one waits for the other.
            new = insert(Message).values(id=told.id, body=told.text.body, **values)
            if await session.scalar(new.on_conflict_do_nothing().returning(Message.id)):
                return True
            message = await session.get_one(Message, told.id)
            if message.status not in REPLACES[told.status]:
                return False
            for name, value in values.items():
                setattr(message, name, value)
        return True

    async def message(self, message_id: str) -> Message | None:
        """Return a message, if a webhook has told of it."""
        async with self._session() as session:
            return await session.get(Message, message_id)

    async def messages(self, status: str | None) -> list[Message]:
        """Return the messages, or those with this status."""
        query = select(Message).order_by(Message.id)
        if status is not None:
            query = query.where(Message.status == status)
        async with self._session() as session:
            return list(await session.scalars(query))

    async def note(self, balance: Balance | None, problem: str | None = None) -> None:
        """Keep what a look at the balance brought."""
        reading = Reading(
            amount=balance and balance.amount,
            currency=balance and balance.currency,
            problem=problem,
            at=datetime.now(UTC),
        )
        async with self._session.begin() as session:
            session.add(reading)

    async def readings(self) -> list[Reading]:
        """Return the looks at the balance, oldest first."""
        async with self._session() as session:
            return list(await session.scalars(select(Reading).order_by(Reading.number)))
