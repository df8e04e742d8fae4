"""A Django app that crashes inside a transaction, run in a process of its own for its settings.

Prints, as JSON, what came of its attempts: alone, and inside a transaction of the test.
"""

import json
import sys

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
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


def crash():
    try:
        with ChatFake() as fake:
            fake.webhooks.connect(wsgi=get_wsgi_application(), path="/save")
            fake.webhooks.crash(after=count)
            fake.send_text()
            fake.settle()
            return [one.status_code for one in fake.webhooks.attempts]
    except ChatFakeError as error:
        return str(error)


if __name__ == "__main__":
    settings.configure(
        ALLOWED_HOSTS=["testserver"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        DEBUG_PROPAGATE_EXCEPTIONS=True,
        ROOT_URLCONF=sys.modules["__main__"],
        SECRET_KEY="test",
    )
    django.setup()
    alone = crash()
    with transaction.atomic():
        shared = crash()
        transaction.set_rollback(True)
    connection.close()
    json.dump([alone, shared], sys.stdout)
