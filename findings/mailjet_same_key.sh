#!/usr/bin/env bash
# Two separate calls that send the same content carry the same idempotency key.
#
# One would expect: an SDK makes a new key for each call, and repeats it in the retries of that call.
# Seen: the key is a hash of the content. A second reminder with the same text, a day or a year later, has the key of the first.
# A server that takes the key at its word sends it no more.
# With mailjet_rest 1.9.1, requests 2.34.2, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q mailjet_rest==1.9.1 requests==2.34.2

cat > shown.py <<'PY'
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from mailjet_rest import Client

keys = []


class Takes(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        keys.append(self.headers["Idempotency-Key"])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"Messages": [{"Status": "success"}]}')

    def log_message(self, *ignored):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Takes)
threading.Thread(target=server.serve_forever, daemon=True).start()


def remind(name):
    # A new client each time, as after a restart.
    client = Client(auth=("key", "secret"), version="v3.1", api_url=f"http://127.0.0.1:{server.server_port}")
    message = {
        "From": {"Email": "shop@example.com"},
        "To": [{"Email": f"{name}@example.com"}],
        "Subject": "Your bill",
        "TextPart": "Please pay your bill",
    }
    client.send.create(data={"Messages": [message]})


remind("ann")
remind("ann")
remind("bob")
print(keys[0] is not None, "a key is sent")
print(keys[0] == keys[1], "the second reminder has the key of the first")
print(keys[0] == keys[2], "another content has it too")
PY

cat > seen.txt <<'TXT'
True a key is sent
True the second reminder has the key of the first
False another content has it too
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
