"""What ready-made tests advise a team whose app is connected in a way that shows little."""

import re

from .cards import cards

MODULE = """
    import urllib.request

    import pytest

    from pytest_chatfake import WebhookTests

    class HTTPStatusError(Exception):
        pass

    def send(fake, **headers):
        data = b'{"to": "+1", "type": "text", "text": {"body": "Hello"}}'
        headers = {"Content-Type": "application/json", **(headers or fake.headers)}
        call = urllib.request.Request(f"{fake.base_url}/v2/messages", data, headers)
        try:
            return urllib.request.urlopen(call).close()
        except urllib.error.HTTPError as error:
            error.close()  # or its socket stays open until it is collected, inside some later test
            raise HTTPStatusError(f"the provider refused: {error.code}") from None
"""


def test_an_app_that_queues_its_events_is_told_to_run_its_worker(run):
    result = run(
        """
    class TestQueues(WebhookTests):
        def connect(self, chat_fake):
            chat_fake.send_endpoint()
            queued, rows = [], []
            chat_fake.webhooks.connect(handler=queued.append)
            return lambda: list(rows)

        def scenario(self, chat_fake):
            yield send(chat_fake)
            yield chat_fake.messages[-1].deliver()
    """,
        *("-k", "snapshot_changes"),
    )
    result.stdout.fnmatch_lines(
        [
            "E*the snapshot did not change: it was [[][]] before and after the scenario",
            "E*All events got 2xx and nothing changed: does your app put them in a queue? Run *",
        ]
    )
    result.stdout.no_fnmatch_line("*let it send them*")


def test_an_app_that_sends_nothing_is_told_to_send(run):
    result = run(
        """
    class TestIgnores(WebhookTests):
        def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: None)
            return lambda: []
    """,
        *("-k", "snapshot_changes"),
    )
    result.stdout.fnmatch_lines(["E*If the app only knows messages that it sent itself, let it*"])
    result.stdout.no_fnmatch_line("*in a queue*")


def test_a_refused_unknown_message_names_the_path_that_a_function_chose(run):
    result = run(
        """
    class TestPaths(WebhookTests):
        def connect(self, chat_fake):
            chat_fake.send_endpoint()

            def app(environ, start_response):
                is_known = environ["PATH_INFO"] == "/hooks/1"
                start_response("204 No Content" if is_known else "404 Not Found", [])
                return [b""]

            chat_fake.webhooks.connect(
                wsgi=app, path=lambda event: f"/hooks/{event.message_id[-1]}"
            )
            return lambda: []

        def scenario(self, chat_fake):
            yield send(chat_fake)
            yield chat_fake.messages[-1].deliver()
    """,
        *("-k", "unknown_message"),
    )
    assert ("refused with status 404 at /hooks/2: is that what your provider expects?") in cards(
        result
    )


SETTING = '@pytest.mark.chat_fake(api_key_header="Authorization: Bearer {api_key}")'

OTHER_HEADER = """
    def test_sends(chat_fake):
        chat_fake.send_endpoint()
        send(chat_fake, Authorization=f"Bearer {chat_fake.api_key}")

    class TestKey(WebhookTests):
        def connect(self, chat_fake):
            chat_fake.webhooks.connect(handler=lambda request: None)

        def scenario(self, chat_fake):
            yield test_sends(chat_fake)
"""


def test_a_401_with_the_key_in_another_header_says_first_what_to_write(run):
    shown = run(OTHER_HEADER, "-k", "test_sends").stdout.str()
    assert SETTING in shown.partition("What to look at")[2].splitlines()[1]


def test_an_error_of_the_app_after_such_a_401_says_what_to_write(run):
    result = run(OTHER_HEADER, "-k", "events_are_taken")
    assert re.search(f"^E +Hint: write {re.escape(SETTING)}", result.stdout.str(), re.MULTILINE)
