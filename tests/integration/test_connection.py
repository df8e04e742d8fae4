"""One connection, byte by byte: requests, responses, and what ends it."""

import socket
from unittest.mock import Mock

import pytest
import requests
import time_machine
from werkzeug import Response

from pytest_chatfake.transport.server.replies import Reply

from .listener_support import BALANCE, QUERY, SECONDS, RawClient, eventually

POST = b"POST /echo HTTP/1.1\r\nHost: test\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
GET = b"GET /response HTTP/1.1\r\n\r\n"
HEAD = b"HEAD /response HTTP/1.1\r\n\r\n"


@pytest.fixture
def api(api):
    api.responses["/echo"] = lambda request: Reply(200, request.get_data())
    return api


@pytest.fixture
def respond(api, client):
    """Lay down a reply, and ask for it."""

    def respond(reply):
        api.responses["/response"] = reply
        return client.ask(GET)

    return respond


# Requests

BODIES = {
    "none": (POST + b"\r\n", b""),
    "length": (POST + b"Content-Length: 5\r\n\r\nhello", b"hello"),
    "no chunk": (CHUNKED + b"0\r\n\r\n", b""),
    "chunks": (CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", b"hello"),
    "line ends": (CHUNKED + b"4\r\n\r\n\r\n\r\n0\r\n\r\n", b"\r\n\r\n"),
    "a chunk extension": (CHUNKED + b'5;a="b" ; c\r\nhello\r\n000 ;d\r\n\r\n', b"hello"),
    "a long chunk extension": (
        CHUNKED + b"5;a=%b\r\nhello\r\n0\r\n\r\n" % (b"b" * 200),
        b"hello",
    ),
    "trailers": (CHUNKED + b"5\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n", b"hello"),
    "a chunk size in hex": (CHUNKED + b"0A\r\nhellohello\r\n0\r\n\r\n", b"hellohello"),
    "any bytes": (POST + b"Content-Length: 3\r\n\r\n\x00\xff\n", b"\x00\xff\n"),
    "parts": (
        POST + b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 5\r\n\r\nhello",
        b"hello",
    ),
}


@pytest.mark.parametrize(("request_", "body"), BODIES.values(), ids=BODIES)
def test_a_body_is_read_to_its_end_and_no_further(client, request_, body):
    client.send(request_ + QUERY + request_ + QUERY)
    assert [body, BALANCE] * 2 == [client.receive().body for _ in range(4)]

    for byte in request_:
        client.send(bytes([byte]))
    assert body == client.receive().body


def test_a_big_body_that_nobody_reads_does_not_stop_the_next_request(client, api):
    api.responses["/echo"] = Reply(200, b"ignored")
    client.send(POST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1_000_000 + QUERY)

    assert [client.receive().body, client.receive().body] == [b"ignored", BALANCE]


def test_what_was_sent_reaches_the_api_unchanged(client, api):
    client.ask(
        b"PATCH /echo/caf%C3%A9?q=%26 HTTP/1.1\r\nHost: shop.test\r\n"
        b"x-mixed-CASE:  a b\r\nX-Twice: 1\r\nX-Twice: 2\r\nX-API-Key: cl\xe9\r\n\r\n"
    )

    (request,) = api.requests
    assert (request.method, request.path, request.args["q"]) == ("PATCH", "/echo/café", "&")
    assert request.host == "shop.test"
    assert request.headers["X-Mixed-Case"] == "a b"
    assert request.headers["X-Twice"] == "1,2"
    assert request.headers["X-API-Key"] == "clé"
    assert request.environ["RAW_URI"] == "/echo/caf%C3%A9?q=%26"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_expects_100_continue_gets_it_before_its_body(client, chunked):
    head = b"Transfer-Encoding: chunked\r\n" if chunked else b"Content-Length: 5\r\n"
    interim = client.ask(POST + b"Expect: 100-Continue\r\n" + head + b"\r\n")
    final = client.ask(b"5\r\nhello\r\n0\r\n\r\n" if chunked else b"hello")

    assert (interim.status, final.status, final.body) == (100, 200, b"hello")
    assert client.ask(QUERY).body == BALANCE


def test_a_client_of_http_1_0_expects_nothing(client):
    head = POST.replace(b"1.1", b"1.0") + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"
    response = client.ask(head + b"hello")

    assert (response.status, response.body) == (200, b"hello")


@pytest.mark.parametrize(
    ("version", "field", "stays"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Connection: keep-alive\r\n", True),
        (b"1.1", b"Connection: CLOSE\r\n", False),
        (b"1.0", b"", False),
    ],
)
def test_the_connection_stays_open_as_agreed(client, version, field, stays):
    response = client.ask(b"GET /v2/balance HTTP/%b\r\n%b\r\n" % (version, field))

    assert response.status == 200
    assert stays is ("connection" not in response.headers)
    assert client.ask(QUERY).body == BALANCE if stays else client.hung_up()


@pytest.mark.parametrize(
    "half",
    [
        QUERY[:20],
        QUERY[:-1],
        POST,
        POST + b"Content-Length: 5\r\n\r\nhell",
        CHUNKED + b"5",
        CHUNKED + b"5\r\nhel",
        CHUNKED + b"5\r\nhello",
        CHUNKED + b"5\r\nhello\r\n0\r\n",
    ],
)
@pytest.mark.parametrize("reset", [False, True], ids=["finished", "reset"])
def test_a_request_that_never_was_complete_reaches_nobody(listener, api, half, reset):
    with RawClient(listener) as client:
        client.send(half)
        assert eventually(lambda: len(listener.connections) == 1)
        if reset:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        else:
            client.socket.shutdown(socket.SHUT_WR)
            assert client.hung_up()

    assert eventually(lambda: len(listener.connections) == 0)
    assert api.requests == []
    listener.check()


def test_a_client_that_speaks_tls_unasked_is_hung_up_on(client):
    client.send(b"\x16\x03\x01\x02\0\x01")  # the beginning of a hello

    assert client.hung_up()


def test_nothing_is_logged_or_printed(client, caplog, capfd):
    with caplog.at_level(0):
        client.send(QUERY + POST + b"\r\n" + b"garbage\r\n")
        assert [client.receive().status for _ in range(3)] == [200, 200, 400]
        assert client.hung_up()

    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


# Responses


def test_a_reply_is_written_as_it_is(respond):
    response = respond(Reply(429, b"slow\n", (("Retry-After", "30"),), content_type="text/plain"))

    assert response.head == (
        b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n"
        b"Retry-After: 30\r\n\r\n"
    )
    assert response.body == b"slow\n"
    assert respond(Reply(599, b"")).head.startswith(b"HTTP/1.1 599 \r\n")


@pytest.mark.parametrize("status", [204, 304])
@pytest.mark.parametrize("kind", [Reply, Response])
def test_a_status_without_a_body_gets_none(client, respond, status, kind):
    reply = Reply(status, b"ignored") if kind is Reply else Response("ignored", status)
    assert respond(reply).status == status
    assert client.ask(QUERY).body == BALANCE  # it starts right here


def test_a_response_has_its_length_and_its_headers(client, respond):
    headers = [("X-A", "é"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    response = respond(Response(["hel", "lo"], 299, headers, content_type="text/x"))

    assert response.head == (
        b"HTTP/1.1 299 \r\nContent-Type: text/x\r\nContent-Length: 5\r\n"
        b"X-A: \xe9\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n"
    )
    assert response.body == b"hello"
    assert client.ask(QUERY).body == BALANCE


def test_a_stream_is_read_to_its_end_and_comes_with_its_length(respond):
    closed = []
    stream = Response(iter(["hel", "", "lo"]))
    stream.call_on_close(lambda: closed.append(True))
    response = respond(stream)

    assert (response.headers["content-length"], response.body) == ("5", b"hello")
    assert closed == [True]


def test_head_gets_no_body(client, api):
    api.responses["/response"] = Response("hello")
    client.send(HEAD)

    assert client.receive(bodiless=True).headers["content-length"] == "5"
    assert client.ask(QUERY).body == BALANCE


def test_a_response_leaves_at_once_and_without_waiting_for_others(listener, api):
    with requests.Session() as session:
        for _ in range(3):
            url = listener.url_for("/v2/balance")
            assert session.get(url, timeout=SECONDS).content == BALANCE
        (connection,) = listener.connections
        assert connection.request.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert len(api.requests) == 3


def test_a_client_that_hangs_up_in_mid_response_leaves_no_trace(listener, api, capfd, caplog):
    api.responses["/response"] = Reply(200, b"x" * 50_000_000)
    with RawClient(listener) as client:
        client.send(GET)
        assert client.reader.readline() == b"HTTP/1.1 200 OK\r\n"
    assert eventually(lambda: len(listener.connections) == 0)

    listener.check()
    assert (capfd.readouterr(), caplog.records) == (("", ""), [])


def test_a_header_that_http_can_not_carry_comes_back_as_an_error(listener, client, api):
    api.responses["/response"] = Response(headers={"X-A": "€"})
    client.send(GET)

    assert client.hung_up()
    with pytest.raises(UnicodeEncodeError):
        listener.check()


# Faults


def test_a_delay_passes_in_real_time_while_process_time_stands_still(respond):
    with time_machine.travel(0, tick=False):
        assert respond(Reply(200, b"late", delay=0.05)).body == b"late"


def test_a_delay_holds_up_nobody_else_and_no_stop(listener, api):
    api.responses["/response"] = Reply(200, b"late", delay=10 * SECONDS)
    with RawClient(listener) as slow, RawClient(listener) as quick:
        slow.send(GET)
        assert eventually(lambda: bool(api.requests))
        assert quick.ask(QUERY).body == BALANCE
        listener.stop()

        assert slow.hung_up()
    assert eventually(lambda: len(listener.connections) == 0)


def test_a_disconnect_closes_without_a_response(client, api):
    api.responses["/response"] = Reply(200, b"never", disconnect=True, delay=0.01)
    client.send(GET)
    assert client.hung_up()


def test_a_truncated_response_is_shorter_than_its_declared_length(client, respond):
    response = respond(Reply(200, b'{"amou', declared_length=31))

    assert (response.headers["content-length"], response.headers["connection"]) == ("31", "close")
    assert response.body == b'{"amou'
    assert client.hung_up()


# Errors


def test_an_interrupt_of_a_handler_ends_the_connection_and_comes_back(listener, client, api):
    api.responses["/response"] = Mock(side_effect=KeyboardInterrupt)
    client.send(GET)

    assert client.hung_up()
    with pytest.raises(KeyboardInterrupt):
        listener.check()


def broken():
    yield b"half"
    raise ZeroDivisionError("mid-stream")


def test_a_stream_that_fails_is_a_500_and_the_error_comes_back(listener, client, respond):
    assert respond(Response(broken())).status == 500
    with pytest.raises(ZeroDivisionError, match="mid-stream"):
        listener.check()
    assert client.ask(QUERY).body == BALANCE
