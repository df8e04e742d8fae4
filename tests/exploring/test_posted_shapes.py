"""``WebhookTests`` of services that post statuses in a shape of their own."""

import pytest

from .cards import cards, outcomes

APP = """
    import json

    import pytest
    from werkzeug.test import Client
    from pytest_chatfake import ChatFakeConfig, WebhookTests

    class OfAMailService(WebhookTests):
        __test__ = False
        posted = ()

        @pytest.fixture
        def chat_fake_config(self):
            return ChatFakeConfig(outbound=self.outbound)

        def outbound(self, event):
            message = event["chatMessage"]
            if message["status"] not in self.posted:
                return None
            return [{"id": message["id"], "event": message["status"]}]

        def connect(self, chat_fake):
            self.client, rows = Client(chat_fake.wsgi_app), {}

            def app(environ, start_response):
                for event in json.load(environ["wsgi.input"]):
                    if rows.get(event["id"]) != "read":
                        rows[event["id"]] = event["event"]
                start_response("204 No Content", [])
                return []

            chat_fake.send_endpoint("/messages")
            chat_fake.webhooks.connect(wsgi=app)
            return lambda: dict(rows)

        def scenario(self, chat_fake):
            body = {"to": "+1", "type": "text", "text": {"body": "Hi"}}
            self.client.post("/messages", json=body, headers=chat_fake.headers)
            yield chat_fake.settle()
            yield chat_fake.messages[0].deliver()
            yield chat_fake.messages[0].read()
"""


@pytest.fixture
def run(pytester):
    def run(classes):
        pytester.makepyfile(APP + classes)
        return pytester.runpytest("-n", "0")

    return run


def test_a_call_whose_webhooks_are_not_posted_is_no_race(run):
    result = run("""
    class TestReads(OfAMailService):
        posted = ("delivered", "read")

        def scenario(self, chat_fake):
            message = chat_fake.send_text()
            body = {"to": "+1", "type": "text", "text": {"body": "Hi"}}
            self.client.post("/messages", json=body, headers=chat_fake.headers)
            yield message.deliver().read()
    """)

    assert outcomes(result)["TestReads"]["webhooks_before_the_response"] == "skipped"


def test_no_finding_names_a_status_that_is_not_posted(run):
    result = run("""
    class TestMail(OfAMailService):
        posted = ("delivered", "read")
    """)
    rows = outcomes(result)["TestMail"]

    assert {rows[row] for row in ("duplicates", "another_order", "a_read_at_once")} == {"ok"}
    assert "sent m1" not in cards(result)


def test_a_service_that_posts_nothing_at_all_fails_and_says_so(run):
    result = run("""
    class TestNothing(OfAMailService):
        pass
    """)

    assert (
        "outbound=: expected a body for one of the scenario's events at least, got None for each"
    ) in " ".join(cards(result).split())


SIGNED = """
    import hashlib, hmac, json

    import pytest
    from pytest_chatfake import ChatFakeConfig, WebhookTests

    def mac(text):
        return hmac.new(b"key", text.encode(), hashlib.sha256).hexdigest()

    def outbound(event):
        message = event["chatMessage"]
        return {"id": message["id"], "event": message["status"]}

    def signer(request):
        fields, at = request.json(), str(request.timestamp)
        return {}, {**fields, "at": at, "signature": mac(at + fields["id"] + fields["event"])}

    class OfASignedService(WebhookTests):
        __test__ = False

        @pytest.fixture
        def chat_fake_config(self):
            return ChatFakeConfig(outbound=outbound, signer=signer)

        def connect(self, chat_fake):
            rows = {}

            def app(request):
                if not self.is_genuine(request):
                    return 401
                rows[request.json()["id"]] = request.json()["event"]

            chat_fake.webhooks.connect(handler=app)
            return lambda: dict(rows)

    class TestVerifies(OfASignedService):
        def is_genuine(self, request):
            fields, now = request.json(), request.timestamp
            if not fields.get("at", "").isdigit() or abs(int(fields["at"]) - now) > 300:
                return False
            right = mac(fields["at"] + fields["id"] + fields["event"])
            return hmac.compare_digest(fields.get("signature", ""), right)

    class TestNeverVerifies(OfASignedService):
        def is_genuine(self, request):
            return True
"""


def test_forgeries_of_a_signature_in_the_body_tell_who_verifies(pytester):
    pytester.makepyfile(SIGNED)
    rows = outcomes(pytester.runpytest("-n", "0"))

    assert {name: row["forgeries"] for name, row in rows.items()} == {
        "TestNeverVerifies": "FAILED",
        "TestVerifies": "ok",
    }


def test_a_signature_in_the_body_is_no_event_id(pytester):
    pytester.makepyfile(SIGNED)
    rows = outcomes(pytester.runpytest("-n", "0", "-k", "test_duplicates_under_another_id"))

    assert rows["TestVerifies"]["duplicates_under_another_id"] == "skipped"
