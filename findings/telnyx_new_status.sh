#!/usr/bin/env bash
# A delivery report with a status that the SDK doesn't know becomes a link-click event.
#
# One would expect: an SDK that validates raises an error, and one that doesn't keeps the new status as a text.
# Seen: nothing is raised. The event becomes one of another class, ReplacedLinkClickWebhookEvent, and its payload is a plain
# dict. So `isinstance(event, DeliveryUpdateWebhookEvent)` is false, and `event.data.payload.to` an AttributeError, while
# `event.data.event_type` still says message.finalized.
# With telnyx 4.189.0, pydantic 2.14.4, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q telnyx==4.189.0 pydantic==2.14.4

cat > shown.py <<'PY'
import json

import telnyx


def event(status):
    phone = {"phone_number": "+13125550101", "status": status, "carrier": "", "line_type": "Wireless"}
    payload = {
        "id": "11111111-1111-4111-8111-111111111111",
        "record_type": "message",
        "direction": "outbound",
        "type": "SMS",
        "from": {"phone_number": "+13125550100", "carrier": "", "line_type": "Wireless"},
        "to": [phone],
        "text": "It is on its way",
        "parts": 1,
    }
    data = {
        "record_type": "event",
        "event_type": "message.finalized",
        "id": "22222222-2222-4222-8222-222222222222",
        "occurred_at": "2026-11-01T12:00:00.000+00:00",
        "payload": payload,
    }
    return json.dumps({"data": data, "meta": {"attempt": 1, "delivered_to": "https://shop.example/hook"}})


client = telnyx.Telnyx(api_key="key")
for status in ("delivered", "a_status_of_next_year"):
    made = client.webhooks.unsafe_unwrap(event(status))
    print(status, made.data.event_type, type(made).__name__, type(made.data.payload).__name__)
PY

cat > seen.txt <<'TXT'
delivered message.finalized DeliveryUpdateWebhookEvent OutboundMessagePayload
a_status_of_next_year message.finalized ReplacedLinkClickWebhookEvent dict
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
