"""The HTTP API over TLS, for clients that insist on https."""

import ssl
from socket import create_connection
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import httpx
import pytest
import requests

from pytest_chatfake import ChatFake, ChatFakeError
from pytest_chatfake.transport.server.authority import Authority

from .listener_support import eventually, listening

pytest.importorskip("trustme")

#: In real seconds: nothing here may hang.
SOON = 5


@pytest.fixture
def fake():
    with ChatFake(tls=True) as fake:
        yield fake


def trusting(fake):
    return ssl.create_default_context(cafile=fake.ca_file)


def get_balance(fake, context=None):
    query = Request(f"{fake.base_url}/v2/balance", headers=fake.headers)
    with urlopen(query, timeout=SOON, context=context) as response:
        return response.status


def test_a_client_that_trusts_the_authority_gets_its_response(fake):
    assert fake.base_url.startswith("https://127.0.0.1:")
    assert get_balance(fake, context=trusting(fake)) == 200


def test_a_client_that_does_not_trust_the_authority_refuses_to_connect(fake):
    with pytest.raises(URLError, match="CERTIFICATE_VERIFY_FAILED"):
        get_balance(fake, context=ssl.create_default_context())

    assert get_balance(fake, context=trusting(fake)) == 200


def test_a_fake_without_tls_is_served_over_http_on_the_port_of_one_with(fake):
    with ChatFake() as other:
        assert other.base_url == fake.base_url.replace("https", "http")
        assert get_balance(other) == 200
        assert get_balance(fake, context=trusting(fake)) == 200


def test_httpx_keeps_its_connection(fake):
    with httpx.Client(verify=trusting(fake), timeout=SOON) as client:
        url = f"{fake.base_url}/v2/balance"
        before = {*fake.http.connections}  # an earlier test's may still be closing
        statuses = [client.get(url, headers=fake.headers).status_code for _ in range(3)]

        assert (statuses, len(fake.http.connections - before)) == ([200, 200, 200], 1)


def test_requests_trusts_the_file(fake):
    url = f"{fake.base_url}/v2/balance"
    response = requests.get(url, headers=fake.headers, verify=fake.ca_file, timeout=SOON)

    assert response.json()["amount"] == 100


def test_requests_trusts_the_file_by_an_environment_variable(fake, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", fake.ca_file)
    response = requests.get(f"{fake.base_url}/v2/balance", headers=fake.headers, timeout=SOON)

    assert response.status_code == 200


def test_default_contexts_trust_the_file_by_an_environment_variable(fake, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", fake.ca_file)

    assert get_balance(fake, context=ssl.create_default_context()) == 200


def test_a_route_sees_https(fake):
    @fake.route("/scheme", ["GET"])
    def scheme(request):
        return {"url": request.url}

    with httpx.Client(verify=trusting(fake), timeout=SOON) as client:
        found = client.get(f"{fake.base_url}/scheme", headers=fake.headers).json()

    assert found == {"url": f"{fake.base_url}/scheme"}


def test_faults_work_over_tls(fake):
    fake.api.fail(503)
    with pytest.raises(HTTPError, match="503"):
        get_balance(fake, context=trusting(fake))
    fake.api.disconnect()
    with pytest.raises((OSError, URLError, ConnectionError)):
        get_balance(fake, context=trusting(fake))
    assert get_balance(fake, context=trusting(fake)) == 200


def test_webhooks_come_before_the_response_over_tls(fake):
    arrived = []
    fake.webhooks.connect(handler=lambda request: arrived.append(request.event.status))
    fake.send_endpoint("/messages", webhooks_first=True)
    order = {"to": "+1", "type": "text", "text": {"body": "Hi"}}
    with httpx.Client(verify=trusting(fake), timeout=SOON) as client:
        response = client.post(f"{fake.base_url}/messages", json=order, headers=fake.headers)

    assert (response.status_code, arrived) == (200, ["sent"])


def test_a_large_body_arrives_over_tls(fake):
    @fake.route("/length")
    def length(request):
        return {"length": len(request.get_data())}

    with httpx.Client(verify=trusting(fake), timeout=SOON) as client:
        url, body = f"{fake.base_url}/length", b"x" * 1_000_000
        found = client.post(url, content=body, headers=fake.headers).json()

    assert found == {"length": 1_000_000}


@pytest.fixture
def listener(authority):
    """A listener of its own, which other fakes don't keep open."""
    with listening() as listener:
        listener.context = authority.context
        yield listener


@pytest.fixture(scope="module")
def authority():
    return Authority("127.0.0.1")


def test_an_idle_client_is_closed_with_the_listener(listener, authority):
    trust = ssl.create_default_context(cafile=authority.path)
    url = f"https://127.0.0.1:{listener.port}/v2/balance"
    with httpx.Client(verify=trust, timeout=SOON) as client:
        client.get(url)
        listener.stop()
        with pytest.raises(httpx.TransportError):
            client.get(url)


def test_a_client_in_the_middle_of_its_handshake_is_closed_too(listener):
    with create_connection(("127.0.0.1", listener.port), timeout=SOON) as client:
        client.sendall(b"\x16\x03\x01")  # the beginning of a hello
        assert eventually(lambda: listener.connections)
        listener.stop()

        assert client.recv(1) == b""


def test_the_file_is_the_same_for_all_fakes_of_the_process(fake):
    with ChatFake(tls=True) as other:
        assert other.ca_file == fake.ca_file


def test_a_fake_says_what_to_install_without_trustme(monkeypatch):
    from pytest_chatfake.fake.fake import service
    from pytest_chatfake.transport.server import authority

    def fail(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(authority, "import_module", fail)
    monkeypatch.setattr(service, "_authority", None)
    with pytest.raises(ChatFakeError) as error:
        ChatFake(tls=True)

    assert str(error.value) == (
        "https needs trustme, which is not installed: pip install 'pytest-chatfake[tls]'"
    )
