"""The tables."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import DateTime, String, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Money(TypeDecorator[Decimal]):
    """A ``Decimal`` as text: SQLite has no exact number, and a float would round it."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Any) -> str | None:
        return None if value is None else format(value, "f")

    def process_result_value(self, value: str | None, dialect: Any) -> Decimal | None:
        return None if value is None else Decimal(value)


class Instant(TypeDecorator[datetime]):
    """An aware ``datetime``. SQLite keeps no time zone, so what is in there is UTC."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """What the tables have in common."""

    type_annotation_map: ClassVar = {Decimal: Money, datetime: Instant}


class Message(Base):
    """A message of ours, as far as the webhooks have told."""

    __tablename__ = "messages"

    id: Mapped[str] = mapped_column(primary_key=True)
    body: Mapped[str]
    status: Mapped[str]
    price: Mapped[Decimal]
    currency: Mapped[str]
    problem: Mapped[str | None]
    conversation_ends: Mapped[datetime | None]


class Reading(Base):
    """What a look at the balance brought: an amount, or a problem."""

    __tablename__ = "readings"

    number: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[Decimal | None]
    currency: Mapped[str | None]
    problem: Mapped[str | None]
    at: Mapped[datetime]
