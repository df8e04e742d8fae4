import urllib.request

import pytest
from werkzeug.test import Client


def wsgi(environ, start_response):
    start_response("204 No Content", [])
    return []


async def asgi(scope, receive, send):
    await send({"type": "http.response.start", "status": 204})
    await send({"type": "http.response.body"})


def test_wsgi(chat_fake):
    chat_fake.webhooks.connect(wsgi=wsgi)
    chat_fake.send_text().deliver()


def test_asgi(chat_fake):
    chat_fake.webhooks.connect(asgi=asgi)
    chat_fake.send_text().deliver()


@pytest.mark.asyncio
async def test_asgi_in_the_loop_of_the_test(chat_fake):
    chat_fake.webhooks.connect(asgi=asgi)
    await chat_fake.send_text().deliver()


def test_the_api_without_a_socket(chat_fake):
    key = {"X-API-Key": chat_fake.api_key}
    assert Client(chat_fake.wsgi_app).get("/v2/balance", headers=key).status_code == 200


def test_the_api_over_a_socket(chat_fake):
    key = {"X-API-Key": chat_fake.api_key}
    url = f"{chat_fake.base_url}/v2/balance"
    urllib.request.urlopen(urllib.request.Request(url, headers=key), timeout=60)
