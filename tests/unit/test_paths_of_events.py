"""``connect(path=)`` as a function of the event: each message has its own callback URL."""

from __future__ import annotations

import pytest
from pytest_httpserver import HTTPServer

from pytest_chatfake import ChatFake, HmacSigner

from .fakes import frozen_fake


class Callbacks:
    """A WSGI app that keeps the paths it was called at."""

    def __init__(self, status="200 OK"):
        self.paths = []
        self.status = status

    def __call__(self, environ, start_response):
        query = environ["QUERY_STRING"]
        self.paths.append(environ["PATH_INFO"] + (f"?{query}" if query else ""))
        start_response(self.status, [])
        return []


class AsgiCallbacks(Callbacks):
    async def __call__(self, scope, receive, send):
        query = scope["query_string"].decode()
        self.paths.append(scope["path"] + (f"?{query}" if query else ""))
        await receive()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def by_number(event):
    return f"/callback/{event._number}?status={event.status}"


@pytest.mark.parametrize(("name", "kind"), [("wsgi", Callbacks), ("asgi", AsgiCallbacks)])
def test_each_event_is_posted_to_its_own_path(name, kind, fake):
    app = kind()
    fake.webhooks.connect(**{name: app}, path=by_number)
    fake.send_text().deliver()
    fake.send_text()

    assert app.paths == [
        "/callback/1?status=sent",
        "/callback/1?status=delivered",
        "/callback/2?status=sent",
    ]


def test_a_url_gets_each_event_at_its_own_path():
    with HTTPServer() as server, ChatFake() as fake:
        for path in ("/callback/1", "/callback/2"):
            server.expect_oneshot_request(path, "POST").respond_with_data("")
        fake.webhooks.connect(server.url_for("/ignored"), path=lambda e: f"/callback/{e._number}")
        fake.send_text()
        fake.send_text()

        assert [attempt.status_code for attempt in fake.webhooks.attempts] == [200, 200]
        server.check()


def test_two_events_at_the_same_time_keep_their_paths(fake):
    app = Callbacks()
    fake.webhooks.connect(wsgi=app, path=by_number)
    with fake.webhooks.concurrently():
        fake.send_text()
        fake.send_text()

    assert sorted(app.paths) == ["/callback/1?status=sent", "/callback/2?status=sent"]


def test_a_retry_goes_to_the_path_of_its_event(fake):
    app = Callbacks()
    fake.webhooks.connect(wsgi=app, path=by_number)
    fake.webhooks.refuse()
    fake.send_text().deliver()
    fake.settle()

    assert app.paths == ["/callback/1?status=delivered", "/callback/1?status=sent"]


def test_a_signer_sees_the_path(fake):
    seen = []

    def sign(request):
        seen.append(request.path)
        return {}

    fake.webhooks.connect(wsgi=Callbacks(), path=by_number, signer=sign)
    fake.webhooks.connect(wsgi=Callbacks(), path="/fixed?a=1", signer=sign)
    fake.webhooks.connect(handler=lambda _: None, signer=sign)
    fake.send_text()

    assert seen == ["/callback/1?status=sent", "/fixed?a=1", "/"]


def test_the_path_of_a_url_is_that_of_its_requests():
    paths = []
    with HTTPServer() as server, ChatFake() as fake:
        server.expect_request("/hooks").respond_with_data("")
        url = f"{server.url_for('/hooks')}?a=1"
        fake.webhooks.connect(url, signer=lambda request: paths.append(request.path) or {})
        fake.send_text()

    assert paths == ["/hooks?a=1"]


def test_the_timeline_shows_the_path_without_its_query(fake):
    fake.webhooks.connect(wsgi=Callbacks(), path=by_number)
    fake.send_text()

    assert "sent m1 -> Callbacks /callback/1?...: 200" in str(fake.timeline)


def test_a_failed_attempt_names_the_path():
    with frozen_fake(strict=True) as fake:
        fake.webhooks.connect(wsgi=Callbacks("500 Oops"), path=lambda event: f"/{event.status}")
        fake.send_text()
        attempt = fake.webhooks.attempts[0]

        assert repr(attempt).endswith("at Callbacks /sent: status 500>")


def test_forgeries_are_posted_to_the_path_of_their_event(fake):
    app = Callbacks()
    fake.webhooks.connect(wsgi=app, path=by_number, signer=HmacSigner("s"))
    fake.send_text()
    with pytest.raises(AssertionError, match="Callbacks /callback/1"):
        fake.webhooks.assert_rejects_forgeries()

    assert {*app.paths} == {"/callback/1?status=sent"}


@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        (None, TypeError, "path: expected a str, got None"),
        ("callback", ValueError, "path: expected a slash first, as in '/hooks/chat', got"),
        ("/a b", ValueError, "path: '/a b' must be percent-encoded, as in '/a%20b'"),
    ],
)
def test_a_function_that_returns_no_path_fails_the_verb(returned, error, text, fake):
    fake.webhooks.connect(wsgi=Callbacks(), path=lambda _: returned)
    with pytest.raises(error) as raised:
        fake.send_text()

    assert str(raised.value).startswith(text)
