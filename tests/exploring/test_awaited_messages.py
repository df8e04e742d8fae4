"""What a worker sends later is awaited, and what the wait itself causes accuses no app."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from .cards import card, cards

MODULE = """
    import json
    from contextlib import closing
    from datetime import timedelta
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    from pytest_chatfake import WebhookTests

    def post(fake, key, text, to="+1"):
        order = {"to": to, "type": "text", "text": {"body": text}}
        headers = {**fake.headers, "Idempotency-Key": key}
        with closing(HTTPConnection(urlsplit(fake.base_url).netloc, timeout=60)) as connection:
            connection.request("POST", "/v2/messages", json.dumps(order), headers)
            return connection.getresponse().status == 200

    class Replies(WebhookTests):
        '''Accepts what people write, and leaves failed replies to a worker in the snapshot.'''

        __test__ = False
        crash_points = {post: RuntimeError}

        def connect(self, chat_fake):
            chat_fake.send_endpoint(idempotency_header="Idempotency-Key")
            self.fake, self.due, self.sent = chat_fake, {}, set()
            chat_fake.webhooks.connect(handler=self.receive, events="*")
            return self.work

        def scenario(self, chat_fake):
            yield chat_fake.recipient("+1").writes("Where is it?")

        def receive(self, request):
            message = request.event.json().get("chatInboundMessage")
            if message is not None and message["id"] not in self.due:
                self.take(message["id"])

        def take(self, id):
            self.send(id, "We will call you")

        def send(self, key, text):
            '''Try at once, and then after three hours.'''
            self.due[key] = self.fake.clock.now + timedelta(hours=3), text
            try:
                if post(self.fake, key, text):
                    self.sent.add(key)
            except Exception:
                pass

        def work(self):
            for key, (at, text) in [*self.due.items()]:
                if key not in self.sent and at <= self.fake.clock.now:
                    self.send(key, text)
            return len(self.due)
"""


def test_a_worker_may_send_later_what_could_not_be_sent(run):
    result = run(
        """
    class TestReplies(Replies):
        pass
    """,
        *("-k", "a_crash or an_error or failing_api"),
    )
    assert card(result) == {"a_crash": "ok", "an_error": "ok", "a_failing_api": "ok"}


@pytest.mark.parametrize("threads", [0, 1], ids=["alone", "beside an idle thread"])
def test_a_snapshot_may_show_what_a_worker_sends_later(run, threads):
    with ThreadPoolExecutor() as pool:
        for _ in range(threads):
            pool.submit(int)  # then the thread waits for more
        result = run(
            """
    class TestReplies(Replies):
        def connect(self, chat_fake):
            super().connect(chat_fake)
            return lambda: (self.work(), len(self.sent))
    """,
            *("-k", "an_error"),
        )
    assert card(result) == {"an_error": "ok"}


def test_a_reminder_that_comes_while_a_message_is_awaited_is_no_repeat(run):
    result = run(
        """
    class TestReminds(Replies):
        '''Writes to somebody else after two hours.'''

        def work(self):
            known = super().work()
            for key, (at, _) in [*self.due.items()]:
                if at - timedelta(hours=1) <= self.fake.clock.now:
                    post(self.fake, f"{key}-late", "Call them", to="+2")
            return known
    """,
        *("-k", "an_error or failing_api"),
    )
    assert card(result) == {"an_error": "ok", "a_failing_api": "ok"}


def test_a_worker_that_sends_twice_what_was_missing_fails(run):
    result = run(
        """
    class TestTwice(Replies):
        def work(self):
            for key in {*self.due} - self.sent:
                post(self.fake, f"{key}-again", self.due[key][1])
            return super().work()
    """,
        *("-k", "failing_api"),
    )
    assert "m2 repeats m1: same to and body, the idempotency keys differ" in cards(result)


def test_a_reply_that_is_lost_in_an_error_fails(run):
    result = run(
        """
    class TestLoses(Replies):
        def work(self):
            return len(self.due)
    """,
        *("-k", "an_error"),
    )
    assert "the message 'We will call you' to +1 was never sent" in " ".join(cards(result).split())


def test_what_an_app_sends_as_time_passes_did_not_come_with_duplicates(run):
    result = run(
        """
    class TestFollows(Replies):
        '''Writes to a colleague after two hours, and to another one once that is sent.'''

        def receive(self, request):
            super().receive(request)
            message = request.event.json().get("chatMessage", {})
            if message.get("text") == {"body": "Call them"}:
                post(self.fake, message["id"], "We asked somebody to call them", to="+3")

        def work(self):
            for key, (at, _) in [*self.due.items()]:
                if at - timedelta(hours=1) <= self.fake.clock.now:
                    post(self.fake, f"{key}-late", "Call them", to="+2")
            return len(self.due)
    """,
        *("-k", "days_later"),
    )
    assert card(result) == {"duplicates_days_later": "ok"}


def test_what_a_thread_sends_after_the_response_is_not_sent_by_the_handler(run):
    result = run(
        """
    import threading
    import time

    class TestThreads(Replies):
        def connect(self, chat_fake):
            self.begun, self.threads = threading.Event(), []
            chat_fake.route("/v2/messages")(self.respond)
            self.fake, self.due, self.sent = chat_fake, {}, set()
            chat_fake.webhooks.connect(handler=self.receive, events="*")
            yield self.wait
            self.wait()

        def respond(self, request):
            '''Send the message, but not before the webhook was responded to.'''
            self.begun.set()
            for _ in range(5_000):
                if len(self.fake.webhooks.attempts):
                    break
                time.sleep(0.001)
            return {"id": self.fake.send_text("Thank you", to="+2").id}

        def take(self, id):
            thread = threading.Thread(target=self.send, args=(id, "Thank you"))
            self.threads.append(thread)
            thread.start()
            self.begun.wait(5)  # as if the machine were busy with other things

        def wait(self):
            for thread in self.threads:
                thread.join()
            return len(self.sent)
    """,
        *("-k", "a_failing_api"),
    )
    assert card(result) == {"a_failing_api": "skipped"}
    result.stdout.fnmatch_lines(["*a_failing_api: your app makes no API call while it handles*"])


def test_a_call_that_is_in_an_attempt_only_sometimes_is_a_threads(run):
    result = run(
        """
    import threading

    class TestThreads(Replies):
        connected = 0

        def connect(self, chat_fake):
            self.threads = []
            TestThreads.connected += 1
            yield super().connect(chat_fake)
            self.work()

        def take(self, id):
            thread = threading.Thread(target=self.send, args=(id, "Thank you"))
            self.threads.append(thread)
            if self.connected == 1:  # as if the machine were busy with other things
                thread.start()
                thread.join()

        def work(self):
            for thread in self.threads:
                if thread.ident is None:
                    thread.start()
                thread.join()
            return len(self.sent)
    """,
        *("-k", "a_failing_api"),
    )
    assert card(result) == {"a_failing_api": "skipped"}
    result.stdout.fnmatch_lines(["*a_failing_api: your app makes no API call while it handles*"])


@pytest.mark.parametrize(
    ("waits", "verdict"), [("self.ended.wait(5)", "skipped"), ("thread.join()", "ok")]
)
def test_a_thread_s_call_is_the_handler_s_if_the_handler_joins_it(run, waits, verdict):
    result = run(
        f"""
    import threading
    from contextlib import suppress

    class TestThreads(Replies):
        def connect(self, chat_fake):
            self.ended = threading.Event()
            return super().connect(chat_fake)

        def take(self, id):
            self.ended.clear()
            thread = threading.Thread(target=self.apart, args=(id,))
            thread.start()
            {waits}  # or, as if the machine were busy with other things, the thread was faster

        def apart(self, id):
            with suppress(Exception):
                self.send(id, "Thank you")
            self.ended.set()
    """,
        *("-k", "a_failing_api"),
    )
    assert card(result) == {"a_failing_api": verdict}
