"""Random send calls with and without keys, lost and refused, against a service of a few lines."""

from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import Client

from pytest_chatfake import ChatFake

from .required_paths import profile

calls = st.tuples(
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["", "+1", "+2"]),
    st.sampled_from([None, "lose_response", "fail"]),
)


@profile(100)
@given(st.lists(calls, max_size=20))
def test_a_key_sends_once_whatever_is_lost_or_refused(script):
    sent = []
    known = {}
    with ChatFake() as fake:
        fake.send_endpoint(idempotency_header="Idempotency-Key")
        for key, to, fault in script:
            if fault:
                getattr(fake.api, fault)(status=503)
            headers = fake.headers | {"Idempotency-Key": key}
            order = {"to": to, "type": "text", "text": {"body": "Hello"}}
            response = Client(fake.wsgi_app).post("/v2/messages", json=order, headers=headers)
            expected = 409 if known.get(key, to) != to else 200 if to else 400
            assert (503 if fault else expected) == response.status_code
            if fault != "fail" and expected == 200:
                if key not in known:
                    sent.append(to)
                if key:
                    known[key] = to
            assert sent == [one.to for one in fake.messages]
