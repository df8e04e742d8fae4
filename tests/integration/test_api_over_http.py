"""The HTTP API over real sockets, and apps that ask it in the middle of an attempt (§4, §5)."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import requests
from flask import Flask, request
from werkzeug.serving import make_server

from pytest_chatfake import ChatFake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 10
INVALID_KEY = b'{"error":{"status":401,"code":"UNAUTHORIZED","message":"INVALID_API_KEY"}}'


def in_time(function: Callable[[], Any]) -> Any:
    """Run the function in a thread, and fail instead of hanging."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert outcome, f"nothing came of it within {SECONDS} s"
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


@pytest.fixture
def fake() -> Iterator[ChatFake]:
    with ChatFake(seed="over http", opening_balance="190.07658", timeout=SECONDS) as fake:
        yield fake


def ask(
    fake: ChatFake, method: str = "GET", path: str = "/v2/balance", **headers: str
) -> tuple[int, bytes, http.client.HTTPMessage]:
    address = urlsplit(fake.base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=SECONDS)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def balance(fake: ChatFake) -> str:
    """What an app sees of the money, digit for digit."""
    answer = requests.get(
        f"{fake.base_url}/v2/balance", headers={"X-API-Key": fake.api_key}, timeout=SECONDS
    )
    answer.raise_for_status()
    return str(json.loads(answer.content, parse_float=Decimal)["amount"])


# -- the balance and the key -----------------------------------------------------------------------


def test_the_base_url_is_on_the_loopback_address(fake: ChatFake) -> None:
    assert fake.base_url.startswith("http://127.0.0.1:")
    assert fake.base_url == fake.base_url


@pytest.mark.parametrize("amount", ["190.07658", "0.30", "1234567890.123456789012345678", "0"])
def test_the_amount_reads_back_digit_for_digit(amount: str) -> None:
    with ChatFake(opening_balance=amount) as fake:
        assert amount == balance(fake)
        status, body, headers = ask(fake, **{"X-API-Key": fake.api_key})
        assert (200, f'{{"amount":{amount},"currency":"USD"}}'.encode()) == (status, body)
        assert "application/json" == headers["Content-Type"]


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-API-Key": ""}, {"X-API-Key": "wrong"}, {"X-API-Key": "schl\xfcssel"}, {"X-Key": "k"}],
    ids=["absent", "empty", "wrong", "not ASCII", "another header"],
)
@pytest.mark.parametrize("path", ["/v2/balance", "/v2/balance?a=1", "/elsewhere"])
def test_any_other_key_is_401(fake: ChatFake, headers: dict[str, str], path: str) -> None:
    status, body, answered = ask(fake, path=path, **headers)

    assert (401, INVALID_KEY) == (status, body)
    assert "application/json" == answered["Content-Type"]


@pytest.mark.parametrize("name", ["X-API-Key", "x-api-key", "X-API-KEY"])
def test_the_headers_name_is_any_case(fake: ChatFake, name: str) -> None:
    assert 200 == ask(fake, **{name: fake.api_key})[0]


def test_other_paths_and_methods_have_the_shape_of_an_error(fake: ChatFake) -> None:
    key = {"X-API-Key": fake.api_key}
    status, body, _ = ask(fake, "GET", "/nowhere", **key)
    assert (404, "NOT_FOUND") == (status, json.loads(body)["error"]["code"])
    status, body, headers = ask(fake, "POST", "/v2/balance", **key)
    assert (405, "METHOD_NOT_ALLOWED") == (status, json.loads(body)["error"]["code"])
    assert "GET, HEAD" == headers["Allow"]


def test_head_has_the_headers_of_get_and_no_body(fake: ChatFake) -> None:
    status, body, headers = ask(fake, "HEAD", **{"X-API-Key": fake.api_key})

    assert (200, b"") == (status, body)
    assert str(len('{"amount":190.07658,"currency":"USD"}')) == headers["Content-Length"]


def test_accounts_share_a_listener_and_are_told_apart_by_key(fake: ChatFake) -> None:
    with ChatFake(opening_balance="7") as other:
        assert fake.base_url == other.base_url
        assert ["190.07658", "7"] == [balance(fake), balance(other)]
        key = other.api_key
    assert 401 == ask(fake, **{"X-API-Key": key})[0]


def test_an_account_that_is_asked_by_many_at_once_answers_all(fake: ChatFake) -> None:
    amounts: list[str] = []

    def client() -> None:
        amounts.extend(balance(fake) for _ in range(10))

    threads = [threading.Thread(target=client, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    fake.send_text().deliver()
    for thread in threads:
        thread.join(SECONDS)

    assert 80 == len(amounts) == len(fake.api.requests)
    assert set(amounts) <= {"190.07658", "190.02658"}


def test_a_rotated_key_counts_at_once_on_a_kept_connection(fake: ChatFake) -> None:
    with requests.Session() as session:
        url, old = f"{fake.base_url}/v2/balance", fake.api_key

        def status(key: str) -> int:
            return session.get(url, headers={"X-API-Key": key}, timeout=SECONDS).status_code

        assert 200 == status(old)
        new = fake.rotate_key()
        assert [401, 200] == [status(old), status(new)]


def test_the_log_knows_what_was_asked_over_the_socket(fake: ChatFake) -> None:
    ask(fake, path="/v2/balance?x=1", **{"X-API-Key": fake.api_key})
    ask(fake)
    ask(fake, "DELETE", "/v2/messages/1", **{"X-API-Key": fake.api_key})

    assert [
        ("GET", "/v2/balance", True, 200),
        ("GET", "/v2/balance", False, 401),
        ("DELETE", "/v2/messages/1", True, 404),
    ] == [(one.method, one.path, one.accepted, one.status) for one in fake.api.requests]
    fake.assert_requested("GET", "/v2/balance", times=2)


# -- the API's bad day -----------------------------------------------------------------------------


def test_a_declared_delay_is_real_seconds_and_holds_up_nobody_else(fake: ChatFake) -> None:
    fake.api.delay(0.5)
    before = time.monotonic()
    slow = threading.Thread(target=balance, args=(fake,), daemon=True)
    slow.start()
    while not fake.api.requests:
        time.sleep(0.001)
    assert "190.07658" == balance(fake)
    assert time.monotonic() - before < 0.5
    slow.join(SECONDS)
    assert time.monotonic() - before >= 0.5


def test_a_disconnection_is_a_connection_error(fake: ChatFake) -> None:
    fake.api.disconnect()
    with pytest.raises(requests.ConnectionError):
        balance(fake)
    assert "190.07658" == balance(fake)


def test_a_truncated_answer_is_an_incomplete_read(fake: ChatFake) -> None:
    fake.api.truncate()
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="IncompleteRead"):
        balance(fake)
    assert "190.07658" == balance(fake)


def test_a_failure_and_a_rate_limit_reach_a_client_with_retries(fake: ChatFake) -> None:
    fake.api.fail(503)
    fake.api.rate_limit(30)
    key = {"X-API-Key": fake.api_key}

    assert 503 == ask(fake, **key)[0]
    status, _, headers = ask(fake, **key)
    assert (429, "30") == (status, headers["Retry-After"])
    fake.clock.advance(30)
    assert 200 == ask(fake, **key)[0]


# -- handlers of pytest-httpserver -----------------------------------------------------------------


def test_http_is_all_of_pytest_httpserver_behind_the_api(fake: ChatFake) -> None:
    fake.http.expect_request("/uploads", method="PUT").respond_with_json({"stored": True})
    fake.http.expect_request("/v2/balance").respond_with_data("never asked")

    assert {"stored": True} == json.loads(ask(fake, "PUT", "/uploads")[1])
    assert "190.07658" == balance(fake)
    assert ["/uploads"] == [one.path for one, _ in fake.http.log]
    fake.http.clear()
    assert 401 == ask(fake, "PUT", "/uploads")[0]


def test_another_fake_leaves_the_handlers_alone(fake: ChatFake) -> None:
    fake.http.expect_request("/own").respond_with_data("still here")
    with ChatFake() as other:
        assert fake.http is other.http

    assert b"still here" == ask(fake, path="/own")[1]
    fake.http.clear()


# -- in the middle of an attempt -------------------------------------------------------------------


@contextmanager
def served(app: Flask, *, threaded: bool) -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, app, threaded=threaded)
    thread = threading.Thread(target=lambda: server.serve_forever(0.01), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(SECONDS)
        server.server_close()


class Shop:
    """An app that reads its balance whenever a webhook comes, and answers the first message."""

    def __init__(self, fake: ChatFake, *, sends: bool) -> None:
        self.seen: list[tuple[str, str, str]] = []
        self.sent: list[int] = []
        self.app = Flask("shop")
        self.fake = fake
        self._sends = sends
        self.app.post("/hooks")(self.hook)

        @fake.route("/v2/messages")
        def send(one: Any) -> dict[str, Any]:
            return {"id": fake.send_text(one.get_json()["text"], to="+2").id}

    def hook(self) -> str:
        message = request.get_json()["chatMessage"]
        self.seen.append((message["text"]["body"], message["status"], balance(self.fake)))
        if self._sends and len(self.seen) == 1:
            answer = requests.post(
                f"{self.fake.base_url}/v2/messages",
                json={"text": "second"},
                headers={"X-API-Key": self.fake.api_key},
                timeout=SECONDS,
            )
            self.sent.append(answer.status_code)
        return ""


@pytest.mark.parametrize("threaded", [True, False], ids=["threaded", "single-threaded"])
def test_the_balance_is_read_in_the_middle_of_an_attempt(fake: ChatFake, threaded: bool) -> None:
    shop = Shop(fake, sends=False)
    with served(shop.app, threaded=threaded) as url:
        fake.webhooks.connect(f"{url}/hooks")
        in_time(lambda: fake.send_text("first", price="0.07658").deliver().read())

    assert [("first", status, "190.00000") for status in ("sent", "delivered", "read")] == shop.seen
    assert all(one.ok for one in fake.webhooks.attempts)


@pytest.mark.parametrize("threaded", [True, False], ids=["threaded", "single-threaded"])
def test_a_message_is_sent_in_the_middle_of_an_attempt_and_comes_in_its_turn(
    fake: ChatFake, threaded: bool
) -> None:
    shop = Shop(fake, sends=True)
    with served(shop.app, threaded=threaded) as url:
        fake.webhooks.connect(f"{url}/hooks")
        in_time(lambda: fake.send_text("first").deliver())

    assert [200] == shop.sent
    assert [
        ("first", "sent", "190.02658"),
        ("second", "sent", "189.97658"),
        ("first", "delivered", "189.97658"),
    ] == shop.seen
    assert [("first", "sent"), ("second", "sent"), ("first", "delivered")] == [
        (event.json()["chatMessage"]["text"]["body"], event.status) for event in fake.events
    ]


def test_in_process_the_app_may_do_both_too(fake: ChatFake) -> None:
    shop = Shop(fake, sends=True)
    fake.webhooks.connect(wsgi=shop.app, path="/hooks")
    in_time(lambda: fake.send_text("first").deliver())

    assert [("first", "sent"), ("second", "sent"), ("first", "delivered")] == [
        seen[:2] for seen in shop.seen
    ]


@pytest.mark.parametrize("threaded", [True, False], ids=["threaded", "single-threaded"])
def test_retries_on_the_way_of_the_clock_call_back_too(fake: ChatFake, threaded: bool) -> None:
    app = Flask("shop")
    seen: list[str] = []

    @app.post("/")
    def hook() -> tuple[str, int]:
        seen.append(balance(fake))
        return "", 500 if len(seen) == 1 else 200

    with served(app, threaded=threaded) as url:
        fake.webhooks.connect(url, retry_after=[60])
        fake.send_text()
        in_time(lambda: fake.clock.advance(days=30))

    assert ["190.02658", "190.02658"] == seen
    fake.assert_held("0")


@pytest.mark.parametrize("first", [True, False], ids=["webhook first", "answer first"])
@pytest.mark.parametrize("threaded", [True, False], ids=["threaded", "single-threaded"])
def test_the_race_of_the_send_call(fake: ChatFake, threaded: bool, first: bool) -> None:
    """An app that answers a visitor by sending a message, and gets its webhook before, or after."""
    order: list[str] = []
    app = Flask("shop")

    @app.post("/hooks")
    def hook() -> str:
        order.append("webhook")
        return ""

    @fake.route("/v2/messages", webhooks_first=first)
    def send(_: Any) -> dict[str, Any]:
        return {"id": fake.send_text().id}

    def call() -> None:
        headers = {"X-API-Key": fake.api_key}
        requests.post(f"{fake.base_url}/v2/messages", headers=headers, timeout=SECONDS)
        order.append("answer")

    with served(app, threaded=threaded) as url:
        fake.webhooks.connect(f"{url}/hooks")
        in_time(call)
        in_time(fake.settle)

    assert (["webhook", "answer"] if first else ["answer", "webhook"]) == order


def test_an_error_of_a_route_over_the_socket_comes_back_in_the_test(fake: ChatFake) -> None:
    @fake.route("/v2/messages")
    def send(_: Any) -> dict[str, Any]:
        raise LookupError("no such campaign")

    assert 500 == ask(fake, "POST", "/v2/messages", **{"X-API-Key": fake.api_key})[0]
    with pytest.raises(LookupError, match="no such campaign"):
        fake.settle()
