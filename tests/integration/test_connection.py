"""One connection, byte by byte: requests, what is refused, responses, and what ends it."""

# Asserts read `expected == actual`.

from __future__ import annotations

import json
import socket
import time
from typing import TYPE_CHECKING

import pytest
import requests
import time_machine
from werkzeug import Response

from pytest_chatfake.transport.server import connection as connection_module
from pytest_chatfake.transport.server import requests as reading
from pytest_chatfake.transport.server.listener import Listener
from pytest_chatfake.transport.server.replies import Reply

from .listener_support import BALANCE, QUERY, SECONDS, FakeApi, RawClient, eventually

if TYPE_CHECKING:
    pass

POST = b"POST /echo HTTP/1.1\r\nHost: test\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
GET = b"GET /answer HTTP/1.1\r\n\r\n"
GET_1_0 = b"GET /answer HTTP/1.0\r\n\r\n"
HEAD = b"HEAD /answer HTTP/1.1\r\n\r\n"


@pytest.fixture
def api():
    api = FakeApi()
    api.answers["/echo"] = lambda request: Reply(200, request.get_data())
    api.answers["/ignore"] = Reply(200, b"ignored")
    return api


# Requests

BODIES = {
    "none": (POST + b"\r\n", b""),
    "length": (POST + b"Content-Length: 5\r\n\r\nhello", b"hello"),
    "its length twice": (POST + b"Content-Length: 5\r\n" * 2 + b"\r\nhello", b"hello"),
    "no chunk": (CHUNKED + b"0\r\n\r\n", b""),
    "chunks": (CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", b"hello"),
    "chunks with upper-case sizes": (CHUNKED + b"0A\r\n0123456789\r\n00\r\n\r\n", b"0123456789"),
    "extensions": (CHUNKED + b'5;a="b"\r\nhello\r\n0;c\r\n\r\n', b"hello"),
    "trailers": (CHUNKED + b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", b"hello"),
    "line ends": (CHUNKED + b"4\r\n\r\n\r\n\r\n0\r\n\r\n", b"\r\n\r\n"),
    "any bytes": (POST + b"Content-Length: 3\r\n\r\n\x00\xff\n", b"\x00\xff\n"),
    "coding in any case": (
        POST + b"Transfer-Encoding: \t CHUNKED \t\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        b"x",
    ),
}


@pytest.mark.parametrize(("request_", "body"), BODIES.values(), ids=BODIES)
def test_a_body_is_read_to_its_end_and_no_further(client, request_, body):
    client.send(request_ + QUERY + request_ + QUERY)
    assert [body, BALANCE] * 2 == [client.receive().body for _ in range(4)]

    for byte in request_:
        client.send(bytes([byte]))
    assert body == client.receive().body


def test_what_was_sent_reaches_the_api_unchanged(client, api):
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


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_expects_100_continue_gets_it_before_its_body(client, chunked):
    head = b"Transfer-Encoding: chunked\r\n" if chunked else b"Content-Length: 5\r\n"
    interim = client.ask(POST + b"Expect: 100-Continue\r\n" + head + b"\r\n")
    final = client.ask(b"5\r\nhello\r\n0\r\n\r\n" if chunked else b"hello")

    assert (100, 200, b"hello") == (interim.status, final.status, final.body)
    assert BALANCE == client.ask(QUERY).body


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (POST + b"Expect: 100-continue\r\n\r\n", 200),
        (POST.replace(b"1.1", b"1.0") + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx", 200),
        (POST + b"Expect: 100-continue\r\nContent-Length: many\r\n\r\n", 400),
    ],
    ids=["no body", "HTTP/1.0", "refused"],
)
def test_there_may_be_nothing_to_continue(client, request_, status):
    assert status == client.ask(request_).status


@pytest.mark.parametrize("path", [b"/v2/balance", b"/echo"])
@pytest.mark.parametrize(
    ("version", "field", "stays"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Connection: keep-alive\r\n", True),
        (b"1.1", b"Connection: TE, CLOSE\r\n", False),
        (b"1.1", b"Connection: TE\r\nConnection: close\r\n", False),
        (b"1.0", b"Connection: keep-alive\r\n", False),
    ],
)
def test_the_connection_stays_open_as_agreed(client, version, field, stays, path):
    response = client.ask(b"GET %b HTTP/%b\r\n%b\r\n" % (path, version, field))

    assert 200 == response.status
    assert stays is ("connection" not in response.headers)
    assert BALANCE == client.ask(QUERY).body if stays else client.hung_up()


# What is refused

LENGTH = POST + b"Content-Length: %b\r\n\r\nhello"
CODED = POST + b"Transfer-Encoding: %b\r\n\r\n0\r\n\r\n"
REFUSED = {
    "garbage": b"hello\r\n",
    "TLS": b"\x16\x03\x01\x02",
    "a space in the target": b"GET /v2/balance x HTTP/1.1\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a bad target": b"GET http://[bad/ HTTP/1.1\r\n\r\n",
    "a header without a colon": POST + b"garbage\r\n\r\n",
    "a header without a name": POST + b": x\r\n\r\n",
    "a space before the colon": POST + b"Content-Length : 5\r\n\r\n",
    "a folded header": POST + b"X-A: 1\r\n Content-Length: 5\r\n\r\n",
    "a bare carriage return": POST + b"X-A: 1\rX-B: 2\r\n\r\n",
    "a zero byte": POST + b"X-A: \0\r\n\r\n",
    "many headers": POST + b"X-A: 1\r\n" * 101 + b"\r\n",
    "two lengths": LENGTH.replace(b"C", b"Content-Length: 6\r\nC") % b"5",
    "a signed length": LENGTH % b"+5",
    "a length in other digits": LENGTH % b"\xb2",
    "an empty length": LENGTH % b"",
    "a length of 5000 digits": LENGTH % (b"9" * 5000),
    "a length and chunks": CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
    "two hosts": POST + b"host: test\r\n\r\n",
    "another transfer coding": CODED % b"gzip, chunked",
    "two transfer codings": CODED % b"chunked\r\nTransfer-Encoding: chunked",
    "a transfer coding with a control character": CODED % b"\x0bchunked",
    "a body beyond the limit": POST + b"Content-Length: 99999999999\r\n\r\n",
    "a chunk beyond the limit": CHUNKED + b"FFFFFFFFFF\r\n",
    "a chunk without a size": CHUNKED + b"hello\r\n",
    "a chunk longer than it says": CHUNKED + b"3\r\nhello\r\n",
    "a malformed trailer": CHUNKED + b"0\r\nX-Sum 1\r\n\r\n",
}


@pytest.mark.parametrize("before", [b"", QUERY, POST + b"\r\n"], ids=["first", "query", "post"])
@pytest.mark.parametrize("request_", REFUSED.values(), ids=REFUSED)
def test_what_is_no_request_is_refused_with_an_error_body_and_the_connection_closed(
    client, api, request_, before
):
    if before:
        assert 200 == client.ask(before).status
    seen = [*api.queries, *api.dispatched]

    response = client.ask(request_ + QUERY)  # smuggled in behind it

    error = json.loads(response.body)["error"]
    assert {"status": 400, "code": "BAD_REQUEST", "message": error["message"]} == error
    assert "" != error["message"]
    assert ("close", 400) == (response.headers["connection"], response.status)
    client.socket.shutdown(socket.SHUT_WR)
    assert client.hung_up()
    assert seen == [*api.queries, *api.dispatched]


def test_the_limits_themselves_are_within_them(client, monkeypatch):
    fields = b"Transfer-Encoding: chunked\r\n" + b"X-A: 1\r\n" * 99
    monkeypatch.setattr(reading, "MAX_BODY", 10)
    head = b"POST /echo HTTP/1.1\r\n" + fields + b"\r\n"

    assert 200 == client.ask(head + b"5\r\nhello\r\n" * 2 + b"0\r\n\r\n").status
    longest = b"X-A: %b\r\n" % (b"x" * (reading.MAX_LINE - 7))
    assert 200 == client.ask(POST + longest + b"\r\n").status
    assert 400 == client.ask(head + b"5\r\nhello\r\n" * 2 + b"1\r\nx\r\n0\r\n\r\n").status


def test_whatever_a_refused_client_has_sent_is_read_before_the_connection_is_closed():
    address = ("127.0.0.1", 0)
    with (
        socket.create_server(address) as listening,
        socket.create_connection(listening.getsockname(), SECONDS) as client,
        listening.accept()[0] as accepted,
    ):
        client.sendall(b"garbage\r\n" + b"x" * 50_000)
        client.shutdown(socket.SHUT_WR)
        site = Listener(FakeApi())
        connection_module.Connection(accepted, address, None, site).serve()

        assert b"" == accepted.recv(1)  # or its close would be a reset, and the response be lost


def test_a_line_that_is_too_long_is_refused_before_its_end(client):
    assert 400 == client.ask(b"G" * (reading.MAX_LINE + 1)).status


@pytest.mark.parametrize("sends", [True, False], ids=["goes on sending", "never hangs up"])
def test_a_refused_client_is_not_listened_to_for_ever(listener, client, monkeypatch, sends):
    monkeypatch.setattr(connection_module, "LINGER_READS", 3)
    monkeypatch.setattr(connection_module, "LINGER_SECONDS", SECONDS if sends else 0.01)
    client.send(b"garbage\r\n")
    assert 400 == client.receive().status

    if sends:
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                client.send(b"more" * 1000)
                time.sleep(0.001)
    assert eventually(lambda: 0 == len(listener.connections))


def test_a_refused_client_that_never_hangs_up_is_closed_with_the_idle_ones(
    listener, client, monkeypatch
):
    monkeypatch.setattr(connection_module, "LINGER_SECONDS", 2 * SECONDS)
    client.send(b"garbage\r\n")
    assert 400 == client.receive().status
    assert client.hung_up()  # so the server waits for us now
    listener.close_idle_connections()

    assert eventually(lambda: 0 == len(listener.connections))


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
        assert eventually(lambda: 1 == len(listener.connections))
        if reset:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        else:
            client.socket.shutdown(socket.SHUT_WR)
            assert client.hung_up()

    assert eventually(lambda: 0 == len(listener.connections))
    assert ([], []) == (api.queries, api.dispatched)
    listener.check()


def test_nothing_is_logged_or_printed(client, caplog, capfd):
    with caplog.at_level(0):
        client.send(QUERY + POST + b"\r\n" + b"garbage\r\n")
        assert [200, 200, 400] == [client.receive().status for _ in range(3)]
        assert client.hung_up()

    assert [] == caplog.records
    assert ("", "") == capfd.readouterr()


# The balance query: the short way, and the general one


@pytest.mark.parametrize(
    ("query", "short"),
    [
        (QUERY, True),
        (QUERY.replace(b"balance", b"balance?a=1&b=%20"), True),
        (QUERY[:-2] + b"Content-Length: 0\r\n\r\n", False),
        (QUERY.replace(b" /v2", b" http://127.0.0.1/v2"), False),
        (QUERY.replace(b"\r\n", b"\n"), False),
        (b"\r\n" + QUERY, False),
    ],
)
def test_both_ways_give_the_same_answer(client, api, query, short):
    response = client.ask(query)

    assert (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 31\r\n\r\n"
        == response.head
    )
    assert BALANCE == response.body
    assert ["k"] == api.queries
    assert short is not bool(api.dispatched)
    client.send(query.replace(b"GET", b"HEAD") + QUERY)
    assert [response.head, BALANCE] == [client.receive(bodiless=True).head, client.receive().body]


KEYS = {
    "lower case": (b"x-api-key: k", "k"),
    "no space": (b"X-API-Key:k", "k"),
    "space around": (b"X-API-Key: \t k \t", "k"),
    "inner space": (b"X-API-Key: a b", "a b"),
    "empty": (b"X-API-Key:", ""),
    "missing": (b"X-API-Keys: k", None),
    "not ASCII": (b"X-API-Key: cl\xe9-\x80\xff\xa0", "clé-\x80\xff\xa0"),
    "control characters": (b"X-API-Key: a\x0b\x1c\x85b", "a\x0b\x1c\x85b"),
    "twice": (b"X-API-Key: a\r\nx-api-key: b", "a,b"),
}


@pytest.mark.parametrize("body", [b"", b"Content-Length: 0\r\n"], ids=["short way", "general way"])
@pytest.mark.parametrize(("field", "key"), KEYS.values(), ids=KEYS)
def test_the_key_is_read_alike_on_both_ways(client, api, field, key, body):
    client.ask(QUERY.replace(b"X-API-Key: k", field)[:-2] + body + b"\r\n")

    assert [key] == api.queries


def test_the_two_ways_follow_each_other_wherever_the_bytes_are_cut(listener):
    other = POST + b"Content-Length: 5\r\n\r\nhello"
    stream = QUERY + other + QUERY + QUERY + other
    with RawClient(listener) as client:
        for cut in range(len(stream)):
            client.send(stream[:cut])
            client.send(stream[cut:])
            bodies = [client.receive().body for _ in range(5)]
            assert [BALANCE, b"hello", BALANCE, BALANCE, b"hello"] == bodies, cut


def test_requests_keeps_one_connection_and_goes_the_short_way(listener, api):
    with requests.Session() as session:
        for _ in range(3):
            url = listener.url_for("/v2/balance")
            assert BALANCE == session.get(url, timeout=SECONDS).content
        (connection,) = listener.connections
        assert connection.request.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert (3, []) == (len(api.queries), api.dispatched)


# Replies


@pytest.fixture(params=["balance", "answer"])
def ask(request):
    """Ask the short way, or the general one, for a reply that ``lay`` laid down."""
    return QUERY if request.param == "balance" else GET


def lay(api, reply):
    api.reply = api.answers["/answer"] = reply


def test_a_reply_is_written_as_it_is(client, api, ask):
    lay(api, Reply(429, b"slow\n", (("Retry-After", "30"),), content_type="text/plain"))
    response = client.ask(ask)

    assert (
        b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n"
        b"Retry-After: 30\r\n\r\n"
    ) == response.head
    assert b"slow\n" == response.body
    lay(api, Reply(599, b""))
    assert client.ask(ask).head.startswith(b"HTTP/1.1 599 \r\n")


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_gets_none(client, api, ask, status):
    for laid in (Reply(status, b"ignored", (("X-A", "1"),)), Response("ignored", status)):
        lay(api, laid if isinstance(laid, Reply) else api.reply)
        api.answers["/answer"] = laid
        client.send(ask)
        assert status == client.receive(bodiless=True).status
        assert 404 == client.ask(b"GET /nowhere HTTP/1.1\r\n\r\n").status  # it starts right here


def test_a_delay_passes_in_real_time_while_process_time_stands_still(client, api, ask):
    lay(api, Reply(200, b"late", delay=0.1))
    begin = time.monotonic()
    with time_machine.travel(0, tick=False):
        response = client.ask(ask)

    assert b"late" == response.body
    assert 0.1 <= time.monotonic() - begin < SECONDS


def test_a_delay_holds_up_nobody_else_and_no_stop(listener, api):
    with RawClient(listener) as slow, RawClient(listener) as quick:
        api.answers["/answer"] = Reply(200, b"late", delay=10 * SECONDS)
        slow.send(GET)
        assert eventually(lambda: bool(api.dispatched))
        assert BALANCE == quick.ask(QUERY).body
        begin = time.monotonic()
        listener.stop()

        assert SECONDS > time.monotonic() - begin
        assert slow.hung_up()


def test_a_disconnect_closes_without_an_answer(client, api, ask):
    lay(api, Reply(200, b"never", disconnect=True, delay=0.01))
    client.send(ask)
    assert client.hung_up()


def test_a_truncated_answer_promises_more_than_it_gives(client, api, ask):
    lay(api, Reply(200, b'{"amou', declared_length=31))
    response = client.ask(ask)

    assert ("31", "close") == (response.headers["content-length"], response.headers["connection"])
    assert b'{"amou' == response.body
    assert client.hung_up()


def test_an_api_that_raises_is_a_500_and_the_error_comes_back(
    listener, client, monkeypatch, api, ask
):
    def broken(*_):
        raise ZeroDivisionError("in the API")

    monkeypatch.setattr(api, "balance", broken)
    monkeypatch.setattr(api, "answer", broken)
    error = json.loads(client.ask(ask).body)["error"]

    assert (500, "INTERNAL_SERVER_ERROR") == (error["status"], error["code"])
    assert "a handler raised ZeroDivisionError" == error["message"]
    with pytest.raises(ZeroDivisionError, match="in the API"):
        listener.check()
    listener.check()  # once


# Responses of werkzeug's


def test_a_response_has_its_length_and_its_headers(client, api):
    api.answers["/answer"] = Response(
        ["hel", "lo"], 299, {"X-A": "é", "Set-Cookie": "a=1"}, content_type="text/x"
    )
    api.answers["/answer"].headers.add("Set-Cookie", "b=2")
    response = client.ask(GET)

    assert (
        b"HTTP/1.1 299 \r\nContent-Type: text/x\r\nContent-Length: 5\r\n"
        b"X-A: \xe9\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n"
    ) == response.head
    assert b"hello" == response.body
    assert BALANCE == client.ask(QUERY).body


@pytest.mark.parametrize(("request_", "connection"), [(GET, None), (GET_1_0, "close")])
def test_a_stream_is_read_to_its_end_and_comes_with_its_length(client, api, request_, connection):
    closed = []
    api.answers["/answer"] = Response(iter(["hel", "", "lo"]))
    api.answers["/answer"].call_on_close(lambda: closed.append(True))
    response = client.ask(request_)

    assert (connection, "5") == tuple(map(response.headers.get, ("connection", "content-length")))
    assert b"hello" == response.body
    assert [True] == closed


def test_head_gets_no_body(client, api):
    api.answers["/answer"] = Response("hello")
    client.send(HEAD)

    assert "5" == client.receive(bodiless=True).headers["content-length"]
    assert BALANCE == client.ask(QUERY).body


def broken():
    yield b"half"
    raise ZeroDivisionError("mid-stream")


def test_a_stream_that_fails_is_a_500_and_the_error_comes_back(listener, client, api):
    api.answers["/answer"] = Response(broken())

    assert 500 == client.ask(GET).status
    with pytest.raises(ZeroDivisionError, match="mid-stream"):
        listener.check()
    assert BALANCE == client.ask(QUERY).body
