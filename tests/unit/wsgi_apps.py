"""A WSGI app to post into."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from types import SimpleNamespace

from werkzeug.serving import make_server

from pytest_chatfake.transport.client.wsgi import WsgiTarget

JSON = {"Content-Type": "application/json"}
NOTHING = SimpleNamespace(body=b"", headers={})


def post(app, body=b"{}", headers=JSON, path="/hooks/chat"):
    return WsgiTarget(app, path=path).attempt(SimpleNamespace(body=body, headers=headers))


@contextmanager
def served(app, *, threaded=False):
    """Serve an app in a thread of this process, and give its URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, app, threaded=threaded)
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(60)
        server.server_close()


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
