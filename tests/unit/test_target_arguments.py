"""URLs, paths, headers and callers: taken apart, or refused with the argument's name."""

import pytest
from werkzeug import Request, Response

from pytest_chatfake.transport.client.headers import complete_headers
from pytest_chatfake.transport.client.url import parse_url

from .asgi_apps import respond


@pytest.mark.parametrize(
    ("url", "server", "authority", "target"),
    [
        ("http://127.0.0.1:8000/a", ("127.0.0.1", 8000, False), "127.0.0.1:8000", "/a"),
        ("http://example.com:80", ("example.com", 80, False), "example.com", "/"),
        ("http://example.com:443", ("example.com", 443, False), "example.com:443", "/"),
        ("https://example.com", ("example.com", 443, True), "example.com", "/"),
        ("HTTP://Example.COM/A", ("example.com", 80, False), "example.com", "/A"),
        ("http://[::1]:8000/", ("::1", 8000, False), "[::1]:8000", "/"),
        ("http://h?a=/b%20c", ("h", 80, False), "h", "/?a=/b%20c"),
        ("http://h/a%2Fb;x=1?", ("h", 80, False), "h", "/a%2Fb;x=1"),
    ],
)
def test_a_url_says_where_to_connect_and_what_to_ask_for(url, server, authority, target):
    assert (server, authority, target) == parse_url(url)


@pytest.mark.parametrize("name", ["Host", "host", "HOST"])
def test_a_host_among_the_headers_replaces_ours_in_any_case(name):
    fields = [("Content-Type", "application/json"), ("X-Note", "café")]

    assert (("Host", "ours"), *fields) == complete_headers(fields, "ours")
    assert ((name, "theirs"), *fields) == complete_headers([*fields, (name, "theirs")], "ours")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://h/a b", "url: 'http://h/a b' has a space or a control character. Percent-encode"),
        ("http://h/é", "url: 'http://h/é' has letters outside ASCII. Write 'http://h/%C3%A9'."),
        ("http://u@h/", r"Use headers=\{'Authorization': ...\} instead."),
        (
            "ftp://h/",
            "url: expected one such as 'http://127.0.0.1:8000/hooks/chat', got 'ftp://h/'",
        ),
    ],
)
def test_a_refusal_says_what_to_write(url, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_url(url)


def test_an_app_in_process_sees_the_client_that_a_test_has_given(fake):
    seen = []

    def wsgi(environ, start_response):
        seen.append((environ["REMOTE_ADDR"], int(environ["REMOTE_PORT"])))
        start_response("204 No Content", [])
        return []

    async def asgi(scope, receive, send):
        seen.append(scope["client"])
        await respond(send, 204)

    clients = [("203.0.113.9", 443), ("2001:db8::1", 443)]
    for client in (None, *clients):
        fake.webhooks.connect(wsgi=wsgi, client=client)
        fake.webhooks.connect(asgi=asgi, client=client)
    fake.send_text()

    own = ("127.0.0.1", 50000)
    assert seen == [client for client in (own, *clients) for _ in ("wsgi", "asgi")]


def test_an_app_is_called_as_its_decorator_says_and_not_as_what_it_wraps(fake):
    fake.webhooks.connect(wsgi=Request.application(lambda request: Response(status=204)))
    fake.send_text()
    assert [attempt.status_code for attempt in fake.webhooks.attempts] == [204]


class Empty:
    """Something to call that counts as false."""

    def __len__(self):
        return 0


class EmptyApp(Empty):
    def __call__(self, environ, start_response):
        start_response("200 OK", [])
        return []


class EmptySigner(Empty):
    def __call__(self, request):
        return {"X-Signature": "signed"}


def test_an_app_and_a_signer_count_as_given_whatever_their_length(fake):
    endpoint = fake.webhooks.connect(wsgi=EmptyApp(), path="/hooks", signer=EmptySigner())

    assert endpoint.label == "EmptyApp /hooks"
    assert endpoint.signer(None) == {"X-Signature": "signed"}
