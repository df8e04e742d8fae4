"""A Django app that crashes inside a transaction, run in a process of its own for its settings.

Prints, as JSON, what came of its attempts: alone, inside a transaction of the test, and at points
that leave Django's connection in the middle of something.
"""

import json
import sys

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.http import HttpResponse
from django.urls import path

from pytest_chatfake import ChatFake, ChatFakeError


def count():
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def save(request):
    with transaction.atomic(savepoint=False):  # as save() has it for a model of two tables
        count()
    return HttpResponse()


urlpatterns = [path("save", save)]


def crash(**point):
    try:
        with ChatFake() as fake:
            fake.webhooks.connect(wsgi=get_wsgi_application(), path="/save")
            fake.webhooks.crash(**point)
            fake.send_text()
            fake.settle()
            return [one.status_code for one in fake.webhooks.attempts]
    except ChatFakeError as error:
        return str(error)


def state():
    return [connection.in_atomic_block, connection.get_autocommit(), connection.savepoint_ids]


#: A crash there leaves a block that is not left, or a connection that does not commit by itself.
POINTS = [
    {"before": transaction.Atomic.__exit__},
    {"after": transaction.Atomic.__enter__},
    {"before": BaseDatabaseWrapper.commit},
    {"after": BaseDatabaseWrapper.set_autocommit},
]

if __name__ == "__main__":
    settings.configure(
        ALLOWED_HOSTS=["testserver"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        DEBUG_PROPAGATE_EXCEPTIONS=True,
        ROOT_URLCONF=sys.modules["__main__"],
        SECRET_KEY="test",
    )
    django.setup()
    alone = crash(after=count)
    points = [(crash(**point), state()) for point in POINTS]
    with transaction.atomic():
        shared = crash(after=count)
        transaction.set_rollback(True)
    connection.close()
    json.dump([alone, shared, points], sys.stdout)
