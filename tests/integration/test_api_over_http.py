"""The HTTP API over real sockets (§4, §5)."""

from __future__ import annotations

import threading
from contextlib import closing
from http.client import HTTPConnection

import pytest
import requests
from werkzeug.test import Client

from pytest_chatfake import ChatFake

from .api_support import SECONDS, balance
from .listener_support import RawClient


@pytest.fixture
def fake():
    with ChatFake(seed="over http", opening_balance="190.07658", timeout=SECONDS) as fake:
        yield fake


def test_an_account_that_is_asked_by_many_at_once_answers_all(fake):
    amounts = []

    def client():
        amounts.extend(balance(fake) for _ in range(10))

    threads = [threading.Thread(target=client, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    fake.send_text().deliver()
    for thread in threads:
        thread.join(SECONDS)

    assert 80 == len(amounts) == len(fake.api.requests)
    assert set(amounts) <= {"190.07658", "190.02658"}


@pytest.mark.parametrize("path", ["/v2/balance", "/v2/messages"])
@pytest.mark.parametrize("key", [None, "wrong"])
def test_a_request_knows_whether_it_came_over_a_socket(fake, path, key):
    key = key or fake.api_key
    with requests.Session() as session:
        session.get(f"{fake.base_url}{path}", headers={"X-API-Key": key}, timeout=SECONDS)
    Client(fake.wsgi_app).get(path, headers={"X-API-Key": key})

    assert [False, True] == [one.in_process for one in fake.api.requests]


@pytest.mark.parametrize(
    ("shown", "status"),
    [(" \t{} \t", 200), ("{},{}", 401), ("{} {}", 401), ('"{}"', 401), ("{}\x0b", 401)],
)
def test_only_spaces_around_the_key_do_not_matter(fake, shown, status):
    key = shown.format(fake.api_key, fake.api_key)
    with RawClient(fake.http) as client:
        response = client.ask(b"GET /v2/balance HTTP/1.1\r\nX-API-Key:%b\r\n\r\n" % key.encode())

    assert status == response.status


@pytest.mark.parametrize("path", ["/v2/messages", "/own"])
def test_a_response_is_lost_after_the_request_was_carried_out(fake, path):
    fake.send_endpoint()
    fake.http.expect_request("/own").respond_with_json({})
    fault = fake.api.lose_response(path=path)
    payload = {"to": "+1", "type": "text", "text": {"body": "Sale"}}
    with requests.Session() as session:
        session.headers["X-API-Key"] = fake.api_key
        assert session.get(f"{fake.base_url}/v2/balance", timeout=SECONDS).ok
        with pytest.raises(requests.exceptions.ConnectionError, match="without response"):
            session.post(f"{fake.base_url}{path}", json=payload, timeout=SECONDS)
        assert session.get(f"{fake.base_url}/v2/balance", timeout=SECONDS).ok

    assert [200, None, 200] == [one.status for one in fake.api.requests]
    assert (1, path == "/v2/messages") == (fault.fired, len(fake.messages) == 1)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "//v2/balance"),
        ("GET", "///v2/balance"),
        ("GET", "/v2//balance"),
        ("GET", "/v2/balance/"),
        ("GET", "/V2/balance"),
        ("POST", "//v2/messages"),
        ("GET", "//v2/messages"),
        ("POST", "/v2//messages"),
    ],
)
def test_a_path_that_is_nearly_right_is_wrong(fake, method, path):
    fake.send_endpoint()
    with closing(HTTPConnection(fake.http.host, fake.http.port, timeout=SECONDS)) as connection:
        connection.request(method, path, headers={"X-API-Key": fake.api_key})

        assert 404 == connection.getresponse().status
