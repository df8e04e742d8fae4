"""Ready-made tests compare what an app sends, whichever ids of the service it quotes there."""

import pytest

from .cards import card, cards

MODULE = """
    import json
    from contextlib import closing
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    from pytest_chatfake import SendTests, WebhookTests

    def post(fake, key, content):
        order = {"to": "+1", "type": "text", **content}
        headers = {**fake.headers, "Idempotency-Key": key}
        with closing(HTTPConnection(urlsplit(fake.base_url).netloc, timeout=60)) as connection:
            connection.request("POST", "/v2/messages", json.dumps(order), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or "{}")

    class Reports(WebhookTests):
        __test__ = False
        accepts = [200]

        def connect(self, chat_fake):
            chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
            done = {}

            def app(request):
                event = request.event.json()
                message = event.get("chatMessage") or event["chatInboundMessage"]
                if message.get("status") not in {None, self.status}:
                    return 200
                if message["id"] not in done:
                    status, _ = post(chat_fake, message["id"], self.content(event, message))
                    if status not in self.accepts:
                        return 503
                    done[message["id"]] = "reported"
                return 200

            chat_fake.webhooks.connect(handler=app, events="*")
            return lambda: dict(done)

        status = "failed"

        def content(self, event, message):
            return {"text": {"body": self.text(event, message)}}
"""

TEXTS = {
    "a message": "f'{message[\"id\"]} failed'",
    "a message, cut off": "f'#{message[\"id\"][:8]} failed'",
    "the platform's message": "f'{message[\"chatMessageId\"]} failed'",
    "an event": "f'({event[\"id\"]})'",
}


@pytest.mark.parametrize("what", TEXTS)
def test_a_right_app_may_quote_an_id_in_a_text(run, what):
    result = run(
        f"""
    class TestReports(Reports):
        def text(self, event, message):
            return {TEXTS[what]}
    """,
        *("-k", "failing_api"),
    )
    assert card(result) == {"a_failing_api": "ok"}


def test_a_right_app_may_quote_the_id_of_what_a_person_wrote(run):
    result = run(
        """
    class TestReplies(Reports):
        def scenario(self, chat_fake):
            yield chat_fake.recipient("+1").writes("Where is it?")

        def text(self, event, message):
            return f"We got {message['id']}"
    """,
        *("-k", "failing_api"),
    )
    assert card(result) == {"a_failing_api": "ok"}


def test_a_right_app_may_quote_two_ids_in_another_order(run):
    result = run(
        """
    class TestReports(Reports):
        def scenario(self, chat_fake):
            first = yield chat_fake.send_text(to="+2")
            second = yield chat_fake.send_text(to="+3")
            yield first.fail()
            yield second.fail()

        def text(self, event, message):
            return f"{message['id']} failed"
    """,
        *("-k", "failing_api"),
    )
    assert card(result) == {"a_failing_api": "ok"}


DROPS = """
    class TestReports(Reports):
        accepts = [200, 429]

        def text(self, event, message):
            return f"{message['id']} failed"
"""


def test_an_app_that_drops_a_text_with_an_id_still_fails(run):
    result = run(DROPS, "-k", "failing_api")
    assert (
        "FAILED   a_failing_api: the 1st POST /v2/messages was refused with 429 and Retry-After; "
        """the message "<id of 'second' to +4915550002> failed" to +1 was never sent"""
    ) in cards(result)


SENDER = """
    class TestSends(SendTests):
        def connect(self, chat_fake):
            chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
            self.fake, self.sent = chat_fake, {}
            return lambda: dict(self.sent)

        def send(self, chat_fake):
            first = self.post("1", "Hello")
            self.post("2", f"See {first}")

        def post(self, key, body):
            if key not in self.sent:
                status, response = post(self.fake, key, {"text": {"body": body}})
                if status != 200:
                    raise RuntimeError(status)
                self.sent[key] = f"sent as {response['id']}"
            return self.sent[key].removeprefix("sent as ")
"""


def test_a_right_sender_may_quote_an_id_in_a_text_and_a_snapshot(run):
    result = run(SENDER, "-k", "refused_send or lost_response")
    assert card(result) == {"a_refused_send": "ok", "a_lost_response": "ok"}


@pytest.mark.parametrize(
    ("code", "row"),
    [
        (SENDER.replace("raise RuntimeError(status)", "response = {'id': 'unknown'}"), "refused"),
        (DROPS, "failing_api"),  # the world that fails has no such message
    ],
)
def test_no_test_to_paste_is_printed_that_would_contain_an_id_of_this_run(run, code, row):
    result = run(code, "-k", row)
    result.stdout.fnmatch_lines(["*There is no test to paste: the messages contain ids, which*"])


@pytest.mark.parametrize("key", ["message['id']", "secrets.token_hex(8)"])
def test_a_random_code_is_no_other_message_unless_it_is_sent_again(run, key):
    result = run(
        f"""
    import secrets

    class TestCodes(Reports):
        status = "sent"
        codes = {{}}

        def connect(self, chat_fake):
            chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
            codes = {{}}

            def app(request):
                message = request.event.json().get("chatInboundMessage")
                if message is None or codes.get(message["id"]) == "sent":
                    return 200
                code = codes.setdefault(message["id"], secrets.token_hex(4))
                status, _ = post(chat_fake, {key}, {{"text": {{"body": f"Your code: {{code}}"}}}})
                if status != 200:
                    return 503
                codes[message["id"]] = "sent"
                return 200

            chat_fake.webhooks.connect(handler=app, events="*")
            return lambda: len(codes)

        def scenario(self, chat_fake):
            yield chat_fake.recipient("+1").writes("A code, please")
    """,
        *("-k", "failing_api"),
    )
    assert card(result) == {"a_failing_api": "ok" if "message" in key else "FAILED"}
