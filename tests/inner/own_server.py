import http.server
import socketserver
import threading
import time

import pytest


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = False  # server_close() waits for each connection to end


@pytest.fixture
def url():
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=lambda: server.serve_forever(0.01), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    closing = threading.Thread(target=server.server_close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive(), "a client held its connection"
    assert time.time() == 1_767_268_800, "time runs again"


def test_it(chat_clock, chat_fake, url):
    chat_fake.webhooks.connect(url)
    chat_fake.send_text().deliver()
    assert all(one.ok for one in chat_fake.webhooks.attempts)
