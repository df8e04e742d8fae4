"""What is posted to a URL, and what comes back: answers of every kind, and none at all."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess

import pytest

from pytest_chatfake.transport.client.http_client import HttpClient
from pytest_chatfake.transport.client.responses import Response

from .raw_server import (
    CHUNKED,
    OK,
    SECONDS,
    answer_to,
    keeps_alive,
    post_to,
    serving,
)

# What is posted


def test_the_request_is_what_was_given_and_nothing_else():
    with serving(keeps_alive) as server:
        post_to(server.url + "?a=1", b'{"id":1}', {"Content-Type": "application/json", "X-B": "é"})

        assert (
            b"POST /hooks/chat?a=1 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
            b"Content-Type: application/json\r\nX-B: \xe9\r\nContent-Length: 8" % server.port,
            b'{"id":1}',
        ) == server.posts[0]


def test_a_big_body_arrives_whole():
    body = bytes(range(256)) * 20_000
    with serving(keeps_alive) as server:
        assert 200 == post_to(server.url, body).status

        assert body == server.posts[0].body


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with serving(keeps_alive) as server:
        assert 200 == post_to(server.url).status


def test_localhost_is_found_on_whichever_address_the_server_listens():
    with serving(keeps_alive) as server:
        assert 200 == post_to(f"http://localhost:{server.port}/").status


# Answers


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", Response(204)),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", Response(200)),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", Response(200, b"to the end")),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 5\r\n\r\nsorry", Response(500, b"sorry")),
        (
            CHUNKED + b"3;ext=1\r\none\r\n8\r\n and two\r\n0\r\nX-Trailer: 1\r\n\r\n",
            Response(200, b"one and two"),
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, Response(200, b"ok")),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + OK, Response(200, b"ok")),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", Response(101)),
    ],
)
def test_an_answer_comes_back_whole(data, answer):
    assert answer == answer_to(data)


def in_chunks(body):
    size = 1_000_000
    parts = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


HUGE = bytes(range(200)) * 50_000
OF_EVERY_KIND = {
    "length": b"Content-Length: %d\r\n\r\n%b" % (len(HUGE), HUGE),
    "to the end": b"Connection: close\r\n\r\n" + HUGE,
    "chunks": b"Transfer-Encoding: chunked\r\n\r\n" + in_chunks(HUGE),
}


@pytest.mark.parametrize("data", OF_EVERY_KIND.values(), ids=OF_EVERY_KIND)
def test_of_a_huge_answer_the_first_64_kib_come_back(data):
    assert Response(200, HUGE[: 64 * 1024]) == answer_to(b"HTTP/1.1 200 OK\r\n" + data)


def test_answers_in_chunks_and_announced_ones_leave_the_connection_in_order():
    kinds = [
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        CHUNKED + b"2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        OK,
    ]

    def script(conversation):
        while conversation.read():
            conversation.send(kinds[len(server.posts) - 1])

    with serving(script) as server:
        client = HttpClient(server.url, timeout=SECONDS)
        statuses = [client.post(b"", {}).status for _ in kinds]
        client.close()

        assert [200, 200, 204, 200] == statuses
        assert 1 == len(server.connections)


def test_a_server_may_answer_before_it_has_read_everything():
    def refuses(conversation):
        conversation._more()
        conversation.send(b"HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno")

    with serving(refuses) as server:
        assert Response(413, b"no") == post_to(server.url, b"x" * 10_000_000)


# No connections


def test_a_refused_connection_is_a_failed_attempt():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    answer = post_to(f"http://127.0.0.1:{port}/")

    assert isinstance(answer.error, ConnectionRefusedError)


def test_a_host_without_an_address_is_a_failed_attempt(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    assert isinstance(post_to("http://nowhere.invalid/").error, socket.gaierror)


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate that signed itself, with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-days", "2", "-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    path.write_text(path.read_text() + path.with_name(f"{path.name}.crt").read_text())
    return path


@pytest.fixture
def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_a_certificate_that_nobody_trusts_is_a_failed_attempt(tls):
    with serving(keeps_alive, tls) as server:
        assert isinstance(post_to(server.url).error, ssl.SSLCertVerificationError)

        assert [] == server.posts


@pytest.fixture
def trusted(tls, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return tls


def test_a_trusted_server_is_posted_to_over_one_kept_connection(trusted):
    with serving(keeps_alive, trusted) as server:
        assert Response(200, b"ok") == post_to(server.url, times=5)

        assert 5 == len(server.posts)
        assert 1 == len(server.connections)
