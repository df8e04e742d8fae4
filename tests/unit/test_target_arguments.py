"""A target is checked when it is made, and a refusal says what to write."""

from __future__ import annotations

import pytest

from pytest_chatfake import ChatFake
from pytest_chatfake.transport.client.asgi import AsgiTarget
from pytest_chatfake.transport.client.portal import Portal
from pytest_chatfake.transport.client.targets import UrlTarget
from pytest_chatfake.transport.client.wsgi import WsgiTarget


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "has to begin with a slash"),
        ("hooks/chat", "has to begin with a slash"),
        ("http://testserver/hooks", "has to begin with a slash"),
        ("/hooks#top", "leave out '#...'"),
        ("/hooks chat", "is written as in a URL: '/hooks%20chat'"),
        ("/café?x=ü", "is written as in a URL: '/caf%C3%A9\\?x=%C3%BC'"),
        ("/hooks\n", "is written as in a URL: '/hooks%0A'"),
    ],
)
def test_a_path_that_is_none_is_refused_with_what_to_write(path, message):
    with pytest.raises(ValueError, match=message):
        WsgiTarget(lambda environ, start_response: [], path=path)
    with pytest.raises(ValueError, match=message):
        AsgiTarget(print, path=path, portal=Portal())


@pytest.mark.parametrize("path", ["/caf\udce9", "/?a=\ud800"])
def test_a_lone_surrogate_in_a_path_is_refused_in_a_sentence(path):
    with pytest.raises(ValueError, match="has a lone surrogate, which can't be sent") as caught:
        WsgiTarget(lambda environ, start_response: [], path=path)

    assert ValueError is type(caught.value)
    assert repr(path) in str(caught.value)


def test_what_is_no_text_is_no_path():
    with pytest.raises(TypeError, match="path= is a str such as '/hooks/chat'"):
        WsgiTarget(lambda environ, start_response: [], path=b"/hooks")


@pytest.mark.parametrize(
    ("client", "error", "message"),
    [
        (
            "203.0.113.9",
            TypeError,
            r'client= is an address and a port, as in \("203.0.113.9", 443\)',
        ),
        (("203.0.113.9",), TypeError, "is an address and a port"),
        (("", 443), ValueError, "the address in client= must"),
        ((3405803785, 443), TypeError, "the address in client= must be"),
        (
            ("gateway.example", 443),
            ValueError,
            "is an IP address such as .*, not 'gateway.example'",
        ),
        (("203.0.113.9", "443"), TypeError, "the port in client= must be a whole number"),
        (("203.0.113.9", 0), ValueError, "the port in client= must be from 1 to 65535"),
        (("203.0.113.9", 65536), ValueError, "the port in client= must be from 1 to 65535"),
    ],
)
def test_a_client_that_is_none_is_refused_with_what_to_write(client, error, message):
    with pytest.raises(error, match=message):
        WsgiTarget(lambda environ, start_response: [], path="/", client=client)
    with pytest.raises(error, match=message):
        AsgiTarget(print, path="/", client=client, portal=Portal())


@pytest.mark.parametrize("target", ["http://127.0.0.1:1/", print])
def test_a_client_goes_with_apps_in_process_only(target):
    given = {"handler": target} if callable(target) else {}
    url = () if given else (target,)
    with (
        ChatFake() as fake,
        pytest.raises(TypeError, match="client= goes with wsgi= or asgi= only, not with"),
    ):
        fake.webhooks.connect(*url, **given, client=("203.0.113.9", 443))


def test_an_app_that_trusts_its_own_machine_refuses_a_client_from_outside():
    def wsgi(environ, start_response):
        trusted = environ["REMOTE_ADDR"] == "127.0.0.1"
        start_response("204 Yes" if trusted else "403 No", [("X-Port", environ["REMOTE_PORT"])])
        return []

    async def asgi(scope, receive, send):
        host, _ = scope["client"]
        status = 204 if host == "127.0.0.1" else 403
        await send({"type": "http.response.start", "status": status})
        await send({"type": "http.response.body", "body": b""})

    with ChatFake() as fake:
        for client in (None, ("203.0.113.9", 443), ("2001:db8::1", 443)):
            fake.webhooks.connect(wsgi=wsgi, client=client)
            fake.webhooks.connect(asgi=asgi, client=client)
        fake.send_text()

        assert [204, 204, 403, 403, 403, 403] == [
            attempt.status_code for attempt in fake.webhooks.attempts
        ]


def test_a_url_is_checked_when_the_target_is_made():
    with pytest.raises(ValueError, match="leave out"):
        UrlTarget("http://127.0.0.1/#top", timeout=5)
