"""What is posted to a URL, and what comes back: responses of every kind, and none at all."""

import shutil
import socket
import ssl
import subprocess

import pytest

from pytest_chatfake.transport.client.responses import Response

from .raw_server import (
    SECONDS,
    keeps_alive,
    post_to,
    response_to,
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
        assert post_to(server.url, body).status == 200

        assert body == server.posts[0].body


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with serving(keeps_alive) as server:
        assert post_to(server.url).status == 200


def test_localhost_is_found_on_whichever_address_the_server_listens():
    with serving(keeps_alive) as server:
        assert post_to(f"http://localhost:{server.port}/").status == 200


# Responses


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
def test_of_a_huge_response_the_first_64_kib_come_back(data):
    assert Response(200, HUGE[: 64 * 1024]) == response_to(b"HTTP/1.1 200 OK\r\n" + data)


def test_a_server_may_respond_before_it_has_read_everything():
    def refuses(conversation):
        conversation.read_more()
        conversation.send(b"HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno")

    with serving(refuses) as server:
        assert Response(413, b"no") == post_to(server.url, b"x" * 10_000_000)


def test_how_the_system_says_that_nobody_reads_on_does_not_matter(monkeypatch):
    send = socket.socket.sendall

    def sendall(sock, data):
        send(sock, data)
        if data.startswith(b"POST"):
            raise ConnectionAbortedError  # as Windows says it

    monkeypatch.setattr(socket.socket, "sendall", sendall)
    with serving(keeps_alive) as server:
        assert post_to(server.url).status == 200


# No connections


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

        assert server.posts == []


def test_a_trusted_server_is_posted_to_over_one_kept_connection(tls, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving(keeps_alive, tls) as server:
        assert Response(200, b"ok") == post_to(server.url, times=5)

        assert len(server.posts) == 5
        assert len(server.connections) == 1
