"""A WSGI app to post into."""

from __future__ import annotations

from types import SimpleNamespace

from pytest_chatfake.transport.client.wsgi import WsgiTarget

JSON = {"Content-Type": "application/json"}
NOTHING = SimpleNamespace(body=b"", headers={})


def post(app, body=b"{}", headers=JSON, path="/hooks/chat"):
    return WsgiTarget(app, path=path).attempt(SimpleNamespace(body=body, headers=headers))


class App:
    """Responds, and remembers what it was called with."""

    def __init__(self, status="200 OK", parts=(b"fine",)):
        self.status, self.parts = status, parts
        self.environs = []
        self.bodies = []

    def __call__(self, environ, start_response):
        self.environs.append(dict(environ))
        self.bodies.append(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        start_response(self.status, [("Content-Type", "text/plain")])
        return self.parts
