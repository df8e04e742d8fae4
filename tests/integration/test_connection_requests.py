"""Requests over a socket: bodies, persistence, slow and broken clients."""

# Asserts read `expected == actual`.

from __future__ import annotations

import json
import socket
import ssl
from typing import TYPE_CHECKING

import pytest

from pytest_chatfake.transport.server import requests as reading
from pytest_chatfake.transport.server.replies import Reply

from .listener_support import (
    BALANCE,
    QUERY,
    SECONDS,
    FakeApi,
    RawClient,
    eventually,
)

if TYPE_CHECKING:
    from pytest_chatfake.transport.server.listener import Listener

POST = b"POST /echo HTTP/1.1\r\nHost: test\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def api() -> FakeApi:
    api = FakeApi()
    api.answers["/echo"] = lambda request: Reply(200, request.get_data())
    api.answers["/ignore"] = Reply(200, b"ignored")
    return api


BODIES = {
    "none": (POST + b"\r\n", b""),
    "with a length": (POST + b"Content-Length: 5\r\n\r\nhello", b"hello"),
    "with its length twice": (
        POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        b"hello",
    ),
    "one chunk": (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
    "no chunk": (CHUNKED + b"0\r\n\r\n", b""),
    "chunks": (CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", b"hello"),
    "chunks with upper-case sizes": (CHUNKED + b"0A\r\n0123456789\r\n00\r\n\r\n", b"0123456789"),
    "chunks with extensions": (CHUNKED + b'5;a="b"\r\nhello\r\n0;c\r\n\r\n', b"hello"),
    "chunks with trailers": (CHUNKED + b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", b"hello"),
    "chunks with line ends": (CHUNKED + b"4\r\n\r\n\r\n\r\n0\r\n\r\n", b"\r\n\r\n"),
    "with zero bytes and high bytes": (
        POST + b"Content-Length: 3\r\n\r\n\x00\xff\n",
        b"\x00\xff\n",
    ),
}


@pytest.mark.parametrize(("request_", "body"), BODIES.values(), ids=BODIES)
def test_a_body_is_read_to_its_end_and_no_further(
    client: RawClient, request_: bytes, body: bytes
) -> None:
    client.send(request_ + QUERY + request_ + QUERY)

    assert [body, BALANCE] * 2 == [client.receive().body for _ in range(4)]


@pytest.mark.parametrize(("request_", "body"), BODIES.values(), ids=BODIES)
def test_a_body_that_arrives_byte_by_byte_is_the_same(
    client: RawClient, request_: bytes, body: bytes
) -> None:
    for byte in request_:
        client.send(bytes([byte]))

    assert body == client.receive().body


@pytest.mark.parametrize(
    "request_",
    [
        b"POST /ignore HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000,
        b"POST /ignore HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        + (b"10000\r\n" + b"x" * 65_536 + b"\r\n") * 3
        + b"0\r\n\r\n",
    ],
    ids=["length", "chunks"],
)
def test_a_body_that_nobody_reads_does_not_disturb_the_next_request(
    client: RawClient, request_: bytes
) -> None:
    client.send(request_ + QUERY)

    assert [b"ignored", BALANCE] == [client.receive().body, client.receive().body]


def test_a_big_body_arrives_whole(client: RawClient) -> None:
    body = bytes(range(256)) * 40_000

    answer = client.ask(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    assert body == answer.body


def test_a_form_is_readable_by_werkzeug(client: RawClient, api: FakeApi) -> None:
    api.answers["/form"] = lambda request: Reply(200, request.form["a"].encode())
    form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\na=1+2"

    assert b"1 2" == client.ask(b"POST /form HTTP/1.1\r\n" + form).body


def test_what_was_sent_reaches_the_api_unchanged(client: RawClient, api: FakeApi) -> None:
    client.ask(
        b"PATCH /echo/caf%C3%A9?q=%26 HTTP/1.1\r\nHost: shop.test\r\n"
        b"x-mixed-CASE:  a b \r\nX-Twice: 1\r\nX-Twice: 2\r\nX-API-Key: cl\xe9\r\n\r\n"
    )

    (request,) = api.dispatched
    assert ("PATCH", "/echo/café", "&") == (request.method, request.path, request.args["q"])
    assert "shop.test" == request.host
    assert "a b" == request.headers["X-Mixed-Case"]
    assert "1,2" == request.headers["X-Twice"]
    assert "clé" == request.headers["X-API-Key"]
    assert "/echo/caf%C3%A9?q=%26" == request.environ["RAW_URI"]


@pytest.mark.parametrize(
    "body", [b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"], ids=["length", "chunks"]
)
def test_a_client_that_expects_100_continue_gets_it_before_its_body(
    client: RawClient, body: bytes
) -> None:
    interim = client.ask(POST + b"Expect: 100-Continue\r\n" + body + b"\r\n")
    final = client.ask(b"5\r\nhello\r\n0\r\n\r\n" if b"chunked" in body else b"hello")

    assert (100, 200) == (interim.status, final.status)
    assert b"hello" == final.body
    assert BALANCE == client.ask(QUERY).body


def test_without_a_body_there_is_nothing_to_continue(client: RawClient) -> None:
    assert 200 == client.ask(POST + b"Expect: 100-continue\r\n\r\n").status


def test_http_1_0_knows_no_100_continue(client: RawClient) -> None:
    head = POST.replace(b"1.1", b"1.0") + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"

    assert 200 == client.ask(head + b"hello").status


def test_the_coding_may_have_spaces_around_it_and_any_case(client: RawClient) -> None:
    head = POST + b"Transfer-Encoding: \t CHUNKED \t\r\n\r\n"

    assert b"hello" == client.ask(head + b"5\r\nhello\r\n0\r\n\r\n").body


def test_a_refused_request_is_not_continued(client: RawClient) -> None:
    answer = client.ask(POST + b"Expect: 100-continue\r\nContent-Length: many\r\n\r\n")

    assert 400 == answer.status


PERSISTENCE = {
    "HTTP/1.1": (b"1.1", b"", True),
    "HTTP/1.1 keep-alive": (b"1.1", b"Connection: keep-alive\r\n", True),
    "HTTP/1.1 close": (b"1.1", b"Connection: close\r\n", False),
    "HTTP/1.1 close among others": (b"1.1", b"Connection: TE, CLOSE\r\n", False),
    "HTTP/1.1 close in a second header": (
        b"1.1",
        b"Connection: TE\r\nConnection: close\r\n",
        False,
    ),
    "HTTP/1.0": (b"1.0", b"", False),
    "HTTP/1.0 keep-alive": (b"1.0", b"Connection: Keep-Alive\r\n", True),
}


@pytest.mark.parametrize("path", [b"/v2/balance", b"/echo"])
@pytest.mark.parametrize(("version", "field", "stays"), PERSISTENCE.values(), ids=PERSISTENCE)
def test_the_connection_stays_open_as_agreed(
    client: RawClient, version: bytes, field: bytes, stays: bool, path: bytes
) -> None:
    answer = client.ask(b"GET %b HTTP/%b\r\n%b\r\n" % (path, version, field))

    assert 200 == answer.status
    if stays:
        assert (b"1.0" in version) == ("keep-alive" == answer.headers.get("connection"))
        assert BALANCE == client.ask(QUERY).body
    else:
        assert "close" == answer.headers["connection"]
        assert client.hung_up()


CODED = POST + b"Transfer-Encoding: %b\r\n\r\n0\r\n\r\n"
NOT_IMPLEMENTED = (501, "NOT_IMPLEMENTED")
UNEXPECTED = (417, "EXPECTATION_FAILED")
LENGTH = b"Content-Length: %b\r\n\r\nhello"
REFUSED = {
    "garbage": (b"hello\r\n", 400, "BAD_REQUEST"),
    "HTTP/0.9": (b"GET /v2/balance\r\n", 400, "BAD_REQUEST"),
    "binary": (b"\x01\x02\xff\r\n", 400, "BAD_REQUEST"),
    "TLS": (b"\x16\x03\x01\x02", 400, "BAD_REQUEST"),
    "two spaces": (b"GET  /v2/balance HTTP/1.1\r\n", 400, "BAD_REQUEST"),
    "a space in the target": (b"GET /v2/balance x HTTP/1.1\r\n", 400, "BAD_REQUEST"),
    "a bad version": (b"GET /v2/balance HTTP/one\r\n", 400, "BAD_REQUEST"),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP_VERSION_NOT_SUPPORTED"),
    "a bad target": (b"GET http://[bad/ HTTP/1.1\r\n\r\n", 400, "BAD_REQUEST"),
    "a long request line": (b"GET /" + b"x" * 70_000, 414, "URI_TOO_LONG"),
    "a header without a colon": (POST + b"garbage\r\n\r\n", 400, "BAD_REQUEST"),
    "a header without a name": (POST + b": x\r\n\r\n", 400, "BAD_REQUEST"),
    "a space before the colon": (POST + b"Content-Length : 5\r\n\r\n", 400, "BAD_REQUEST"),
    "a folded header": (POST + b"X-A: 1\r\n Content-Length: 5\r\n\r\n", 400, "BAD_REQUEST"),
    "a bare carriage return": (POST + b"X-A: 1\rX-B: 2\r\n\r\n", 400, "BAD_REQUEST"),
    "a zero byte": (POST + b"X-A: \0\r\n\r\n", 400, "BAD_REQUEST"),
    "a long header": (
        POST + b"X-A: " + b"x" * 70_000,
        431,
        "REQUEST_HEADER_FIELDS_TOO_LARGE",
    ),
    "many headers": (
        POST + b"X-A: 1\r\n" * 101 + b"\r\n",
        431,
        "REQUEST_HEADER_FIELDS_TOO_LARGE",
    ),
    "two lengths": (POST + b"Content-Length: 6\r\n" + LENGTH % b"5", 400, "BAD_REQUEST"),
    "a list of lengths": (POST + LENGTH % b"5, 5", 400, "BAD_REQUEST"),
    "a negative length": (POST + LENGTH % b"-5", 400, "BAD_REQUEST"),
    "a signed length": (POST + LENGTH % b"+5", 400, "BAD_REQUEST"),
    "a length with an underscore": (POST + LENGTH % b"5_0", 400, "BAD_REQUEST"),
    "a length in other digits": (POST + LENGTH % b"\xb2", 400, "BAD_REQUEST"),
    "an empty length": (POST + LENGTH % b"", 400, "BAD_REQUEST"),
    "a length of 5000 digits": (POST + LENGTH % (b"9" * 5000), 400, "BAD_REQUEST"),
    "a length and chunks": (CHUNKED[:-2] + LENGTH % b"5", 400, "BAD_REQUEST"),
    "a lower-case method": (b"post /echo HTTP/1.1\r\n\r\n", *NOT_IMPLEMENTED),
    "a method in mixed case": (b"Get /v2/balance HTTP/1.1\r\n\r\n", *NOT_IMPLEMENTED),
    "two hosts": (POST + b"host: other\r\n\r\n", 400, "BAD_REQUEST"),
    "the same host twice": (QUERY[:-2] + b"Host: test\r\n\r\n", 400, "BAD_REQUEST"),
    "another expectation": (POST + b"Expect: 200-ok\r\n\r\n", *UNEXPECTED),
    "two expectations": (POST + b"Expect: 100-continue, 200-ok\r\n\r\n", *UNEXPECTED),
    "an expectation in a second header": (
        POST + b"Expect: 100-continue\r\nExpect: 200-ok\r\n\r\n",
        *UNEXPECTED,
    ),
    "another transfer coding": (CODED % b"gzip, chunked", *NOT_IMPLEMENTED),
    "no transfer coding": (CODED % b"", *NOT_IMPLEMENTED),
    "a transfer coding behind a space that is none": (CODED % b"\xa0chunked", *NOT_IMPLEMENTED),
    "a transfer coding after a control character": (CODED % b"\x0bchunked", 400, "BAD_REQUEST"),
    "a transfer coding before a control character": (CODED % b"chunked\x1f", 400, "BAD_REQUEST"),
    "a transfer coding around a control character": (CODED % b"chun\x7fked", 400, "BAD_REQUEST"),
    "a body beyond the limit": (
        POST + b"Content-Length: 99999999999\r\n\r\n",
        413,
        "CONTENT_TOO_LARGE",
    ),
    "a chunk beyond the limit": (CHUNKED + b"FFFFFFFFFF\r\n", 413, "CONTENT_TOO_LARGE"),
    "a chunk without a size": (CHUNKED + b"hello\r\n", 400, "BAD_REQUEST"),
    "a chunk with a negative size": (CHUNKED + b"-5\r\nhello\r\n", 400, "BAD_REQUEST"),
    "a chunk longer than it says": (CHUNKED + b"3\r\nhello\r\n", 400, "BAD_REQUEST"),
    "an endless chunk size": (CHUNKED + b"0" * 70_000, 400, "BAD_REQUEST"),
    "a malformed trailer": (CHUNKED + b"0\r\nX-Sum 1\r\n\r\n", 400, "BAD_REQUEST"),
}


@pytest.mark.parametrize("before", [b"", QUERY, POST + b"\r\n"], ids=["first", "query", "post"])
@pytest.mark.parametrize(("request_", "status", "code"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_request_is_refused_with_an_error_body_and_the_connection_closed(
    client: RawClient, api: FakeApi, request_: bytes, status: int, code: str, before: bytes
) -> None:
    if before:
        assert 200 == client.ask(before).status
    seen = len(api.dispatched)

    answer = client.ask(request_)

    error = json.loads(answer.body)["error"]
    assert {"status": status, "code": code, "message": error["message"]} == error
    assert "" != error["message"]
    assert ("close", "application/json") == (
        answer.headers["connection"],
        answer.headers["content-type"],
    )
    client.socket.shutdown(socket.SHUT_WR)
    assert client.hung_up()
    assert seen == len(api.dispatched)


def test_exactly_100_headers_are_accepted(client: RawClient) -> None:
    assert 200 == client.ask(POST.replace(b"Host: test\r\n", b"X-A: 1\r\n" * 100) + b"\r\n").status


def test_a_request_smuggled_behind_a_refused_one_is_not_answered(
    client: RawClient, api: FakeApi
) -> None:
    client.send(POST + b"Content-Length: 4\r\nContent-Length: 0\r\n\r\n" + QUERY)

    assert 400 == client.receive().status
    assert client.hung_up()
    assert [] == api.queries


def test_a_client_still_sending_gets_the_refusal_and_no_reset(
    client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_BODY", 1000)
    client.send(POST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 500_000)
    client.send(b"x" * 500_000)

    assert 413 == client.receive().status
    assert client.hung_up()


def test_chunks_count_together_towards_the_limit(
    client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_BODY", 10)

    assert 200 == client.ask(CHUNKED + b"5\r\nhello\r\n" * 2 + b"0\r\n\r\n").status
    assert 413 == client.ask(CHUNKED + b"5\r\nhello\r\n" * 2 + b"1\r\nx\r\n0\r\n\r\n").status


@pytest.mark.parametrize(
    "half",
    [
        b"G",
        QUERY[:-1],
        QUERY[:20],
        POST,
        POST + b"Content-Length: 5\r\n\r\nhell",
        CHUNKED,
        CHUNKED + b"5",
        CHUNKED + b"5\r\nhel",
        CHUNKED + b"5\r\nhello",
        CHUNKED + b"5\r\nhello\r\n0\r\n",
    ],
)
@pytest.mark.parametrize("reset", [False, True], ids=["finished", "reset"])
def test_a_request_that_never_was_complete_reaches_nobody(
    listener: Listener, api: FakeApi, half: bytes, reset: bool
) -> None:
    with RawClient(listener) as client:
        client.send(half)
        assert eventually(lambda: 1 == len(listener.connections))
        if reset:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        else:
            client.socket.shutdown(socket.SHUT_WR)
            assert client.hung_up()

    assert eventually(lambda: 0 == len(listener.connections))
    assert ([], []) == (api.queries, api.dispatched)
    listener.check()


def test_tls_is_refused_instead_of_waited_for(listener: Listener) -> None:
    context = ssl.create_default_context()
    with (
        socket.create_connection((listener.host, listener.port), timeout=SECONDS) as client,
        pytest.raises(ssl.SSLError),
    ):
        context.wrap_socket(client, server_hostname="localhost")


def test_nothing_is_logged_or_printed(
    client: RawClient, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(0):
        client.send(QUERY + POST + b"\r\n" + b"garbage\r\n")
        assert [200, 200, 400] == [client.receive().status for _ in range(3)]
        assert client.hung_up()

    assert [] == caplog.records
    assert ("", "") == capfd.readouterr()
