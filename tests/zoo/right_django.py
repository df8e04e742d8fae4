"""The same for Django, for a process of its own: settings are for a whole process."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import django
import pytest
from django.apps import AppConfig
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from pytest_chatfake import HmacSigner, WebhookTests

from .right_service import RANK, SECRET, Service, is_genuine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_chatfake import ChatFake


class ShopConfig(AppConfig):
    name = __name__
    label = "shop"

    def import_models(self) -> None:
        super().import_models()
        self.models_module = sys.modules[__name__]


settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": "db.sqlite3",
            # A file, so that each thread has a connection of its own. What is read in a
            # transaction decides what it writes, so nobody may write in between.
            "TEST": {"NAME": "test.sqlite3"},
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA synchronous=OFF",
            },
        }
    },
    INSTALLED_APPS=[f"{__name__}.ShopConfig"],
    ROOT_URLCONF=__name__,
    STATIC_URL="static/",
    USE_TZ=True,
)
django.setup()


class Message(models.Model):
    """A message of ours, as far as a response and the webhooks have told."""

    id = models.CharField(primary_key=True, max_length=100)
    status = models.CharField(max_length=20, default="submitted")
    price = models.CharField(max_length=20, default="0")

    class Meta:
        app_label = "shop"


class Note(models.Model):
    """What a person wrote."""

    id = models.CharField(primary_key=True, max_length=100)
    text = models.TextField()

    class Meta:
        app_label = "shop"


SERVICE: list[Service] = []


@csrf_exempt
@transaction.atomic
def receive(request: HttpRequest) -> HttpResponse:
    if not is_genuine(request.headers.get("X-Signature", ""), request.body):
        return HttpResponse(status=401)
    event = json.loads(request.body)
    if told := event.get("chatMessage"):
        message, _ = Message.objects.get_or_create(id=told["id"])
        if RANK.get(told["status"], 0) > RANK[message.status]:
            message.status, message.price = told["status"], str(told["totalPrice"])
            message.save()
    elif wrote := event.get("chatInboundMessage"):
        text = wrote.get("text", {}).get("body", "")
        Note.objects.get_or_create(id=wrote["id"], defaults={"text": text})
    return HttpResponse(status=204)


@csrf_exempt
@transaction.atomic
def receive_later(request: HttpRequest) -> HttpResponse:
    transaction.on_commit(lambda: receive(request))
    return HttpResponse(status=202)


@csrf_exempt
def send(request: HttpRequest) -> HttpResponse:
    id = SERVICE[-1].send("+4915550001", "On its way", "order-17")
    Message.objects.get_or_create(id=id)
    return HttpResponse(id)


urlpatterns = [
    path("hooks/chat", receive),
    path("hooks/later", receive_later),
    path("send", send),
]


@pytest.mark.django_db(transaction=True)
class TestCommitted(WebhookTests):
    crash_points = (models.Model.save, transaction.Atomic.__exit__)

    def connect(self, chat_fake: ChatFake) -> Callable[[], object]:
        Message.objects.all().delete()
        Note.objects.all().delete()
        chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
        SERVICE[:] = [Service(chat_fake.base_url, chat_fake.api_key)]
        chat_fake.webhooks.connect(
            wsgi=get_wsgi_application(), path="/hooks/chat", events="*", signer=HmacSigner(SECRET)
        )
        return lambda: [sorted(table.objects.values_list()) for table in (Message, Note)]

    def expected(self, chat_fake: ChatFake) -> object:
        return [[(one.id, one.status, f"{one.total_price}") for one in chat_fake.messages], ANY]

    def scenario(self, chat_fake: ChatFake) -> Iterator[Any]:
        id = Client().post("/send").content.decode()
        yield chat_fake.settle()
        yield chat_fake.message(id).deliver().read()


@pytest.mark.django_db
class TestInTheTestsTransaction(TestCommitted):
    crash_points = ()


class WaitsForTheCommit(WebhookTests):
    """Handles a webhook once its transaction is committed."""

    __test__ = False

    def connect(self, chat_fake: ChatFake) -> Callable[[], object]:
        Message.objects.all().delete()
        webhooks, app = chat_fake.webhooks, get_wsgi_application()
        webhooks.connect(wsgi=app, path="/hooks/later", signer=HmacSigner(SECRET))
        return lambda: sorted(Message.objects.values_list())


@pytest.mark.django_db(transaction=True)
class TestAfterTheCommit(WaitsForTheCommit):
    __test__ = True


@pytest.mark.django_db
class TestNeverCommitted(WaitsForTheCommit):
    __test__ = True


@pytest.mark.django_db
@pytest.mark.usefixtures("django_capture_on_commit_callbacks")
class TestCapturesCallbacks(WaitsForTheCommit):
    __test__ = True
