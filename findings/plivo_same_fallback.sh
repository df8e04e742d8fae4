#!/usr/bin/env bash
# A call is posted three times, to three "fallback" addresses that are the same; an SMS is posted once.
#
# One would expect: after a 503, a client either tries again or doesn't, whatever it was asked to do; and a fallback address is
# another address.
# Seen: calls.create() posts the same call again to two fallback addresses, which are the first address under other names. The
# three posts have no key in common. messages.create() of the same client posts once.
# With plivo 4.63.0, requests 2.34.2, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q plivo==4.63.0 requests==2.34.2

cat > shown.py <<'PY'
import contextlib
import io
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import plivo
from plivo.rest import client as addresses

posted = []


class IsDown(BaseHTTPRequestHandler):
    def do_POST(self):
        posted.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(503)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"error": "down"}')

    def log_message(self, *ignored):
        pass


names = ["API_VOICE_BASE_URI", "API_VOICE_BASE_URI_FALLBACK_1", "API_VOICE_BASE_URI_FALLBACK_2"]
print(len(names), "names,", len({getattr(addresses, name) for name in names}), "address")

server = ThreadingHTTPServer(("127.0.0.1", 0), IsDown)
threading.Thread(target=server.serve_forever, daemon=True).start()
for name in [*names, "PLIVO_API_BASE_URI"]:
    setattr(addresses, name, f"http://127.0.0.1:{server.server_port}")

client = plivo.RestClient("MAXXXXXXXXXXXXXXXXXX", "token")
for what, call in {
    "calls.create()": lambda: client.calls.create(
        from_="+13125550100", to_="+13125550101", answer_url="https://shop.example/answer"
    ),
    "messages.create()": lambda: client.messages.create(
        src="+13125550100", dst="+13125550101", text="It is on its way"
    ),
}.items():
    posted.clear()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(plivo.exceptions.PlivoRestError):
        call()
    print(f"{what}: {len(posted)} posts, {len(set(posted))} body")
PY

cat > seen.txt <<'TXT'
3 names, 1 address
calls.create(): 3 posts, 1 body
messages.create(): 1 posts, 1 body
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
