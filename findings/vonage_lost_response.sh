#!/usr/bin/env bash
# One call to send an SMS posts it ten times if the response is lost.
#
# One would expect: the SDK configures urllib3's Retry with its default methods, which leave POST out, so a lost response is
# raised at once. And whoever retries a POST sends a key with it, so that the provider can tell a retry from a second SMS.
# Seen: if the server has read the request and closes the connection without a response, the SDK posts the same bytes ten
# times, without a pause and without a key, and then raises the error. Each of the ten may have been taken as a message.
# With vonage 4.9.1 (vonage-http-client 1.5.2), requests 2.34.2, urllib3 2.8.0, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q vonage==4.9.1 vonage-http-client==1.5.2 vonage-sms==1.2.0 requests==2.34.2 urllib3==2.8.0 trustme==1.2.1

cat > shown.py <<'PY'
import os
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import trustme

posted = []


class LosesResponses(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        posted.append((body, {name.lower() for name in self.headers}))
        self.close_connection = True

    def log_message(self, *ignored):
        pass


ca = trustme.CA()
ca.cert_pem.write_to_path("ca.pem")
os.environ["REQUESTS_CA_BUNDLE"] = "ca.pem"
server = ThreadingHTTPServer(("127.0.0.1", 0), LosesResponses)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
ca.issue_cert("127.0.0.1").configure_cert(tls)
server.socket = tls.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()

from vonage import Auth, HttpClientOptions, Vonage
from vonage_sms import SmsMessage

options = HttpClientOptions(rest_host=f"127.0.0.1:{server.server_port}")
client = Vonage(Auth(api_key="key", api_secret="secret"), options)
try:
    client.sms.send(SmsMessage(to="13125550101", from_="Shop", text="It is on its way"))
except Exception as error:
    print("raised", type(error).__name__)
keys = [name for _, names in posted for name in names if "idempot" in name or "request-id" in name]
print(len(posted), "posts,", len({body for body, _ in posted}), "body,", len(keys), "keys")
PY

cat > seen.txt <<'TXT'
raised ConnectionError
10 posts, 1 body, 0 keys
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
