import logging

import pytest
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.urls import path
from flask import Flask


def hook(*args):
    raise LookupError("no such " + "message")


async def hook_async(request):
    hook()


def take(request):
    try:
        hook()
    except LookupError:
        logging.getLogger("shop.hooks").exception("can't take it")
        return 500


urlpatterns = [path("sync", hook), path("async", hook_async)]
settings.configure(SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["testserver"])

flask = Flask("shop")
flask.post("/hooks")(hook)

WAYS = {
    "flask": lambda: {"wsgi": flask, "path": "/hooks"},
    "django": lambda: {"wsgi": get_wsgi_application(), "path": "/sync"},
    "django-asgi": lambda: {"asgi": get_asgi_application(), "path": "/async"},
    "function": lambda: {"handler": take},
}


@pytest.mark.parametrize("way", WAYS)
def test_sync(chat_fake, way):
    chat_fake.webhooks.connect(**WAYS[way]())
    chat_fake.send_text()
    assert not way


@pytest.mark.asyncio
@pytest.mark.parametrize("way", WAYS)
async def test_async(chat_fake, way):
    chat_fake.webhooks.connect(**WAYS[way]())
    await chat_fake.send_text()
    assert not way
