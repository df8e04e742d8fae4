"""A 500 of an app in process names the exception that the app, or its framework, has logged."""

import re

from ..forked_pytest import run_pytest

APPS = """
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
        "flask": lambda: dict(wsgi=flask, path="/hooks"),
        "django": lambda: dict(wsgi=get_wsgi_application(), path="/sync"),
        "django-asgi": lambda: dict(asgi=get_asgi_application(), path="/async"),
        "function": lambda: dict(handler=take),
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
"""


def test_a_500_names_the_exception_and_the_line_that_the_app_logged(pytester):
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(test_it=APPS)
    result = run_pytest(pytester.path, "-p", "no:cacheprovider", "--show-capture=no")

    line = APPS[: APPS.index("raise Lookup")].count("\n")
    said = r"500 \(the app logged LookupError: no such message at test_it\.py:(\d+)\)"
    looked = re.findall(
        rf"^  #4 (attempt) sent m1 -> .*: {said}", result.stdout.str(), re.MULTILINE
    )
    assert [str(line)] * 8 == looked
