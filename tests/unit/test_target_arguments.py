"""URLs, paths, headers and callers: taken apart, or refused with the argument's name."""

import pytest
from flask import Flask
from werkzeug import Request, Response

from pytest_chatfake.transport.client.headers import complete_headers
from pytest_chatfake.transport.client.url import checked_client, checked_path, parse_url

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


URLS = [
    *["", "127.0.0.1:8000", "localhost:8000/hooks", "/hooks/chat", "ftp://h/", "http:///hooks"],
    *["http://h/a b", " http://h/", "http://h/\x7f", "http://h/café?x=ü", "http://h:port/"],
    *["http://h:65536/", "http://h:0/", "http://[::1/", "http://ada:secret@h/", "http://ada@h/"],
    *["http://h/a#b", "http://h/a#", "http://a..b/", f"http://{'a' * 64}/"],
    *["http://h/caf\udce9", "http://h\ud800/", "\udfff"],
]
PATHS = ["", "hooks/chat", "http://h/", "/a#top", "/a b", "/café?x=ü", "/a\n", "/caf\udce9"]
HEADERS = [
    *[("Content-Length", "12"), ("transfer-encoding", "x"), ("", "1"), ("X Y", "1"), ("X:", "1")],
    *[("X\n", "1"), ("Ümlaut", "1"), ("X", "a\nb"), ("X", "a\r\nX-Injected: 1"), ("X", "a\0b")],
    ("X", "☕"),
]
CLIENTS = [("gateway.example", 443), ("", 443), ("203.0.113.9", 0), ("203.0.113.9", 65536)]


@pytest.mark.parametrize(
    ("check", "argument", "values", "error"),
    [
        (parse_url, "url", URLS, ValueError),
        (parse_url, "url", [b"http://h/", None, 8000], TypeError),
        (checked_path, "path", PATHS, ValueError),
        (checked_path, "path", [b"/hooks"], TypeError),
        (lambda field: complete_headers([field], "h"), "headers", HEADERS, ValueError),
        (
            lambda field: complete_headers([field], "h"),
            "headers",
            [("X", 1), (b"X", "1"), ("X", b"1")],
            TypeError,
        ),
        (checked_client, "client", CLIENTS, ValueError),
        (
            checked_client,
            "client",
            ["203.0.113.9", ("203.0.113.9",), (3405803785, 443), ("203.0.113.9", "443")],
            TypeError,
        ),
    ],
)
def test_what_can_not_be_posted_to_is_refused_by_the_argument_s_name(
    check, argument, values, error
):
    for value in values:
        with pytest.raises(error, match=rf"^(the \w+ in )?{argument}\b") as caught:
            check(value)
        assert type(caught.value) is error, value  # UnicodeEncodeError is a ValueError, too


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://h/a b", "url: 'http://h/a b' has a space or a control character. Quote it, as"),
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


@pytest.mark.parametrize(("url", "given"), [(["http://h/"], {}), ([], {"handler": print})])
def test_a_client_goes_with_apps_in_process_only(fake, url, given):
    with pytest.raises(TypeError, match="client= goes with wsgi= or asgi= only, not with"):
        fake.webhooks.connect(*url, **given, client=("203.0.113.9", 443))


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


@pytest.mark.parametrize("given", [{"wsgi": print, "path": "x"}, {"asgi": print, "path": "x"}])
def test_they_are_checked_when_an_endpoint_is_connected(fake, given):
    with pytest.raises(ValueError, match="path: expected a slash first"):
        fake.webhooks.connect(**given)
    with pytest.raises(ValueError, match="has a fragment"):
        fake.webhooks.connect("http://127.0.0.1/#top")


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


@pytest.mark.parametrize(
    ("app", "sentence"),
    [
        (1, "app: expected a callable, got 1"),
        (lambda request: None, "app: expected an app, which is called with scope, receive, send"),
        (Flask("shop"), "looks like a WSGI app"),
    ],
)
def test_only_an_asgi_app_has_a_lifespan(fake, app, sentence):
    with pytest.raises(TypeError, match=sentence):
        fake.webhooks.lifespan(app)
