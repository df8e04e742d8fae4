"""A price function is asked in the middle of a verb: it may look, and change nothing."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatfake import ChatFake, ChatFakeError, IllegalTransition

from .listening import snapshot
from .table import frozen_fake

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGES: dict[str, Callable[[ChatFake], Any]] = {
    "send_text()": lambda fake: fake.send_text("inner", price="1"),
    "top_up()": lambda fake: fake.top_up(5),
    "settle()": lambda fake: fake.settle(),
    "advance()": lambda fake: fake.clock.advance(days=31),
    "reset()": lambda fake: fake.reset(),
}


@pytest.mark.parametrize("verb", CHANGES)
def test_a_price_function_can_change_nothing(verb: str) -> None:
    with frozen_fake() as fake:

        def price(_: Any) -> str:
            CHANGES[verb](fake)
            return "2"

        before = snapshot(fake)
        with pytest.raises(ChatFakeError, match=rf"^{verb[:-2]}\(\) is not possible in a price"):
            fake.send_text(price=price)

        assert before == snapshot(fake)
        assert "2" == str(fake.send_text(price="2").deliver().charged)


def test_a_price_function_may_look_at_the_fake() -> None:
    with ChatFake() as fake:
        message = fake.send_text(price=lambda _: fake.balance.available / 100)

        assert Decimal(1) == message.held


class Thread(str, Enum):  # noqa: UP042 - its text differs from its value
    """As users wrote enumerations of texts before ``StrEnum``."""

    SALE = "c0ffee"


def test_a_conversation_id_may_be_the_member_of_an_enumeration() -> None:
    with ChatFake() as fake:
        message = fake.send_text(conversation=Thread.SALE)

        assert "c0ffee" == message.events[0].json()["chatMessage"]["conversation"]["id"]


def test_two_threads_may_price_at_once() -> None:
    both = threading.Barrier(2, timeout=5)

    def price(_: Any) -> str:
        both.wait()  # the other one is priced as well
        with pytest.raises(ChatFakeError, match=r"^top_up\(\) is not possible in a price"):
            fake.top_up(1)
        both.wait()
        return "2"

    with ChatFake(opening_balance="10") as fake, ThreadPoolExecutor(2) as pool:
        sent = [pool.submit(fake.send_text, to=to, price=price) for to in ("+1", "+2")]
        ids = {future.result().id for future in sent}

        assert ids == {message.id for message in fake.messages}
        assert (Decimal(6), Decimal(4)) == (fake.balance.available, fake.balance.held)
        fake.top_up(1)  # nobody prices any more


def test_a_submission_that_two_threads_accept_is_sent_once() -> None:
    both = threading.Barrier(2, timeout=5)

    def price(_: Any) -> str:
        both.wait()
        return "2"

    with ChatFake(opening_balance="10") as fake, ThreadPoolExecutor(2) as pool:
        submission = fake.submit_text(price=price)
        ends = [pool.submit(submission.accept) for _ in range(2)]
        errors = [type(future.exception()) for future in ends]

        assert {type(None), IllegalTransition} == set(errors)
        assert ["sent"] == [event.status for event in fake.events]
        assert ["opening", "hold"] == [entry.kind for entry in fake.ledger]
        assert "sent" == fake.messages[0].status
        assert fake.messages[0].id == fake.events[0].message_id


def test_a_price_function_that_raises_leaves_a_submission_as_it_was() -> None:
    prices: list[Any] = [LookupError("no tariff"), "2"]

    def price(_: Any) -> Any:
        found = prices.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    with frozen_fake() as fake:
        before = snapshot(fake)
        submission = fake.submit_text(price=price)
        with pytest.raises(LookupError, match="no tariff"):
            submission.accept()
        assert before == snapshot(fake)
        message = submission.accept()

        assert Decimal(2) == message.held
        assert message.id.endswith("00000001")  # the first id was not used up


def test_a_price_function_may_look_while_other_steps_are_pending() -> None:
    seen: list[tuple[str, Decimal]] = []

    def price(message: Any) -> str:
        seen.append((message.body, fake.balance.held))
        return "2"

    async def story() -> None:
        await fake.send_text(price=price).deliver().read()

    with ChatFake(mode="async") as fake:
        asyncio.run(story())
    assert [("Hello", Decimal(0))] == seen


def test_a_thread_that_still_prices_is_refused_when_another_one_has_priced() -> None:
    first_is_sent, both = threading.Event(), threading.Barrier(2, timeout=5)

    def price(message: Any) -> str:
        both.wait()
        if message.to == "+2":
            assert first_is_sent.wait(5)
            with pytest.raises(ChatFakeError, match=r"^top_up\(\) is not possible in a price"):
                fake.top_up(1)
        return "2"

    with ChatFake(opening_balance="10") as fake, ThreadPoolExecutor(2) as pool:
        second = pool.submit(fake.send_text, to="+2", price=price)
        pool.submit(fake.send_text, to="+1", price=price).result(5)
        first_is_sent.set()

        assert "sent" == second.result(5).status
