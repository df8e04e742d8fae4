"""Random send calls with and without keys, lost and refused, against a service of a few lines."""

from random import Random

from werkzeug.test import Client

from pytest_chatfake import ChatFake

KEYS, PEOPLE, FAULTS = ["", "a", "b"], ["", "+1", "+2"], [None, "lose_response", "fail"]


def test_a_key_sends_once_whatever_is_lost_or_refused():
    random = Random(1)
    for _ in range(60):
        sent = []
        known = {}
        with ChatFake() as fake:
            fake.send_endpoint(idempotency_header="Idempotency-Key")
            for key, to, fault in [map(random.choice, (KEYS, PEOPLE, FAULTS)) for _ in range(12)]:
                if fault:
                    getattr(fake.api, fault)(status=503)
                headers = fake.headers | {"Idempotency-Key": key}
                order = {"to": to, "type": "text", "text": {"body": "Hello"}}
                response = Client(fake.wsgi_app).post("/v2/messages", json=order, headers=headers)
                expected = 409 if known.get(key, to) != to else 200 if to else 400
                assert response.status_code == (503 if fault else expected)
                if fault != "fail" and expected == 200:
                    if key not in known:
                        sent.append(to)
                    if key:
                        known[key] = to
                assert [one.to for one in fake.messages] == sent
