"""The HTTP API over real sockets (§4, §5)."""

import pytest
import requests
from werkzeug.test import Client

from .api_support import SECONDS
from .listener_support import RawClient


@pytest.mark.parametrize("path", ["/v2/balance", "/v2/messages"])
@pytest.mark.parametrize("key", [None, "wrong"])
def test_a_request_knows_whether_it_came_over_a_socket(fake, path, key):
    key = key or fake.api_key
    with requests.Session() as session:
        session.get(f"{fake.base_url}{path}", headers={"X-API-Key": key}, timeout=SECONDS)
    Client(fake.wsgi_app).get(path, headers={"X-API-Key": key})

    assert [one.in_process for one in fake.api.requests] == [False, True]


@pytest.mark.parametrize(
    ("shown", "status"),
    [(" \t{} \t", 200), ("{},{}", 401), ("{} {}", 401), ('"{}"', 401), ("{}\x0b", 401)],
)
def test_only_spaces_around_the_key_do_not_matter(fake, shown, status):
    key = shown.format(fake.api_key, fake.api_key)
    with RawClient(fake.http) as client:
        response = client.ask(b"GET /v2/balance HTTP/1.1\r\nX-API-Key:%b\r\n\r\n" % key.encode())

    assert status == response.status


@pytest.mark.parametrize(
    "path",
    ["//v2/balance", "///v2/balance", "/v2//balance", "/v2/balance/", "/V2/balance"],
)
def test_a_path_that_is_nearly_right_is_wrong(fake, path):
    head = f"GET {path} HTTP/1.1\r\nX-API-Key: {fake.api_key}\r\n\r\n"
    with RawClient(fake.http) as client:
        assert client.ask(head.encode()).status == 404
