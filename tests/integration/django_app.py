"""A Django project in one file, run in a process of its own: settings are for a whole process.

Prints, as JSON, what the attempts of `test_django_targets.py` found.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from types import SimpleNamespace

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, connection, transaction
from django.http import JsonResponse
from django.urls import path

from pytest_chatfake import ChatFake
from pytest_chatfake.transport.client.asgi import AsgiTarget
from pytest_chatfake.transport.client.lifespan import Lifespan
from pytest_chatfake.transport.client.portal import Portal
from pytest_chatfake.transport.client.wsgi import WsgiTarget

threads = []
connections = []
both = asyncio.Barrier(2)


def rows():
    with connection.cursor() as cursor:
        return cursor.execute("SELECT id FROM event ORDER BY id").fetchall()


def record(request):
    threads.append(threading.get_ident())
    connections.append(connection._connections[connection._alias])
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO event VALUES (%s)", [json.loads(request.body)["id"]])
    transaction.on_commit(lambda: None)
    return JsonResponse({"in_atomic_block": connection.in_atomic_block, "rows": len(rows())})


async def record_async(request):
    await asyncio.sleep(0)
    return await sync_to_async(record)(request)


async def record_together(request):
    await both.wait()  # until the other attempt is here
    return await record_async(request)


def fail(request):
    raise LookupError("no such message")


views = {
    "record": record,
    "record-async": record_async,
    "record-together": record_together,
    "fail": fail,
}
urlpatterns = [path(*route) for route in views.items()]


def attempts(target_path, *, portal, wsgi=False, inside_a_loop=False):
    """Two attempts inside a transaction that is rolled back; what they responded with and left."""
    if wsgi:
        target = WsgiTarget(get_wsgi_application(), path=target_path)
    else:
        target = AsgiTarget(get_asgi_application(), path=target_path, portal=portal)

    def make():
        responses = [
            target.attempt(SimpleNamespace(body=b'{"id": %d}' % number, headers={}))
            for number in range(2)
        ]
        return [[response.status, response.body.decode()] for response in responses]

    async def make_inside():
        return make()

    found = left_by(lambda: asyncio.run(make_inside()) if inside_a_loop else make())
    target.close()
    return found


def attempts_together():
    """Two attempts at the same time as those at another app, of a fake in sync mode."""

    async def beside(_):
        """Needs no Django."""

    def make():
        with ChatFake(outbound=lambda event: {"id": int(event["id"][-8:], 16)}) as fake:
            fake.webhooks.connect(handler=beside)
            endpoint = fake.webhooks.connect(asgi=get_asgi_application(), path="/record-together")
            with fake.webhooks.concurrently():
                fake.send_text().deliver()
            made = [one for one in fake.webhooks.attempts if one.endpoint is endpoint]
            # The one that came last goes on first.
            return sorted([one.status_code, one.body.decode()] for one in made)

    return left_by(make)


def left_by(make):
    """Make attempts inside a transaction that is rolled back; what they responded with and left."""
    threads.clear()
    with transaction.atomic():
        responses = make()
        inside = len(rows())
        transaction.set_rollback(True)
    return {
        "responses": responses,
        "rows inside": inside,
        "rows after": len(rows()),
        "in this thread": set(threads) <= {threading.get_ident()},
    }


def attempt_in_asyncio():
    """One attempt from a coroutine, outside any transaction: Django has a thread to itself."""
    target = WsgiTarget(get_wsgi_application(), path="/record")
    request = SimpleNamespace(body=b'{"id": 7}', headers={})
    response = asyncio.run(target.attempt_async(request))
    target.close()
    return {
        "response": response.body.decode(),
        "rows after": len(rows()),
        "connection closed": connections[-1].connection is None,
    }


def main():
    settings.configure(
        ALLOWED_HOSTS=["testserver"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}},
        DEBUG_PROPAGATE_EXCEPTIONS=True,
        ROOT_URLCONF=sys.modules["__main__"],
        SECRET_KEY="test",
    )
    django.setup()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE event (id INTEGER PRIMARY KEY)")
    portal = Portal()
    found = {
        "wsgi": attempts("/record", portal=portal, wsgi=True),
        "sync view": attempts("/record", portal=portal),
        "async view": attempts("/record-async", portal=portal),
        "inside a loop": attempts("/record-async", portal=portal, inside_a_loop=True),
        "at the same time": attempts_together(),
    }
    try:
        attempts("/fail", portal=portal, wsgi=True)
    except LookupError as error:
        found["error"] = str(error)
    found["asyncio"] = attempt_in_asyncio()
    found["signals"] = [
        signal.disconnect(close_old_connections) for signal in (request_started, request_finished)
    ]
    with Lifespan(get_asgi_application(), portal=portal):
        found["lifespan"] = "left alone"
    portal.close()
    connection.close()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
