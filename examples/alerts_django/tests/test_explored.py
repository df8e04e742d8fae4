"""The app in every world: events that come late, twice or unheard."""

from decimal import Decimal

import pytest
from alerts_django.models import Message
from django.core.wsgi import get_wsgi_application

from pytest_chatfake import ChatFake, Explorer


@pytest.mark.django_db
def test_the_furthest_status_is_kept_whatever_comes(chat_explore: Explorer) -> None:
    @chat_explore(limit=60)
    def world(chat_fake: ChatFake) -> None:
        Message.objects.all().delete()  # a test has one transaction for all of its worlds
        chat_fake.webhooks.connect(wsgi=get_wsgi_application(), path="/hooks/chat")

        read = chat_fake.send_text(to="+4915550001").deliver().read()
        failed = chat_fake.send_text(to="+4915550002").fail()
        chat_fake.settle()

        kept = {message.id: message for message in Message.objects.all()}
        assert (kept[read.id].status, kept[failed.id].status) == ("read", "failed")
        assert kept[read.id].price == Decimal("0.05")

    assert world.worlds == 60
