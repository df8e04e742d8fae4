#!/usr/bin/env bash
# A webhook whose handler raises gets a 200, and its redelivery is skipped.
#
# One would expect: if a handler raises, the provider gets a 500 and posts the webhook again later; and a library that skips
# duplicates does so for webhooks that were handled.
# Seen: pywa notes a webhook as processed before it calls the handlers. If one of them raises, pywa logs that, and responds with
# 200 "ok"; the same webhook again is a duplicate, and gets 200 without a call. So the event is lost in both places.
# With pywa 4.5.0, Flask 3.1.3, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q pywa==4.5.0 flask==3.1.3

cat > shown.py <<'PY'
import logging

from flask import Flask
from pywa import WhatsApp

logging.disable(logging.CRITICAL)
app = Flask("shop")
chat = WhatsApp(
    phone_id="1", token="made-up", server=app, verify_token="made-up", validate_updates=False
)
calls = []


@chat.on_message_status()
def store(client, status):
    calls.append(status.status)
    if len(calls) == 1:
        raise ConnectionError("the database is away")


def body(status):
    value = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "15550001", "phone_number_id": "1"},
        "contacts": [{"profile": {"name": "Ann"}, "wa_id": "15550101"}],
        "statuses": [
            {
                "id": "wamid.A",
                "status": status,
                "timestamp": "1767268800",
                "recipient_id": "15550101",
                "conversation": {"id": "c", "origin": {"type": "marketing"}},
            }
        ],
    }
    change = {"field": "messages", "value": value}
    return {"object": "whatsapp_business_account", "entry": [{"id": "9", "changes": [change]}]}


for status, what in (("delivered", "raises"), ("delivered", "again"), ("read", "another")):
    before = len(calls)
    response = app.test_client().post("/", json=body(status))
    print(f"{status} ({what}): {response.status_code}, {len(calls) - before} call")
PY

cat > seen.txt <<'TXT'
delivered (raises): 200, 1 call
delivered (again): 200, 0 call
read (another): 200, 1 call
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
