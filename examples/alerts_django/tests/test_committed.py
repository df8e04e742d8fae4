"""Where the app works in threads of its own, it has to commit: real transactions.

Django gives each thread a connection of its own, which can't see what the test's connection has
not committed. So async tests and live servers need ``transaction=True`` (``transactional_db``):
the tables are emptied after the test instead.
"""

from typing import Any

import pytest
from alerts_django.models import Message
from django.core.asgi import get_asgi_application

from pytest_chatfake import ChatFake

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.asyncio
@pytest.mark.parametrize("turn", ["first", "second"])
async def test_an_async_test_awaits_the_chain_and_the_rows(
    chat_fake: ChatFake, mailoutbox: list[Any], turn: str
) -> None:
    chat_fake.webhooks.connect(asgi=get_asgi_application(), path="/hooks/chat")
    assert not await Message.objects.aexists()

    message = await chat_fake.send_text().fail()

    assert (await Message.objects.aget()).status == "failed"
    assert [mail.body for mail in mailoutbox] == [f"{message.id}: Message Undeliverable"]


@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_live_server(
    chat_fake: ChatFake, live_server: Any, mailoutbox: list[Any], turn: str
) -> None:
    chat_fake.webhooks.connect(f"{live_server.url}/hooks/chat")
    assert not Message.objects.exists()

    message = chat_fake.send_text().fail()

    assert Message.objects.get().status == "failed"
    assert [mail.body for mail in mailoutbox] == [f"{message.id}: Message Undeliverable"]


@pytest.mark.usefixtures("connected")
def test_what_waits_for_the_commit_happens_by_itself(
    chat_fake: ChatFake, mailoutbox: list[Any]
) -> None:
    chat_fake.send_text().fail()
    assert len(mailoutbox) == 1
